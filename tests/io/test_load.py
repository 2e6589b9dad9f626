"""`kt.load`: every kind of source gives the same model, titles, refused features, and nothing left behind by failures."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from tests import corpora
from tests.test_fields import RICH
from tests.test_model import unequal, values

URDF = corpora.own_models()[[name for name, _ in corpora.own_models()].index("tests/models/arm.urdf")][1]
TETRAHEDRON = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
WITH_ASSETS = """
<mujoco model="stone">
  <asset><mesh file="stone.obj"/></asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="stone"/></body></worldbody>
</mujoco>"""


# sources


def test_all_sources_of_one_model_give_the_same(tmp_path):
    path = tmp_path / "rich.xml"
    path.write_text(RICH)
    mj = mujoco.MjModel.from_xml_path(str(path))
    mujoco.mj_saveModel(mj, str(tmp_path / "rich.mjb"), None)
    (tmp_path / "rich.mjcf").write_text(RICH)
    sources = {
        "path": path, "text path": str(path), "upper case": _copied(path, tmp_path / "RICH.XML"),
        "mjcf": tmp_path / "rich.mjcf", "mjb": tmp_path / "rich.mjb", "string": RICH, "indented string": f"\n  {RICH}",
        "string with a byte order mark": "\ufeff" + RICH.strip(), "MjModel": mj,
        "MjSpec": mujoco.MjSpec.from_string(RICH), "MjSpec of a file": mujoco.MjSpec.from_file(str(path)),
    }  # fmt: skip
    for label, source in sources.items():
        model = kt.load(source)
        assert not unequal(label, values(model), values(mj))
        assert model.names("body") == ["world", "mark", "trunk", "arm", "hand", "cart"], label


def _copied(path: Path, target: Path) -> Path:
    target.write_bytes(path.read_bytes())
    return target


def test_urdf_equals_mujocos():
    assert not unequal("urdf", values(kt.load(URDF)), values(mujoco.MjModel.from_xml_path(str(URDF))))
    text = URDF.read_text()
    assert not unequal("urdf text", values(kt.load(text)), values(mujoco.MjModel.from_xml_string(text)))


@pytest.mark.parametrize("name", kt.models.names())
def test_bundled_names(name):
    mj = mujoco.MjModel.from_xml_path(str(kt.models.path(name)))
    model = kt.load(name)
    assert not unequal(name, values(model), values(mj))
    assert model.title == name


def test_string_with_assets():
    reference = mujoco.MjModel.from_xml_string(WITH_ASSETS, {"stone.obj": TETRAHEDRON})
    model = kt.load(WITH_ASSETS, {"stone.obj": TETRAHEDRON})
    assert not unequal("assets", values(model), values(reference))
    spec = mujoco.MjSpec.from_string(WITH_ASSETS, assets={"stone.obj": TETRAHEDRON})
    assert not unequal("spec with assets", values(kt.load(spec)), values(reference))


def test_files_find_their_assets_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "stone.obj").write_bytes(TETRAHEDRON)
    (tmp_path / "sub" / "größe ☃.xml").write_text(WITH_ASSETS)
    monkeypatch.chdir(tmp_path)
    model = kt.load("sub/größe ☃.xml")
    assert (model.title, model.nmesh) == ("stone", 1)


def test_a_file_named_like_a_bundled_model_needs_its_suffix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "humanoid.xml").write_text("<mujoco model='mine'/>")
    assert kt.load("humanoid").title == "humanoid"
    assert kt.load("humanoid.xml").title == "mine"


def test_titles(tmp_path):
    unnamed = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>"
    (tmp_path / "robot.xml").write_text(unnamed)
    assert kt.load(tmp_path / "robot.xml").title == "robot"
    assert kt.load(unnamed).title == "XML string"
    assert kt.load(mujoco.MjModel.from_xml_string(unnamed)).title == "MjModel"
    assert kt.load("<mujoco model='my robot'/>").title == "my robot"
    assert kt.load("<mujoco model='größe'/>").title == "größe"


def test_the_model_is_a_copy_and_the_source_unchanged():
    mj, spec = mujoco.MjModel.from_xml_string(RICH), mujoco.MjSpec.from_string(RICH)
    before, text = values(mj), spec.to_xml()
    model = kt.load(mj)
    kt.load(spec)
    mj.body_mass[:] = 7.0
    mj.opt.timestep = 0.5
    assert not unequal("copy", values(model), before)
    assert model.to_mujoco().body_mass[2] == before["body_mass"][2]
    assert spec.to_xml() == text


# refusals


@pytest.mark.parametrize("name, path", corpora.refused_models())
def test_refused_models_name_every_feature(name, path):
    for source in (path, str(path), mujoco.MjSpec.from_file(str(path)), mujoco.MjModel.from_xml_path(str(path))):
        with pytest.raises(kt.UnsupportedFeatureError) as caught:
            kt.load(source)
        for words in corpora.REFUSED[name]:
            assert words in str(caught.value), (name, words)
        assert caught.value.features and isinstance(caught.value, (kt.ModelError, ValueError))


def test_several_features_at_once_each_with_its_element():
    mj = mujoco.MjModel.from_xml_string(RICH)
    mj.opt.enableflags |= kt.EnableBit.IPC
    mj.opt.disableflags |= 1 << 25
    mj.opt.solver = 77
    mj.geom_type[mj.geom("arm").id] = 8
    mj.geom_type[mj.geom("hand").id] = 101
    mj.jnt_type[mj.joint("elbow").id] = 9
    with pytest.raises(kt.UnsupportedFeatureError) as caught:
        kt.load(mj)
    assert set(caught.value.features) == {
        "flag ipc (option enableflags)", "unknown flag 0x2000000 (option disableflags)", "signed distance field (geom 'arm')",
        "geom_type arrow1 (geom 'hand')", "jnt_type 9, which is unknown (joint 'elbow')",
        "solver 77, which is unknown (option solver)",
    }  # fmt: skip


def test_another_mujoco_is_refused(monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "4.1.0")
    with pytest.raises(kt.ModelError, match="reads models of MuJoCo 4.0, but mujoco 4.1.0 is installed"):
        kt.load("humanoid")


# what MuJoCo writes on its own

FAILURES = """
import os, sys
import mujoco
import kinetree as kt

class Junk(os.PathLike):
    def __fspath__(self):
        return "junk.mjb"

open("junk.mjb", "wb").write(b"no model at all" * 100)
open("short.mjb", "wb").write(b"short")
open("broken.xml", "w").write("<mujoco><worldbody><bdy/></worldbody></mujoco>")
mj = mujoco.MjModel.from_xml_path(str(kt.models.path("humanoid")))
mujoco.mj_saveModel(mj, "cut.mjb", None)
contents = open("cut.mjb", "rb").read()
open("cut.mjb", "wb").write(contents[: len(contents) // 2])
mj.body_parentid[2] = 99
nan = "<mujoco><worldbody><body pos='nan 0 0'><joint/><geom size='1'/></body></worldbody></mujoco>"
for source in ("junk.mjb", "short.mjb", "cut.mjb", "broken.xml", mj, Junk(), nan):
    try:
        kt.load(source)
    except kt.ModelError as error:
        print("refused", error, file=sys.stderr)
model = kt.load("humanoid")
model.body_quat[1] = 0.0
model.body_mass[:] = float("inf")
try:
    kt.set_const(model)
except kt.ModelError as error:
    print("refused", error, file=sys.stderr)
"""


def test_failed_loads_print_nothing_and_leave_no_log(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FAILURES]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 8 and all(line.startswith("refused ") for line in lines), done.stderr
    assert "Model missing header ID" in lines[0] and "Truncated model file" in lines[2]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken.xml", "cut.mjb", "junk.mjb", "short.mjb"]


DEPRECATED = (
    """<mujoco><compiler settotalmass="3"/><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>"""
)


def _warned() -> None:
    """MuJoCo warns of an attribute that will go, and goes on."""
    kt.load(DEPRECATED)


def test_warnings_without_an_error_reach_the_handler_that_was_set():
    told: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(told.append)
    try:
        _warned()
        assert told and all("settotalmass" in message for message in told)
    finally:
        mujoco.set_mju_user_warning(before)


def test_warnings_without_an_error_or_a_handler_become_pythons():
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(None)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _warned()
        assert mujoco.get_mju_user_warning() is None
    finally:
        mujoco.set_mju_user_warning(before)
    assert caught and all(str(w.message).startswith("MuJoCo: ") and "settotalmass" in str(w.message) for w in caught)
    assert {w.filename for w in caught} == {__file__}


def test_loads_in_threads():
    models: list[kt.Model] = []
    threads = [threading.Thread(target=lambda: models.append(kt.load("humanoid"))) for _ in range(4)]
    before = mujoco.get_mju_user_warning()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(models) == 4 and mujoco.get_mju_user_warning() is before
    np.testing.assert_array_equal(models[0].body_mass, models[3].body_mass)


def test_a_warning_handler_that_takes_bytes_is_served():
    """dm_control sets such a handler."""
    import ctypes

    from kinetree.io.load import _tell

    told = []
    handler = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(told.append)
    _tell(handler, "careful")
    _tell(told.append, "text")
    assert told == [b"careful", "text"]
