"""The arrays of a stable PD controller: gains, target and limits, what is computed from them, and scratch.

In kernels they are the third handle, `a`, beside the model and the data: `a.kp[i]`, `a.target[k]`. Declared once like the
fields of Data, they exist for one world on floats and, with one more axis, for worlds side by side on lanes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..data import Data, let_in
from ..fields import REAL, Field
from ..kernel import JIT, Entry, float_machine
from ..kernel.machine import Machine
from ..kernel.stage import plain
from ..layout import Layout
from ..memory import Memory
from ..model import Model

FIELDS = {
    name: Field(name, dims, REAL, unit, meaning)
    for name, dims, unit, meaning in (
        ("kp", "nv", "mixed", "stiffness of each dof"),
        ("kd", "nv", "mixed", "damping of each dof"),
        ("target", "nq", "mixed", "configuration to reach"),
        ("torque_range", "nv", "mixed", "largest torque either way, infinite where there is no limit"),
        ("h", "1", "s", "time step"),
        ("error", "nv", "mixed", "target less predicted configuration"),
        ("force", "nv", "mixed", "Q = kp error - kd qvel"),
        ("diagonal", "nv", "mixed", "what the controller adds to the diagonal of M"),
        ("damping", "nv", "mixed", "what the damping of the model adds to it, at torque limits too"),
        ("torque", "nv", "mixed", "result: what the controller applies"),
        ("acceleration", "nv", "mixed", "result: the acceleration under it"),
        ("predicted", "nq", "mixed", "scratch: configuration after a step at the present velocity"),
        ("smooth", "nv", "mixed", "scratch: passive, applied and actuator force"),
        ("held", "nv", "1", "scratch of limits: 1 where the torque is held at a number, else 0"),
        ("start", "nv", "mixed", "scratch of limits: acceleration from which the next solve sets out"),
        ("start_force", "nv", "mixed", "scratch of limits: torque and constraint force that this acceleration takes"),
        ("end_force", "nv", "mixed", "scratch of limits: those that the last solution takes"),
        ("gave_up", "1", "1", "result: how often torque limits did not settle"),
        ("matrix", "ndense ndense", "mixed", "scratch of the dense solver: M as changed, then its factor"),
    )
}
# Integers, the same in all worlds: who solves, how, how often, and what came of it. model_step: h is that of the model;
# constrained: constraints count, as they do in a step; coupled: the damping of the model has entries beside its diagonal.
CONSTANTS = dict.fromkeys(
    (
        "solver",
        "implicit",
        "limited",
        "model_step",
        "solves",
        "unsettled",
        "constrained",
        "coupled",
    ),
    "int64",
)
LAYOUT = Layout("stable_pd", FIELDS, CONSTANTS)


class Arrays:
    """The arrays of a controller of one world, or of `width` worlds on lanes of a dtype."""

    def __init__(self, model: Model, dense: bool = False, width: int | None = None, dtype: str = "float64"):
        sizes = {**model.sizes, "ndense": model.nv if dense else 0}
        self.arrays = Memory(LAYOUT, sizes, width, dtype)
        self.words, self.address = self.arrays.tables[0], self.arrays.address

    def with_matrix(self, model: Model) -> Arrays:
        """The same with room for a dense matrix."""
        out = Arrays(model, dense=True)
        for name in (*FIELDS, *CONSTANTS):
            if name != "matrix":
                out[name] = self[name]
        return out

    def __getitem__(self, name: str) -> Any:
        """An array, or the value of a constant."""
        return self.arrays[name] if name in FIELDS else int(self.words[LAYOUT.word[name]])

    def __setitem__(self, name: str, value: Any) -> None:
        """Write into an array, or a constant. Nothing is checked here: the controller has done it."""
        if name in FIELDS:
            self.arrays[name][...] = value
        else:
            self.words[LAYOUT.word[name]] = value

    def record(self) -> SimpleNamespace:
        """The arrays for kernels that run as plain Python; constants are copies."""
        return SimpleNamespace(**self.arrays, **{name: self[name] for name in CONSTANTS})


_ENTRIES: dict[Any, Entry] = {}


def declare(*kernels: Any, further: tuple[str, ...] = ()) -> None:
    """Make entries of kernels of (m, d, a) and further numbers that return an integer."""
    for kernel in kernels:
        _ENTRIES[kernel] = Entry(kernel, LAYOUT, *further, result="int64")


def entry(kernel: Any, machine: Machine, model: Model) -> Any:
    """Machine code of one of them: `run(model address, data address, arrays address)`, and numbers where it takes some."""
    return _ENTRIES[kernel].on(machine, model)


def run(kernel: Any, model: Model, data: Data, arrays: Arrays, *numbers: int) -> int:
    """Run a kernel of (m, d, a) and numbers on one world."""
    data._adopt(model)
    if JIT:
        code = entry(kernel, float_machine(), model)
        return let_in(data, code, model.address, data.address, arrays.address, *numbers)
    record = arrays.record()
    status = plain(kernel)(model.record(), data.record(), record, *numbers)
    arrays["unsettled"] = record.unsettled
    return status
