"""Bundled plugins that kinetree computes itself: recognised by name, their configuration read as numbers and written back.

`import mujoco` registers them with MuJoCo, so that its parser knows them; no code of theirs is called but when MuJoCo compiles
a model. A compiled model names a plugin by its slot, the place in the order in which this process registered them, and keeps
the configuration as texts one behind the other, each ended by a zero, in the order that the plugin declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Any

import mujoco
import numpy as np

from ..errors import ModelError, UnsupportedFeatureError
from ..model_fields import PLUGIN_FIELDS
from ..types import BiasType, DynType, GainType, SensorType
from .binary import exchanged, is_whole, part_of

PID, TOUCH_GRID = "mujoco.pid", "mujoco.sensor.touch_grid"
# Name -> the attributes that it declares, in its order. Fields of the model have the same names behind a prefix.
ATTRIBUTES = {PID: ("kp", "ki", "kd", "imax", "slewmax"), TOUCH_GRID: ("nchannel", "size", "fov", "gamma")}
PREFIXES = {PID: "pid_", TOUCH_GRID: "grid_"}
# The smallest model with each, by which its slot is found.
PROBES = {
    PID: """<mujoco><extension><plugin plugin="mujoco.pid"/></extension>
      <worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
      <actuator><plugin joint="j" plugin="mujoco.pid"/></actuator></mujoco>""",
    TOUCH_GRID: """<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
      <worldbody><site name="s"/></worldbody><sensor><plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="s">
      <config key="size" value="1 1"/><config key="fov" value="9 9"/></plugin></sensor></mujoco>""",
}
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
NONE = -1.0  # stands for a bound that is not given
BOUNDS = ("imax", "slewmax")
MOST_CELLS = 2**31 - 1
# What a pid may have of MuJoCo's own types: dynamics that filter or integrate its control, and else no more than by default.
# (An affine bias, which a default class may bring in, is no part of its force.)
PLAIN: dict[str, tuple[type[IntEnum], tuple[IntEnum, ...]]] = {
    "dyntype": (DynType, (DynType.NONE, DynType.INTEGRATOR, DynType.FILTER, DynType.FILTEREXACT)),
    "gaintype": (GainType, (GainType.FIXED,)),
    "biastype": (BiasType, (BiasType.NONE, BiasType.AFFINE)),
}


@cache
def _slot(name: str) -> int:
    return int(mujoco.MjModel.from_xml_string(PROBES[name]).plugin[0])


def slots() -> dict[int, str]:
    """Slot and name of every plugin that kinetree computes, as far as MuJoCo has it in this process."""
    out = {}
    for name in PROBES:
        try:
            out[_slot(name)] = name
        except ValueError:  # not registered
            continue
    return out


def plugin_names(mj: mujoco.MjModel) -> list[str]:
    """The plugin of each instance, "" for one that kinetree does not compute."""
    known = slots() if mj.nplugin else {}
    return [known.get(int(slot), "") for slot in mj.plugin]


def lacking(mj: mujoco.MjModel) -> Iterator[tuple[str, str, int]]:
    """What kinetree does not compute of the plugins of a model: in words, with the kind and number of the element."""
    for i, name in enumerate(plugin_names(mj)):
        if not name:
            yield "plugin", "plugin", i
    for k in np.flatnonzero(mj.actuator_plugin >= 0):
        for field, (enum, allowed) in PLAIN.items():
            kind = int(getattr(mj, f"actuator_{field}")[k])
            if kind in list(enum) and kind not in allowed:
                yield f"{PID} with {field} {enum(kind).name.lower()}", "actuator", int(k)
    for k in np.flatnonzero((mj.sensor_type == SensorType.PLUGIN) & (mj.sensor_history[:, 0] > 0)):
        yield (
            f"{TOUCH_GRID} with a history",
            "sensor",
            int(k),
        )  # for which MuJoCo makes no room, and writes past its end


# configuration


class _Wrong(ValueError):
    """What is wrong with a configuration."""


def configuration(mj: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Every field of `PLUGIN_FIELDS`, from the texts. Raises ModelError, naming instance and attribute."""
    out = {name: np.zeros(field.shape({"nplugin": mj.nplugin}), field.dtype) for name, field in PLUGIN_FIELDS.items()}
    for i, name in enumerate(plugin_names(mj)):
        if name:
            for key, value in _read(mj, i, name).items():
                out[PREFIXES[name] + key][i] = value
    return out


def _read(mj: mujoco.MjModel, i: int, name: str) -> dict[str, Any]:
    texts = dict(zip(ATTRIBUTES[name], _texts(mj, i, name), strict=True))
    try:
        return (_pid if name == PID else _touch_grid)(texts)
    except _Wrong as wrong:
        instance = mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_PLUGIN, i)
        raise ModelError(f"plugin {repr(instance) if instance else i} ({name}): {wrong}") from None


def _texts(mj: mujoco.MjModel, i: int, name: str) -> list[str]:
    """The attributes of an instance as they were written."""
    start, wanted = int(mj.plugin_attradr[i]), len(ATTRIBUTES[name])
    parts = mj.plugin_attr.tobytes()[start:].split(b"\0", wanted) if start >= 0 else []
    if len(parts) <= wanted:
        raise ModelError(f"plugin_attradr[{i}] is {start}, where no {wanted} attributes of {name} begin")
    return [part.decode(errors="replace") for part in parts[:wanted]]


def _number(key: str, text: str, missing: float) -> float:
    if not text:
        return missing
    if not NUMBER.fullmatch(text.strip()) or not np.isfinite(float(text)):
        raise _Wrong(f"{key} is {text!r}, not a number")
    return float(text)


def _pid(texts: Mapping[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {key: _number(key, texts[key], NONE if key.endswith("max") else 0.0) for key in texts}
    if texts["slewmax"] and out["slewmax"] < 0.0:
        raise _Wrong(f"slewmax is {texts['slewmax']}, but must not be negative")
    if texts["imax"] and out["ki"] != 0.0:
        if out["imax"] / out["ki"] < 0.0:
            raise _Wrong(f"imax is {texts['imax']}, but must have the sign of ki, {texts['ki']}")
        out["imax"] = abs(out["imax"])
    elif out["ki"] == 0.0:
        out["imax"] = NONE
    return out


def _pair(key: str, text: str) -> tuple[float, float]:
    parts = text.removesuffix(" ").split(" ")  # as the plugin has it: a blank between them
    if len(parts) != 2:
        raise _Wrong(f"{key} is {text!r}, but must be two numbers with a blank between them, across and down")
    return _number(key, parts[0], 0.0), _number(key, parts[1], 0.0)


def _touch_grid(texts: Mapping[str, str]) -> dict[str, Any]:
    channels = int(_number("nchannel", texts["nchannel"], 1.0)) or 1
    if not 1 <= channels <= 6:
        raise _Wrong(f"nchannel is {texts['nchannel']}, outside 1..6")
    size = tuple(int(n) for n in _pair("size", texts["size"]))
    if min(size) <= 0:
        raise _Wrong(f"size is {texts['size']!r}, but there must be cells across and down")
    if channels * size[0] * size[1] > MOST_CELLS:
        raise _Wrong(f"size is {texts['size']!r}, which is too large")
    fov = _pair("fov", texts["fov"])
    for angle, most in zip(fov, (180.0, 90.0), strict=True):
        if not 0.0 < angle <= most:
            raise _Wrong(f"fov is {texts['fov']!r}, but must be above 0, and at most 180 degrees across and 90 down")
    gamma = _number("gamma", texts["gamma"], 0.0)
    if not 0.0 <= gamma <= 1.0:
        raise _Wrong(f"gamma is {texts['gamma']}, outside 0..1")
    return {"nchannel": channels, "size": size, "fov": fov, "gamma": gamma}


def wrong_states(mj: mujoco.MjModel) -> Iterator[str]:
    """What is wrong with the number of states of a pid: integral, last setpoint, and one of dynamics of MuJoCo's own."""
    numbers = configuration(mj)
    for i in np.flatnonzero(mj.actuator_plugin >= 0):
        p, given = mj.actuator_plugin[i], mj.actuator_actnum[i]
        states = sum(
            map(bool, (numbers["pid_ki"][p], numbers["pid_slewmax"][p] >= 0.0, mj.actuator_dyntype[i] != DynType.NONE))
        )
        if given != states:
            yield f'actuator_actnum[{i}] is {given}, but {states} follows from its plugin: write actdim="{states}" in MJCF'


# the way back


def configured(mj: mujoco.MjModel, values: Mapping[str, np.ndarray]) -> mujoco.MjModel:
    """The model with these values in its texts; itself, where they are what it has. ModelError for what `load` would refuse."""
    now = configuration(mj)
    changed = np.zeros(mj.nplugin, bool)
    for name, array in values.items():
        changed |= (array != now[name]).reshape(mj.nplugin, -1).any(axis=1)
    if not changed.any():
        return mj
    texts, starts = b"", list[int]()
    for i, name in enumerate(plugin_names(mj)):
        if name == PID:
            _check_bounds(values, i)
        parts = _texts(mj, i, name)
        if changed[i]:
            parts = [
                _text(key, {k: values[PREFIXES[name] + k][i] for k in ATTRIBUTES[name]}) for key in ATTRIBUTES[name]
            ]
        starts.append(len(texts))
        texts += b"".join(part.encode() + b"\0" for part in parts)
    new: dict[str, Any] = {"plugin_attr": np.frombuffer(texts, np.int8), "plugin_attradr": np.array(starts, np.int32)}
    contents = exchanged(mj, new, {"npluginattr": len(texts)})
    out = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": contents})
    for problem in wrong_states(out):
        raise ModelError(problem)
    return out


def _check_bounds(values: Mapping[str, np.ndarray], i: int) -> None:
    for name in BOUNDS:
        bound = values[PREFIXES[PID] + name][i]
        if bound < 0.0 and bound != NONE:
            raise ModelError(f"{PREFIXES[PID]}{name}[{i}] is {bound:g}, but must not be negative; {NONE:g} is no bound")


def _text(key: str, row: Mapping[str, Any]) -> str:
    """An attribute as text that MuJoCo reads as the same number."""
    if key.endswith("max") and row[key] < 0.0:
        return ""
    if key == "imax":
        return repr(float(np.copysign(row[key], row["ki"])))
    return " ".join(repr(number) for number in np.atleast_1d(row[key]).tolist())


# what is saved where slots are others


def with_slots(contents: bytes, wanted: Sequence[str], where: str) -> bytes:
    """MuJoCo's binary form of a model with the slots that its plugins have in this process."""
    if not wanted:
        return contents
    known = {name: slot for slot, name in slots().items()}
    if not is_whole(contents):
        raise ModelError(f"{where}: it is damaged")
    for name in wanted:
        if name not in known:
            raise ModelError(f"{where}: MuJoCo has no plugin {name!r} here")
    at, n = part_of(contents, "plugin")
    if n != len(wanted):
        raise ModelError(f"{where}: {len(wanted)} plugins are named, but there are {n}")
    new = np.array([known[name] for name in wanted], np.int32).tobytes()
    return contents[:at] + new + contents[at + len(new) :]


def refuse_misplaced(contents: bytes, where: str) -> None:
    """Raise for a binary form that MuJoCo's reader must not see: it calls plugins by their slots, with what texts there are.

    UnsupportedFeatureError for a slot that is not of a plugin that kinetree computes, else ModelError.
    """
    if not is_whole(contents) or not part_of(contents, "plugin")[1]:
        return
    plugin, known = _integers(contents, "plugin"), slots()
    foreign = [f"plugin (plugin {i})" for i, slot in enumerate(plugin) if int(slot) not in known]
    if foreign:
        raise UnsupportedFeatureError(foreign, where)
    at, size = part_of(contents, "plugin_attr")
    texts = contents[at : at + size]
    for i, start in enumerate(_integers(contents, "plugin_attradr")):
        name = known[int(plugin[i])]
        if not 0 <= start < size or texts[start:].count(b"\0") < len(ATTRIBUTES[name]):
            raise ModelError(f"{where}: plugin_attradr[{i}] is {start}, where no attributes of {name} begin")
    instance = _integers(contents, "sensor_plugin")
    for k in np.flatnonzero(_integers(contents, "sensor_type") == SensorType.PLUGIN):
        if not 0 <= instance[k] < len(plugin) or known[int(plugin[instance[k]])] != TOUCH_GRID:
            raise ModelError(f"{where}: sensor_plugin[{k}] is {instance[k]}, which is no instance of {TOUCH_GRID}")


def _integers(contents: bytes, name: str) -> np.ndarray:
    at, n = part_of(contents, name)
    return np.frombuffer(contents, np.int32, n, at)
