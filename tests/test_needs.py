"""Which stages a model needs: what runs in its steps was expected, and stages that it does without are not."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import driver
from kinetree.integrator.euler import factor_damped
from kinetree.kernel import ENTRIES, JIT, STAGES, float_machine
from kinetree.kernel.build import needed
from kinetree.kernel.code import reach
from kinetree.kernel.order import exists_for, stages_in, stages_of
from kinetree.needs import on_request
from kinetree.stepping import run_steps
from tests.corpora import entries

OWN = [stage for stage in STAGES if stage.entry.name.startswith("kinetree.")]
CORPUS = {entry.name: entry.source for entry in entries()}


def expected(model):
    """Names of the stages that are made ready before the first step."""
    entries = needed([driver.ENTRIES[run_steps]], float_machine(), model)
    return {stage.__name__ for stage in STAGES if stage.entry in entries}


def what_ran(data):
    """Stages that have run since the reset, by their own count."""
    return [STAGES[k] for k in np.flatnonzero(data._arrays["stage_runs"])]


# Stages that no model asks for by itself, with what calls them.
ON_REQUEST = {
    "contact_wrenches": "contact_forces",
    "damping": "StablePD",
    "symmetric_fluid_slopes": "StablePD",
}


def test_stages_that_no_step_has_are_named():
    assert {stage.__name__ for stage in OWN if stage.when is on_request} == set(ON_REQUEST)


def test_stages_are_found_in_the_text_as_the_compiler_finds_them():
    for entry in ENTRIES.values():
        assert set(stages_in(entry.kernel)) == set(reach(entry.kernel)[1]), entry


def test_a_step_has_its_stages_in_the_order_of_the_text():
    names = [stage.__name__ for stage in stages_of(run_steps, kt.load("humanoid"))]
    parts = "kinematics com_pos collision make_constraint factor_m fwd_position com_vel fwd_velocity fwd_actuation "
    parts += "fwd_acceleration solve_newton fwd_constraint forward implicitfast integrate"
    assert [name for name in names if name in parts.split()] == parts.split()
    assert len(names) == len(set(names))


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


@pytest.mark.parametrize("name", CORPUS)
def test_what_runs_exists_for_the_model(name):
    """On every model of the corpus: no stage runs whose condition does not hold."""
    model = kt.load(CORPUS[name]())
    data = kt.Data(model)
    kt.step(model, data, 5)
    ran = what_ran(data)
    assert not [stage.__name__ for stage in ran if not exists_for(stage, model)]
    assert {stage.__name__ for stage in ran} - {"lie_down"} <= {each.__name__ for each in stages_of(run_steps, model)}
    assert len(ran) > 20


@pytest.mark.parametrize("source", [*kt.models.names(), *FEATURES])
def test_what_runs_was_expected(source):
    """All stages that have run after a while."""
    model = kt.load(FEATURES.get(source, source))
    data = kt.Data(model)
    kt.step(model, data, 200)
    late = {stage.__name__ for stage in what_ran(data)} - expected(model)
    assert not late, (source, late)


def scene(bodies="", option="", flags="", rest=""):
    """A ball on a floor, and what is to be tried."""
    return f"""<mujoco><option {option}><flag {flags}/></option><worldbody><geom type="plane" size="5 5 1"/>
        <body name="ball" pos="0 0 .099"><freejoint/><geom name="ball" size=".1"/><site name="s"/></body>{bodies}</worldbody>
        {rest}</mujoco>"""


def pile(*geoms):
    """Bodies that overlap, each of one geom."""
    return "".join(f'<body pos="1 0 {0.15 + 0.1 * k}"><freejoint/><geom {g}/></body>' for k, g in enumerate(geoms))


def sensors(*tags):
    return scene(rest=f"<sensor>{''.join(f'<{tag}/>' for tag in tags)}</sensor>")


PLAIN = scene()
BOX, CAPSULE, CYLINDER = 'type="box" size=".1 .1 .1"', 'type="capsule" size=".1 .1"', 'type="cylinder" size=".1 .1"'
MESH = 'type="mesh" mesh="corner"'
CORNER = '<asset><mesh name="corner" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/></asset>'
FAR_MESH = f"""<mujoco>{CORNER}<worldbody><body><freejoint/><geom {MESH}/></body></worldbody></mujoco>"""
FIELD = """<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1" elevation="0 1 0 1"/></asset><worldbody>
    <geom type="hfield" hfield="h"/><body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
HILLS = """<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1" elevation="0 1 0 1"/></asset><worldbody>
    <geom type="hfield" hfield="h"/><body pos="0 0 1"><freejoint/><geom size=".1"/><site name="s" euler="180 0 0"/></body>
    </worldbody><sensor><rangefinder site="s"/></sensor></mujoco>"""
PAD = """<mujoco><asset><mesh name="pad" vertex="-.1 -.1 0 .1 -.1 0 0 .1 0 0 0 .1"/></asset><worldbody>
    <geom type="plane" size="1 1 1"/><body pos="0 0 .05"><freejoint/><geom size=".1"/><site name="s" size=".2"/>
    <geom name="pad" type="mesh" mesh="pad" contype="0" conaffinity="0"/></body></worldbody>
    <sensor>{}</sensor></mujoco>"""
DAMPED = '<body pos="0 0 1"><joint name="damped" damping="1"/><geom size=".1"/></body>'
TENDON = '<tendon><spatial><site site="s"/><site site="t"/></spatial></tendon>'
OTHER = '<body pos="0 0 1"><joint/><geom size=".1"/><site name="t"/></body>'
EGG = '<body name="egg" pos="0 0 1"><joint/><geom type="ellipsoid" size=".1 .2 .1"/></body>'
DISTANCE = '<sensor><distance geom1="ball" body2="egg" cutoff="2"/></sensor>'
ENCLOSED = '<sensor><insidesite objtype="geom" objname="ball" site="s" enclosed="{}"/></sensor>'
CLOCK, TOUCH, GYRO = "clock", 'touch site="s"', 'gyro site="s"'
THROWN = '<body pos="0 0 2"><joint type="slide" axis="0 0 -1" springref="9" stiffness="1e5"/><geom size=".1"/></body>'
ASLEEP = scene(flags='sleep="enable"'), PLAIN
NEWTON, EULER = (PLAIN, scene(option='solver="CG"')), (PLAIN, scene(option='integrator="RK4"'))
STANDING = '<body pos="1 0 .099"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'  # on four corners: twelve slots
CROWDED = scene(STANDING), scene(STANDING, option='solver="CG"')
DISCRETE = scene(option='integrator="discrete"'), PLAIN
SPRUNG = '<tendon><spatial stiffness="1"><site site="s"/><site site="t"/></spatial></tendon>'
MEASURED = sensors(CLOCK), PLAIN
MEASURED_DISTANCE = scene(EGG, rest=DISTANCE), scene(EGG)
# stage -> a model that it exists for, and one that it does not exist for, which is like it in other ways
CONDITIONS = {
    "near_points": (scene(pile(CYLINDER, BOX)), scene(pile(BOX, CAPSULE))),
    "near_prisms": (FIELD, scene(pile(BOX))),
    "lowest_corners": (scene(pile(MESH), rest=CORNER), FAR_MESH),
    "capsule_with_box": (scene(pile(CAPSULE, BOX)), scene(pile(CAPSULE, BOX + ' contype="0" conaffinity="0"'))),
    "box_with_box": (scene(pile(BOX, BOX)), scene(pile(BOX, CAPSULE))),
    "pair_distance": MEASURED_DISTANCE,
    "nearest_points": MEASURED_DISTANCE,
    "distance_readings": MEASURED_DISTANCE,
    "swept_points": (scene(THROWN, flags='speculative="enable"'), scene(THROWN)),
    "enclosures": (scene(rest=ENCLOSED.format("true")), scene(rest=ENCLOSED.format("false"))),
    "update_sleep": ASLEEP,
    "lie_down": ASLEEP,
    "fall_asleep_apart": ASLEEP,
    "wake": ASLEEP,
    "wake_by_tendons": ASLEEP,
    "wake_by_contacts": ASLEEP,
    "wake_by_equalities": ASLEEP,
    "equality_rows": (scene(rest='<equality><weld body1="ball"/></equality>'), PLAIN),
    "exact_diagonal": (scene(flags='diagexact="enable"'), PLAIN),
    "count_worlds": NEWTON,
    "sort_own_rows": NEWTON,
    "pack_slots": NEWTON,
    "solve_slots_of_worlds": NEWTON,
    "unpack_slots": NEWTON,
    "solve_newton": CROWDED,
    "newton_direction": CROWDED,
    "solve_cg": (scene(option='solver="CG"'), PLAIN),
    "solve_pgs": (scene(option='solver="PGS"'), PLAIN),
    "solve_noslip": (scene(option='noslip_iterations="3"'), PLAIN),
    "energy_pos": (sensors("e_potential"), sensors("e_kinetic")),
    "energy_vel": (sensors("e_kinetic"), sensors("e_potential")),
    "tendon_lengths": (scene(OTHER, rest=TENDON), scene(OTHER)),
    "fluid": (scene(option='viscosity="1"'), PLAIN),
    "fluid_slopes": (scene(option='density="1" integrator="implicitfast"'), scene(option='density="1"')),
    "subtree_vel": (sensors('subtreelinvel body="ball"'), sensors('subtreecom body="ball"')),
    "rne_post_constraint": (sensors('accelerometer site="s"'), sensors(GYRO)),
    "position_readings": MEASURED,
    "velocity_readings": MEASURED,
    "acceleration_readings": MEASURED,
    "contact_readings": (sensors(TOUCH), sensors(GYRO)),
    "taxel_readings": (PAD.format('<tactile geom="pad" mesh="pad"/>'), PAD.format('<touch site="s"/>')),
    "rangefinders": (sensors('rangefinder site="s"'), sensors(TOUCH)),
    "meet_field": (HILLS, sensors('rangefinder site="s"')),
    "euler": EULER,
    "factor_damped": (scene(DAMPED), scene(DAMPED, flags='eulerdamp="disable"')),
    "implicit": (scene(option='integrator="implicit"'), scene(option='integrator="implicitfast"')),
    "implicitfast": (scene(option='integrator="implicitfast"'), scene(option='integrator="implicit"')),
    "rk4": (scene(option='integrator="RK4"'), PLAIN),
    "discrete": DISCRETE,
    "metric_rows": DISCRETE,
    "effective_metric": DISCRETE,
    "spin_lone_bodies": DISCRETE,
    "drag_slopes": (scene(option='density="1" integrator="discrete"'), scene(option='integrator="discrete"')),
    "solve_coupled": (
        scene(OTHER, option='integrator="discrete"', rest=SPRUNG),
        scene(OTHER, option='integrator="discrete"', rest=TENDON),
    ),
    "compare_fwd_inv": (scene(flags='fwdinv="enable"'), PLAIN),
    "discrete_acceleration": (scene(flags='fwdinv="enable" invdiscrete="enable"'), scene(flags='fwdinv="enable"')),
}
# Stages that a step has for good reason, and that did not run in the model of the table.
NOT_YET = {
    "lie_down": "a tree that is to begin asleep",
    "fall_asleep_apart": "worlds on lanes that have rows of their own",
    "wake": "a tree that sleeps",
    "wake_by_tendons": "a tree that sleeps",
    "wake_by_contacts": "a tree that sleeps",
    "wake_by_equalities": "a tree that sleeps",
    "update_sleep": "a tree that sleeps",
}


def test_every_condition_has_a_line():
    assert {stage.__name__ for stage in OWN if stage.when not in (None, on_request)} == set(CONDITIONS)


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_stage_exists_for_models_with_its_feature_alone(name):
    stage = next(stage for stage in OWN if stage.__name__ == name)
    model, other = map(kt.load, CONDITIONS[name])
    assert exists_for(stage, model) and not exists_for(stage, other) and not exists_for(stage)
    assert name in expected(model) or name in NOT_YET
    assert name not in expected(other)
    data, without = kt.Data(model), kt.Data(other)
    kt.step(model, data, 5)
    kt.step(other, without, 5)
    assert stage in what_ran(data) or name in NOT_YET
    assert stage not in what_ran(without)


def test_what_is_needed_after_all_is_compiled_when_it_is_called():
    """An option that changes after the first step."""
    model = kt.load(FEATURES["CG"])
    data = kt.Data(model)
    kt.step(model, data)
    model.opt.integrator = kt.Integrator.RK4
    kt.step(model, data)
    assert data.time == pytest.approx(2 * model.opt.timestep)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_an_integrator_of_which_a_part_cannot_be_compiled_leaves_the_state(monkeypatch):
    """As when Ctrl-C comes while the factor of Euler is compiled that an option has just asked for."""
    motor = '<actuator><general joint="damped" dyntype="integrator"/></actuator>'
    model, machine = kt.load(scene(DAMPED, rest=motor)), float_machine()
    data, index = kt.Data(model), factor_damped.stage_index
    data.ctrl = 1.0
    kt.step(model, data)
    before, address = data.copy(), machine.stages[index]

    def interrupted(machine):
        raise KeyboardInterrupt

    monkeypatch.setattr(factor_damped, "compile_for", interrupted)
    machine.stages[index] = 0
    factor_damped.expect_on(machine)
    try:
        with pytest.raises(KeyboardInterrupt):
            kt.step(model, data)
    finally:
        machine.stages[index] = address
    for name in ("time", "qpos", "qvel", "act"):
        np.testing.assert_array_equal(getattr(data, name), getattr(before, name), err_msg=name)
    kt.step(model, data)
    assert data.time == pytest.approx(2 * model.opt.timestep)
