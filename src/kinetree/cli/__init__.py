"""The command line: `kinetree run`, `kinetree check` and `kinetree info`."""

from .app import app, main

__all__ = ["app", "main"]
