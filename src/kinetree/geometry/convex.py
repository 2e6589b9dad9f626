"""Two convex shapes without a closed form: GJK tells whether and how far they are apart, EPA how deep they overlap.

MuJoCo: mjc_ccd, mjc_Convex. Everything here branches on values, so lanes treat one world at a time; they meet again where
contacts are added. Spheres and capsules are taken without their radius first: unless their core is inside the other shape,
that gives the exact answer.
Scratch: narrow_geom holds both geoms, narrow_work the reach or cutoff; convex_near the nearest points found.
"""

from ..kernel import kernel, stage
from ..kernel.ops import zero
from ..math.vec3 import add, add_scaled, scale, sub, unit
from ..needs import DISTANCES, either, shapes
from ..types import DisableBit, GeomType
from .clip import add_neighbours
from .contact_list import ANY_TANGENT, FAR, add_contact
from .epa import NONE, epa
from .gjk import gjk, note_near
from .hull import keep_simplex
from .support import KIND, POINT, PRISM, SEGMENT, place_shape, position

REACH = 31  # place in narrow_work, behind what the pairs keep there
ROWS = 8  # of convex_near
NUDGES = (
    (1e-9, 0.6, -0.48, 0.64),
    (1e-7, -0.36, 0.8, 0.48),
    (1e-5, 0.28, 0.576, -0.768),
)  # share of its size, direction
CONVEX = either(shapes(GeomType.ELLIPSOID), shapes(GeomType.CYLINDER), shapes(GeomType.MESH))  # no closed form
BEYOND = 10.0  # how many nudges deep an overlap must be to count


@kernel(scalar=True)
def first_near(d, row):
    """The point of the first shape."""
    return d.convex_near[row, 1], d.convex_near[row, 2], d.convex_near[row, 3]


@kernel(scalar=True)
def second_near(d, row):
    """The point of the second shape."""
    return d.convex_near[row, 4], d.convex_near[row, 5], d.convex_near[row, 6]


@kernel(scalar=True)
def has_core(m, d, side):
    """Whether a shape is a core with a radius around it: a sphere or a capsule."""
    kind = m.geom_type[d.narrow_geom[side]]
    return kind == GeomType.SPHERE or kind == GeomType.CAPSULE


@kernel(scalar=True)
def shrink(m, d, side, margin):
    """Take a shape without its half of the margin, and a sphere or capsule without its radius; how much that is."""
    d.convex_grown[side] = 0.0
    if not has_core(m, d, side):
        return 0.5 * margin
    d.convex_side[side, KIND] = POINT if m.geom_type[d.narrow_geom[side]] == GeomType.SPHERE else SEGMENT
    return 0.5 * margin + m.geom_size[d.narrow_geom[side], 0]


@kernel(scalar=True)
def inflate(d, dist, first, second):
    """Give two nearest points their radii back; returns the distance that is left."""
    a, b = first_near(d, 0), second_near(d, 0)
    normal = unit(sub(b, a))
    left = dist - (first + second)
    note_near(d, 0, left, add_scaled(a, normal, first), add_scaled(b, normal, -second), normal)
    return left


@kernel(scalar=True)
def epa_nudged(m, d):
    """The triangle of two shapes, the second of which is moved by a hair; NONE if they do not clearly overlap.

    Where the origin lies on an edge or triangle between support points of the difference, EPA has nothing to begin with. That
    is so for equal shapes in one place, or on one axis, but also where shapes just touch: then nothing clear comes of it.
    """
    x, y, z = position(d, 1)
    face = NONE
    for k in range(len(NUDGES)):
        share, u, v, w = NUDGES[k]
        size = share * m.geom_rbound[d.narrow_geom[1]]
        d.convex_pose[1, 0], d.convex_pose[1, 1], d.convex_pose[1, 2] = x + size * u, y + size * v, z + size * w
        n, dist, apart = gjk(m, d, zero(x))
        if n > 1 and dist <= m.opt_ccd_tolerance and not apart:
            face = epa(m, d, n)
            if face != NONE and -d.convex_near[0, 0] > BEYOND * size:
                break
            face = NONE
    d.convex_pose[1, 0], d.convex_pose[1, 1], d.convex_pose[1, 2] = x, y, z
    return face


@kernel(scalar=True)
def meet_placed(m, d, margin, cutoff):
    """(distance, triangle) of two shapes that are in their places; the distance is negative where they overlap.

    margin [m]: by how much both together are larger than they are, which the distance does not count.
    The nearest points go into row 0 of convex_near. FAR beyond the cutoff; 0 if they touch and no depth can be found.
    triangle: of the hull, between those corners of the shapes that the nearest points lie between; NONE if there is none.
    """
    n, dist, apart = 0, zero(cutoff), False
    thick = margin > 0.0 or has_core(m, d, 0) or has_core(m, d, 1)
    for attempt in range(0 if thick else 1, 2):
        d.convex_grown[0] = d.convex_grown[1] = 0.5 * margin
        first, second = zero(cutoff), zero(cutoff)
        if attempt == 0:
            first, second = shrink(m, d, 0, margin), shrink(m, d, 1, margin)
        else:
            d.convex_side[0, KIND] = m.geom_type[d.narrow_geom[0]]
            d.convex_side[1, KIND] = m.geom_type[d.narrow_geom[1]]
        n, dist, apart = gjk(m, d, cutoff + first + second)
        if attempt == 0 and dist > m.opt_ccd_tolerance:
            left = zero(dist) + FAR if dist >= FAR else inflate(d, dist, first, second)
            if n > 0 and n < 4:
                keep_simplex(d, n)
            return (zero(dist) + FAR if left > cutoff else left + margin), (0 if n > 0 and n < 4 else NONE)
    if dist > m.opt_ccd_tolerance or n < 2 or apart:
        return dist + margin, NONE
    face = epa(m, d, n)
    if face == NONE and d.convex_side[0, KIND] != PRISM:  # what a prism misses, its neighbours have
        face = epa_nudged(m, d)
    return (zero(dist) if face == NONE else d.convex_near[0, 0]) + margin, face


@kernel(scalar=True)
def meet(m, d, margin, cutoff):
    """`meet_placed` for the pair of geoms at hand."""
    place_shape(m, d, 0)
    place_shape(m, d, 1)
    return meet_placed(m, d, margin, cutoff)


@kernel(scalar=True)
def forget(d):
    """Empty convex_near."""
    for row in range(ROWS):
        d.convex_near[row, 0] = FAR
        for k in range(1, 10):
            d.convex_near[row, k] = 0.0


@stage(scalar=True, when=DISTANCES, part_of="geom_distance", unfused=True)
def nearest_points(m, d):
    """Distance of the pair in narrow_geom and its nearest points, in row 0 of convex_near. Part of MuJoCo's mj_geomDistance."""
    forget(d)
    dist, _ = meet(m, d, zero(d.narrow_work[REACH]), d.narrow_work[REACH])
    d.convex_near[0, 0] = dist


@stage(scalar=True, when=CONVEX, part_of="collision", unfused=True)
def near_points(m, d):
    """Contacts of the pair in narrow_geom, in convex_near; places left over are FAR. Part of MuJoCo's mj_collision."""
    forget(d)
    margin = d.narrow_work[REACH]
    dist, face = meet(m, d, margin, zero(margin))
    d.convex_near[0, 0] = dist if dist < margin else zero(dist) + FAR
    if dist < margin and face != NONE and m.opt_disableflags & DisableBit.MULTICCD == 0:
        for side in range(2):
            d.convex_side[side, KIND] = m.geom_type[d.narrow_geom[side]]
            d.convex_grown[side] = 0.5 * margin
        add_neighbours(m, d, face, margin)


@kernel
def convex(m, d, g0, g1, reach):
    """A contact for each place of convex_near."""
    d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH] = g0, g1, reach
    near_points(m, d)
    for row in range(ROWS):
        dist = d.convex_near[row, 0]
        first = (d.convex_near[row, 1], d.convex_near[row, 2], d.convex_near[row, 3])
        second = (d.convex_near[row, 4], d.convex_near[row, 5], d.convex_near[row, 6])
        normal = unit((d.convex_near[row, 7], d.convex_near[row, 8], d.convex_near[row, 9]))
        add_contact(d, g0, g1, dist < FAR, dist, scale(add(first, second), 0.5), normal, ANY_TANGENT)
