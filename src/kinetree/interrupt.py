"""Ctrl-C while the command `kinetree` is still being imported: one line and exit status 130 instead of a traceback.

That takes a second or two, before any function of the command can listen. Imported first, and only the command is affected.
"""

from __future__ import annotations

import os.path
import sys
from types import TracebackType


def is_command(argv: list[str], orig_argv: list[str]) -> bool:
    """Whether this process is `kinetree …` or `python -m kinetree …`, whose package is imported before argv[0] is known."""
    if argv[:1] == ["-m"]:
        return any(word.removeprefix("-m").split(".")[0] == "kinetree" for word in orig_argv[1:])
    name = os.path.splitext(os.path.basename(argv[0]))[0] if argv else ""
    return name in ("kinetree", "kinetree-script")


def _leave(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    first: BaseException | None = problem
    while first and not isinstance(first, KeyboardInterrupt):  # a module in C makes an ImportError of it
        first = first.__cause__ or first.__context__
    if first is None:
        sys.__excepthook__(kind, problem, trace)
        return
    print("kinetree: interrupted", file=sys.stderr)
    sys.exit(130)


if is_command(sys.argv, sys.orig_argv):
    sys.excepthook = _leave
