"""Inertias that cannot be solved with once damping is taken implicitly: replaced pivots and warnings are MuJoCo's."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of

STEP = 2.0**-9
ZERO = 1.0 / STEP  # velocity feedback that takes all of a unit inertia away
INTEGRATORS = (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST)


def model(gains: tuple[float, float], damping: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)) -> mujoco.MjModel:
    """Two slides with a unit mass each and feedback of their velocities, and an arm of two skew hinges."""
    mj = mujoco.MjModel.from_xml_string(
        f"""<mujoco model="feedback {gains}"><option timestep="{STEP}"/><worldbody>
        <body><joint name="a" type="slide"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
        <body pos="1 0 0"><joint name="b" type="slide" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
        <body name="arm" pos="2 0 0"><joint name="c" axis=".1 1 0"/><geom size=".1" pos=".3 0 0"/>
          <body pos=".3 .1 0"><joint name="d" axis="0 .2 1" pos=".1 0 0"/><geom size=".1" pos=".3 0 .1"/></body></body>
        </worldbody>        <actuator><general joint="a" biastype="affine" biasprm="0 0 {gains[0]}"/>
        <general joint="b" biastype="affine" biasprm="0 0 {gains[1]}"/></actuator></mujoco>"""
    )
    mj.dof_damping[:] = damping
    return mj


def step(mj: mujoco.MjModel, steps: int = 1) -> tuple[mujoco.MjData, kt.Data, list[str]]:
    """Both sides after some steps, and what ours warned of."""
    theirs, ours_model = mujoco.MjData(mj), kt.load(mj)
    ours = kt.Data(ours_model)
    theirs.qvel[:] = ours.qvel = [0.3, -0.2, 0.4, 0.1]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(steps):
            mujoco.mj_step(mj, theirs)
            kt.step(ours_model, ours)
    return theirs, ours, [str(warning.message) for warning in found]


def same(theirs: mujoco.MjData, ours: kt.Data, what: str) -> None:
    """Velocities, and how often was warned of what."""
    np.testing.assert_allclose(ours.qvel, theirs.qvel, rtol=1e-9, atol=1e-9, err_msg=what)
    counts = [int(theirs.warning[kind].number) for kind in range(len(ours.warning_number))]
    assert list(ours.warning_number) == counts, f"{what}: warnings {list(ours.warning_number)} against {counts}"


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("gains", [(0, 0), (ZERO, 0), (0, ZERO), (4 * ZERO, 0), (0.5 * ZERO, 0)], ids=str)
def test_feedback_that_takes_the_inertia_away_is_told(gains, integrator):
    mj = model(gains)
    mj.opt.integrator = integrator
    theirs, ours, told = step(mj)
    same(theirs, ours, f"{gains} {integrator.name}")
    implicit = integrator in (kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST)
    vanishes = implicit and ZERO in gains or integrator == kt.Integrator.IMPLICITFAST and max(gains) >= ZERO
    assert any("is not large enough to solve with" in text for text in told) == vanishes, told


DAMPING = [
    (-1, 0, 0, 0),
    (-5000, 0, 0, 0),
    (-5000, 1, 0, 0),
    (-ZERO, 0, 0.1, 0),
    (0, -ZERO, 0, 0.1),
    (-1, -2, 0.1, -0.2),
]


@pytest.mark.parametrize("damping", DAMPING, ids=str)
def test_negative_damping_is_explicit_where_no_dof_has_positive_damping(damping):
    """MuJoCo's Euler takes damping implicitly if some of it is positive, and then all of it."""
    mj = model((0, 0), damping)
    theirs, ours, _ = step(mj)
    same(theirs, ours, str(damping))
    assert (np.abs(ours.qvel).max() > 1e9) == (ours.warning_number[kt.WarningType.INERTIA] > 0)


def test_lanes_equal_floats():
    """Worlds of one model that has lost the inertia of a slide."""
    for integrator in INTEGRATORS:
        mj = model((0, ZERO))
        mj.opt.integrator = integrator
        ours_model = kt.load(mj)
        rng = np.random.default_rng(3)
        worlds = [kt.Data(ours_model) for _ in range(8)]
        for data in worlds:
            data.qvel = rng.normal(size=4)
        lanes = lanes_of(ours_model, worlds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lanes.step()
            for lane, data in enumerate(worlds):
                kt.step(ours_model, data)
                np.testing.assert_allclose(
                    lanes.qvel[:, lane], data.qvel, rtol=1e-9, err_msg=f"{integrator.name} {lane}"
                )
                assert list(lanes.warning_number[:, lane]) == list(data.warning_number), f"{integrator.name} {lane}"
