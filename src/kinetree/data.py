"""`Data`: everything that changes while a mechanism moves. MuJoCo's mjData.

The fields are declared in `data_fields.py`. They live in one aligned buffer; `data.qpos` and all others are NumPy views into
it, so writing `data.qpos[:] = ...` changes the state and copying a Data is copying one block of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .data_fields import DATA_FIELDS, MAX_STAGES, STATE_FIELDS
from .fields import Field
from .initial import write_initial_state
from .layout import FieldHolder, Layout, allocate, assign, checked
from .model import Model
from .named import NamedAccess
from .types import State

# What a driver adds to the table: addresses of compiled stages, and of the tables that see one lane each.
DRIVER_FIELDS = {
    "stages": Field("stages", "nstage", "int64", "1", "addresses of the compiled stages", "driver"),
    "views": Field("views", "nlane", "int64", "1", "addresses of the tables of single lanes", "driver"),
}
LAYOUT = Layout("data", {**DATA_FIELDS, **DRIVER_FIELDS}, {})

# Addresses of the stages compiled for one world on floats, filled in by `kernel.stage`.
FLOAT_STAGES = np.zeros(MAX_STAGES, np.int64)
_DRIVER = {"stages": FLOAT_STAGES, "views": np.zeros(1, np.int64)}

# How to find stale fields and to refresh them, filled in by `staleness`, which knows the pipeline.
ON_DEMAND: dict[str, Callable[..., Any]] = {}


class Data(NamedAccess, FieldHolder):
    """The state of one world and all that is computed from it. `kt.Data(model)` is at the model's initial state."""

    _label = "data"
    _declared = DATA_FIELDS

    def __init__(self, model: Model):
        if not isinstance(model, Model):
            raise TypeError(f"Data needs a kinetree Model, got {type(model).__name__}: use kt.load first")
        own = self.__dict__
        own["model"], own["sizes"] = model, model.sizes
        own["_buffer"], own["_arrays"] = allocate(DATA_FIELDS, model.sizes)
        own["buffer"] = own["_buffer"].view()
        own["buffer"].flags.writeable = False
        own["_words"] = LAYOUT.words({**own["_arrays"], **_DRIVER})
        own["address"] = own["_words"].ctypes.data
        own["_as_data"] = (
            own["sizes"],
            own["address"],
        )  # all that a stage needs; the name keeps arguments from being swapped
        for name, field in DATA_FIELDS.items():
            if field.dims:
                own[name] = own["_arrays"][name].view()
                own[name].flags.writeable = field.writable
        self.reset()

    def __getattr__(self, name: str) -> Any:
        field = DATA_FIELDS.get(name)
        if field is not None and not field.dims and "_arrays" in self.__dict__:
            return self.__dict__["_arrays"][name][0].item()
        raise self._unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        field = DATA_FIELDS.get(name)
        if field is None:
            raise AttributeError(f"data.{name} is read-only") if hasattr(self, name) else self._unknown(name)
        target = self.__dict__[name] if field.dims else self._arrays[name].reshape(())
        assign(target, field, value, f"data.{name}")

    def _named_model(self) -> Model:
        return self.model

    # reset and state

    def reset(self) -> None:
        """Back to the model's initial state, everything else zero. MuJoCo's mj_resetData."""
        self._buffer[:] = 0
        write_initial_state(self.model, self._arrays)

    def reset_keyframe(self, key: str | int) -> None:
        """Reset, then take time, qpos, qvel, act, ctrl and mocap poses from a keyframe. MuJoCo's mj_resetDataKeyframe."""
        model, k = self.model, self.model.id("keyframe", key)
        self.reset()
        arrays = self._arrays
        arrays["time"][0] = model.key_time[k]
        for target, source in (("qpos", "key_qpos"), ("qvel", "key_qvel"), ("act", "key_act"), ("ctrl", "key_ctrl"),
                               ("mocap_pos", "key_mpos"), ("mocap_quat", "key_mquat"), ("plastic", "key_plastic")):  # fmt: skip
            arrays[target][...] = getattr(model, source)[k].reshape(arrays[target].shape)

    def state_size(self, spec: int = State.INTEGRATION) -> int:
        """How many numbers a state of that specification has. MuJoCo's mj_stateSize."""
        return sum(self._arrays[name].size for name in _state_names(spec))

    def get_state(self, spec: int = State.INTEGRATION) -> np.ndarray:
        """The chosen parts of the state as one vector. MuJoCo's mj_getState."""
        parts = [self._arrays[name].astype(np.float64).ravel() for name in _state_names(spec)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def set_state(self, state: Any, spec: int = State.INTEGRATION) -> None:
        """Write a vector that `get_state` gave for the same specification. MuJoCo's mj_setState."""
        names, n = _state_names(spec), self.state_size(spec)
        vector = checked(state, (n,), "float64", "state")
        if vector.ndim == 0:
            raise ValueError(f"state: expected shape ({n},), got one number")
        start = 0
        for name in names:
            array = self._arrays[name]
            part = vector[start : start + array.size].reshape(array.shape)
            array[...] = part != 0 if array.dtype == bool else part
            start += array.size

    # freshness

    def is_stale(self, name: str) -> bool:
        """Whether a field is not up to date: its lazy pass or its stage has not run since a stage that it depends on.

        Writes into qpos are not noticed. After `step` fields describe the last forward pass, not the new qpos.
        """
        return ON_DEMAND["is_stale"](self, name)

    def require(self, name: str) -> np.ndarray:
        """The array of a field, up to date: runs `subtree_vel`, `rne_post_constraint` or an energy pass if it is stale.

        Raises ValueError for a field of another stage which has not run.
        """
        return ON_DEMAND["require"](self, name)

    # copies

    def copy(self) -> Data:
        """A second Data of the same model, with the same contents."""
        out = Data(self.model)
        out._buffer[:] = self._buffer
        return out

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Data:
        return self.copy()

    def __reduce__(self) -> tuple:
        return _restore, (LAYOUT.fingerprint, self.model, self._buffer.tobytes())

    def record(self) -> SimpleNamespace:
        """The data for kernels that run as plain Python; writes go to this Data."""
        return SimpleNamespace(**self._arrays)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *DATA_FIELDS})

    def __repr__(self) -> str:
        return f"<kinetree.Data of {self.model.title!r} at time {self.time:g}>"


def _restore(fingerprint: str, model: Model, contents: bytes) -> Data:
    out = Data(model)
    if fingerprint != LAYOUT.fingerprint or len(contents) != out._buffer.size:
        raise ValueError("this Data was saved with another version of kinetree: its fields differ")
    out._buffer[:] = np.frombuffer(contents, np.uint8)
    out._arrays["stage_model"][0] = 0  # an address of the process that saved it
    return out


def _state_names(spec: int) -> list[str]:
    if isinstance(spec, bool) or not isinstance(spec, (int, np.integer)):
        raise TypeError(f"a state specification is a kt.State or an integer, not {type(spec).__name__}")
    known = sum(1 << i for i in range(len(STATE_FIELDS)))
    if spec < 0 or spec & ~known:
        raise ValueError(f"state specification {int(spec):#x} has bits outside {known:#x}")
    return [name for i, (_, name) in enumerate(STATE_FIELDS) if spec >> i & 1 and name]
