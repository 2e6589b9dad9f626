"""Functions: kernels of (m, d, a) with arguments of their own, like `kt.jac_site` or `kt.solve_m`.

The arguments are a third handle, declared like the fields of Model and Data: `function(point="3", jacp="3 nv", body=int)`.
From Python the arguments are given by name; arrays not given start at zero and are the results.
"""

from types import SimpleNamespace

import numpy as np

from ..data import let_in, until_it_fits
from ..fields import REAL, Field
from ..layout import Layout, checked
from .decorator import JIT, kernel
from .entry import Entry
from .machine import float_machine
from .stage import check_arguments, plain


class Function:
    """A compiled function of a model, its data and further arguments."""

    def __init__(self, inner, declared, reads_data=True):
        name = plain(inner).__name__.lstrip("_")
        fields = {k: Field(k, dims, REAL, "mixed", k) for k, dims in declared.items() if isinstance(dims, str)}
        constants = {k: "int64" for k, dims in declared.items() if dims is int}
        self.kernel, self.name, self.layout = inner, name, Layout(name, fields, constants)
        self.reads_data, self._run = reads_data, None
        self.entry = Entry(inner, self.layout, guarded=reads_data)

    def __call__(self, model, data, **values):
        """Run on a model and its data (None where the function reads none); a namespace with all array arguments."""
        check_arguments(self.name, model, data, data is None and not self.reads_data)
        arrays = {}
        for key, field in self.layout.fields.items():
            shape = field.shape(model.sizes)
            arrays[key] = np.zeros(shape)
            if key in values:
                given = values.pop(key)
                arrays[key][...] = checked(given, shape, REAL, f"{self.name}: {key}")
        constants = {key: int(values.pop(key, 0)) for key in self.layout.constants}
        if values:
            raise TypeError(f"{self.name} has no argument {', '.join(values)}")
        if not JIT:
            record = None if data is None else data.record()
            plain(self.kernel)(model.record(), record, SimpleNamespace(**arrays, **constants))
            return SimpleNamespace(**arrays)
        words = self.layout.words(arrays)
        for key, value in constants.items():
            words[self.layout.word[key]] = value
        if self._run is None:
            self._run = self.entry.on(float_machine(), model)
        if not self.reads_data:
            self._run(model.address, 0, words.ctypes.data)
            return SimpleNamespace(**arrays)
        arguments = data, model.address, data.address, words.ctypes.data
        until_it_fits(data, self._enter(*arguments), self._enter, *arguments)
        return SimpleNamespace(**arrays)

    def _enter(self, data, *addresses):
        """Run it on addresses; whether a stage that it called lacked room, or raised."""
        let_in(data, self._run, *addresses)
        return int(data._arrays["overflow"][0])


def function(reads_data=True, **declared):
    """Decorator: make a kernel of (m, d, a) callable from Python; arguments are dimensions ("3 nv") or `int`."""
    return lambda f: Function(kernel(f), declared, reads_data)
