"""Model and data in compiled code: one pointer to a table of words.

A field takes the words (pointer, shape...), a constant takes the word itself. In a kernel `d.xpos[b, 0]` is then one load
through a bare pointer, with no arrays, reference counts or named tuples (which cost 7-35 us a call and a minute of compile).

* Inner dimensions come from the *declaration* ("nbody 3"), never from an array: the type must not depend on the model.
* Indices do not wrap. `KINETREE_BOUNDS=1` compiles an unsigned check that also catches -1.
* Pointers and shapes are loaded as invariant: the table is rewritten only between calls.
* Loads state the element's alignment, not the vector's: as fast, and a misaligned array does not crash.
"""

import hashlib
import operator

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import infer_getattr, lower_builtin, lower_getattr_generic, lower_setattr_generic, register_model

from .decorator import BOUNDS

I64, F64 = ir.IntType(64), ir.DoubleType()


class FieldType(types.Type):
    """dtype: what indexing gives. dims: None where known at run time. step: stored elements between two entries."""

    def __init__(self, dtype, dims, step=1):
        self.dtype, self.dims, self.ndim, self.step = dtype, tuple(dims), len(dims), step
        sizes = ",".join("*" if n is None else str(n) for n in dims)
        super().__init__(name=f"field({dtype};{sizes};{step})")

    @property
    def run_time_dims(self):
        """Axes whose size must be read from the table to compute or check an address."""
        return [k for k in range(self.ndim) if self.dims[k] is None and (k > 0 or BOUNDS)]


class HandleType(types.Type):
    """The type of m or d: field name -> (type, first word)."""

    def __init__(self, name, fields):
        self.fields = fields
        text = ",".join(f"{key}:{t}:{word}" for key, (t, word) in fields.items())
        self.label = name
        super().__init__(name=f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}")


@register_model(HandleType)
class HandleModel(models.PrimitiveModel):
    """A handle is a pointer to words."""

    def __init__(self, dmm, handle):
        super().__init__(dmm, handle, I64.as_pointer())


@register_model(FieldType)
class FieldModel(models.StructModel):
    """A field is a pointer and the sizes needed to address it."""

    def __init__(self, dmm, field):
        sizes = [(f"n{k}", types.int64) for k in field.run_time_dims]
        super().__init__(dmm, field, [("data", types.CPointer(field.dtype)), *sizes])


@infer_getattr
class HandleAttribute(AttributeTemplate):
    """Typing of m.body_mass."""

    key = HandleType

    def generic_resolve(self, handle, name):
        """The type of a field; an unknown name is a clear error."""
        if name not in handle.fields:
            raise errors.TypingError(f"{handle.label} has no field {name!r}")
        return handle.fields[name][0]


@lower_getattr_generic(HandleType)
def get_attribute(context, builder, handle, table, name):
    """Load a field's words, or a constant."""
    field, word = handle.fields[name]

    def load(k, invariant):
        x = builder.load(builder.gep(table, [ir.Constant(I64, word + k)]))
        if invariant:
            x.set_metadata("invariant.load", builder.module.add_metadata([]))
        return x

    if not isinstance(field, FieldType):
        x = load(0, False)
        return builder.bitcast(x, F64) if field == types.float64 else x
    struct = cgutils.create_struct_proxy(field)(context, builder)
    struct.data = builder.inttoptr(load(0, True), context.get_data_type(field.dtype).as_pointer())
    for k in field.run_time_dims:
        setattr(struct, f"n{k}", load(1 + k, True))
    return struct._getvalue()


@lower_setattr_generic(HandleType)
def set_attribute(context, builder, sig, args, name):
    """Write a constant's word."""
    field, word = sig.args[0].fields[name]
    if isinstance(field, FieldType):
        raise errors.TypingError(f"{name} is a field: assign to its entries")
    x = context.cast(builder, args[1], sig.args[1], field)
    builder.store(builder.bitcast(x, I64), builder.gep(args[0], [ir.Constant(I64, word)]))


def _check_index(field, index):
    if field.ndim == 1:
        good = isinstance(index, types.Integer)
    else:
        good = isinstance(index, types.BaseTuple) and len(index) == field.ndim
        good = good and all(isinstance(x, types.Integer) for x in index)
    if not good:
        raise errors.TypingError(f"{field} takes {field.ndim} integers, got {index}")


@infer_global(operator.getitem)
class GetItem(AbstractTemplate):
    """Typing of x[i, j]."""

    def generic(self, args, kws):
        """An entry has the field's scalar type."""
        if not isinstance(args[0], FieldType):
            return None
        _check_index(*args)
        return signature(args[0].dtype, *args)


@infer_global(operator.setitem)
class SetItem(AbstractTemplate):
    """Typing of x[i, j] = value; the value is cast, so a float may be stored into lanes."""

    def generic(self, args, kws):
        """Storing gives nothing."""
        if not isinstance(args[0], FieldType):
            return None
        _check_index(*args[:2])
        return signature(types.none, args[0], args[1], args[0].dtype)


def _address(context, builder, field, value, index_type, index):
    struct = cgutils.create_struct_proxy(field)(context, builder, value=value)
    if field.ndim == 1:
        index = [context.cast(builder, index, index_type, types.int64)]
    else:
        parts = zip(cgutils.unpack_tuple(builder, index), index_type, strict=True)
        index = [context.cast(builder, x, t, types.int64) for x, t in parts]
    loaded = field.run_time_dims
    sizes = [
        ir.Constant(I64, n) if n is not None else getattr(struct, f"n{k}") if k in loaded else None
        for k, n in enumerate(field.dims)
    ]
    if BOUNDS:
        for i, n in zip(index, sizes, strict=True):
            with builder.if_then(builder.icmp_unsigned(">=", i, n), likely=False):
                context.call_conv.return_user_exc(builder, IndexError, (f"index out of bounds of {field}",))
    at = index[0]
    for k in range(1, field.ndim):
        at = builder.add(builder.mul(at, sizes[k], flags=("nsw",)), index[k], flags=("nsw",))
    if field.step != 1:
        at = builder.mul(at, ir.Constant(I64, field.step), flags=("nsw",))
    return builder.gep(struct.data, [at], inbounds=True)


def _alignment(dtype):
    return getattr(dtype, "dtype", dtype).bitwidth // 8


@lower_builtin(operator.getitem, FieldType, types.Any)
def get_item(context, builder, sig, args):
    """One load."""
    field = sig.args[0]
    pointer = _address(context, builder, field, args[0], sig.args[1], args[1])
    if isinstance(field.dtype, types.Boolean):
        return context.unpack_value(builder, field.dtype, pointer)
    return builder.load(pointer, align=_alignment(field.dtype))


@lower_builtin(operator.setitem, FieldType, types.Any, types.Any)
def set_item(context, builder, sig, args):
    """One store."""
    field = sig.args[0]
    pointer = _address(context, builder, field, args[0], sig.args[1], args[1])
    if isinstance(field.dtype, types.Boolean):
        context.pack_value(builder, field.dtype, args[2], pointer)
    else:
        builder.store(args[2], pointer, align=_alignment(field.dtype))
