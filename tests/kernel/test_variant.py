"""Variants: the same text with other kernels in some places, here and in what it calls."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.kernel import kernel
from kinetree.kernel.code import stamp
from kinetree.kernel.variant import nothing, variant
from tests.kernel.tables import SCALARS, run_on

VALUES = np.linspace(0.5, 20.0, 16)


@kernel
def weigh(m, d, i):
    """The place in which variants differ."""
    d.c[i] = d.a[i]


@kernel
def finish(m, d, i):
    """A place that is left out."""
    d.c[i] += 1.0


@kernel
def inner(m, d, i, *more):
    """Between the text and its places."""
    weigh(m, d, i, *more)
    finish(m, d, i)


@kernel
def text(m, d, *more):
    """What is written once."""
    for i in range(m.n):
        inner(m, d, i, *more)


@kernel
def weigh_with(m, d, i, more):
    """Takes what the variant brings along."""
    d.c[i] = d.a[i] + more * d.b[i]


other_text = variant("other", text, {weigh: weigh_with, finish: nothing})


@kernel
def run_other(m, d):
    """The variant with a number of its own."""
    other_text(m, d, 3.0)


@pytest.mark.parametrize("scalar", SCALARS)
def test_only_the_places_differ(scalar):
    np.testing.assert_allclose(run_on(text, scalar, VALUES), VALUES + 1.0, rtol=1e-6)
    np.testing.assert_allclose(run_on(run_other, scalar, VALUES, VALUES[::-1]), VALUES + 3.0 * VALUES[::-1], rtol=1e-6)


def test_what_has_no_places_is_shared():
    assert variant("one", text, {finish: nothing}).__globals__["weigh"] is weigh
    assert inner.__globals__["weigh"] is weigh  # the text itself stays


def test_the_cache_tells_variants_apart():
    stamps = {stamp(each) for each in (text, other_text, variant("one", text, {finish: nothing}))}
    assert len(stamps) == 3


def test_a_place_that_the_text_does_not_have_is_refused():
    with pytest.raises(ValueError, match="text has no place for weigh_with"):
        variant("none", text, {weigh_with: nothing})
