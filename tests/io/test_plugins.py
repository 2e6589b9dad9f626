"""Plugins at the boundary: recognised by name, configurations read and written back, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.io import plugins
from kinetree.io.load import _binary
from kinetree.io.plugins import ATTRIBUTES, PID, PREFIXES, PROBES, TOUCH_GRID, plugin_names, slots
from kinetree.model_fields import PLUGIN_FIELDS
from tests.corpora import package_root

MODEL = package_root("kinetree").parent / "tests/models/plugins.xml"


def pid(attributes: str = "", **config: object) -> str:
    """A model with one pid."""
    text = "".join(f'<config key="{key}" value="{value}"/>' for key, value in config.items())
    return f"""<mujoco><extension><plugin plugin="{PID}"><instance name="servo">{text}</instance></plugin></extension>
      <worldbody><body><joint name="j"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
      <actuator><plugin name="a" joint="j" plugin="{PID}" instance="servo" {attributes}/></actuator></mujoco>"""


def grid(attributes: str = 'objtype="site" objname="s"', **config: object) -> str:
    """A model with one touch grid."""
    text = "".join(f'<config key="{key}" value="{value}"/>' for key, value in config.items())
    return f"""<mujoco><extension><plugin plugin="{TOUCH_GRID}"/></extension><worldbody><body name="b"><freejoint/>
      <geom size=".1"/><site name="s"/></body></worldbody><sensor><plugin name="g" plugin="{TOUCH_GRID}" {attributes}>{text}
      </plugin></sensor></mujoco>"""


GOOD = {"size": "3 4", "fov": "90 45"}


# recognition


def test_every_plugin_has_a_probe_and_fields():
    assert set(ATTRIBUTES) == set(PREFIXES) == set(PROBES) == set(slots().values())
    assert set(PLUGIN_FIELDS) == {PREFIXES[name] + key for name, keys in ATTRIBUTES.items() for key in keys}


def test_importing_mujoco_alone_knows_them():
    """Who has NumPy and mujoco-core alone can load such a model: kinetree loads no library."""
    code = f"import kinetree as kt; m = kt.load({str(MODEL)!r}); assert (m.nplugin, m.pid_kp[0]) == (12, 6.0)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_plugin_that_is_not_registered_is_unknown(monkeypatch):
    monkeypatch.setitem(PROBES, "mujoco.nothing", PROBES[PID].replace(PID, "mujoco.nothing"))
    assert sorted(slots().values()) == sorted(ATTRIBUTES)


def test_other_plugins_are_refused_by_name():
    path = MODEL.parent / "refused/sdf.xml"
    for source in (path, mujoco.MjModel.from_xml_path(str(path))):
        with pytest.raises(kt.UnsupportedFeatureError, match=r"plugin \(plugin 'torus'\)"):
            kt.load(source)


def test_a_binary_file_with_other_plugins_is_refused(tmp_path):
    file = tmp_path / "sdf.mjb"
    file.write_bytes(_binary(mujoco.MjModel.from_xml_path(str(MODEL.parent / "refused/sdf.xml"))))
    with pytest.raises(kt.UnsupportedFeatureError, match=r"plugin \(plugin 0\)"):
        kt.load(file)


# configurations


def test_configurations_are_numbers():
    model = kt.load(MODEL)
    rows = dict(zip(plugin_instances(model), range(model.nplugin), strict=True))
    k = rows["all"]
    assert (model.pid_kp[k], model.pid_ki[k], model.pid_kd[k], model.pid_imax[k], model.pid_slewmax[k]) == (
        2,
        40,
        0.4,
        0.3,
        2.5,
    )
    assert (model.pid_imax[rows["plain"]], model.pid_slewmax[rows["plain"]]) == (-1, -1)
    assert model.pid_imax[rows["negative"]] == 0.2
    k = rows["palm"]
    assert (model.grid_nchannel[k], *model.grid_size[k], *model.grid_fov[k], model.grid_gamma[k]) == (
        3,
        5,
        4,
        120,
        80,
        0.4,
    )
    assert model.actuator("all").plugin == rows["all"] and model.sensor("hand").plugin == rows["palm"]


def plugin_instances(model: kt.Model) -> list[str]:
    mj = model.to_mujoco()
    return [mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_PLUGIN, i) or str(i) for i in range(mj.nplugin)]


@pytest.mark.parametrize("text, number", [("", 0.0), ("3", 3.0), (" -2.5e1 ", -25.0), (".5", 0.5), ("+4.", 4.0)])
def test_numbers_are_mujocos(text, number):
    """Against MuJoCo: the force of a pid whose gain is written so."""
    source = pid(kp=text)
    mj, model = mujoco.MjModel.from_xml_string(source), kt.load(source)
    theirs, ours = mujoco.MjData(mj), kt.Data(model)
    theirs.ctrl[:] = ours.ctrl[:] = 0.5
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    assert ours.actuator_force[0] == theirs.actuator_force[0] == number * 0.5


# Model, and what kinetree says; MuJoCo must refuse all in the first list.
REFUSED_BY_BOTH: list[tuple[str, str]] = [
    (pid("", ki=1), 'actdim="1"'),
    (pid('actdim="2"', ki=1), 'actdim="1"'),
    (pid('actdim="1" dyntype="filter" dynprm="1"', slewmax=1), 'actdim="2"'),
    (pid('actdim="1"', slewmax=-1), "slewmax"),
    (pid('actdim="1"', ki=1, imax=-1), "imax"),
    (pid('actdim="1"', ki=-1, imax=1), "imax"),
    (pid(kv=1), "unrecognized attribute"),
    (grid(fov="90 45"), "resolutions must be specified"),
    (grid(size="3 3"), "fields of view must be specified"),
    (grid(**{**GOOD, "size": "3"}), "resolutions must be specified"),
    (grid(**{**GOOD, "size": "3  3"}), "resolutions must be specified"),
    (grid(**{**GOOD, "size": "0 3"}), "must be positive"),
    (grid(**{**GOOD, "size": "1e9 1e9"}), "too large"),
    (grid(**{**GOOD, "fov": "181 45"}), r"fov\[0\]"),
    (grid(**{**GOOD, "fov": "90 90.1"}), r"fov\[1\]"),
    (grid(**{**GOOD, "fov": "0 45"}), r"fov\[0\]"),
    (grid(**GOOD, nchannel=7), "nchannel"),
    (grid(**GOOD, nchannel=-1), "nchannel"),
    (grid(**GOOD, nchannel="three"), "Invalid or missing"),
    (grid(**GOOD, gamma=1.5), "gamma"),
    (grid('objtype="body" objname="b"', **GOOD), "attached to a site"),
]
# What MuJoCo reads as something else than it says, or computes nonsense from.
REFUSED_BY_US: list[tuple[str, str]] = [
    (pid(kp="4O"), "plugin 'servo' .mujoco.pid.: kp is '4O', not a number"),
    (pid(kp="nan"), "kp is 'nan', not a number"),
    (pid(kp="1_000"), "kp is '1_000', not a number"),
    (pid('actdim="1"', slewmax="inf"), "slewmax is 'inf', not a number"),
    (grid(**{**GOOD, "fov": "45 45x"}), "fov is '45x', not a number"),
    (grid(**GOOD, gamma="1 2"), "gamma is '1 2', not a number"),
    (pid('actdim="1" dyntype="muscle"', ki=1), "mujoco.pid with dyntype muscle .actuator 'a'."),
    (pid('actdim="1" dyntype="user"', ki=1), "mujoco.pid with dyntype user .actuator 'a'."),
]  # fmt: skip


@pytest.mark.parametrize("source, words", REFUSED_BY_BOTH)
def test_wrong_configurations_are_refused_as_by_mujoco(source, words):
    with pytest.raises(kt.ModelError) as refused:
        kt.load(source)
    with pytest.raises(ValueError) as theirs:
        mujoco.MjModel.from_xml_string(source)
    reason = str(theirs.value).splitlines()[-1 if "init failed" in str(theirs.value) else 0]
    assert reason.strip().removeprefix("Error: ") in str(refused.value)
    assert words.replace("\\", "") in str(refused.value)
    lines = str(refused.value).split("; ")
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("source, words", REFUSED_BY_US)
def test_what_mujoco_misreads_is_refused(source, words):
    mujoco.MjModel.from_xml_string(source)
    with pytest.raises(kt.ModelError, match=words):
        kt.load(source)


# compiled models and binary files, in which anything may stand

Change = Callable[[mujoco.MjModel], None]


def put(name: str, at: int, value: int) -> Change:
    def change(mj: mujoco.MjModel) -> None:
        getattr(mj, name)[at] = value

    return change


def text_of(i: int, old: bytes, new: bytes) -> Change:
    def change(mj: mujoco.MjModel) -> None:
        at = mj.plugin_attr.tobytes().index(old, mj.plugin_attradr[i])
        mj.plugin_attr[at : at + len(new)] = np.frombuffer(new, np.int8)

    return change


DAMAGE: list[tuple[Change, str]] = [
    (put("actuator_plugin", 1, 9), r"actuator_plugin\[1\] is 9, no instance of mujoco.pid"),
    (put("actuator_plugin", 1, 1000), r"actuator_plugin\[1\] is 1000, no instance|actuator_plugin"),
    (put("actuator_plugin", 1, -2), r"actuator_plugin\[1\] is -2, no instance|actuator_plugin"),
    (
        put("actuator_plugin", 12, -1),
        r"plugin\[5\] is .*, of mujoco.pid, but there is no actuator|actuator_actnum\[12\] is 1, but 0",
    ),
    (put("sensor_plugin", 0, 0), r"sensor_plugin\[0\] is 0, (which is )?no instance of mujoco.sensor.touch_grid"),
    (put("sensor_plugin", 6, 0), r"sensor_plugin\[6\] is 0, but it is of no plugin"),
    (put("sensor_plugin", 0, -1), r"sensor_plugin\[0\] is -1"),
    (put("sensor_needstage", 0, 1), r"sensor_needstage\[0\] is 1, but 3 follows"),
    (put("plugin", 0, 77), r"plugin \(plugin"),
    (put("plugin", 0, -3), r"plugin \(plugin"),
    (put("plugin_attradr", 2, 10**6), r"plugin_attradr\[2\] is 1000000"),
    (put("plugin_attradr", 2, -5), r"plugin_attradr"),
    (text_of(0, b"6", b"x"), "kp is 'x', not a number"),
    (text_of(3, b"1.5", b"-.5"), "slewmax is -.5, but must not be negative"),
    (text_of(2, b"0.4", b"-.4"), "imax is -.4, but must have the sign of ki, 80"),
    (text_of(6, b"3", b"9"), "nchannel is 9, outside 1..6|sensor|Error"),
    (text_of(6, b"5 4", b"5 9"), r"sensor_dim|Error|size"),
    (text_of(6, b"0.4", b"9.4"), "gamma is 9.4, outside 0..1"),
]


@pytest.mark.parametrize("change, words", DAMAGE)
def test_damaged_models_are_refused(change, words, tmp_path):
    mj = mujoco.MjModel.from_xml_path(str(MODEL))
    change(mj)
    file = tmp_path / "model.mjb"
    file.write_bytes(_binary(mj))
    for source in (mj, file):
        with pytest.raises(kt.ModelError, match=words):
            kt.load(source)


# the way back


def test_to_mujoco_gives_back_what_was_read():
    mj = mujoco.MjModel.from_xml_path(str(MODEL))
    assert kt.load(mj).to_mujoco().plugin_attr.tobytes() == mj.plugin_attr.tobytes()


def test_edited_gains_go_back_to_mujoco_and_come_again():
    model = kt.load(MODEL)
    edited = model.replace(pid_kp=model.pid_kp * 1.7, pid_ki=model.pid_ki / 3, grid_fov=model.grid_fov * 0.9)
    edited.pid_imax[:] *= np.where(edited.pid_imax > 0, 0.7, 1.0)
    edited.pid_slewmax[3] = 0.1 + 0.2
    mj = edited.to_mujoco()
    for other in (kt.load(mj), pickle.loads(pickle.dumps(edited))):
        for name in PLUGIN_FIELDS:
            assert np.array_equal(getattr(other, name), getattr(edited, name)), name
    theirs, ours = mujoco.MjData(mj), kt.Data(edited)
    for data in (theirs, ours):
        data.ctrl[:] = np.linspace(-1, 1, edited.nu)
        data.time = 1.0
    mujoco.mj_forward(mj, theirs)
    kt.forward(edited, ours)
    np.testing.assert_allclose(ours.actuator_force, theirs.actuator_force, rtol=1e-10, atol=1e-10)


def test_edits_that_need_other_states_are_refused():
    model = kt.load(MODEL)
    for change in ({"pid_ki": 0.0}, {"pid_slewmax": 1.0}):
        with pytest.raises(kt.ModelError, match="actdim"):
            model.replace(**change)
    model.pid_ki[:] = 5.0  # past any check: then these actuators have no states
    for refusing in (model.to_mujoco, lambda: kt.set_const(model), lambda: pickle.dumps(model)):
        with pytest.raises(kt.ModelError, match="actdim"):
            refusing()
    data = kt.Data(model)
    kt.step(model, data, 3)
    assert np.isfinite(data.qpos).all()


@pytest.mark.parametrize("name", ["pid_imax", "pid_slewmax"])
def test_negative_bounds_are_refused(name):
    """But -1, which is none."""
    model = kt.load(pid('actdim="2"', kp=1, ki=2, imax=3, slewmax=4))
    with pytest.raises(ValueError, match=rf"{name}\[0\] is -3, but must not be negative; -1 is no bound"):
        model.replace(**{name: [-3.0]})
    getattr(model, name)[0] = -3.0
    with pytest.raises(ValueError, match=name):
        model.to_mujoco()
    assert kt.load(MODEL).replace(pid_imax=-1.0).pid_imax.max() <= 0.0


def test_numbers_that_are_none_are_refused():
    model = kt.load(pid(kp=1))
    model.pid_kp[0] = np.nan
    with pytest.raises(kt.ModelError, match="kp is 'nan'"):
        model.to_mujoco()


def test_sizes_are_read_only():
    model = kt.load(MODEL)
    for name in ("grid_size", "grid_nchannel"):
        with pytest.raises(AttributeError, match="read-only"):
            setattr(model, name, 1)


def test_a_pickle_names_its_plugins(monkeypatch):
    """Slots are the order of registration, which is another on another machine."""
    model = kt.load(MODEL)
    restore, (fingerprint, contents, *rest, names) = model.__reduce__()
    mj = model.to_mujoco()
    assert names == plugin_names(mj)
    at, n = plugins.part_of(contents, "plugin")
    elsewhere = contents[:at] + bytes(np.arange(n, dtype=np.int32) + 40) + contents[at + 4 * n :]
    assert np.array_equal(restore(fingerprint, elsewhere, *rest, names).pid_kp, model.pid_kp)
    for wrong in (["mujoco.pid"], ["mujoco.unknown"] * n, "text", [3]):
        with pytest.raises((kt.ModelError, TypeError)):
            restore(fingerprint, elsewhere, *rest, wrong)
