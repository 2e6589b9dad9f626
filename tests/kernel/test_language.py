"""The conventions of the language: masks, loops over worlds, mixed numbers, and what must not compile."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.kernel import Entry, kernel
from kinetree.kernel.jit.types import KernelError
from kinetree.kernel.ops import (
    absolute,
    all_,
    any_,
    eps,
    happens,
    huge,
    maximum,
    minimum,
    needs,
    not_,
    shared,
    where,
    zero,
)
from tests.kernel.tables import COMPILED, SCALARS, dtype_of, machine_of, run_on

VALUES = np.linspace(0.5, 20.0, 16)
LANES = [s for s in COMPILED if s[0] != "1" or s.startswith("16")][1:]


@kernel
def roots(m, d):
    """Newton's square root; a world that is done keeps its value while others go on."""
    for i in range(m.n):
        x = d.a[i]
        y = 0.5 * x + 0.5
        active = y == y
        k = 0
        while k < 60 and any_(active):
            new = 0.5 * (y + x / y)
            done = absolute(new - y) <= 1e-7 * new
            y = where(active, new, y)
            active = active & not_(done)
            k += 1
        d.c[i] = y


@kernel
def mixed(m, d):
    """Integers, floats and scalars in one expression; a tuple indexed by a variable; bounds."""
    for i in range(m.n):
        v = (zero(d.a[i]), d.a[i], d.b[i])
        total = 0.0
        for k in range(3):
            total += v[k] * (k + 1)
        d.c[i] = minimum(maximum(total, 1), 30.0) - i * 0


@kernel
def decided(m, d):
    """Conditions combined in every way."""
    for i in range(m.n):
        inside = (d.a[i] > 2.0) & (d.a[i] <= 9.0)
        edge = (d.a[i] < 1.0) | (d.a[i] >= 15.0) | (d.a[i] != d.a[i])
        d.c[i] = where(inside, d.a[i], where(edge & not_(inside), -d.a[i], 0.0))


@kernel
def halvings(m, d):
    """How often each world can halve its number, in integers that are its own; the rest is in the sign."""
    for i in range(m.n):
        x, d.count[i] = d.a[i], 7
        d.count[i] = minimum(d.count[i], 0) * 2 + where(x == x, 1, 0) - 1
        while any_(x > 1.0):
            d.flag[i] = x > 1.0
            d.count[i] += where(x > 1.0, 1, 0)
            x = where(d.flag[i], 0.5 * x, x)
        odd = (d.count[i] & 1) == 1
        d.count[i] = where(odd, -d.count[i], d.count[i])
        d.c[i] = zero(x) + d.count[i]


@kernel
def numbers_of_type(m, d):
    """What only the type of a scalar tells."""
    for i in range(m.n):
        square = huge(d.a[i]) * huge(d.a[i])
        resolves = (1.0 + eps(d.a[i]) > 1.0 + zero(d.a[i])) & not_(1.0 + 0.25 * eps(d.a[i]) > 1.0 + zero(d.a[i]))
        d.c[i] = where(resolves & (square < 2.0 * square) & (square > 1e30), d.a[i], 0.0)


@kernel
def read_one(m, d):
    """A number that is the same in all worlds steers an address."""
    for i in range(m.n):
        d.c[i] = d.b[int(shared(zero(d.a[i]) + i))]


@pytest.mark.parametrize("scalar", [s for s in SCALARS if s != "symbols"])
def test_integers_of_each_world(scalar):
    count = np.ceil(np.log2(np.maximum(1.0, VALUES)))
    np.testing.assert_array_equal(run_on(halvings, scalar, VALUES), np.where(count % 2 == 1, -count, count))


@pytest.mark.parametrize("scalar", [s for s in SCALARS if s != "symbols"])
def test_numbers_that_depend_on_the_precision(scalar):
    np.testing.assert_array_equal(run_on(numbers_of_type, scalar, VALUES), VALUES.astype(dtype_of(scalar)))


@pytest.mark.parametrize("scalar", [s for s in SCALARS if s != "symbols"])
def test_what_worlds_share_steers_addresses(scalar):
    np.testing.assert_array_equal(run_on(read_one, scalar, VALUES, VALUES), VALUES.astype(dtype_of(scalar)))


@pytest.mark.parametrize("scalar", [s for s in SCALARS if s != "symbols"])
def test_loops_end_world_by_world(scalar):
    np.testing.assert_allclose(run_on(roots, scalar, VALUES), np.sqrt(VALUES), rtol=1e-6)


@pytest.mark.parametrize("scalar", SCALARS)
def test_numbers_mix_with_scalars(scalar):
    wanted = np.clip(2.0 * VALUES + 3.0 * VALUES[::-1], 1.0, 30.0)
    np.testing.assert_allclose(run_on(mixed, scalar, VALUES, VALUES[::-1]), wanted, rtol=1e-6)


@pytest.mark.parametrize("scalar", SCALARS)
def test_conditions_combine(scalar):
    wanted = [x if 2 < x <= 9 else -x if x < 1 or x >= 15 else 0.0 for x in VALUES]
    np.testing.assert_allclose(run_on(decided, scalar, VALUES), wanted, rtol=1e-6)


@kernel
def added(x, *others):
    """What is passed on after a star, which may be nothing."""
    return x if len(others) == 0 else x + twofold(*others)


@kernel
def twofold(x, y):
    """Takes apart what was passed on."""
    return 2.0 * x + y


@kernel
def passed_on(m, d):
    """Calls of one kernel with and without further arguments."""
    for i in range(m.n):
        d.c[i] = added(d.a[i]) + added(d.a[i], d.b[i], 1)


@pytest.mark.parametrize("scalar", SCALARS)
def test_arguments_after_a_star_are_passed_on(scalar):
    np.testing.assert_allclose(
        run_on(passed_on, scalar, VALUES, VALUES[::-1]), 2.0 * VALUES + 2.0 * VALUES[::-1] + 1.0, rtol=1e-6
    )


@kernel
def counted(m, d):
    """any_, all_, needs and happens look over the worlds of one row."""
    for i in range(m.n):
        big = d.a[i] > 10.0
        d.c[i] = 0.0
        if any_(big):
            d.c[i] += 1.0
        if all_(big):
            d.c[i] += 2.0
        if needs(big):
            d.c[i] += 4.0
        if happens(big):
            d.c[i] += 8.0


@pytest.mark.parametrize("scalar", [s for s in SCALARS if s != "symbols"])
def test_questions_over_worlds(scalar):
    width = int(scalar.split()[0]) if " x " in scalar else 1
    rows = VALUES.reshape(-1, width)
    wanted = [13.0 * (row > 10).any() + 2.0 * (row > 10).all() for row in rows]
    np.testing.assert_array_equal(run_on(counted, scalar, VALUES), np.repeat(wanted, width))


def test_symbols_take_needed_steps_and_no_happenings():
    import casadi

    x = casadi.SX.sym("x")
    assert needs(x > 0) is True
    assert happens(x > 0) is False
    for decide in (any_, all_):
        with pytest.raises(TypeError, match="cannot steer control flow"):
            decide(x > 0)


@kernel
def branches_on_a_mask(m, d):
    if d.a[0] > 1.0:
        d.c[0] = 1.0


@kernel
def chains_comparisons(m, d):
    d.c[0] = where(0.0 < d.a[0] < 1.0, d.a[0], 0.0)


@kernel
def chooses_between_numbers(m, d):
    d.c[0] = where(d.a[0] > 0.0, 1.0, 2.0)


@kernel
def reads_an_unknown_field(m, d):
    d.c[0] = d.nothing[0]


@kernel
def gives_too_many_indices(m, d):
    d.c[0] = d.a[0, 1]


@kernel
def gives_a_real_index(m, d):
    d.c[0] = d.a[0.5]


@kernel
def assigns_a_whole_field(m, d):
    d.c = d.a


@kernel
def is_a_pair_or_a_number(m, d):
    x = 1.0
    if m.choice == 1:
        x = (1.0, 2.0)
    d.c[0] = x


@kernel
def takes_a_part_up_to_a_variable(m, d):
    pair = (d.a[0], d.a[0])[: m.n]
    d.c[0] = pair[0]


@kernel
def calls_something_else(m, d):
    d.c[0] = abs(d.a[0])


@kernel
def steers_an_address(m, d):
    d.c[0] = d.a[d.count[0]]


@kernel
def steers_a_loop(m, d):
    for _ in range(d.count[0]):
        d.c[0] = 1.0


@kernel
def steers_a_branch(m, d):
    if d.count[0] > 3:
        d.c[0] = 1.0


@kernel
def steers_a_loop_by_a_condition(m, d):
    while d.count[0] < 3:
        d.count[0] += 1


@kernel
def is_made_one_integer(m, d):
    d.c[int(d.count[0]) * 0] = 1.0


@kernel
def is_divided_as_one_integer(m, d):
    d.count[0] = d.count[0] // 2


WRONG = {
    steers_an_address: ("each world has for itself steers no address", LANES),
    steers_a_loop: ("cannot be taken for a value of type int", LANES),
    steers_a_branch: ("no single truth value", LANES),
    steers_a_loop_by_a_condition: ("no single truth value", LANES),
    is_made_one_integer: ("cannot be taken for a value of type int", LANES),
    is_divided_as_one_integer: ("FloorDiv is not defined", LANES),
    is_a_pair_or_a_number: ("is of type float elsewhere", COMPILED),
    takes_a_part_up_to_a_variable: ("slices of tuples end at constants", COMPILED),
    calls_something_else: ("abs is not known", COMPILED),
    branches_on_a_mask: ("no single truth value", LANES),
    chains_comparisons: ("no single truth value", LANES),
    chooses_between_numbers: ("write zero", LANES),
    reads_an_unknown_field: ("has no field 'nothing'", COMPILED),
    gives_too_many_indices: ("takes 1 integers", COMPILED),
    gives_a_real_index: ("takes 1 integers", COMPILED),
}


@pytest.mark.parametrize("scalar", COMPILED)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda f: f.__name__)
def test_what_breaks_the_conventions_does_not_compile(wrong, scalar):
    message, where_it_fails = WRONG[wrong]
    if scalar in where_it_fails:
        with pytest.raises(KernelError, match=message):
            Entry(wrong, guarded=False, listed=False).on(machine_of(scalar))
    else:
        run_on(wrong, scalar, VALUES)


@kernel
def stays_single(m, d):
    """1 + 1e-8 is 1 in single precision: a literal must not lift the arithmetic to double."""
    for i in range(m.n):
        d.c[i] = ((d.a[i] * 0.0 + 1.0) + 1e-8) - 1.0


@pytest.mark.parametrize("scalar", SCALARS)
def test_literals_keep_the_precision(scalar):
    got = run_on(stays_single, scalar, VALUES)
    np.testing.assert_allclose(got, 0.0 if scalar.endswith("float32") else 1e-8, atol=1e-15)
