"""Contacts of a convex geom with a height field: one for each prism of the terrain that it meets.

MuJoCo: mjc_ConvexHField. Under each cell of the grid stand two prisms, with a triangle of the surface on top and the bottom of
the base below. Those under the box around the geom are tried one after the other, row by row, until there are enough contacts.
Everything happens in the frame of the field, and branches on values: lanes treat one world at a time.
Scratch: prism_corner the three lower and three upper corners of the prism at hand; prism_near a row for each
contact: distance, place, direction from the field to the geom.
"""

from ..kernel import kernel, stage
from ..kernel.ops import any_, maximum, zero
from ..math.vec3 import add, get3, get9, mul_mat_t_vec, mul_mat_vec, scale, set3, sub, unit, where3
from ..needs import shapes
from ..types import GeomType
from ..work_fields import MAX_OF_PAIR
from .contact_list import ANY_TANGENT, add_contact
from .convex import REACH, meet_placed
from .ray_hfield import cell, elevation, spacing
from .support import place_shape, position, support

COUNT = REACH - 1  # of narrow_work: how many rows of prism_near there are
MARGIN = 1.0 + 1e-6  # by which the ball around a geom is taken larger


@kernel(scalar=True)
def place_in_field(m, d):
    """Put the second geom of the pair at hand into the frame of the first, the field."""
    field, mat = d.narrow_geom[0], get9(d.geom_xmat, d.narrow_geom[0])
    place_shape(m, d, 0)
    place_shape(m, d, 1)
    place = mul_mat_t_vec(mat, sub(position(d, 1), get3(d.geom_xpos, field)))
    for k in range(3):
        d.convex_pose[1, k] = place[k]
        g = d.narrow_geom[1]
        column = mul_mat_t_vec(mat, (d.geom_xmat[g, k], d.geom_xmat[g, 3 + k], d.geom_xmat[g, 6 + k]))
        for i in range(3):
            d.convex_pose[1, 3 + 3 * i + k] = column[i]


@kernel(scalar=True)
def extent(m, d, axis):
    """Between which numbers of an axis of the field the geom lies."""
    none = zero(d.convex_pose[0, 0])
    x, y, z = none + (1.0 if axis == 0 else 0.0), none + (1.0 if axis == 1 else 0.0), none + (1.0 if axis == 2 else 0.0)
    low, high = support(m, d, 1, (-x, -y, -z)), support(m, d, 1, (x, y, z))
    return low[axis], high[axis]


@kernel(scalar=True)
def last_cell(x, count):
    """The last cell of a row of cells that begins before x, counted in cells."""
    k = cell(x, count)
    return k - 1 if k > 0 and x <= k else k


@kernel(scalar=True)
def height_of(m, h, row, col, half):
    """How high a prism is. half: 0 for the triangle at the later row, 1 for the one at the earlier row and later column."""
    a, b = elevation(m, h, row, col), elevation(m, h, row + 1, col + 1)
    third = elevation(m, h, row + 1, col) if half == 0 else elevation(m, h, row, col + 1)
    return m.hfield_size[h, 2] * maximum(maximum(a, b), third)


@kernel(scalar=True)
def is_above(m, d, h, margin):
    """Whether the ball around the geom is above all corners of the cells under it: then none of its prisms can be met."""
    field, g = d.narrow_geom[0], d.narrow_geom[1]
    x, y, z = mul_mat_t_vec(get9(d.geom_xmat, field), sub(get3(d.geom_xpos, g), get3(d.geom_xpos, field)))
    r = MARGIN * (m.geom_rbound[g] + margin)
    low, (dx, dy) = z - r, spacing(m, h)
    x, y = x + m.hfield_size[h, 0], y + m.hfield_size[h, 1]
    rows, cols = m.hfield_nrow[h] - 1, m.hfield_ncol[h] - 1
    first, end = cell((x - r) / dx, cols), cell((x + r) / dx, cols) + 2
    for row in range(cell((y - r) / dy, rows), cell((y + r) / dy, rows) + 2):
        for col in range(first, end):
            if elevation(m, h, row, col) * m.hfield_size[h, 2] >= low:
                return False
    return True


@kernel(scalar=True)
def place_prism(m, d, h, row, col, half):
    """Fill in prism_corner, and its middle as the place of the first shape."""
    dx, dy = spacing(m, h)
    middle = zero(dx), zero(dx), zero(dx)
    for k in range(3):
        at = k + half  # along the strip of the cell: corners of the later and the earlier row in turn
        r, c = row + 1 - (at & 1), col + (at >> 1)
        x, y = dx * c - m.hfield_size[h, 0], dy * r - m.hfield_size[h, 1]
        low, high = -1.0 * m.hfield_size[h, 3], elevation(m, h, r, c) * m.hfield_size[h, 2]
        set3(d.prism_corner, k, (x, y, low))
        set3(d.prism_corner, 3 + k, (x, y, high))
        middle = add(middle, (2.0 * x, 2.0 * y, low + high))
    middle = scale(middle, 1.0 / 6.0)
    for k in range(3):
        d.convex_pose[0, k] = middle[k]


@kernel(scalar=True)
def keep_near(d, row):
    """Copy row 0 of convex_near, in the frame of the field, to a row of prism_near in the world."""
    field = d.narrow_geom[0]
    mat, origin = get9(d.geom_xmat, field), get3(d.geom_xpos, field)
    first = (d.convex_near[0, 1], d.convex_near[0, 2], d.convex_near[0, 3])
    second = (d.convex_near[0, 4], d.convex_near[0, 5], d.convex_near[0, 6])
    middle = add(origin, mul_mat_vec(mat, scale(add(first, second), 0.5)))
    normal = mul_mat_vec(mat, (d.convex_near[0, 7], d.convex_near[0, 8], d.convex_near[0, 9]))
    for k in range(3):
        d.prism_near[row, 1 + k] = middle[k]
        d.prism_near[row, 4 + k] = normal[k]


@kernel(scalar=True)
def meet_prisms(m, d, h, margin):
    """Fill prism_near with the prisms under the box around the geom that it meets; how many there are."""
    place_in_field(m, d)
    (x0, x1), (y0, y1), (z0, z1) = extent(m, d, 0), extent(m, d, 1), extent(m, d, 2)
    sx, sy, n = 1.0 * m.hfield_size[h, 0], 1.0 * m.hfield_size[h, 1], 0
    x0, x1, y0, y1, z0, z1 = x0 - margin, x1 + margin, y0 - margin, y1 + margin, z0 - margin, z1 + margin
    over = x0 < sx and x1 > -sx and y0 < sy and y1 > -sy
    if over and z0 <= m.hfield_size[h, 2] and z1 >= -m.hfield_size[h, 3]:
        dx, dy = spacing(m, h)
        cols, rows = m.hfield_ncol[h] - 1, m.hfield_nrow[h] - 1
        for r in range(cell((y0 + sy) / dy, rows), last_cell((y1 + sy) / dy, rows) + 1):
            for at in range(2 * cell((x0 + sx) / dx, cols), 2 * last_cell((x1 + sx) / dx, cols) + 2):
                if n < MAX_OF_PAIR and height_of(m, h, r, at >> 1, at & 1) >= z0:
                    place_prism(m, d, h, r, at >> 1, at & 1)
                    dist, _ = meet_placed(m, d, margin, zero(margin))
                    if dist < margin:
                        keep_near(d, n)
                        d.prism_near[n, 0] = dist
                        n += 1
    return n


@stage(scalar=True, when=shapes(GeomType.HFIELD), part_of="collision", unfused=True)
def near_prisms(m, d):
    """Contacts of the pair in narrow_geom, the first a height field, in the first rows of prism_near, and how many there are.

    Part of MuJoCo's mj_collision.
    """
    h, margin = m.geom_dataid[d.narrow_geom[0]], 1.0 * d.narrow_work[REACH]
    d.narrow_work[COUNT] = 0.0
    if not is_above(m, d, h, margin):
        d.narrow_work[COUNT] = 1.0 * meet_prisms(m, d, h, margin)


@kernel
def terrain(m, d, g0, g1, reach):
    """A contact for each row of prism_near."""
    d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH] = g0, g1, reach
    near_prisms(m, d)
    row = 0
    while row < MAX_OF_PAIR and any_(d.narrow_work[COUNT] > row):
        there, o = d.narrow_work[COUNT] > row, zero(d.narrow_work[COUNT])
        middle = where3(there, (d.prism_near[row, 1], d.prism_near[row, 2], d.prism_near[row, 3]), (o, o, o))
        normal = where3(there, (d.prism_near[row, 4], d.prism_near[row, 5], d.prism_near[row, 6]), (o, o, o + 1.0))
        add_contact(d, g0, g1, there, d.prism_near[row, 0], middle, unit(normal), ANY_TANGENT)
        row += 1
