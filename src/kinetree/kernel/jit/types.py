"""Types of the kernel language, and how each is held in LLVM: as a flat list of registers.

A real is a float, or on SIMD lanes a `Lane`: n numbers, one per world. `Lane(dtype, 1)` is a *strict real*, a plain number
whose arithmetic with literals stays in its own precision. Comparing lanes gives a `Mask`, comparing strict reals a boolean.
An integer that each world has for itself is a `Whole` on lanes. It counts and marks, but steers no loop and no address.
"""

import functools
from dataclasses import dataclass, field

from llvmlite import ir

from ...fields import FLAG, REAL
from ..decorator import BOUNDS

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
ELEMENT = {"float64": F64, "float32": F32}
# What is stored in a field: its LLVM type, its size in bytes, and the type that a kernel sees.
STORED = {
    "float64": (F64, 8),
    "float32": (F32, 4),
    "int64": (I64, 8),
    "int32": (I32, 4),
    "uint8": (I8, 1),
    "bool": (I8, 1),
}


class KernelError(TypeError):
    """A kernel that cannot be compiled; the message says where and why."""


@dataclass(frozen=True)
class Plain:
    """An integer, a float, a boolean, or nothing."""

    name: str
    llvm: tuple

    def __str__(self):
        return self.name


INT, FLOAT, BOOL = Plain("int", (I64,)), Plain("float", (F64,)), Plain("bool", (I1,))
NOTHING = Plain("nothing", ())
NUMBERS = (INT, FLOAT)


@dataclass(frozen=True)
class Lane:
    """n numbers of one dtype, one per world."""

    dtype: str
    n: int

    @property
    def register(self):
        """Its LLVM type."""
        return ELEMENT[self.dtype] if self.n == 1 else ir.VectorType(ELEMENT[self.dtype], self.n)

    @property
    def llvm(self):
        """It is held in one register."""
        return (self.register,)

    @property
    def mask(self):
        """What comparing such lanes gives."""
        return BOOL if self.n == 1 else Mask(self.n)

    def __str__(self):
        return f"{self.dtype} x {self.n}"


@dataclass(frozen=True)
class Mask:
    """n booleans, one per world."""

    n: int

    @property
    def llvm(self):
        """It is held in one mask register."""
        return (ir.VectorType(I1, self.n),)

    def __str__(self):
        return f"bool x {self.n}"


@dataclass(frozen=True)
class Whole:
    """n integers, one per world."""

    n: int

    @property
    def llvm(self):
        """They are held in one register."""
        return (ir.VectorType(I64, self.n),)

    def __str__(self):
        return f"int x {self.n}"


@dataclass(frozen=True)
class Tuple:
    """Several values."""

    items: tuple

    @functools.cached_property
    def llvm(self):
        """Those of its items, one after another."""
        return tuple(t for item in self.items for t in item.llvm)

    def __str__(self):
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Field:
    """An array of a handle. dims: None where known at run time. step: stored elements between two entries.

    A real is stored as it is seen; integers and flags are stored narrow.
    """

    stored: str
    value: object
    dims: tuple
    step: int = 1

    @property
    def element(self):
        """The LLVM type of an entry in memory."""
        if isinstance(self.value, Lane):
            return self.value.register
        element = STORED[self.stored][0]
        return ir.VectorType(element, self.value.n) if isinstance(self.value, (Whole, Mask)) else element

    @property
    def alignment(self):
        """Bytes. Of the element, not of the vector: as fast, and a misaligned array does not crash."""
        return STORED[self.value.dtype if isinstance(self.value, Lane) else self.stored][1]

    @property
    def run_time_dims(self):
        """Axes whose size must be read from the table to compute or check an address."""
        return [k for k in range(len(self.dims)) if self.dims[k] is None and (k > 0 or BOUNDS)]

    @property
    def llvm(self):
        """A pointer and the sizes needed to address it."""
        return (self.element.as_pointer(), *[I64] * len(self.run_time_dims))

    def __str__(self):
        return f"field of {self.value} [{', '.join('*' if n is None else str(n) for n in self.dims)}]"


@dataclass(frozen=True)
class Pointed:
    """A constant of a handle that each world has for itself: its word is the address of where it lies."""

    field: Field


@dataclass(frozen=True, eq=False)
class Handle:
    """m, d or a: a pointer to a table of words. fields: name -> type, first word, word of the table it stands in or
    None, whether it stays where it is. step: stored elements between two entries, more than one on one lane of several."""

    name: str
    fields: dict = field(repr=False)
    step: int = 1

    llvm = (I64.as_pointer(),)

    def __str__(self):
        return self.name


SEEN = {"float64": FLOAT, "float32": FLOAT, "int64": INT, "int32": INT, "uint8": INT, "bool": BOOL}


@functools.cache
def handle_type(layout, real=None, step=1):
    """The handle of a layout. real: what real fields hold, None for a float or (dtype, width); step: their stride."""
    return Handle(layout.name, _fields_of(layout, real, step, None), step)


def _fields_of(layout, real, step, behind):
    own = real is not None or step != 1  # whether worlds lie side by side
    fields = {}
    for key, kind in layout.constants.items():
        seen = Pointed(Field(kind, _seen(kind, real), (None,), step)) if own and kind == REAL else SEEN[kind]
        fields[key] = seen, layout.word[key], behind, False
    for key, each in (*layout.fields.items(), *layout.elsewhere.items()):
        value = _seen(each.dtype, real) if each.per_world else SEEN[each.dtype]
        inner = each.static_dims()[1:] if each.dims else ()
        kind, fixed = Field(each.dtype, value, (None, *inner), step if each.per_world else 1), key in layout.fields
        fields[key] = kind, layout.word[key], behind, fixed
    if layout.inner is not None:
        fields |= _fields_of(layout.inner, real, step, layout.word[layout.inner.name])
    return fields


def _seen(dtype, real):
    """The type of what each world has for itself. real: as in `handle_type`."""
    if real is None:
        return SEEN[dtype]
    if dtype == REAL:
        return Lane(*real)
    width = real[1]
    return SEEN[dtype] if width == 1 else Mask(width) if dtype == FLAG else Whole(width)


def argument_type(argument, real):
    """The type of a further argument of an entry: a handle, or an integer."""
    return SEEN[argument] if isinstance(argument, str) else handle_type(argument, real)


def meet(a, b):
    """The type that values of both types can be given, or None."""
    if a == b:
        return a
    kinds = (type(a), type(b))
    if kinds == (Tuple, Tuple) and len(a.items) == len(b.items):
        items = tuple(meet(x, y) for x, y in zip(a.items, b.items, strict=True))
        return None if None in items else Tuple(items)
    if kinds == (Plain, Plain):
        if {a, b} == {INT, FLOAT}:
            return FLOAT
        return (INT if INT in (a, b) else FLOAT) if BOOL in (a, b) and NOTHING not in (a, b) else None
    for x, y in ((a, b), (b, a)):
        if (isinstance(x, Lane) and y in NUMBERS) or (isinstance(x, Mask) and y == BOOL):
            return x
        if isinstance(x, Whole) and (y in (INT, BOOL) or y == Mask(x.n)):
            return x
        if isinstance(x, Lane) and x.n > 1 and y == Whole(x.n):
            return x
    return None
