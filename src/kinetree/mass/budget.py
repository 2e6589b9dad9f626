"""Component tables: a mass budget in TOML or CSV, read into named mass properties. All broken rows are reported at once.

A row is a point mass (mass, x, y, z), a body with moments (Ixx, Iyy, Izz and positive products Ixy, Ixz, Iyz as
`from_components` takes them), a shape with its lengths and a mass or density, or a mesh file. A hole counts negative.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import nearest
from . import units
from .properties import MassProperties, aggregate
from .tables import BudgetError, Problem, Row, Table, read
from .units import INERTIA, LENGTH, MASS, Dimension, quantity

POSITION = ("x", "y", "z")
MOMENTS = ("Ixx", "Iyy", "Izz")
PRODUCTS = ("Ixy", "Ixz", "Iyz")
# Each shape: its constructor, its lengths, and how many dimensions its density counts.
SHAPES: dict[str, tuple[str, tuple[str, ...], int]] = {
    "sphere": ("solid_sphere", ("radius",), 3),
    "cylinder": ("solid_cylinder", ("radius", "length"), 3),
    "box": ("solid_box", ("dx", "dy", "dz"), 3),
    "capsule": ("solid_capsule", ("radius", "length"), 3),
    "ellipsoid": ("solid_ellipsoid", ("rx", "ry", "rz"), 3),
    "cone": ("solid_cone", ("radius", "height"), 3),
    "hollow_sphere": ("hollow_sphere", ("inner_radius", "outer_radius"), 3),
    "tube": ("tube", ("inner_radius", "outer_radius", "length"), 3),
    "thin_sphere": ("thin_sphere", ("radius",), 2),
    "thin_cylinder": ("thin_cylinder", ("radius", "length"), 2),
    "thin_cone": ("thin_cone", ("radius", "height"), 2),
    "thin_box": ("thin_box", ("dx", "dy", "dz"), 2),
    "rod": ("rod", ("length",), 1),
    "disc": ("disc", ("radius",), 2),
    "plate": ("plate", ("dx", "dy"), 2),
    "mesh": ("from_mesh", (), 3),
}
LENGTHS = tuple(dict.fromkeys(length for _, lengths, _ in SHAPES.values() for length in lengths))
DIMENSIONS: dict[str, Dimension] = {
    **dict.fromkeys((*POSITION, "cg", *LENGTHS), LENGTH), **dict.fromkeys((*MOMENTS, *PRODUCTS), INERTIA), "mass": MASS,
}  # fmt: skip
COLUMNS = ("name", "shape", "axis", "hole", "file", "scale", "density", "note", *DIMENSIONS)
# What turns the z axis of a shape to x and to y, keeping right hands right.
AXES = {"z": np.eye(3), "x": np.eye(3)[[2, 0, 1]], "y": np.eye(3)[[1, 2, 0]]}
SUM = re.compile(r"\b(grand\W*|sub\W*)?(totals?|sums?)\b", re.IGNORECASE)  # in the name of a row that adds up others
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Budget:
    """Named components of a table, holes with negative mass, and where it came from."""

    title: str
    components: Mapping[str, MassProperties]
    holes: frozenset[str] = frozenset()

    @property
    def total(self) -> MassProperties:
        """All components as one body."""
        return aggregate(self.components.values())

    def problems(self) -> list[str]:
        """What cannot exist, by component, and the total; of a hole, the body that would fill it is looked at."""
        bodies = {repr(name): -c if name in self.holes else c for name, c in self.components.items()}
        found = {name: body.problems() for name, body in {**bodies, "the total": self.total}.items()}
        return [f"{name} cannot exist: {'; '.join(wrong)}" for name, wrong in found.items() if wrong]


def load_budget(path: str | Path) -> Budget:
    """The components of a table in TOML or CSV.

    Raises BudgetError, a ValueError that lists every broken row with file, line and column. Rows that would be counted twice,
    such as a "Total", are broken. Warns of every component that cannot exist, and of a total that cannot: see `problems`.
    """
    out = read_budget(path)
    for problem in out.problems():
        warnings.warn(f"{path}: {problem}", stacklevel=2)
    return out


def read_budget(path: str | Path) -> Budget:
    """The same without a word about what cannot exist."""
    table = read(Path(path), COLUMNS)
    problems = [*table.problems, *_wrong_units(path, table)]
    components: dict[str, MassProperties] = {}
    lines: dict[str, int] = {}
    holes = set()
    for row in table.rows:
        reader = _Reader(row, Path(path), table.units)
        name, properties, hole = reader.component()
        if name and name in lines:
            reader.complain("name", f"duplicate name {name!r}, first in line {lines[name]}")
        elif name:
            lines[name] = row.line
        problems += reader.problems
        if properties is not None and not reader.problems:
            components[name] = -properties if hole else properties
            holes |= {name} if hole else set()
    if problems:
        raise BudgetError(sorted(problems, key=lambda problem: problem.line))
    return Budget(table.title or Path(path).stem, components, frozenset(holes))


def _wrong_units(path: str | Path, table: Table) -> list[Problem]:
    """Units of the whole file or of a column that do not exist or do not fit; they count as SI from here on."""
    out = []
    for key, text in list(table.units.items()):
        dimension = {"[mass]": MASS, "[length]": LENGTH, **DIMENSIONS}.get(key)
        try:
            if dimension is not None:
                units.unit(text, dimension)
        except ValueError as problem:
            out.append(Problem(str(path), table.units_line, key.strip("[]"), str(problem)))
            del table.units[key]
    return out


class _Reader:
    """One row on its way to mass properties; notes every problem instead of stopping at the first."""

    def __init__(self, row: Row, path: Path, defaults: Mapping[str, str]):
        self.row, self.path, self.defaults = row, path, defaults
        self.problems: list[Problem] = []

    def complain(self, column: str, message: str) -> None:
        self.problems.append(Problem(str(self.path), self.row.line_of(column), column, message))

    def missing(self, column: str, message: str) -> None:
        """What misses may stand in a column of unknown name, which has been complained about."""
        if self.row.sure or column in self.row.cells:
            self.complain(column, message)

    def component(self) -> tuple[str, MassProperties | None, bool]:
        name, hole = self.text("name") or "", self.flag("hole")
        if not name:
            self.missing("name", "missing name")
        elif SUM.search(name):
            self.complain(
                "name", f"{name!r} looks like a sum of other rows, which would count twice: leave it out, or rename it"
            )
        return name, self.shaped() if self.row.has("shape") or self.row.has("file") else self.plain(), hole

    # cells

    def text(self, column: str) -> str | None:
        value = self.row.cells.get(column)
        if value is not None and not isinstance(value, str):
            self.complain(column, f"expected a text, got {value!r}")
            return None
        return value.strip() if value else None

    def flag(self, column: str) -> bool:
        value = self.row.cells.get(column)
        if isinstance(value, bool) or value is None:
            return bool(value)
        if str(value).strip().lower() not in FLAGS:
            self.complain(column, f"expected true or false, got {value!r}")
        return FLAGS.get(str(value).strip().lower(), False)

    def number(self, column: str, dimension: Dimension | None = None, signed: bool = False) -> float:
        """A number of the row in SI units; a missing or wrong one is noted, and 0 stands for it."""
        dimension = DIMENSIONS[column] if dimension is None else dimension
        if not self.row.has(column):
            self.missing(column, "missing number")
            return 0.0
        return self.quantity(column, self.row.cells[column], dimension, signed)

    def quantity(self, column: str, value: Any, dimension: Dimension, signed: bool) -> float:
        try:
            default = units.unit(self.defaults[column], dimension) if column in self.defaults else self.si(dimension)
            out = quantity(value, dimension, default)
        except ValueError as problem:
            self.complain(column, str(problem))
            return 0.0
        if out < 0 and not signed:
            self.complain(column, f"negative {column}: {value}")
        return out

    def si(self, dimension: Dimension) -> float:
        """What a number without unit is worth, by the units of the whole file."""
        mass = units.unit(self.defaults.get("[mass]", "kg"), MASS)
        return mass ** dimension[0] * units.unit(self.defaults.get("[length]", "m"), LENGTH) ** dimension[1]

    # kinds of rows

    def position(self) -> list[float]:
        """cg, or x, y, z; those without a column are 0, those with an empty cell are missing."""
        cells = self.row.cells
        if self.row.has("cg"):
            cg = cells["cg"]
            if any(self.row.has(column) for column in POSITION):
                self.complain("cg", "give either cg or x, y, z")
            if not isinstance(cg, list) or len(cg) != 3:
                self.complain("cg", f"expected three lengths, got {cg!r}")
                return [0.0, 0.0, 0.0]
            return [self.quantity("cg", value, LENGTH, signed=True) for value in cg]
        return [self.number(column, signed=True) if column in cells else 0.0 for column in POSITION]

    def plain(self) -> MassProperties | None:
        mass, cg = self.number("mass"), self.position()
        for column in (*LENGTHS, "axis", "density", "scale"):
            if self.row.has(column):
                self.complain(column, f"{column} without a shape")
        given = [self.row.has(column) for column in (*MOMENTS, *PRODUCTS)]
        if not any(given):
            return MassProperties.point_mass(mass, cg)
        moments = [self.number(column) for column in MOMENTS]
        products = [self.number(column, signed=True) if self.row.has(column) else 0.0 for column in PRODUCTS]
        return MassProperties.from_components(mass, cg, *moments, *products)

    def shaped(self) -> MassProperties | None:
        shape = (self.text("shape") or "mesh").lower()
        for column in (*MOMENTS, *PRODUCTS):
            if self.row.has(column):
                self.complain(column, "give either a shape or moments of inertia")
        if shape not in SHAPES:
            self.complain("shape", f"unknown shape {shape!r}: {nearest(shape, SHAPES)}")
            return None
        constructor, wanted, dimensions = SHAPES[shape]
        for column in (*LENGTHS, *(() if shape == "mesh" else ("file", "scale"))):
            if self.row.has(column) and column not in wanted:
                self.complain(column, f"a {shape} has no {column}")
        if self.row.has("mass") and self.row.has("density"):
            self.complain("density", "give either the mass or the density")
        by_density = self.row.has("density") and not self.row.has("mass")
        amount = self.number("density", (1, -dimensions)) if by_density else self.number("mass")
        lengths = {column: self.number(column) for column in wanted}
        axis, position = (self.text("axis") or "z").lower(), self.position()
        if axis not in AXES:
            self.complain("axis", f"expected x, y or z, got {axis!r}")
        arguments: dict[str, Any] = {**lengths, "density" if by_density else "mass": amount}
        if shape == "mesh":
            arguments |= {"vertices": self.file(), "scale": self.scale()}
        if self.problems:
            return None
        try:
            return getattr(MassProperties, constructor)(**arguments).rotated(AXES[axis]).translated(position)
        except (ValueError, TypeError, OSError, ImportError) as problem:
            self.complain("file" if shape == "mesh" else "shape", str(problem))
            return None

    def file(self) -> Path | None:
        """The mesh file, sought beside the table."""
        name = self.text("file")
        if not name:
            self.missing("file", "missing file")
            return None
        return self.path.parent / name

    def scale(self) -> float:
        return self.number("scale", units.NUMBER) if self.row.has("scale") else self.si(LENGTH)
