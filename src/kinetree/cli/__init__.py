"""The command line: `kinetree run`, `kinetree check`, `kinetree info` and `kinetree mass`."""

from .app import app, main

__all__ = ["app", "main"]
