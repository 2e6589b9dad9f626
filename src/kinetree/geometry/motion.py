"""How far geoms move within the next step, and bounds of where they are meanwhile: for speculative contacts.

MuJoCo: mjc_geomStepMotion, and what EnableBit.SPECULATIVE adds to mj_filterSphere and to the boxes of mj_broadphase. A motion
is what a velocity comes to in one time step, with accelerations left out: [turn; displacement], in radians and metres. Bodies
are asked before com_vel runs, so their motions are added up here, dof after dof. Of two geoms one is fast if it travels
farther than half the thickness of the thinner one: only then can it jump over the other.
Reads: xpos, cdof, qvel, geom_xpos. Writes: body_motion, foreseen.
"""

from ..dynamics.sleep_state import BODIES, BODIES_END
from ..dynamics.velocity import lever
from ..kernel import kernel
from ..kernel.ops import any_, maximum, minimum, where, zero
from ..math.constants import MIN_VALUE
from ..math.spatial import add_scaled6, angular, get6, linear, set6, shift_motion
from ..math.vec3 import add_scaled, dot, get3, norm, sub, where3
from ..types import DisableBit, EnableBit, GeomType
from .filter import asleep, can_move
from .plane import z_axis

EVERYWHERE = 1e10  # beyond all geoms


@kernel
def is_wanted(m):
    """Whether there can be speculative contacts."""
    return m.opt_enableflags & EnableBit.SPECULATIVE != 0 and m.opt_disableflags & DisableBit.NATIVECCD == 0


@kernel
def foresees(d):
    """Whether some geom may be fast."""
    return d.foreseen[0] != 0


@kernel
def is_swept(m, g):
    """Whether a geom is of a shape that can be fast: all but planes, height fields and signed distance fields."""
    return m.geom_type[g] >= GeomType.SPHERE and m.geom_type[g] <= GeomType.MESH


@kernel
def thinnest(m, d):
    """Half the least extent of all geoms of the model that can be fast."""
    least = zero(d.xpos[0, 0]) + EVERYWHERE
    for g in range(m.ngeom):
        if is_swept(m, g):
            least = minimum(least, half_thickness(m, g))
    return least


@kernel
def may_be_fast(m, d, b, motion, thickness):
    """Where a geom of a body may be faster than half of some thickness: a bound that costs little."""
    turn, displacement = angular(motion), linear(motion)
    turned, moved, least = dot(turn, turn), dot(displacement, displacement), thickness * thickness
    fast = moved < 0.0
    for g in range(m.body_geomadr[b], m.body_geomadr[b] + m.body_geomnum[b]):
        arm = sub(get3(d.geom_xpos, g), get3(d.xpos, b))
        fast = fast | (3.0 * (moved + turned * (dot(arm, arm) + m.geom_rbound[g] * m.geom_rbound[g])) >= least)
    return fast


@kernel
def look_ahead(m, d):
    """Fill in body_motion, at xpos, of all bodies that can move and are awake, and whether any geom may be fast.

    Where none is, as in most steps, nothing else is done about speculative contacts.
    """
    least = thinnest(m, d)
    for run in range(d.nawake_run[0]):
        for b in range(maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]):
            if can_move(m, b):
                parent, none = m.body_parentid[b], zero(d.xpos[b, 0])
                motion = (none, none, none, none, none, none)
                if can_move(m, parent):
                    motion = shift_motion(get6(d.body_motion, parent), lever(m, d, b))
                for i in range(m.body_dofadr[b], m.body_dofadr[b] + m.body_dofnum[b]):
                    motion = add_scaled6(motion, get6(d.cdof, i), m.opt_timestep * d.qvel[i])
                set6(d.body_motion, b, motion)
                if d.foreseen[0] == 0 and any_(may_be_fast(m, d, b, motion, least)):
                    d.foreseen[0] = 1


@kernel
def motion_at(m, d, b, point):
    """Motion of a point of a body."""
    none = zero(d.xpos[b, 0])
    motion = (none, none, none, none, none, none)
    if can_move(m, b) and not asleep(m, d, b):
        motion = shift_motion(get6(d.body_motion, b), sub(point, get3(d.xpos, b)))
    return motion


@kernel
def motion_of(m, d, g):
    """Turn and displacement of a geom; a ball need not be turned."""
    motion = motion_at(m, d, m.geom_bodyid[g], get3(d.geom_xpos, g))
    none = zero(motion[0])
    turn = (none, none, none) if m.geom_type[g] == GeomType.SPHERE else angular(motion)
    return turn, linear(motion)


@kernel
def travel(m, g, turn, displacement):
    """The farthest that a point of the geom's surface can get."""
    return norm(displacement) + norm(turn) * m.geom_rbound[g]


@kernel
def half_thickness(m, g):
    """Half the least extent of a geom along its own axes."""
    return minimum(m.geom_aabb[g, 3], minimum(m.geom_aabb[g, 4], m.geom_aabb[g, 5]))


@kernel
def thinner(m, g0, g1):
    """Half the thickness of the thinner of two geoms, the first of which may be a plane."""
    if m.geom_type[g0] == GeomType.PLANE:
        return half_thickness(m, g1)
    return minimum(half_thickness(m, g0), half_thickness(m, g1))


@kernel
def fast_part(m, d, g, least):
    """Where a geom travels at least that far, and its displacement, zero where it does not."""
    none = zero(d.geom_xpos[g, 0])
    fast, displacement = none > 1.0, (none, none, none)
    if is_swept(m, g) and can_move(m, m.geom_bodyid[g]):
        turn, way = motion_of(m, d, g)
        fast = travel(m, g, turn, way) >= least
        displacement = where3(fast, way, displacement)
    return fast, displacement


@kernel
def is_fast(m, d, g0, g1):
    """Where one of two geoms is fast."""
    least = maximum(thinner(m, g0, g1), MIN_VALUE)
    first, _ = fast_part(m, d, g0, least)
    second, _ = fast_part(m, d, g1, least)
    return first | second


@kernel
def some_geom_is_fast(m, d, a, b):
    """Where some geom of two bodies travels farther than half the thickness of the thinnest of them all."""
    least = zero(d.xpos[0, 0]) + EVERYWHERE
    fast = least < 0.0
    for search in range(2):  # for the thinnest, then for one that is fast
        for side in range(2):
            body = a if side == 0 else b
            for g in range(m.body_geomadr[body], m.body_geomadr[body] + m.body_geomnum[body]):
                if is_swept(m, g) and search == 0:
                    least = minimum(least, maximum(half_thickness(m, g), MIN_VALUE))
                elif search == 1:
                    mine, _ = fast_part(m, d, g, least)
                    fast = fast | mine
    return fast


@kernel
def balls_meet_on_the_way(m, d, g0, g1, reach):
    """Where the balls around two geoms come within reach during the step; g0 may be a plane. Only what is fast moves."""
    least = thinner(m, g0, g1)
    _, way0 = fast_part(m, d, g0, least)
    _, way1 = fast_part(m, d, g1, least)
    between, way = sub(get3(d.geom_xpos, g1), get3(d.geom_xpos, g0)), sub(way1, way0)
    if m.geom_type[g0] == GeomType.PLANE:
        normal = z_axis(d, g0)
        height = dot(between, normal)
        return minimum(height, height + dot(normal, way)) <= reach + m.geom_rbound[g1]
    square = dot(way, way)
    moves = square > MIN_VALUE
    share = where(moves, -dot(between, way) / where(moves, square, 1.0), 0.0)
    nearest = add_scaled(between, way, minimum(1.0, maximum(0.0, share)))
    limit = m.geom_rbound[g0] + m.geom_rbound[g1] + reach
    return dot(nearest, nearest) <= limit * limit


@kernel
def box_on_the_way(m, d, b, centre, radius, box):
    """A box around something of a body, made so large that it holds it during the whole step.

    centre, radius [m]: of a ball around it, for what the body turns.
    """
    if not can_move(m, b) or asleep(m, d, b):
        return box
    motion = motion_at(m, d, b, centre)
    turned, way = norm(angular(motion)) * radius, linear(motion)
    return (
        box[0] + minimum(way[0], 0.0) - turned, box[1] + minimum(way[1], 0.0) - turned,
        box[2] + minimum(way[2], 0.0) - turned, box[3] + maximum(way[0], 0.0) + turned,
        box[4] + maximum(way[1], 0.0) + turned, box[5] + maximum(way[2], 0.0) + turned,
    )  # fmt: skip
