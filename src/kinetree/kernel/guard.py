"""What compiled code does about threads and signals: who is inside a Data, and when Python must have a word.

* An entry takes the Data for its thread and gives it back when it leaves: another thread is refused, by a status word.
* Loops that may take long look at the clock (`time_is_up`). Steps then pause, between two of them: on the way through Python
  its handlers of signals run. A solve goes on until one of them has raised (`interrupted`): it is then broken off by the flag
  that says that room was missing, on which every pass is undone, and the driver raises what was kept.
* A stage that is yet to be compiled has `bring_in` in its place in the table, which asks Python for it.
Python runs in the main thread only, where its signals are handled; other threads are never kept waiting for its lock.
The words of a Data's guard and their meaning stand in `occupancy.py`.
"""

import os
import sys
import threading

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

from ..occupancy import BUSY, CALLED, ERROR, INSIDE, MAIN, OWNER, PROCESS, SINCE
from .decorator import JIT, kernel

I32, I64 = ir.IntType(32), ir.IntType(64)
COARSE_CLOCK = 6  # CLOCK_MONOTONIC_COARSE of Linux, to 4 ms in 10 ns; CLOCK_MONOTONIC of macOS
NANOSECONDS, MILLISECOND = 10**9, 10**6
STEPS, SOLVE = 20 * MILLISECOND, 25 * MILLISECOND  # longest time without a look at signals: between steps, in a solve
NEVER = 2**62
FREE, MINE, TAKEN = 0, 1, 2  # how a thread finds a Data: nobody's, its own already, or another's


def teach(function, define):
    """Teach Numba a function that is written in LLVM; define(context, *argument types) is like that of an intrinsic."""
    if JIT:
        template = make_intrinsic_template(function, define, function.__name__, kwargs={})
        infer(template)
        infer_global(function, types.Function(template))


def pointer_to(builder, d, data, field, index):
    """Pointer to an entry of one of the driver's fields of a handle of type d."""
    word = builder.gep(data, [ir.Constant(I64, d.fields[field][1])])
    table = builder.inttoptr(builder.load(word), I64.as_pointer())
    return builder.gep(table, [index if isinstance(index, ir.Value) else ir.Constant(I64, index)])


def call_stage(m, d, index):
    """Call the stage of that number through the data's table; what it returns."""


def clock():
    """Time in ns since whenever, roughly; 0 in plain Python, which sees to signals by itself."""
    return 0


def thread():
    """The number of the thread that this runs in."""
    return threading.get_ident()


def take_if_free(d, me):
    """Make a thread the owner of a Data that has none, in one step that no thread can come in between; the owner before."""


def give_up(d):
    """Let other threads have the Data, with all that was written to it."""


def ask_python(d, which):
    """Call a function of Python with the address of d; 1 if all is well, 0 if it raised, which is kept for the driver."""


def _define_call_stage(context, m, d, index):
    def generate(context, builder, sig, args):
        number = context.cast(builder, args[2], sig.args[2], types.int64)
        return emit_stage_call(builder, d, args[0], args[1], number)

    return types.int64(m, d, index), generate


def emit_stage_call(builder, d, model, data, number):
    """The call through the table, in LLVM; the number is noted for a stage that is yet to be compiled."""
    builder.store(number, pointer_to(builder, d, data, "guard", CALLED))
    address = builder.load(pointer_to(builder, d, data, "stages", number))
    function = builder.inttoptr(address, ir.FunctionType(I64, [I64, I64]).as_pointer())
    return builder.call(function, [builder.ptrtoint(x, I64) for x in (model, data)])


def _define_clock(context):
    def generate(context, builder, sig, args):
        if sys.platform == "win32":
            ticks = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I64, []), "GetTickCount64")
            return builder.mul(builder.call(ticks, []), ir.Constant(I64, MILLISECOND))
        kind = ir.FunctionType(I32, [I32, I64.as_pointer()])
        read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        time = cgutils.alloca_once(builder, I64, 2)
        builder.call(read, [ir.Constant(I32, COARSE_CLOCK), time])
        seconds, rest = (builder.load(builder.gep(time, [ir.Constant(I64, k)])) for k in range(2))
        return builder.add(builder.mul(seconds, ir.Constant(I64, NANOSECONDS)), rest)

    return types.int64(), generate


def _define_thread(context):
    def generate(context, builder, sig, args):
        kind = ir.FunctionType(I64, [])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "PyThread_get_thread_ident"), [])

    return types.int64(), generate


def _define_take(context, d, me):
    def generate(context, builder, sig, args):
        owner = pointer_to(builder, d, args[0], "guard", OWNER)
        before = builder.cmpxchg(owner, ir.Constant(I64, 0), args[1], "acq_rel", "acquire")
        return builder.extract_value(before, 0)

    return types.int64(d, types.int64), generate


def _define_give_up(context, d):
    def generate(context, builder, sig, args):
        owner = pointer_to(builder, d, args[0], "guard", OWNER)
        builder.store_atomic(ir.Constant(I64, 0), owner, "release", 8)
        return context.get_dummy_value()

    return types.void(d), generate


def _define_ask(context, d, which):
    def generate(context, builder, sig, args):
        python = context.get_python_api(builder)
        lock = python.gil_ensure()
        slot = context.cast(builder, args[1], sig.args[1], types.int64)
        function = builder.load(pointer_to(builder, d, args[0], "process", slot))
        argument = python.long_from_longlong(builder.ptrtoint(args[0], I64))
        answer = python.call_function_objargs(builder.inttoptr(function, python.pyobj), [argument])
        python.decref(argument)
        raised = cgutils.is_null(builder, answer)
        with builder.if_else(raised) as (failed, well):
            with failed:
                words = [pointer_to(builder, d, args[0], "guard", ERROR + k) for k in range(3)]
                python.err_fetch(*(builder.bitcast(word, python.pyobjptr) for word in words))
            with well:
                python.decref(answer)
        python.gil_release(lock)
        return builder.zext(builder.not_(raised), I64)

    return types.int64(d, which), generate


teach(call_stage, _define_call_stage)
teach(clock, _define_clock)
teach(thread, _define_thread)
teach(take_if_free, _define_take)
teach(give_up, _define_give_up)
teach(ask_python, _define_ask)


@kernel
def enter(d):
    """Take a Data for this thread: FREE, or MINE if Python has it in this thread; TAKEN if compiled code is inside already."""
    me = thread()
    owner = take_if_free(d, me)
    if owner != 0 and (owner != me or d.guard[INSIDE] != 0):
        return TAKEN
    d.guard[INSIDE] = 1
    d.guard[SINCE] = 0
    return FREE if owner == 0 else MINE


@kernel
def leave(d, found):
    """Leave it as it was found."""
    d.guard[INSIDE] = 0
    if found == FREE:
        give_up(d)


@kernel
def take(m, d):
    """Take a Data for Python in this thread; BUSY if another has it."""
    owner = take_if_free(d, thread())
    return 0 if owner == 0 else BUSY


@kernel
def through_table(m, d, index):
    """What Python calls to run a stage."""
    return call_stage(m, d, index)


@kernel
def bring_in(m, d):
    """Stands in the table for stages that are yet to be compiled: has that done, and runs them."""
    index = d.guard[CALLED]
    if ask_python(d, COMPILE) == 0:
        d.overflow[0] = 1
        return 1
    return call_stage(m, d, index)


@kernel
def time_is_up(d, patience):
    """Whether there has been no look at signals for that long [ns], where they are handled: in Python's main thread."""
    now = clock()
    if now == 0:
        return False
    if d.guard[SINCE] == 0:
        d.guard[SINCE] = now
    return now - d.guard[SINCE] > patience and thread() == d.process[MAIN]


@kernel
def interrupted(d):
    """For loops that may take long: whether to leave, as the pass will be undone. A handler of a signal may have raised."""
    if time_is_up(d, SOLVE):
        if ask_python(d, LISTEN) == 0:
            d.overflow[0] = 1
        d.guard[SINCE] = clock()
    return d.overflow[0] != 0


@kernel
def hear_nothing(d):
    """No look at signals until `hear_again`: the state is on the move, and what is running must come to its end."""
    if clock() != 0:
        d.guard[SINCE] = NEVER


@kernel
def hear_again(d):
    """The opposite."""
    if clock() != 0:
        d.guard[SINCE] = clock()


# Functions of Python that compiled code calls, by their place among the words of the process; kept alive here.
COMPILE, LISTEN = MAIN + 1, MAIN + 2
_CALLED = {}


def answer_with(which, function):
    """The function of Python that `ask_python` calls."""
    _CALLED[which] = function
    PROCESS[which] = id(function)


def listen(address):
    """Nothing: on the way in here Python runs the handlers of signals that have come."""


def _note_main_thread():
    PROCESS[MAIN] = threading.main_thread().ident


answer_with(LISTEN, listen)
_note_main_thread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_main_thread)
