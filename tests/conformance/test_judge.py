"""The rule by which numbers are judged: what is reported, what is excused, and by how much."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance import budget, check
from kinetree.conformance.constrained import by_iteration
from kinetree.conformance.judge import Entries, verdict
from kinetree.conformance.layer import Along, Field
from kinetree.conformance.layers import CONTACT_LAYERS, SHIPPED_LAYERS, SLEEP_LAYERS, SMOOTH_LAYERS
from kinetree.conformance.matching import match, match_readings, nearest, parts_of
from kinetree.conformance.scales import reading_kinds, scale_of
from kinetree.conformance.smooth import path_lengths, path_starts, tendon_points
from kinetree.conformance.tolerances import EXCUSE, NO_INERTIA
from tests import corpora

MODELS = dict(corpora.own_models())
CONVEX = MODELS["tests/models/convex.xml"]  # MuJoCo differs from itself in one contact of its first state
LAYER = {layer.name: layer for layer in (*SMOOTH_LAYERS, *CONTACT_LAYERS, *SHIPPED_LAYERS, *SLEEP_LAYERS)}
NUMBERS = Field("field", lambda _m, d: d, lambda _m, d: d)
TABLE = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 0.099"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>"""


def judged(ours, theirs, scale=1.0, spread=None, tolerance=1e-3):
    ours, theirs = np.array(ours, float), np.array(theirs, float)
    own = None if spread is None else np.array(spread, float)
    return verdict(Entries(NUMBERS, ours, theirs, np.full(ours.shape, scale)), "m", "l", tolerance, 0, own)


def changed(name, change, before=()):
    """A layer with our side changed after it ran, behind the layers that it counts on."""
    layer = LAYER[name]

    def run(model, data):
        layer.run(model, data)
        change(model, data)

    return [*(LAYER[other] for other in before), dataclasses.replace(layer, run=run)]


# the rule on numbers


def test_entries_are_counted_one_by_one():
    result = judged([1.0, 1.1, 1.2, 1.3], [1.0] * 4, spread=[0, 0.05, 0.05, 0.2])
    assert (result.entries, result.undecided_entries, result.differing_entries) == (4, 2, 1)
    assert result.differs and result.index == (2,) and result.error == pytest.approx(0.2)


@pytest.mark.parametrize("times, excused", [(2.9, True), (3.1, False), (134.0, False)])
def test_an_excuse_has_bounds(times, excused):
    result = judged([1.0 + times * 0.01], [1.0], spread=[0.01])
    assert (result.undecided, result.differs) == (excused, not excused) and EXCUSE == 3.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_agreeing_on_nan_or_infinity_is_a_failure(bad):
    result = judged([1.0, bad], [1.0, bad], spread=[1.0, 1.0])
    assert result.differs and result.index == (1,) and result.note == "not finite"


@pytest.mark.parametrize("scale", [np.nan, np.inf])
def test_no_scale_hides_an_error(scale):
    assert judged([5.0], [1.0], scale=scale).differs


def test_a_flip_excuses_what_is_missing_and_no_number_that_is_none():
    """A pair that MuJoCo loses and finds in its own runs, so that its spread is infinite."""
    ours, theirs = np.array([[5.0], [np.nan], [np.nan]]), np.array([[1.0], [1.0], [1.0]])
    entries = Entries(NUMBERS, ours, theirs, np.ones((3, 1)), lacking=np.array([False, False, True]))
    result = verdict(entries, "m", "l", 1e-3, 0, np.full((3, 1), np.inf))
    assert (result.undecided_entries, result.differing_entries, result.index) == (2, 1, (1, 0))


def test_a_wrong_shape_is_a_failure():
    layer = dataclasses.replace(
        SMOOTH_LAYERS[0], fields=(Field("field", lambda _m, _d: np.zeros((3, 3)), lambda _m, _d: np.zeros((3, 4))),)
    )
    report = check("spinner", states=1, layers=[layer])
    assert not report.ok and "(3, 3)" in str(report) and "(3, 4)" in str(report)


# the rule in a comparison


def test_an_error_beyond_the_spread_is_reported():
    """A contact that MuJoCo is unsure of, moved by as much as it is unsure, and by far more."""

    def moved(times):
        def move(model, data):
            data._arrays["contact_dist"][by_iteration(model, data)[18]] -= times * 0.0012

        return check(CONVEX, states=1, layers=changed("contact geometry, convex", move, [CONTACT_LAYERS[0].name]))

    unsure, wrong = moved(1.0), moved(134.0)
    assert unsure.ok and {result.field for result in unsure.undecided()} == {"contact.dist"}
    assert [(result.field, result.differing_entries) for result in wrong.failures()] == [("contact.dist", 1)]


def test_the_flip_of_one_pair_excuses_no_other():
    def move(model, data):
        places = by_iteration(model, data)
        data._arrays["contact_dist"][places[0]] -= 1e-3
        data._arrays["contact_dist"][places[18]] -= 1e-3  # MuJoCo is unsure of this one

    before = [CONTACT_LAYERS[0].name]
    wrong = check(CONVEX, states=1, layers=changed("contact geometry, convex", move, before))
    (failure,) = wrong.failures()
    assert failure.field == "contact.dist" and failure.index == (0,) and failure.undecided_entries == 1


def swap_contacts(_model, data):
    """The first two contacts of a box on a plane, with their rows, in the other order."""
    arrays, each = data._arrays, 4  # rows of a pyramid
    for name, values in arrays.items():
        if name.startswith("contact_") and name != "contact_efc_address" and len(values) >= data.ncon:
            values[[0, 1]] = values[[1, 0]]
    swapped = np.r_[each : 2 * each, :each]
    for name in (
        "efc_pos",
        "efc_D",
        "efc_R",
        "efc_vel",
        "efc_aref",
        "efc_diagA",
        "efc_KBIP",
        "efc_margin",
        "efc_force",
    ):
        arrays[name][: 2 * each] = arrays[name][swapped]
    rows = [slice(first, first + arrays["efc_J_rownnz"][0]) for first in arrays["efc_J_rowadr"][: 2 * each]]
    jacobian = [arrays["efc_J"][row].copy() for row in rows]
    for row, other in zip(rows, swapped, strict=True):
        arrays["efc_J"][row] = jacobian[other]


@pytest.mark.parametrize("name", ["contact geometry", "constraint rows", "solved"])
def test_the_order_of_contacts_of_a_pair_is_no_difference(name):
    before = [layer.name for layer in CONTACT_LAYERS[: CONTACT_LAYERS.index(LAYER[name])]]
    place = lambda m, d, *_: (mujoco.mj_resetData(m, d), mujoco.mj_forward(m, d))  # noqa: E731
    still = dataclasses.replace(CONTACT_LAYERS[0], prepare=place)
    layers = changed(name, swap_contacts, before)
    layers[0] = dataclasses.replace(still, run=layers[0].run)
    report = check(TABLE, states=1, layers=layers)
    assert report.ok and not report.undecided(), str(report)
    assert report.counts[CONTACT_LAYERS[0].name] == (4,)


def test_the_order_of_pairs_is_a_difference():
    two = TABLE.replace("</worldbody>", '<body pos="1 0 0.05"><freejoint/><geom size="0.06"/></body></worldbody>')

    def swap(_model, data):
        for name, values in data._arrays.items():
            if name.startswith("contact_") and len(values) >= data.ncon:
                values[:5] = values[[4, 0, 1, 2, 3]]

    (layer,) = changed("contact geometry", swap)
    layer = dataclasses.replace(layer, prepare=lambda m, d, *_: (mujoco.mj_resetData(m, d), mujoco.mj_forward(m, d)))
    report = check(two, states=1, layers=[layer])
    assert [result.field for result in report.failures()] == ["contact.geom"]


def test_a_small_field_is_judged_by_its_own_size():
    """A robot of milligrams and millimetres: half of its inertia must not go unnoticed."""
    tiny = """<mujoco><worldbody><body><joint axis="0 1 0"/><geom size="0.0005" pos="0.002 0 0" mass="1e-6"/>
      <body pos="0.003 0 0"><joint axis="0 0 1"/><geom size="0.0005" pos="0.001 0 0" mass="1e-6"/></body></body>
      </worldbody></mujoco>"""
    before = [layer.name for layer in SMOOTH_LAYERS[:3]]

    def scale(_model, data):
        data._arrays["M"][:] *= 1 + 1e-6

    assert check(tiny, states=1, layers=SMOOTH_LAYERS).ok
    report = check(tiny, states=1, layers=changed("inertia", scale, before))
    assert "M" in {result.field for result in report.failures()}


def test_rows_that_can_move_nothing_are_not_judged():
    """The orientation of a body that only slides, held by a weld."""
    held = """<mujoco><worldbody><body name="a"><joint type="slide"/><geom size="0.1"/></body></worldbody>
      <equality><weld body1="a"/></equality></mujoco>"""

    def move(field, heavy):
        def change(_model, data):
            rows = (data._arrays["efc_D"][: data.nefc] > NO_INERTIA) == heavy
            data._arrays[field][: data.nefc][rows] += 1e-3 if field != "efc_D" else -0.999 * NO_INERTIA * 1e3

        (layer,) = changed("constraint rows", change)
        run = lambda model, data: (kt.fwd_position(model, data), layer.run(model, data))  # noqa: E731
        place = lambda model, data, *_: (mujoco.mj_resetData(model, data), mujoco.mj_forward(model, data))  # noqa: E731
        return check(held, states=1, layers=[dataclasses.replace(layer, run=run, prepare=place)])

    assert move("efc_aref", heavy=True).ok
    assert [result.field for result in move("efc_aref", heavy=False).failures()] == ["efc_aref"]
    assert [result.field for result in move("efc_pos", heavy=True).failures()] == ["efc_pos"], (
        "no inertia is part of it"
    )
    assert "efc_D" in [result.field for result in move("efc_D", heavy=True).failures()], "ours is not heavy"


@pytest.mark.parametrize("option", ["iterations", "ls_iterations"])
def test_a_wrong_budget_of_the_solver_is_seen(option):
    """Exact solvers hide it; the model as it is shipped does not."""
    model = mujoco.MjModel.from_xml_path(str(MODELS["kinetree/models/quadruped.xml"]))
    layer = SHIPPED_LAYERS[0]

    def run(model, data):
        kept = getattr(model.opt, option)
        setattr(model.opt, option, 1)
        layer.run(model, data)
        setattr(model.opt, option, kept)

    assert check(model, states=2, layers=[layer]).ok
    report = check(model, states=2, layers=[dataclasses.replace(layer, run=run)])
    assert {"qacc", "qvel"} <= {result.field for result in report.failures()}


def test_trees_of_tendons_stay_awake_unless_the_model_says_otherwise():
    """Woken by a contact, they have tendons of length zero in MuJoCo for a step, and servos that pull accordingly."""
    source = """<mujoco><worldbody>
      <body><joint name="a"/><geom size="0.05" pos="0.2 0 0"/></body>
      <body pos="0 1 0"><joint name="b"/><geom size="0.05" pos="0.2 0 0"/></body>
      <body pos="0 2 0"><joint name="c"/><geom size="0.05" pos="0.2 0 0"/></body></worldbody>
      <tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed></tendon>
      <actuator><position tendon="t"/><motor joint="c"/></actuator></mujoco>"""
    never, allowed = kt.SleepPolicy.AUTO_NEVER, kt.SleepPolicy.ALLOWED
    for model in (kt.load(source), mujoco.MjModel.from_xml_string(source)):
        assert np.array_equal(model.tree_sleep_policy, [never] * 3)
        with SLEEP_LAYERS[0].setting(model):
            assert np.array_equal(model.tree_sleep_policy, [never, never, allowed])


def test_a_chaotic_motion_without_constraints_is_undecided():
    """Four links that swing for three seconds; moved by ten times what MuJoCo is unsure of, they differ."""
    links = "".join(
        '<body pos="0 0 -0.2"><joint axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.2"/>'
        for _ in range(4)
    )
    source = (
        f"""<mujoco><option timestep="0.03" integrator="RK4"/><worldbody>{links}{"</body>" * 4}</worldbody></mujoco>"""
    )
    report = check(source, layers=SMOOTH_LAYERS[-1:])
    assert report.ok and {"qpos", "qvel"} == {result.field for result in report.undecided()}, str(report)
    wrong = check(source, layers=changed("trajectory", lambda _m, data: data.qpos.__iadd__(1e-2)))
    assert "qpos" in {result.field for result in wrong.failures()}


# matching


def test_contacts_are_matched_by_the_nearest():
    first, second = np.array([[0.0, 0, 0], [1, 0, 0]]), np.array([[1.1, 0, 0], [0.2, 0, 0], [5, 0, 0]])
    assert nearest(first, second) == [(1, 0), (0, 1)]


def test_what_only_one_side_has_is_left_over():
    model = mujoco.MjModel.from_xml_string(TABLE)
    low, high = mujoco.MjData(model), mujoco.MjData(model)
    mujoco.mj_forward(model, low)
    high.qpos[3:7] = [np.cos(0.02), 0.0, np.sin(0.02), 0.0]  # tilted: two corners are up
    mujoco.mj_forward(model, high)
    found = match(parts_of(low), parts_of(high))
    assert (low.ncon, high.ncon) == (4, 2)
    assert (found.contacts < 0).sum() == 2 and (found.rows < 0).sum() == 8 and not found.more_contacts.size
    back = match(parts_of(high), parts_of(low))
    assert (back.contacts >= 0).all() and len(back.more_contacts) == 2 and len(back.more_rows) == 8


@pytest.mark.parametrize("reduce, sorts", [("none", False), ("mindist", True), ("maxforce", True)])
def test_slots_of_contact_sensors_are_matched_unless_their_order_means_something(reduce, sorts):
    sensor = f'<sensor><contact geom1="floor" num="3" data="dist pos" reduce="{reduce}"/></sensor></mujoco>'
    xml = TABLE.replace("<geom type", '<geom name="floor" type', 1).replace("</mujoco>", sensor)
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    theirs = data.sensordata.copy()
    slots = theirs.reshape(3, -1)
    assert np.array_equal(match_readings(model, slots[[2, 0, 1]].ravel(), theirs), theirs) != sorts


def test_readings_of_other_units_and_moments_have_scales_of_their_own():
    sensor = '<sensor><contact geom1="floor" num="2" data="force dist" reduce="none"/><clock/></sensor></mujoco>'
    model = mujoco.MjModel.from_xml_string(
        TABLE.replace("<geom type", '<geom name="floor" type', 1).replace("</mujoco>", sensor)
    )
    assert len({*reading_kinds(model)}) == 3
    assert np.array_equal(reading_kinds(model)[:8].reshape(2, 4)[0], reading_kinds(model)[:8].reshape(2, 4)[1])
    moments = np.array([[90.0, 0, 0, 1e-3, 80, 0, 0, 2e-3, 1], [9.0, 0, 0, 1e-5, 8, 0, 0, 0, 2]])
    field = Field("sensordata", lambda *_: moments, lambda *_: moments, along=Along.READINGS)
    scale = scale_of(field, moments, model, mujoco.MjData(model), 1e-5)
    assert np.array_equal(scale, [[90, 90, 90, 2e-3] * 2 + [1], [9, 9, 9, 1e-5] * 2 + [2]])


def test_points_of_a_wrap_without_length_are_left_out():
    """Two tendons: one just touches a wrapped geom, the other goes around it."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1e-9], [2, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 0.5], [2, 1, 0]])
    touching = SimpleNamespace(
        wrap_xpos=points, wrap_obj=np.array([-1, 3, 3, -1, -1, 3, 3, -1]), ten_wrapadr=[0, 4], ten_wrapnum=[4, 4]
    )
    apart = SimpleNamespace(
        wrap_xpos=points[[0, 3, 4, 5, 6, 7]], wrap_obj=np.array([-1, -1, -1, 3, 3, -1]), ten_wrapadr=[0, 2], ten_wrapnum=[2, 4]
    )  # fmt: skip
    model = SimpleNamespace(stat=SimpleNamespace(extent=1.0), ntendon=2, tendon_num=np.array([3, 3]))
    for read in (tendon_points, path_lengths, path_starts):
        assert np.array_equal(read(model, touching), read(model, apart))
    assert path_lengths(model, apart).tolist() == [2, 4]
    straight = SimpleNamespace(
        wrap_xpos=points[[0, 3, 4, 7]], wrap_obj=np.array([-1, -1, -1, -1]), ten_wrapadr=[0, 2], ten_wrapnum=[2, 2]
    )
    moved = (tendon_points(model, apart) != tendon_points(model, straight)).any(axis=(1, 2))
    assert moved.tolist() == [False, True], "one tendon that wraps or not says nothing about another"


# work


def crowd(count):
    bodies = "".join(f'<body pos="{k} 0 1"><freejoint/><geom size="0.1"/></body>' for k in range(count))
    return f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"


def test_work_is_bounded_and_the_report_says_so():
    small, large = (mujoco.MjModel.from_xml_string(crowd(count)) for count in (2, 1000))
    assert budget.steps(small, 100) == 100 and budget.repeats(small, 100) == budget.REPEATS
    assert budget.steps(large, 100) * budget.size(large) < 1.1 * budget.MOTION
    assert budget.repeats(large, 100) * budget.steps(large, 100) * budget.size(large) < 1.1 * budget.REPEATED
    report = check(mujoco.MjModel.from_xml_string(crowd(160)), states=1, layers=SMOOTH_LAYERS[-1:])
    assert report.ok and any(cut.startswith("trajectory: ") for cut in report.cuts) and "cut: trajectory" in str(report)
    assert not check("spinner", states=1, layers=SMOOTH_LAYERS[-1:]).cuts


def test_large_matrices_are_compared_by_products(monkeypatch):
    monkeypatch.setattr(budget, "DENSE", 3)
    before = [layer.name for layer in SMOOTH_LAYERS[:3]]

    def move(_model, data):
        data._arrays["M"][-1] *= 1.001

    assert check("humanoid", states=1, layers=(*SMOOTH_LAYERS, *CONTACT_LAYERS[:3])).ok
    wrong = check("humanoid", states=1, layers=changed("inertia", move, before))
    assert "M" in {result.field for result in wrong.failures()}


def test_fields_along_contacts_and_rows_say_so():
    for layer in LAYER.values():
        for field in layer.fields:
            if field.name.startswith("contact."):
                assert field.along is Along.CONTACTS
            if field.name.startswith("efc_"):
                assert field.along is Along.ROWS
            if field.name == "sensordata":
                assert field.along is Along.READINGS
