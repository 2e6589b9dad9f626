"""Entries: kernels as machine code that takes one integer, an address, for each handle.

Passing a Python object of a custom type costs 3 us in Numba's type lookup, integers 0.1 us. An entry is compiled (or
fetched from the cache) when it is made, so no thread ever meets a first compile.
"""

import functools
import gc

from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from .cache import reach, stamp
from .machine import lane_view


def _caster(handle):
    @intrinsic
    def cast(context, address):
        def generate(context, builder, sig, args):
            return builder.inttoptr(args[0], ir.IntType(64).as_pointer())

        return handle(types.int64), generate

    return cast


_DISPATCHERS = {}  # entry point -> dispatcher, which owns the code

ENTRY = """def {name}(m, d):
    kernel(as_model(m), as_data(d))
"""
LANE_BY_LANE = """def {name}(m, d):
    views = as_data(d).views
    for lane in range({width}):
        kernel(as_model(m), as_view(views[lane]))
"""


@functools.cache
def compiled(kernel, machine):
    """`run(model address, data address)` for a machine, with every stage it reaches compiled as well."""
    for stage in reach(kernel)[1]:
        stage.compile_for(machine)
    scope = {"kernel": kernel, "as_model": _caster(machine.model_type), "as_data": _caster(machine.data_type)}
    text, handles = ENTRY, [machine.model_type, machine.data_type]
    if kernel.scalar_only and machine.width is not None and machine.width > 1:
        view = lane_view(machine.dtype.name, machine.width)
        scope["as_view"] = _caster(view.data_type)
        text, handles = LANE_BY_LANE, [*handles, view.data_type]
    mark = stamp(kernel, *handles)
    # Cached code is found by its symbol: without the mark, two machines loaded from the cache would share a name.
    name = f"{kernel.py_func.__name__}_{mark[:16]}"
    exec(compile(text.format(name=name, width=machine.width), "<kinetree>", "exec"), scope)
    run = scope[name]
    run.__module__ = __name__
    run.__kinetree_stamp__ = mark
    collecting = gc.isenabled()
    gc.disable()  # a tenth of the compile time
    try:
        dispatcher = njit("void(int64, int64)", cache=True, nogil=True, error_model="numpy")(run)
    finally:
        if collecting:
            gc.enable()
    result = next(iter(dispatcher.overloads.values()))
    _DISPATCHERS[result.entry_point] = dispatcher
    return result.entry_point  # without the dispatcher's look at argument types: half the cost of a call


def c_address(run):
    """The address of an entry as void(int64, int64). An exception inside it is printed, not raised: use status words."""
    result = next(iter(_DISPATCHERS[run].overloads.values()))
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


def from_cache(run):
    """Whether an entry came from the cache on disk rather than from the compiler."""
    return bool(_DISPATCHERS[run].stats.cache_hits)
