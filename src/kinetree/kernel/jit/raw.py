"""What the function of `kernel/raw.py` is in compiled code: a pointer that is taken for a field."""

from llvmlite import ir

from ..decorator import BOUNDS
from ..raw import entries_at
from .primitives import RULES
from .types import BOOL, I64, INT, Field, Lane, Mask, Whole
from .values import Value

ENDLESS = ir.Constant(I64, 2**62)


def _of_one_world(kind):
    """The type of a number of one world, of those that a field holds."""
    if isinstance(kind, Lane):
        return Lane(kind.dtype, 1)
    return INT if isinstance(kind, Whole) else BOOL if isinstance(kind, Mask) else kind


def _entries_at(translator, field, address):
    kind = Field(field.type.stored, _of_one_world(field.type.value), (None,))
    pointer = translator.builder.inttoptr(address.part, kind.element.as_pointer())
    return Value(kind, (pointer, *[ENDLESS] * BOUNDS))


RULES[entries_at] = _entries_at
