"""Stages: kernels of (m, d) that are compiled units of their own and carry the public names, like `kt.kinematics`.

* From Python, `kinematics(model, data)` enters compiled code once, with two integers.
* Inside another kernel, `kinematics(m, d)` is a call through the data's table of addresses: no cost at run time, and an
  edit in one stage recompiles that stage alone.
* On records (symbols, or `KINETREE_JIT=0`) it is plain Python.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol, overload

from ..data import Data, until_it_fits
from ..model import Model
from ..needs import Need
from ..occupancy import CALLED, TAKE
from ..workspace import FLOAT_STAGES, LAYOUT
from .decorator import BOUNDS, JIT, kernel
from .entry import Entry
from .guard import COMPILE, answer_with, bring_in, take, through_table
from .loader import c_address
from .machine import MACHINES, float_machine
from .runs import note_run

STAGES: list[Stage] = []  # in the order of the table
THROUGH_TABLE = Entry(through_table, "int64", result="int64")
BRING_IN = Entry(bring_in, result="int64", guarded=False)
TAKE_IT = Entry(take, result="int64", guarded=False)


class Stage(Protocol):
    """A stage as Python sees it."""

    __name__: str
    kernel: Any
    entry: Entry
    when: Need | None
    part_of: str | None
    stage_index: int
    compile_for: Callable[..., Any]
    expect_on: Callable[..., None]

    def __call__(self, model: Model, data: Data) -> None:
        """Run it."""


@overload
def stage(function: Callable[..., Any]) -> Stage: ...
@overload
def stage(
    *, scalar: bool = False, when: Need | None = None, part_of: str | None = None, unfused: bool = False
) -> Callable[[Callable[..., Any]], Stage]: ...
def stage(
    function: Any = None,
    *,
    scalar: bool = False,
    when: Need | None = None,
    part_of: str | None = None,
    unfused: bool = False,
) -> Any:
    """Decorator: make a kernel of (m, d) a stage. The result is a plain function of (model, data), also inside kernels.

    when: the models that it exists for, by a condition of `needs.py`; without one it exists for all. For others it is compiled
    if another stage calls it after all. That must not be while the state moves on: what goes wrong in the compiler is noticed
    after the calling stage has ended.
    part_of: the stage that prepares its input, and then calls it. It trusts that input, so that it does not run on its own.
    unfused: its products are rounded before they are added, also in the kernels that it calls.
    """
    if function is None:
        return lambda f: _staged(f, scalar, when, part_of, unfused)
    return _staged(function, scalar, when, part_of, unfused)


def _staged(function, scalar, when, part_of, unfused):
    inner = kernel(function, scalar=scalar)
    inner.unfused = unfused
    run, index = None, len(STAGES)

    def call(model, data):
        nonlocal run
        try:  # nothing runs in here: what a run raises must not be taken for a wrong argument
            m, d = model._as_model, data._as_data
            ready = m[0] is d[0] and run is not None
        except AttributeError:  # a record, or a wrong argument
            ready = False
        if ready:
            if status := run(m[1], d[1], index):  # there was no room for all contacts or constraints
                until_it_fits(data, status, run, m[1], d[1], index)
            return None
        if isinstance(model, SimpleNamespace) and isinstance(data, SimpleNamespace):
            plain(inner)(model, data)
            plain(note_run)(data, call.stage_index)
            after = getattr(data, "after", {}).get(call)  # what the owner of a record does to the results of a stage
            return after(model, data) if after else None
        check_arguments(call.__name__, model, data)
        refuse_part(call)
        if not JIT:
            until_it_fits(data, run_plain(model, data), run_plain, model, data)
            return None
        if run is None:
            call.compile_for(float_machine(), model)
            run = runner(call, float_machine())
        return call(model, data)

    def run_plain(model, data):
        call(model.record(), data.record())
        return data.overflow

    functools.update_wrapper(call, function)
    del call.__wrapped__  # its signature is (model, data)
    call.__annotations__ = {"model": Model, "data": Data, "return": None}
    call.kernel, call.when, call.part_of = inner, when, part_of
    call.stage_index = index
    call.entry = Entry(inner, result="int64", number=index)
    call.compile_for = call.entry.on
    call.expect_on = functools.partial(_expect_on, call)
    if call.stage_index >= FLOAT_STAGES.size:
        raise RuntimeError("the table of stages is full")
    STAGES.append(call)
    return call


def runner(call, machine):
    """`run(model address, data address, number of the stage)`: what Python calls; BUSY if another thread is inside."""
    if BOUNDS:  # straight, or what is raised would not get through the table
        direct = call.compile_for(machine)
        return lambda model, data, index: direct(model, data)
    return THROUGH_TABLE.on(machine)


def _expect_on(call, machine):
    """Have the stage compiled when it is called, unless it is compiled already."""
    if machine.stages[call.stage_index] == 0:
        machine.stages[call.stage_index] = c_address(BRING_IN.on(machine))


def compile_called(address):
    """Compile the stage that compiled code is about to call on the data at an address."""
    words = ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))
    guard = ctypes.cast(words[LAYOUT.word["guard"]], ctypes.POINTER(ctypes.c_int64))
    STAGES[guard[CALLED]].compile_for(MACHINES[words[LAYOUT.word["stages"]]])


def take_for_python(address):
    """Take the data at an address for this thread; BUSY if another has it."""
    return TAKE_IT.on(float_machine())(0, address)


if JIT:
    answer_with(COMPILE, compile_called)
    TAKE.append(take_for_python)


def refuse_part(call):
    """Raise for a stage that does not run on its own."""
    if call.part_of:
        raise TypeError(f"{call.__name__} is a part of {call.part_of}, and does not run on its own: call that instead")


def check_arguments(name, model, data, without_data=False):
    """A stage runs on a Model and on a Data made for a model of the same sizes: compiled code checks nothing.

    From then on the Data is one of this model: what it remembers of another one is forgotten.
    """
    for what, value, wanted in (("first", model, Model), ("second", data, Data)):
        if not isinstance(value, wanted) and not (without_data and wanted is Data):
            kind = type(value).__name__
            raise TypeError(f"{name}: the {what} argument must be a kinetree {wanted.__name__}, got {kind}")
    if not without_data and model.sizes is not data.sizes:
        wrong = [f"{k} {model.sizes[k]} != {data.sizes[k]}" for k in model.sizes if model.sizes[k] != data.sizes[k]]
        raise ValueError(f"{name}: this Data belongs to another model ({', '.join(wrong[:4])})")
    if not without_data:
        data._adopt(model)


def plain(function):
    """The uncompiled function of a kernel or stage."""
    return getattr(function, "kernel", function)
