"""`python -m kinetree` is the command `kinetree`."""

from .cli import main

if __name__ == "__main__":
    main()
