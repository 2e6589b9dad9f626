"""`Batch`: many worlds of one model, stepped side by side on SIMD lanes and threads. MuJoCo's mujoco.batch.Batch.

State and inputs are arrays with one row for each world, to read and to write. A call takes the worlds of a block onto the lanes
of a thread, runs, and puts their state back: memory grows with the state alone. Results of a world do not depend on the others,
on the number of threads, or on the order of worlds: they are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import pipeline
from ..data_fields import DATA_FIELDS
from ..driver import check_nstep
from ..errors import nearest
from ..layout import checked, read_only
from ..model import Model
from ..named import NamedAccess
from .element import BatchElement
from .plan import Rows
from .results import (
    has_place,
    is_read_alone,
    read_of,
    refuse_unless_found,
    refuse_unless_shown,
    stages_for,
)
from .rollout import roll_out
from .saved import check_counts, checked_parts
from .stable_pd import BatchStablePD
from .states import States
from .worlds import WRITTEN, dtype_of, shape_of, state_names


class Batch(States, NamedAccess):
    """n worlds of a model, at first all at its initial state.

    dtype: "float64", or "float32" for twice the lanes at single precision. threads: None is one for each processor.
    """

    _declared = DATA_FIELDS

    # fields

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_worlds" not in own or name.startswith("_"):
            raise AttributeError(f"Batch has no {name!r}")
        field = DATA_FIELDS.get(name)
        if field is None or not field.shown:
            raise AttributeError(
                f"batch has no {name!r}: {nearest(name, [f for f in DATA_FIELDS if DATA_FIELDS[f].shown])}"
            )
        return self.bind(name)

    def __setattr__(self, name: str, value: Any) -> None:
        field = DATA_FIELDS.get(name)
        if field is None or not field.shown:
            if hasattr(self, name):
                raise AttributeError(f"batch.{name} is read-only")
            raise AttributeError(f"batch has no {name!r}: {nearest(name, WRITTEN)}")
        self._worlds.assign(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name for name, field in DATA_FIELDS.items() if field.shown)})

    def bind(self, name: str) -> np.ndarray:
        """A live array (n, …) of a field. Of results, it holds from the next call on what the last pass of each world found.

        After `step` that is the pass before the last step, as in MuJoCo.
        """
        if name == "energy":
            refuse_unless_found(self.model, name)
        if name in self._worlds.rows or name in WRITTEN:
            return self._worlds.shown(name)
        if name not in self._bound:
            self._refuse_unless_per_world(name)
            if name != "qfrc_inverse":  # which `inverse` finds
                refuse_unless_found(self.model, name)
            self._bound[name] = np.zeros((self.n, *shape_of(name, self.model)), dtype_of(DATA_FIELDS[name], self.dtype))
        return read_only(self._bound[name])

    def _refuse_unless_per_world(self, name: str) -> None:
        refuse_unless_shown(name)
        if not has_place(name):
            raise ValueError(
                f"{name} has no fixed place in a block of worlds: see batch.read({name!r}), or batch.get_data(i)"
            )

    def _element(self, kind: str, key: str | int) -> BatchElement:
        return BatchElement(self, self.model, kind, self.model.id(kind, key))

    # running

    def step(self, nstep: int = 1, ids: Any = None, progress: Callable[[int], None] | None = None) -> None:
        """Advance worlds by some time steps, each alone if one goes bad. MuJoCo's mj_step for each.

        ids: which worlds, by number or by a mask; None is all. progress: called with the number of worlds that were done.
        """
        count = check_nstep("step", nstep)
        if count:
            self._run(ids, nstep=count, progress=progress)

    def forward(self, ids: Any = None) -> None:
        """Forward dynamics: accelerations, readings of sensors, bound results. MuJoCo's mj_forward for each world."""
        self._run(ids, stages=[pipeline.forward])

    def inverse(self, ids: Any = None) -> np.ndarray:
        """Inverse dynamics of `batch.qacc`: the joint forces that give it, (n, nv). MuJoCo's mj_inverse for each world."""
        forces = self.bind("qfrc_inverse")
        self._run(ids, stages=[pipeline.inverse], takes=("qacc",))
        return forces

    def read(self, name: str, ids: Any = None) -> Any:
        """A field as it is at the present state of worlds: computed for this call by the stages that it needs, and no others.

        The state stays as it is. Fields that worlds have no place for are computed world by world; those without a fixed size
        (contacts, rows) come as a list.
        """
        worlds = self._ids(ids)
        if name in WRITTEN and name != "qacc":
            return self._worlds.add(name)[worlds].copy()
        refuse_unless_shown(name)
        field = DATA_FIELDS[name]
        stages = stages_for(self.model, name)
        if is_read_alone(self.model, name):
            found = [read_of(self.get_data(int(i)), name) for i in worlds]
            if field.growing:
                return found
            shape, dtype = shape_of(name, self.model), dtype_of(field, self.dtype)
            return np.array(found, dtype).reshape(len(worlds), *shape)
        out = np.zeros((self.n, *shape_of(name, self.model)), dtype_of(field, self.dtype))
        plan = self._plan(state_names(self.model), {name: out}, stages, keep=False)
        self._run(worlds, stages=stages, plan=plan, keep=False)
        return out[worlds]

    def rollout(
        self,
        controls: Any = None,
        record: Sequence[str] = ("qpos", "qvel"),
        nstep: int | None = None,
        progress: Callable[[int], None] | None = None,
        controller: Any = None,
        target: Any = None,
    ) -> dict[str, np.ndarray]:
        """Steps with controls for each, and a record of fields after each: arrays (n, nstep, …) by name.

        controls: (nstep, nu) for all worlds or (n, nstep, nu); None leaves `batch.ctrl` as it is, for `nstep` steps. Of
        results the record of a step has what its forward pass found: that before the step, as in MuJoCo. Nothing of it passes
        through Python between steps.

        controller: a `StablePD` or what `stable_pd` makes, with target (nq,), (n, nq), (nstep, nq) or (n, nstep, nq), and
        "torque" to record; or a kernel of (m, d), compiled into the step where MuJoCo calls mjcb_control, once a step: RK4's
        substeps hold its controls; or a Python function of (batch, k), called before step k, which writes `batch.ctrl` or
        returns controls.
        """
        return roll_out(self, controller, target, controls, record, nstep, progress)

    def stable_pd(
        self,
        kp: Any,
        kd: Any,
        h: float | None = None,
        mode: str = "spd",
        solver: str = "auto",
        torque_limit: Any = None,
    ) -> BatchStablePD:
        """Stable PD on these worlds. kp, kd, torque_limit: as `kt.StablePD` takes them, or a row for each world, (n, nv)."""
        return BatchStablePD(self, kp, kd, h, mode, solver, torque_limit)

    def _controls(self, controls: Any, nstep: int | None) -> tuple[list[Rows], int]:
        """Controls as plans take them, and the number of steps."""
        if controls is None:
            if nstep is None:
                raise ValueError("rollout: give controls, or nstep")
            return [], check_nstep("rollout", nstep)
        array = np.asarray(controls)
        nu = self.model.nu
        if array.ndim not in (2, 3) or array.shape[-1] != nu or (array.ndim == 3 and array.shape[0] != self.n):
            raise ValueError(f"controls: expected shape (nstep, {nu}) or ({self.n}, nstep, {nu}), got {array.shape}")
        if nstep is not None and nstep != array.shape[-2]:
            raise ValueError(f"controls are for {array.shape[-2]} steps, and nstep is {nstep}")
        array = checked(array, array.shape, self.dtype, "controls")
        return [Rows("ctrl", np.ascontiguousarray(array), steps=True, shared=array.ndim == 2)], array.shape[-2]

    # copies

    def copy(self) -> Batch:
        """A second batch of the same model in the same state."""
        out = type(self)(self.model, self.n, self.dtype, self.threads)
        out._take_over(self._saved())
        return out

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Batch:
        return self.copy()

    def _saved(self) -> dict[str, Any]:
        rows = {name: array.copy() for name, array in self._worlds.rows.items()}
        own = {} if self._parameters is None else {name: array.copy() for name, array in self._parameters.rows.items()}
        return {"rows": rows, "resets": self._worlds.resets.copy(), "fresh": dict(self._fresh), "own": own}

    def _take_over(self, saved: dict[str, Any]) -> None:
        parameters = checked_parts(self.model, self.n, self.dtype, saved)
        for name, array in saved["rows"].items():
            self._worlds.add(name)[...] = array
        self._worlds.resets[...] = saved["resets"]
        self._fresh.update(saved["fresh"])
        if parameters is not None:
            self.__dict__.update(_parameters=parameters, _version=1)
        self._told.forget(np.arange(self.n))

    def __reduce__(self) -> tuple:
        return _restore, (self.model, self.n, self.dtype, self.threads, self._saved())

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        return f"<kinetree.Batch of {self.n} worlds of {self.model.title!r}: {self.dtype}, {threads}>"


def _restore(model: Model, n: int, dtype: str, threads: int, saved: dict[str, Any]) -> Batch:
    check_counts(model, n, dtype, threads, saved)
    out = Batch(model, n, dtype, threads)
    out._take_over(saved)
    return out
