"""The syntax tree of a kernel, from the file or the text that it was made of."""

import ast
import functools
import linecache

from .types import KernelError


@functools.cache
def _definitions(file, text):
    """Functions of a text by name and first line, each with the bytecode that it compiles to."""
    tree, codes, todo = ast.parse(text), {}, [compile(text, file, "exec", dont_inherit=True)]
    while todo:
        code = todo.pop()
        codes[code.co_name, code.co_firstlineno] = code
        todo += [c for c in code.co_consts if hasattr(c, "co_code")]
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[node.name, first] = node, codes[node.name, first]
    return found


def definition(function):
    """The syntax tree of a function. What is compiled must be what was imported, so a file that changed since is refused."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    node, found = _definitions(code.co_filename, text).get((code.co_name, code.co_firstlineno), (None, None))
    if node is None or _substance(found) != _substance(code):
        raise KernelError(f"the source of {function.__qualname__} in {code.co_filename} is not what was imported")
    return node


def _substance(code):
    """What a piece of bytecode does, wherever it stands."""
    return code.co_code, code.co_names, code.co_varnames, [c for c in code.co_consts if not hasattr(c, "co_code")]
