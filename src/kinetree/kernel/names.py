"""What a function names: the globals that its bytecode loads, and what follows them behind a dot."""

from opcode import opmap
from types import CodeType, ModuleType

EXTENDED_ARG, LOAD_GLOBAL, LOAD_NAME = (opmap[name] for name in ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_NAME"))


def global_names(code):
    """In the order in which they first come; `d.crb` names no global crb. `dis` would tell as well, in ten times the time."""
    names, extended, text = {}, 0, code.co_code
    for at in range(0, len(text), 2):
        operation, argument = text[at], text[at + 1] | extended
        extended = argument << 8 if operation == EXTENDED_ARG else 0
        if operation == LOAD_GLOBAL:
            names[code.co_names[argument >> 1]] = None  # the last bit is not part of the index
        elif operation == LOAD_NAME:
            names[code.co_names[argument]] = None
    return names


def named_in(function):
    """Names with what they lead to: of its closure, then its globals, attributes of modules and classes among them."""
    named = list(zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True))
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        for name in global_names(code):  # true globals only: d.crb is not the stage crb
            if name in function.__globals__:
                named += _within(name, function.__globals__[name], code.co_names)
    return named


def _within(name, value, names, around=()):
    """What a name leads to; of a module or class whatever has one of the names, as these may follow it behind a dot."""
    if not isinstance(value, (ModuleType, type)):
        return [(name, value)]
    inner = [(n, getattr(value, n)) for n in names if value not in around and hasattr(value, n)]
    return [found for n, each in inner for found in _within(f"{name}.{n}", each, names, (*around, value))]
