"""Kernels as plain Python, on symbols held in object arrays.

Calling a kernel from Python never enters compiled code: the kernels it calls are Python as well, and `ops` picks the
symbolic function where a value is a symbol. So interpreting needs only records: namespaces with the fields of m and d.
"""

from types import SimpleNamespace

import numpy as np

from .ops import teach_symbols
from .stage import plain


def symbolic_record(source, **symbols):
    """The record of a Model or Data with real fields as object arrays, some of them replaced by symbols.

    A symbol is any array of objects of the field's shape, or a CasADi vector or matrix with as many entries.
    """
    if symbols:
        teach_symbols()
    record = source.record()
    fields = dict(vars(record))
    for name, value in fields.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            setattr(record, name, value.astype(object))  # Python floats: np.float64 * SX would be an array
    for name, value in symbols.items():
        if name not in fields:
            raise KeyError(f"there is no field {name!r}")
        target = np.asarray(fields[name])
        entries = np.empty(target.size, object)
        flat = value.ravel() if isinstance(value, np.ndarray) else [value[i] for i in range(value.numel())]
        if len(flat) != target.size:
            raise ValueError(f"{name}: expected {target.size} symbols, got {len(flat)}")
        entries[:] = flat
        setattr(record, name, entries.reshape(target.shape) if target.ndim else entries[0])
    return record


def interpret(kernel, m, d):
    """Run a kernel or stage of (m, d) uncompiled on records."""
    if not isinstance(m, SimpleNamespace) or not isinstance(d, SimpleNamespace):
        raise TypeError("interpret runs on records: use symbolic_record(model) and symbolic_record(data)")
    plain(kernel)(m, d)
