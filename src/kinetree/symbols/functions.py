"""The functions of a model: what each one reads, which stages it needs, and where its result is found.

Every function is a few lines: run stages on symbols, then collect what they wrote. No dynamics is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import casadi
import numpy as np

from .. import pipeline
from ..control.error import controller_force
from ..control.forward import model_damping
from ..control.solvers import SPARSE, solve_sparse
from ..dynamics.applied import add_applied_wrenches
from ..dynamics.armature import joint_armature
from ..dynamics.configuration import move_position, position_difference
from ..dynamics.factor import multiply
from ..dynamics.inertia import full_rows
from ..dynamics.jacobian import _jac
from ..kernel.stage import plain
from ..types import DisableBit, Integrator
from .trace import BIAS, INERTIA, PASSIVE, POSITION, VELOCITY, Trace, by_rows, column, matrix, put_inertia

# What functions read, besides parameters: the size of each, and the field of Data that it is.
READ = {
    "q": ("nq", "qpos"), "v": ("nv", "qvel"), "a": ("nv", "qacc"), "act": ("na", "act"), "ctrl": ("nu", "ctrl"),
    "tau": ("nv", "qfrc_applied"), "target": ("nq", None), "kp": ("nv", None), "kd": ("nv", None),
    "dt": (1, None), "q1": ("nq", None), "q2": ("nq", None),
}  # fmt: skip

Symbols = Mapping[str, Any]
Results = tuple[Any, ...]


@dataclass(frozen=True)
class Spec:
    """A function: names of inputs and outputs, and how its results are traced. `moves`: the trace ends in another state."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    build: Callable[[Trace, Symbols], Results]
    moves: bool = False


def no_defaults(names: Sequence[str]) -> dict[str, Any]:
    """The option by which inputs left out in a call by name are not a number; CasADi would take zeros."""
    return {"default_in": [float("nan")] * len(names)}


def vector(size: int) -> np.ndarray:
    """Zeros that symbols can be added to."""
    return np.full(size, 0.0, object)


def mass_matrix(t: Trace, x: Symbols) -> Results:
    """M, dense."""
    t.run(INERTIA)
    return (matrix(full_rows(t.m, t.d.M)),)


def bias(t: Trace, x: Symbols) -> Results:
    """Coriolis, centrifugal and gravity forces."""
    return (t.run(BIAS).vector("qfrc_bias"),)


def passive(t: Trace, x: Symbols) -> Results:
    """Springs, dampers, medium and gravity compensation."""
    return (t.run(PASSIVE).vector("qfrc_passive"),)


def outside_forces(t: Trace) -> np.ndarray:
    """Passive forces and wrenches on bodies: what acts besides joint forces."""
    t.run(PASSIVE)
    out = t.d.qfrc_passive.copy()
    add_applied_wrenches(t.m, t.d, out)
    return out


def inverse_dynamics(t: Trace, x: Symbols) -> Results:
    """Joint forces that give an acceleration: by recursion, or with M where tendons have armature."""
    m, d = t.m, t.d
    if t.coupled:
        t.run((*BIAS, *INERTIA))
        forces = vector(m.nv)
        multiply(m, d.M, d.qacc, forces)
        forces = forces + d.qfrc_bias
    else:
        t.run((*VELOCITY, pipeline.rne_inverse))
        armature = vector(m.nv)
        armature[:] = [m.dof_armature[i] + joint_armature(m, m.dof_jntid[i]) for i in range(m.nv)]
        forces = d.qfrc_inverse + armature * d.qacc
    return (column(forces - outside_forces(t)),)


def accelerations(t: Trace, force: np.ndarray, diagonal: np.ndarray, a: SimpleNamespace) -> np.ndarray:
    """The solution of (M + diagonal) qacc = force - bias: by ABA, or with a factor where tendons have armature.

    a.coupled: h D is to be added beside the diagonal, for which a factor is needed too.
    """
    factored = t.coupled or a.coupled
    t.run((*BIAS, *INERTIA) if factored else VELOCITY)
    t.d.aba_force[:], t.d.aba_diagonal[:] = force, diagonal
    if factored:
        solve_sparse(t.m, t.d, a)
    else:
        pipeline.aba(t.m, t.d)
    return t.d.aba_qacc.copy()


def forward_dynamics(t: Trace, x: Symbols) -> Results:
    """The acceleration under joint forces."""
    undamped = SimpleNamespace(coupled=0)
    return (column(accelerations(t, by_rows(x["tau"]) + outside_forces(t), vector(t.m.nv), undamped)),)


def energy(t: Trace, x: Symbols) -> Results:
    """Potential and kinetic energy."""
    t.run((*INERTIA, pipeline.energy_pos, pipeline.energy_vel))
    return t.d.energy[0], t.d.energy[1]


def stable_pd(implicit: bool) -> Callable[[Trace, Symbols], Results]:
    """The torque of stable PD control without limits, and the acceleration under it. See `kt.StablePD`."""

    def build(t: Trace, x: Symbols) -> Results:
        m = t.m
        a = SimpleNamespace(
            kp=by_rows(x["kp"]), kd=by_rows(x["kd"]), target=by_rows(x["target"]), h=vector(1), error=vector(m.nv),
            force=vector(m.nv), diagonal=vector(m.nv), damping=vector(m.nv), predicted=vector(m.nq), model_step=1,
            implicit=int(implicit), solver=SPARSE,
        )  # fmt: skip
        controller_force(m, t.d, a)
        forces = a.force + outside_forces(t)
        flags = m.opt_disableflags
        m.opt_disableflags |= int(DisableBit.ACTUATION)  # actuators rest, here alone
        try:
            model_damping(m, t.d, a)
        finally:
            m.opt_disableflags = flags
        acceleration = accelerations(t, forces, a.diagonal + a.damping, a)
        return column(a.force - a.diagonal * acceleration), column(acceleration)

    return build


def step(integrator: Integrator | None, outputs: tuple[str, ...]) -> Callable[[Trace, Symbols], Results]:
    """The state after one time step, by the kernels of `kt.step`; None is the integrator of the model."""

    def build(t: Trace, x: Symbols) -> Results:
        if integrator is not None:
            t.m.opt_integrator = int(integrator)
        if "tau" in x:
            t.m.opt_disableflags |= int(DisableBit.ACTUATION)
        t.m.nsensor = 0  # they change nothing, and those of distances would ask for room, in want of which RK4 gives up
        t.run((pipeline.forward_without_sensors, pipeline.integrate))
        return tuple(t.vector(name) for name in outputs)

    return build


def actuation(t: Trace, x: Symbols) -> Results:
    """Joint forces of the actuators, and how their activations change."""
    t.run((*PASSIVE, pipeline.fwd_actuation))
    return t.vector("qfrc_actuator"), t.vector("act_dot")


def integrate_pos(t: Trace, x: Symbols) -> Results:
    """The configuration reached along a velocity in a time."""
    qpos = by_rows(x["q"]).copy()
    move_position(t.m, qpos, by_rows(x["v"]), x["dt"])
    return (column(qpos),)


def differentiate_pos(t: Trace, x: Symbols) -> Results:
    """The velocity that leads from one configuration to another in a time."""
    out = vector(t.m.nv)
    position_difference(t.m, by_rows(x["q1"]), by_rows(x["q2"]), out)
    return (column(out) / x["dt"],)


def regressor(t: Trace, x: Symbols) -> Results:
    """Y with Y theta = rne: inverse dynamics is linear in ten numbers per body, so Y is its derivative by them."""
    t.run(VELOCITY)
    theta = casadi.SX.sym("theta", 10 * (t.m.nbody - 1))
    for b in range(1, t.m.nbody):
        put_inertia(t.d, b, (theta[10 * (b - 1) + k] for k in range(10)))
    t.run((pipeline.rne_inverse,))
    return (casadi.jacobian(t.vector("qfrc_inverse"), theta),)


def transition(step: Any, integrate: Any, difference: Any) -> Any:
    """Derivatives of a controlled step by state and controls, each moved in the tangent space."""
    inputs = [casadi.MX.sym(name, step.sparsity_in(i)) for i, name in enumerate(step.name_in())]
    q, v, act, ctrl, *parameters = inputs
    nv, na = v.shape[0], act.shape[0]
    d = casadi.MX.sym("d", 2 * nv + na + ctrl.shape[0])
    dq, dv, dact, dctrl = casadi.vertsplit(d, [0, nv, 2 * nv, 2 * nv + na, d.shape[0]])
    here = step(*inputs)
    near = step(integrate(q, dq, 1, *parameters), v + dv, act + dact, ctrl + dctrl, *parameters)
    change = casadi.vertcat(difference(1, here[0], near[0], *parameters), near[1] - here[1], near[2] - here[2])
    slopes = casadi.graph_substitute(casadi.jacobian(change, d), [d], [casadi.MX.zeros(d.shape)])
    A, B = casadi.horzsplit(slopes, [0, 2 * nv + na, d.shape[0]])
    names = step.name_in()
    return casadi.Function("transition", inputs, [A, B], names, ["A", "B"], no_defaults(names))


STATE, DRIVEN = ("q", "v", "tau"), ("q", "v", "act", "ctrl")
NEXT = ("q_next", "v_next")
FUNCTIONS = {
    "mass_matrix": Spec(("q",), ("M",), mass_matrix),
    "bias": Spec(("q", "v"), ("qfrc_bias",), bias),
    "passive": Spec(("q", "v"), ("qfrc_passive",), passive),
    "inverse_dynamics": Spec(("q", "v", "a"), ("tau",), inverse_dynamics),
    "forward_dynamics": Spec(STATE, ("a",), forward_dynamics),
    "energy": Spec(("q", "v"), ("potential", "kinetic"), energy),
    "stable_pd_torque": Spec(("q", "v", "target", "kp", "kd"), ("tau", "a"), stable_pd(False)),
    "implicit_pd_torque": Spec(("q", "v", "target", "kp", "kd"), ("tau", "a"), stable_pd(True)),
    "step": Spec(STATE, NEXT, step(None, ("qpos", "qvel")), moves=True),
    "euler": Spec(STATE, NEXT, step(Integrator.EULER, ("qpos", "qvel")), moves=True),
    "rk4": Spec(STATE, NEXT, step(Integrator.RK4, ("qpos", "qvel")), moves=True),
    "actuation": Spec(DRIVEN, ("tau", "act_dot"), actuation),
    "controlled_step": Spec(DRIVEN, (*NEXT, "act_next"), step(None, ("qpos", "qvel", "act")), moves=True),
    "integrate_pos": Spec(("q", "v", "dt"), ("q_next",), integrate_pos),
    "differentiate_pos": Spec(("dt", "q1", "q2"), ("v",), differentiate_pos),
    "regressor": Spec(("q", "v", "a"), ("Y",), regressor, moves=True),
}

FRAMES = {"body": "", "site": "site_", "geom": "geom_"}  # what has a frame, and how its fields begin


def frame(kind: str, i: int) -> Spec:
    """Position, quaternion and rotation matrix of a body, site or geom."""

    def build(t: Trace, x: Symbols) -> Results:
        t.run((pipeline.kinematics,))
        pos, quat, mat = (getattr(t.d, f"{FRAMES[kind]}x{what}")[i] for what in ("pos", "quat", "mat"))
        return column(pos), column(quat), matrix(mat.reshape(3, 3))

    return Spec(("q",), ("xpos", "xquat", "xmat"), build)


def frame_jacobian(kind: str, i: int) -> Spec:
    """Jacobians of the origin of a body, site or geom."""

    def build(t: Trace, x: Symbols) -> Results:
        t.run(POSITION)
        a = SimpleNamespace(
            point=getattr(t.d, f"{FRAMES[kind]}xpos")[i],
            body=i if kind == "body" else int(getattr(t.m, f"{kind}_bodyid")[i]),
            jacp=vector(3 * t.m.nv).reshape(3, -1),
            jacr=vector(3 * t.m.nv).reshape(3, -1),
        )
        plain(_jac)(t.m, t.d, a)
        return matrix(a.jacp), matrix(a.jacr)

    return Spec(("q",), ("jacp", "jacr"), build)


def subtree(b: int) -> Spec:
    """Mass, centre of mass and its velocity, and angular momentum about it, of a subtree."""

    def build(t: Trace, x: Symbols) -> Results:
        d = t.run((*VELOCITY, pipeline.subtree_vel)).d
        return d.subtree_mass[b], column(d.subtree_com[b]), column(d.subtree_linvel[b]), column(d.subtree_angmom[b])

    return Spec(("q", "v"), ("subtree_mass", "subtree_com", "subtree_linvel", "subtree_angmom"), build)
