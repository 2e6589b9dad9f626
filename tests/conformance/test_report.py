"""The harness itself: it must fail when anything is off, and say where."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
import kinetree.data_fields
from kinetree.conformance import LAYERS, check, copy_state, markdown, random_state, shipped, sleeping, survey
from kinetree.conformance.__main__ import main
from kinetree.conformance.constrained import by_iteration
from kinetree.conformance.judge import oracle_values
from kinetree.conformance.layers import CONTACT_LAYERS, SHIPPED_LAYERS, SLEEP_LAYERS, SMOOTH_LAYERS
from kinetree.conformance.scales import scale_of
from kinetree.conformance.states import gentle_state
from tests import corpora
from tests.conformance.test_layers import UNDECIDED
from tests.trees import random_tree

MODELS = dict(corpora.own_models())
JOINTS = MODELS["tests/models/joints.xml"]
# Between them, no compared field is empty.
EVERYTHING = ("cameras", "frames", "tendons", "servos", "passive", "sensors")
IN_CONTACT = ("contacts", "sensors", "actuators")
CONVEX = CONTACT_LAYERS[1]
SEED = 2  # with which MuJoCo agrees with itself on them
RECORDERS = {"sleep": sleeping.RECORDER, "as shipped": shipped.RECORDER}
MODELS_OF = {CONVEX.name: ("convex",), "sleep": ("sleep",)}  # of layers in which the others have nothing
# Counts of contacts and rows; contacts of other geoms are in another layer, or in another place.
COUNTS = ("ncon", "nefc", "ne", "nf", "nl", "contact.geom", "contact.efc_address")
# Where a field that is not compared as it is stored is kept.
STORED = {"M x = y": "qLDiagInv"}
# Rows that are left out of the comparison.
SKIPPED_ROWS = {"cfrc_int": 1}
# A change of the first must show in the second too, which is computed from it.
FOLLOWING = {
    "M": {"M x = y"}, "ten_wrapnum": {"wrap_xpos", "ten_wrapadr"}, "ten_wrapadr": {"wrap_xpos", "ten_wrapnum"},
    "efc_id": {"contact.efc_address"},
}  # fmt: skip
# Their last numbers may be unused.
FROM_THE_FRONT = {"wrap_xpos", "actuator_moment", "efc_J"}


def perturbed(layer, field, change, seen=None):
    """The layers down to one of them, with one field of ours changed after it was computed."""

    def oracle(model, data):
        layer.oracle(model, data)
        if seen is not None:
            seen[:] = model, data

    def run(model, data):
        layer.run(model, data)
        if layer.name in RECORDERS:  # compared is what was recorded
            change(RECORDERS[layer.name].records[id(data)][field])
            return
        values = data._arrays[stored(field)]
        if layer is CONVEX and field.startswith("contact."):  # compared are some of them, in another order
            order = by_iteration(model, data)
            chosen = values[order]
            change(chosen)
            values[order] = chosen
        else:
            change(values[: len(getattr(data, stored(field)))] if grows(field) else values)

    groups = (SMOOTH_LAYERS, CONTACT_LAYERS, SHIPPED_LAYERS, SLEEP_LAYERS)
    group = next(group for group in groups if layer in group)
    return [*group[: group.index(layer)], dataclasses.replace(layer, run=run, oracle=oracle)]


def stored(field):
    return STORED.get(field, field.replace("contact.", "contact_"))


def grows(field):
    return kt.data_fields.DATA_FIELDS[stored(field)].growing


def all_fields():
    return [pytest.param(layer, f, id=f"{layer.name}-{f.name}") for layer in LAYERS for f in layer.fields]


@pytest.mark.parametrize("layer, field", all_fields())
def test_a_perturbed_field_is_found(layer, field):
    """Every field is truly compared: move one number of ours by ten tolerances and the report fails on that field."""
    moved, seen = [], []

    def change(values):
        whole, at = values.dtype.kind == "i", 0 if field.name in FROM_THE_FRONT else values.size - 1
        scale = scale_of(field, oracle_values(field, *seen), *seen, layer.tolerance)
        known = scale.shape == values.shape and field.name not in STORED
        size = scale.reshape(-1)[at] if known else scale.max()
        step = -1 if field.name == "contact.geom" else 1  # the last geom has no successor
        values.reshape(-1)[at] += step if whole else 10 * layer.tolerance * float(size)
        moved.append((np.unravel_index(at, values.shape), known and not whole))

    names = MODELS_OF.get(layer.name, IN_CONTACT if layer in (*CONTACT_LAYERS, *SHIPPED_LAYERS) else EVERYTHING)
    sources = [MODELS[f"tests/models/{name}.xml"] for name in names]
    source = next(path for path in sources if kt.Data(kt.load(path))._arrays[stored(field.name)].size)
    report = check(source, states=1, seed=SEED, layers=perturbed(layer, field.name, change, seen))
    failing = {failure.field for failure in report.failures()}
    assert field.name in failing
    if field.name not in COUNTS:  # with a wrong count, others are not where they should be
        assert failing <= {field.name} | FOLLOWING.get(field.name, set())
    failure = next(failure for failure in report.failures() if failure.field == field.name)
    text = str(report)
    for part in (source.name, field.name, repr(failure.ours), repr(failure.theirs), "DIFFERS", "FAIL"):
        assert part in text
    [(index, known)] = moved
    in_place = field.name not in STORED and field.name not in COUNTS and layer is not CONVEX
    if failure.index is not None and len(failure.index) == len(index) and in_place:
        assert failure.index == (index[0] - SKIPPED_ROWS.get(field.name, 0), *index[1:])
        if known:
            assert failure.error == pytest.approx(10 * layer.tolerance, rel=0.1)
    assert failure.error > layer.tolerance


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_a_failure(bad):
    def change(values):
        values[2, 1] = bad

    report = check(JOINTS, states=1, layers=perturbed(LAYERS[0], "xpos", change))
    (failure,) = report.failures()
    assert (failure.field, failure.index, failure.error) == ("xpos", (2, 1), np.inf)
    assert "not finite" in str(failure)


def test_the_worst_state_is_kept():
    calls = []

    def change(values):
        calls.append(None)
        values[1, 0] += [1e-3, 1e-2, 1e-4][len(calls) - 1]

    (failure,) = check(JOINTS, states=3, layers=perturbed(LAYERS[0], "xpos", change)).failures()
    assert failure.state == 1 and failure.differing_entries == 3


def test_check_takes_what_load_takes(tmp_path):
    xml = random_tree(3)
    binary = tmp_path / "tree.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(xml), str(binary), None)
    sources = [xml, JOINTS, str(JOINTS), MODELS["tests/models/arm.urdf"], mujoco.MjModel.from_xml_string(xml),
               mujoco.MjSpec.from_string(xml), binary, kt.models.names()[0]]  # fmt: skip
    reports = [check(source, states=1) for source in sources]
    assert all(report.ok for report in reports), "\n".join(str(report) for report in reports)
    assert [r.model for r in reports[:4]] == ["tree3", "joints.xml", "joints.xml", "arm.urdf"]
    assert "agrees with MuJoCo" in str(reports[0])


def test_check_needs_a_state():
    with pytest.raises(ValueError, match="states"):
        check(JOINTS, states=0)


def test_the_same_seed_gives_the_same_report():
    assert check(JOINTS, seed=4) == check(JOINTS, seed=4)
    assert check(JOINTS, seed=4) != check(JOINTS, seed=5)


@pytest.mark.parametrize("name", MODELS)
def test_random_states_are_within_bounds(name):
    model = mujoco.MjModel.from_xml_path(str(MODELS[name]))
    data = random_state(model, np.random.default_rng(0))
    for joint in range(model.njnt):
        value = data.joint(joint).qpos
        if model.jnt_type[joint] in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            assert np.linalg.norm(value[-4:]) == pytest.approx(1.0, abs=1e-14)
        if not model.jnt_limited[joint]:
            continue
        low, high = model.jnt_range[joint]
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL:
            value = 2 * np.arccos(min(1.0, abs(value[0])))
        assert low < value < high
    limited = model.actuator_ctrllimited.astype(bool)
    bounds = model.actuator_ctrlrange
    assert np.all(data.ctrl[limited] >= bounds[limited, 0]) and np.all(data.ctrl[limited] <= bounds[limited, 1])
    for quat in data.mocap_quat:
        assert np.linalg.norm(quat) == pytest.approx(1.0, abs=1e-14)
    for field in ("qvel", "qfrc_applied", "mocap_pos", "ctrl", "act", "plastic"):
        assert np.all(getattr(data, field) != 0), f"{field} has zeros"
    assert np.all(data.xfrc_applied[1:] != 0) and not np.any(data.xfrc_applied[0])


STATEFUL = ("mocap", "servos", "passive", "actuators")  # between them, they have every part of a state


def with_userdata(name):
    spec = mujoco.MjSpec.from_file(str(MODELS[f"tests/models/{name}.xml"]))
    spec.nuserdata = 3
    return spec.compile()


@pytest.mark.parametrize("name", STATEFUL)
def test_states_are_copied_whole(name):
    model = with_userdata(name)
    theirs, ours = random_state(model, np.random.default_rng(2)), kt.Data(kt.load(model))
    theirs.eq_active[:] = False
    copy_state(theirs, ours)
    spec = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    vector = np.zeros(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, theirs, vector, spec)
    assert np.array_equal(ours.get_state(spec), vector)


def test_the_copied_states_have_every_part():
    models = [with_userdata(name) for name in STATEFUL]
    for size in ("na", "nu", "nmocap", "neq", "nuserdata", "nhistory", "nplastic"):
        assert any(getattr(model, size) for model in models), size


def test_a_gentle_state_accelerates_gently():
    """Its forces are those of accelerations of order one, on top of what gravity, springs and motors do."""
    model = mujoco.MjModel.from_xml_path(str(JOINTS))
    model.opt.disableflags |= int(kt.DisableBit.CONSTRAINT | kt.DisableBit.ACTUATION)
    data = random_state(model, np.random.default_rng(3))
    wanted, speed = data.qfrc_applied.copy(), np.abs(data.qvel).max()
    gentle_state(model, data)
    assert np.abs(data.qvel).max() == pytest.approx(0.1 * speed)
    accelerations = []
    for applied in (data.qfrc_applied.copy(), 0.0):
        data.qfrc_applied[:] = applied
        mujoco.mj_forward(model, data)
        accelerations.append(data.qacc_smooth.copy())
    assert np.allclose(accelerations[0] - accelerations[1], wanted, rtol=1e-6, atol=1e-6)
    pushes = data.xfrc_applied[1:, :3] / model.body_mass[1:, None]
    assert np.allclose(pushes, pushes[0]) and np.any(pushes) and not np.any(data.xfrc_applied[:, 3:])


def test_survey_and_page_record_refusals():
    models = [("joints", JOINTS), *corpora.refused_models()]
    outcomes = survey(models, states=1)
    assert [outcome.ok for outcome in outcomes] == [True] + [False] * len(corpora.REFUSED)
    page = markdown(outcomes, states=1, unloadable=[("part.xml", "a part")])
    assert "| joints |" in page and "`part.xml`: a part" in page
    for name, words in corpora.REFUSED.items():
        line = next(line for line in page.splitlines() if f"`{name}`" in line)
        assert all(word in line for word in words)


def test_page_shows_differences(monkeypatch):
    def change(values):
        values[1, 0] += 1.0

    monkeypatch.setattr("kinetree.conformance.report.check", lambda source, states, seed, name, integrator: check(
        source, states, seed, name, perturbed(LAYERS[0], "xipos", change)))  # fmt: skip
    page = markdown(survey([("joints", JOINTS)], states=1), layers=LAYERS[:1])
    assert "| models | 0 | 0 | 1 |" in page and "xipos" in page and "FAIL joints" in page


def test_page_in_the_repository_is_complete():
    """docs/conformance.md is written by a run; a model or layer added since then means it must be written again."""
    page = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
    models = [entry.name for entry in corpora.entries()]
    others = [name for name, _ in corpora.unloadable()] + [layer.name for layer in LAYERS]
    missing = [name for name in [*models, *corpora.REFUSED, *others] if name not in page]
    assert not missing, f"docs/conformance.md lacks {missing}; its first lines say how to write it again"
    assert "## Differences" not in page
    undecided = page.split("## Undecided")[1].split("## Cut")[0].split("## Refused")[0].splitlines()
    rows = [tuple(line[2:].split(" | ")[:2]) for line in undecided if line.startswith("| ")]
    assert {*rows} - {("model", "layer")} == {(name, layer) for name, layers in UNDECIDED.items() for layer in layers}


def test_command_line(tmp_path, capsys):
    assert main([str(JOINTS), "--states", "1"]) == 0
    assert "joints.xml agrees with MuJoCo" in capsys.readouterr().out
    corpus, page = tmp_path / "corpus.py", tmp_path / "docs" / "page.md"
    corpus.write_text(f"def corpus():\n    return [('mine', {str(JOINTS)!r})]\n\ndef unloadable():\n    return []\n")
    assert main(["--corpus", str(corpus), "--output", str(page), "--states", "1"]) == 0
    assert "| mine |" in page.read_text()
    with pytest.raises(SystemExit):
        main([])
