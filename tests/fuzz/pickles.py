"""Damaged pickles, trajectories and binary models: contents exchanged between saving and loading, then used."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import REAL

OPERATIONS = 200
VALUES = (-(2**31), -1000, -12, -2, -1, 0, 1, 2, 3, 7, 8, 13, 100, 1000, 65536, 10**6, 2**31 - 1)
OBJECTS = ("None", "b''", "b'x' * 100", "{}", "'x'", "3", "-1", "[]", "m", "d", "object()", "2.5", "True")
BEGIN = (
    "import pickle",
    "m = kt.load('humanoid'); d = kt.Data(m); kt.step(m, d, 150); kt.forward(m, d)",
    "def poke(contents, at, new):\n    out = bytearray(contents)\n    out[at : at + len(new)] = new\n    return bytes(out)",
    "def with_part(thing, part, value):\n    make, parts = thing.__reduce__()\n"
    "    return make(*parts[:part], value(parts[part]) if callable(value) else value, *parts[part + 1 :])",
    "def changed(name, at, value):\n    e = d.copy()\n    a = e._arrays[name]\n"
    "    a = a.view(np.uint8) if a.dtype == bool else a\n"
    "    a.flat[at % max(a.size, 1)] = value\n    return pickle.loads(pickle.dumps(e))",
    "def use(e):\n    kt.forward(e.model, e)\n    kt.step(e.model, e, 2)\n    e.contact, e.efc_J, e.get_state()",
    "motion = dict(time=np.arange(5), qpos=np.zeros((5, 3)), qvel=np.zeros((5, 2)), extra=np.ones(5))",
    "kt.save_trajectory(tmp / 't.npz', model_name='x', **motion)",
    "saved = (tmp / 't.npz').read_bytes()",
)  # fmt: skip
STAGES = (
    "fwd_constraint", "make_constraint", "collision", "sensor_acc", "fwd_velocity", "reference_constraint", "inv_constraint",
    "rne_post_constraint", "fwd_actuation", "passive",
)  # fmt: skip


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Change one thing of what is saved, restore it, and use what comes back."""
    yield from BEGIN
    integers = [name for name, field in DATA_FIELDS.items() if field.dtype != REAL]
    for _ in range(OPERATIONS):
        kind, at, value = int(rng.integers(8)), int(rng.integers(10**7)), int(rng.choice(VALUES))
        new = rng.integers(256, size=int(rng.integers(1, 9)), dtype=np.uint8).tobytes()
        if kind <= 2:
            name, stage = str(rng.choice(integers)), str(rng.choice(STAGES))
            yield f"e = changed({name!r}, {at if rng.random() < 0.5 else at % 5}, {value}); kt.{stage}(e.model, e); use(e)"
        elif kind == 3:
            part = int(rng.integers(3, 5))
            yield f"use(with_part(d, {part}, lambda b: poke(b, {at} % len(b), {new!r})))"
        elif kind == 4:
            yield f"e = kt.Data(with_part(m, 1, lambda b: poke(b, {at} % len(b) // 4 * 4, {new!r}))); kt.kinematics(e.model, e)"
        elif kind == 5:
            part, thing = int(rng.integers(5)), str(rng.choice(OBJECTS))
            yield f"with_part({rng.choice(['m', 'd'])}, {part}, {thing})"
        elif kind == 6:
            yield f"_ = (tmp / 'u.npz').write_bytes(poke(saved, {at} % len(saved), {new!r})[: {at} % 3000 + 20])"
            yield "t = kt.load_trajectory(tmp / 'u.npz'); assert len(t.qpos) == len(t.qvel) == len(t)"
        else:
            state = str(rng.choice(["np.nan", "np.inf", "1e300", "-1", "0", "7"]))
            yield f"e = d.copy(); s = e.get_state(); s[{at} % s.size] = {state}; e.set_state(s); use(e)"
