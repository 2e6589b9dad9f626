"""Variants: the text of a kernel with other kernels in some places.

`variant("controlled", forward, {make_inertia: my_inertia})` is `forward` with `my_inertia` wherever it, or what it calls of
its own file, has `make_inertia`. So an order is written once, and what differs from it is a table. What the kernels of a
variant need beside m and d travels through the text after a star; in the text itself there is none of it.
"""

from types import FunctionType

from .decorator import kernel
from .order import kernels_in
from .stage import plain


@kernel
def nothing(*arguments):
    """Stands in the place of what is left out."""


def variant(name, function, places):
    """A kernel of the text of a kernel or stage, in which each key of `places` is replaced by what it leads to."""
    made, met, file = {}, set(), plain(function).__module__

    def changed(old):
        if old in places:
            met.add(old)
            return places[old]
        text = plain(old)
        if text.__module__ != file:
            return old
        if old not in made:
            made[old], called = old, kernels_in(text)  # what calls none of the places stays, a stage as a stage
            other = {n: changed(each) for n, each in called.items()}
            if other != called:
                made[old] = _copied(name, text, text.__globals__ | other)
        return made[old]

    out = changed(function)
    missing = [each.__name__ for each in places if each not in met]
    if missing:
        raise ValueError(f"{function.__name__} has no place for {', '.join(missing)}")
    return out


def _copied(name, function, scope):
    """A function of the same code that sees other globals."""
    out = FunctionType(function.__code__, scope, function.__name__, closure=function.__closure__)
    out.__defaults__, out.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    out.__dict__.update(function.__dict__)
    out.__doc__, out.__module__ = function.__doc__, function.__module__
    out.__qualname__ = f"{name}.{function.__qualname__}"
    return out
