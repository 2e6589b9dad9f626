"""Which stages a model needs: what runs in its steps was expected, and rare stages that it does without are not."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import driver
from kinetree.kernel import STAGES, float_machine
from kinetree.kernel.build import needed
from kinetree.needs import NEEDS
from kinetree.stepping import run_steps

RARE = {stage.__name__ for stage in STAGES if stage.entry.rare and stage.entry.name.startswith("kinetree.")}


def expected(model):
    """Names of the stages that are made ready before the first step."""
    entries = needed([driver.ENTRIES[run_steps]], float_machine(), model)
    return {stage.__name__ for stage in STAGES if stage.entry in entries}


# Rare stages that no model asks for by itself, with what calls them.
ON_CALL = {
    "contact_wrenches": "contact_forces and sensors of contacts, whose stage is made ready with them",
    "damping": "StablePD",
    "discrete_acceleration": "inverse dynamics, with a flag",
}


def test_the_table_names_rare_stages():
    assert set(NEEDS) <= RARE
    assert RARE - set(NEEDS) == set(ON_CALL)


FEATURES = {
    "sleep, tendons, equalities": """<mujoco><option><flag sleep="enable" energy="enable" fwdinv="enable"/></option><worldbody>
        <geom type="plane" size="5 5 1"/>
        <body name="a" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/><site name="s"/></body>
        <body name="b" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .1 .1"/><site name="t"/></body>
        <body name="c" pos="2 0 .1"><freejoint/><geom size=".1"/></body></worldbody>
        <tendon><spatial><site site="s"/><site site="t"/></spatial></tendon>
        <equality><weld body1="a" body2="b"/></equality></mujoco>""",
    "convex shapes, fluid, sensors": """<mujoco><option density="1000" integrator="implicitfast" cone="elliptic"/><worldbody>
        <geom type="plane" size="5 5 1"/>
        <body pos="0 0 .1"><freejoint/><geom name="a" type="cylinder" size=".1 .1"/><site name="s"/></body>
        <body pos="0 0 .32"><freejoint/><geom name="b" type="ellipsoid" size=".1 .2 .1"/></body>
        <body pos="0 0 .6"><freejoint/><geom type="capsule" size=".1 .1"/></body>
        <body pos="0 .1 .9"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>
        <sensor><accelerometer site="s"/><touch site="s"/><distance geom1="a" geom2="b" cutoff="1"/><rangefinder site="s"/>
        <e_kinetic/><subtreeangmom body="world"/></sensor></mujoco>""",
    "RK4, PGS and noslip": """<mujoco><option integrator="RK4" solver="PGS" noslip_iterations="3"/><worldbody>
        <geom type="plane" size="5 5 1"/><body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""",
    "CG": """<mujoco><option solver="CG" integrator="implicit"/><worldbody>
        <geom type="plane" size="5 5 1"/><body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""",
}


@pytest.mark.parametrize("source", [*kt.models.names(), *FEATURES])
def test_what_runs_was_expected(source):
    """All stages that have run after a while, by their own count."""
    model = kt.load(FEATURES.get(source, source))
    data = kt.Data(model)
    kt.step(model, data, 200)
    ran = {STAGES[k].__name__ for k in np.flatnonzero(data._arrays["stage_runs"])}
    late = ran - expected(model)
    assert not late, (source, late)
    assert len(ran) > 20


def test_a_model_does_not_wait_for_what_it_lacks():
    wanted = expected(kt.load("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"))
    absent = "solve_cg solve_pgs solve_noslip equality_rows near_points box_with_box fluid wake rk4 implicit position_readings "
    absent += "tendon_lengths fluid_slopes"
    assert "euler" in wanted and not wanted & set(absent.split())


def test_what_is_needed_after_all_is_compiled_when_it_is_called():
    """An option that changes after the first step."""
    model = kt.load(FEATURES["CG"])
    data = kt.Data(model)
    kt.step(model, data)
    model.opt.integrator = kt.Integrator.RK4
    kt.step(model, data)
    assert data.time == pytest.approx(2 * model.opt.timestep)
