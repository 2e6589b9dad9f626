"""Hostile values: into every field of a model and a data, and as arguments of every public function and method."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator

import numpy as np

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS, STATISTIC_FIELDS

OPERATIONS = int(os.environ.get("FUZZ_OPERATIONS", 400))  # of a case
MODELS = ("humanoid", "ball_humanoid", "quadruped", "arm", "tendon_finger", "cartpole", "double_pendulum")
VALUES = (
    "np.nan", "np.inf", "-np.inf", "1e308", "-1e308", "5e-324", "0", "-0.0", "-1", "1", "0.5", "2**31", "-2**31",
    "2**63", "2**64", "10**400", "None", "'x'", "''", "'%n'", "'\\0'", "b'x'", "[]", "{}", "()", "object()", "True",
    "1j", "np.float32(3)", "np.int8(-1)", "np.zeros(0)", "np.zeros(3)", "np.ones(4)", "np.full(7, np.nan)",
    "np.arange(100)", "np.zeros((3, 3))", "np.zeros((1, 1, 1))", "np.array(['a'])", "np.array([None])",
    "np.zeros(3, complex)", "np.array(2)", "[1, 2, [3]]", "lambda *a: a", "range(3)", "slice(None)", "m", "d", "other",
    "data_of_other", "np", "int", "iter([1])", "np.datetime64(1, 'D')", "np.ma.masked",
)  # fmt: skip
FILLS = (
    "np.nan", "np.inf", "1e300", "-1e300", "1e-300", "-1", "0", "1", "7", "127", "2**31 - 1", "rng.normal(size={s})",
)  # fmt: skip
INDICES = (
    "0", "-1", "1", "2**31", "-2**40", "None", "...", "'x'", ":", "::-1", "np.nan", "True", "10**6", "[0, 0]",
)  # fmt: skip
CALM = ("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations")  # more of them are slow, not wrong
COUNTS = ("1", "3", "0", "-1", "2**63", "None", "1.5", "'x'")
CALLS = [name for name in kt.__all__ if callable(getattr(kt, name)) and not inspect.isclass(getattr(kt, name))]
CLASSES = ("Data", "Model", "StablePD", "MassProperties", "MassAggregator", "Trajectory")
METHODS = (
    "d.copy", "d.get_state", "d.set_state", "d.is_stale", "d.record", "d.require", "d.reset", "d.reset_keyframe",
    "d.state_size", "d.joint", "d.body", "d.geom", "d.site", "d.sensor", "d.actuator", "d.tendon", "m.joint", "m.body",
    "m.id", "m.name", "m.names", "m.replace", "m.record", "m.geom", "m.keyframe", "m.to_mujoco", "spd.force",
    "spd.torque", "spd.acceleration", "spd.step",
)  # fmt: skip
ALWAYS = (
    "kt.forward(m, d)", "kt.step(m, d)", "kt.step(m, d, 5)", "kt.inverse(m, d)", "spd.step(d)", "d.reset()",
    "d = kt.Data(m)",
)  # fmt: skip
GOOD = {
    "model": "m", "data": "d", "nstep": "2", "body": "1", "geom": "0", "geom1": "0", "geom2": "1", "site": "0",
    "point": "np.zeros(3)", "direction": "np.ones(3)", "directions": "np.eye(3)", "qpos": "d.qpos", "qpos1": "d.qpos",
    "qpos2": "m.qpos0", "qvel": "d.qvel", "dt": "0.1", "vector": "np.ones(m.nv)", "force": "np.ones(m.nv)",
    "torque": "np.ones(3)", "contact": "0", "kind": "'body'", "key": "1", "rng": "rng", "path": "tmp / 'file'",
    "pos": "np.zeros(3)", "quat": "np.ones(4)", "kp": "100.0", "kd": "10.0", "target": "d.qpos",
}  # fmt: skip


def fields() -> list[str]:
    """Every field that can be named, writable or not."""
    names = [f"d.{name}" for name in DATA_FIELDS] + [f"m.{name}" for name in MODEL_FIELDS]
    for group, table in (("opt", OPTION_FIELDS), ("stat", STATISTIC_FIELDS)):
        names += [f"m.{group}.{name.removeprefix(group + '_')}" for name in table]
    return [
        *names,
        "d.qpos",
        "d.qvel",
        "d.ctrl",
        "d.qfrc_applied",
        "d.xfrc_applied",
        "d.act",
        "d.mocap_pos",
        "d.eq_active",
    ]


def assignment(rng: np.random.Generator, names: list[str]) -> str:
    """A value into a field, into a part of it, or in place of all of its numbers."""
    name, kind = str(rng.choice(names)), rng.integers(4)
    if name.rpartition(".")[2].removeprefix("opt_") in CALM:
        return f"{name} = {rng.integers(-2, 60)}"
    if kind == 0:
        return f"{name} = {rng.choice(VALUES)}"
    if kind == 1:
        return f"{name}[{rng.choice(INDICES)}] = {rng.choice(VALUES)}"
    fill = str(rng.choice(FILLS)).format(s=f"np.shape({name})")
    if kind == 2:
        return f"{name}[:] = {fill}"
    return f"{name} = np.asarray({fill}).astype(np.asarray({name}).dtype) * np.ones_like({name})"


def call(rng: np.random.Generator) -> str:
    """A public function, class or method with good and bad arguments."""
    kind = rng.integers(8)
    if kind == 0:
        name = "kt." + str(rng.choice(CLASSES))
        parameters = ["model", "kp", "kd"][: 1 + 2 * name.endswith("PD")]
    elif kind < 3:
        name = str(rng.choice(METHODS))
        parameters = ["target"] if name.startswith("spd") else ["value"] * int(rng.integers(3))
    else:
        name = "kt." + str(rng.choice(CALLS))
        parameters = [
            n for n, p in inspect.signature(getattr(kt, name[3:])).parameters.items() if p.kind != p.VAR_KEYWORD
        ]
    hostility = rng.choice([0.05, 0.3])
    values = []
    for parameter in parameters:
        hostile = parameter not in GOOD or rng.uniform() < hostility
        values.append(str(rng.choice(COUNTS if parameter == "nstep" else VALUES)) if hostile else GOOD[parameter])
    named = rng.uniform() < 0.2 and len(set(parameters)) == len(parameters)
    return f"{name}({', '.join(f'{n}={v}' if named else v for n, v in zip(parameters, values, strict=True))})"


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Some hundred operations on one model, edited on the way, among steps and forward passes."""
    names = fields()
    first, second = rng.choice(MODELS, 2)
    yield f"rng = np.random.default_rng({rng.integers(1 << 31)})"
    yield f"m, other = kt.load({str(first)!r}), kt.load({str(second)!r})"
    yield "d, data_of_other = kt.Data(m), kt.Data(other)"
    yield "spd = kt.StablePD(m, 100.0, 10.0)"
    for _ in range(OPERATIONS):
        kind = rng.uniform()
        yield assignment(rng, names) if kind < 0.5 else call(rng) if kind < 0.85 else str(rng.choice(ALWAYS))
