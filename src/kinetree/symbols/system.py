"""`kt.symbolic`: the dynamics of a model as CasADi functions, with some of its fields as further inputs."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi
import numpy as np

from ..errors import UnknownNameError, UnsupportedFeatureError
from ..mass import MassProperties
from ..model import Model
from . import code, functions, sensors
from .bodies import properties_function, same
from .functions import FUNCTIONS, READ, Spec, no_defaults
from .parameters import check_model, checked_parameters, prepared, value_of
from .trace import Trace

KINDS = {"SX": casadi.SX, "MX": casadi.MX}
MATRICES = ("M", "Y", "A", "B", "jacp", "jacr", "xmat")  # outputs that are matrices in every model, also of one column
ELEMENTS = ("xpos", "xquat", "subtree_mass", "subtree_com", "subtree_linvel", "subtree_angmom", "reading")
RESULTS = {
    *MATRICES,
    *ELEMENTS,
    *(name for spec in FUNCTIONS.values() for name in spec.outputs),
}  # no input is called so


class Symbolic:
    """Smooth dynamics of a model as CasADi functions. Made by `kt.symbolic`.

    Inputs are named q, v, a, tau, act, ctrl; the parameters follow in their order, in the shape of the model's fields. A
    function is traced when it is first asked for. Constraints are left out: contacts, limits, equalities, friction losses.
    """

    def __init__(self, model: Model, parameters: str | Iterable[str] = (), kind: str = "SX"):
        if kind not in KINDS:
            raise ValueError(f"symbolic: kind must be 'SX' or 'MX', not {kind!r}")
        check_model(model)
        self.model = copy.copy(model)  # functions are traced later, and all of one model
        self.parameters, self.kind = checked_parameters(parameters), kind
        self._bodies: dict[int, Any] = {}  # id -> function of the free symbols that gives the ten numbers of a body
        self._own: dict[str, Any] = {}  # the symbols of bodies by name: two bodies may share one
        self._functions: dict[Any, Any] = {}

    # the functions of every model

    @property
    def mass_matrix(self) -> Any:
        """(q) -> M, the joint-space inertia (nv x nv), armature included."""
        return self._function("mass_matrix")

    @property
    def bias(self) -> Any:
        """(q, v) -> qfrc_bias: Coriolis, centrifugal and gravity forces."""
        return self._function("bias")

    @property
    def passive(self) -> Any:
        """(q, v) -> qfrc_passive: springs, dampers, medium and gravity compensation."""
        return self._function("passive")

    @property
    def inverse_dynamics(self) -> Any:
        """(q, v, a) -> tau = M a + bias - passive, by the recursive Newton-Euler algorithm."""
        return self._function("inverse_dynamics")

    @property
    def forward_dynamics(self) -> Any:
        """(q, v, tau) -> a, with M a = tau + passive - bias, by the articulated-body algorithm.

        Where tendons have armature, which no recursion along the tree sees, by the factor of M.
        """
        return self._function("forward_dynamics")

    @property
    def energy(self) -> Any:
        """(q, v) -> potential, kinetic [J]."""
        return self._function("energy")

    @property
    def stable_pd_torque(self) -> Any:
        """(q, v, target, kp, kd) -> tau, a: the torque of `kt.StablePD` without limits and the acceleration under it."""
        return self._function("stable_pd_torque")

    @property
    def implicit_pd_torque(self) -> Any:
        """(q, v, target, kp, kd) -> tau, a: `stable_pd_torque` in mode "implicit"."""
        return self._function("implicit_pd_torque")

    @property
    def step(self) -> Any:
        """(q, v, tau) -> q_next, v_next after one time step, by the integrator of the model; actuators are not driven."""
        return self._moved("step")

    @property
    def euler(self) -> Any:
        """(q, v, tau) -> q_next, v_next: `step` by semi-implicit Euler, whatever the integrator of the model."""
        return self._moved("euler")

    @property
    def rk4(self) -> Any:
        """(q, v, tau) -> q_next, v_next: `step` by fourth-order Runge-Kutta on the manifold of configurations."""
        return self._moved("rk4")

    @property
    def actuation(self) -> Any:
        """(q, v, act, ctrl) -> tau, act_dot: what the actuators of the model make of controls."""
        self._check_delays()
        return self._function("actuation")

    @property
    def controlled_step(self) -> Any:
        """(q, v, act, ctrl) -> q_next, v_next, act_next: `kt.step` where nothing touches and no limit is reached."""
        self._check_delays()
        return self._moved("controlled_step")

    @property
    def transition(self) -> Any:
        """(q, v, act, ctrl) -> A, B: how `controlled_step` changes with the state and with controls, in the tangent space.

        A state is (q, v, act), 2 nv + na entries of change. What MuJoCo's mjd_transitionFD takes by differences, exactly.
        """
        if "transition" not in self._functions:
            parts = self.controlled_step, self.integrate_pos, self.differentiate_pos
            self._functions["transition"] = functions.transition(*parts)
        return self._functions["transition"]

    @property
    def integrate_pos(self) -> Any:
        """(q, v, dt) -> q_next: along a velocity on the manifold of configurations."""
        return self._function("integrate_pos")

    @property
    def differentiate_pos(self) -> Any:
        """(dt, q1, q2) -> v: the velocity that leads from q1 to q2 in a time dt."""
        return self._function("differentiate_pos")

    @property
    def regressor(self) -> Any:
        """(q, v, a) -> Y (nv x 10 (nbody - 1)) with Y `inertial_parameters` = M a + bias of the tree without armature.

        Ten columns for each body but the world, see `MassProperties.inertial_parameters`.
        """
        return self._function("regressor")

    @property
    def inertial_parameters(self) -> np.ndarray:
        """The inertial parameters of the model's bodies one after the other, as `regressor` takes them."""
        if self._bodies:
            raise ValueError("inertial_parameters: some are symbols after with_body; take those of the model before, and "
                             "put properties.inertial_parameters() in the place inertial_columns(body)")  # fmt: skip
        bodies = [MassProperties.from_body(self.model, b).inertial_parameters() for b in range(1, self.model.nbody)]
        return np.concatenate(bodies) if bodies else np.zeros(0)

    def inertial_columns(self, body: str | int) -> slice:
        """Where the ten parameters of a body stand in `inertial_parameters`, and its columns in `regressor`."""
        b = self.model.id("body", body)
        if b == 0:
            raise ValueError("inertial_columns: the world has no inertial parameters")
        return slice(10 * (b - 1), 10 * b)

    # functions of one element

    def forward_kinematics(self, body: str | int | None = None, **element: str | int) -> Any:
        """(q) -> xpos [m], xquat, xmat (3 x 3) of a body, or of a `site=` or `geom=`, in world axes."""
        kind, i = self._element("forward_kinematics", body, element)
        return self._make(f"forward_kinematics_{kind}_{i}", functions.frame(kind, i))

    def jacobian(self, body: str | int | None = None, **element: str | int) -> Any:
        """(q) -> jacp, jacr (3 x nv) of the origin of a body, or of a `site=` or `geom=`, in world axes."""
        kind, i = self._element("jacobian", body, element)
        return self._make(f"jacobian_{kind}_{i}", functions.frame_jacobian(kind, i))

    def subtree(self, body: str | int = 0) -> Any:
        """(q, v) -> subtree_mass, subtree_com, subtree_linvel, subtree_angmom of a body and all that hangs on it.

        By default of everything.
        """
        b = self.model.id("body", body)
        return self._make(f"subtree_{b}", functions.subtree(b))

    def sensor(self, sensor: str | int) -> Any:
        """The reading of a sensor, a function of what its stage reads: (q), (q, v), (q, v, a) or (q, v, act, ctrl)."""
        i = self.model.id("sensor", sensor)
        spec = sensors.sensor(self.model, i)
        if "ctrl" in spec.inputs:
            self._check_delays()
        if sensors.reads_axes_of(self.model, i) & set(self._bodies):
            raise self._unsupported(f"{sensor!r} after with_body: the sensor reads the principal axes of that body")
        return self._make(f"sensor_{i}", spec)

    # parameters and bodies

    @property
    def values(self) -> tuple[Any, ...]:
        """The model's own values of the parameters, in their order: `sym.mass_matrix(q, *sym.values)`."""
        return tuple(value_of(self.model, name) for name in self.parameters)

    def with_body(self, body: str | int, properties: MassProperties, inputs: Any = None) -> Symbolic:
        """The same with other mass properties of a body, in its own frame: of CasADi symbols, or of numbers.

        The symbols become inputs after the parameters, one by one in the order of their names; `inputs` gives another order,
        and may hold vectors of them. Of parameters like body_mass the row of this body counts no longer.
        """
        b = self.model.id("body", body)
        if b == 0:
            raise ValueError("with_body: the world has no mass properties")
        if not isinstance(properties, MassProperties):
            raise TypeError(f"with_body needs a kt.MassProperties, got {type(properties).__name__}")
        if (
            self.model.opt.density
            or self.model.opt.viscosity
            or {"opt_density", "opt_viscosity"} & set(self.parameters)
        ):
            raise self._unsupported(f"with_body({body!r}) in a medium, whose forces need principal axes")
        out = Symbolic(self.model, self.parameters, self.kind)
        symbols, function = properties_function(properties, inputs)
        for name, symbol in symbols.items():
            if name in (*READ, *RESULTS, *self.parameters) or not same(self._own.get(name, symbol), symbol):
                raise ValueError(f"with_body: two inputs or outputs are called {name!r}; give the symbol another name")
        out._bodies, out._own = {**self._bodies, b: function}, {**self._own, **symbols}
        return out

    # C code

    def generate(self, function: str | Any, folder: str | Path = ".", **options: Any) -> code.CompiledFunction:
        """C code of a function, by its name or any CasADi function; compiled and loaded if there is a compiler.

        The result is called with NumPy arrays. Files go into the folder: `.source`, and `.library` or None. Options: `flags`
        and `compiler`, the command if not CC, cc, gcc or clang; `derivatives=True` for use in solvers.
        """
        if isinstance(function, str):
            known = (*FUNCTIONS, "transition")
            if function not in known:
                raise ValueError(f"generate: {function!r} is none of {', '.join(known)}")
            function = getattr(self, function)
        own = any(function is known for known in self._functions.values())
        return code.generate(function, folder, matrices=MATRICES if own else (), **options)

    # how functions are made

    @cached_property
    def _ready(self) -> Model:
        return prepared(self.model, self.parameters, self._bodies)

    @cached_property
    def _symbols(self) -> dict[str, Any]:
        """One SX symbol for each input and parameter."""
        sizes = {name: getattr(self.model, size) if isinstance(size, str) else size for name, (size, _) in READ.items()}
        shapes = {name: np.shape(value) for name, value in zip(self.parameters, self.values, strict=True)}
        shapes.update({name: (size,) for name, size in sizes.items()})
        return {name: casadi.SX.sym(name, *shape) for name, shape in shapes.items()}

    @cached_property
    def _tens(self) -> dict[int, Any]:
        """Ten SX symbols for each body that was replaced."""
        return {b: casadi.SX.sym(f"body_{b}", 10) for b in self._bodies}

    @cached_property
    def _still(self) -> Trace:
        """The trace that functions share: none of them changes the state."""
        return self._trace(name for name in READ if name != "tau")

    def _trace(self, inputs: Iterable[str]) -> Trace:
        named = {name: READ[name][1] for name in inputs}
        fields = {field: self._symbols[name] for name, field in named.items() if field}
        fields.update({name: self._symbols[name] for name in self.parameters})
        return Trace(self._ready, fields, self._tens)

    def _function(self, name: str) -> Any:
        return self._make(name, FUNCTIONS[name])

    def _moved(self, name: str) -> Any:
        """A function that gives the next state, of which rest positions of springs must not be a part."""
        if self.model.nplastic:
            raise self._unsupported("steps with springyield: rest positions of springs are part of the state")
        return self._function(name)

    def _make(self, name: str, spec: Spec) -> Any:
        """The function of a specification, kept under its name."""
        if name not in self._functions:
            trace = self._trace(spec.inputs) if spec.moves else self._still
            symbols = {key: self._symbols[key] for key in (*spec.inputs, *self.parameters)}
            try:
                results = spec.build(trace, symbols)
            except RuntimeError as error:
                if "truth value" not in str(error):
                    raise
                given = ", ".join(self.parameters)
                raise self._unsupported(f"{name} with {given}, one of which switches a part of it on or off") from error
            names, inputs = [*symbols, *(f"body_{b}" for b in self._tens)], [*symbols.values(), *self._tens.values()]
            expressions = [casadi.SX(r) for r in results]
            core = casadi.Function(
                name, inputs, expressions, names, list(spec.outputs), {"cse": True, **no_defaults(names)}
            )
            self._functions[name] = self._wrapped(core)
        return self._functions[name]

    def _wrapped(self, core: Any) -> Any:
        """The function as it is given out: ten numbers of a body computed from its symbols, and MX around it all if asked."""
        bodies = self._bodies
        kind = casadi.MX if self.kind == "MX" or any(not f.is_a("SXFunction") for f in bodies.values()) else casadi.SX
        if not bodies and kind is casadi.SX:
            return core
        plain = core.n_in() - len(bodies)
        inputs = {name: kind.sym(name, core.sparsity_in(i)) for i, name in enumerate(core.name_in()[:plain])}
        own = {name: kind.sym(name, *size) for name, size in self._body_inputs().items()}
        tens = [f.call([own[name] for name in f.name_in()])[0] for f in bodies.values()]  # f() would be a dictionary
        results = core.call([*inputs.values(), *tens])
        names = [*inputs, *own]
        symbols = [*inputs.values(), *own.values()]
        return casadi.Function(core.name(), symbols, results, names, core.name_out(), no_defaults(names))

    def _body_inputs(self) -> dict[str, tuple[int, int]]:
        """Free symbols of all bodies: name -> shape. Two bodies may share one."""
        return {name: f.size_in(i) for f in self._bodies.values() for i, name in enumerate(f.name_in())}

    def _element(self, what: str, body: str | int | None, element: dict[str, Any]) -> tuple[str, int]:
        """Kind and id of the one element that was named."""
        given = {**({} if body is None else {"body": body}), **element}
        if len(given) != 1 or not set(given) <= set(functions.FRAMES):
            raise TypeError(f"{what} takes one body, or one of site=, geom=")
        ((kind, key),) = given.items()
        try:
            return kind, self.model.id(kind, key)
        except UnknownNameError as error:
            others = [k for k in functions.FRAMES if k != kind and key in self.model.names(k)]
            if others:
                raise UnknownNameError(
                    f"no {kind} is called {key!r}, but a {others[0]}: write {others[0]}={key!r}"
                ) from error
            raise

    def _check_delays(self) -> None:
        """Refuse controls that take effect later: the past would be part of the state."""
        late = [str(self.model.name("actuator", int(k)) or k) for k in np.flatnonzero(self.model.actuator_delay > 0)]
        if late:
            raise self._unsupported(*(f"delay (actuator {name!r})" for name in late))

    def _unsupported(self, *features: str) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(features, f"symbolic of {self.model.title!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.model, self.parameters, self.kind, self._bodies)  # functions are traced anew

    def __repr__(self) -> str:
        bodies = [self.model.name("body", b) or b for b in self._bodies]
        extra = f", with bodies {bodies}" if bodies else ""
        return f"<kinetree.Symbolic of {self.model.title!r}: {self.kind}, parameters {list(self.parameters)}{extra}>"


def _restore(model: Model, parameters: tuple[str, ...], kind: str, bodies: dict[int, Any]) -> Symbolic:
    out = Symbolic(model, parameters, kind)
    out._bodies = bodies
    return out
