"""What a kernel reads and writes of its data, from its text and that of the kernels it calls, up to stages.

An array that is handed on is followed into the kernel that takes it. All that stands in a text counts, also behind conditions,
unless the caller says by a literal that they do not hold.
"""

import ast
import functools
import linecache
from typing import NamedTuple

from .order import is_kernel
from .stage import plain


class Access(NamedTuple):
    """Fields that a text reads, fields that it writes, and stages that it calls: what these do is theirs."""

    reads: frozenset
    writes: frozenset
    calls: tuple


@functools.cache
def access(function, handle="d"):
    """What a kernel or stage does to the fields of one of its handles."""
    walk = _walk(plain(function), ())
    reads, writes = ({field for name, field in uses if name == handle and field} for uses in (walk.read, walk.written))
    return Access(frozenset(reads), frozenset(writes), tuple(walk.stages))


@functools.cache
def _walk(function, literals):
    """The walk over a function, given literals for some of its parameters, as pairs of a name and a value."""
    return _Walk(function, dict(literals))


class _Walk(ast.NodeVisitor):
    """Collects pairs of a parameter and a field of it, or None where the parameter is an array itself."""

    def __init__(self, function, literals):
        closure = zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True)
        self.scope, self.literals = function.__globals__ | dict(closure), literals
        self.roots = {name: {(name, None)} for name in _parameters(function)}  # what a name may stand for
        self.read, self.written, self.stages = set(), set(), {}
        for statement in _definition(function).body:
            self.visit(statement)

    def roots_of(self, node):
        """What an expression may stand for, if it is a handle or an array."""
        if isinstance(node, ast.Name):
            return self.roots.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return {(name, node.attr) for name, field in self.roots_of(node.value) if field is None}
        if isinstance(node, ast.IfExp):
            return self.roots_of(node.body) | self.roots_of(node.orelse)
        return set()

    def visit_Attribute(self, node):
        (self.written if isinstance(node.ctx, ast.Store) else self.read).update(self.roots_of(node))
        self.generic_visit(node)

    def visit_Subscript(self, node):
        roots = self.roots_of(node.value)
        (self.written if isinstance(node.ctx, ast.Store) else self.read).update(roots)
        self.visit(node.slice)
        if not roots:
            self.visit(node.value)

    def visit_AugAssign(self, node):
        target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        self.read |= self.roots_of(target)
        self.generic_visit(node)

    def visit_Assign(self, node):
        for target in node.targets:
            self._assign(target, node.value)

    def _assign(self, target, value):
        tuples = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if tuples and len(target.elts) == len(value.elts):
            for part, its_value in zip(target.elts, value.elts, strict=True):
                self._assign(part, its_value)
        elif isinstance(target, ast.Name) and self.roots_of(value):
            self.roots[target.id] = self.roots.get(target.id, set()) | self.roots_of(value)
        else:
            self.visit(value)
            self.visit(target)

    def visit_If(self, node):
        holds = self._literal(node.test)
        if holds is None:
            self.generic_visit(node)
        for statement in [] if holds is None else node.body if holds else node.orelse:
            self.visit(statement)

    def visit_Call(self, node):
        callee = self._named(node.func)
        if hasattr(callee, "stage_index"):
            self.stages[callee] = None
        elif is_kernel(callee):
            self._enter(plain(callee), node)
        else:
            self.generic_visit(node)

    def _enter(self, callee, node):
        """Take over what a kernel does to what it is given."""
        given = dict(zip(_parameters(callee), node.args, strict=False)) | {k.arg: k.value for k in node.keywords}
        roots = {name: self.roots_of(value) for name, value in given.items()}
        for name, value in given.items():
            if not roots[name]:
                self.visit(value)
        if any(roots.values()):  # else it has numbers alone
            literals = {name: self._literal(value) for name, value in given.items()}
            inner = _walk(callee, tuple((name, value) for name, value in literals.items() if value is not None))
            self.stages |= inner.stages
            for name in given:
                self.read |= _handed_on(name, roots[name], inner.read)
                self.written |= _handed_on(name, roots[name], inner.written)

    def _literal(self, node):
        """True or False where the text or the caller says so, else None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._literal(node.operand)
            return None if inner is None else not inner
        value = node.value if isinstance(node, ast.Constant) else None
        value = self.literals.get(node.id) if isinstance(node, ast.Name) else value
        return value if isinstance(value, bool) else None

    def _named(self, node):
        """What a name leads to, also behind a module."""
        if isinstance(node, ast.Name):
            return self.scope.get(node.id)
        return getattr(self._named(node.value), node.attr, None) if isinstance(node, ast.Attribute) else None


def _handed_on(name, roots, uses):
    """What a callee does to its parameter of that name, in terms of what its caller gives it."""
    fields = [field for parameter, field in uses if parameter == name]
    return {(root, inner or field) for root, inner in roots for field in fields if inner is None or field is None}


def _parameters(function):
    """Names of the parameters that are given by their place."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _definition(function):
    """The syntax tree of a function."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    node = _definitions(text).get((code.co_name, code.co_firstlineno))
    if node is None:
        raise RuntimeError(f"the source of {function.__qualname__} in {code.co_filename} is not what was imported")
    return node


@functools.cache
def _definitions(text):
    """Functions of a file, by name and first line."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {(f.name, min(n.lineno for n in (f, *f.decorator_list))): f for f in functions}
