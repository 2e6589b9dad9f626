"""Kernels to LLVM: a small compiler of the part of Python that kernels are written in.

Assignments, `if`, `for … in range`, `while`, `return`, arithmetic, comparisons, tuples, entries of fields and calls of other
kernels; types of variables follow from what is assigned to them. A kernel is compiled once for each list of argument types,
into a module of its own; entries link what they call and inline all of it. Numba, which knows all of Python, took eight times
as long for the same.
"""

import ast
import functools
import itertools
from dataclasses import dataclass, field

import llvmlite.binding as llvm
from llvmlite import ir

from ..decorator import BOUNDS
from . import memory, values
from .expressions import Expressions, function_type
from .source import definition
from .types import I1, I64, INT, NOTHING, KernelError, Tuple, meet
from .values import Value, cast, constant, truth


class Retry(Exception):
    """A variable, or what is returned, turned out to be of a wider type than the code so far took it for."""


@dataclass(eq=False)
class Compiled:
    """A kernel for a list of argument types: its symbol, what it returns, its module and the kernels that it calls."""

    symbol: str
    arguments: tuple
    result: object
    module: object
    callees: list = field(default_factory=list)

    def linked(self):
        """A module of it and all that it calls."""
        found, todo = [self], list(self.callees)
        while todo:
            each = todo.pop()
            if each not in found:
                found.append(each)
                todo += each.callees
        module = self.module.clone()
        for each in found[1:]:
            module.link_in(each.module, preserve=True)
        return module


_COMPILED = {}
_NUMBERS = itertools.count()  # of symbols


def specialised(function, arguments, target):
    """A kernel compiled for argument types; target: LLVM's machine, for the layout of data."""
    key = function, arguments
    if key not in _COMPILED:
        symbol = f"{function.__module__}.{function.__qualname__}.{next(_NUMBERS)}"
        _COMPILED[key] = None  # a kernel that calls itself would come back here
        try:
            _COMPILED[key] = Translator.of(function, arguments, symbol, target)
        finally:
            if _COMPILED[key] is None:
                del _COMPILED[key]
    if _COMPILED[key] is None:
        raise KernelError(f"{function.__qualname__} calls itself")
    return _COMPILED[key]


def parsed(module, target):
    """What llvmlite wrote, as LLVM has it; with a few passes, as it is copied into many entries."""
    module.triple, module.data_layout = target.triple, str(target.target_data)
    out = llvm.parse_assembly(str(module))
    builder, passes = simplification(target)
    for each in out.functions:
        if not each.is_declaration:
            passes.run(each, builder)
    return out


@functools.cache
def simplification(target):
    """LLVM's passes for single functions."""
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
    return builder, builder.getFunctionPassManager()


class Translator(Expressions):
    """Compiles one kernel for one list of argument types."""

    @classmethod
    def of(cls, function, arguments, symbol, target):
        """Compile as often as types of variables turn out to be wider."""
        types, result = {}, None
        while True:
            translator = cls(function, arguments, symbol, target, dict(types), result)
            try:
                return translator.compile()
            except Retry:
                if (translator.types, translator.result) == (types, result):
                    raise KernelError(f"types of variables of {function.__qualname__} do not settle") from None
                types, result = translator.types, translator.result

    def __init__(self, function, arguments, symbol, target, types, result):
        self.function, self.arguments, self.symbol, self.target = function, arguments, symbol, target
        self.types, self.result, self.callees = types, result, []
        self.variables, self.loops, self.depth = {}, [], -1  # name -> type, places, how deep it was assigned first
        closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.closure = {name: cell.cell_contents for name, cell in closure}
        self.module = ir.Module(symbol)

    def compile(self):
        """The compiled kernel."""
        node = definition(self.function)
        parameters = named_parameters(node, self.arguments, self.function.__qualname__)
        returned = self.result if self.result is not None else NOTHING
        self.ir = ir.Function(self.module, function_type(self.arguments, returned), self.symbol)
        self.ir.attributes.add("noinline" if getattr(self.function, "apart", False) else "alwaysinline")
        self.first = self.ir.append_basic_block()  # for the variables
        body = self.ir.append_basic_block()
        self.builder, at = ir.IRBuilder(body), 0
        self.depth = 0
        for name, kind in parameters:
            self.assign(name, Value(kind, tuple(self.ir.args[at : at + len(kind.llvm)])))
            at += len(kind.llvm)
        self.depth = -1
        self.statements(node.body)
        if not self.builder.block.is_terminated:
            self.leave(None)
        ir.IRBuilder(self.first).branch(body)
        return Compiled(self.symbol, self.arguments, returned, parsed(self.module, self.target), self.callees)

    def compiled(self, function, arguments):
        """A kernel that this one calls."""
        callee = specialised(function, arguments, self.target)
        if callee not in self.callees:
            self.callees.append(callee)
        return callee

    # statements

    def statements(self, nodes):
        """Compile statements until one leaves the block."""
        self.depth += 1
        for node in nodes:
            if self.builder.block.is_terminated:
                break
            try:
                self.visit(node)
            except KernelError as error:
                if not getattr(error, "located", False):
                    place = f"{self.function.__code__.co_filename}:{node.lineno}"
                    error = KernelError(f"{place}, in {self.function.__qualname__}: {error}")
                    error.located = True
                raise error from None
        self.depth -= 1

    def visit_Expr(self, node):
        """A call for its effect, or a docstring."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Pass(self, node):
        """Nothing."""

    def visit_Assign(self, node):
        """All values are computed before one is assigned."""
        value = self.visit(node.value)
        for target in node.targets:
            self.store(target, value)

    def visit_AugAssign(self, node):
        """An entry's address is computed once."""
        if isinstance(node.target, ast.Subscript):
            kind, pointer = self.address(node.target)
            old = memory.load(self.builder, kind, pointer)
            new = values.binary(self.builder, type(node.op), old, self.visit(node.value))
            memory.store(self.builder, kind, pointer, new)
            return
        old = self.visit(ast.copy_location(_loaded(node.target), node))
        self.store(node.target, values.binary(self.builder, type(node.op), old, self.visit(node.value)))

    def store(self, target, value):
        """Assign to a name, an entry, a constant of a handle, or several of them."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value.type, Tuple) or len(value.type.items) != len(target.elts):
                raise KernelError(f"a value of type {value.type} cannot be taken apart into {len(target.elts)}")
            for each, item in zip(target.elts, value.items(), strict=True):
                self.store(each, item)
        elif isinstance(target, ast.Subscript):
            kind, pointer = self.address(target)
            memory.store(self.builder, kind, pointer, value)
        elif isinstance(target, ast.Attribute):
            memory.set_constant(self.builder, self.visit(target.value), target.attr, value)
        else:
            self.generic_visit(target)

    def assign(self, name, value):
        """Give a variable a value. It gets the type of all that is assigned to it, or is another one from here on."""
        if value.type == NOTHING:
            raise KernelError(f"{name} would be nothing")
        if name == "_":  # which nobody reads
            return
        known = self.variables.get(name)
        kind = known[0] if known else self.types.get(name, value.type)
        common = meet(kind, value.type)
        if common is None:
            if self.depth or known[2]:
                raise KernelError(f"{name} would be of type {value.type}, and is of type {kind} elsewhere")
            kind, known = value.type, None
        elif common != kind:
            self.types[name] = common
            raise Retry
        if not known:
            top = ir.IRBuilder(self.first)
            self.variables[name] = known = kind, [top.alloca(t) for t in kind.llvm], self.depth
        for part, place in zip(cast(self.builder, value, kind).parts, known[1], strict=True):
            self.builder.store(part, place)

    def visit_If(self, node):
        """A condition that is known leaves one branch."""
        condition = truth(self.builder, self.visit(node.test))
        if condition.constant is not None:
            self.statements(node.body if condition.constant else node.orelse)
            return
        then, otherwise, after = (self.ir.append_basic_block() for _ in range(3))
        self.builder.cbranch(condition.part, then, otherwise)
        goes_on = False
        for block, body in ((then, node.body), (otherwise, node.orelse)):
            self.builder.position_at_end(block)
            self.statements(body)
            if not self.builder.block.is_terminated:
                self.builder.branch(after)
                goes_on = True
        self.builder.position_at_end(after)
        if not goes_on:
            self.builder.unreachable()

    def visit_While(self, node):
        """A loop on a condition."""
        head, body, after = (self.ir.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        condition = truth(self.builder, self.visit(node.test))
        self.builder.cbranch(condition.part, body, after)
        self.loop(node, body, head, after)

    def visit_For(self, node):
        """A loop over a range, whose ends are computed once."""
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            raise KernelError("loops go over range(…)")
        given = [cast(self.builder, self.visit(a), INT) for a in call.args]
        start, stop = (constant(0), given[0]) if len(given) == 1 else given[:2]
        step = given[2].constant if len(given) == 3 else 1
        if not step:
            raise KernelError("the step of a range is a constant other than 0")
        counter = ir.IRBuilder(self.first).alloca(I64)
        self.builder.store(start.part, counter)
        head, body, further, after = (self.ir.append_basic_block() for _ in range(4))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        inside = self.builder.icmp_signed("<" if step > 0 else ">", self.builder.load(counter), stop.part)
        self.builder.cbranch(inside, body, after)
        self.builder.position_at_end(further)
        self.builder.store(
            self.builder.add(self.builder.load(counter), ir.Constant(I64, step), flags=("nsw",)), counter
        )
        self.builder.branch(head)
        self.builder.position_at_end(body)
        self.assign(node.target.id, Value(INT, (self.builder.load(counter),)))
        self.loop(node, body, further, after)

    def loop(self, node, body, again, after):
        """The body of a loop; again: where `continue` goes."""
        if node.orelse:
            raise KernelError("loops have no else")
        self.loops.append((again, after))
        self.builder.position_at_end(body)
        self.statements(node.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(again)
        self.loops.pop()
        self.builder.position_at_end(after)

    def visit_Break(self, node):
        """To behind the loop."""
        self.builder.branch(self.loops[-1][1])

    def visit_Continue(self, node):
        """To its next round."""
        self.builder.branch(self.loops[-1][0])

    def visit_Return(self, node):
        """Leave the kernel."""
        self.leave(None if node.value is None else self.visit(node.value))

    def leave(self, value):
        """Return a value; where a kernel ends without one, although it returns some elsewhere, nobody reads it."""
        value = None if value is None or value.type == NOTHING else value
        if value is not None:
            common = value.type if self.result is None else meet(self.result, value.type)
            if common is None:
                raise KernelError(f"a value of type {value.type} is returned, and elsewhere one of type {self.result}")
            if common != self.result:
                self.result = common
                raise Retry
            parts = list(cast(self.builder, value, common).parts)
        else:
            parts = [ir.Constant(t, ir.Undefined) for t in (self.result.llvm if self.result is not None else ())]
        self.answer([ir.Constant(I1, 0)] * BOUNDS + parts)

    def fail(self):
        """Return, as a bound was crossed."""
        parts = self.result.llvm if self.result is not None else ()
        self.answer([ir.Constant(I1, 1), *(ir.Constant(t, ir.Undefined) for t in parts)])

    def answer(self, parts):
        """Return registers."""
        if not parts:
            self.builder.ret_void()
        elif len(parts) == 1:
            self.builder.ret(parts[0])
        else:
            out = ir.Constant(self.ir.function_type.return_type, ir.Undefined)
            for k, part in enumerate(parts):
                out = self.builder.insert_value(out, part, k)
            self.builder.ret(out)


def named_parameters(node, arguments, name):
    """Names of parameters with their types; the last one, after a star, is a tuple of all arguments that are left."""
    names, rest = [a.arg for a in node.args.args], node.args.vararg
    if len(arguments) < len(names) or (len(arguments) > len(names) and rest is None):
        raise KernelError(f"{name} takes {len(names)} arguments, not {len(arguments)}")
    kinds = [*arguments[: len(names)], Tuple(tuple(arguments[len(names) :]))]
    return list(zip([*names, rest.arg] if rest else names, kinds, strict=False))


def _loaded(target):
    """A target as an expression."""
    return (
        ast.Name(target.id, ast.Load())
        if isinstance(target, ast.Name)
        else ast.Attribute(target.value, target.attr, ast.Load())
    )
