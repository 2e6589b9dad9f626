"""Which geoms may collide at all, as the model says it: bits, welds, parents, excluded bodies, sleep.

MuJoCo: filterBitmask, filterBodyPair, exclude_signature. Everything here is the same in all worlds.
"""

from ..kernel import kernel
from ..kernel.ops import all_, maximum, minimum
from ..types import DisableBit, EnableBit, SleepState

HALF = 0xFFFF  # a signature is two bodies of 16 bits each


@kernel
def can_move(m, body):
    """Whether a body moves with some degree of freedom; mocap bodies and what is fixed to the world do not."""
    return m.body_dofnum[m.body_weldid[body]] > 0


@kernel
def bits_match(m, g, h):
    """Whether the contact type of one geom meets the affinity of the other."""
    return (m.geom_contype[g] & m.geom_conaffinity[h]) | (m.geom_contype[h] & m.geom_conaffinity[g]) != 0


@kernel
def asleep(m, d, body):
    """Whether a body sleeps."""
    return m.opt_enableflags & EnableBit.SLEEP != 0 and all_(d.body_awake[body] == SleepState.ASLEEP)


@kernel
def bodies_match(m, d, a, b):
    """Whether geoms of two bodies may collide: not rigidly connected, not parent and child, and one can move and is awake.

    A child of the world collides with it; the check of parents can be disabled.
    """
    weld_a, weld_b = m.body_weldid[a], m.body_weldid[b]
    if weld_a == weld_b or (m.body_dofnum[weld_a] == 0 and m.body_dofnum[weld_b] == 0):
        return False
    if weld_a != 0 and weld_b != 0 and m.opt_disableflags & DisableBit.FILTERPARENT == 0:
        if weld_a == m.body_weldid[m.body_parentid[weld_b]] or weld_b == m.body_weldid[m.body_parentid[weld_a]]:
            return False
    sleeps_a, sleeps_b = asleep(m, d, a), asleep(m, d, b)
    return not ((sleeps_a and (sleeps_b or weld_b == 0)) or (sleeps_b and weld_a == 0))


@kernel
def excluded(m, first, second):
    """Whether two bodies, first < second, are on the list of exclusions."""
    for k in range(m.nexclude):
        both = m.exclude_signature[k]
        if (both >> 16) & HALF == first and both & HALF == second:
            return True
    return False


@kernel
def listed(m, k, g, h):
    """Whether explicit pair k is of these two geoms."""
    return (m.pair_geom1[k] == g and m.pair_geom2[k] == h) or (m.pair_geom1[k] == h and m.pair_geom2[k] == g)


@kernel
def bodies_of(m, g, h):
    """The bodies of two geoms, the lower first: geoms are in the order of their bodies."""
    return m.geom_bodyid[minimum(g, h)], m.geom_bodyid[maximum(g, h)]


@kernel
def by_type(m, g, h):
    """Two geoms in the order of their types, which is that of the pairs of shapes; kept as they are if equal."""
    return (h, g) if m.geom_type[g] > m.geom_type[h] else (g, h)
