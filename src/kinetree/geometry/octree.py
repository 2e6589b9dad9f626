"""Signed distance from a mesh [m], by trilinear interpolation between the corners of the leaves of its octree.

MuJoCo: oct_distance, findOct, boxProjection. Outside of the tree's box the point is moved into it, and the way counts too.
A node has eight children or none; they come after it, so every walk ends.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, sqrt, zero

WITHIN = 1e-6  # [m] how far inside of the box a point is put


@kernel(scalar=True)
def beyond(m, root, p, k):
    """How far a point is out of the box of a node along axis k; negative inside."""
    return absolute(p - m.oct_aabb[root, k]) - m.oct_aabb[root, 3 + k]


@kernel(scalar=True)
def moved_in(m, root, p, k):
    """A coordinate of a point, moved into the box of a node."""
    out = beyond(m, root, p, k)
    if out < 0.0:
        return p
    return p - (out + WITHIN) if p > m.oct_aabb[root, k] else p + (out + WITHIN)


@kernel(scalar=True)
def share(m, node, p, k):
    """Where a coordinate of a point is between the sides of a node: 0 to 1."""
    low = m.oct_aabb[node, k] - m.oct_aabb[node, 3 + k]
    return (p - low) / (m.oct_aabb[node, k] + m.oct_aabb[node, 3 + k] - low)


@kernel(scalar=True)
def leaf_at(m, root, p):
    """The leaf that a point is in."""
    node = root
    while m.oct_child[node, 0] >= 0:
        x = 0 if share(m, node, p[0], 0) < 0.5 else 1
        y = 0 if share(m, node, p[1], 1) < 0.5 else 2
        z = 0 if share(m, node, p[2], 2) < 0.5 else 4
        node = root + m.oct_child[node, x + y + z]
    return node


@kernel(scalar=True)
def interpolated(m, node, p):
    """The distance in a leaf, from those at its corners."""
    x, y, z = share(m, node, p[0], 0), share(m, node, p[1], 1), share(m, node, p[2], 2)
    total = zero(x)
    for j in range(8):
        a = x if j % 2 == 1 else 1.0 - x
        b = y if j // 2 % 2 == 1 else 1.0 - y
        c = z if j // 4 == 1 else 1.0 - z
        total += a * b * c * m.oct_coeff[node, j]
    return total


@kernel(scalar=True)
def distance_in_octree(m, mesh, p):
    """Distance of a point from a mesh that has an octree, in the frame of the mesh; negative inside."""
    root = m.mesh_octadr[mesh]
    square = zero(p[0])
    outside = False
    for k in range(3):
        out = beyond(m, root, p[k], k)
        if out > 0.0:
            square += out * out
            outside = True
    inner = p
    if outside:
        inner = moved_in(m, root, p[0], 0), moved_in(m, root, p[1], 1), moved_in(m, root, p[2], 2)
    return interpolated(m, leaf_at(m, root, inner), inner) + sqrt(square)
