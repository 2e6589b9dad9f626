"""How far MuJoCo is from itself, entry by entry, when it starts a hair away: by what it differs there, nobody can be judged.

Rounding decides whether surfaces that are exactly tangent touch, and in a chaotic motion it decides where bodies are a hundred
steps later. Two correct programs differ there as much as one does from itself. Every other run moves geoms on their bodies too:
a symmetric robot is so in any state, and there the last digit alone says on which side it touches.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable

import mujoco
import numpy as np

from ..types import EnableBit
from . import budget
from .judge import Entries, oracle_values, take
from .layer import Along, Layer
from .matching import Match, Parts, match, match_readings, parts_of
from .tolerances import EXCUSE, HAIR
from .touching import set_start


def spread(
    layer: Layer, model: mujoco.MjModel, start: np.ndarray, parts: Parts, values: dict[str, np.ndarray],
    questions: dict[str, Entries], choices: dict[str, np.ndarray], rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], int]:  # fmt: skip
    """The largest error of each entry between MuJoCo's own runs of a layer, relative to its scale, and how many there were.

    start: the whole state before the layer. parts: of which contacts and rows MuJoCo had. values: its fields from there.
    questions: the fields in doubt. choices: of fields that compare some contacts, which. It ends when all are excused.
    """
    out = {name: np.zeros(entries.ours.shape) for name, entries in questions.items()}
    errors = {name: entries.errors() for name, entries in questions.items()}
    doubts = {name: error > layer.tolerance for name, error in errors.items()}
    data, hair, most = mujoco.MjData(model), _hair(model), budget.repeats(model, layer.steps)
    nudged, original = copy.copy(model), model
    for run in range(most):
        model = nudged if run % 2 else original
        _nudge_geoms(original, nudged, rng)
        _begin(layer, model, data, start)
        mujoco.mj_integratePos(model, data.qpos, hair * rng.normal(size=model.nv), 1.0)
        data.qvel[:] += hair * rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        layer.oracle(model, data)
        now = parts_of(data)
        found = match(parts, now)
        for name, entries in questions.items():
            again = oracle_values(entries.field, model, data)
            own = _own(entries, model, values[name], again, parts, now, found, choices.get(name))
            np.maximum(out[name], own, out=out[name])
        if all((errors[name][doubts[name]] <= EXCUSE * out[name][doubts[name]]).all() for name in questions):
            return out, run + 1
    return out, most


def _begin(layer: Layer, model: mujoco.MjModel, data: mujoco.MjData, start: np.ndarray) -> None:
    """Put a data into the start of a layer, with all trees awake unless they sleep as the model says."""
    flags = int(model.opt.enableflags)
    if not layer.sleeps:
        model.opt.enableflags = flags & ~int(EnableBit.SLEEP)
    mujoco.mj_resetData(model, data)
    set_start(model, data, start)
    model.opt.enableflags = flags


def _own(
    entries: Entries, model: mujoco.MjModel, before: np.ndarray, again: np.ndarray, parts: Parts, now: Parts, found: Match,
    chosen: np.ndarray | None,
) -> np.ndarray:  # fmt: skip
    """What one more run says about each entry of a field."""
    along = entries.field.along
    out = np.zeros(entries.ours.shape)
    if along in (Along.CONTACTS, Along.ROWS):
        contacts = along is Along.CONTACTS
        partners = found.contacts if contacts else found.rows
        chosen = np.arange(len(before)) if chosen is None else chosen
        change = np.abs(take(again, partners[chosen]) - before[chosen])
        out[: len(chosen)] = np.where(np.isfinite(change), change, 0.0) / entries.scale[: len(chosen)]
        names = parts.pairs if contacts else parts.rows
        others = now.pairs if contacts else now.rows
        more = found.more_contacts if contacts else found.more_rows
        flips: set[Hashable] = {names[k] for k in np.flatnonzero(partners < 0)} | {others[k] for k in more}
        out[[group in flips for group in entries.groups]] = np.inf
        return out
    if again.shape != before.shape:
        return np.full(out.shape, np.inf)
    if along is Along.READINGS:
        again = match_readings(model, again, before)
    if out.shape != before.shape:  # our shape is another one, and MuJoCo's never is
        return out
    change = np.abs(again - before)
    return np.where(np.isfinite(change), change, 0.0) / entries.scale


def _nudge_geoms(original: mujoco.MjModel, nudged: mujoco.MjModel, rng: np.random.Generator) -> None:
    """Move geoms on their bodies by a hair from where the original has them."""
    hair = HAIR * min(1.0, float(original.stat.extent))
    nudged.geom_pos[:] = original.geom_pos + hair * rng.normal(size=original.geom_pos.shape)
    nudged.geom_quat[:] = original.geom_quat + HAIR * rng.normal(size=original.geom_quat.shape)
    nudged.geom_sameframe[:] = 0  # which would take the body's place for the geom's


def _hair(model: mujoco.MjModel) -> np.ndarray:
    """The change of each dof: angles by a hair, lengths by a hair times the size of the model, if that is small."""
    lengths = np.zeros(model.nv, bool)
    counts = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_SLIDE): 1}
    for kind, dof in zip(model.jnt_type, model.jnt_dofadr, strict=True):
        lengths[dof : dof + counts.get(int(kind), 0)] = True
    return HAIR * np.where(lengths, min(1.0, float(model.stat.extent)), 1.0)
