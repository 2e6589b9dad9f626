"""Shared by the tests of the command line."""

import pytest

from kinetree.cli import main
from kinetree.cli.common import output


@pytest.fixture
def kinetree(capsys, tmp_path, monkeypatch):
    """Runs a command in an empty folder; returns exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "width", 160)
    monkeypatch.setenv("KINETREE_QUIET", "1")  # a first use that compiles would say so on stderr

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return call
