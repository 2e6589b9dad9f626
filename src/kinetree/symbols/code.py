"""C code of a function, compiled and loaded back where there is a compiler.

CasADi writes the C code; the library is called through ctypes with buffers made once, which costs a microsecond where a call
of a CasADi function from Python costs forty.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi
import numpy as np

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-march=native")  # of this machine alone: give other flags for a library that travels


class CompiledFunction:
    """A function on NumPy arrays: `f(q, v, tau)` returns an array, or a tuple of them if there are several outputs.

    source: the C file. library: the compiled file, None where there was no compiler; the CasADi function answers then.
    function: as a CasADi function, for use in expressions and solvers. Used by one thread at a time.
    """

    def __init__(self, function: Any, source: Path, library: Path | None):
        self.name, self.source, self.library = function.name(), source, library
        self.function = function if library is None else casadi.external(self.name, str(library))
        self._inputs = [np.zeros(_shape(function.size_in(i)), order="F") for i in range(function.n_in())]
        self._outputs = [np.zeros(_shape(function.size_out(i)), order="F") for i in range(function.n_out())]
        self._names = function.name_in()
        if library is None:
            self._buffer, self._run = function.buffer()
            for i, array in enumerate(self._inputs):
                self._buffer.set_arg(i, array.reshape(-1, order="F").data)
            for i, array in enumerate(self._outputs):
                self._buffer.set_res(i, array.reshape(-1, order="F").data)
        else:
            self._run = self._entry(function, library)

    def _entry(self, function: Any, library: Path) -> Any:
        """The C function with its arguments bound: they never change, only the numbers they point to."""
        entry = getattr(ctypes.CDLL(str(library)), self.name)
        self._work = np.zeros(max(1, function.sz_w())), np.zeros(max(1, function.sz_iw()), np.int64)
        arguments = (ctypes.c_void_p * max(1, function.sz_arg()))(*(a.ctypes.data for a in self._inputs))
        results = (ctypes.c_void_p * max(1, function.sz_res()))(*(a.ctypes.data for a in self._outputs))
        w, iw = (ctypes.c_void_p(array.ctypes.data) for array in self._work)
        return lambda: entry(arguments, results, iw, w, 0)

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self._inputs):
            raise TypeError(
                f"{self.name} takes {len(self._inputs)} inputs ({', '.join(self._names)}), not {len(values)}"
            )
        for array, value in zip(self._inputs, values, strict=True):
            if type(value) is not np.ndarray or value.shape != array.shape:
                value = self._shaped(array, value)
            array[...] = value
        if self._run():
            raise ArithmeticError(f"{self.name} could not be evaluated")
        if len(self._outputs) == 1:
            return self._outputs[0].copy()
        return tuple(array.copy() for array in self._outputs)

    def _shaped(self, array: np.ndarray, value: Any) -> np.ndarray:
        """A value that is no array of the right shape: lists, single numbers, columns, CasADi's own numbers."""
        out = np.asarray(value, float)
        if out.squeeze().shape == array.squeeze().shape:  # a column or a row, but no transposed matrix
            out = out.reshape(array.shape)
        if out.shape not in (array.shape, ()):
            name = next(n for n, a in zip(self._names, self._inputs, strict=True) if a is array)
            raise ValueError(f"{self.name}: {name} has shape {array.shape}, got {out.shape}")
        return out

    def __repr__(self) -> str:
        how = f"compiled in {self.library.name}" if self.library else "not compiled: no C compiler was found"
        return f"<kinetree CompiledFunction {self.name}({', '.join(self._names)}): {how}>"


def generate(function: Any, folder: str | Path = ".", flags: Sequence[str] = FLAGS, compiler: str | None = None) -> Any:
    """Write the C code of a CasADi function into a folder; compile and load it if there is a C compiler (CC, cc, gcc, clang).

    Files carry a mark of their contents and flags, so that the same function is compiled once.
    """
    if not isinstance(function, casadi.Function):
        raise TypeError(f"generate needs a CasADi function, got {type(function).__name__}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    dense = _with_dense_outputs(function)
    generator = casadi.CodeGenerator(dense.name())
    generator.add(dense)
    text = generator.dump()
    program = compiler or os.environ.get("CC") or next(filter(shutil.which, COMPILERS), None)
    if compiler and not shutil.which(compiler):
        raise FileNotFoundError(f"generate: there is no compiler {compiler!r}")
    mark = hashlib.sha256("\n".join([text, *flags, str(program)]).encode()).hexdigest()[:12]
    source = folder / f"{dense.name()}-{mark}.c"
    source.write_text(text, encoding="utf-8")
    library = None if program is None or not shutil.which(program) else _compiled(program, source, flags)
    return CompiledFunction(dense, source, library)


def _compiled(program: str, source: Path, flags: Sequence[str]) -> Path:
    """The shared library of a C file; one made before of the same file is used again."""
    library = source.with_suffix(".so").absolute()
    if not library.exists():
        half = library.with_suffix(f".{os.getpid()}.tmp")  # a library that is there is whole, whoever else compiles it
        command = [program, "-shared", "-fPIC", *flags, str(source), "-o", str(half), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            half.unlink(missing_ok=True)
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
        half.replace(library)
    return library


def _with_dense_outputs(function: Any) -> Any:
    """The same function with every entry of its outputs stored, so that they are arrays."""
    if all(function.sparsity_out(i).is_dense() for i in range(function.n_out())):
        return function
    kind = casadi.SX if function.is_a("SXFunction") else casadi.MX
    inputs = [kind.sym(name, function.sparsity_in(i)) for i, name in enumerate(function.name_in())]
    outputs = [casadi.densify(out) for out in function.call(inputs)]
    return casadi.Function(function.name(), inputs, outputs, function.name_in(), function.name_out())


def _shape(size: tuple[int, int]) -> tuple[int, ...]:
    """A column of CasADi is a vector of NumPy."""
    return (size[0],) if size[1] == 1 else size
