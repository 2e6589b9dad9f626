"""What a text reads and writes of its data: through kernels, arrays handed on, tables and literals, up to stages."""

from __future__ import annotations

import pytest

from kinetree.kernel import kernel, stage
from kinetree.kernel.dispatch import dispatch
from kinetree.kernel.reads import access
from kinetree.math.vec3 import add, get3, set3


@kernel
def reads(m, d, i):
    """A number of the data, by one of the model."""
    return d.xpos[m.body_parentid[i], 0]


@kernel
def writes(m, d, i):
    d.xpos[i, 0] = 1.0


@kernel
def adds(m, d, i):
    d.qvel[i] += d.qacc[i]


@kernel
def several(m, d, i):
    d.qvel[i], d.qacc[i] = 0.0, d.act[i]


@kernel
def by_name(m, d, i):
    """An array that has a name of its own, or one of two."""
    array = d.qvel if i > 0 else d.qacc
    array[i] = 1.0


@kernel
def put(array, i, other, value):
    array[i] = value * other[i]


@kernel
def hands_on(m, d, i):
    put(d.qvel, i, d.qacc, d.act[i])


@kernel
def by_vectors(m, d, i):
    set3(d.xipos, i, add(get3(d.xpos, i), get3(d.geom_xpos, i)))


@kernel
def another_name(m, world, i):
    world.qvel[i] = world.qacc[i]


@kernel
def renames(m, d, i):
    another_name(m, d, i)


@kernel
def one_of_two(m, d, i, first):
    if first:
        d.qvel[i] = d.qacc[i]
    else:
        d.act[i] = d.ctrl[i]


@kernel
def the_first(m, d, i):
    one_of_two(m, d, i, True)


@kernel
def not_the_first(m, d, i):
    first = i
    one_of_two(m, d, first, False)


@kernel
def either(m, d, i):
    one_of_two(m, d, i, i > 0)


chosen = dispatch({0: reads, 1: writes, 2: adds}, "m, d, i")


@kernel
def by_table(m, d, i):
    chosen(i, m, d, i)


@stage
def a_stage_for_reads(m, d):
    """For the tests."""
    d.time[0] = d.qvel[0]


@kernel
def calls_a_stage(m, d, i):
    d.qacc[0] = 0.0
    a_stage_for_reads(m, d)


@kernel
def calls_it_below(m, d, i):
    calls_a_stage(m, d, i)


CASES = {  # kernel -> fields that it reads, fields that it writes
    reads: ("xpos", ""),
    writes: ("", "xpos"),
    adds: ("qvel qacc", "qvel"),
    several: ("act", "qvel qacc"),
    by_name: ("", "qvel qacc"),
    hands_on: ("qacc act", "qvel"),
    by_vectors: ("xpos geom_xpos", "xipos"),
    renames: ("qacc", "qvel"),
    the_first: ("qacc", "qvel"),
    not_the_first: ("ctrl", "act"),
    either: ("qacc ctrl", "qvel act"),
    by_table: ("xpos qvel qacc", "xpos qvel"),
    calls_a_stage: ("", "qacc"),
    a_stage_for_reads: ("qvel", "time"),
}


@pytest.mark.parametrize("text", CASES, ids=lambda each: each.__name__)
def test_reads_and_writes(text):
    found = access(text)
    assert (set(found.reads), set(found.writes)) == tuple(set(names.split()) for names in CASES[text])


def test_stages_are_named_and_not_entered():
    assert access(calls_it_below).calls == (a_stage_for_reads,)
    assert access(reads).calls == ()


def test_another_handle():
    assert set(access(reads, "m").reads) == {"body_parentid"}
    assert set(access(another_name, "world").writes) == {"qvel"}
