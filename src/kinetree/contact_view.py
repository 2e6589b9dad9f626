"""Contacts one by one or all at once: `data.contact[2].dist`, `data.contact.dist`, `len(data.contact)`. MuJoCo's mjContact.

Nothing is copied: a member is a view of the field `contact_<member>` of the Data, and says what the last `collision` found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .data_fields import DATA_FIELDS
from .errors import nearest

PREFIX = "contact_"
GEOMS = {"geom1": 0, "geom2": 1}  # MuJoCo's other names of both geoms
MEMBERS = tuple(
    name.removeprefix(PREFIX) for name, field in DATA_FIELDS.items() if name.startswith(PREFIX) and field.shown
)


def _field(name: str) -> str:
    """The field that holds a member of contacts."""
    if name not in MEMBERS:
        if name.startswith("_"):  # asked for by copy, pickle, NumPy and others
            raise AttributeError(name)
        raise AttributeError(f"a contact has no {name!r}: {nearest(name, MEMBERS)}")
    return PREFIX + name


class Contacts:
    """All contacts of a Data: a member is an array with a row for each."""

    __slots__ = ("_data",)
    _data: Any

    def __init__(self, data: Any):
        object.__setattr__(self, "_data", data)

    def __len__(self) -> int:
        return self._data.ncon

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [Contact(self._data, i) for i in range(*index.indices(len(self)))]
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise TypeError(f"a contact is given by its number, not by {index!r}")
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"there is no contact {int(index)}: data has {n}")
        return Contact(self._data, int(index) % n)

    def __iter__(self) -> Iterator[Contact]:
        return (Contact(self._data, i) for i in range(len(self)))

    def __getattr__(self, name: str) -> np.ndarray:
        if name in GEOMS:
            return self.geom[:, GEOMS[name]]
        field = _field(name)
        return getattr(self._data, field)

    def __setattr__(self, name: str, value: Any) -> None:
        field = _field(name)
        setattr(self._data, field, value)

    def __reduce__(self) -> tuple:
        return Contacts, (self._data,)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *MEMBERS})

    def __repr__(self) -> str:
        return f"<{len(self)} contacts: {', '.join(MEMBERS)}>"


class Contact:
    """One contact. A member with one number is a number, any other a view."""

    __slots__ = ("_data", "index")
    _data: Any
    index: int

    def __init__(self, data: Any, index: int):
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "index", index)

    def __getattr__(self, name: str) -> Any:
        if name in GEOMS:
            return int(self.geom[GEOMS[name]])
        field = _field(name)
        rows = getattr(self._data, field)
        if self.index >= len(rows):
            raise IndexError(f"there is no contact {self.index} any more: data has {len(rows)}")
        row = rows[self.index]
        return row if isinstance(row, np.ndarray) else row.item()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"contact.{name} is read-only: assign to data.contact.{name}[{self.index}]")

    def __reduce__(self) -> tuple:
        return Contact, (self._data, self.index)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *MEMBERS})

    def __repr__(self) -> str:
        first, second = self.geom.tolist()
        return f"<contact {self.index} of geoms {first} and {second}: dist {self.dist:g}, pos {self.pos.tolist()}>"
