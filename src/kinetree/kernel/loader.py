"""Machine code made callable: objects linked in memory by llvmlite, libraries by the system.

An entry has two symbols: `c_NAME(int64, ...) -> int64`, which stands in tables of stages, and `py_NAME`, a METH_FASTCALL
function of Python's stable ABI, which becomes a builtin function here.
"""

import ctypes
import functools

METH_FASTCALL = 0x80
_ADDRESSES = {}  # builtin -> address of c_NAME


class MethodDefinition(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


@functools.cache
def _new_function():
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(MethodDefinition), ctypes.c_void_p, ctypes.c_void_p]
    return make


def callable_at(name, python_address, c_address):
    """`run(address, ...)` of an entry."""
    method = MethodDefinition(name.encode(), python_address, METH_FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))  # never freed: at the end of the process functions go last
    run = _new_function()(ctypes.byref(method), None, None)
    _ADDRESSES[run] = c_address
    return run


def c_address(run):
    """The address of an entry as int64(int64, ...)."""
    return _ADDRESSES[run]


@functools.cache
def _engine():
    import llvmlite.binding as llvm

    for part in (llvm.initialize_native_target, llvm.initialize_native_asmprinter):
        part()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm, llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def load_object(name, content):
    """`run` of an entry whose object file is given as bytes."""
    llvm, engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    return callable_at(name, engine.get_function_address(f"py_{name}"), engine.get_function_address(f"c_{name}"))
