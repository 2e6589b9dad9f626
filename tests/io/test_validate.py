"""Validation: good models pass, wrong integers are refused by name, and what is accepted stays within bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.fields import BYTE, INT
from kinetree.io.binary import wild_address
from kinetree.io.features import TYPED_FIELDS
from kinetree.io.validate import problems
from kinetree.io.validate.elements import CONTACT_WIDTHS, RAY_WIDTHS, SENSORS
from kinetree.io.validate.table import CHOICES, FREE, REFERENCES, SPANS
from kinetree.model_fields import MODEL_FIELDS
from kinetree.types import ConDataField, RayDataField, SensorType
from tests import corpora
from tests.test_fields import OF_SPECS, RICH

ROOT = Path(__file__).parents[2]
MODELS = Path(__file__).parents[1] / "models"
INTEGERS = [field.name for field in MODEL_FIELDS.values() if field.dtype in (INT, BYTE)]
WILD = {-1000, 10**6, 2**31 - 1}
# Integers of which only some entries mean anything, by the type of their element.
BY_TYPE = {"actuator_ctrlspec", "actuator_trnid", "sensor_intprm", "cam_resolution"}
# Integers that kinetree does not declare: MuJoCo's rendering, names and texts.
UNDECLARED = (
    "tex_",
    "mat_",
    "skin_",
    "light_t",
    "text_",
    "name",
    "_matid",
    "_plugin",
    "pathadr",
    "texcoord",
    "facenormal",
)


@pytest.mark.parametrize("name, path", corpora.own_models())
def test_good_models_have_no_problem(name, path):
    assert list(problems(mujoco.MjModel.from_xml_path(str(path)))) == []


def test_a_tendon_names_the_trees_that_it_says_it_touches():
    model = mujoco.MjModel.from_xml_path(str(MODELS / "sensors.xml"))
    model.tendon_treenum[0], model.tendon_treeid[0] = 2, (0, -1)
    assert any("tendon_treenum[0] is 2" in problem for problem in problems(model)), list(problems(model))


def test_every_integer_field_is_in_one_place():
    """A field is in a table, or `test_wrong_integers` must see it refused by a rule."""
    counts = {count for count, _, _ in SPANS.values()}
    tables = [set(SPANS), counts, set(REFERENCES), set(CHOICES), FREE, set(TYPED_FIELDS)]
    listed = [name for table in tables for name in table]
    assert sorted(set(listed)) == sorted(listed), "a field is in two tables"
    assert set(listed) <= set(INTEGERS)
    assert set(SENSORS) == set(SensorType)
    assert (len(CONTACT_WIDTHS), len(RAY_WIDTHS)) == (len(ConDataField), len(RayDataField))


# wrong integers


def run_corrupt(path: Path, folder: Path, stages: str = "position") -> dict[str, Any]:
    environment = {**os.environ, "KINETREE_BOUNDS": "1"}
    now = folder / "now.txt"
    command = [sys.executable, "-W", "ignore", "-m", "tests.io.corrupt", str(path), str(now), stages]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, f"{path}: {now.read_text()} gave {done.returncode}\n{done.stderr[-2000:]}"
    return json.loads(done.stdout)


@pytest.mark.parametrize("label", ["rich", "sensors", "actuators", "equalities"])
def test_wrong_integers_are_refused_or_harmless(label, tmp_path):
    path = MODELS / f"{label}.xml"
    if label == "rich":
        path = tmp_path / "rich.xml"
        path.write_text(RICH)
    found = run_corrupt(path, tmp_path)
    assert found["wrong"] == [], "out of bounds in compiled code"
    wild = {name for name, values in found["accepted"].items() if WILD.intersection(values)}
    assert not [name for name in wild & set(MODEL_FIELDS) if name not in FREE | BY_TYPE]
    assert not [name for name in wild - set(MODEL_FIELDS) if not any(part in name for part in UNDECLARED)]


@pytest.mark.soak
@pytest.mark.parametrize("label", sorted(path.stem for path in MODELS.glob("*.xml")))
def test_wrong_integers_are_harmless_in_every_stage(label, tmp_path):
    assert run_corrupt(MODELS / f"{label}.xml", tmp_path, "all")["wrong"] == []


def test_wrong_integers_reach_every_field():
    mj = mujoco.MjModel.from_xml_string(RICH)
    of_specs = [name for name in INTEGERS if MODEL_FIELDS[name].dims.split()[0] in OF_SPECS]
    assert [name for name in INTEGERS if not getattr(mj, name).size] == of_specs


def test_messages_name_field_index_and_value():
    mj = mujoco.MjModel.from_xml_string(RICH)
    mj.site_bodyid[1] = 77
    with pytest.raises(kt.ModelError, match=r"^MjModel: site_bodyid\[1\] is 77, outside 0\.\.5$"):
        kt.load(mj)
    mj = mujoco.MjModel.from_xml_string(RICH)
    mj.jnt_qposadr[2] = 3
    with pytest.raises(kt.ModelError, match=r"^MjModel: jnt_qposadr\[2\] is 3, but 11 follows$"):
        kt.load(mj)


# what a sensor's type says, against MuJoCo's compiler

CONTACT = """<mujoco><worldbody><body name="b"><freejoint/><geom name="g" size="1"/></body></worldbody>
<sensor><contact geom1="g" data="{}" num="2"/></sensor></mujoco>"""
RAYS = """<mujoco><worldbody><site name="s"/><camera name="c" resolution="3 2"/></worldbody>
<sensor><rangefinder {} data="{}"/></sensor></mujoco>"""


@pytest.mark.parametrize("field", ConDataField)
def test_contact_sensor_widths(field):
    mj = mujoco.MjModel.from_xml_string(CONTACT.format(field.name.lower()))
    assert mj.sensor_dim[0] == 2 * CONTACT_WIDTHS[field]
    assert list(problems(mj)) == []


@pytest.mark.parametrize("field", RayDataField)
@pytest.mark.parametrize("target, rays", [('site="s"', 1), ('camera="c"', 6)])
def test_rangefinder_widths(field, target, rays):
    mj = mujoco.MjModel.from_xml_string(RAYS.format(target, field.name.lower()))
    assert mj.sensor_dim[0] == rays * RAY_WIDTHS[field]
    assert list(problems(mj)) == []


# damaged binary files


def binary(mj: mujoco.MjModel) -> bytes:
    out = np.zeros(mujoco.mj_sizeModel(mj), np.uint8)
    mujoco.mj_saveModel(mj, None, out)
    return out.tobytes()


@pytest.mark.parametrize("name, path", corpora.own_models())
def test_sound_binary_files_have_no_wild_address(name, path):
    contents = binary(mujoco.MjModel.from_xml_path(str(path)))
    assert wild_address(contents) == ""
    assert wild_address(contents[:-7]) == wild_address(contents[:100]) == wild_address(b"") == ""


@pytest.mark.parametrize("name", [n for n in INTEGERS if n.endswith(("adr", "num"))])
def test_wild_addresses_in_binary_files_are_found(name, tmp_path):
    """MuJoCo's own reader crashes on some of them, so it must not see them."""
    mj = mujoco.MjModel.from_xml_string(RICH)
    getattr(mj, name).flat[-1] = 2**31 - 1
    path = tmp_path / "wild.mjb"
    path.write_bytes(binary(mj))
    with pytest.raises(kt.ModelError, match=f"wild.mjb: {name} holds 2147483647, which is outside any model"):
        kt.load(path)


DAMAGE = """
import sys
from pathlib import Path
import numpy as np
import kinetree as kt

sound, path, rng = np.fromfile(sys.argv[1], np.uint8), Path(sys.argv[2]), np.random.default_rng(3)
loaded = 0
for _ in range(400):
    contents = sound.copy()
    kind = rng.integers(3)
    if kind == 0:
        contents[rng.integers(contents.size)] = rng.integers(256)
    elif kind == 1:
        at = rng.integers(contents.size // 4 - 1) * 4
        contents[at : at + 4] = np.frombuffer(np.int32(rng.choice([-1, -1000, 10**6, 2**31 - 1])).tobytes(), np.uint8)
    else:
        contents = contents[: rng.integers(contents.size)]
    path.write_bytes(contents.tobytes())
    try:
        model = kt.load(path)
    except kt.ModelError:
        continue
    loaded += 1
    data = kt.Data(model)
    for stage in (kt.kinematics, kt.com_pos, kt.camlight):
        stage(model, data)
print(loaded)
"""


def test_damaged_binary_files_are_refused_or_harmless(tmp_path):
    (tmp_path / "sound.mjb").write_bytes(binary(mujoco.MjModel.from_xml_string(RICH)))
    command = [sys.executable, "-W", "ignore", "-c", DAMAGE, str(tmp_path / "sound.mjb"), str(tmp_path / "now.mjb")]
    environment = {**os.environ, "KINETREE_BOUNDS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < int(done.stdout) < 400
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()
