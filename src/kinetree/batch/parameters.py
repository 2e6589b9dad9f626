"""`Parameters`: what worlds of a batch have for themselves of the model: real fields with a row for each world.

A field is given values by `expand`, and what follows from it gets rows too, computed by our own kernels on lanes, in the same
blocks and threads that steps take. Rows come into the models of a thread's lanes with the state of each block; all else is the
batch's model. MuJoCo: expand and set_const of mujoco.batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..derived.shared import COUNTED, gates
from ..derived.table import DERIVED, PARTLY, groups_of
from ..errors import ModelError, nearest
from ..fields import REAL, Field
from ..layout import checked, may_be_infinite, may_fill
from ..model import FIELDS, Model
from .models import GATES, OPTIONS, OWN, LaneModels, check_parameter
from .plan import Plan, Rows


class Places(Mapping[str, np.ndarray]):
    """Where the numbers of fields lie in the models of lanes; the last axis is the world."""

    def __init__(self, models: LaneModels):
        self._models = models

    def __getitem__(self, name: str) -> np.ndarray:
        return self._models.numbers[name] if name in OWN else self._models.options[OPTIONS.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter((*OWN, *OPTIONS))

    def __len__(self) -> int:
        return len(OWN) + len(OPTIONS)


class Parameters:
    """Rows of parameters of n worlds of a model, in reals of a dtype."""

    def __init__(self, model: Model, n: int, dtype: str):
        self.base, self._n, self._dtype = model._beside(model), n, np.dtype(dtype)  # as the numbers are now
        self.rows: dict[str, np.ndarray] = {}
        self.gates = {name: int(model._constant(name)) for name in GATES}

    def expand(self, name: str, values: Any, ids: np.ndarray, derive: Callable[[Plan, np.ndarray, int], None]) -> bool:
        """Give some worlds their own numbers of a field, and all that follows from them; whether there are rows of more fields.

        derive: runs a plan that derives groups of constants on worlds. Nothing is changed if some of it is refused.
        """
        given = self.checked(name, values, len(ids))
        rows = {name: self._copied(name)}
        rows[name][ids] = given
        groups = groups_of([name])
        rows |= {each: self._copied(each) for each, group in DERIVED.items() if group & groups and each != name}
        check_parameter(self.base, _Wide(self.base, self.rows), name, np.moveaxis(rows[name], 0, -1))
        opened = self.opened({**self.rows, **rows}) if name in COUNTED else self.gates
        more = not rows.keys() <= self.rows.keys() or opened != self.gates
        if groups:
            before, self.rows, self.gates, gates_before = self.rows, {**self.rows, **rows}, opened, self.gates
            try:
                derive(self._plan([each for each, group in DERIVED.items() if group & groups]), ids, groups)
                self._check_derived(rows, ids)
            except BaseException:
                self.rows, self.gates = before, gates_before
                raise
        self.rows, self.gates = {**self.rows, **rows}, opened
        return more

    def checked(self, name: str, values: Any, count: int) -> np.ndarray:
        """Checked values of a field: a row for each of so many worlds, or one for all."""
        field = self.check(name, given=False)
        return _checked(name, field, values, (count, *field.shape(self.base.sizes)), self._dtype)

    def check(self, name: str, given: bool = True) -> Field:
        """The field of a name, if worlds may have their own numbers of it. given: by a user; else it may follow from others."""
        field = FIELDS.get(name)
        if field is None:
            raise AttributeError(f"model has no field {name!r}: {nearest(name, FIELDS)}")
        if field.dtype != REAL or not field.writable:
            raise AttributeError(
                f"{name} is shared by all worlds: only real numbers that may be edited are a world's own"
            )
        if given and name in DERIVED and name not in PARTLY:
            raise AttributeError(f"{name} follows from other fields, by which it would be written over: expand those")
        return field

    def _copied(self, name: str) -> np.ndarray:
        """The rows of a field, those of the model if it has none."""
        if name in self.rows:
            return self.rows[name].copy()
        out = np.empty((self._n, *FIELDS[name].shape(self.base.sizes)), self._dtype)
        out[:] = self.of_model(name)
        return out

    def of_model(self, name: str) -> np.ndarray:
        """What the model has of a field."""
        numbers = self.base._arrays[name] if name in OWN else np.array(self.base._constant(name))
        return numbers.reshape(FIELDS[name].shape(self.base.sizes))

    def opened(self, rows: Mapping[str, np.ndarray]) -> dict[str, int]:
        """What must be looked for in some world though zeros would leave it out: over all of them."""
        found = gates(_Wide(self.base, rows))
        return {name: max(found.get(name, 0), int(self.base._constant(name))) for name in GATES}

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Rows of the state after a reset that follow from parameters which worlds have for themselves."""
        out = {"qpos": self.rows["qpos0"]} if "qpos0" in self.rows else {}
        bodies = np.flatnonzero(model.body_mocapid >= 0)
        for name, source in (("mocap_pos", "body_pos"), ("mocap_quat", "body_quat")):
            if source in self.rows and bodies.size:
                out[name] = np.ascontiguousarray(self.rows[source][:, bodies[np.argsort(model.body_mocapid[bodies])]])
        return out

    def _plan(self, derived: list[str]) -> Plan:
        model = [Rows(name, array, owner="model") for name, array in self.rows.items()]
        return Plan({"parameters": model, "results": [Rows(name, self.rows[name], owner="model") for name in derived]})

    def _check_derived(self, rows: Mapping[str, np.ndarray], ids: np.ndarray) -> None:
        for name, array in rows.items():
            bad = ~np.isfinite(array[ids])
            if bad.any() and name in DERIVED and not may_be_infinite(name):
                world, *at = np.argwhere(bad)[0].tolist()
                raise ModelError(f"world {ids[world]}: {name}{at} would be {array[ids][bad][0]}")

    def restore(self, rows: Mapping[str, np.ndarray]) -> None:
        """Take rows over that were saved, and checked since."""
        self.rows = {name: np.array(array, order="C") for name, array in rows.items()}
        for name, array in self.rows.items():
            others = {other: each for other, each in self.rows.items() if other != name}
            check_parameter(self.base, _Wide(self.base, others), name, np.moveaxis(array, 0, -1))
        if not COUNTED.isdisjoint(self.rows):
            self.gates = self.opened(self.rows)

    def open(self, models: LaneModels) -> None:
        """Have models of lanes expect such rows."""
        models.expect(self.rows, self.gates)

    def model_of(self, model: Model, world: int) -> Model:
        """A model with the numbers of one world."""
        model = copy.copy(model._beside(self.base))
        for name, array in self.rows.items():
            if name in OWN:
                model._arrays[name][...] = array[world].reshape(model._arrays[name].shape)
            else:
                model._set_constant(name, float(array[world]))
        model._be_edited()
        for name, count in self.gates.items():
            model._set_constant(name, count)
        return model


class _Wide(Mapping[str, np.ndarray]):
    """Numbers of all worlds with the world as the last axis, of one world where all have the model's."""

    def __init__(self, base: Model, rows: Mapping[str, np.ndarray]):
        self._base, self._rows = base, rows

    def __getitem__(self, name: str) -> np.ndarray:
        return np.moveaxis(self._rows[name], 0, -1) if name in self._rows else self._base._arrays[name][..., None]

    def __iter__(self) -> Iterator[str]:
        return iter(OWN)

    def __len__(self) -> int:
        return len(OWN)


def _checked(name: str, field: Field, values: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    where = f"batch.expand({name!r})"
    array = np.asarray(values)
    wanted = shape if array.ndim >= len(shape) else shape[1:]
    out = checked(values, wanted, dtype, where, infinite=may_be_infinite(name))
    if out.ndim == 0 and len(shape) > 1 and not may_fill(field, out.item()):
        raise ValueError(f"{where}: expected shape {shape} or {shape[1:]}, got one number ({values!r})")
    return np.broadcast_to(out, shape)
