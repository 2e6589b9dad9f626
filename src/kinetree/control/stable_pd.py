"""`StablePD`: proportional-derivative control that looks one step ahead, so that stiff gains stay stable at large steps.

    (M + h D + h Kd) qacc = Q - bias + passive + applied + actuator,   Q = Kp (target - (qpos + h qvel)) - Kd qvel
    torque = Q - h Kd qacc                                             with h^2 Kp beside h Kd in mode "implicit"

D is the damping of the model itself, at the end of the step as in `implicitfast`.

References: Tan, Liu, Turk 2011; Yin and Yin 2020.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bad_states import KINDS_OF_RETURN
from ..data import Data
from ..data_fields import STATE_FIELDS
from ..driver import check_nstep, left_to_do, must_go_on
from ..errors import BusyError
from ..kernel.stage import check_arguments
from ..layout import checked, read_only
from ..model import Model
from ..notices import get_ready_for_stable_pd, report, reset_keeping_warnings, warn_of_moment
from ..occupancy import holding
from . import gains
from .arrays import Arrays, run
from .choice import CHOICES, check_maba, checked_choice, choose
from .forward import COUPLED, DOUBTFUL, run_evaluate, run_force, run_steps
from .solvers import SOLVERS

if TYPE_CHECKING:
    from ..batch.batch import Batch

MODES = ("spd", "implicit")
MAX_SOLVES = 100  # three are typical; of 900 random systems with gains over seven decades the worst took 49


def alone(method: Any) -> Any:
    """Decorator: a method that reads or writes the arrays of a controller, which are those of one thread at a time."""

    @functools.wraps(method)
    def call(self: StablePD, *args: Any, **kwargs: Any) -> Any:
        if not self._lock.acquire(blocking=False):
            raise BusyError("this StablePD is in use by another thread: give each thread its own")
        try:
            return method(self, *args, **kwargs)
        finally:
            self._lock.release()

    return call


class StablePD:
    """A stable PD controller for every joint of a model.

    kp, kd: stiffness and damping: one number for all joints but free ones, a dictionary by joint name, or nv numbers.
    h: time step [s] that the controller looks ahead; None is `model.opt.timestep`.
    mode: "spd", or "implicit", which is stable for any gains on hinges and slides.
    solver: "maba", "sparse", "dense", all with one answer, or "auto" for the fastest.
    torque_limit: as gains; None is no limit. The limit is part of the solve, so torque and acceleration fit together.

    Gains, limits, target, h, mode and solver are assigned as attributes; `target` is what the methods take by default.
    A controller, like a Data, is used by one thread at a time: a second one gets a `BusyError`.
    """

    __slots__ = ("_arrays", "_h", "_lock", "_mode", "_model", "_quats", "_requested", "_state", "_target", "_work")

    def __init__(
        self,
        model: Model,
        kp: Any,
        kd: Any,
        h: float | None = None,
        mode: str = "spd",
        solver: str = "auto",
        torque_limit: Any = None,
    ):
        if not isinstance(model, Model):
            raise TypeError(f"StablePD needs a kinetree Model, got {type(model).__name__}: use kt.load first")
        self._model = model
        self._lock = threading.RLock()
        self._arrays = Arrays(model)
        self._quats = gains.quaternion_addresses(model)
        self._work: Data | None = None  # torques are computed here
        self._state = slice(0, 0)  # where state and inputs lie in the buffer of a Data
        self.kp, self.kd, self.torque_limit = kp, kd, torque_limit
        self.h, self.mode, self.solver = h, mode, solver
        self.max_solves = MAX_SOLVES
        self._target = model.qpos0.copy()

    # settings

    @property
    def model(self) -> Model:
        """The model it controls."""
        return self._model

    @property
    def kp(self) -> np.ndarray:
        """Stiffness of each dof."""
        return self._view("kp")

    @kp.setter
    @alone
    def kp(self, value: Any) -> None:
        self._arrays["kp"] = gains.gains(self._model, value, "kp")

    @property
    def kd(self) -> np.ndarray:
        """Damping of each dof."""
        return self._view("kd")

    @kd.setter
    @alone
    def kd(self, value: Any) -> None:
        self._arrays["kd"] = gains.gains(self._model, value, "kd")

    @property
    def torque_limit(self) -> np.ndarray:
        """Largest torque of each dof, infinite where there is no limit."""
        return self._view("torque_range")

    @torque_limit.setter
    @alone
    def torque_limit(self, value: Any) -> None:
        limits = gains.torque_limits(self._model, value)
        self._arrays["torque_range"], self._arrays["limited"] = limits, np.isfinite(limits).any()

    @property
    def target(self) -> np.ndarray:
        """The configuration to reach where a call names none; qpos0 at first."""
        return read_only(self._target)

    @target.setter
    @alone
    def target(self, value: Any) -> None:
        self._target = gains.target_configuration(self._model, value, self._quats)

    @property
    def h(self) -> float:
        """Time step [s] that the controller looks ahead; assign None for that of the model."""
        return self._model.opt.timestep if self._h is None else self._h

    @h.setter
    @alone
    def h(self, value: float | None) -> None:
        self._h = None if value is None else gains.time_step(value)
        self._arrays["model_step"], self._arrays["h"] = self._h is None, self._h or 0.0

    @property
    def mode(self) -> str:
        """ "spd" or "implicit"."""
        return self._mode

    @mode.setter
    @alone
    def mode(self, value: str) -> None:
        self._mode = checked_choice(value, MODES, "mode")
        self._arrays["implicit"] = self._mode == "implicit"

    @property
    def solver(self) -> str:
        """The solver in use: "maba", "sparse" or "dense"; what "auto" took."""
        return SOLVERS[self._arrays["solver"]]

    @solver.setter
    @alone
    def solver(self, value: str) -> None:
        requested = checked_choice(value, CHOICES, "solver")
        name = choose(self._model) if requested == "auto" else requested
        if name == "maba":
            check_maba(self._model)
        if name == "dense" and self._arrays["matrix"].size == 0:
            self._arrays = self._arrays.with_matrix(self._model)
        self._requested, self._arrays["solver"] = requested, SOLVERS.index(name)

    @property
    def max_solves(self) -> int:
        """How often a system may be solved until torques and limits agree; a warning says when that was not enough."""
        return self._arrays["solves"]

    @max_solves.setter
    @alone
    def max_solves(self, value: int) -> None:
        count = int(checked(value, (), "int64", "max_solves"))
        if count < 1:
            raise ValueError(f"max_solves must be at least 1, got {count}")
        self._arrays["solves"] = count

    # use

    @alone
    def force(self, data: Data | Batch, target: Any = None) -> np.ndarray:
        """Q, the PD force at the predicted pose, before limits and before the answer to the acceleration."""
        if not isinstance(data, Data):
            return self._on_batch("force", data, target)
        self._prepare("force", data, target)
        self._run(run_force, data)
        return self._arrays["force"].copy()

    @alone
    def torque(self, data: Data | Batch, target: Any = None) -> np.ndarray:
        """The torque of the controller at the state of data, which stays as it is. Constraints are not considered."""
        if not isinstance(data, Data):
            return self._on_batch("torque", data, target)
        self._evaluate("torque", data, target)
        return self._arrays["torque"].copy()

    @alone
    def acceleration(self, data: Data | Batch, target: Any = None) -> np.ndarray:
        """The change of velocity over a step, by h, under that torque and all other smooth forces; data stays as it is."""
        if not isinstance(data, Data):
            return self._on_batch("acceleration", data, target)
        self._evaluate("acceleration", data, target)
        return self._arrays["acceleration"].copy()

    @alone
    def step(self, data: Data | Batch, target: Any = None, nstep: int = 1) -> np.ndarray:
        """Advance the simulation by some time steps, with a new torque in each; returns the last one.

        Semi-implicit Euler whatever the integrator of the model; damping of the model acts at the velocity after the step, as
        in `implicitfast`, and constraints are those of continuous time, under `discrete` too. Controls and applied forces count
        as in `kt.step`, and stay. All steps are one entry into compiled code.

        data: a Data, or a `kt.Batch`, all of whose worlds are controlled, each with a row of the target if that is (n, nq).
        """
        if not isinstance(data, Data):
            return self._on_batch("step", data, target, nstep)
        self._prepare("step", data, target)
        self._run_steps(data, self._checked_steps(nstep))
        return self._arrays["torque"].copy()

    def _checked_steps(self, nstep: Any) -> int:
        """How many steps to make; they look ahead by the time step of the model."""
        count = check_nstep("StablePD.step", nstep, 1)
        if self._h is not None and self._h != self._model.opt.timestep:
            raise ValueError(
                f"StablePD.step needs h equal to the time step of the model, {self._model.opt.timestep} s, got {self.h} s"
            )
        get_ready_for_stable_pd(self._model)
        return count

    def _on_batch(self, name: str, batch: Any, target: Any, nstep: int = 0) -> np.ndarray:
        """A method on all worlds of a batch: a row for each."""
        from ..batch import batch as batches  # which stand on controllers
        from ..batch import stable_pd

        if not isinstance(batch, batches.Batch):
            check_arguments(f"StablePD.{name}", self._model, batch)
        given = stable_pd.shared_rows(self, batch, target)
        if name == "step":
            return stable_pd.step_worlds(batch, self, given, nstep)
        return stable_pd.evaluate_worlds(batch, self, given, name)

    def _view(self, name: str) -> np.ndarray:
        return read_only(self._arrays[name])  # assignment checks, writing into it could not

    def _prepare(self, name: str, data: Data, target: Any) -> None:
        """Check the arguments and bring the target to where kernels see it."""
        if not data._belongs_to(self._model):
            check_arguments(f"StablePD.{name}", self._model, data)
        arrays = self._arrays.arrays
        if target is None:
            arrays["target"][:] = self._target
        elif type(target) is np.ndarray and target.dtype == np.float64 and target.shape == arrays["target"].shape:
            arrays["target"][:] = target  # its numbers are looked at in compiled code
        else:
            arrays["target"][:] = gains.target_configuration(self._model, target, self._quats)

    def _check_target(self) -> None:
        """Refuse a target of bad numbers; quaternions too long or too short to be squared get length one."""
        target = self._arrays.arrays["target"]
        target[:] = gains.target_configuration(self._model, target, self._quats)

    def _choose_again(self) -> None:
        """The model was edited, and the recursion does not see all of it any more: auto takes sparse, maba is refused."""
        self.solver = self._requested

    def _run(self, kernel: Any, data: Data, *steps: int) -> int:
        """Run a kernel; after a closer look where it has doubts about target or solver, with more room if that is lacking."""
        self._arrays["unsettled"] = 0
        obstacles = {DOUBTFUL: self._check_target, COUPLED: self._choose_again}
        status = run(kernel, self._model, data, self._arrays, *steps)
        while status in obstacles or must_go_on(status):
            if status in obstacles:
                obstacles[status]()
            else:
                left = left_to_do(self._model, data, sum(steps), status)
                steps = (left,) if steps else ()
            status = run(kernel, self._model, data, self._arrays, *steps)
        return status

    def _evaluate(self, name: str, data: Data, target: Any) -> None:
        """Torque and acceleration, computed on a copy of the state."""
        self._prepare(name, data, target)
        work = self._twin(data)
        if self._run(run_evaluate, work):
            report(self._model, work)
            self._warn(work)

    @holding(1, inside=True)
    def _twin(self, data: Data) -> Data:
        """A Data of the controller's own, in the state of data."""
        if self._work is None:
            self._work = Data(self._model)
            self._state = state_bytes(self._work)
        self._work._arrays.fixed[self._state] = data._arrays.fixed[self._state]
        return self._work

    @holding(1)
    def _run_steps(self, data: Data, nstep: int) -> None:
        """Steps in compiled code; after a bad state, which is reset as in `kt.step`, those that are left."""
        left = nstep
        while left:
            status = self._run(run_steps, data, left)
            if status == 0:
                return
            left = status // KINDS_OF_RETURN
            report(self._model, data, left)
            self._warn(data)
            if left:
                reset_keeping_warnings(self._model, data)

    def _warn(self, data: Data) -> None:
        if self._arrays["unsettled"]:
            text = (
                f"the torque limits of stable PD did not settle in {self.max_solves} solves at time {data.time:g}: torques "
                "are within their limits, but do not answer to the acceleration"
            )
            warn_of_moment(text)

    # copies

    def __reduce__(self) -> tuple:
        limits = self._arrays["torque_range"]
        arguments = (self._model, self._arrays["kp"], self._arrays["kd"], self._h, self._mode, self._requested, limits)
        return _restore, (arguments, self._target, self.max_solves)

    def __repr__(self) -> str:
        chosen = " (chosen by auto)" if self._requested == "auto" else ""
        return f"<kinetree.StablePD of {self._model.title!r}: mode {self._mode}, solver {self.solver}{chosen}, h {self.h:g} s>"


def state_bytes(data: Data) -> slice:
    """Where state and inputs lie in the buffer of a Data: one range, which copies faster than field by field."""
    arrays = [data._arrays[name] for _, name in STATE_FIELDS if name]
    first = min(a.ctypes.data for a in arrays)
    last = max(a.ctypes.data + a.nbytes for a in arrays)
    start = data._arrays.fixed.ctypes.data
    return slice(first - start, last - start)


def _restore(arguments: tuple, target: np.ndarray, max_solves: int) -> StablePD:
    out = StablePD(*arguments)
    out.target, out.max_solves = target, max_solves
    return out
