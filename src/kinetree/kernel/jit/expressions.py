"""Expressions of kernels: what each kind of node of the syntax tree is in LLVM.

The state that they need, and what becomes of statements, is in `translate.py`.
"""

import ast

from llvmlite import ir

from .. import ops
from ..decorator import BOUNDS
from . import memory, values
from .functions import RULES
from .guard import emit_stage_call
from .types import BOOL, I1, I64, INT, Handle, KernelError, Tuple, meet
from .values import NONE, Value, cast, constant, truth, tuple_of

BUILTINS = {"int": int, "float": float, "len": len}


def function_type(arguments, result):
    """LLVM's type of a kernel. With bounds checks the first thing that it returns is whether one failed."""
    parts = [I1] * BOUNDS + list(result.llvm)
    kind = ir.VoidType() if not parts else parts[0] if len(parts) == 1 else ir.LiteralStructType(parts)
    return ir.FunctionType(kind, [t for argument in arguments for t in argument.llvm])


class Expressions(ast.NodeVisitor):
    """Compiles expressions: each method returns a `Value`."""

    def generic_visit(self, node):
        """Everything that has no method."""
        raise KernelError(f"{type(node).__name__} is not part of the kernel language: {ast.unparse(node)[:60]}")

    def visit_Constant(self, node):
        """A literal."""
        return constant(node.value)

    def visit_Name(self, node):
        """A variable, or a constant that the module names."""
        if node.id in self.variables:
            kind, places, _ = self.variables[node.id]
            return Value(kind, tuple(self.builder.load(place) for place in places))
        return constant(self.named(node))

    def named(self, node):
        """The Python object that an expression names: of the closure, the module, or a module that it imports."""
        if isinstance(node, ast.Attribute):
            return getattr(self.named(node.value), node.attr)
        if node.id in self.function.__code__.co_varnames:
            raise KernelError(f"{node.id} is not assigned before")
        for scope in (self.closure, self.function.__globals__):
            if node.id in scope:
                return scope[node.id]
        raise KernelError(f"{node.id} is not known")

    def visit_Tuple(self, node):
        """Several values."""
        return tuple_of([self.visit(each) for each in node.elts])

    def visit_Attribute(self, node):
        """A field or constant of a handle, or what a module names."""
        if isinstance(node.value, ast.Name) and node.value.id in self.variables:
            owner = self.visit(node.value)
            if isinstance(owner.type, Handle):
                return memory.attribute(self.builder, owner, node.attr)
            raise KernelError(f"a value of type {owner.type} has no {node.attr!r}")
        return constant(self.named(node))

    def visit_Subscript(self, node):
        """An entry of a field, or an item of a tuple."""
        owner = self.visit(node.value)
        if isinstance(owner.type, Tuple):
            return self.item(owner, node.slice)
        kind, pointer = self.address(node, owner)
        return memory.load(self.builder, kind, pointer)

    def item(self, owner, node):
        """An item of a tuple; by a variable, where all are of one type."""
        if isinstance(node, ast.Slice):
            ends = [None if each is None else self.visit(each).constant for each in (node.lower, node.upper, node.step)]
            if any(
                each is not None and end is None
                for each, end in zip((node.lower, node.upper, node.step), ends, strict=True)
            ):
                raise KernelError("slices of tuples end at constants")
            return tuple_of(owner.items()[slice(*ends)])
        index = self.visit(node)
        if index.type != INT:
            raise KernelError(f"items are counted by integers, not by a value of type {index.type}")
        if index.constant is not None:
            return owner.items()[index.constant]
        return memory.chosen_item(self.builder, owner, index.part, self.fail)

    def address(self, node, owner=None):
        """The field of an entry, and the pointer to it."""
        owner = self.visit(node.value) if owner is None else owner
        index = self.visit(node.slice)
        parts = index.items() if isinstance(index.type, Tuple) else [index]
        return owner.type, memory.address(self.builder, owner, parts, self.fail)

    def visit_BinOp(self, node):
        """Arithmetic."""
        return values.binary(self.builder, type(node.op), self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node):
        """A sign, or `not`."""
        x = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            return values.negative(self.builder, x)
        if isinstance(node.op, ast.Not):
            x = truth(self.builder, x)
            return constant(not x.constant) if x.constant is not None else Value(BOOL, (self.builder.not_(x.part),))
        return self.generic_visit(node)

    def visit_Compare(self, node):
        """A comparison, or a chain of them."""
        left, out = self.visit(node.left), None
        for operation, each in zip(node.ops, node.comparators, strict=True):
            right = self.visit(each)
            found = values.compare(self.builder, type(operation), left, right)
            out = (
                found
                if out is None
                else Value(BOOL, (self.builder.and_(*(truth(self.builder, x).part for x in (out, found))),))
            )
            left = right
        return out

    def visit_BoolOp(self, node):
        """`and`, `or`: what follows is not looked at once the answer is known."""
        stops = isinstance(node.op, ast.Or)
        place = ir.IRBuilder(self.first).alloca(I1)
        after = self.ir.append_basic_block()
        for k, each in enumerate(node.values):
            x = truth(self.builder, self.visit(each))
            if x.constant is not None and x.constant != stops and k + 1 < len(node.values):
                continue
            self.builder.store(x.part, place)
            if k + 1 == len(node.values) or x.constant is not None:
                self.builder.branch(after)
                break
            further = self.ir.append_basic_block()
            self.builder.cbranch(x.part, *((after, further) if stops else (further, after)))
            self.builder.position_at_end(further)
        self.builder.position_at_end(after)
        return Value(BOOL, (self.builder.load(place),))

    def visit_IfExp(self, node):
        """One of two values, of which the other is not computed."""
        condition = truth(self.builder, self.visit(node.test))
        if condition.constant is not None:
            return self.visit(node.body if condition.constant else node.orelse)
        blocks, found, after = [self.ir.append_basic_block() for _ in range(2)], [], self.ir.append_basic_block()
        self.builder.cbranch(condition.part, *blocks)
        for block, each in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            found.append((self.visit(each), self.builder.block))
        kind = meet(found[0][0].type, found[1][0].type)
        if kind is None:
            raise KernelError(f"this is either of type {found[0][0].type} or of type {found[1][0].type}")
        places = [ir.IRBuilder(self.first).alloca(t) for t in kind.llvm]
        for value, block in found:
            self.builder.position_at_end(block)
            for part, place in zip(cast(self.builder, value, kind).parts, places, strict=True):
                self.builder.store(part, place)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        return Value(kind, tuple(self.builder.load(place) for place in places))

    def visit_Call(self, node):
        """A kernel, a stage, or a function of the language."""
        if node.keywords:
            raise KernelError("arguments are given by their places")
        function = BUILTINS.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if function is None:
            function = self.named(node.func)
        return self.call(function, [value for a in node.args for value in self.given(a)])

    def given(self, node):
        """The values that an argument stands for: one, or all of a tuple after a star."""
        if not isinstance(node, ast.Starred):
            return [self.visit(node)]
        value = self.visit(node.value)
        if not isinstance(value.type, Tuple):
            raise KernelError(f"a value of type {value.type} is not several arguments")
        return value.items()

    def call(self, function, given):
        """Call a function with values."""
        if hasattr(function, "stage_index"):
            model, data = given
            if data.type.step == 1:
                number = ir.Constant(I64, function.stage_index)
                emit_stage_call(self.builder, data.type, model.part, data.part, number)
                return NONE
            function = function.kernel  # the table has it for all lanes: on one of them it is compiled in
        if function in RULES:
            return RULES[function](self, *given)
        if not hasattr(function, "scalar_only"):
            name = getattr(function, "__name__", str(function))
            hint = f": write kinetree.kernel.ops.{name}" if hasattr(ops, name) else ""
            raise KernelError(f"{name} is neither a kernel nor a function of the language{hint}")
        callee = self.compiled(function, tuple(value.type for value in given))
        kind = function_type(callee.arguments, callee.result)
        declared = self.module.globals.get(callee.symbol) or ir.Function(self.module, kind, callee.symbol)
        out = self.builder.call(declared, [part for value in given for part in value.parts])
        count = BOUNDS + len(callee.result.llvm)
        parts = [out] if count == 1 else [self.builder.extract_value(out, k) for k in range(count)]
        if BOUNDS:
            with self.builder.if_then(parts.pop(0), likely=False):
                self.fail()
        return Value(callee.result, tuple(parts))
