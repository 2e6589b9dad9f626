"""`kinetree check`: agreement, disagreement and refusal, in words, in numbers and in the exit status."""

import json

import mujoco
import pytest

from kinetree.conformance import budget, layer_names
from kinetree.conformance import compare as harness
from tests import corpora


def test_a_model_that_agrees(kinetree):
    status, out, err = kinetree("check", "humanoid", "--states", "2", "--seed", "7", "--verbose")
    assert (status, err) == (0, "")
    assert "2 random states, seed 7" in out and "humanoid agrees with MuJoCo" in out
    for layer in layer_names():
        line = next(line for line in out.splitlines() if f"│ {layer} " in line)
        assert "yes" in line or (layer in ("tendon", "contact geometry, convex") and "none" in line), line
    assert "Not computed" not in out


def test_a_summary_is_short(kinetree, heavier_oracle):
    """Numbers that agree, are undecided and differ, a line for each kind of layers; what differs most; a verdict."""
    for name in ("double_pendulum", "humanoid"):  # the oracle is made to differ
        status, out, _ = kinetree("check", name, "--states", "1")
        lines = out.strip().splitlines()
        assert status == 1 and len(lines) <= 12 and lines[1].split()[:3] == ["agree", "undecided", "differ"]
        assert "DIFFERS" in lines[-1] and "--verbose" in lines[-1]
        assert sum("differs in" in line for line in lines) == 2


def test_a_summary_counts_what_agrees(kinetree, tmp_path):
    status, out, _ = kinetree("check", "spinner", "--states", "1", "--json", "report.json")
    lines = out.strip().splitlines()
    entries = json.loads((tmp_path / "report.json").read_text())["entries"]
    assert status == 0 and len(lines) <= 12 and entries["undecided"] == entries["differ"] == 0
    assert f"agrees with MuJoCo {mujoco.__version__} in all {entries['agree']} numbers" in lines[-1]
    assert next(line for line in lines if line.startswith("default solver")).rstrip().endswith("nothing to compare")


def test_a_model_that_is_all_computed(kinetree):
    (status, out, _) = kinetree("check", "spinner", "--states", "1", "--verbose")
    assert status == 0 and "Not computed" not in out
    line = next(line for line in out.splitlines() if "│ constraint rows " in line)
    assert "yes" not in line and line.count("none") == 2, "it has no constraints, which is no agreement"


@pytest.fixture
def soon_sure(monkeypatch):
    """MuJoCo is run a few times against itself, not hundreds, before it counts as sure of what differs."""
    monkeypatch.setattr(budget, "REPEATS", 10)


@pytest.fixture
def heavier_oracle(monkeypatch, soon_sure):
    """A MuJoCo that finds the elbow's mass to be a little larger."""
    genuine = harness.oracle_model

    def oracle(source):
        model = genuine(source)
        model.body_mass[-1] *= 1.001
        return model

    monkeypatch.setattr(harness, "oracle_model", oracle)


def test_a_model_that_differs(kinetree, heavier_oracle, tmp_path):
    status, out, err = kinetree("check", "double_pendulum", "--json", "report.json", "--verbose")
    assert (status, err) == (1, "")
    assert "double_pendulum DIFFERS from MuJoCo" in out and "NO: " in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["agrees"] is False and list(report["layers"]) == list(layer_names())
    fields = {field["field"]: field for field in report["layers"]["com"]}
    mass = fields["subtree_mass"]
    assert not mass["ok"] and fields["cdof"]["ok"]
    line = next(line for line in out.splitlines() if line.startswith("com: subtree_mass"))
    for part in (repr(mass["ours"]), repr(mass["theirs"]), str(mass["index"]), f"state {mass['state']}"):
        assert part in line, part
    assert mass["theirs"] == pytest.approx(mass["ours"] * 1.001, rel=1e-3)


def test_the_report_as_json(kinetree, tmp_path):
    assert kinetree("check", "cartpole", "--states", "1", "--json", "report.json")[0] == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["agrees"] is True and (report["states"], report["seed"]) == (1, 0)
    assert report["not_computed"] == [] and set(report["counts"]) < set(layer_names())
    fields = [field for layer in report["layers"].values() for field in layer]
    assert all(field["ok"] and field["error"] <= field["tolerance"] for field in fields)


def test_what_is_not_finite_is_null_in_json(kinetree, monkeypatch, soon_sure, tmp_path):
    genuine = harness.oracle_model

    def oracle(source):
        model = genuine(source)
        model.opt.gravity[2] = float("nan")
        return model

    monkeypatch.setattr(harness, "oracle_model", oracle)
    status, out, _ = kinetree("check", "cartpole", "--states", "1", "--json", "report.json", "--verbose")
    assert status == 1 and "not finite" in out
    text = (tmp_path / "report.json").read_text()
    assert "NaN" not in text and "Infinity" not in text
    energy = json.loads(text)["layers"]["energy"][0]
    assert energy["error"] is None and energy["theirs"] is None and energy["note"] == "not finite"


@pytest.mark.parametrize("name", corpora.REFUSED)
def test_a_model_that_is_refused(kinetree, tmp_path, name):
    path = dict(corpora.refused_models())[name]
    status, out, err = kinetree("check", str(path), "--json", "report.json")
    assert status == 2 and not out and err.count("\n") == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["agrees"] is None
    for word in corpora.REFUSED[name]:
        assert word in err and any(word in feature for feature in report["unsupported"])


def test_a_file_of_the_users_own(kinetree, tmp_path):
    """A URDF and a compiled MJB, by their paths."""
    arm = dict(corpora.own_models())["tests/models/arm.urdf"]
    assert kinetree("check", str(arm), "--states", "1")[0] == 0
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_path(str(arm)), str(tmp_path / "arm.mjb"), None)
    assert kinetree("check", "arm.mjb", "--states", "1")[0] == 0
