"""Which machine code belongs to a kernel: a stamp over everything that determines it.

A file's date tells nothing of an edit in a helper elsewhere. Here the code of all kernels that an entry reaches counts, the
plain constants they use, the files of the compiler, the layouts of the machine and the version of LLVM.
"""

import functools
import hashlib
import importlib.metadata
import pathlib
import types as pytypes

from .decorator import BOUNDS
from .names import named_in

COMPILER = pathlib.Path(__file__).parent / "jit"
NOT_IN_CODE = ("host.py", "library.py", "worker.py")  # files of it that have no part in machine code


def version(package):
    """The version of an installed package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def language_digest(folder):
    """Digest of the compiler: its files, the switches that change the code they make, and what it is made of."""
    h = hashlib.sha256(repr((version("llvmlite"), BOUNDS)).encode())
    for path in sorted(pathlib.Path(folder).glob("*.py")):
        if path.name not in NOT_IN_CODE:
            h.update(path.name.encode() + path.read_bytes())
    return h.hexdigest()


@functools.cache
def language():
    """Digest of our own compiler."""
    return language_digest(COMPILER)


@functools.cache
def describe(function):
    """A kernel's own digest, the kernels it names, and the stages it calls through the table."""
    apart = getattr(function, "apart", False)
    h = hashlib.sha256(f"{function.__module__}.{function.__qualname__} {apart}".encode())
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        h.update(code.co_code)
        h.update(repr(code.co_names).encode())
        for constant in code.co_consts:
            if isinstance(constant, pytypes.CodeType):
                codes.append(constant)
            else:
                h.update(repr(constant).encode())
    callees, stages = [], []
    for name, value in named_in(function):
        if hasattr(value, "stage_index"):
            stages.append(value)
            h.update(f"{name}=stage {value.stage_index}".encode())  # its index is in the code, its body is not
        elif isinstance(value, pytypes.FunctionType):
            callees.append(value)
            h.update(f"{name}={value.__module__}.{value.__qualname__}".encode())  # a variant may lead to another
        elif isinstance(value, (int, float, str, tuple)):
            h.update(f"{name}={value!r}".encode())  # globals are frozen: they are part of the code
    return h.digest(), tuple(callees), tuple(stages)


@functools.cache
def reach(kernel, lane_by_lane=False):
    """Digests of a kernel and of every kernel it reaches, and the stages they call. lane_by_lane: these are compiled in."""
    seen, todo, digests, stages = set(), [kernel], [], []
    while todo:
        f = todo.pop()
        if f not in seen:
            seen.add(f)
            digest, callees, called = describe(f)
            digests.append(digest)
            todo += callees
            if lane_by_lane:
                todo += [s.kernel for s in called]
            else:
                stages += [s for s in called if s not in stages]
    return digests, stages


def stamp(kernel, *settings, lane_by_lane=False):
    """Digest of everything that determines an entry's machine code, apart from the level of the processor."""
    h = hashlib.sha256(repr((language(), lane_by_lane, *settings)).encode())
    for digest in reach(kernel, lane_by_lane)[0]:
        h.update(digest)
    return h.hexdigest()
