"""How far apart two shapes are, wherever they have been put: what conservative advancement asks after every bit of the way.

MuJoCo: evalGeomPairDist. Spheres and capsules are taken without their radius, and are not asked how deep they overlap. The
first shape may be a plane.
Writes: the nearest points and the direction from the first to the second in row 0 of convex_near; simplex_*.
"""

from ..kernel import kernel
from ..kernel.ops import zero
from ..math.vec3 import add_scaled, dot, scale, sub
from ..types import GeomType
from .convex import has_core, inflate
from .gjk import gjk_from, note_near
from .simplex import put_corner
from .support import KIND, POINT, SEGMENT, place_shape, position, support


@kernel(scalar=True)
def place_core(m, d, side):
    """Put a geom of the pair at hand in its place, without its radius if it has one."""
    place_shape(m, d, side)
    d.convex_grown[side] = 0.0
    if has_core(m, d, side):
        d.convex_side[side, KIND] = POINT if m.geom_type[d.narrow_geom[side]] == GeomType.SPHERE else SEGMENT


@kernel(scalar=True)
def radius(m, d, side):
    """What `place_core` took off."""
    return 1.0 * m.geom_size[d.narrow_geom[side], 0] if has_core(m, d, side) else zero(d.convex_pose[side, 0])


@kernel(scalar=True)
def above_plane(m, d):
    """`separation` of a plane and a shape: that of its lowest point, which is the only corner."""
    normal = (d.convex_pose[0, 5], d.convex_pose[0, 8], d.convex_pose[0, 11])
    lowest = support(m, d, 1, scale(normal, -1.0))
    put_corner(d, 0, lowest, lowest)
    lowest = add_scaled(lowest, normal, -radius(m, d, 1))
    dist = dot(sub(lowest, position(d, 0)), normal)
    note_near(d, 0, dist, add_scaled(lowest, normal, -dist), lowest, normal)
    return 1, dist


@kernel(scalar=True)
def separation(m, d, cutoff, first, second):
    """(corners of the last simplex, distance) of two shapes that are in their places; FAR if it is beyond the cutoff.

    first, second: points of either, where the search begins.
    """
    if d.convex_side[0, KIND] == GeomType.PLANE:
        return above_plane(m, d)
    own, other = radius(m, d, 0), radius(m, d, 1)
    n, dist, _ = gjk_from(m, d, cutoff + own + other, first, second)
    if dist > cutoff + own + other:
        return n, dist
    return n, inflate(d, dist, own, other)
