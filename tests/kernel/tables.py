"""A table of plain arrays on which a test can run a kernel of its own, on any machine of the language.

    @kernel
    def square(m, d):
        for i in range(m.n):
            d.c[i] = d.a[i] * d.a[i]

    run_on(square, "16 x float32", a=[1.0, 2.0, 3.0])  ->  array([1.0, 4.0, 9.0])

The table has the real fields a, b and c, of n entries each: a and b carry the arguments, c the result; `d.count` and `d.flag`
are an integer and a flag that each world has for itself, `m.choice` is an integer to branch on.
On lanes the entries are dealt out over the worlds, so the kernel sees an n smaller by the width.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np

from kinetree.fields import FLAG, INT, REAL, Field
from kinetree.kernel import JIT, compiled
from kinetree.kernel.machine import Machine
from kinetree.kernel.ops import teach_symbols
from kinetree.kernel.stage import plain
from kinetree.layout import Layout
from kinetree.memory import Memory

FIELDS = {name: Field(name, "n", REAL, "1", "an array of the test") for name in "abc"}
FIELDS["count"] = Field("count", "n", INT, "1", "integers of each world", each=True)
FIELDS["flag"] = Field("flag", "n", FLAG, "1", "flags of each world", each=True)
SIZES, TABLE = Layout("sizes", {}, {"n": "int64", "choice": "int64"}), Layout("table", FIELDS, {})

# Every kind of scalar: floats, strict reals, lanes, uncompiled Python and symbols.
COMPILED = ("float", "1 x float64", "1 x float32", "4 x float64", "8 x float64", "16 x float32") if JIT else ()
SCALARS = (*COMPILED, "python", "symbols")


def dtype_of(scalar: str) -> type:
    """The precision in which a scalar computes."""
    return np.float32 if scalar.endswith("float32") else np.float64


def width_of(scalar: str) -> int | None:
    """The number of worlds side by side; None where the table has no axis for them."""
    return int(scalar.split()[0]) if " x " in scalar else None


@functools.cache
def machine_of(scalar: str) -> Machine:
    """The machine that runs kernels on such tables."""
    width, dtype = width_of(scalar), dtype_of(scalar)
    return Machine(f"table of {scalar}", SIZES, TABLE, width, dtype)


def run_on(kernel, scalar: str, a=(), b=(), choice: int = 0) -> np.ndarray:
    """What the kernel leaves in c, given a and b; all have as many entries as the longer argument, the rest are zero."""
    n = max(len(a), len(b))
    if scalar == "python":
        return _run_plain(kernel, _objects(a, n), _objects(b, n), choice).astype(np.float64)
    if scalar == "symbols":
        return _run_symbols(kernel, _objects(a, n), _objects(b, n), choice)
    width = width_of(scalar)
    rows = n if width is None else -(-n // width)
    arrays = Memory(TABLE, {"n": rows}, width, np.dtype(dtype_of(scalar)).name)
    for name, values in (("a", a), ("b", b)):
        arrays[name].reshape(-1)[: len(values)] = values
    sizes = SIZES.words({})
    sizes[SIZES.word["n"]], sizes[SIZES.word["choice"]] = rows, choice
    compiled(kernel, machine_of(scalar), guarded=False)(sizes.ctypes.data, arrays.address)
    return arrays["c"].reshape(-1)[:n].copy()


def _objects(values, n):
    """Python floats in an array of objects: np.float64 times a symbol would be an array."""
    out = np.zeros(n).astype(object)
    out[: len(values)] = [float(x) for x in values]
    return out


def _run_plain(kernel, a, b, choice):
    table = SimpleNamespace(a=a, b=b, c=np.zeros(len(a)).astype(object))
    table.count, table.flag = np.zeros(len(a), int), np.zeros(len(a), bool)
    plain(kernel)(SimpleNamespace(n=len(a), choice=choice), table)
    return table.c


def _run_symbols(kernel, a, b, choice):
    """The kernel traced on CasADi symbols, then evaluated."""
    import casadi

    teach_symbols()
    x, y = casadi.SX.sym("a", len(a)), casadi.SX.sym("b", len(b))
    c = _run_plain(kernel, *(np.array(casadi.vertsplit(s), object) for s in (x, y)), choice)
    evaluate = casadi.Function("evaluate", [x, y], [casadi.vertcat(*c)])
    return np.array(evaluate(a.astype(np.float64), b.astype(np.float64))).reshape(-1)
