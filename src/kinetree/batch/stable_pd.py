"""`BatchStablePD`: stable PD on every world of a batch, with gains, limits and targets of its own.

The controller is that of `control/`, on lanes; h, mode and solver are those of all worlds. What kernels refuse on one world
(a target that is not finite, a solver that does not see all of the model) is decided here, before worlds are dealt out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.choice import couples, coupling_fields, coupling_mark, is_coupled
from ..control.solvers import SOLVERS
from ..control.stable_pd import StablePD
from ..errors import UnsupportedFeatureError
from ..kernel import Entry
from ..layout import read_only
from ..notices import warn_of_moment
from .controllers import EVALUATION, STEPS, UnderStablePD
from .gains import gain_rows, limit_rows, target_rows
from .plan import Plan, Rows
from .telling import named_worlds
from .worlds import state_names

if TYPE_CHECKING:
    from .batch import Batch

Arrays = dict[str, np.ndarray]
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
        self._rows: Arrays = {}
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

    def _taken(self, target: Any) -> Arrays:
        """Gains, limits and target of this call."""
        return self._rows if target is None else self._rows | {"target": target_rows(self._batch, target)}

    def __repr__(self) -> str:
        return f"<kinetree.BatchStablePD of {self._batch!r}: mode {self.mode}, solver {self.solver}, h {self.h:g} s>"


def shared_rows(spd: StablePD, batch: Batch, target: Any) -> Arrays:
    """Gains and limits of a controller of one world for all worlds of a batch, and a target for all or for each."""
    if spd.model is not batch.model:
        raise ValueError("StablePD: this Batch is of another model")
    return {
        "kp": gain_rows(batch, spd.kp, "kp"),
        "kd": gain_rows(batch, spd.kd, "kd"),
        "torque_range": limit_rows(batch, spd.torque_limit),
        "target": target_rows(batch, spd.target if target is None else target),
    }


def rows_under(batch: Batch, controller: StablePD | BatchStablePD, target: Any) -> tuple[StablePD, Arrays]:
    """What worlds share of a controller, and its rows."""
    if isinstance(controller, StablePD):
        return controller, shared_rows(controller, batch, target)
    if controller.batch is not batch:
        raise ValueError("controller: this BatchStablePD belongs to another Batch")
    return controller._common, controller._taken(target)


def under(batch: Batch, entry: Entry, common: StablePD, given: Arrays) -> UnderStablePD:
    """What worlds run under; the solver is chosen once for all of them."""
    if common.solver == "maba" and is_coupled(batch.model):
        common._choose_again()
    solver, own = common.solver, common._arrays
    if solver == "maba" and _some_world_is_coupled(batch):
        if common._requested == "maba":
            what = "damping, armature or velocity feedback over several dofs, given to worlds by batch.expand"
            raise UnsupportedFeatureError([what], f"maba of {batch.model.title!r} (solver='auto' takes another)")
        solver = "sparse"
    constants = {name: own[name] for name in CONSTANTS} | {"h": float(own["h"][0]), "unsettled": 0}
    constants |= {"solver": SOLVERS.index(solver), "limited": bool(np.isfinite(given["torque_range"]).any())}
    return UnderStablePD(entry, constants, solver == "dense")


def _some_world_is_coupled(batch: Batch) -> bool:
    """Whether parameters of their own couple dofs in some world: the largest do, as all that counts is being zero."""
    own = {} if batch._parameters is None else batch._parameters.rows
    ours = {name: own[name] for name in coupling_fields() if name in own}
    if not ours:
        return False
    mark = coupling_mark(batch.model)
    seen = batch._buffers.get("coupled")
    if seen is None or seen[0] is not own or seen[1] != mark:
        largest = {name: np.abs(rows).max(axis=0) for name, rows in ours.items()}
        record = SimpleNamespace(**vars(batch.model.record()) | largest)
        seen = batch._buffers["coupled"] = own, mark, couples(record)
    return seen[2]


def plan_under(
    batch: Batch,
    steering: UnderStablePD,
    given: Arrays,
    outcome: str,
    keep: bool,
    control: Sequence[Rows] = (),
    record: Sequence[Rows] = (),
) -> Plan:
    """What goes in and out. Rows are copied into buffers of the batch, so that the plan serves calls of one kind again."""
    names = state_names(batch.model)
    key = (
        names,
        batch._worlds.inputs,
        tuple(batch._bound),
        steering.entry,
        steering.owner,
        outcome,
        *(rows.shape for rows in given.values()),
    )
    taken = {name: _buffer(batch, name, rows.shape) for name, rows in given.items()}
    for name, rows in given.items():
        taken[name][:] = rows
    _buffer(batch, "gave_up", (batch.n, 1))[:] = 0.0
    if key in batch._plans and not control and not record:
        return batch._plans[key]
    results = batch._results if keep else {}
    plan = batch._plan(names, results, control=control, record=record, keep=keep)
    out = {
        "gave_up": _buffer(batch, "gave_up", (batch.n, 1)),
        outcome: _buffer(batch, outcome, (batch.n, batch.model.nv)),
    }
    owner = steering.owner
    plan.tables["inputs"] += [Rows(name, rows, shared=rows.ndim == 1, owner=owner) for name, rows in taken.items()]
    plan.tables["inputs"].append(Rows("gave_up", out["gave_up"], owner=owner))
    plan.tables["results"] += [Rows(name, rows, owner=owner) for name, rows in out.items()]
    if not control and not record:
        batch._plans[key] = plan
    return plan


def _buffer(batch: Batch, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Memory of the batch for rows of a controller."""
    if (name, shape) not in batch._buffers:
        batch._buffers[name, shape] = np.zeros(shape, batch.dtype)
    return batch._buffers[name, shape]


def step_worlds(
    batch: Batch, common: StablePD, given: Arrays, nstep: int, progress: Callable[[int], None] | None = None
) -> np.ndarray:
    """Steps of all worlds; returns the last torques."""
    count = common._checked_steps(nstep)
    steering = under(batch, STEPS, common, given)
    batch._run(
        None, nstep=count, plan=plan_under(batch, steering, given, "torque", True), under=steering, progress=progress
    )
    return _outcome(batch, common, "torque")


def evaluate_worlds(batch: Batch, common: StablePD, given: Arrays, name: str) -> np.ndarray:
    """A result of all worlds, whose state stays."""
    steering = under(batch, EVALUATION, common, given)
    batch._run(None, plan=plan_under(batch, steering, given, name, False), under=steering, keep=False)
    return _outcome(batch, common, name)


def _outcome(batch: Batch, common: StablePD, name: str) -> np.ndarray:
    """A result of the run; warns of torque limits that did not settle, as `StablePD` does."""
    worlds = np.flatnonzero(_buffer(batch, "gave_up", (batch.n, 1)))
    if worlds.size:
        warn_of_moment(
            f"{named_worlds(worlds, batch.n)}: the torque limits of stable PD did not settle in {common.max_solves} solves by "
            f"time {batch.time[worlds[0]]:g}: torques are within their limits, but do not answer to the acceleration"
        )
    return _buffer(batch, name, (batch.n, batch.model.nv)).copy()


def roll_out_under(
    batch: Batch,
    common: StablePD,
    given: Arrays,
    targets: np.ndarray | None,
    control: Sequence[Rows],
    record: Mapping[str, np.ndarray],
    count: int,
    progress: Callable[[int], None] | None,
) -> None:
    """Steps with a record. targets: of each step, else the target is that which is given."""
    common._checked_steps(count)
    steering = under(batch, STEPS, common, given)
    if targets is not None:
        each = Rows("target", targets, steps=True, shared=targets.ndim == 2, owner=steering.owner)
        control = [*control, each]
    rows = [
        Rows(name, array, steps=True, owner=steering.owner if name == "torque" else "world")
        for name, array in record.items()
    ]
    plan = plan_under(batch, steering, given, "torque", True, control, rows)
    batch._run(None, nstep=count, plan=plan, under=steering, progress=progress)
    _outcome(batch, common, "torque")
