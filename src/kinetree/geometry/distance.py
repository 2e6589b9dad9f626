"""Distance of two geoms, and the points that have it.

MuJoCo: mj_geomDistance. Two boxes, and convex pairs without a closed form, are measured by GJK and EPA; all others by the
kernel of their contacts, with the greatest distance of interest as its reach: the nearest contact counts. Planes and height
fields have no distance from each other.
Scratch: narrow_geom holds both geoms, narrow_work the greatest distance; row 0 of convex_near gets the answer. The contacts
that exist stay: those found here are written behind them, and forgotten.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..capacity import MAXCON, MAXFACE, MAXHULL, fits
from ..fields import REAL
from ..kernel import function, kernel, stage
from ..kernel.ops import minimum, where, zero
from ..kernel.stage import check_arguments
from ..layout import checked
from ..math.vec3 import add_scaled, get3, where3
from ..needs import DISTANCES
from ..occupancy import holding
from ..types import GeomType
from ..work_fields import MAX_OF_PAIR
from .convex import REACH, convex, nearest_points
from .driver import PAIRS, SHAPES, touch
from .epa import corners_needed, faces_needed
from .filter import by_type
from .ray import check_placed

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model

BY_GJK = (SHAPES * GeomType.BOX + GeomType.BOX, *(SHAPES * a + b for (a, b), row in PAIRS.items() if row is convex))
FARTHEST = 1e9  # m, a greatest distance that stands for none


@kernel
def is_by_gjk(m, g0, g1):
    """Whether the distance of two geoms is found by iteration; the first has the lower type."""
    pair = SHAPES * m.geom_type[g0] + m.geom_type[g1]
    found = False
    for k in range(len(BY_GJK)):
        found = found or BY_GJK[k] == pair
    return found


@kernel
def note_distance(d, dist, first, second):
    """Write a distance and its points."""
    d.convex_near[0, 0] = dist
    for k in range(3):
        d.convex_near[0, 1 + k] = first[k]
        d.convex_near[0, 4 + k] = second[k]


@kernel
def by_contacts(m, d, geom, g0, g1, reach):
    """The nearest contact of two geoms, the first of which has the lower type; points are those of `geom`, then the other."""
    begin = d.ncon[0]
    none = zero(d.geom_xpos[g0, 0])
    dist, first, second = none + reach, (none, none, none), (none, none, none)
    touch(SHAPES * m.geom_type[g0] + m.geom_type[g1], m, d, g0, g1, reach)
    sign = 0.5 if geom == g0 else -0.5
    for c in range(begin, minimum(d.ncon[0], d.capacity[MAXCON])):
        x, pos = d.contact_dist[c], get3(d.contact_pos, c)
        nearer, normal = x < dist, (d.contact_frame[c, 0], d.contact_frame[c, 1], d.contact_frame[c, 2])
        first = where3(nearer, add_scaled(pos, normal, -sign * x), first)
        second = where3(nearer, add_scaled(pos, normal, sign * x), second)
        dist = where(nearer, x, dist)
    d.ncon[0] = begin
    note_distance(d, dist, first, second)


@kernel
def by_gjk(m, d, reach):
    """The pair in narrow_geom; beyond the reach there are no points."""
    nearest_points(m, d)
    dist, none = d.convex_near[0, 0], zero(d.convex_near[0, 0])
    near, nowhere = dist < reach, (none, none, none)
    first = d.convex_near[0, 1], d.convex_near[0, 2], d.convex_near[0, 3]
    second = d.convex_near[0, 4], d.convex_near[0, 5], d.convex_near[0, 6]
    note_distance(d, where(near, dist, reach), where3(near, first, nowhere), where3(near, second, nowhere))


@stage(when=DISTANCES, part_of="geom_distance")
def pair_distance(m, d):
    """Distance of the pair in narrow_geom and its points, in row 0 of convex_near. MuJoCo's mj_geomDistance."""
    if m.ngeom == 0:
        return
    geom, other, reach = d.narrow_geom[0], d.narrow_geom[1], zero(d.narrow_work[REACH]) + d.narrow_work[REACH]
    g0, g1 = by_type(m, geom, other)
    if is_by_gjk(m, g0, g1):
        by_gjk(m, d, reach)
    else:
        by_contacts(m, d, geom, g0, g1, reach)


@kernel
def reserve(m, d):
    """Make sure that the distance of any pair can be found without more room: where the state moves on, nothing runs twice."""
    fits(d, MAXCON, d.ncon[0] + MAX_OF_PAIR)
    fits(d, MAXHULL, corners_needed(m))
    fits(d, MAXFACE, faces_needed(m))


# from Python


@function(first=int, second=int, reach="1", row="7")
def _distance_of(m, d, a):
    """Distance and points of two geoms, as `pair_distance` finds them within a reach."""
    d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH] = a.first, a.second, a.reach[0]
    pair_distance(m, d)
    for k in range(7):
        a.row[k] = d.convex_near[0, k]


def geom_distance(
    model: Model, data: Data, geom1: str | int, geom2: str | int, distmax: float = math.inf
) -> tuple[float, np.ndarray]:
    """Distance [m] of two geoms, negative where they overlap, and the points that have it (2, 3). MuJoCo's mj_geomDistance.

    geom1, geom2: names or ids; the first point is on geom1. From distmax [m] on the distance is distmax, and the points are
    zero: so it is for two planes, for a plane with a height field, and for two height fields.
    Geoms are where the last position stage (`kinematics`, `forward`, ...) has put them. Whether they may collide, and their
    margins, do not matter. Height fields are searched until nothing is nearer; MuJoCo counts the first fifty prisms within
    distmax.
    """
    check_arguments("geom_distance", model, data)
    check_placed("geom_distance", data)
    plain = type(distmax) is float and distmax > -FARTHEST  # the rest, NaN too, is checked at leisure
    limit = distmax if plain else float(checked(distmax, (), REAL, "geom_distance: distmax"))
    row = _measure(model, data, model.id("geom", geom1), model.id("geom", geom2), min(limit, FARTHEST))
    dist = row.item(0)
    return limit if dist >= FARTHEST else dist, row[1:].reshape(2, 3)


@holding(1)
def _measure(model: Model, data: Data, first: int, second: int, reach: float) -> np.ndarray:
    """Distance and points."""
    kinds = model.geom_type
    field = kinds[first] == GeomType.HFIELD or kinds[second] == GeomType.HFIELD
    row = _distance_of(model, data, first=first, second=second, reach=reach).row
    while field and 0.0 < row[0] < reach:  # only the first prisms within reach count: are there nearer ones?
        reach = row[0]
        nearer = _distance_of(model, data, first=first, second=second, reach=reach).row
        row = nearer if nearer[0] < row[0] else row
    return row
