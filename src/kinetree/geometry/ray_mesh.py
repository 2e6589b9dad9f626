"""Rays against triangles and meshes, in the frame of the mesh.

MuJoCo: mj_rayMesh, mju_rayTree, which walk the same tree of boxes. The tree lies in depth-first order, so a walk needs no
stack: the node after a box that the ray misses is the one behind the box's last leaf. On lanes all worlds walk together, and
each has a node before which it does not look.
Reference: Moeller and Trumbore 1997, "Fast, minimum storage ray/triangle intersection".
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, minimum, not_, where, zero
from ..math.constants import MIN_VALUE, resolved
from ..math.vec3 import add_scaled, cross, dot, get3, sub, where3
from .ray_shapes import INF, slab

EDGE = 1e-9
"""Share of a triangle by which it is taken larger, so that no ray slips through the edge between two."""

PAD = 1e-7
"""Share by which a box is taken larger: its triangles have single-precision corners, its walls have not."""

TIE = 1e-12
"""Share of the way by which two crossings may differ and still be in one place: the sides of a double-sided mesh."""

APPROACH = 1.0 - 1e-6
"""Share of the way to a box that is gone before its triangles are looked at, so that distance costs no digits."""


@kernel
def ray_triangle(v, a, b, c):
    """Crossing with a triangle, from either side, or -1; and its normal, outward where a, b, c turn to the left.

    The corners are given from the ray's start on: single-precision numbers have become double in that difference.
    """
    e, f = sub(b, a), sub(c, a)
    side = cross(v, f)
    volume = dot(e, side)
    normal = cross(e, f)
    flat = absolute(volume) < MIN_VALUE
    volume = where(flat, 1.0, volume)
    share, other = 1.0 / volume, cross(e, a)
    u, w, x = -dot(a, side) * share, dot(v, other) * share, dot(f, other) / volume
    edge = resolved(EDGE, u)
    misses = flat | (u < -edge) | (w < -edge) | (u + w > 1.0 + edge) | (x < 0.0)
    return where(misses, -1.0, x), normal


@kernel
def interval(m, a, p, v):
    """Interval of x within box a of the trees, taken a little larger; it ends before it begins where the ray misses."""
    enter, leave = zero(p[0]), zero(p[0]) + INF
    for k in range(3):
        centre, half = m.bvh_aabb[a, k], m.bvh_aabb[a, 3 + k]
        begin, end = slab(p[k] - centre, v[k], half + resolved(PAD, p[k]) * (half + absolute(centre)))
        enter, leave = maximum(enter, begin), minimum(leave, end)
    return enter, leave


@kernel
def last_below(m, root, node):
    """The last node below a node of a tree, itself if it is a leaf."""
    while m.bvh_child[root + node, 1] >= 0:
        node = m.bvh_child[root + node, 1]
    return node


@kernel
def corner(m, mesh, face, k, p):
    """From a point to corner k of a triangle."""
    return sub(get3(m.mesh_vert, m.mesh_vertadr[mesh] + m.mesh_face[m.mesh_faceadr[mesh] + face, k]), p)


@kernel
def ray_mesh(m, sizes, g, p, v):
    """The nearest triangle of a mesh; of those in one place the last of the tree, which MuJoCo looks at from its other end."""
    mesh = m.geom_dataid[g]
    root, count = m.mesh_bvhadr[mesh], m.mesh_bvhnum[mesh]
    start, end = interval(m, root, p, v)
    node, resume = 0, where(start <= end, 0, count)  # in each world, the node from which on it looks again
    start = APPROACH * start
    p = add_scaled(p, v, start)
    best, normal = zero(start) - 1.0, p
    while node < count:
        enter, leave = interval(m, root + node, p, v)
        looks = resume <= node
        misses = (enter > leave) | ((best >= 0.0) & (enter > best))
        meets = looks & not_(misses)
        if not any_(meets):
            node = last_below(m, root, node)
        else:
            if any_(looks & misses):
                resume = where(looks & misses, last_below(m, root, node) + 1, resume)
            if m.bvh_nodeid[root + node] >= 0:
                face = m.bvh_nodeid[root + node]
                corners = corner(m, mesh, face, 0, p), corner(m, mesh, face, 1, p), corner(m, mesh, face, 2, p)
                x, n = ray_triangle(v, corners[0], corners[1], corners[2])
                first = (best < 0.0) | (x <= best + resolved(TIE, best) * (start + best))
                hit = meets & (x >= 0.0) & first
                best, normal = where(hit, x, best), where3(hit, n, normal)
        node += 1
    return where(best < 0.0, best, start + best), normal
