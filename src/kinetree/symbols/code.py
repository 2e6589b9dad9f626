"""C code of a function, compiled and loaded back where there is a compiler.

CasADi writes the C code; the library is called through ctypes with buffers made once, which costs a microsecond where a call
of a CasADi function from Python costs forty.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import casadi
import numpy as np

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-march=native")  # of this machine alone: give other flags for a library that travels


class CompiledFunction:
    """A function on NumPy arrays: `f(q, v, tau)` returns an array, or a tuple of them if there are several outputs.

    source: the C file. library: the compiled file, None where there was no compiler; the CasADi function answers then.
    function: as a CasADi function, for use in expressions; solvers need one made with derivatives. One thread at a time.
    """

    def __init__(self, function: Any, source: Path, library: Path | None, matrices: Collection[str] = ()):
        self.name, self.source, self.library = function.name(), source, library
        self._made_of = function, source, library, matrices
        self.function = function if library is None else casadi.external(self.name, str(library))
        self._names, outputs = function.name_in(), enumerate(function.name_out())
        self._inputs = [np.zeros(_shape(function.size_in(i)), order="F") for i in range(function.n_in())]
        self._outputs = [np.zeros(_shape(function.size_out(i), name in matrices), order="F") for i, name in outputs]
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
            if type(value) is not np.ndarray or value.dtype != array.dtype or value.shape != array.shape:
                value = self._shaped(array, value)
            array[...] = value
        if self._run():
            raise ArithmeticError(f"{self.name} could not be evaluated")
        if len(self._outputs) == 1:
            return self._outputs[0].copy()
        return tuple(array.copy() for array in self._outputs)

    def _shaped(self, array: np.ndarray, value: Any) -> np.ndarray:
        """A value that is no array of the right shape: lists, single numbers, columns, CasADi's own numbers."""
        out = np.asarray(value)
        if out.dtype.kind not in "fiub":
            raise TypeError(f"{self.name}: inputs are real numbers, not {type(value).__name__}")
        if out.squeeze().shape == array.squeeze().shape:  # a column or a row, but no transposed matrix
            out = out.reshape(array.shape)
        if out.shape not in (array.shape, ()):
            name = next(n for n, a in zip(self._names, self._inputs, strict=True) if a is array)
            raise ValueError(f"{self.name}: {name} has shape {array.shape}, got {out.shape}")
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledFunction, self._made_of

    def __repr__(self) -> str:
        how = f"compiled in {self.library.name}" if self.library else "not compiled: no C compiler was found"
        return f"<kinetree CompiledFunction {self.name}({', '.join(self._names)}): {how}>"


def generate(
    function: Any,
    folder: str | Path = ".",
    flags: str | Sequence[str] = FLAGS,
    compiler: str | None = None,
    derivatives: bool = False,
    matrices: Collection[str] = (),
) -> CompiledFunction:
    """Write the C code of a CasADi function into a folder; compile and load it if there is a C compiler (CC, cc, gcc, clang).

    Files carry a mark of their contents and flags, so that the same function is compiled once. derivatives: with those in
    one direction, forwards and backwards, of which Jacobians and gradients are made; three to four times the code.
    matrices: outputs that stay matrices where they have one column.
    """
    if not isinstance(function, casadi.Function):
        raise TypeError(f"generate needs a CasADi function, got {type(function).__name__}")
    command, options = _compiler(compiler), shlex.split(flags) if isinstance(flags, str) else list(flags)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    dense = _dense(function)
    generator = casadi.CodeGenerator(dense.name())
    for part in (dense, dense.forward(1), dense.reverse(1)) if derivatives else (dense,):
        generator.add(part)
    text = generator.dump()
    mark = hashlib.sha256("\n".join([text, *command, *options]).encode()).hexdigest()[:12]
    source = folder / f"{dense.name()}-{mark}.c"
    if not source.exists():
        _whole(source, lambda half: half.write_text(text, encoding="utf-8"))
    return CompiledFunction(dense, source, _compiled(command, source, options) if command else None, matrices)


def _compiler(asked: str | None) -> list[str]:
    """The command of the compiler asked for, by argument or by CC; else the first there is. Empty if there is none."""
    asked = asked or os.environ.get("CC")
    if asked:
        command = shlex.split(asked)
        if not shutil.which(command[0]):
            raise FileNotFoundError(
                f"generate: there is no compiler {command[0]!r}, which was asked for, or named by CC"
            )
        return command
    return [name for name in COMPILERS if shutil.which(name)][:1]


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name first: one that is there is whole, whoever else is at work."""
    half = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        write(half)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _compiled(compiler: Sequence[str], source: Path, flags: Sequence[str]) -> Path:
    """The shared library of a C file; one made before of the same file is used again."""

    def run(half: Path) -> None:
        command = [*compiler, "-shared", "-fPIC", *flags, str(source), "-o", str(half), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")

    library = source.with_suffix(".so").absolute()
    if not library.exists():
        _whole(library, run)
    return library


def _dense(function: Any) -> Any:
    """The same function with every entry of its inputs and outputs stored, so that they are arrays."""
    counts = range(function.n_in()), range(function.n_out())
    if all(function.sparsity_in(i).is_dense() for i in counts[0]) and all(
        function.sparsity_out(i).is_dense() for i in counts[1]
    ):
        return function
    kind = casadi.SX if function.is_a("SXFunction") else casadi.MX
    inputs = [kind.sym(name, *function.size_in(i)) for i, name in enumerate(function.name_in())]
    outputs = function.call([casadi.project(x, function.sparsity_in(i)) for i, x in enumerate(inputs)])
    return casadi.Function(
        function.name(), inputs, [casadi.densify(out) for out in outputs], function.name_in(), function.name_out()
    )


def _shape(size: tuple[int, int], matrix: bool = False) -> tuple[int, ...]:
    """A column of CasADi is a vector of NumPy, unless it is a matrix of one column."""
    return (size[0],) if size[1] == 1 and not matrix else size
