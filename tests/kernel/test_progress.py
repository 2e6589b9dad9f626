"""What is said while machine code is made: once, how far it is in a terminal, and nothing that could fail."""

from __future__ import annotations

import io
import os
import re
import sys

import pytest

from kinetree.kernel import progress
from kinetree.kernel.progress import Progress


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    monkeypatch.setattr(progress, "_SAID", [])
    monkeypatch.setenv("KINETREE_QUIET", "0")


def compile_some(count=3, **options):
    with Progress([3, 2, 1][:count], **options) as shown:
        for k in range(count):
            shown.begin(f"stage{k}")
            shown.done(f"stage{k}", 3 - k)


def test_one_line_for_a_process(capsys):
    compile_some()
    compile_some()
    said = capsys.readouterr().err
    assert said.count("compiling what is used for the first time") == 1 and said.endswith("it is kept for later runs\n")


def test_what_is_not_kept_is_not_promised(capsys):
    compile_some(1, kept=False)
    assert capsys.readouterr().err.endswith("no folder keeps it for later runs\n")


def test_nothing_where_there_is_nothing_to_do_or_to_say(capsys, monkeypatch):
    compile_some(0)
    monkeypatch.setenv("KINETREE_QUIET", "1")
    compile_some()
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_how_far_it_is(monkeypatch):
    pty = pytest.importorskip("pty")
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        compile_some()
    said = os.read(reader, 10_000).decode()
    assert re.search(r"\[\.{30}\] 0/3  stage0", said)
    assert re.search(r"\[#{15}\.{15}\] 1/3, \d+ s left  stage0", said) and re.search(
        r"\[#{30}\] 3/3, 0 s left  stage2", said
    )
    assert said.endswith("\r\033[K")  # the bar is taken away


class Closed(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


class Bare:
    """Takes text, and nothing else."""

    def write(self, text):
        pass


def closed_file():
    file = io.StringIO()
    file.close()
    return file


@pytest.mark.parametrize("stream", [None, Closed(), Bare(), closed_file()], ids=["none", "pipe", "bare", "closed"])
def test_nobody_who_reads_is_no_failure(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    compile_some()
