"""Machines: the pairs of handle types that kernels are compiled for, and their tables of compiled stages.

`FLOAT` runs one world on float64. `machine(dtype, width)` runs `width` worlds on SIMD lanes, or one on strict reals.
"""

import functools

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from .. import data as data_module
from .. import model as model_module
from ..fields import REAL
from . import lowering  # noqa: F401  registers the functions of the language
from .handle import FieldType, HandleType
from .scalars import Lane

MACHINES = {}  # by the address of their table of stages
CONSTANT_TYPES = {"int64": types.int64, "float64": types.float64}


def handle_type(layout, scalar=None, step=1):
    """The handle type of a layout: `scalar` is what real fields hold, `step` their stride in memory."""
    fields = {key: (CONSTANT_TYPES[kind], layout.word[key]) for key, kind in layout.constants.items()}
    for key, field in layout.fields.items():
        real = field.dtype == REAL
        dtype = scalar if real and scalar is not None else from_dtype(np.dtype(field.dtype))
        inner = field.static_dims()[1:] if field.dims else ()
        fields[key] = FieldType(dtype, (None, *inner), step if real else 1), layout.word[key]
    return HandleType(layout.name, fields)


class Machine:
    """One kind of world: the types of m and d, and the addresses of the stages compiled for them."""

    def __init__(self, name, model_type, data_type, width=None, dtype=np.float64, stages=None):
        self.name, self.model_type, self.data_type = name, model_type, data_type
        self.width, self.dtype = width, np.dtype(dtype)
        self.stages = np.zeros_like(data_module.FLOAT_STAGES) if stages is None else stages
        MACHINES[self.stages.ctypes.data] = self

    def __repr__(self):
        return f"<machine {self.name}>"


@functools.cache
def float_machine():
    """One world on float64."""
    types_ = handle_type(model_module.LAYOUT), handle_type(data_module.LAYOUT)
    return Machine("float64", *types_, stages=data_module.FLOAT_STAGES)


def machine(dtype="float64", width=8):
    """`width` worlds at once on SIMD lanes; width 1 is the strict real of that precision."""
    if dtype not in ("float64", "float32") or type(width) is not int or width < 1 or width & (width - 1):
        raise ValueError(f"lanes are float64 or float32 and a power of two wide, not {dtype} x {width}")
    return _lane_machine(dtype, width)


@functools.cache
def _lane_machine(dtype, width):
    scalar = Lane(getattr(types, dtype), width)
    return Machine(
        f"{dtype} x {width}", float_machine().model_type, handle_type(data_module.LAYOUT, scalar), width, dtype
    )


@functools.cache
def lane_view(dtype, width):
    """One lane of such a machine seen as a float world of its own, for kernels that branch on values."""
    scalar = None if dtype == "float64" else Lane(getattr(types, dtype), 1)
    view = handle_type(data_module.LAYOUT, scalar, step=width)
    return Machine(f"a lane of {dtype} x {width}", float_machine().model_type, view, 1, dtype)
