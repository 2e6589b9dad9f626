"""Attacks on the engine: hostile input of every kind, made at random, each case in a process of its own.

An attack is a module here with `lines(rng)`, which yields lines of Python. They run one after the other with `kt`, `np`,
`mujoco` and `tmp`, an empty folder, at hand. A clear refusal is no failure; a crash, a hang, a failed `assert` or an exception
that is no refusal is, and the lines that led to it are printed. `make fuzz SECONDS=600` runs all attacks for ten minutes,
`python -m tests.fuzz NAME SEED` one case.
"""
