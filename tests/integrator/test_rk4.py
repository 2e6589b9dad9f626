"""RK4 against MuJoCo: orientations, also where a body turns by more than half a turn in a step, and contacts of a heap."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state
from kinetree.conformance.tolerances import CONTACT_CLOSED_FORM, EXCUSE, HAIR, TRAJECTORY_SMOOTH
from tests.physics.random_scene import Scene, spread_joints

STEP = 0.01
# A ball joint below a free body: neither is in the middle of what turns.
TUMBLER = f"""<mujoco><option integrator="RK4" timestep="{STEP}" gravity="0 0 -9.81"/><worldbody><body pos="0 0 1"><freejoint/>
  <inertial pos=".01 .02 0" mass="1" diaginertia=".1 .2 .27"/><body pos=".1 0 .1"><joint type="ball" pos="0 0 .02"/>
  <inertial pos="0 .01 .02" mass=".4" diaginertia=".05 .04 .03"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("turn", [0.01, 0.5, 2.0, 3.5, 5.0, 6.2, 7.0, 9.0])
def test_a_step_equals_mujocos_at_any_spin(turn):
    """turn: by which bodies rotate in a step [rad]."""
    mj, rng = mujoco.MjModel.from_xml_string(TUMBLER), np.random.default_rng(0)
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours = kt.Data(model)
    for trial in range(20):
        mujoco.mj_resetData(mj, theirs)
        mujoco.mj_integratePos(mj, theirs.qpos, rng.normal(size=mj.nv), 1.0)
        for first in (3, 6):  # rotations of the free body and of the ball
            axis = rng.normal(size=3)
            theirs.qvel[first : first + 3] = turn / STEP * axis / np.linalg.norm(axis)
        theirs.qfrc_applied[:] = rng.normal(size=mj.nv)
        copy_state(theirs, ours)
        mujoco.mj_step(mj, theirs)
        kt.step(model, ours)
        for name in ("qpos", "qvel"):
            got, wanted = getattr(ours, name), getattr(theirs, name)
            error = np.abs(got - wanted) / max(1.0, np.abs(wanted).max())
            i = int(np.argmax(error))
            assert error[i] <= TRAJECTORY_SMOOTH, f"trial {trial}: {name}[{i}] is {got[i]} against {wanted[i]}"


PRIMITIVES = ("sphere", "capsule", "box")
SCENES, PILE = 25, 6
RUNS = 8  # of MuJoCo from starts a hair away


class Heap(Scene):
    """Scenes of primitives, all of which meet, on a plane."""

    def geom(self, shape: str, place: str = "0 0 0") -> str:
        """Shapes that only iterations can tell of are primitives here."""
        return super().geom(shape if shape in PRIMITIVES else self.pick(PRIMITIVES), place)

    def world(self) -> str:
        """More loose bodies, close to each other and to the floor."""
        places = self.rng.uniform((-0.25, -0.25, 0.04), (0.25, 0.25, 0.25), (PILE, 3))
        return super().world() + "".join(self.loose(f"p{k}", place) for k, place in enumerate(places))


def heap(seed: int) -> mujoco.MjModel:
    """Solved as far as rounding allows; islands off, so that all rows are solved at once on both sides."""
    mj = mujoco.MjModel.from_xml_string(Heap(seed).text())
    mj.opt.integrator, mj.opt.solver = mujoco.mjtIntegrator.mjINT_RK4, mujoco.mjtSolver.mjSOL_NEWTON
    mj.opt.tolerance, mj.opt.iterations, mj.opt.noslip_iterations = 1e-14, 1000, 0
    mj.opt.disableflags |= kt.DisableBit.ISLAND
    return mj


def contacts(contact) -> tuple[list[list[int]], np.ndarray]:
    """Geoms of all contacts, in order; their distances, places and normals."""
    geoms = np.reshape(contact.geom, (-1, 2))
    n = len(geoms)
    parts = (
        np.reshape(contact.dist, (n, 1)),
        np.reshape(contact.pos, (n, 3)),
        np.reshape(contact.frame, (n, 9))[:, :3],
    )
    return geoms.tolist(), np.hstack(parts)


@pytest.mark.parametrize("steps", [1, 3])
def test_contacts_after_steps_are_mujocos(steps):
    """How many, of which geoms, in which order, and where, unless MuJoCo itself finds others from a hair away."""
    met = undecided = 0
    for seed in range(SCENES):
        mj, rng = heap(seed), np.random.default_rng(seed)
        start = mujoco.MjData(mj)
        spread_joints(mj, start.qpos, rng)
        start.qvel[:] = rng.normal(size=mj.nv)
        start.ctrl[:] = rng.uniform(-1, 1, mj.nu)
        model = kt.load(mj)
        ours = kt.Data(model)
        copy_state(start, ours)
        kt.step(model, ours, nstep=steps)
        runs = []
        for run in range(1 + RUNS):
            theirs = mujoco.MjData(mj)
            copy_state(start, theirs)
            if run:
                mujoco.mj_integratePos(mj, theirs.qpos, HAIR * rng.normal(size=mj.nv), 1.0)
                theirs.qvel[:] += HAIR * rng.normal(size=mj.nv)
            mujoco.mj_step(mj, theirs, steps)
            runs.append(contacts(theirs.contact))
        (geoms, wanted), (found, got) = runs[0], contacts(ours.contact)
        met += len(geoms)
        if any(other != geoms for other, _ in runs):
            undecided += 1
            continue
        assert ours.ncon == len(geoms), f"scene {seed}: {ours.ncon} contacts against {len(geoms)}"
        assert found == geoms, f"scene {seed}: contacts of {found} against {geoms}"
        spread = np.max([np.abs(numbers - wanted) for _, numbers in runs], axis=0, initial=0.0)
        error = np.abs(got - wanted) - EXCUSE * spread
        if error.size and error.max() > CONTACT_CLOSED_FORM:
            k, i = np.unravel_index(np.argmax(error), error.shape)
            raise AssertionError(f"scene {seed}: number {i} of contact {k} is {got[k, i]} against {wanted[k, i]}")
    assert met > 10 * SCENES and undecided <= SCENES // 20
