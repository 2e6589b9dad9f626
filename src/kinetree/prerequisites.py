"""What has to have run before a function gives an answer: one table, and the one rule that goes with it.

On a Data on which nothing has run since its reset every result is zero, and so would be whatever is read from it. Therefore:
* What follows from positions and velocities is computed where it is missing: a function first runs those of its stages that
  have never run since the reset.
* What follows from forces is left to the user, whose callbacks may have a say in it: a function that reads forces raises
  until a pass has computed them, and says what to call.
What has run is taken as it is, be it older than qpos, as in MuJoCo. `kt.ray`, `kt.multi_ray` and `kt.geom_distance` raise
until geoms are in their places. Other stages are steps of the pipeline, which run on what they find.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .data import Data
from .kernel.stage import STAGES, check_arguments

if TYPE_CHECKING:
    from .model import Model


class Prerequisites(NamedTuple):
    """Stages that run if they never did, after all that they depend on; stages of which one must have run, and what to call."""

    runs: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    call: str = ""


SOLVED = Prerequisites(one_of=("fwd_constraint", "inv_constraint"), call="kt.forward or kt.inverse")
MOVING = Prerequisites(one_of=("com_vel",), call="kt.forward")

PREREQUISITES: dict[str, Prerequisites] = {
    "local_to_global": Prerequisites(("kinematics",)),
    "jac": Prerequisites(("com_pos",)),
    "jac_body": Prerequisites(("com_pos",)),
    "jac_body_com": Prerequisites(("com_pos",)),
    "jac_geom": Prerequisites(("com_pos",)),
    "jac_site": Prerequisites(("com_pos",)),
    "jac_subtree_com": Prerequisites(("com_pos",)),
    "angmom_mat": Prerequisites(("com_pos",)),
    "apply_ft": Prerequisites(("com_pos",)),
    "jac_contact": Prerequisites(("com_pos", "collision")),
    "jac_dot": Prerequisites(("com_vel",)),
    "object_velocity": Prerequisites(("camlight", "com_vel")),
    "subtree_vel": Prerequisites(("com_vel",)),
    "rne": Prerequisites(("com_vel",)),
    "aba": Prerequisites(("com_vel",)),
    "full_m": Prerequisites(("make_m",)),
    "mul_m": Prerequisites(("make_m",)),
    "solve_m": Prerequisites(("factor_m",)),
    "energy_pos": Prerequisites(("tendon",)),
    "energy_vel": Prerequisites(("make_m",)),
    # what reads forces
    "aba without force": Prerequisites(one_of=("fwd_acceleration",), call="kt.forward"),
    "contact_force": SOLVED,
    "contact_forces": SOLVED,
    "object_acceleration": SOLVED,
    # steps of the pipeline whose results are not read by others
    "rne_post_constraint": MOVING,
    "compare_fwd_inv": MOVING,
    "add_sensor_noise": Prerequisites(one_of=("sensor_pos", "sensor_vel", "sensor_acc"), call="kt.forward or kt.step"),
    # what counts stages as done
    "step2": Prerequisites(one_of=("com_vel",), call="kt.step1"),
    "forward_skip after POS": Prerequisites(one_of=("factor_m",), call="kt.fwd_position or kt.forward"),
    "forward_skip after VEL": Prerequisites(one_of=("com_vel",), call="kt.fwd_velocity or kt.forward"),
    "inverse_skip after POS": Prerequisites(one_of=("factor_m",), call="kt.fwd_position or kt.inverse"),
    "inverse_skip after VEL": Prerequisites(one_of=("com_vel",), call="kt.fwd_velocity or kt.inverse"),
}


@functools.cache
def _stages(name: str) -> tuple[list[tuple[int, Any]], list[int]]:
    """Stages that a function runs, with their numbers, and numbers of those of which one must have run."""
    from .makers import chain  # which knows the pipeline, and stands above

    wanted = PREREQUISITES[name]
    return [(stage.stage_index, stage) for stage in chain(wanted.runs)], [_number(stage) for stage in wanted.one_of]


def _number(name: str) -> int:
    """The number of a stage; stages are defined above this module."""
    return next(stage.stage_index for stage in STAGES if stage.__name__ == name)


def prepare(name: str, model: Model, data: Data) -> None:
    """Check the arguments of a function, and see to what it needs: run it, or raise."""
    try:
        fits = model._as_model[0] is data._as_data[0]
    except AttributeError:
        fits = False
    if not fits:
        check_arguments(name, model, data)
    (runs, one_of), ran = _stages(name), data._arrays["stage_order"].item
    missing = False
    for index, stage in runs:  # in their order: what comes after a missing one was computed from nothing
        if missing or not ran(index):
            missing = True
            stage(model, data)
    if one_of and not any(ran(index) for index in one_of):
        first = PREREQUISITES[name].call
        raise ValueError(f"{name}: nothing has been computed since the reset that it could read: call {first} first")


def prepared(stage: Any) -> Callable[[Model, Data], None]:
    """A stage for the user, who may call it before all others."""
    name = stage.__name__
    wanted = PREREQUISITES[name]
    last = _number((*wanted.runs, *wanted.one_of)[-1])

    def call(model: Model, data: Data) -> None:
        if isinstance(data, Data) and not (data._belongs_to(model) and data._arrays["stage_order"].item(last)):
            prepare(name, model, data)
        stage(model, data)

    functools.update_wrapper(call, stage)
    del call.__dict__["__wrapped__"]  # as of the stage itself: its signature is (model, data)
    return call
