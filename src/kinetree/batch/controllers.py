"""What worlds of a batch step under: nothing but their controls, stable PD, or a kernel of the user's.

The text of a block is that of `blocks.py`, with other kernels in one place: a step is one under stable PD, or its pass calls
the user's kernel where MuJoCo calls mjcb_control. What a controller reads and writes of each world comes and goes as parts.
"""

from __future__ import annotations

import functools
import importlib.util
import linecache
from typing import Any, Protocol

import numpy as np

from .. import pipeline, stepping
from ..bad_states import LACKS_ROOM, begin_pass, lacked_room, remember_warnings
from ..control.arrays import LAYOUT as STABLE_PD
from ..control.arrays import Arrays
from ..control.forward import controlled_steps, evaluate
from ..hooks import user_control
from ..kernel import Entry, kernel
from ..kernel.stage import plain
from ..kernel.variant import variant
from ..types import DisableBit
from .blocks import ENTRY, LAYOUT, make_steps, run_blocks
from .lanes import LaneData
from .parts import part

Parts = dict[str, list[list[int]]]


class Under(Protocol):
    """What a run of blocks is under."""

    @property
    def entry(self) -> Entry:
        """The loop over blocks."""

    def join(self, block: LaneData, parts: Parts) -> tuple[int, ...]:
        """Add to the parts of a block; returns the addresses of further handles."""


class Free:
    """No controller."""

    entry = ENTRY

    def join(self, block: LaneData, parts: Parts) -> tuple[int, ...]:
        """Nothing to add."""
        return ()


FREE = Free()


# stable PD


@kernel
def evaluate_worlds(m, d, b, end, a):
    """Torque and acceleration of a block at its state; LACKS_ROOM if it has to begin again."""
    remember_warnings(d)
    begin_pass(m, d)
    evaluate(m, d, a)
    return LACKS_ROOM if lacked_room(m, d) else 0


controlled_blocks = variant("controlled", run_blocks, {stepping.run_steps: controlled_steps})
evaluated_blocks = variant("evaluated", run_blocks, {make_steps: evaluate_worlds})


@kernel
def run_controlled_blocks(m, d, b, end, a):
    """All blocks, their steps under stable PD."""
    return controlled_blocks(m, d, b, end, a)


@kernel
def run_evaluated_blocks(m, d, b, end, a):
    """Torques and accelerations of all blocks."""
    return evaluated_blocks(m, d, b, end, a)


STEPS = Entry(run_controlled_blocks, LAYOUT, "int64", STABLE_PD, result="int64")
EVALUATION = Entry(run_evaluated_blocks, LAYOUT, "int64", STABLE_PD, result="int64")


class UnderStablePD:
    """Stable PD. constants: integers of its arrays, and h. given: arrays by name, of all worlds or with a row for each.

    targets: of each step, instead of one that is given. results: arrays that take a row of each world. record: of each step.
    """

    def __init__(
        self,
        entry: Entry,
        constants: dict[str, Any],
        given: dict[str, np.ndarray],
        results: dict[str, np.ndarray],
        targets: np.ndarray | None = None,
        record: dict[str, np.ndarray] | None = None,
        dense: bool = False,
    ):
        self.entry, self.constants, self.given, self.results = entry, constants, given, results
        self.targets, self.record, self.dense = targets, record or {}, dense

    def join(self, block: LaneData, parts: Parts) -> tuple[int, ...]:
        """The arrays of the controller on this block, and what goes into them and out of them."""
        arrays = _arrays_on(block, self.dense)
        for name, value in self.constants.items():
            arrays[name] = value
        place = arrays.arrays
        parts["inputs"] += [part(place[name], rows, shared=rows.ndim == 1) for name, rows in self.given.items()]
        parts["results"] += [part(place[name], rows) for name, rows in self.results.items()]
        parts["record"] += [part(place[name], rows, steps=True) for name, rows in self.record.items()]
        if self.targets is not None:
            parts["control"].append(part(place["target"], self.targets, steps=True, shared=self.targets.ndim == 2))
        return (arrays.address,)


def _arrays_on(block: LaneData, dense: bool) -> Arrays:
    """Arrays for controllers on the block of a thread: nothing in them outlives a call."""
    if dense not in block._controllers:
        block._controllers[dense] = Arrays(block.model, dense, block.width, block.machine.dtype.name)
    return block._controllers[dense]


# kernels of the user's


@kernel
def law(m, d):
    """The place of the user's kernel."""


@kernel
def control_by_law(m, d):
    """The user's kernel, unless actuation is disabled."""
    if m.opt_disableflags & DisableBit.ACTUATION == 0:
        law(m, d)


@functools.cache
def blocks_under(user: Any) -> Entry:
    """The loop over blocks with a kernel or stage of (m, d) in the place of mjcb_control."""
    if importlib.util.find_spec("llvmlite") is None:
        raise ModuleNotFoundError(
            f"{user.__name__} is a kernel of your own: it must be compiled, and llvmlite is missing, by which kinetree does "
            "that. Install it with: pip install 'kinetree[jit]'",
            name="llvmlite",
        )
    control = variant("lawful", control_by_law, {law: user})
    forward = variant("lawful", pipeline.forward, {user_control: control})
    steps = variant("lawful", stepping.run_steps, {pipeline.forward: forward})
    return Entry(
        variant("lawful", run_blocks, {stepping.run_steps: steps}), LAYOUT, "int64", result="int64", listed=False
    )


class UnderKernel:
    """A kernel of the user's. written: rows of the inputs by name, which it may write, so that they go back."""

    def __init__(self, user: Any, written: dict[str, np.ndarray]):
        self.entry, self.written = blocks_under(checked_kernel(user)), written

    def join(self, block: LaneData, parts: Parts) -> tuple[int, ...]:
        """What it may have written goes back."""
        parts["results"] += [part(block.arrays[name], rows) for name, rows in self.written.items()]
        return ()


def checked_kernel(user: Any) -> Any:
    """The kernel or stage, if it can be a controller on lanes."""
    code = plain(user).__code__
    if code.co_argcount != 2 or code.co_flags & 0x0C or code.co_kwonlyargcount:  # stars
        names = ", ".join(code.co_varnames[: code.co_argcount])
        raise TypeError(
            f"controller: a kernel takes the model and the data, `def {user.__name__}(m, d)`, not ({names})"
        )
    if plain(user).scalar_only and not hasattr(user, "stage_index"):
        raise TypeError(
            f"controller: {user.__name__} branches on values (scalar=True), and runs on lanes as a stage alone: "
            "mark it @stage(scalar=True)"
        )
    if getattr(user, "part_of", None):
        raise TypeError(f"controller: {user.__name__} is a part of {user.part_of}, and does not run on its own")
    if not linecache.getlines(code.co_filename, plain(user).__globals__):
        raise TypeError(f"controller: {user.__name__} has no source: kernels stand in files, at the top level")
    return user
