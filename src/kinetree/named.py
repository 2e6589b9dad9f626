"""Named access as MuJoCo users know it: `model.body("torso").mass`, `data.joint("knee").qpos`, `data.sensor("imu").data`.

Nothing here lists fields: which attributes an element has follows from the declared dimensions. A field whose first
dimension counts the elements gives one row; a field laid out by address (qpos, ctrl, sensordata) gives a slice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnknownNameError, nearest
from .fields import Field
from .layout import assign
from .types import JointType

if TYPE_CHECKING:
    from .model import Model

QPOS_WIDTH = {JointType.FREE: 7, JointType.BALL: 4, JointType.SLIDE: 1, JointType.HINGE: 1}
DOF_WIDTH = {JointType.FREE: 6, JointType.BALL: 3, JointType.SLIDE: 1, JointType.HINGE: 1}
WIDTHS = {"qpos": QPOS_WIDTH, "dof": DOF_WIDTH}


@dataclass(frozen=True)
class Kind:
    """A kind of model element: its size, the prefixes its fields carry, and dimensions in which it owns a slice."""

    size: str
    prefixes: tuple[str, ...]
    spans: Mapping[str, tuple[str, str]]  # dimension -> (address field, count: fields, a number or a table of `WIDTHS`)


KINDS: dict[str, Kind] = {
    "body": Kind("nbody", ("body_",), {}),
    "joint": Kind("njnt", ("jnt_", "dof_"), {
        "nq": ("jnt_qposadr", "qpos"), "nv": ("jnt_dofadr", "dof"), "nplastic": ("jnt_plasticadr", "qpos")}),
    "geom": Kind("ngeom", ("geom_",), {}),
    "site": Kind("nsite", ("site_",), {}),
    "camera": Kind("ncam", ("cam_",), {}),
    "light": Kind("nlight", ("light_",), {}),
    "mesh": Kind("nmesh", ("mesh_",), {}),
    "hfield": Kind("nhfield", ("hfield_",), {"nhfielddata": ("hfield_adr", "hfield_nrow*hfield_ncol")}),
    "pair": Kind("npair", ("pair_",), {}),
    "exclude": Kind("nexclude", ("exclude_",), {}),
    "equality": Kind("neq", ("eq_",), {}),
    "tendon": Kind("ntendon", ("tendon_", "ten_"), {
        "nJten": ("ten_J_rowadr", "ten_J_rownnz"), "nplastic": ("tendon_plasticadr", "2")}),
    "actuator": Kind("nactuator", ("actuator_",), {
        "nu": ("actuator_ctrladr", "actuator_ctrlnum"), "nout": ("actuator_outadr", "actuator_outnum"),
        "na": ("actuator_actadr", "actuator_actnum")}),
    "sensor": Kind("nsensor", ("sensor_", "sensor"), {"nsensordata": ("sensor_adr", "sensor_dim")}),
    "numeric": Kind("nnumeric", ("numeric_",), {"nnumericdata": ("numeric_adr", "numeric_size")}),
    "tuple": Kind("ntuple", ("tuple_",), {"ntupledata": ("tuple_adr", "tuple_size")}),
    "keyframe": Kind("nkey", ("key_",), {}),
}  # fmt: skip
ALIASES = {"jnt": "joint", "cam": "camera", "eq": "equality", "ten": "tendon", "key": "keyframe"}


def kind_named(kind: str) -> str:
    """The canonical name of a kind of element."""
    if not isinstance(kind, str):
        raise TypeError(f"a kind of element is a string such as 'body', not {type(kind).__name__}")
    out = ALIASES.get(kind, kind)
    if out not in KINDS:
        raise UnknownNameError(f"no kind of element is called {kind!r}: {nearest(kind, KINDS)}")
    return out


def attributes(kind: str, declared: Mapping[str, Field]) -> dict[str, str]:
    """What an element of that kind offers: attribute -> field."""
    k = KINDS[kind]
    out: dict[str, str] = {}
    for name, field in declared.items():
        first = field.shape_names[0] if field.shape_names else ""
        if (first == k.size or first in k.spans) and field.shown:
            prefix = next((p for p in k.prefixes if name.startswith(p)), "")
            out.setdefault(name[len(prefix) :], name)
    if kind == "joint" and "bodyid" in out:
        out["bodyid"] = "dof_bodyid"  # as MuJoCo has it: once for each degree of freedom
    return out


_ATTRIBUTES: dict[tuple[str, int], dict[str, str]] = {}


def _offered(kind: str, declared: Mapping[str, Field]) -> dict[str, str]:
    key = (kind, id(declared))
    if key not in _ATTRIBUTES:
        _ATTRIBUTES[key] = attributes(kind, declared)
    return _ATTRIBUTES[key]


class Element:
    """One named element of a model or of its data; its attributes are views, and assigning writes through."""

    __slots__ = ("_declared", "_holder", "_kind", "_model", "id", "name")
    _declared: Mapping[str, Field]
    _holder: Any
    _kind: str
    _model: Model
    id: int
    name: str

    def __init__(self, holder: Any, declared: Mapping[str, Field], model: Model, kind: str, index: int):
        for slot, value in (("_holder", holder), ("_declared", declared), ("_model", model), ("_kind", kind),
                            ("id", index), ("name", model.name(kind, index))):  # fmt: skip
            object.__setattr__(self, slot, value)

    def _rows(self, attribute: str, own: bool = False) -> tuple[Field, np.ndarray]:
        """The field behind an attribute and the element's part of it; own: of the holder's memory, to be written."""
        offered = _offered(self._kind, self._declared)
        if attribute not in offered:
            raise AttributeError(f"{self!r} has no {attribute!r}: {nearest(attribute, offered)}")
        field = self._declared[offered[attribute]]
        kind = KINDS[self._kind]
        array = self._holder._arrays[field.name] if own else getattr(self._holder, field.name)
        first = field.shape_names[0]
        if first == kind.size:
            return field, array[self.id] if array.ndim > 1 else array[self.id : self.id + 1]
        start, shape = self._span(*kind.spans[first])
        rows = array[start : start + math.prod(shape)].reshape(*shape, *array.shape[1:])
        # Like MuJoCo: one row loses its axis, but for joints, whose number of rows depends on their type.
        return field, rows[0] if shape == (1,) and array.ndim > 1 and self._kind != "joint" else rows

    def _span(self, address: str, count: str) -> tuple[int, tuple[int, ...]]:
        """Where the element's part of a dimension begins, and its shape."""
        fields = self._model.__dict__
        start = int(fields[address][self.id])
        if start < 0:
            return 0, (0,)
        if count in WIDTHS:
            return start, (WIDTHS[count][JointType(fields["jnt_type"][self.id])],)
        return start, tuple(int(n) if n.isdigit() else int(fields[n][self.id]) for n in count.split("*"))

    def __getattr__(self, attribute: str) -> np.ndarray:
        if attribute.startswith("_"):  # asked for by copy and pickle, also before the slots are filled
            raise AttributeError(f"an element has no {attribute!r}")
        return self._rows(attribute)[1]

    def __setattr__(self, attribute: str, value: Any) -> None:
        if attribute in self.__slots__:
            raise AttributeError(f"{attribute} of {self!r} is read-only")
        field, rows = self._rows(attribute, own=True)
        if not rows.size and np.ndim(value) == 0:
            raise ValueError(f"{self!r} has no entries of {field.name}")
        assign(rows, field, value, f"{self!r}.{attribute}")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"{attribute} of {self!r} cannot be deleted")

    def __reduce__(self) -> tuple:
        return _element_of, (self._holder, self._kind, self.id)

    def __dir__(self) -> list[str]:
        return sorted({"id", "name", *_offered(self._kind, self._declared)})

    def __repr__(self) -> str:
        return f"{self._kind}({self.name or self.id!r})"


def _element_of(holder: NamedAccess, kind: str, index: int) -> Element:
    return holder._element(kind, index)


class NamedAccess:
    """Mixin: one method per kind of element, for those kinds that have fields in the holder's declarations."""

    _declared: Mapping[str, Field] = {}

    def _named_model(self) -> Model:
        raise NotImplementedError

    def _element(self, kind: str, key: str | int) -> Element:
        model = self._named_model()
        return Element(self, self._declared, model, kind, model.id(kind, key))

    def body(self, key: str | int) -> Element:
        """The body with that name or id."""
        return self._element("body", key)

    def joint(self, key: str | int) -> Element:
        """The joint with that name or id, with its entries of qpos and of every dof field."""
        return self._element("joint", key)

    def geom(self, key: str | int) -> Element:
        """The geom with that name or id."""
        return self._element("geom", key)

    def site(self, key: str | int) -> Element:
        """The site with that name or id."""
        return self._element("site", key)

    def camera(self, key: str | int) -> Element:
        """The camera with that name or id."""
        return self._element("camera", key)

    def light(self, key: str | int) -> Element:
        """The light with that name or id."""
        return self._element("light", key)

    def tendon(self, key: str | int) -> Element:
        """The tendon with that name or id."""
        return self._element("tendon", key)

    def actuator(self, key: str | int) -> Element:
        """The actuator with that name or id, with its controls, outputs and activations."""
        return self._element("actuator", key)

    def sensor(self, key: str | int) -> Element:
        """The sensor with that name or id; `.data` is its part of sensordata."""
        return self._element("sensor", key)

    def equality(self, key: str | int) -> Element:
        """The equality constraint with that name or id."""
        return self._element("equality", key)

    jnt, cam, ten, eq = joint, camera, tendon, equality
