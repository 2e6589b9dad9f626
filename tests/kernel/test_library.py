"""The linker that makes libraries of machine code: which one is taken, and what is said where there is none."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import pytest

from kinetree.kernel import JIT
from kinetree.kernel.jit import library

ZIG = [sys.executable, "-m", "ziglang", "ld.lld"]
FOUND = {  # what there is -> the command that is taken
    ("ziglang", "ld.lld", "ld"): ZIG,
    ("ziglang",): ZIG,
    ("ld.lld", "ld"): ["ld.lld"],
    ("ld.lld",): ["ld.lld"],
    ("ld",): ["ld"],
}


@pytest.fixture
def there_is(monkeypatch):
    """Pretend that some linkers are installed, and no others."""

    def pretend(*names):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in names else None)
        monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in names else None)

    return pretend


@pytest.mark.parametrize("names", FOUND, ids=" ".join)
def test_ziglang_s_linker_comes_before_the_system_s(names, there_is):
    there_is(*names)
    assert library.linker() == FOUND[names]


def test_without_a_linker_it_is_said_where_one_comes_from(there_is):
    there_is()
    with pytest.raises(RuntimeError, match="need a linker, ld.lld or ld: pip install ziglang"):
        library.linker()


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_no_linker_is_told_before_anything_is_compiled(there_is, tmp_path, monkeypatch):
    there_is()
    monkeypatch.setattr(library, "objects", lambda *_: pytest.fail("compiled"))
    with pytest.raises(RuntimeError, match="pip install ziglang"):
        library.build(tmp_path, "float64", ("x86-64-v4",))
