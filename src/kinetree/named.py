"""Named access as MuJoCo users know it: `model.body("torso").mass`, `data.joint("knee").qpos`, `data.sensor("imu").data`.

Nothing here lists fields: which attributes an element has follows from the declared dimensions. A field whose first
dimension counts the elements gives one row; a field laid out by address (qpos, ctrl, sensordata) gives a slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import nearest
from .fields import Field
from .layout import assign
from .types import JointType

if TYPE_CHECKING:
    from .model import Model

QPOS_WIDTH = {JointType.FREE: 7, JointType.BALL: 4, JointType.SLIDE: 1, JointType.HINGE: 1}
DOF_WIDTH = {JointType.FREE: 6, JointType.BALL: 3, JointType.SLIDE: 1, JointType.HINGE: 1}


@dataclass(frozen=True)
class Kind:
    """A kind of model element: its size, the prefixes its fields carry, and dimensions in which it owns a slice."""

    size: str
    prefixes: tuple[str, ...]
    spans: Mapping[str, tuple[str, str]]  # dimension -> (address field, count field or table by joint type)


KINDS: dict[str, Kind] = {
    "body": Kind("nbody", ("body_",), {}),
    "joint": Kind("njnt", ("jnt_", "dof_"), {"nq": ("jnt_qposadr", "qpos"), "nv": ("jnt_dofadr", "dof")}),
    "geom": Kind("ngeom", ("geom_",), {}),
    "site": Kind("nsite", ("site_",), {}),
    "camera": Kind("ncam", ("cam_",), {}),
    "light": Kind("nlight", ("light_",), {}),
    "mesh": Kind("nmesh", ("mesh_",), {}),
    "hfield": Kind("nhfield", ("hfield_",), {}),
    "pair": Kind("npair", ("pair_",), {}),
    "exclude": Kind("nexclude", ("exclude_",), {}),
    "equality": Kind("neq", ("eq_",), {}),
    "tendon": Kind("ntendon", ("tendon_", "ten_"), {}),
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
    out = ALIASES.get(kind, kind)
    if out not in KINDS:
        raise KeyError(f"no kind of element is called {kind!r}: {nearest(kind, KINDS)}")
    return out


def attributes(kind: str, declared: Mapping[str, Field]) -> dict[str, str]:
    """What an element of that kind offers: attribute -> field."""
    k, out = KINDS[kind], {}
    for name, field in declared.items():
        first = field.shape_names[0] if field.shape_names else ""
        if first == k.size or first in k.spans:
            prefix = next((p for p in k.prefixes if name.startswith(p)), "")
            out.setdefault(name[len(prefix) :], name)
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

    def __init__(self, holder: Any, declared: Mapping[str, Field], model: Model, kind: str, index: int):
        for slot, value in (("_holder", holder), ("_declared", declared), ("_model", model), ("_kind", kind),
                            ("id", index), ("name", model.name(kind, index))):  # fmt: skip
            object.__setattr__(self, slot, value)

    def _rows(self, attribute: str) -> tuple[Field, np.ndarray]:
        offered = _offered(self._kind, self._declared)
        if attribute not in offered:
            raise AttributeError(f"{self!r} has no {attribute!r}: {nearest(attribute, offered)}")
        field = self._declared[offered[attribute]]
        array, kind = self._holder.__dict__[field.name], KINDS[self._kind]
        first = field.shape_names[0]
        if first == kind.size:
            start, count = self.id, 1
        else:
            start, count = self._span(*kind.spans[first])
        return field, array[start] if count == 1 and array.ndim > 1 else array[start : start + count]

    def _span(self, address: str, count: str) -> tuple[int, int]:
        fields = self._model.__dict__
        width = {"qpos": QPOS_WIDTH, "dof": DOF_WIDTH}.get(count)
        n = width[JointType(fields["jnt_type"][self.id])] if width else int(fields[count][self.id])
        start = int(fields[address][self.id])
        return (start, n) if start >= 0 else (0, 0)

    def __getattr__(self, attribute: str) -> np.ndarray:
        return self._rows(attribute)[1]

    def __setattr__(self, attribute: str, value: Any) -> None:
        if attribute in self.__slots__:
            raise AttributeError(f"{attribute} of {self!r} is read-only")
        field, rows = self._rows(attribute)
        assign(rows, field, value, f"{self!r}.{attribute}")

    def __dir__(self) -> list[str]:
        return sorted({"id", "name", *_offered(self._kind, self._declared)})

    def __repr__(self) -> str:
        return f"{self._kind}({self.name or self.id!r})"


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
