"""Every function of the language on every machine, against Python's `math`."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest

from kinetree.kernel import kernel, ops
from kinetree.kernel.build import Code
from kinetree.kernel.entry import Entry
from kinetree.kernel.jit import elementary
from kinetree.kernel.jit.emit import lowered, optimised, target_machine
from kinetree.kernel.levels import level
from kinetree.kernel.ops import (
    absolute,
    acos,
    asin,
    atan2,
    copy_sign,
    cos,
    exp,
    floor,
    log,
    maximum,
    minimum,
    rint,
    sin,
    sqrt,
)
from kinetree.kernel.stage import plain
from tests.kernel.tables import COMPILED, SCALARS, dtype_of, machine_of, run_on

TOLERANCE = {np.float64: 6e-16, np.float32: 3e-7}  # two to three units in the last place
TIES = (0.5, 1.5, 2.5)  # halfway between two whole numbers


@kernel
def apply(m, d):
    """c = f(a) or f(a, b) for the chosen function: all in one kernel, to compile once for a machine."""
    for i in range(m.n):
        a, b = d.a[i], d.b[i]
        if m.choice == 0:
            d.c[i] = sin(a)
        elif m.choice == 1:
            d.c[i] = cos(a)
        elif m.choice == 2:
            d.c[i] = asin(a)
        elif m.choice == 3:
            d.c[i] = acos(a)
        elif m.choice == 4:
            d.c[i] = atan2(a, b)
        elif m.choice == 5:
            d.c[i] = exp(a)
        elif m.choice == 6:
            d.c[i] = log(a)
        elif m.choice == 7:
            d.c[i] = sqrt(a)
        elif m.choice == 8:
            d.c[i] = absolute(a)
        elif m.choice == 9:
            d.c[i] = floor(a)
        elif m.choice == 10:
            d.c[i] = rint(a)
        elif m.choice == 11:
            d.c[i] = minimum(a, b)
        elif m.choice == 12:
            d.c[i] = maximum(a, b)
        elif m.choice == 13:
            d.c[i] = copy_sign(a, b)


# In the order of the choices above.
REFERENCE = {
    "sin": math.sin,
    "cos": math.cos,
    "asin": lambda x: math.asin(x if math.isnan(x) else np.clip(x, -1.0, 1.0)),
    "acos": lambda x: math.acos(x if math.isnan(x) else np.clip(x, -1.0, 1.0)),
    "atan2": math.atan2,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "absolute": abs,
    "floor": math.floor,
    "rint": round,
    "minimum": lambda a, b: a if a < b else b,
    "maximum": lambda a, b: a if a > b else b,
    "copy_sign": math.copysign,
}
NAMES = tuple(REFERENCE)
BINARY = ("atan2", "minimum", "maximum", "copy_sign")


def answer(name, *args):
    """The value in C, also where `math` raises."""
    try:
        return float(REFERENCE[name](*args))
    except OverflowError:
        return math.inf if name == "exp" else args[0]
    except ValueError:
        return -math.inf if name == "log" and args[0] == 0.0 else math.nan


def arguments(name, dtype, n=400):
    """Seeded values over the whole domain, and special ones."""
    rng = np.random.default_rng(NAMES.index(name))
    limits = np.finfo(dtype)
    low, high = math.log10(limits.tiny), math.log10(limits.max)
    wide = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(low, high, n)
    around_one = 10.0 ** rng.uniform(-4.0, 4.0, n) * rng.choice([-1.0, 1.0], n)
    special = np.array([0.0, 1.0, *TIES, limits.tiny, limits.smallest_subnormal, math.inf, math.nan])
    special = np.concatenate([special, -special])
    largest = [] if name in ("sin", "cos") else [limits.max, -limits.max]  # that far, those two are only bounded
    if name in BINARY:
        y, x = (v.ravel() for v in np.meshgrid([*special, *largest], [*special, *largest]))
        mixed = rng.permutation(wide)
        y, x = np.r_[y, wide, around_one, around_one], np.r_[x, mixed, around_one[::-1], around_one]
        return _in(dtype, y), _in(dtype, x)
    turn = 1e6 if dtype is np.float64 else 1e4
    domain = {
        "sin": [rng.uniform(-turn, turn, n), np.rint(rng.uniform(-99, 99, n)) * (math.pi / 2), wide[np.abs(wide) < 1.0]],
        "asin": [rng.uniform(-1.0, 1.0, n), 1.0 - 10.0 ** rng.uniform(-16, 0, n), 10.0 ** rng.uniform(-16, 0, n) - 1.0, wide],
        "exp": [rng.uniform(-750.0, 715.0, n), rng.uniform(-105.0, 90.0, n), wide],
        "log": [1.0 + 0.5 * np.sign(wide) * 10.0 ** rng.uniform(-16, 0, n), np.abs(wide), wide],
    }  # fmt: skip
    domain["cos"], domain["acos"] = domain["sin"], domain["asin"]
    a = np.concatenate([special, largest, around_one, *domain.get(name, [wide])])
    return _in(dtype, a), np.zeros(len(a))


def _in(dtype, values):
    """The values as numbers of a precision, so that the reference sees what the machine sees."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype).astype(np.float64)


def differs_on_purpose(name, scalar, a, b):
    """Where symbols do not promise the answer of compiled code."""
    if scalar == "symbols":
        tie = np.isin(np.abs(a), TIES) & (name == "rint")
        return tie | ((np.isnan(a) | np.isnan(b)) & (name in ("minimum", "maximum", "asin", "acos")))
    return np.zeros(len(a), bool)


def assert_agrees(name, scalar, a, b, got, dtype):
    """Within the tolerance, infinities and NaN alike; the sign of a zero where it carries a meaning."""
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    wanted = _in(dtype, [answer(name, *((x, y) if name in BINARY else (x,))) for x, y in pairs])
    size = np.abs(wanted)
    if name in ("sin", "cos"):  # near their zeros the error is that of the angle
        size = np.maximum(size, np.minimum(1.0, np.abs(a)) if name == "sin" else 1.0)
    with np.errstate(invalid="ignore"):
        close = np.abs(got - wanted) <= TOLERANCE[dtype] * size + np.finfo(dtype).smallest_subnormal
    good = (close & np.isfinite(wanted)) | (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    if name in ("asin", "atan2"):
        good &= (np.signbit(got) == np.signbit(wanted)) | (wanted != 0.0)
    bad = np.flatnonzero(~good & ~differs_on_purpose(name, scalar, a, b))
    lines = [f"[{i}] {name}({a[i]!r}, {b[i]!r}) is {got[i]!r}, wanted {wanted[i]!r}" for i in bad[:8]]
    assert not len(bad), f"{name} on {scalar}: {len(bad)} of {len(a)} wrong\n" + "\n".join(lines)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", NAMES)
def test_function_agrees_with_math(name, scalar):
    dtype = dtype_of(scalar)
    a, b = arguments(name, dtype)
    got = run_on(apply, scalar, a=a, b=b, choice=NAMES.index(name)).astype(np.float64)
    assert_agrees(name, scalar, a, b, got, dtype)


@pytest.mark.parametrize("function", elementary.FUNCTIONS, ids=lambda f: f.__name__)
def test_our_own_kernels_agree_uncompiled(function):
    name, (_, by_precision) = function.__name__, elementary.FUNCTIONS[function]
    a, b = arguments(name, np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if name == "log":
        finite &= a > 0.0  # the bits of other numbers have no uncompiled meaning
    a, b = a[finite], b[finite]
    ours = plain(by_precision("float64"))
    got = [ours(x, y) if name in BINARY else ours(x) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert_agrees(name, "our own", a, b, np.array(got), np.float64)


@pytest.mark.parametrize("scalar", COMPILED)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_bounded_for_any_angle(name, scalar):
    dtype = dtype_of(scalar)
    rng = np.random.default_rng(0)
    a = 10.0 ** rng.uniform(4.0, math.log10(np.finfo(dtype).max), 400) * rng.choice([-1.0, 1.0], 400)
    got = run_on(apply, scalar, a=a, choice=NAMES.index(name))
    worst = np.argmax(np.where(np.isnan(got), np.inf, np.abs(got)))
    assert np.abs(got[worst]) <= 1.0 + TOLERANCE[dtype], f"{name}({a[worst]!r}) is {got[worst]!r} on {scalar}"


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("scalar", ["8 x float64", "16 x float32"])
def test_lanes_make_no_calls(scalar):
    """A call into libm would run the lanes one by one."""
    code = Code(Entry(kernel(plain(apply)), listed=False, guarded=False), machine_of(scalar))
    target = target_machine(level())
    assembly = target.emit_assembly(optimised(code, lowered(code, target), target))
    body = assembly.partition(f"c_{code.symbol}:")[2].partition(f"py_{code.symbol}:")[0].splitlines()
    calls = [line.strip() for line in body if re.match(r"\s+(callq?|blr?)\s", line)]
    assert len(body) > 100
    assert not calls, f"{len(calls)} calls on {scalar}: {calls[:4]}"


def test_all_functions_of_the_language_are_in_the_table():
    """A new function of numbers in `ops` must be given its reference here; those of conditions and types have other tests."""
    public = {n: f for n, f in vars(ops).items() if inspect.isfunction(f) and not n.startswith("_")}
    of_numbers = {n for n, f in public.items() if inspect.signature(f).parameters.keys() & {"x", "a"}}
    of_numbers -= {"where", "where_needed", "zero", "eps", "huge", "shared"}
    assert of_numbers == set(NAMES)
