"""The command line: `kinetree run` and `kinetree info`."""

from .app import app, main

__all__ = ["app", "main"]
