"""Calls from compiled code into Python and C: functions by name, the interpreter's lock around them, and its errors.

Only symbols of Python and of the C library are named: nothing else need be there where the code runs.
"""

from contextlib import contextmanager

from llvmlite import ir

from .types import I8, I32

OBJECT = I8.as_pointer()
VOID = ir.VoidType()


def external(builder, name, result, *arguments):
    """Call a C function with values of LLVM."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


@contextmanager
def interpreter(builder):
    """What is built inside runs with the interpreter's lock, which compiled code does without."""
    state = external(builder, "PyGILState_Ensure", I32)
    yield
    external(builder, "PyGILState_Release", VOID, state)


def raise_index_error(builder, message):
    """Set Python's error: it is raised by the function that Python called, once that returns."""
    module, content = builder.module, bytearray(message.encode() + b"\0")
    with interpreter(builder):
        error = module.globals.get("PyExc_IndexError") or ir.GlobalVariable(module, OBJECT, "PyExc_IndexError")
        kind = ir.ArrayType(I8, len(content))
        text = ir.GlobalVariable(module, kind, module.get_unique_name("message"))
        text.initializer, text.global_constant, text.linkage = ir.Constant(kind, content), True, "internal"
        external(builder, "PyErr_SetString", VOID, builder.load(error), builder.bitcast(text, OBJECT))
