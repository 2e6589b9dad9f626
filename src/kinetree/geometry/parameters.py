"""Parameters of contacts: those of an explicit pair, or mixed from both geoms.

MuJoCo: mj_contactParam, mj_setContact, mj_assignMargin and the like. The geom of higher priority decides; at equal priority
condim and friction are the larger ones, solref and solimp means weighted by solmix (solref the smaller numbers if one is
direct), adhesion the sum. EnableBit.OVERRIDE puts the numbers of the options in their place.
Margins and gaps of two geoms add up. Contacts exist closer than margin + gap; they give force closer than margin.
Writes: contact_includemargin, contact_friction, contact_solref, contact_solreffriction, contact_solimp, contact_adhesion,
contact_surfacevel, contact_dim, contact_exclude, contact_swept, contact_efc_address.
"""

from ..kernel import kernel
from ..kernel.ops import any_, maximum, minimum, where, zero
from ..math.constants import MIN_VALUE
from ..math.vec3 import add, cross, dot, get3, get9, mul_mat_vec, sub
from ..types import EnableBit
from .contact_list import FAR

NO_PAIR = -1  # for contacts that no explicit pair describes
IN_GAP = 1  # of contact_exclude: too far apart for force
MIN_FRICTION = 1e-5  # MuJoCo's mjMINMU


@kernel
def overrides(m):
    """Whether the options replace what the geoms say."""
    return m.opt_enableflags & EnableBit.OVERRIDE != 0


@kernel
def margin_of(m, g0, g1, pair):
    """Distance below which two geoms exert force."""
    if overrides(m):
        return m.opt_o_margin
    return m.pair_margin[pair] if pair >= 0 else m.geom_margin[g0] + m.geom_margin[g1]


@kernel
def reach_of(m, g0, g1, pair):
    """Distance below which two geoms have a contact."""
    gap = m.pair_gap[pair] if pair >= 0 else m.geom_gap[g0] + m.geom_gap[g1]
    return margin_of(m, g0, g1, pair) + gap


@kernel
def weight(m, g0, g1):
    """Share of g0 in the parameters of a contact: all of it if it has the higher priority, else by solmix."""
    if m.geom_priority[g0] != m.geom_priority[g1]:
        return 1.0 if m.geom_priority[g0] > m.geom_priority[g1] else 0.0
    a, b = m.geom_solmix[g0], m.geom_solmix[g1]
    without_a, without_b = a < MIN_VALUE, b < MIN_VALUE
    both = a / where(without_a & without_b, 1.0, a + b)
    return where(without_a, where(without_b, 0.5, zero(a)), where(without_b, 1.0, both))


@kernel
def mixed_friction(m, g0, g1, k):
    """Friction number k of two geoms: sliding, spinning, rolling."""
    a, b = m.geom_friction[g0, k], m.geom_friction[g1, k]
    if m.geom_priority[g0] != m.geom_priority[g1]:
        return a if m.geom_priority[g0] > m.geom_priority[g1] else b
    return maximum(a, b)


@kernel
def friction_of(m, g0, g1, pair, k):
    """Friction number k of a contact: two tangents, spin, two rolls."""
    if overrides(m):
        return maximum(MIN_FRICTION, m.opt_o_friction[k])
    if pair >= 0:
        return maximum(MIN_FRICTION, m.pair_friction[pair, k])
    return maximum(MIN_FRICTION, mixed_friction(m, g0, g1, (k + k // 3) // 2))


@kernel
def solref_of(m, g0, g1, pair, k):
    """Number k of the reference along the normal."""
    if overrides(m):
        return m.opt_o_solref[k]
    if pair >= 0:
        return m.pair_solref[pair, k]
    a, b, w = m.geom_solref[g0, k], m.geom_solref[g1, k], weight(m, g0, g1)
    direct = (m.geom_solref[g0, 0] <= 0.0) | (m.geom_solref[g1, 0] <= 0.0)
    lower = direct & (m.geom_priority[g0] == m.geom_priority[g1])
    return where(lower, minimum(a, b), w * a + (1.0 - w) * b)


@kernel
def solimp_of(m, g0, g1, pair, k):
    """Number k of the impedance."""
    if overrides(m):
        return m.opt_o_solimp[k]
    if pair >= 0:
        return m.pair_solimp[pair, k]
    w = weight(m, g0, g1)
    return w * m.geom_solimp[g0, k] + (1.0 - w) * m.geom_solimp[g1, k]


@kernel
def solreffriction_of(m, pair, k):
    """Number k of the reference of the friction rows; zeros if it is that of the normal."""
    if overrides(m):
        return m.opt_o_solref[k]
    return m.pair_solreffriction[pair, k] if pair >= 0 else 0.0


@kernel
def adhesion_of(m, g0, g1, pair):
    """Force that holds the surfaces together."""
    if pair >= 0:
        return m.pair_adhesion[pair]
    if m.geom_priority[g0] != m.geom_priority[g1]:
        return m.geom_adhesion[g0] if m.geom_priority[g0] > m.geom_priority[g1] else m.geom_adhesion[g1]
    return m.geom_adhesion[g0] + m.geom_adhesion[g1]


@kernel
def condim_of(m, g0, g1, pair):
    """Dimensions of a contact."""
    if pair >= 0:
        return m.pair_dim[pair]
    if m.geom_priority[g0] != m.geom_priority[g1]:
        return m.geom_condim[g0] if m.geom_priority[g0] > m.geom_priority[g1] else m.geom_condim[g1]
    return maximum(m.geom_condim[g0], m.geom_condim[g1])


@kernel
def surface_velocity(m, d, g, point):
    """Velocity and angular velocity of a geom's surface at a point, against the geom, in world axes."""
    mat = get9(d.geom_xmat, g)
    linear = (m.geom_surfacevel[g, 0], m.geom_surfacevel[g, 1], m.geom_surfacevel[g, 2])
    angular = mul_mat_vec(mat, (m.geom_surfacevel[g, 3], m.geom_surfacevel[g, 4], m.geom_surfacevel[g, 5]))
    return add(mul_mat_vec(mat, linear), cross(angular, sub(point, get3(d.geom_xpos, g)))), angular


@kernel
def set_surface_velocity(m, d, k):
    """Velocity of surface 1 over surface 0 along both tangents, and its spin."""
    point, frame = get3(d.contact_pos, k), get9(d.contact_frame, k)
    v0, w0 = surface_velocity(m, d, d.contact_geom[k, 0], point)
    v1, w1 = surface_velocity(m, d, d.contact_geom[k, 1], point)
    v = sub(v1, v0)
    d.contact_surfacevel[k, 0] = dot(v, (frame[3], frame[4], frame[5]))
    d.contact_surfacevel[k, 1] = dot(v, (frame[6], frame[7], frame[8]))
    d.contact_surfacevel[k, 2] = dot(sub(w1, w0), (frame[0], frame[1], frame[2]))


@kernel
def set_parameters(m, d, g0, g1, pair, begin, ahead, end):
    """Fill in the contacts of one pair of geoms, from begin up to end. pair: the explicit pair, or NO_PAIR.

    Those from `ahead` on are speculative: they give force at any distance.

    In the gap there is no force but adhesion, along the normal only. On lanes a contact counts as in the gap if it is so in
    every world that has it; the rows look at the distance of each world themselves.
    """
    margin, adhesion, dim = margin_of(m, g0, g1, pair), adhesion_of(m, g0, g1, pair), condim_of(m, g0, g1, pair)
    for k in range(begin, end):
        swept = k >= ahead
        touching = d.contact_dist[k] < (FAR if swept else margin)
        d.contact_swept[k] = 1 if swept else 0
        d.contact_dim[k] = dim if any_(touching | (adhesion == 0.0)) else 1
        d.contact_exclude[k] = 0 if any_(touching | (adhesion != 0.0)) else IN_GAP
        d.contact_efc_address[k] = -1  # no rows yet
        d.contact_includemargin[k] = margin
        d.contact_adhesion[k] = adhesion
        for i in range(2):
            d.contact_solref[k, i] = solref_of(m, g0, g1, pair, i)
            d.contact_solreffriction[k, i] = solreffriction_of(m, pair, i)
        for i in range(5):
            d.contact_friction[k, i] = friction_of(m, g0, g1, pair, i)
            d.contact_solimp[k, i] = solimp_of(m, g0, g1, pair, i)
        for i in range(3):
            d.contact_surfacevel[k, i] = 0.0
        if m.flg_surfacevel:
            set_surface_velocity(m, d, k)
