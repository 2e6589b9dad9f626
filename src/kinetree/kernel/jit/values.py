"""Values in compiled code: constants, casts, arithmetic, comparisons and truth.

Integers are 64 bits and round down when divided, as in Python; division by zero gives inf, as in C, or 0 for integers. A number
among lanes is the same in all of them. Sums and products carry "contract", which allows fused multiply-add: stronger
relaxations were measured to gain nothing.
"""

import ast
from dataclasses import dataclass

from llvmlite import ir

from .types import (
    BOOL,
    F64,
    FLOAT,
    I1,
    I32,
    I64,
    INT,
    NOTHING,
    NUMBERS,
    KernelError,
    Lane,
    Mask,
    Plain,
    Tuple,
    Whole,
    meet,
)

FAST_FLAGS = ("contract", "nsz")


@dataclass(frozen=True)
class Value:
    """A typed value: its registers, and what it is if that is known."""

    type: object
    parts: tuple
    constant: object = None

    @property
    def part(self):
        """Its only register."""
        (part,) = self.parts
        return part

    def items(self):
        """The values of a tuple."""
        out, at = [], 0
        for k, item in enumerate(self.type.items):
            known = None if self.constant is None else self.constant[k]
            out.append(Value(item, self.parts[at : at + len(item.llvm)], known))
            at += len(item.llvm)
        return out


NONE = Value(NOTHING, ())


def constant(x):
    """A number, a boolean or a tuple of them that kernels name."""
    if isinstance(x, tuple):
        return tuple_of([constant(item) for item in x])
    if isinstance(x, bool):
        return Value(BOOL, (ir.Constant(I1, x),), x)
    if isinstance(x, int):
        return Value(INT, (ir.Constant(I64, int(x)),), int(x))
    if isinstance(x, float):
        return Value(FLOAT, (ir.Constant(F64, float(x)),), float(x))
    raise KernelError(f"{x!r} is no value of the kernel language")


def tuple_of(items):
    """Several values as one."""
    known = tuple(item.constant for item in items)
    parts = tuple(part for item in items for part in item.parts)
    return Value(Tuple(tuple(item.type for item in items)), parts, None if None in known else known)


def wide(kind, n):
    """LLVM's type of n such numbers."""
    return kind if n == 1 else ir.VectorType(kind, n)


def splat(builder, x, n):
    """The same number in all n lanes."""
    if n == 1:
        return x
    if isinstance(x, ir.Constant):
        return ir.Constant(ir.VectorType(x.type, n), [x.constant] * n)
    empty = ir.Constant(ir.VectorType(x.type, n), ir.Undefined)
    first = builder.insert_element(empty, x, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, n), [0] * n))


def cast(builder, value, target):
    """A value as one of another type; what would lose something is an error."""
    source = value.type
    if source == target:
        return value
    if isinstance(source, Tuple) and isinstance(target, Tuple) and len(source.items) == len(target.items):
        return tuple_of([cast(builder, x, t) for x, t in zip(value.items(), target.items, strict=True)])
    if meet(source, target) != target:
        raise KernelError(f"{_a(source)} cannot be taken for {_a(target)}")
    if target == FLOAT and value.constant is not None:
        return constant(float(value.constant))
    if target == INT:
        return Value(INT, (builder.zext(value.part, I64),), value.constant)
    if isinstance(target, Whole):
        if isinstance(source, Mask):
            return Value(target, (builder.zext(value.part, *target.llvm),))
        return Value(target, (splat(builder, cast(builder, value, INT).part, target.n),))
    if isinstance(source, Whole):
        return Value(target, (builder.sitofp(value.part, target.register),))
    if isinstance(target, Mask):
        return Value(target, (splat(builder, value.part, target.n),))
    if isinstance(target, Lane):
        if value.constant is not None:
            number = ir.Constant(Lane(target.dtype, 1).register, float(value.constant))
        elif source == INT:
            number = builder.sitofp(value.part, Lane(target.dtype, 1).register)
        else:
            number = (
                value.part if target.dtype == "float64" else builder.fptrunc(value.part, Lane("float32", 1).register)
            )
        return Value(target, (splat(builder, number, target.n),))
    whole = builder.zext(value.part, I64) if source == BOOL else value.part
    return Value(FLOAT, (builder.sitofp(whole, F64),))


def _a(kind):
    return f"a value of type {kind}"


def together(builder, a, b, at_least=BOOL):
    """Both values in the type in which they meet."""
    common = meet(a.type, b.type)
    common = None if common is None else meet(common, at_least) if common in (BOOL, *NUMBERS) else common
    if common is None or isinstance(common, Tuple) or common == NOTHING:
        raise KernelError(f"{_a(a.type)} and {_a(b.type)} do not go together")
    return common, cast(builder, a, common), cast(builder, b, common)


REAL_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INTEGER_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "shl", ast.RShift: "ashr"}
BIT_OPERATIONS = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}
FOLDED = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
}  # fmt: skip


def binary(builder, operation, a, b):
    """The value of an operator between two values."""
    if operation in FOLDED and type(a.constant) is type(b.constant) is int:
        return constant(FOLDED[operation](a.constant, b.constant))
    if operation in BIT_OPERATIONS:
        common, x, y = together(builder, a, b)
        if common != FLOAT and not isinstance(common, Lane):
            return Value(common, (getattr(builder, BIT_OPERATIONS[operation])(x.part, y.part),))
        raise KernelError(f"{_a(common)} has no bits")
    common, x, y = together(builder, a, b, FLOAT if operation is ast.Div else INT)
    if common == INT and operation in (ast.FloorDiv, ast.Mod):
        return Value(INT, (_divided(builder, operation is ast.Mod, x.part, y.part),))
    if (common == INT or isinstance(common, Whole)) and operation in INTEGER_OPERATIONS:
        return Value(common, (getattr(builder, INTEGER_OPERATIONS[operation])(x.part, y.part),))
    if (common == FLOAT or isinstance(common, Lane)) and operation in REAL_OPERATIONS:
        return Value(common, (getattr(builder, REAL_OPERATIONS[operation])(x.part, y.part, flags=FAST_FLAGS),))
    hint = ": write powers as products, or exp(y * log(x))" if operation is ast.Pow else ""
    raise KernelError(f"{operation.__name__} is not defined on {_a(common)}{hint}")


def _divided(builder, remainder, a, b):
    """Quotient or remainder of integers, rounded down; 0 where the divisor is 0."""
    zero = ir.Constant(I64, 0)
    nothing = builder.icmp_signed("==", b, zero)
    safe = builder.select(nothing, ir.Constant(I64, 1), b)
    rest = builder.srem(a, safe)
    below = builder.and_(builder.icmp_signed("!=", rest, zero), builder.icmp_signed("<", builder.xor(rest, safe), zero))
    if remainder:
        out = builder.select(below, builder.add(rest, safe), rest)
    else:
        out = builder.sub(builder.sdiv(a, safe), builder.zext(below, I64))
    return builder.select(nothing, zero, out)


def negative(builder, x):
    """-x."""
    if isinstance(x.type, Lane) or x.type == FLOAT:
        return Value(x.type, (builder.fneg(x.part),)) if x.constant is None else constant(-x.constant)
    if x.type in (INT, BOOL):
        whole = cast(builder, x, INT)
        return Value(INT, (builder.neg(whole.part),)) if x.constant is None else constant(-int(x.constant))
    if isinstance(x.type, Whole):
        return binary(builder, ast.Sub, constant(0), x)
    raise KernelError(f"{_a(x.type)} has no negative")


COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def compare(builder, operation, a, b):
    """A boolean, or a mask of lanes. NaN is unequal to everything."""
    symbol = COMPARISONS.get(operation)
    if symbol is None:
        raise KernelError(f"{operation.__name__} is not part of the kernel language")
    if isinstance(a.type, Tuple) and isinstance(b.type, Tuple):
        return _equal_tuples(builder, operation, a, b)
    common, x, y = together(builder, a, b)
    if isinstance(common, Whole):
        return Value(Mask(common.n), (builder.icmp_signed(symbol, x.part, y.part),))
    if common == INT or common == BOOL:
        kind = builder.icmp_signed if common == INT else builder.icmp_unsigned
        known = None
        if a.constant is not None and b.constant is not None and symbol in ("==", "!="):
            known = (a.constant == b.constant) == (symbol == "==")
        return Value(BOOL, (kind(symbol, x.part, y.part),), known)
    if isinstance(common, Mask):
        raise KernelError("masks are not compared: use &, | and not_()")
    kind = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
    return Value(common.mask if isinstance(common, Lane) else BOOL, (kind(symbol, x.part, y.part),))


def _equal_tuples(builder, operation, a, b):
    """Whether all items are equal, or not all."""
    if operation not in (ast.Eq, ast.NotEq) or len(a.type.items) != len(b.type.items):
        raise KernelError("tuples of one length are compared by == and != alone")
    out = ir.Constant(I1, 1)
    for x, y in zip(a.items(), b.items(), strict=True):
        out = builder.and_(out, truth(builder, compare(builder, ast.Eq, x, y)).part)
    return Value(BOOL, (out if operation is ast.Eq else builder.not_(out),))


def truth(builder, x):
    """Whether a value counts as true, as a boolean of one bit."""
    if isinstance(x.type, (Mask, Lane, Whole)) and x.type.n > 1:
        raise KernelError("a mask has no single truth value: use where(), any_(), all_(), &, | and not_()")
    if x.type == BOOL:
        return x
    if x.type == INT:
        return compare(builder, ast.NotEq, x, constant(0))
    if isinstance(x.type, (Lane, Plain)) and x.type != NOTHING:
        return compare(builder, ast.NotEq, x, constant(0.0))
    raise KernelError(f"{_a(x.type)} has no truth value")
