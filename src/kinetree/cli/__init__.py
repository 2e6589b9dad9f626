"""The command line: `kinetree run`, `check`, `bench`, `info`, `mass` and others."""

from .app import app, main

__all__ = ["app", "main"]
