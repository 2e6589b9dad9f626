"""What worlds of a batch step under: nothing but their controls, stable PD, or a kernel of the user's.

The text of a block is that of `blocks.py`, with other kernels in one place: a step is one under stable PD, or its pass calls
the user's kernel where MuJoCo calls mjcb_control. What a controller reads and writes of each world are rows of a plan.
"""

from __future__ import annotations

import functools
import importlib.util
import linecache
from typing import Any, Protocol

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
from .plan import Block


class Under(Protocol):
    """What a run of blocks is under."""

    @property
    def entry(self) -> Entry:
        """The loop over blocks."""

    def join(self, block: Block) -> tuple[int, ...]:
        """Get a block ready; returns the addresses of further handles."""


class Free:
    """No controller."""

    entry = ENTRY

    def join(self, block: Block) -> tuple[int, ...]:
        """Nothing to do."""
        return ()


FREE = Free()


# stable PD


@kernel
def evaluate_worlds(m, d, b, end, a):
    """Torque and acceleration of a block at its state; LACKS_ROOM if it has to begin again."""
    remember_warnings(d)
    begin_pass(m, d)
    evaluate(m, d, a)
    b.news = 1  # if there is none, nothing is told
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
    """Stable PD. constants: integers of its arrays, and h. owner: the name under which blocks have these arrays."""

    def __init__(self, entry: Entry, constants: dict[str, Any], dense: bool):
        self.entry, self.constants, self.dense = entry, constants, dense
        self.owner = "dense_stable_pd" if dense else "stable_pd"

    def join(self, block: Block) -> tuple[int, ...]:
        """The arrays of controllers on this block; nothing in them outlives a call."""
        if self.owner not in block.controllers:
            lanes = block.lanes
            made = Arrays(lanes.model, self.dense, lanes.width, lanes.machine.dtype.name)
            block.controllers[self.owner], block.arrays[self.owner] = made, made.arrays
        arrays = block.controllers[self.owner]
        for name, value in self.constants.items():
            arrays[name] = value
        return (arrays.address,)


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
    """A kernel of the user's."""

    def __init__(self, user: Any):
        self.entry = blocks_under(checked_kernel(user))

    def join(self, block: Block) -> tuple[int, ...]:
        """It has no arrays of its own."""
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
