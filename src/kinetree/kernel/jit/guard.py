"""What the functions of `kernel/guard.py` are in compiled code, and the call of a stage through the table."""

import sys

from llvmlite import ir

from ...occupancy import CALLED, ERROR, OWNER
from ..guard import MILLISECOND, ask_python, call_stage, clock, give_up, take_if_free, thread
from .primitives import RULES
from .python import OBJECT, VOID, external, interpreter
from .types import I32, I64, INT
from .values import NONE, Value

COARSE_CLOCK = 6  # CLOCK_MONOTONIC_COARSE of Linux, to 4 ms in 10 ns; CLOCK_MONOTONIC of macOS
NANOSECONDS = 10**9  # in a second


def pointer_to(builder, d, data, field, index):
    """Pointer to an entry of one of the driver's fields of a handle of type d."""
    word = builder.gep(data, [ir.Constant(I64, d.fields[field][1])])
    table = builder.inttoptr(builder.load(word), I64.as_pointer())
    return builder.gep(table, [index if isinstance(index, ir.Value) else ir.Constant(I64, index)])


def emit_stage_call(builder, d, model, data, number):
    """The call through the table, in LLVM; the number is noted for a stage that is yet to be compiled."""
    builder.store(number, pointer_to(builder, d, data, "guard", CALLED))
    address = builder.load(pointer_to(builder, d, data, "stages", number))
    function = builder.inttoptr(address, ir.FunctionType(I64, [I64, I64]).as_pointer())
    return builder.call(function, [builder.ptrtoint(x, I64) for x in (model, data)])


def _call_stage(translator, m, d, index):
    return Value(INT, (emit_stage_call(translator.builder, d.type, m.part, d.part, index.part),))


def _clock(translator):
    builder = translator.builder
    if sys.platform == "win32":
        ticks = external(builder, "GetTickCount64", I64)
        return Value(INT, (builder.mul(ticks, ir.Constant(I64, MILLISECOND)),))
    time = ir.IRBuilder(translator.first).alloca(I64, 2)
    external(builder, "clock_gettime", I32, ir.Constant(I32, COARSE_CLOCK), time)
    seconds, rest = (builder.load(builder.gep(time, [ir.Constant(I64, k)])) for k in range(2))
    return Value(INT, (builder.add(builder.mul(seconds, ir.Constant(I64, NANOSECONDS)), rest),))


def _thread(translator):
    return Value(INT, (external(translator.builder, "PyThread_get_thread_ident", I64),))


def _take_if_free(translator, d, me):
    builder = translator.builder
    owner = pointer_to(builder, d.type, d.part, "guard", OWNER)
    before = builder.cmpxchg(owner, ir.Constant(I64, 0), me.part, "acq_rel", "acquire")
    return Value(INT, (builder.extract_value(before, 0),))


def _give_up(translator, d):
    owner = pointer_to(translator.builder, d.type, d.part, "guard", OWNER)
    translator.builder.store_atomic(ir.Constant(I64, 0), owner, "release", 8)
    return NONE


def _ask_python(translator, d, which):
    builder = translator.builder
    with interpreter(builder):
        word = builder.load(pointer_to(builder, d.type, d.part, "process", which.part))
        argument = external(builder, "PyLong_FromLongLong", OBJECT, builder.ptrtoint(d.part, I64))
        arguments = external(builder, "PyTuple_New", OBJECT, ir.Constant(I64, 1))
        external(
            builder, "PyTuple_SetItem", I32, arguments, ir.Constant(I64, 0), argument
        )  # which takes the argument over
        answer = external(builder, "PyObject_CallObject", OBJECT, builder.inttoptr(word, OBJECT), arguments)
        external(builder, "Py_DecRef", VOID, arguments)
        raised = builder.icmp_unsigned("==", answer, ir.Constant(OBJECT, None))
        with builder.if_then(raised):
            words = [pointer_to(builder, d.type, d.part, "guard", ERROR + k) for k in range(3)]
            external(builder, "PyErr_Fetch", VOID, *(builder.bitcast(word, OBJECT.as_pointer()) for word in words))
        external(builder, "Py_DecRef", VOID, answer)  # which takes null
    return Value(INT, (builder.zext(builder.not_(raised), I64),))


RULES |= {
    call_stage: _call_stage, clock: _clock, thread: _thread, take_if_free: _take_if_free, give_up: _give_up,
    ask_python: _ask_python,
}  # fmt: skip
