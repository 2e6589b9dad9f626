"""Bad input to `kt.load` and to constructors: files, strings, types, features, damaged models."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

import kinetree as kt
from tests.bad_inputs.world import (
    PENDULUM,
    Case,
    load,
    load_file,
)
from tests.test_fields import RICH

REFUSED = Path(__file__).parents[1] / "models" / "refused"


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"model.xml"


FILES = [
    Case("missing file", load("nowhere.xml"), kt.ModelFileNotFoundError, "nowhere.xml is neither a file"),
    Case("missing file is a FileNotFoundError", load("nowhere.mjb"), FileNotFoundError, "nowhere.mjb is neither a file"),
    Case("missing file is a ModelError", load(Path("a/b.urdf")), kt.ModelError, "a/b.urdf is neither a file"),
    Case("misspelt bundled name", load("humanoidd"), kt.ModelError,
         "did you mean 'humanoid' or 'ball_humanoid'? bundled models: arm, "),
    Case("unknown bundled name", load("zzzzzz"), kt.ModelError,
         f"zzzzzz is neither a file nor a bundled model; bundled models: {', '.join(kt.models.names())}"),
    Case("bundled path", lambda w: kt.models.path("humanod"), ValueError, "did you mean 'humanoid'"),
    Case("empty path", load(""), kt.ModelError, "the name of the model is empty: ''"),
    Case("no path", load(Path("")), kt.ModelError, "'.' is not a path to a model"),
    Case("blank path", load("   "), kt.ModelError, "the name of the model is empty: '   '"),
    Case("zero byte in path", load("a\0b.xml"), kt.ModelError, "is not a path to a model"),
    Case("name too long", load("x" * 5000 + ".xml"), kt.ModelError, "File name too long"),
    Case("surrogate in path", load("\udcff.xml"), kt.ModelError, "is neither a file"),
    Case("folder", lambda w: kt.load(w.folder), kt.ModelError, "is a folder, not a model file"),
    Case("device", load("/dev/null"), kt.ModelError, "/dev/null is not a regular file"),
    Case("path below a file", lambda w: kt.load(w.file("a.xml", "<mujoco/>") / "b.xml"), kt.ModelError,
         "is neither a file"),
    Case("no suffix", load_file("model", "<mujoco/>"), kt.ModelError, "not a file without suffix"),
    Case("wrong suffix", load_file("model.txt", "<mujoco/>"), kt.ModelError,
         "kinetree reads .xml, .mjcf, .urdf, .mjb, not .txt"),
    Case("mesh file", load_file("model.stl", b"solid"), kt.ModelError, "not .stl"),
    Case("empty xml", load_file("model.xml", ""), kt.ModelError, "empty file"),
    Case("empty urdf", load_file("model.urdf", ""), kt.ModelError, "empty file"),
    Case("empty mjb", load_file("model.mjb", ""), kt.ModelError, "failed to load from mjb"),
    Case("short mjb", load_file("model.mjb", b"abc"), kt.ModelError, "incomplete header"),
    Case("mjb of something else", load_file("model.mjb", b"junk" * 1000), kt.ModelError, "Model missing header ID"),
    Case("truncated mjb", lambda w: kt.load(w.file("cut.mjb", w.binary()[:-9])), kt.ModelError, "Truncated model file"),
    Case("mjb cut in its sizes", lambda w: kt.load(w.file("cut.mjb", w.binary()[:99])), kt.ModelError,
         "while reading sizes"),
    Case("mjb too long", lambda w: kt.load(w.file("long.mjb", w.binary() + b"12")), kt.ModelError,
         "Model file is too large"),
    Case("xml named mjb", load_file("model.mjb", RICH), kt.ModelError, "Model missing header ID"),
    Case("mjb named xml", lambda w: kt.load(w.file("a.xml", w.binary())), kt.ModelError, "a.xml: XML"),
    Case("truncated xml", load_file("a.xml", "<mujoco>\n<worldbody>\n<body>"), kt.ModelError, "Line number=3"),
    Case("utf-16", load_file("a.xml", RICH.encode("utf-16")), kt.ModelError, "a.xml: XML"),
    Case("bytes before the xml", load_file("a.xml", b"\xff\xfe\x00<mujoco/>"), kt.ModelError, "Line number=1"),
    Case("name not utf-8", load_file("a.xml", b"<mujoco><worldbody><body name='\xff'/></worldbody></mujoco>"),
         kt.ModelError,
         "name_bodyadr[1] points to a name that is not UTF-8: b'\\xff'"),
    Case("title not utf-8", load_file("a.xml", b"<mujoco model='\xe9'/>"), kt.ModelError, "not UTF-8"),
    Case("html", load_file("a.xml", "<html><body/></html>"), kt.ModelError, "Unrecognized XML model type: 'html'"),
    Case("unknown element with its line", load_file("a.xml", "<mujoco>\n<worldbody>\n<bdy/></worldbody></mujoco>"),
         kt.ModelError, "unrecognized element; Element 'bdy', line 3"),
    Case("missing include", load_file("a.xml", "<mujoco>\n<include file='b.xml'/></mujoco>"), kt.ModelError, "b.xml"),
    Case("missing mesh", load_file("a.xml", "<mujoco><asset><mesh file='no.stl'/></asset></mujoco>"), kt.ModelError,
         "no.stl"),
    Case("broken urdf", load_file("a.urdf", "<robot name='r'>\n<joint name='j' type='revolute'/></robot>"),
         kt.ModelError,
         "a.urdf: "),
]  # fmt: skip

STRINGS = [
    Case("not closed", load("<mujoco>\n<worldbody>"), kt.ModelError, "XML string: XML parse error"),
    Case("unknown attribute with its line", load("<mujoco>\n\n<option tmestep='1'/></mujoco>"), kt.ModelError,
         "line 3"),
    Case("bad number", load("<mujoco>\n<option timestep='fast'/></mujoco>"), kt.ModelError, "line 2"),
    Case("too many numbers", load("<mujoco>\n<option gravity='1 2 3 4'/></mujoco>"), kt.ModelError, "line 2"),
    Case("no mass", load("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>"), kt.ModelError,
         "mass and inertia of moving bodies must be larger than"),
    Case("unknown joint", load(PENDULUM.format("<actuator>\n<motor joint='nope'/></actuator>")), kt.ModelError,
         "'nope'"),
    Case("repeated name", load(PENDULUM.format("<worldbody><body name='b'/></worldbody>")), kt.ModelError,
         "repeated name 'b'"),
    Case("keyframe of wrong size", load(PENDULUM.format("<keyframe><key qpos='1 2'/></keyframe>")), kt.ModelError,
         "qpos"),
    Case("missing asset", load("<mujoco><asset><mesh file='no.obj'/></asset></mujoco>"), kt.ModelError, "no.obj"),
    Case("broken asset", load("<mujoco><asset><mesh file='a.stl'/></asset></mujoco>", assets={"a.stl": b"?"}),
         kt.ModelError,
         "XML string: "),
    Case("text that is no xml", load("mujoco <worldbody/>"), kt.ModelError, "an XML string starts with '<'"),
    Case("nan in a position", load(PENDULUM.format("").replace("<body", "<body pos='nan 0 0'")), kt.ModelError,
         "body_pos[1, 0] is nan, not a finite number"),
    Case("inf in a position", load("<mujoco><worldbody><site pos='0 inf 0'/></worldbody></mujoco>"), kt.ModelError,
         "site_pos[0, 1] is inf"),
    Case("nan in a range", load("<mujoco><worldbody><body><joint range='nan 1'/><geom size='1'/></body></worldbody></mujoco>"),
         kt.ModelError, "jnt_range[0, 0] is nan"),
    Case("time step zero", load("<mujoco><option timestep='0'/></mujoco>"), kt.ModelError,
         "option timestep: the time step must"),
    Case("time step negative", load("<mujoco><option timestep='-1'/></mujoco>"), kt.ModelError,
         "must be positive, got -1.0"),
    Case("time step nan", load("<mujoco><option timestep='nan'/></mujoco>"), kt.ModelError, "opt.timestep is nan"),
    Case("negative iterations", load("<mujoco><option iterations='-3'/></mujoco>"), kt.ModelError,
         "must not be negative, got -3"),
]  # fmt: skip

TYPES = [
    Case("None", load(None), TypeError, "kt.load takes a path, an XML string, a mujoco.MjModel"),
    Case("number", load(3), TypeError, "not int"),
    Case("bool", load(True), TypeError, "not bool"),
    Case("bytes", load(b"<mujoco/>"), TypeError, "not bytes"),
    Case("list", load(["a.xml"]), TypeError, "not list"),
    Case("array", load(np.zeros(3)), TypeError, "not ndarray"),
    Case("class", load(kt.StablePD), TypeError, "not type"),
    Case("path of bytes", load(BytesPath()), TypeError, "not BytesPath"),
    Case("our own model", lambda w: kt.load(w.model), TypeError, "not Model"),
    Case("data", lambda w: kt.load(w.data), TypeError, "not Data"),
    Case("MjData", lambda w: kt.load(mujoco.MjData(w.mj)), TypeError, "not MjData"),
    Case("assets with a path", load("humanoid", assets={}), TypeError, "assets belong to an XML string"),
    Case("assets with a model", lambda w: kt.load(w.mj, {}), TypeError, "assets belong to an XML string"),
    Case("assets as a list", load("<mujoco/>", assets=["a"]), TypeError,
         "expected a mapping from names to contents, got list"),
    Case("assets of text", load("<mujoco/>", assets={"a": "text"}), TypeError, "got 'a' with str"),
    Case("assets with numbers", load("<mujoco/>", assets={1: b""}), TypeError, "got 1 with bytes"),
    Case("Model by hand", lambda w: kt.Model(), TypeError, "a Model is made by kt.load"),
    Case("Model of a path", lambda w: kt.Model("humanoid.xml"), TypeError, "a Model is made by kt.load"),
    Case("Data of nothing", lambda w: kt.Data(None), TypeError,
         "Data needs a kinetree Model, got NoneType: use kt.load first"),
    Case("Data of a path", lambda w: kt.Data("humanoid"), TypeError, "got str"),
    Case("Data of MjModel", lambda w: kt.Data(w.mj), TypeError, "got MjModel"),
    Case("Data of Data", lambda w: kt.Data(w.data), TypeError, "got Data"),
]  # fmt: skip
