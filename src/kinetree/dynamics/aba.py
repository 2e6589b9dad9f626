"""Forward dynamics in linear time: the articulated-body algorithm.

Reference: Featherstone 2008, ch. 7. MuJoCo has no such function; it solves M qacc = force instead.
Reads: xpos, cdof, cdof_dot, cvel, cinert, qvel; aba_force, aba_diagonal. Writes: aba_qacc.
Scratch: body_acc, body_frc, body_shared, aba_inertia, aba_gain, aba_own.

The recursion starts from the forces that bodies need when qacc is zero, the same as in `rne`. Velocities and gravity enter
there alone; what follows is the response to qacc. The dofs of a body are eliminated one after another, all at its xpos.
`aba_diagonal` is added to the diagonal of M wherever M enters, which makes this the recursion of stable PD (Yin and Yin 2020).
"""

from ..errors import UnsupportedFeatureError
from ..kernel import kernel, stage
from ..math.articulated import (
    add21,
    add_rigid,
    get21,
    mul_articulated,
    no_inertia,
    set21,
    shift_articulated,
    subtract_outer,
)
from ..math.spatial import add6, add_scaled6, dot6, get6, get10, scale6, set6, shift_force, shift_motion
from ..math.vec3 import get3, sub
from .armature import joint_armature, tendon_armature
from .rne import outward, set_world_acceleration
from .velocity import lever


@kernel
def eliminate_dof(m, d, v, inertia, force):
    """Let a dof give way: the inertia and force that are left for what comes before it.

    Its acceleration will be `aba_own - aba_gain . a` once the acceleration a before it is known.
    """
    axis = get6(d.cdof, v)
    column = mul_articulated(inertia, axis)
    armature = m.dof_armature[v] + joint_armature(m, m.dof_jntid[v])
    inverse = 1.0 / (dot6(axis, column) + (armature + d.aba_diagonal[v]))
    gain = scale6(column, inverse)
    own = (d.aba_force[v] - dot6(axis, force)) * inverse
    set6(d.aba_gain, v, gain)
    d.aba_own[v] = own
    return subtract_outer(inertia, column, gain), add_scaled6(force, column, own)


@kernel
def put_down(d, p, inertia, force):
    """Leave a child's share in its parent's row."""
    if d.body_shared[p] != 0:
        inertia = add21(inertia, get21(d.aba_inertia, p))
    set21(d.aba_inertia, p, inertia)
    set6(d.body_frc, p, add6(get6(d.body_frc, p), force))
    d.body_shared[p] = 1


@kernel
def eliminate(m, d):
    """From the leaves to the roots: articulated inertias and forces, and of each dof what its acceleration depends on.

    A body's first child has the next number, so its share stays at hand. Later children put theirs down in the parent's row.
    """
    for b in range(m.nbody):
        d.body_shared[b] = 0
    none = no_inertia(d.time[0])
    nothing = none[0], none[0], none[0], none[0], none[0], none[0]
    inertia, force = none, nothing
    for b in range(m.nbody - 1, 0, -1):
        inertia = add_rigid(inertia, get10(d.cinert, b))
        force = add6(force, get6(d.body_frc, b))
        if d.body_shared[b] != 0:
            inertia = add21(inertia, get21(d.aba_inertia, b))
        first = m.body_dofadr[b]
        for v in range(first + m.body_dofnum[b] - 1, first - 1, -1):
            inertia, force = eliminate_dof(m, d, v, inertia, force)
        p = m.body_parentid[b]
        to_parent = sub(get3(d.xpos, p), get3(d.xpos, b))
        inertia, force = shift_articulated(inertia, to_parent), shift_force(force, to_parent)
        if p != b - 1:
            if p > 0:
                put_down(d, p, inertia, force)
            inertia, force = none, nothing


@kernel
def respond(m, d):
    """From the roots to the leaves: qacc, and what it adds to the accelerations of bodies."""
    set6(d.body_acc, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for b in range(1, m.nbody):
        acceleration = shift_motion(get6(d.body_acc, m.body_parentid[b]), lever(m, d, b))
        first = m.body_dofadr[b]
        for v in range(first, first + m.body_dofnum[b]):
            qacc = d.aba_own[v] - dot6(get6(d.aba_gain, v), acceleration)
            acceleration = add_scaled6(acceleration, get6(d.cdof, v), qacc)
            d.aba_qacc[v] = qacc
        set6(d.body_acc, b, acceleration)


@stage
def aba(m, d):
    """The acceleration aba_qacc under the force aba_force, in time linear in the number of bodies: M is never formed.

    Solves (M + diag(aba_diagonal)) aba_qacc = aba_force - bias, for which MuJoCo factors M.
    """
    set_world_acceleration(m, d.body_acc)
    outward(m, d, d.body_acc, d.body_frc, 0, m.nbody, False)
    eliminate(m, d)
    respond(m, d)


def check_aba(model, algorithm="aba"):
    """Refuse a model with tendon armature, naming the tendons: it couples joints, which no recursion along the tree sees."""
    heavy = [t for t in range(model.ntendon) if tendon_armature(model, t) != 0.0]
    if heavy:
        names = [repr(model.name("tendon", t)) if model.name("tendon", t) else str(t) for t in heavy]
        raise UnsupportedFeatureError(
            [f"armature (tendon {name})" for name in names], f"{algorithm} of {model.title!r}"
        )
