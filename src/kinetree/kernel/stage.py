"""Stages: kernels of (m, d) that are compiled units of their own and carry the public names, like `kt.kinematics`.

* From Python, `kinematics(model, data)` enters compiled code once, with two integers.
* Inside another kernel, `kinematics(m, d)` is a call through the data's table of addresses: no cost at run time, and an
  edit in one stage recompiles that stage alone.
* On records (symbols, or `KINETREE_JIT=0`) it is plain Python.
"""

import ctypes
import functools
from types import SimpleNamespace

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

from ..data import FLOAT_STAGES, LAYOUT, PENDING, Data
from ..model import Model
from .decorator import JIT, kernel
from .entry import c_address, compiled, note_run
from .machine import float_machine

I64 = ir.IntType(64)
STAGES = []  # in the order of the table
ADDRESS = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
_FIRST_CALLS = []  # keeps the functions alive whose addresses stand in tables


def stage(function=None, *, scalar=False, rare=False, unfused=False):
    """Decorator: make a kernel of (m, d) a stage. The result is a plain function of (model, data), also inside kernels.

    rare: many models do without it, so that it is compiled when another stage first calls it. Not for a stage that is called
    while the state moves on: what goes wrong in the compiler is noticed after the calling stage has ended.
    unfused: its products are rounded before they are added, also in the kernels that it calls; see `rounding.py`.
    """
    if function is None:
        return lambda f: stage(f, scalar=scalar, rare=rare, unfused=unfused)
    inner = kernel(function, scalar=scalar)
    inner.unfused = unfused
    run = None

    def call(model, data):
        nonlocal run
        try:
            m, d = model._as_model, data._as_data
            if m[0] is d[0]:
                while run(m[1], d[1]):  # there was no room for all contacts or constraints
                    data._grow()
                return None
        except (AttributeError, TypeError):  # the first call, a record, or a wrong argument
            pass
        if isinstance(model, SimpleNamespace) and isinstance(data, SimpleNamespace):
            plain(inner)(model, data)
            plain(note_run)(data, call.stage_index, getattr(model, "address", 0))
            after = getattr(data, "after", {}).get(call)  # what the owner of a record does to the results of a stage
            return after(model, data) if after else None
        check_arguments(call.__name__, model, data)
        if not JIT:
            call(model.record(), data.record())
            while data.overflow:
                data._grow()
                call(model.record(), data.record())
            return None
        run = call.compile_for(float_machine())
        return call(model, data)

    functools.update_wrapper(call, function)
    del call.__wrapped__  # its signature is (model, data)
    call.kernel = inner
    call.stage_index = len(STAGES)
    call.compile_for = functools.partial(_compile_for, call)
    call.expect_on = functools.partial(_expect_on if rare else _compile_for, call)
    if call.stage_index >= FLOAT_STAGES.size:
        raise RuntimeError("the table of stages is full")
    STAGES.append(call)
    if JIT:
        _register(call)
    return call


def _register(call):
    """Teach Numba the indirect call."""

    def define(context, m, d):
        def generate(context, builder, sig, args):
            word = builder.gep(args[1], [ir.Constant(I64, d.fields["stages"][1])])
            table = builder.inttoptr(builder.load(word), I64.as_pointer())
            address = builder.load(builder.gep(table, [ir.Constant(I64, call.stage_index)]))
            function = builder.inttoptr(address, ir.FunctionType(ir.VoidType(), [I64, I64]).as_pointer())
            builder.call(function, [builder.ptrtoint(x, I64) for x in args])
            return context.get_dummy_value()

        return types.void(m, d), generate

    template = make_intrinsic_template(call, define, call.__name__, kwargs={})
    infer(template)
    infer_global(call, types.Function(template))


def _compile_for(call, machine):
    """Machine code of a stage, entered in the machine's table; returns `run(model address, data address)`."""
    run = compiled(call.kernel, machine, number=call.stage_index, result="int64")
    machine.stages[call.stage_index] = c_address(run)
    return run


def _expect_on(call, machine):
    """Enter a function in the machine's table that compiles the stage when it is called, unless it is compiled already."""
    if machine.stages[call.stage_index] == 0:

        def first_call(model, data):
            try:
                call.compile_for(machine)
                ADDRESS(int(machine.stages[call.stage_index]))(model, data)
            except BaseException as error:  # an interrupt too: compiled code cannot raise, but it can come to an end
                PENDING[data] = error
                _ask_for_room(data)

        _FIRST_CALLS.append(ADDRESS(first_call))
        machine.stages[call.stage_index] = ctypes.cast(_FIRST_CALLS[-1], ctypes.c_void_p).value


def _ask_for_room(data):
    """Raise the flag on which drivers leave compiled code; data: address of a table of words."""
    words = ctypes.cast(data, ctypes.POINTER(ctypes.c_int64))
    ctypes.cast(words[LAYOUT.word["overflow"]], ctypes.POINTER(ctypes.c_int32))[0] = 1


def check_arguments(name, model, data, without_data=False):
    """A stage runs on a Model and on a Data made for a model of the same sizes: compiled code checks nothing."""
    for what, value, wanted in (("first", model, Model), ("second", data, Data)):
        if not isinstance(value, wanted) and not (without_data and wanted is Data):
            kind = type(value).__name__
            raise TypeError(f"{name}: the {what} argument must be a kinetree {wanted.__name__}, got {kind}")
    if not without_data and model.sizes is not data.sizes:
        wrong = [f"{k} {model.sizes[k]} != {data.sizes[k]}" for k in model.sizes if model.sizes[k] != data.sizes[k]]
        raise ValueError(f"{name}: this Data belongs to another model ({', '.join(wrong[:4])})")


def plain(function):
    """The uncompiled function of a kernel or stage."""
    inner = getattr(function, "kernel", function)
    return getattr(inner, "py_func", inner)
