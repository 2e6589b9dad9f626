"""What is compiled: that alone which the store lacks, level by level."""

from __future__ import annotations

import pytest

import kinetree as kt
from kinetree.kernel import JIT, build, float_machine
from kinetree.kernel.build import Code, objects

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")
BEST, LOWER = "x86-64-v4", "x86-64-v3"  # names alone: the compiler of these tests writes what it was asked for


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A list of what the compiler is asked for, kernel by kernel, with an empty store."""
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "COMPILED", [])
    calls = []

    def noted(codes, *levels):
        calls.append(({code.entry.kernel.__name__ for code in codes}, levels))
        for code in codes:
            yield code, [f"{code.symbol} for {each}".encode() for each in levels]

    monkeypatch.setattr(build, "compile_in_pool", noted)
    return calls


def codes_of(*stages):
    return [Code(stage.entry, float_machine()) for stage in stages]


def made(codes, *levels):
    """What comes of codes, which must be what belongs to each of the levels, in their order."""
    found = dict(objects(codes, *levels))
    assert found == {code: [f"{code.symbol} for {each}".encode() for each in levels] for code in codes}


@pytest.mark.parametrize(("first", "other"), [(BEST, LOWER), (LOWER, BEST)])
def test_with_one_level_in_the_store_only_the_other_is_asked_for(first, other, asked):
    codes = codes_of(kt.camlight, kt.com_vel)
    made(codes, first)
    made(codes, BEST, LOWER)
    assert asked == [({"camlight", "com_vel"}, (first,)), ({"camlight", "com_vel"}, (other,))]
    made(codes, BEST, LOWER)
    assert len(asked) == 2 and len(build.COMPILED) == 4


def test_codes_that_lack_different_levels_are_asked_for_apart(asked):
    made(codes_of(kt.camlight, kt.kinematics), BEST)
    made(codes_of(kt.com_vel, kt.kinematics), LOWER)
    del asked[:]
    made(codes_of(kt.camlight, kt.com_vel, kt.crb, kt.kinematics), BEST, LOWER)
    wanted = [({"camlight"}, (LOWER,)), ({"com_vel"}, (BEST,)), ({"crb"}, (BEST, LOWER))]
    assert sorted(asked, key=str) == sorted(wanted, key=str)
