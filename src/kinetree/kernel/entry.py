"""Entries: kernels as machine code that takes one integer, an address, for each handle.

Passing a Python object of a custom type costs 3 us in Numba's type lookup, integers 0.1 us. An entry is compiled (or
fetched from the cache) when it is made, and so are the stages that it calls, but for rare ones: see `stage`.
"""

import functools
import gc
import threading

from llvmlite import ir
from numba import njit
from numba.core import types
from numba.core.compiler import Compiler
from numba.extending import intrinsic

from ..occupancy import BUSY, CALLED, ERROR, INSIDE, MAIN, OWNER, SINCE
from .cache import reach, stamp, unfused
from .decorator import BOUNDS
from .decorator import kernel as mark_kernel
from .guard import TAKEN, enter, leave
from .machine import lane_view
from .progress import announce
from .store import EntryCache
from .undisturbed import undisturbed

try:
    from .rounding import RoundingCompiler
except ImportError:  # Numba's internals moved: last digits may differ from MuJoCo's
    RoundingCompiler = Compiler


def _caster(handle):
    """A compiled cast from an address to a handle; a plain integer stays one."""
    if handle == types.int64:
        return njit(lambda address: address)

    @intrinsic
    def cast(context, address):
        def generate(context, builder, sig, args):
            return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

        return handle(types.int64), generate

    return cast


WORDS = (OWNER, INSIDE, SINCE, CALLED, ERROR, MAIN, BUSY)  # numbers that are in the code
_DISPATCHERS = {}  # entry point -> dispatcher, which owns the code

ENTRY = """def {name}({names}):
    found = enter(as_d(d))
    if found == TAKEN:
        return BUSY
    result = kernel({handles})
    leave(as_d(d), found)
    return result
"""
WITHOUT_RESULT = ENTRY.replace("result = ", "").replace("return result", "return 0")
UNGUARDED = """def {name}({names}):
    return kernel({handles})
"""
STAGE = """def {name}(m, d):
    kernel(as_m(m), as_d(d))
    return note_run(as_d(d), {number})
"""
LANE_BY_LANE = """def {name}(m, d):
    views, lane = as_d(d).views, 0
    while views[lane] != 0:  # a known count would be unrolled into as many copies
        kernel(as_m(m), as_view(views[lane]))
        lane += 1
    return note_run(as_d(d), {number})
"""


@mark_kernel
def note_run(d, index):
    """Count the run of a stage, and note its place in the order of all runs. 1 if it lacked room."""
    d.stage_clock[0] += 1
    d.stage_order[index] = d.stage_clock[0]
    d.stage_runs[index] += 1
    return d.overflow[0]


def compiled(kernel, machine, *arguments, result="void", number=None, guarded=True):
    """`run(model address, data address, ...)` for a machine. Stages that it calls are compiled too, or when they are called.

    arguments: handle types of further arguments, as `function.py` makes them, or int64. result: what the kernel returns; the
    entry returns BUSY instead if another thread is inside the data, else 0 where the kernel returns nothing.
    number: of a stage, whose runs are counted. Its entry is called by others, and so are those that are not guarded.
    """

    def work():
        with _ONE_AT_A_TIME:
            return _compiled(kernel, machine, *arguments, result=result, number=number, guarded=guarded)

    return undisturbed(work)


_ONE_AT_A_TIME = threading.RLock()  # threads that need the same code wait for it instead of making it twice


@functools.cache
def _compiled(kernel, machine, *arguments, result, number, guarded):
    for stage in reach(kernel)[1]:
        stage.expect_on(machine)
    handles = [machine.model_type, machine.data_type, *arguments]
    names = ["m", "d", *(f"a{i}" for i in range(len(arguments)))]
    scope = {
        "kernel": kernel,
        "note_run": note_run,
        **{"enter": enter, "leave": leave, "TAKEN": TAKEN, "BUSY": BUSY},
        **{f"as_{n}": _caster(t) for n, t in zip(names, handles, strict=True)},
    }
    lanes = machine.width is not None and machine.width > 1
    text = STAGE if number is not None else ENTRY if result != "void" else WITHOUT_RESULT
    if number is None and (not guarded or BOUNDS):  # an index out of bounds raises, and would leave the data taken
        text = UNGUARDED
    elif result == "void":
        result = "int64"
    if kernel.scalar_only and lanes:
        if arguments or number is None:
            raise TypeError(f"{kernel.__name__} branches on values and is no stage: it cannot run on lanes")
        view = lane_view(machine.dtype.name, machine.width)
        scope["as_view"] = _caster(view.data_type)
        text, handles = LANE_BY_LANE, [*handles, view.data_type]
    mark = stamp(kernel, (number, text, WORDS), *handles)
    # Cached code is found by its symbol: without the mark, two machines loaded from the cache would share a name.
    name = f"{kernel.py_func.__name__}_{mark[:16]}"
    casts = ", ".join(f"as_{n}({n})" for n in names)
    source = text.format(name=name, names=", ".join(names), handles=casts, number=number)
    exec(compile(source, "<kinetree>", "exec"), scope)
    run = scope[name]
    run.__module__ = __name__
    signature = f"{result}({', '.join(['int64'] * len(names))})"
    collecting = gc.isenabled()
    gc.disable()  # a tenth of the compile time
    try:
        pipeline = RoundingCompiler if unfused(kernel) else Compiler
        dispatcher = njit(nogil=True, error_model="numpy", pipeline_class=pipeline)(run)
        dispatcher._cache = EntryCache(name, mark, functools.partial(announce, kernel.py_func.__name__))
        dispatcher.compile(signature)
    finally:
        if collecting:
            gc.enable()
    result = next(iter(dispatcher.overloads.values()))
    _DISPATCHERS[result.entry_point] = dispatcher
    return result.entry_point  # without the dispatcher's look at argument types: half the cost of a call


def c_address(run):
    """The address of an entry as int64(int64, int64). An exception inside it is printed, not raised: use status words."""
    result = next(iter(_DISPATCHERS[run].overloads.values()))
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


def from_cache(run):
    """Whether an entry came from the cache on disk rather than from the compiler."""
    return bool(_DISPATCHERS[run].stats.cache_hits)
