"""`Data`: everything that changes while a mechanism moves. MuJoCo's mjData.

The fields are declared in `data_fields.py`. They live in two blocks of memory, one for what grows with contacts and one for
the rest; `data.qpos` and all others are NumPy views, so writing `data.qpos[:] = ...` changes the state and copying a Data is
copying two blocks. What stages work with lies in the workspace of the thread (`workspace.py`).
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from .contact_view import Contacts
from .data_fields import DATA_FIELDS, STATE_FIELDS
from .efc import dense_jacobian, is_dense
from .fields import REAL
from .initial import everything_awake, wants_sleepers, write_initial_state
from .layout import FieldHolder, assign, checked, read_only, shown
from .memory import grown, starting_capacity
from .model import Model
from .named import NamedAccess
from .occupancy import BUSY, INSIDE, OWNER, exclusive, holding, raise_kept, reading, refuse
from .saved import COUNTS, check_capacity, check_saved
from .types import State
from .workspace import FLOAT_STAGES, LAYOUT, World

BY_ISLAND = tuple(name for name in DATA_FIELDS if name.startswith("island_"))  # an entry for each island that there is

# What a Data remembers of the model it ran with: lists, orders, patterns, flags, who sleeps, which stages have run. Numbers,
# state, warnings and room stay.
FORGOTTEN = (
    "stage_order",
    *(name for name, field in DATA_FIELDS.items()
      if field.dtype != REAL and not field.growing and field.stage not in ("user", "driver", "step")),
)  # fmt: skip

AT_ADDRESS: weakref.WeakValueDictionary[int, Data] = (
    weakref.WeakValueDictionary()
)  # all there are, by what compiled code knows


class Data(NamedAccess, FieldHolder):
    """The state of one world and all that is computed from it. `kt.Data(model)` is at the model's initial state."""

    _label = "data"
    _declared = DATA_FIELDS

    def __init__(self, model: Model):
        if not isinstance(model, Model):
            raise TypeError(f"Data needs a kinetree Model, got {type(model).__name__}: use kt.load first")
        self._allocate(model)
        self._begin(model)
        self._arrays.forget_views()
        self._lie_down(model)

    def _allocate(self, model: Model) -> None:
        """All arrays, zero: a Data that is yet to be reset, or to take the contents of another."""
        own = self.__dict__
        own["model"], own["sizes"] = model, model.sizes
        world = World(model._kin(), model.sizes, FLOAT_STAGES)
        own["_arrays"], own["_guard"], own["address"] = world, world.guard, world.address
        AT_ADDRESS[own["address"]] = self
        self._belong_to(model)

    def __getattr__(self, name: str) -> Any:
        field = DATA_FIELDS.get(name)
        own = self.__dict__
        if field is None or "_arrays" not in own:
            raise self._unknown(name)
        array = own["_arrays"][name]
        if not field.dims:
            return array[0].item()
        count = "nisland" if name in BY_ISLAND else COUNTS.get(field.shape_names[0])
        view = shown(array[: own["_arrays"][count][0]] if count else array, field.writable)
        if field.shown and not count:
            own[name] = view  # found there from now on
        return view

    def __setattr__(self, name: str, value: Any) -> None:
        field = DATA_FIELDS.get(name)
        if field is None:
            raise AttributeError(f"data.{name} is read-only") if hasattr(self, name) else self._unknown(name)
        target = getattr(self, name) if field.dims else self._arrays[name].reshape(())
        assign(target, field, value, f"data.{name}")

    def _named_model(self) -> Model:
        return self.model

    @property
    def contact(self) -> Contacts:
        """The contacts, one by one or by member: `data.contact[0].dist`, `data.contact.pos`."""
        return Contacts(self)

    @property
    def buffer(self) -> np.ndarray:
        """All that does not grow with contacts, as bytes."""
        return read_only(self._arrays.fixed)

    @property
    def nJ(self) -> int:
        """Numbers in the constraint Jacobian as `efc_J` shows it."""
        return self.nefc * self.model.nv if is_dense(self.model) else int(self._arrays["nJ"][0])

    @property
    def efc_J(self) -> np.ndarray:
        """The constraint Jacobian: nefc times nv numbers if it is dense, else those of efc_J_colind. A copy if dense."""
        if is_dense(self.model):
            out = dense_jacobian(self._arrays, self.model.nv).ravel()
        else:
            out = self._arrays["efc_J"][: self.nJ]
        return read_only(out)

    # the model it belongs to: that of the last stage, another than `model` if a user gave another

    def _belong_to(self, model: Model) -> None:
        """Stages of this model need not look at what lies here: it is of that model, or nothing."""
        kin = model._kin()
        self._arrays.be_of(kin)
        self.__dict__["_as_data"], self.__dict__["_kin"] = (model._as_model[0], self.address), kin

    def _belongs_to(self, model: Any) -> bool:
        return isinstance(model, Model) and self._as_data[0] is model._as_model[0]

    def _adopt(self, model: Model) -> Data:
        """Make it a Data of a model of the same sizes: what another one left would lead kernels to wrong places."""
        if not self._belongs_to(model):
            self._change_to(model)
        return self

    @exclusive
    def _change_to(self, model: Model) -> None:
        if self._kin != model._kin():
            for name in FORGOTTEN:
                self._arrays[name][...] = 0
            everything_awake(model, self._arrays)
        self._belong_to(model)

    # reset and state

    def reset(self) -> None:
        """Back to the model's initial state, everything else zero. MuJoCo's mj_resetData."""
        self._reset_to(self.model)

    def _reset_to(self, model: Model) -> None:
        """Back to the initial state of a model, which need not be the one that it was made for."""
        self._begin_anew(model)
        self._lie_down(model)

    def _begin(self, model: Model) -> None:
        self._arrays.fixed[:] = 0
        self._belong_to(model)
        self._arrays.note_capacity()
        write_initial_state(model, self._arrays)

    _begin_anew = exclusive(_begin)

    def _lie_down(self, model: Model) -> None:
        if wants_sleepers(model):
            from .staleness import start_asleep  # which runs stages, and stands above

            start_asleep(model, self)

    def reset_keyframe(self, key: str | int) -> None:
        """Reset, then take time, qpos, qvel, act, ctrl and mocap poses from a keyframe. MuJoCo's mj_resetDataKeyframe."""
        k = self.model.id("keyframe", key)
        self.reset()
        self._take_keyframe(k)

    @exclusive
    def _take_keyframe(self, k: int) -> None:
        model, arrays = self.model, self._arrays
        arrays["time"][0] = model.key_time[k]
        for target, source in (("qpos", "key_qpos"), ("qvel", "key_qvel"), ("act", "key_act"), ("ctrl", "key_ctrl"),
                               ("mocap_pos", "key_mpos"), ("mocap_quat", "key_mquat"), ("plastic", "key_plastic")):  # fmt: skip
            arrays[target][...] = getattr(model, source)[k].reshape(arrays[target].shape)

    def state_size(self, spec: int = State.INTEGRATION) -> int:
        """How many numbers a state of that specification has. MuJoCo's mj_stateSize."""
        return sum(self._arrays[name].size for name in _state_names(spec))

    @reading
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
        self._write_state(names, vector)

    @exclusive
    def _write_state(self, names: list[str], vector: np.ndarray) -> None:
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
        from .staleness import is_stale

        return is_stale(self, name)

    def require(self, name: str) -> np.ndarray:
        """The array of a field, up to date: runs `subtree_vel`, `rne_post_constraint` or an energy pass if it is stale.

        Raises ValueError for a field of another stage which has not run.
        """
        from .staleness import require

        return require(self, name)

    # room

    @exclusive
    def _make_room(self, capacity: Mapping[str, int]) -> None:
        """Room for more contacts and constraints."""
        self._arrays.make_room(capacity)

    def _grow(self, status: int = 0) -> None:
        """Room for what the last run needed; raises what went wrong in it. status: what it returned."""
        grow(self, status)

    # copies

    @reading
    def copy(self) -> Data:
        """A second Data of the same model, with the same contents."""
        out = _blank(self.model)
        out._restore(self._arrays.capacity, self._arrays.fixed, self._arrays.room)
        out._arrays.be_of(self._kin)
        out.__dict__["_as_data"], out.__dict__["_kin"] = (self._as_data[0], out.address), self._kin
        return out

    def _restore(self, capacity: Mapping[str, int], fixed: np.ndarray, growing: np.ndarray) -> None:
        self._make_room(capacity)
        self._arrays.fixed[:], self._arrays.room[:] = fixed, growing

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Data:
        return self.copy()

    @reading
    def __reduce__(self) -> tuple:
        own = self if self._belongs_to(self.model) else self.copy()._adopt(self.model)
        world = own._arrays
        capacity = {name: world.capacity[name] for name in COUNTS}  # that of workspaces is none of a saved Data
        return _restore, (LAYOUT.fingerprint, own.model, capacity, world.fixed.tobytes(), world.room.tobytes())

    def record(self) -> SimpleNamespace:
        """The data for kernels that run as plain Python; writes go to this Data."""
        world = self._arrays
        out = SimpleNamespace(**world, **world.borrow(), guard=self._guard, address=self.address)
        workspace = world.workspace
        out.desk = np.zeros(2, np.int64)  # nobody is kept out here

        def renew() -> None:
            """Python has had a word, and may have made room."""
            vars(out).update(**world, **(workspace or {}))

        out.renew = renew
        return out

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name for name, field in DATA_FIELDS.items() if field.shown)})

    def __repr__(self) -> str:
        return f"<kinetree.Data of {self.model.title!r} at time {self.time:g}>"


def _blank(model: Model) -> Data:
    """A Data without contents."""
    out = Data.__new__(Data)
    out._allocate(model)
    return out


def lower_flags(arrays: World) -> np.ndarray:
    """Forget that room was missing; returns how much was needed."""
    needed = arrays["needed"].copy()
    arrays["needed"][:] = arrays["overflow"][:] = 0
    arrays.forget_pattern()
    return needed


def grow(owner: Any, status: int) -> None:
    """After a run on a Data, or on lanes: room for what it needed, or an error that says why there was no run."""
    if status == BUSY:
        guard, me = owner._guard, threading.get_ident()
        if guard[OWNER] not in (0, me) or guard[INSIDE]:
            return refuse(guard)
        return _let_in(owner)
    _end_run(owner)


def until_it_fits(owner: Any, status: int, run: Callable[..., int], *arguments: Any) -> None:
    """After a run that came back before its end: make room and run again, as often as it takes. Nothing is dropped.

    owner: a Data, or lanes. status: what the run returned.
    """
    while status:
        owner._grow(status)
        status = run(*arguments)


def let_in(owner: Any, run: Callable[..., int], *arguments: Any) -> int:
    """What a run returns, once it has a workspace; raises if another thread is inside."""
    while (status := run(*arguments)) == BUSY:
        owner._grow(status)
    return status


@holding(0)
def _let_in(owner: Any) -> None:
    owner._arrays.borrow()


@holding(0)
def _end_run(owner: Any) -> None:
    needed = lower_flags(owner._arrays)
    raise_kept(owner._guard)
    owner._make_room(grown(owner._arrays.capacity, needed))


def _restore(fingerprint: str, model: Model, capacity: dict[str, int], fixed: bytes, growing: bytes) -> Data:
    if not isinstance(model, Model) or not isinstance(fixed, bytes) or not isinstance(growing, bytes):
        raise TypeError("this Data is damaged: it is not made of a Model and bytes")
    out = _blank(model)
    world = out._arrays
    if fingerprint == LAYOUT.fingerprint and len(fixed) == world.fixed.size:
        capacity = {**starting_capacity(), **check_capacity(capacity, len(growing))}
        out._make_room(capacity)
    if fingerprint != LAYOUT.fingerprint or (len(fixed), len(growing)) != (world.fixed.size, world.room.size):
        raise ValueError("this Data was saved with another version of kinetree: its fields differ")
    out._restore(capacity, np.frombuffer(fixed, np.uint8), np.frombuffer(growing, np.uint8))
    check_saved(world, out.sizes, capacity)
    world.note_capacity()
    return out


def _state_names(spec: int) -> list[str]:
    if isinstance(spec, bool) or not hasattr(spec, "__index__") or isinstance(spec, np.ndarray):
        raise TypeError(f"a state specification is a kt.State or an integer, not {type(spec).__name__}")
    spec = operator.index(spec)  # MuJoCo's mjtState is no integer
    known = sum(1 << i for i in range(len(STATE_FIELDS)))
    if spec < 0 or spec & ~known:
        raise ValueError(f"state specification {spec:#x} has bits outside {known:#x}")
    return [name for i, (_, name) in enumerate(STATE_FIELDS) if spec >> i & 1 and name]
