"""Scalar types for Numba: SIMD lanes, their masks, and strict reals.

`Lane(dtype, n)` is an LLVM vector of n numbers, one per world. `Lane(dtype, 1)` is a *strict real*: a plain float whose
arithmetic with literals stays in its own precision (Numba's float32 * 0.5 is float64, which silently runs half of a
float32 engine in double). Comparing lanes gives a `Mask`, comparing strict reals a boolean.
The functions of the language on these types are in `lowering.py`.
"""

import operator

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, register_model

# "contract" allows fused multiply-add; stronger relaxations were measured to gain nothing.
FAST_FLAGS = ("contract", "nsz")
SUFFIX = {types.float64: "f64", types.float32: "f32"}
ELEMENT = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}
NUMBER = (types.Float, types.Integer)
I1, I32 = ir.IntType(1), ir.IntType(32)


class Lane(types.Type):
    """n numbers of one dtype, one per world."""

    def __init__(self, dtype, n):
        self.dtype, self.n = dtype, n
        super().__init__(name=f"{SUFFIX[dtype]}x{n}")

    def can_convert_to(self, context, other):
        return None  # never back to a float: storing a lane in a float field is an error

    def can_convert_from(self, context, other):
        return Conversion.safe if isinstance(other, NUMBER) else None  # lets `x = 0.0; x += lane` become a lane

    def unify(self, context, other):
        return self if isinstance(other, NUMBER) else None


class Mask(types.Type):
    """n booleans, one per world."""

    def __init__(self, n):
        self.n = n
        super().__init__(name=f"i1x{n}")

    def can_convert_from(self, context, other):
        return Conversion.safe if isinstance(other, types.Boolean) else None

    def unify(self, context, other):
        return self if isinstance(other, types.Boolean) else None


def llvm_type(lane):
    """The LLVM type that a lane is."""
    return ELEMENT[lane.dtype] if lane.n == 1 else ir.VectorType(ELEMENT[lane.dtype], lane.n)


def mask_type(lane):
    """What comparing such lanes gives."""
    return types.boolean if lane.n == 1 else Mask(lane.n)


@register_model(Lane)
class LaneModel(models.PrimitiveModel):
    """A lane lives in one register."""

    def __init__(self, dmm, lane):
        super().__init__(dmm, lane, llvm_type(lane))


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    """A mask lives in one mask register."""

    def __init__(self, dmm, mask):
        super().__init__(dmm, mask, ir.VectorType(I1, mask.n))


def splat(builder, x, n):
    """The same number in all n lanes."""
    if n == 1:
        return x
    empty = ir.Constant(ir.VectorType(x.type, n), ir.Undefined)
    first = builder.insert_element(empty, x, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, n), [0] * n))


@lower_cast(types.Float, Lane)
@lower_cast(types.Integer, Lane)
def number_to_lane(context, builder, source, target, x):
    """A number is the same in every world."""
    return splat(builder, context.cast(builder, x, source, target.dtype), target.n)


@lower_cast(types.Boolean, Mask)
def boolean_to_mask(context, builder, source, target, x):
    """A boolean holds in every world or in none."""
    return splat(builder, x if x.type == I1 else builder.trunc(x, I1), target.n)


def common_lane(args):
    """The one lane type among lanes and numbers, or None."""
    found = {a for a in args if isinstance(a, Lane)}
    if len(found) == 1 and all(isinstance(a, (*NUMBER, Lane)) for a in args):
        return found.pop()
    return None


def declare_on_lanes(function, arity, result=lambda lane: lane):
    """Typing of a function of lanes in which numbers may be mixed."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            lane = common_lane(args)
            if lane is not None and len(args) == arity and not kws:
                return signature(result(lane), *[lane] * arity)
            return None

    infer_global(function)(Template)


def _arithmetic():
    table = {
        "fadd": (operator.add, operator.iadd),
        "fsub": (operator.sub, operator.isub),
        "fmul": (operator.mul, operator.imul),
        "fdiv": (operator.truediv, operator.itruediv),
    }
    for name, functions in table.items():

        def lower(context, builder, sig, args, name=name):
            return getattr(builder, name)(*args, flags=FAST_FLAGS)

        for function in functions:
            declare_on_lanes(function, 2)
            lower_builtin(function, Lane, Lane)(lower)
    declare_on_lanes(operator.neg, 1)
    lower_builtin(operator.neg, Lane)(lambda context, builder, sig, args: builder.fneg(args[0]))


def _comparisons():
    table = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "=="}
    for function, symbol in table.items():

        def lower(context, builder, sig, args, symbol=symbol):
            return builder.fcmp_ordered(symbol, *args)

        declare_on_lanes(function, 2, mask_type)
        lower_builtin(function, Lane, Lane)(lower)
    declare_on_lanes(operator.ne, 2, mask_type)
    lower_builtin(operator.ne, Lane, Lane)(  # unordered: NaN != NaN
        lambda context, builder, sig, args: builder.fcmp_unordered("!=", *args)
    )


def declare_on_masks(function, arity, result, rule):
    """A function of masks in which booleans may be mixed; result None means a mask."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            masks = {a for a in args if isinstance(a, Mask)}
            allowed = all(isinstance(a, (Mask, types.Boolean)) for a in args)
            if len(args) == arity and len(masks) == 1 and allowed:
                mask = masks.pop()
                return signature(result or mask, *[mask] * arity)
            return None

    infer_global(function)(Template)
    lower_builtin(function, *[Mask] * arity)(rule)


def _mask_algebra():
    for functions, name in (((operator.and_, operator.iand), "and_"), ((operator.or_, operator.ior), "or_")):

        def lower(context, builder, sig, args, name=name):
            return getattr(builder, name)(*args)

        for function in functions:
            declare_on_masks(function, 2, None, lower)


def _no_truth_value(function):
    """`if mask:`, `mask and mask`, `not mask` and chained comparisons must not compile."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            if args and isinstance(args[0], (Mask, Lane)) and args[0].n > 1:
                raise TypingError("a mask has no single truth value: use where(), any_(), all_(), &, | and not_()")
            return None

    infer_global(function)(Template)


_arithmetic()
_comparisons()
_mask_algebra()
_no_truth_value(bool)
_no_truth_value(operator.not_)
