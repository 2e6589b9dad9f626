"""Tables of kernels keyed by an enum, turned into one kernel: the closed sets of the physics are written as tables.

`compute = dispatch({SensorType.CLOCK: clock, ...}, "m, d, i")` is a kernel of (kind, m, d, i) that runs the row of its kind.
"""

import sys

from .decorator import kernel, made_of


def dispatch(table, arguments, otherwise=None):
    """A kernel of (kind, arguments) that calls the row of `table` whose key equals kind, else `otherwise` or nothing."""
    module = sys._getframe(1).f_globals["__name__"]
    scope = {"__name__": module, "otherwise": otherwise}
    lines = [f"def chosen(kind, {arguments}):"]
    for key, row in table.items():
        name = f"row_{int(key)}"  # two rows may have one name
        scope[name] = row
        lines += [f"    if kind == {int(key)}:", f"        return {name}({arguments})"]
    if otherwise is not None:
        lines.append(f"    return otherwise({arguments})")
    name = "chosen_" + "_".join(str(int(key)) for key in table)
    chosen = made_of("\n".join(lines) + "\n", f"<table {name} of {module}, {arguments}>", scope)["chosen"]
    chosen.__qualname__ = name
    return kernel(chosen)
