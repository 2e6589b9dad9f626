"""Bodies of many geoms as one: a tree of boxes around them, walked down to the geoms that another box can reach.

MuJoCo: mj_collideTree. A tree is laid out so that what is below a node follows it, and can be skipped as a whole. Its boxes are
fixed in the inertial frame of the body, hence stale after edits until `set_const`, as MuJoCo's are. MuJoCo has trees of boxes
for the faces of meshes too, but only rays walk them: contacts of a mesh are those of its hull.
Reads: xipos, ximat.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, zero
from ..math.constants import resolved
from ..math.vec3 import add, get3, get9, mul_mat_vec, norm
from ..types import DisableBit
from .bounds import PAD
from .filter import can_move
from .motion import box_on_the_way, foresees
from .parameters import overrides
from .ray_mesh import last_below

MANY, FIXED = 64, 12  # geoms of a body from which on its tree is worth walking: one that moves, and one that does not


@kernel
def has_tree(m, body):
    """Whether a body takes part in the sweep as one: a tree of n geoms has 2 n - 1 nodes."""
    if m.body_bvhnum[body] < 2 * FIXED - 1 or m.opt_disableflags & DisableBit.MIDPHASE != 0:
        return False
    return m.body_bvhnum[body] >= 2 * MANY - 1 or not can_move(m, body)


@kernel
def node_box(m, d, body, node):
    """Box around a node of a body's tree and the margins and gaps of its geoms, along the axes of the world: low, high."""
    at, mat = m.body_bvhadr[body] + node, get9(d.ximat, body)
    x, y, z = add(get3(d.xipos, body), mul_mat_vec(mat, get3(m.bvh_aabb, at)))
    margin = 1.0 * m.body_margin[body] + (0.5 * m.opt_o_margin if overrides(m) else 0.0)
    hx, hy, hz = zero(x), zero(x), zero(x)
    for k in range(3):
        size = m.bvh_aabb[at, 3 + k]
        hx, hy, hz = hx + absolute(mat[k]) * size, hy + absolute(mat[3 + k]) * size, hz + absolute(mat[6 + k]) * size
    pad = resolved(PAD, x)
    hx, hy, hz = hx + pad * (hx + absolute(x)), hy + pad * (hy + absolute(y)), hz + pad * (hz + absolute(z))
    radius = norm((hx, hy, hz))
    hx, hy, hz = hx + margin, hy + margin, hz + margin
    box = (x - hx, y - hy, z - hz, x + hx, y + hy, z + hz)
    return box_on_the_way(m, d, body, (x, y, z), radius, box) if foresees(d) else box


@kernel
def overlap(a, b):
    """Where two boxes overlap."""
    return (
        (a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5])
    )  # fmt: skip


@kernel
def geom_at(m, body, node):
    """The geom of a leaf; -1 if the node is none."""
    return m.bvh_nodeid[m.body_bvhadr[body] + node]


@kernel
def behind(m, body, node):
    """The first node that is not below this one."""
    return last_below(m, m.body_bvhadr[body], node) + 1
