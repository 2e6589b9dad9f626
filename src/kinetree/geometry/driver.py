"""Collision detection: from poses of geoms to contacts.

MuJoCo: mj_collision. `PAIRS` has a kernel for every pair of shapes that MuJoCo treats in closed form, `convex` for other
pairs of convex shapes, and `terrain` for height fields. Models with signed distance fields are refused when they are loaded.
Reads: geom_xpos, geom_xmat. Writes: ncon and all of contact_* but mu, H and efc_address.
"""

from ..capacity import MAXCON
from ..kernel import kernel, stage
from ..kernel.dispatch import dispatch
from ..kernel.ops import any_, minimum
from ..needs import shapes
from ..types import DisableBit, EnableBit, GeomType, SleepState
from .bounds import may_come_near, oriented_boxes_meet
from .box_box import box_box
from .broadphase import candidate_bodies, find_candidates
from .capsule_box import capsule_box
from .contact_list import forget_rows
from .convex import REACH, convex
from .filter import bodies_of, by_type, listed
from .hfield import terrain
from .motion import foresees, is_wanted, look_ahead
from .parameters import NO_PAIR, reach_of, set_parameters
from .plane import plane_box, plane_capsule, plane_cylinder, plane_ellipsoid, plane_sphere
from .plane_mesh import plane_mesh
from .round import capsule_capsule, sphere_capsule, sphere_cylinder, sphere_sphere
from .speculative import foresee
from .sphere_box import sphere_box


@stage(when=shapes(GeomType.CAPSULE, GeomType.BOX), part_of="collision")
def capsule_with_box(m, d):
    """Contacts of the pair in narrow_geom. Part of MuJoCo's mj_collision.

    A stage, as that of two boxes is: only models in which such geoms meet pay for compiling it.
    """
    capsule_box(m, d, d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH])


@stage(when=shapes(GeomType.BOX, GeomType.BOX), part_of="collision")
def box_with_box(m, d):
    """Contacts of the pair in narrow_geom. Part of MuJoCo's mj_collision."""
    box_box(m, d, d.narrow_geom[0], d.narrow_geom[1], d.narrow_work[REACH])


@kernel
def name_pair(d, g0, g1, reach):
    """Say which pair a stage is to treat."""
    d.narrow_geom[0] = g0
    d.narrow_geom[1] = g1
    d.narrow_work[REACH] = reach


@kernel
def staged_capsule_box(m, d, g0, g1, reach):
    """`capsule_box` by its stage."""
    name_pair(d, g0, g1, reach)
    capsule_with_box(m, d)


@kernel
def staged_box_box(m, d, g0, g1, reach):
    """`box_box` by its stage."""
    name_pair(d, g0, g1, reach)
    box_with_box(m, d)


PAIRS = {
    (GeomType.PLANE, GeomType.SPHERE): plane_sphere,
    (GeomType.PLANE, GeomType.CAPSULE): plane_capsule,
    (GeomType.PLANE, GeomType.ELLIPSOID): plane_ellipsoid,
    (GeomType.PLANE, GeomType.CYLINDER): plane_cylinder,
    (GeomType.PLANE, GeomType.BOX): plane_box,
    (GeomType.PLANE, GeomType.MESH): plane_mesh,
    (GeomType.SPHERE, GeomType.SPHERE): sphere_sphere,
    (GeomType.SPHERE, GeomType.CAPSULE): sphere_capsule,
    (GeomType.SPHERE, GeomType.CYLINDER): sphere_cylinder,
    (GeomType.SPHERE, GeomType.BOX): sphere_box,
    (GeomType.CAPSULE, GeomType.CAPSULE): capsule_capsule,
    (GeomType.CAPSULE, GeomType.BOX): staged_capsule_box,
    (GeomType.BOX, GeomType.BOX): staged_box_box,
}
CONVEX = (
    GeomType.SPHERE, GeomType.CAPSULE, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.BOX, GeomType.MESH
)  # fmt: skip
PAIRS.update({(GeomType.HFIELD, shape): terrain for shape in CONVEX})
PAIRS.update({(a, b): convex for a in CONVEX for b in CONVEX if a <= b and (a, b) not in PAIRS})
SHAPES = 16  # more shapes than there are
OFF = int(DisableBit.CONSTRAINT | DisableBit.CONTACT)


@kernel
def touch_otherwise(m, d, g0, g1, reach):
    """Geoms without a closed form: convex ones, or one of them with a height field. Planes and height fields never meet."""
    if m.geom_type[g0] > GeomType.HFIELD:
        convex(m, d, g0, g1, reach)
    elif m.geom_type[g1] > GeomType.HFIELD:
        terrain(m, d, g0, g1, reach)


CLOSED_FORMS = {SHAPES * a + b: row for (a, b), row in PAIRS.items() if row is not convex and row is not terrain}
touch = dispatch(CLOSED_FORMS, "m, d, g0, g1, reach", touch_otherwise)


@kernel
def collide(m, d, g0, g1, pair):
    """Add the contacts of two geoms, the first of which has the lower type. pair: the explicit pair, or NO_PAIR."""
    reach, kind0, kind1 = reach_of(m, g0, g1, pair), m.geom_type[g0], m.geom_type[g1]
    costly = kind0 == GeomType.CAPSULE and kind1 != GeomType.CAPSULE  # two boxes begin with this test themselves
    begin = d.ncon[0]
    if not costly or any_(oriented_boxes_meet(m, d, g0, g1, reach)):
        touch(SHAPES * kind0 + kind1, m, d, g0, g1, reach)
    ahead = foresee(m, d, g0, g1, pair, begin) if foresees(d) else d.ncon[0]
    set_parameters(m, d, g0, g1, pair, begin, ahead, minimum(d.ncon[0], d.capacity[MAXCON]))


@kernel
def can_touch(m, d, g0, g1, pair, last):
    """Whether a pair goes on to the narrow phase.

    An explicit pair does unless both bodies rest or it is too far away. A candidate does unless it is itself among the explicit
    pairs: those of the same two bodies end before `last`.
    """
    if pair >= 0:
        awake = (d.body_awake[m.geom_bodyid[g0]] == SleepState.AWAKE) | (
            d.body_awake[m.geom_bodyid[g1]] == SleepState.AWAKE
        )
        if m.opt_enableflags & EnableBit.SLEEP != 0 and not any_(awake):
            return False
        return any_(may_come_near(m, d, g0, g1, reach_of(m, g0, g1, pair)))
    bodies, k = bodies_of(m, g0, g1), last - 1
    while k >= 0 and bodies_of(m, m.pair_geom1[k], m.pair_geom2[k]) == bodies:
        if listed(m, k, g0, g1):
            return False
        k -= 1
    return True


@kernel
def comes_first(m, d, pair, p):
    """Whether an explicit pair comes before candidate p: its bodies are not behind the candidate's."""
    first, second = bodies_of(m, m.pair_geom1[pair], m.pair_geom2[pair])
    a, b = candidate_bodies(m, d, p)
    return first < a or (first == a and second <= b)


@stage
def collision(m, d):
    """Find all contacts, ordered by bodies and then by geoms. MuJoCo's mj_collision.

    The world alone has none, not even those of explicit pairs.
    """
    d.ncon[0] = 0
    forget_rows(d)  # they speak of contacts that are no more
    still = m.opt_enableflags & EnableBit.SLEEP != 0 and d.nv_awake[0] == 0 and m.nmocap == 0
    if m.opt_disableflags & OFF == 0 and m.ngeom > 0 and m.nbody > 1 and not still:
        d.foreseen[0] = 0
        if is_wanted(m):
            look_ahead(m, d)
        find_candidates(m, d)
        body, p, explicit = -1, -1, 0
        while body < m.nbody or explicit < m.npair:
            while p < 0 and body < m.nbody:  # on to the next body that has candidates
                body += 1
                p = d.candidate_first[body] if body < m.nbody else -1
            if explicit < m.npair and (p < 0 or comes_first(m, d, explicit, p)):
                pair = explicit
                g0, g1 = by_type(m, m.pair_geom1[pair], m.pair_geom2[pair])
                explicit += 1
            elif p >= 0:
                pair = NO_PAIR
                g0, g1 = d.candidate_geom[p, 0], d.candidate_geom[p, 1]
                p = d.candidate_next[p]
            else:
                break
            if can_touch(m, d, g0, g1, pair, explicit):
                collide(m, d, g0, g1, pair)
    d.ncon[0] = minimum(d.ncon[0], d.capacity[MAXCON])  # what did not fit is found when this runs again, with more room
