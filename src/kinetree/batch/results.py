"""Results of worlds: which fields a batch can read, bind and record, and what has to run for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import pipeline
from ..data import Data
from ..data_fields import DATA_FIELDS
from ..errors import nearest
from ..kernel.order import order_of
from ..makers import MAKERS, ancestry, makers_of
from ..model import Model
from ..staleness import FORCES, LAZY, MOMENTUM
from ..types import EnableBit, Integrator
from .worlds import NOT_CARRIED

# Passes on demand that run behind a pass where their results are asked for, by the word of a plan that says so.
WANTED = {"wants_subtree": MOMENTUM, "wants_rne": FORCES}
# Makers that need no more than the stages before them; in the order of the pipeline all others have parts beside them, or
# read contacts.
SHORT = {"kinematics", "com_pos", "camlight", "tendon", "crb", "make_m", "factor_m", "com_vel"}
# What lanes leave where only integers that worlds share tell it from what was there before.
ONE_BY_ONE = {"solver_nnz", "solver_improvement", "solver_gradient", "solver_lineslope", "wrap_xpos"}
INSIDE = {"crb": "make_m"}  # makers whose stage another calls
FORWARD_ALONE = {"fwd_actuation", "fwd_acceleration", "fwd_constraint"}  # makers that inverse dynamics does without


def refuse_unless_shown(name: str) -> None:
    """Refuse what is no field for users."""
    if name not in DATA_FIELDS or not DATA_FIELDS[name].shown:
        shown = [each for each, field in DATA_FIELDS.items() if field.shown]
        raise AttributeError(f"batch has no {name!r}: {nearest(name, shown)}")


def has_place(name: str) -> bool:
    """Whether a field of a world has a fixed place in a block of worlds."""
    field = DATA_FIELDS[name]
    return field.per_world and not field.growing and name not in ONE_BY_ONE


def is_read_alone(model: Model, name: str) -> bool:
    """Whether a field is read world by world: also where trees sleep, of which a pass leaves what was there before."""
    return not has_place(name) or bool(model.opt.enableflags & EnableBit.SLEEP)


def read_of(data: Data, name: str) -> np.ndarray:
    """A field of a world alone, after its forward pass."""
    return np.array(data.require(name) if name in LAZY else getattr(data, name))


def refuse_unless_made(name: str) -> None:
    """Refuse what no stage of forward dynamics makes."""
    calls = [MAKERS[maker].call for maker in makers_of(name) if maker in MAKERS]
    if calls and "kt.forward" not in calls:
        raise ValueError(f"batch.{name} is no result of forward dynamics: {calls[0]} computes it")
    if name in NOT_CARRIED:
        raise ValueError(f"worlds of a batch have no {name}: it is an input of kt.aba")


def refuse_unless_found(model: Model, name: str) -> None:
    """Refuse to bind or record what is not found behind every pass."""
    if name == "energy" and not model.opt.enableflags & EnableBit.ENERGY:
        raise ValueError(
            "energy is computed in every pass only with a flag: model.opt.enableflags |= kt.EnableBit.ENERGY; "
            "or see batch.read('energy')"
        )
    if LAZY.get(name) is FORCES and model.opt.integrator == Integrator.RK4:
        raise ValueError(f"{name}: a step of RK4 leaves no pass that it could describe: see batch.read({name!r})")
    if name in LAZY and name != "energy" and model.opt.enableflags & EnableBit.SLEEP:
        raise ValueError(f"{name}: trees that sleep take no part in a pass, and leave none: see batch.read({name!r})")
    refuse_unless_made(name)


def stages_for(model: Model, name: str) -> list[Any]:
    """The stages that make a field, in their order."""
    refuse_unless_made(name)
    if name in LAZY:
        return [pipeline.forward, *(lazy.run for lazy in LAZY[name])]
    makers = makers_of(name)
    if makers[0] not in SHORT:
        return [pipeline.forward]
    before = [MAKERS[each] for each in ancestry(INSIDE.get(makers[0], makers[0]))]
    wanted = {stage for maker in before for stage in (maker.stage, *maker.beside)}
    return [stage for stage in order_of(pipeline.forward) if stage in wanted]


def found_by_inverse(name: str) -> bool:
    """Whether inverse dynamics computes a field; if not, it stays as it is."""
    return not FORWARD_ALONE.issuperset(makers_of(name))


def wanted(names: Iterable[str]) -> dict[str, int]:
    """Words of a plan that tell which passes on demand are to run for some fields."""
    asked = [LAZY.get(name) for name in names]
    return {word: int(any(passes is each for each in asked)) for word, passes in WANTED.items()}


def stages_wanted(words: dict[str, int]) -> list[Any]:
    """The stages of these passes."""
    return [each.run for word, passes in WANTED.items() if words.get(word) for each in passes]
