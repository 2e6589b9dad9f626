"""How far a mechanism is from its target one step ahead, and the force of the controller that answers it.

    error = target - (qpos + h qvel)      on the manifold of configurations
    Q     = kp error - kd qvel

Hinges and slides subtract. A ball joint turns from its predicted to its wanted orientation by a rotation vector in its child's
axes, the shortest way round; a free joint moves in world axes and turns like a ball joint.
Reference: Tan, Liu, Turk 2011. Reads: qpos, qvel; kp, kd, target, h. Writes: error, force (Q), diagonal. Scratch: predicted.
"""

from ..dynamics.configuration import PI, move_position, position_difference
from ..kernel import kernel
from ..kernel.ops import absolute, happens, maximum, not_, where, zero
from ..math.constants import coarse
from ..math.quaternion import normalize4
from ..math.vec3 import dot
from ..types import JointType

HALF_TURN = PI * PI  # squared angle [rad^2]
SHORT = 1e-14  # share of it by which a turn that counts as half a turn may fall short: that is rounding
ROUNDING = 1e-12  # component of a rotation vector [rad] that counts as zero
ROUNDINGS = 64.0  # of single precision, in either
INFINITE = float("inf")
HUGE = 1e20


@kernel
def rounding(double, x):
    """What counts as rounding where a rotation vector was made of products of quaternions, in the precision of x."""
    return maximum(double, ROUNDINGS * coarse(x))


@kernel
def points_down(r):
    """Whether the first component of a vector that is not zero is negative."""
    x, y, z = r
    tiny = rounding(ROUNDING, x)
    return (x < -tiny) | ((absolute(x) <= tiny) & ((y < -tiny) | ((absolute(y) <= tiny) & (z < 0.0))))


@kernel
def settle_half_turn(error, v):
    """Half a turn goes either way round: always the same one, whatever the signs of the quaternions were."""
    r = error[v], error[v + 1], error[v + 2]
    square = dot(r, r)
    other = (square >= HALF_TURN * (1.0 - rounding(SHORT, square))) & points_down(r)
    for k in range(3):
        error[v + k] = where(other, -r[k], r[k])


@kernel
def normalize_quat(qpos, k):
    """Give the quaternion at qpos[k] length one."""
    q = normalize4((qpos[k], qpos[k + 1], qpos[k + 2], qpos[k + 3]))
    for i in range(4):
        qpos[k + i] = q[i]


@kernel
def is_doubtful(m, a):
    """Whether the target has entries that are not finite, or quaternions that are zero or cannot be squared, in some world."""
    doubtful = False
    for k in range(m.nq):
        doubtful = doubtful | not_(absolute(a.target[k]) < INFINITE)
    for j in range(m.njnt):
        if m.jnt_type[j] == JointType.FREE or m.jnt_type[j] == JointType.BALL:
            k = m.jnt_qposadr[j] + (3 if m.jnt_type[j] == JointType.FREE else 0)
            square = zero(a.h[0])
            for i in range(k, k + 4):
                square += a.target[i] * a.target[i]
            doubtful = doubtful | (square < 1.0 / HUGE) | (square > HUGE)
    return happens(doubtful)


@kernel
def predicted_error(m, d, a):
    """From the configuration that a step at the present velocity leads to, to the target: error."""
    for k in range(m.nq):
        a.predicted[k] = d.qpos[k]
    move_position(m, a.predicted, d.qvel, a.h[0])
    for j in range(m.njnt):
        if m.jnt_type[j] == JointType.FREE:
            normalize_quat(a.target, m.jnt_qposadr[j] + 3)
        elif m.jnt_type[j] == JointType.BALL:
            normalize_quat(a.target, m.jnt_qposadr[j])
    position_difference(m, a.predicted, a.target, a.error)
    for j in range(m.njnt):
        if m.jnt_type[j] == JointType.FREE:
            settle_half_turn(a.error, m.jnt_dofadr[j] + 3)
        elif m.jnt_type[j] == JointType.BALL:
            settle_half_turn(a.error, m.jnt_dofadr[j])


@kernel
def controller_force(m, d, a):
    """Q, and the diagonal by which its change over the step adds to M: h kd, when implicit h (kd + h kp)."""
    if a.model_step != 0:
        a.h[0] = m.opt_timestep
    h = a.h[0]
    predicted_error(m, d, a)
    for i in range(m.nv):
        a.force[i] = a.kp[i] * a.error[i] - a.kd[i] * d.qvel[i]
        a.diagonal[i] = h * (a.kd[i] + h * a.kp[i]) if a.implicit != 0 else h * a.kd[i]
