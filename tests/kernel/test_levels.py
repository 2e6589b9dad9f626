"""Levels of processors: which ones a machine has, which is chosen, and that code of one's own processor is nobody else's."""

from __future__ import annotations

import platform
import sys

import pytest

from kinetree.kernel import levels
from kinetree.kernel.levels import LEVELS, NATIVE

OF = [(kind, name) for kind, table in LEVELS.items() for name in table]


@pytest.fixture
def processor(monkeypatch):
    """Pretend to be a machine of some kind with some flags."""

    def pretend(kind, flags, system="linux", chosen=""):
        monkeypatch.setattr(platform, "machine", lambda: kind)
        monkeypatch.setattr(sys, "platform", system)
        monkeypatch.setattr(levels, "_processor_flags", lambda: set(flags))
        monkeypatch.setenv("KINETREE_LEVEL", chosen)
        for cached in (levels.levels, levels.code_name):
            cached.cache_clear()
        return levels.levels

    yield pretend
    for cached in (levels.levels, levels.code_name):
        cached.cache_clear()


@pytest.mark.parametrize(("kind", "name"), OF)
def test_a_level_is_had_by_its_flags_and_lost_with_any_of_them(kind, name, processor):
    flags = LEVELS[kind][name].flags
    assert processor(kind, flags)()[0] == name
    for flag in flags:
        assert name not in processor(kind, flags - {flag})()


def test_better_levels_come_first_and_include_those_below(processor):
    for kind, table in LEVELS.items():
        names = list(table)
        for k, name in enumerate(names):
            assert list(processor(kind, table[name].flags)()) == names[k:]


@pytest.mark.parametrize(("kind", "system"), [("riscv64", "linux"), ("x86_64", "darwin"), ("AMD64", "win32")])
def test_elsewhere_code_is_for_the_very_processor(kind, system, processor):
    everything = {flag for table in LEVELS.values() for level in table.values() for flag in level.flags}
    assert processor(kind, everything, system)() == (NATIVE,)


def test_one_level_can_be_chosen_of_those_there_are(processor):
    flags = LEVELS["x86_64"]["x86-64-v4"].flags
    assert processor("x86_64", flags, chosen="x86-64-v3")() == ("x86-64-v3",)
    assert processor("x86_64", flags, chosen=NATIVE)() == (NATIVE,)
    for wrong in ("x86-64-v9", "armv8-a", "V3"):
        with pytest.raises(ValueError, match=rf"KINETREE_LEVEL={wrong} is none of x86-64-v4, x86-64-v3, native"):
            processor("x86_64", flags, chosen=wrong)()


def test_native_code_is_that_of_one_processor(monkeypatch):
    """Its name is part of what a file of the cache must be: two processors may share the folder."""
    llvm = pytest.importorskip("llvmlite.binding")
    names = {levels.code_name(NATIVE)}
    for what in ("get_default_triple", "get_host_cpu_name"):
        with monkeypatch.context() as patch:
            levels.code_name.cache_clear()
            patch.setattr(llvm, what, lambda: "another")
            names.add(levels.code_name(NATIVE))
            assert levels.code_name("x86-64-v3") == "x86-64-v3"
    levels.code_name.cache_clear()
    assert len(names) == 3 and all(name.startswith(NATIVE) for name in names)


def test_what_linux_says_is_read(monkeypatch, tmp_path):
    said = {
        "x86": "processor\t: 0\nflags\t\t: fpu avx2\nbogus: 1\nflags\t\t: other\n",
        "arm": "Features\t: fp asimd\n",
        "none": "",
    }
    found = []
    for name, text in said.items():
        (tmp_path / name).write_text(text)
        monkeypatch.setattr("builtins.open", lambda *_, path=tmp_path / name: path.open())
        found.append(levels._processor_flags())
    assert found == [{"fpu", "avx2"}, {"fp", "asimd"}, set()]
