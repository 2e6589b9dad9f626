"""Velocities of bodies and the rates of their motion axes.

MuJoCo: mj_comVel, which takes cvel and cdof_dot at the tree's centre of mass; here they are taken at xpos of the body.
Reference: Featherstone 2008, sec. 5.3.
Reads: xpos, cdof, qvel. Writes: cvel [rad/s; m/s], cdof_dot (world axes, [angular; linear]).
"""

from ..kernel import kernel, stage
from ..kernel.ops import maximum
from ..math.spatial import add_scaled6, cross_motion, get6, set6, shift_motion
from ..math.vec3 import get3, sub
from ..types import JointType
from .sleep_state import BODIES, BODIES_END, DOFS, DOFS_END


@kernel
def lever(m, d, b):
    """From the parent's origin to the body's origin."""
    return sub(get3(d.xpos, b), get3(d.xpos, m.body_parentid[b]))


@kernel
def turn_three(d, v, velocity):
    """Three axes that turn together (ball): all their rates come from the velocity before the joint."""
    s0, s1, s2 = get6(d.cdof, v), get6(d.cdof, v + 1), get6(d.cdof, v + 2)
    set6(d.cdof_dot, v, cross_motion(velocity, s0))
    set6(d.cdof_dot, v + 1, cross_motion(velocity, s1))
    set6(d.cdof_dot, v + 2, cross_motion(velocity, s2))
    velocity = add_scaled6(velocity, s0, d.qvel[v])
    velocity = add_scaled6(velocity, s1, d.qvel[v + 1])
    return add_scaled6(velocity, s2, d.qvel[v + 2])


@kernel
def translate_three(d, v, velocity):
    """The three world axes of a free joint: they do not turn."""
    still = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(3):
        set6(d.cdof_dot, v + k, still)
    return (
        velocity[0], velocity[1], velocity[2], velocity[3] + d.qvel[v], velocity[4] + d.qvel[v + 1],
        velocity[5] + d.qvel[v + 2],
    )  # fmt: skip


@kernel
def move_run(m, d, run):
    """Velocities of a run of bodies."""
    for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
        d.qvel_seen[i] = d.qvel[i]
    for b in range(maximum(d.awake_run[run, BODIES], 1), d.awake_run[run, BODIES_END]):
        velocity = shift_motion(get6(d.cvel, m.body_parentid[b]), lever(m, d, b))
        first = m.body_jntadr[b]
        for j in range(first, first + m.body_jntnum[b]):
            v = m.jnt_dofadr[j]
            kind = m.jnt_type[j]
            if kind == JointType.FREE:
                velocity = translate_three(d, v, velocity)
                velocity = turn_three(d, v + 3, velocity)
            elif kind == JointType.BALL:
                velocity = turn_three(d, v, velocity)
            else:
                axis = get6(d.cdof, v)
                set6(d.cdof_dot, v, cross_motion(velocity, axis))
                velocity = add_scaled6(velocity, axis, d.qvel[v])
        set6(d.cvel, b, velocity)


@stage
def com_vel(m, d):
    """Velocities of bodies at xpos and rates of the motion axes. MuJoCo's mj_comVel."""
    set6(d.cvel, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for run in range(d.nawake_run[0]):
        move_run(m, d, run)
