"""Rays against height fields, in the frame of the geom.

MuJoCo: mj_rayHfield, which tries all cells in the rectangle around the ray's shadow; here only those in the shadow are.
A height field is a box below z = 0 and a block above it whose top is made of two triangles per cell of the grid.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, maximum, minimum, where, zero
from ..math.constants import MIN_VALUE, resolved
from ..math.vec3 import add_scaled
from .ray_mesh import APPROACH, ray_triangle
from .ray_shapes import box_crossings, box_surface, face_normal, nearer

PAD = 1e-6
"""Share of a cell by which it is taken larger, so that a ray along a line of the grid meets the cells on both sides."""

ASIDE = 1e-6
"""Share of the lengths at hand by which a ray must stay above or below a cell to pass it by: triangles have a rim (EDGE)."""


@kernel(scalar=True)
def cell(x, count):
    """The cell of a row of cells that x, counted in cells, lies in; the first or the last if it lies outside."""
    return int(maximum(minimum(x, count - 1.0), 0.0))


@kernel(scalar=True)
def elevation(m, h, row, col):
    """Sample of a height field, from 0 to 1."""
    return m.hfield_data[m.hfield_adr[h] + row * m.hfield_ncol[h] + col]


@kernel(scalar=True)
def spacing(m, h):
    """Size of a cell in x and y."""
    return 2.0 * m.hfield_size[h, 0] / (m.hfield_ncol[h] - 1), 2.0 * m.hfield_size[h, 1] / (m.hfield_nrow[h] - 1)


@kernel(scalar=True)
def grid_point(m, h, row, col, p):
    """From a point to a point of the surface."""
    dx, dy = spacing(m, h)
    return (
        col * dx - m.hfield_size[h, 0] - p[0],
        row * dy - m.hfield_size[h, 1] - p[1],
        elevation(m, h, row, col) * m.hfield_size[h, 2] - p[2],
    )


@kernel(scalar=True)
def passes_by(m, h, row, col, low, high):
    """Whether a stretch of a ray between two heights stays above or below all four corners of a cell."""
    a, b = elevation(m, h, row, col), elevation(m, h, row, col + 1)
    c, e = elevation(m, h, row + 1, col), elevation(m, h, row + 1, col + 1)
    top = m.hfield_size[h, 2] * (maximum(maximum(a, b), maximum(c, e)))
    bottom = m.hfield_size[h, 2] * (minimum(minimum(a, b), minimum(c, e)))
    return low > top or high < bottom


@kernel(scalar=True)
def heights(p, v, begin, end, aside):
    """Between which heights a stretch of a ray lies, with something on both sides."""
    a, b = p[2] + begin * v[2], p[2] + end * v[2]
    return minimum(a, b) - aside, maximum(a, b) + aside


@kernel(scalar=True)
def stretch(start, speed, k, begin, end):
    """What of a stretch of a ray lies over cell k of a row of cells; start, speed: in cells, and one over it, 0 for none."""
    a, b = (k - PAD - start) * speed, (k + 1.0 + PAD - start) * speed
    still = speed == 0.0
    return where(still, begin, maximum(begin, minimum(a, b))), where(still, end, minimum(end, maximum(a, b)))


@kernel(scalar=True)
def inverse(v):
    """One over a number, 0 where there is none to speak of."""
    still = absolute(v) < MIN_VALUE
    return where(still, 0.0, 1.0 / where(still, 1.0, v))


@kernel(scalar=True)
def ray_surface(m, h, p, v, length):
    """The nearest triangle of the surface over a stretch of the ray, or -1, and its normal.

    Cells that the ray passes by are left out, judged by its stretch over the row, and only then by that over the cell.
    """
    dx, dy = spacing(m, h)
    cols, rows = m.hfield_ncol[h] - 1, m.hfield_nrow[h] - 1
    x0, vx = (p[0] + m.hfield_size[h, 0]) / dx, v[0] / dx  # counted in cells
    y0, vy = (p[1] + m.hfield_size[h, 1]) / dy, v[1] / dy
    per_col, per_row, y1 = inverse(vx), inverse(vy), y0 + length * vy
    aside = resolved(ASIDE, x0) * (absolute(p[2]) + length + m.hfield_size[h, 2])
    best, normal = zero(x0) - 1.0, p
    for r in range(cell(minimum(y0, y1) - PAD, rows), cell(maximum(y0, y1) + PAD, rows) + 1):
        begin, end = stretch(y0, per_row, r, zero(x0), length)
        low, high = heights(p, v, begin, end, aside)
        a, b = x0 + begin * vx, x0 + end * vx
        for c in range(cell(minimum(a, b) - PAD, cols), cell(maximum(a, b) + PAD, cols) + 1):
            if not passes_by(m, h, r, c, low, high):
                over, out = stretch(x0, per_col, c, begin, end)
                bottom, top = heights(p, v, over, out, aside)
                if not passes_by(m, h, r, c, bottom, top):
                    near, far = grid_point(m, h, r, c, p), grid_point(m, h, r + 1, c + 1, p)
                    for half in range(2):  # below and above the diagonal
                        middle = grid_point(m, h, r + half, c + 1 - half, p)
                        x, n = ray_triangle(v, near, middle, far)
                        if nearer(best, x):
                            s = 1.0 - 2.0 * half
                            best, normal = x, (s * n[0], s * n[1], s * n[2])  # upward
    return best, normal


@kernel(scalar=True)
def below_rim(m, h, p, v, x, axis, high):
    """Whether the ray at x, on a side of the block, is below the rim of the surface there."""
    other = 1 - axis
    count = m.hfield_nrow[h] if other == 1 else m.hfield_ncol[h]
    y = (p[other] + x * v[other] + m.hfield_size[h, other]) / spacing(m, h)[other]
    k = cell(y, count - 1)
    end = (m.hfield_ncol[h] if axis == 0 else m.hfield_nrow[h]) - 1 if high else 0
    if axis == 0:
        a, b = elevation(m, h, k, end), elevation(m, h, k + 1, end)
    else:
        a, b = elevation(m, h, end, k), elevation(m, h, end, k + 1)
    return p[2] + x * v[2] < (a * (k + 1 - y) + b * (y - k)) * m.hfield_size[h, 2]


@kernel(scalar=True)
def ray_hfield(m, sizes, g, p, v, limit):
    """A height field: its base, its surface and its four sides. The surface is of no interest beyond a limit."""
    h = m.geom_dataid[g]
    sx, sy, top, base = m.hfield_size[h, 0], m.hfield_size[h, 1], 0.5 * m.hfield_size[h, 2], 0.5 * m.hfield_size[h, 3]
    best, normal = box_surface((p[0], p[1], p[2] + base), v, (sx, sy, base))
    enter, first, leave, last = box_crossings((p[0], p[1], p[2] - top), v, (sx, sy, top))
    if (enter > leave) | (leave < 0.0) | (enter > limit):
        return best, normal
    start = APPROACH * maximum(enter, 0.0)
    x, n = ray_surface(m, h, add_scaled(p, v, start), v, minimum(leave, limit) - start)
    x = where(x < 0.0, x, start + x)
    if nearer(best, x):
        best, normal = x, n
    for k in range(2):
        x, axis, sign = (enter, first, -1.0) if k == 0 else (leave, last, 1.0)
        if axis < 2 and nearer(best, x):
            if below_rim(m, h, p, v, x, axis, sign * v[axis] > 0.0):
                best, normal = x, face_normal(v, axis, sign)
    return best, normal
