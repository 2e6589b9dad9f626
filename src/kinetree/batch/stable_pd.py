"""`BatchStablePD`: stable PD on every world of a batch, with gains, limits and targets of its own.

The controller is that of `control/`, on lanes; h, mode and solver are those of all worlds. What kernels refuse on one world
(a target that is not finite, a solver that does not see all of the model) is decided here, before worlds are dealt out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.choice import is_coupled
from ..control.stable_pd import StablePD
from ..driver import check_nstep
from ..layout import read_only
from ..notices import get_ready_for_stable_pd, warn_of_moment
from .controllers import EVALUATION, STEPS, UnderStablePD
from .gains import gain_rows, limit_rows, target_rows
from .telling import named_worlds

if TYPE_CHECKING:
    from .batch import Batch

CONSTANTS = ("implicit", "limited", "model_step", "solver", "solves")


class BatchStablePD:
    """Stable PD on the worlds of a batch; `batch.stable_pd(…)` makes one. `StablePD` says what the settings mean.

    kp, kd, torque_limit: as `StablePD` takes them, for all worlds alike, or (n, nv) with a row for each; in a dictionary a
    joint's entry may have rows too. target: (nq,) or (n, nq). All are assigned as attributes.
    """

    def __init__(
        self,
        batch: Batch,
        kp: Any,
        kd: Any,
        h: float | None = None,
        mode: str = "spd",
        solver: str = "auto",
        torque_limit: Any = None,
    ):
        self._batch = batch
        self._common = StablePD(batch.model, 0.0, 0.0, h, mode, solver)  # what all worlds share
        self._rows: dict[str, np.ndarray] = {}
        self.kp, self.kd, self.torque_limit = kp, kd, torque_limit
        self.target = batch.model.qpos0

    # settings

    @property
    def batch(self) -> Batch:
        """The worlds that it controls."""
        return self._batch

    @property
    def kp(self) -> np.ndarray:
        """Stiffness of each dof, (nv,) of all worlds or (n, nv)."""
        return read_only(self._rows["kp"])

    @kp.setter
    def kp(self, value: Any) -> None:
        self._rows["kp"] = gain_rows(self._batch, value, "kp")

    @property
    def kd(self) -> np.ndarray:
        """Damping of each dof, (nv,) of all worlds or (n, nv)."""
        return read_only(self._rows["kd"])

    @kd.setter
    def kd(self, value: Any) -> None:
        self._rows["kd"] = gain_rows(self._batch, value, "kd")

    @property
    def torque_limit(self) -> np.ndarray:
        """Largest torque of each dof, infinite where there is no limit, (nv,) of all worlds or (n, nv)."""
        return read_only(self._rows["torque_range"])

    @torque_limit.setter
    def torque_limit(self, value: Any) -> None:
        self._rows["torque_range"] = limit_rows(self._batch, value)

    @property
    def target(self) -> np.ndarray:
        """The configurations to reach where a call names none; qpos0 at first."""
        return read_only(self._rows["target"])

    @target.setter
    def target(self, value: Any) -> None:
        self._rows["target"] = target_rows(self._batch, value)

    @property
    def h(self) -> float:
        """Time step [s] that the controller looks ahead; assign None for that of the model."""
        return self._common.h

    @h.setter
    def h(self, value: float | None) -> None:
        self._common.h = value

    @property
    def mode(self) -> str:
        """ "spd" or "implicit"."""
        return self._common.mode

    @mode.setter
    def mode(self, value: str) -> None:
        self._common.mode = value

    @property
    def solver(self) -> str:
        """The solver in use: "maba", "sparse" or "dense"; what "auto" took."""
        return self._common.solver

    @solver.setter
    def solver(self, value: str) -> None:
        self._common.solver = value

    @property
    def max_solves(self) -> int:
        """How often a system may be solved until torques and limits agree."""
        return self._common.max_solves

    @max_solves.setter
    def max_solves(self, value: int) -> None:
        self._common.max_solves = value

    # use

    def step(self, target: Any = None, nstep: int = 1, progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Advance all worlds by some time steps, with a new torque in each; returns the last ones, (n, nv).

        See `StablePD.step` for the integrator. progress: called with the number of worlds that were done.
        """
        return step_worlds(self._batch, self._common, self._taken(target), nstep, progress)

    def force(self, target: Any = None) -> np.ndarray:
        """Q of each world, the PD force at the predicted pose, before limits and before the answer to the acceleration."""
        return evaluate_worlds(self._batch, self._common, self._taken(target), "force")

    def torque(self, target: Any = None) -> np.ndarray:
        """The torques at the state of the batch, which stays as it is. Constraints are not considered."""
        return evaluate_worlds(self._batch, self._common, self._taken(target), "torque")

    def acceleration(self, target: Any = None) -> np.ndarray:
        """The change of velocity over a step, by h, under those torques and all other smooth forces."""
        return evaluate_worlds(self._batch, self._common, self._taken(target), "acceleration")

    def _taken(self, target: Any) -> dict[str, np.ndarray]:
        """Gains, limits and target of this call."""
        return self._rows if target is None else self._rows | {"target": target_rows(self._batch, target)}

    def __repr__(self) -> str:
        return f"<kinetree.BatchStablePD of {self._batch!r}: mode {self.mode}, solver {self.solver}, h {self.h:g} s>"


def shared_rows(spd: StablePD, batch: Batch, target: Any) -> dict[str, np.ndarray]:
    """Gains and limits of a controller of one world for all worlds of a batch, and a target for all or for each."""
    if spd.model is not batch.model:
        raise ValueError("StablePD: this Batch is of another model")
    return {
        "kp": gain_rows(batch, spd.kp, "kp"),
        "kd": gain_rows(batch, spd.kd, "kd"),
        "torque_range": limit_rows(batch, spd.torque_limit),
        "target": target_rows(batch, spd.target if target is None else target),
    }


def rows_under(
    batch: Batch, controller: StablePD | BatchStablePD, target: Any
) -> tuple[StablePD, dict[str, np.ndarray]]:
    """What worlds share of a controller, and its rows."""
    if isinstance(controller, StablePD):
        return controller, shared_rows(controller, batch, target)
    if controller.batch is not batch:
        raise ValueError("controller: this BatchStablePD belongs to another Batch")
    return controller._common, controller._taken(target)


def under(
    batch: Batch,
    entry: Any,
    common: StablePD,
    given: dict[str, np.ndarray],
    results: dict[str, np.ndarray],
    **more: Any,
) -> UnderStablePD:
    """What worlds run under; the solver is chosen once for all of them."""
    if common.solver == "maba" and is_coupled(batch.model):
        common._choose_again()
    own = common._arrays
    constants = {name: own[name] for name in CONSTANTS} | {"h": float(own["h"][0]), "unsettled": 0}
    constants["limited"] = bool(np.isfinite(given["torque_range"]).any())
    results = results | {"gave_up": np.zeros((batch.n, 1), batch.dtype)}
    return UnderStablePD(
        entry, constants, given | {"gave_up": results["gave_up"]}, results, dense=common.solver == "dense", **more
    )


def check_step(common: StablePD) -> None:
    """A step looks ahead by the time step of the model."""
    if common._h is not None and common._h != common.model.opt.timestep:
        raise ValueError(
            f"StablePD.step needs h equal to the time step of the model, {common.model.opt.timestep} s, got {common.h} s"
        )
    get_ready_for_stable_pd(common.model)


def step_worlds(
    batch: Batch,
    common: StablePD,
    given: dict[str, np.ndarray],
    nstep: int,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """Steps of all worlds; returns the last torques."""
    count = check_nstep("StablePD.step", nstep, 1)
    check_step(common)
    torque = np.zeros((batch.n, batch.model.nv), batch.dtype)
    steering = under(batch, STEPS, common, given, {"torque": torque})
    batch._run(None, nstep=count, under=steering, progress=progress)
    tell_unsettled(batch, common, steering)
    return torque


def evaluate_worlds(batch: Batch, common: StablePD, given: dict[str, np.ndarray], name: str) -> np.ndarray:
    """A result of all worlds, whose state stays."""
    out = np.zeros((batch.n, batch.model.nv), batch.dtype)
    steering = under(batch, EVALUATION, common, given, {name: out})
    batch._run(None, under=steering, results={}, keep=False)
    tell_unsettled(batch, common, steering)
    return out


def tell_unsettled(batch: Batch, common: StablePD, steering: UnderStablePD) -> None:
    """Warn of torque limits that did not settle, as `StablePD` does."""
    worlds = np.flatnonzero(steering.results["gave_up"][:, 0])
    if worlds.size:
        warn_of_moment(
            f"{named_worlds(worlds, batch.n)}: the torque limits of stable PD did not settle in {common.max_solves} solves by "
            f"time {batch.time[worlds[0]]:g}: torques are within their limits, but do not answer to the acceleration"
        )
