"""Model and data in compiled code: one pointer to a table of words.

A field takes the words (pointer, shape...), a constant takes the word itself. In a kernel `d.xpos[b, 0]` is then one load
through a bare pointer, with no arrays, reference counts or named tuples. Work memory has a table of its own, to which that of
the data points: kernels write `d.body_frc` all the same.

* Inner dimensions come from the *declaration* ("nbody 3"), never from an array: the type must not depend on the model.
* Indices do not wrap. `KINETREE_BOUNDS=1` compiles an unsigned check that also catches -1.
* Pointers and shapes are loaded as invariant: the table is rewritten only between calls of stages, and before kernels that
  are `apart`. Those of the driver's own arrays are not.
"""

from llvmlite import ir

from ...errors import nearest
from ..decorator import BOUNDS
from .python import raise_index_error
from .types import BOOL, F64, FLOAT, I8, I32, I64, INT, Field, KernelError, Lane, Pointed, Whole
from .values import Value, cast, truth, wide


def _word(builder, table, k, invariant):
    x = builder.load(builder.gep(table, [ir.Constant(I64, k)]))
    if invariant:
        x.set_metadata("invariant.load", builder.module.add_metadata([]))
    return x


def attribute(builder, handle, name):
    """m.body_mass: the words of a field, or a constant."""
    if name not in handle.type.fields:
        raise KernelError(f"{handle.type} has no field {name!r}: {nearest(name, handle.type.fields)}")
    kind, word, behind, fixed = handle.type.fields[name]
    table = handle.part
    if behind is not None:
        table = builder.inttoptr(_word(builder, table, behind, True), table.type)
    if isinstance(kind, Pointed):
        place = builder.inttoptr(_word(builder, table, word, True), kind.field.element.as_pointer())
        return load(builder, kind.field, place)
    if not isinstance(kind, Field):
        x = _word(builder, table, word, False)
        return Value(kind, (builder.bitcast(x, F64) if kind == FLOAT else x,))
    pointer = builder.inttoptr(_word(builder, table, word, fixed), kind.element.as_pointer())
    sizes = [_word(builder, table, word + 1 + k, fixed) for k in kind.run_time_dims]
    return Value(kind, (pointer, *sizes))


def set_constant(builder, handle, name, value):
    """a.steps = 3: write a constant's word."""
    kind, word, *_ = handle.type.fields.get(name, (None, None))
    if kind is None or isinstance(kind, (Field, Pointed)):
        raise KernelError(f"{name} is no constant of {handle.type}: assign to entries of fields")
    x = cast(builder, value, kind).part
    builder.store(builder.bitcast(x, I64) if kind == FLOAT else x, builder.gep(handle.part, [ir.Constant(I64, word)]))


def address(builder, owner, index, fail):
    """The pointer to an entry of a field. fail: leaves the kernel, where bounds are checked."""
    kind = owner.type
    if not isinstance(kind, Field):
        raise KernelError(f"a value of type {kind} has no entries")
    if any(isinstance(i.type, Whole) for i in index):
        raise KernelError("an integer that each world has for itself steers no address: each would read another entry")
    if len(index) != len(kind.dims) or any(i.type != INT for i in index):
        raise KernelError(f"{kind} takes {len(kind.dims)} integers, got {', '.join(str(i.type) for i in index)}")
    pointer, *loaded = owner.parts
    at_run_time = dict(zip(kind.run_time_dims, loaded, strict=True))
    sizes = [at_run_time.get(k) if n is None else ir.Constant(I64, n) for k, n in enumerate(kind.dims)]
    if BOUNDS:
        for i, n in zip(index, sizes, strict=True):
            check_bound(builder, i.part, n, kind, fail)
    at = index[0].part
    for i, n in zip(index[1:], sizes[1:], strict=True):
        at = builder.add(builder.mul(at, n, flags=("nsw",)), i.part, flags=("nsw",))
    if kind.step != 1:
        at = builder.mul(at, ir.Constant(I64, kind.step), flags=("nsw",))
    return builder.gep(pointer, [at], inbounds=True)


def load(builder, kind, pointer):
    """An entry: integers and flags are stored narrow."""
    x, n = builder.load(pointer, align=kind.alignment), getattr(kind.value, "n", 1)
    if kind.stored == "int32":
        x = builder.sext(x, wide(I64, n))
    elif kind.stored == "uint8":
        x = builder.zext(x, wide(I64, n))
    elif kind.stored == "bool":
        x = builder.icmp_unsigned("!=", x, ir.Constant(wide(I8, n), 0 if n == 1 else [0] * n))
    elif kind.stored == "float32" and not isinstance(kind.value, Lane):
        x = builder.fpext(x, F64)
    return Value(kind.value, (x,))


def store(builder, kind, pointer, value):
    """Write an entry; a number is cast, so that a float may be stored into lanes."""
    if not isinstance(kind, Field):
        raise KernelError(f"nothing can be stored in a value of type {kind}")
    value = truth(builder, value) if kind.value == BOOL else value
    x, n = cast(builder, value, kind.value).part, getattr(kind.value, "n", 1)
    narrow = {"int32": I32, "uint8": I8}.get(kind.stored)
    if narrow is not None:
        x = builder.trunc(x, wide(narrow, n))
    elif kind.stored == "bool":
        x = builder.zext(x, wide(I8, n))
    elif kind.stored == "float32" and not isinstance(kind.value, Lane):
        x = builder.fptrunc(x, kind.element)
    builder.store(x, pointer, align=kind.alignment)


def check_bound(builder, index, size, what, fail):
    """Leave the kernel with an error where an index is not below a size; -1 is not either."""
    with builder.if_then(builder.icmp_unsigned(">=", index, size), likely=False):
        raise_index_error(builder, f"index out of bounds of a {what}")
        fail()


def chosen_item(builder, owner, index, fail):
    """The item of a tuple whose number is known at run time: from a table if all are known, else by a switch."""
    items = owner.items()
    kind = items[0].type
    if BOUNDS:
        check_bound(builder, index, ir.Constant(I64, len(items)), "tuple", fail)
    if any(item.type != kind for item in items):
        raise KernelError(f"only a tuple of one type is indexed by a variable, not {owner.type}")
    if owner.constant is not None:
        parts = []
        for k, t in enumerate(kind.llvm):
            table = ir.ArrayType(t, len(items))
            known = ir.GlobalVariable(builder.module, table, builder.module.get_unique_name("table"))
            known.initializer, known.global_constant, known.linkage = (
                ir.Constant(table, [i.parts[k] for i in items]),
                True,
                "internal",
            )
            parts.append(builder.load(builder.gep(known, [ir.Constant(I64, 0), index], inbounds=True)))
        return Value(kind, tuple(parts))
    function, after = builder.function, builder.function.append_basic_block()
    blocks = [function.append_basic_block() for _ in items]
    choice = builder.switch(index, blocks[-1])
    for k, block in enumerate(blocks):
        choice.add_case(ir.Constant(I64, k), block)
        ir.IRBuilder(block).branch(after)
    builder.position_at_end(after)
    parts = []
    for k, t in enumerate(kind.llvm):
        phi = builder.phi(t)
        for item, block in zip(items, blocks, strict=True):
            phi.add_incoming(item.parts[k], block)
        parts.append(phi)
    return Value(kind, tuple(parts))
