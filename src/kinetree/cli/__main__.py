"""`python -m kinetree.cli` is the `kinetree` command."""

from . import main

main()
