"""`Model`: everything about a mechanism that does not change while it moves. MuJoCo's mjModel.

The fields are declared in `model_fields.py`. Each is a NumPy array of the model's own, under MuJoCo's name. Values may be
edited in place (then call `kt.set_const`); ids, addresses and types are read-only, because compiled code trusts them.
"""

from __future__ import annotations

import copy
import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from .callbacks import Callbacks
from .errors import UnknownNameError, UnsupportedFeatureError, nearest
from .fields import REAL, Field
from .instead import CLASSES, LOADERS
from .layout import FieldHolder, Layout, assign, checked, read_only, shown
from .model_fields import MODEL_FIELDS, OPTION_FIELDS, PLUGIN_FIELDS, SIZES, STATISTIC_FIELDS
from .named import KINDS, Element, NamedAccess, kind_named
from .types import Cone, DisableBit, EnableBit, Integrator, Jacobian, Solver

_OWN_FIELDS = {**MODEL_FIELDS, **PLUGIN_FIELDS}  # attributes of a model
FIELDS = {
    **_OWN_FIELDS,
    **{f"opt_{name}": field for name, field in OPTION_FIELDS.items()},
    **{f"stat_{name}": field for name, field in STATISTIC_FIELDS.items()},
}
_ARRAYS = {name: field for name, field in FIELDS.items() if field.dims}
_SCALARS = {name: field for name, field in FIELDS.items() if not field.dims}

LAYOUT = Layout(
    "model",
    _ARRAYS,
    {
        **{name: "int64" for name, _ in SIZES},
        **{name: "float64" if field.dtype == REAL else "int64" for name, field in _SCALARS.items()},
        "edition": "int64",  # changes when constants are derived anew, at which trees that sleep wake
        "hooks": "int64",  # which callbacks there are
    },
    # Of models that worlds have for themselves (`batch/models.py`): one table for each.
    {"views": Field("views", "nlane", "int64", "1", "addresses of the tables of single lanes", "driver")},
)

Pickled = tuple[Callable[..., Any], tuple[Any, ...]]  # named here: inside Model, `tuple` is a method

# Sizes that are no dimension of anything; `set_const` counts some of them anew.
COUNTS = ("ngravcomp", "nemax", "njmax", "nconmax", "npolygonmax", "nmeshdegmax")
_DIMENSIONS = tuple(name for name, _ in SIZES if name not in COUNTS)
_EDITIONS = itertools.count(1)  # no two models have one in common, but for copies


class SharedSizes:
    """One mapping for all models of the same dimensions, so that a Data can tell at once whether it fits."""

    __slots__ = ("__weakref__", "mapping")

    def __init__(self, dimensions: Sequence[int]):
        self.mapping = MappingProxyType(dict(zip(_DIMENSIONS, dimensions, strict=True)))

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> SharedSizes:
        """The one that models hold, as long as there are any."""
        key = tuple(sizes[name] for name in _DIMENSIONS)
        return _KNOWN_SIZES.setdefault(key, cls(key))


_KNOWN_SIZES: weakref.WeakValueDictionary[tuple[int, ...], SharedSizes] = weakref.WeakValueDictionary()


OPTION_CHOICES: dict[str, Any] = {"integrator": Integrator, "cone": Cone, "jacobian": Jacobian, "solver": Solver}
OPTION_FLAGS: dict[str, Any] = {"disableflags": DisableBit, "enableflags": EnableBit}
OPTION_BITS: dict[str, int] = {
    "disableflags": sum(DisableBit), "enableflags": sum(EnableBit), "disableactuator": 2**31 - 1,
}  # fmt: skip


# Options on which hangs what `notices` says once for a model, and where the model keeps that it was said.
TELLING = {"disableflags": ("_ready",), "enableflags": ("_ready",), "integrator": ("_ready_for_stable_pd",)}
REFUSED_FLAGS = {"ipc": EnableBit.IPC}


class Parameters:
    """`model.opt` and `model.stat`: numbers stored beside the model's table, checked when assigned."""

    __slots__ = ("_declared", "_model", "_prefix")

    def __init__(self, model: Model, prefix: str, declared: Mapping[str, Field]):
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_prefix", prefix)
        object.__setattr__(self, "_declared", declared)

    def __getattr__(self, name: str) -> Any:
        if name not in self._declared:
            raise AttributeError(f"{self._prefix} has no {name!r}: {nearest(name, self._declared)}")
        key = f"{self._prefix}_{name}"
        if self._declared[name].dims:
            return self._model._arrays[key]
        value = self._model._constant(key)
        kind = OPTION_CHOICES.get(name) or OPTION_FLAGS.get(name)
        return kind(value) if kind else value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._prefix}.{name} cannot be deleted")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._declared:
            raise AttributeError(f"{self._prefix} has no {name!r}: {nearest(name, self._declared)}")
        field, key, where = self._declared[name], f"{self._prefix}_{name}", f"{self._prefix}.{name}"
        if field.dims:
            assign(self._model._arrays[key], field, value, where)
        else:
            refuse_names(name, value, where)
            a = checked(value, (), field.dtype, where)
            check_option(name, a.item(), where)
            self._model._set_constant(key, a.item())
            for told in TELLING.get(name, ()):
                self._model.__dict__.pop(told, None)  # what is done otherwise may be other things now

    def __dir__(self) -> list[str]:
        return sorted(self._declared)

    def __repr__(self) -> str:
        return "\n".join(f"{self._prefix}.{name} = {getattr(self, name)}" for name in self._declared)


def refuse_names(name: str, value: Any, where: str) -> None:
    """Raise a TypeError for a text in the place of a choice or of flags, which lists what there is."""
    kind = OPTION_CHOICES.get(name) or OPTION_FLAGS.get(name)
    if kind and isinstance(value, str):
        members = ", ".join(f"kt.{kind.__name__}.{member.name}" for member in kind)
        raise TypeError(f"{where}: expected one of {members}, got {value!r}")


def check_option(name: str, value: float, where: str) -> None:
    """Raise a ValueError for a value that the option cannot have."""
    if name == "timestep" and value <= 0:
        raise ValueError(f"{where}: the time step must be positive, got {value}")
    if name in OPTION_CHOICES and value not in list(OPTION_CHOICES[name]):
        choices = ", ".join(f"{c.name}={c.value}" for c in OPTION_CHOICES[name])
        raise ValueError(f"{where}: {value} is none of {choices}")
    if name in OPTION_BITS and (value < 0 or int(value) & ~OPTION_BITS[name]):
        raise ValueError(f"{where}: {int(value) & 0xFFFFFFFF:#x} sets a bit that does not exist")
    for flag, bit in REFUSED_FLAGS.items():
        if name == "enableflags" and int(value) & bit:
            raise UnsupportedFeatureError([f"flag {flag} (option enableflags)"], where)
    if name.endswith(("iterations", "initpoints", "tolerance")) and value < 0:
        raise ValueError(f"{where}: must not be negative, got {value}")


class _HelpfulType(type):
    """Tells users of MuJoCo how models are loaded here."""

    def __getattr__(cls, name: str) -> Any:
        hint = f": write {CLASSES['MjModel']}" if name in LOADERS else ""
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}{hint}")


class Model(NamedAccess, FieldHolder, metaclass=_HelpfulType):
    """A compiled mechanism. Made by `kt.load`; `kt.Data(model)` holds what moves.

    Fields carry MuJoCo's names (`body_mass`, `jnt_range`, …), sizes too (`nbody`, `nv`). `opt` holds the options, `stat` the
    statistics, `callbacks` the user's functions; `body("torso")`, `joint("knee")`, … give one element by name or id.
    """

    _label = "model"
    _declared = _OWN_FIELDS

    def __init__(self, *args: Any, **kwargs: Any):
        raise TypeError("a Model is made by kt.load, or by replace of another")

    @classmethod
    def _made(cls, sizes: Mapping[str, int], arrays: Mapping[str, Any], constants: Mapping[str, float],
              names: Mapping[str, Sequence[str]], title: str, source: Any, shares: bool = False) -> Model:  # fmt: skip
        """A model of these values. They must be sound (see `kinetree.io.validate`): compiled code trusts the integers.

        shares: whether it has the arrays themselves, not copies.
        """
        self = object.__new__(cls)
        own = self.__dict__
        own["_shared"] = SharedSizes.of(sizes)
        own["sizes"] = own["_shared"].mapping
        own["title"] = title
        own["_names"] = {kind: tuple(names[kind]) for kind in KINDS}
        own["_ids"] = {kind: {n: i for i, n in enumerate(names[kind]) if n} for kind in KINDS}
        own["_source"] = source
        own["_compiled"] = set()  # entries whose stages that the model needs are there
        taken = np.asarray if shares else np.array
        own["_arrays"] = {
            name: taken(arrays[name], field.dtype, order="C").reshape(field.shape(own["sizes"]))
            for name, field in _ARRAYS.items()
        }
        own["_words"] = LAYOUT.words(own["_arrays"])
        own["address"] = own["_words"].ctypes.data
        # All that a stage needs: who a Data must belong to, and where it lies. The name keeps arguments from being swapped.
        own["_as_model"] = (weakref.ref(self), own["address"])
        own["_digest"] = None  # see `_kin`
        for name, size in own["sizes"].items():
            self._set_constant(name, size)
        for name in (*_SCALARS, *COUNTS):
            self._set_constant(name, constants[name])
        self._set_constant("edition", constants.get("edition", 0))
        own["callbacks"] = Callbacks(own["_words"][LAYOUT.word["hooks"] :][:1])
        own["opt"] = Parameters(self, "opt", OPTION_FIELDS)
        own["stat"] = Parameters(self, "stat", STATISTIC_FIELDS)
        for name, field in _OWN_FIELDS.items():
            if field.dims:
                own[name] = shown(own["_arrays"][name], field.in_place)
        return self

    def _kin(self) -> bytes:
        """Digest of the contents that it was made with: what a model leaves in a Data, models of equal contents may use."""
        if self._digest is None:
            import hashlib  # a part of the time of an import

            h = hashlib.blake2b(repr([self._constant(name) for name in (*self.sizes, *_SCALARS, *COUNTS)]).encode())
            for array in self._arrays.values():
                h.update(array)
            self.__dict__["_digest"] = h.digest()
        return self._digest

    # constants of the table

    def _constant(self, key: str) -> float | int:
        word = self._words[LAYOUT.word[key]]
        return float(word.view(np.float64)) if LAYOUT.constants[key] == "float64" else int(word)

    def _set_constant(self, key: str, value: float) -> None:
        real = LAYOUT.constants[key] == "float64"
        self._words[LAYOUT.word[key]] = np.float64(value).view(np.int64) if real else int(value)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name.startswith("_") or "_source" not in own:
            raise self._unknown(name)
        if name in own["sizes"]:
            return own["sizes"][name]
        if name in _OWN_FIELDS or name in COUNTS:
            return self._constant(name)
        if isinstance(getattr(own["_source"], name, None), np.ndarray):
            return read_only(getattr(own["_source"], name))  # what only rendering needs stays with MuJoCo
        raise self._unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        field = _OWN_FIELDS.get(name)
        if field is None or not field.dims:
            if field or hasattr(self, name):
                raise AttributeError(f"model.{name} is read-only")
            raise self._unknown(name)
        assign(self._arrays[name], field, value, f"model.{name}")

    # names

    def names(self, kind: str) -> list[str]:
        """The names of all elements of a kind ("body", "joint", ...); "" for those without one."""
        return list(self._names[kind_named(kind)])

    def name(self, kind: str, index: int) -> str:
        """The name of one element; "" when it has none. MuJoCo's mj_id2name."""
        return self._names[kind_named(kind)][self.id(kind, index)]

    def id(self, kind: str, key: str | int) -> int:
        """The id of an element given by name or id. MuJoCo's mj_name2id."""
        kind = kind_named(kind)
        if isinstance(key, str):
            if key not in self._ids[kind]:
                raise UnknownNameError(f"no {kind} is called {key!r}: {nearest(key, self._ids[kind])}")
            return self._ids[kind][key]
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise TypeError(f"{kind}: expected a name or an id, got {type(key).__name__}")
        n = len(self._names[kind])
        if not 0 <= key < n:
            raise IndexError(f"{kind} id {key} is outside 0..{n - 1}" if n else f"the model has no {kind}")
        return int(key)

    def _named_model(self) -> Model:
        return self

    def keyframe(self, key: str | int) -> Element:
        """The keyframe with that name or id."""
        return self._element("keyframe", key)

    def mesh(self, key: str | int) -> Element:
        """The mesh with that name or id."""
        return self._element("mesh", key)

    def hfield(self, key: str | int) -> Element:
        """The height field with that name or id."""
        return self._element("hfield", key)

    def pair(self, key: str | int) -> Element:
        """The explicit geom pair with that name or id."""
        return self._element("pair", key)

    def exclude(self, key: str | int) -> Element:
        """The excluded body pair with that name or id."""
        return self._element("exclude", key)

    def numeric(self, key: str | int) -> Element:
        """The custom numbers with that name or id."""
        return self._element("numeric", key)

    def tuple(self, key: str | int) -> Element:
        """The custom tuple with that name or id."""
        return self._element("tuple", key)

    key = keyframe

    # copies and exchange

    def replace(self, **fields: Any) -> Model:
        """A new model with some fields changed and the derived constants recomputed; this one stays as it is.

        Options are given with their prefix: `model.replace(body_mass=masses, opt_timestep=0.001)`.
        """
        out = copy.copy(self)
        out.__dict__["_digest"] = None
        for name, value in fields.items():
            if name.startswith("opt_") and name[4:] in OPTION_FIELDS:
                setattr(out.opt, name[4:], value)
            elif name.startswith("stat_") and name[5:] in STATISTIC_FIELDS:
                setattr(out.stat, name[5:], value)
            elif name in _OWN_FIELDS:
                setattr(out, name, value)
            else:
                raise AttributeError(f"replace: model has no field {name!r}: {nearest(name, FIELDS)}")
        from .io.load import set_const  # which asks MuJoCo, and stands above

        set_const(out)
        return out

    def to_mujoco(self) -> Any:
        """A `mujoco.MjModel` with this model's values. ModelError if edits of plugin parameters make none of them."""
        out = copy.deepcopy(self._source)
        for name in MODEL_FIELDS:
            if name in _ARRAYS:
                _write(getattr(out, name), self._arrays[name])
        for part, declared in (("opt", OPTION_FIELDS), ("stat", STATISTIC_FIELDS)):
            target, own = getattr(out, part), getattr(self, part)
            for name, field in declared.items():
                if field.dims:
                    _write(getattr(target, name), getattr(own, name))
                else:
                    setattr(target, name, getattr(own, name))
        if self.nplugin:
            from .io.plugins import configured  # which knows how MuJoCo writes it, and stands above

            out = configured(out, {name: self._arrays[name] for name in PLUGIN_FIELDS})
        return out

    def _update_from(self, arrays: Mapping[str, Any], constants: Mapping[str, float]) -> None:
        """Take over sound values of every field, read-only ones included. For `kinetree.io`."""
        for name, array in self._arrays.items():
            array[...] = np.asarray(arrays[name]).reshape(array.shape)
        for name in (*_SCALARS, *COUNTS):
            self._set_constant(name, constants[name])
        self._be_edited()

    def _be_edited(self) -> None:
        """Be of an edition of its own: what fell asleep with another one wakes."""
        self._set_constant("edition", next(_EDITIONS))

    def _values(self) -> dict[str, Any]:
        """What `_made` takes."""
        constants = {name: self._constant(name) for name in (*_SCALARS, *COUNTS, "edition")}
        return {"sizes": dict(self.sizes), "arrays": self._arrays, "constants": constants, "names": self._names,
                "title": self.title, "source": self._source}  # fmt: skip

    def __copy__(self) -> Model:
        out = Model._made(**self._values())
        out.__dict__["_digest"] = self._kin()
        out.callbacks.copy_from(self.callbacks)
        return out

    def _beside(self, other: Model) -> Model:
        """The real numbers of another model as they are now, with this one's own arrays of everything else."""
        arrays = {
            name: other._arrays[name].copy() if field.per_world else self._arrays[name]
            for name, field in _ARRAYS.items()
        }
        out = Model._made(**{**other._values(), "arrays": arrays}, shares=True)
        out.__dict__["_digest"] = other._kin()
        return out

    def __deepcopy__(self, memo: Any) -> Model:
        return self.__copy__()

    def __reduce__(self) -> Pickled:
        from .io.load import pickled

        return pickled(self)

    def record(self) -> SimpleNamespace:
        """The model for kernels that run as plain Python: every array and constant under its kernel name."""
        constants = {name: self._constant(name) for name in LAYOUT.constants}
        constants["address"] = self.address
        return SimpleNamespace(**constants, **{name: self.__dict__.get(name, a) for name, a in self._arrays.items()})

    def __dir__(self) -> Iterator[str]:
        return iter(sorted({*object.__dir__(self), *(name for name, _ in SIZES), *_OWN_FIELDS}))

    def __repr__(self) -> str:
        return f"<kinetree.Model {self.title!r}: {self.nbody} bodies, {self.njnt} joints, nq {self.nq}, nv {self.nv}>"


def _write(target: Any, value: np.ndarray) -> None:
    if target.size:
        target[...] = value.reshape(target.shape)
