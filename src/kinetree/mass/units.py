"""Quantities with units, as people write them in tables: "250 g", "12.5 mm", "3 lb*in^2"."""

from __future__ import annotations

import math
import re
from typing import Any

Dimension = tuple[int, int]  # powers of mass and of length
NUMBER: Dimension = (0, 0)
MASS: Dimension = (1, 0)
LENGTH: Dimension = (0, 1)
INERTIA: Dimension = (1, 2)
EXAMPLES = {MASS: "kg", LENGTH: "m", INERTIA: "kg*m^2", (1, -1): "kg/m", (1, -2): "kg/m^2", (1, -3): "kg/m^3"}

POUND, INCH = 0.45359237, 0.0254
UNITS: dict[str, tuple[float, Dimension]] = {
    "kg": (1.0, MASS), "g": (1e-3, MASS), "mg": (1e-6, MASS), "t": (1e3, MASS), "lb": (POUND, MASS), "lbm": (POUND, MASS),
    "oz": (POUND / 16, MASS), "slug": (POUND * 9.80665 / (12 * INCH), MASS),
    "m": (1.0, LENGTH), "mm": (1e-3, LENGTH), "cm": (1e-2, LENGTH), "km": (1e3, LENGTH), "in": (INCH, LENGTH),
    "ft": (12 * INCH, LENGTH), "yd": (36 * INCH, LENGTH),
}  # fmt: skip
SEPARATORS = {",": "a comma", "_": "an underscore", "'": "an apostrophe", "’": "an apostrophe"}  # all else: a space
SUPERSCRIPTS = str.maketrans({"²": "2", "³": "3", "⁻": "-", "¹": "1"})


def unit(text: str, dimension: Dimension) -> float:
    """How many SI units one of these is; a ValueError for one that is unknown or measures something else."""
    plain = text.strip().translate(SUPERSCRIPTS).replace("**", "^")
    factor, powers = 1.0, [0, 0]
    parts = re.findall(r"((\s*[*/·⋅]?\s*)([^\s*/·⋅^\d-]+)\^?(-?\d*))", plain)
    if "".join(part[0] for part in parts) != plain:
        raise ValueError(f"not a unit: {text.strip()!r}")
    for _, separator, name, power in parts:
        if name not in UNITS:
            fitting = [u for u, (_, (m, n)) in UNITS.items() if (m and dimension[0]) or (n and dimension[1])]
            raise ValueError(f"unknown unit {name!r}: known are {', '.join(fitting)}")
        exponent = int(power or 1) * (-1 if "/" in separator else 1)
        if abs(exponent) > 9:
            raise ValueError(f"not a unit: {text.strip()!r}")
        one, (mass, length) = UNITS[name]
        factor *= one**exponent
        powers = [powers[0] + exponent * mass, powers[1] + exponent * length]
    if tuple(powers) != dimension:
        raise ValueError(f"unit {text.strip()!r} does not fit: expected one like {EXAMPLES.get(dimension, 'none')}")
    return factor


def quantity(value: Any, dimension: Dimension, default: float = 1.0) -> float:
    """A number in SI units. value: a number or a text; default: what a number without unit is multiplied by."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number, factor = float(value), default
    elif isinstance(value, str):
        separated = re.match(r"\s*[-+]?\d[\d.]*([,_'’]|\s+)\d", value)
        if separated:
            sign = SEPARATORS.get(separated[1], "a space")
            raise ValueError(f"not a number: {value.strip()!r} has {sign} between its digits: write 1000, or 1.5")
        found = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*", value)
        if not found:
            raise ValueError(f"not a number: {value.strip()!r}")
        number, factor = float(found[1]), unit(found[2], dimension) if found[2] else default
    else:
        raise ValueError(f"not a number: {value!r}")
    if not math.isfinite(number * factor):
        raise ValueError(f"not a finite number: {value!r}")
    return number * factor
