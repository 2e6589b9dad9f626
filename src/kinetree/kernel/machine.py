"""Machines: the kinds of worlds that kernels are compiled for, and their tables of compiled stages.

`float_machine()` runs one world on float64. `machine(dtype, width)` runs `width` worlds on SIMD lanes, or one on strict reals;
with `own` each of them has real parameters of its own.
"""

import functools

import numpy as np

from .. import model as model_module
from .. import workspace

USUAL = ("float64", "float64 x 8", "float32 x 16", "float64 x 8 own")  # names of those that wheels have code for
OWN = " own"  # ends the name of a machine whose worlds have parameters of their own
MACHINES = {}  # by the address of their table of stages


class Machine:
    """One kind of world: the layouts of m and d, what a real of d is, and the addresses of the stages compiled for it.

    width: None is a plain float64; else a real is that many numbers of `dtype`. step: stored numbers from one to the next.
    own: whether reals of m are such too, or shared by all worlds, and double.
    """

    def __init__(self, name, model, data, width=None, dtype="float64", step=1, stages=None, own=False):
        self.name, self.model, self.data, self.own = name, model, data, own
        self.width, self.dtype, self.step = width, np.dtype(dtype), step
        self.stages = np.zeros_like(workspace.FLOAT_STAGES) if stages is None else stages
        MACHINES[self.stages.ctypes.data] = self

    def __repr__(self):
        return f"<machine {self.name}>"

    @property
    def has_lanes(self):
        """Whether there are several worlds side by side."""
        return self.width is not None and self.width > 1

    @property
    def is_listed(self):
        """Whether its name is enough to find it in another process."""
        return machine_named(self.name) is self

    @property
    def real(self):
        """What a real of d is: None for a plain float64, or (dtype, width)."""
        return None if self.width is None else (self.dtype.name, self.width)

    @property
    def real_of_model(self):
        """What a real of m is, in the same way, and the stored numbers from one to the next."""
        return (self.real, self.step) if self.own else (None, 1)

    @functools.cached_property
    def digest(self):
        """Tells machines apart whose code differs: by the words of their layouts and by what a real is."""
        import hashlib  # not needed where nothing is compiled

        text = repr((words_of(self.model), words_of(self.data), self.real, self.step, self.own))
        return hashlib.sha256(text.encode()).hexdigest()


def words_of(layout):
    """What compiled code knows of a layout: type, inner dimensions and first word of every field, and whose it is."""
    declared = {**layout.fields, **layout.elsewhere}
    fields = [(k, f.dtype, f.each, f.static_dims()[1:] if f.dims else (), layout.word[k]) for k, f in declared.items()]
    constants = [(key, kind, layout.word[key]) for key, kind in layout.constants.items()]
    return layout.name, fields, constants, None if layout.inner is None else words_of(layout.inner)


@functools.cache
def float_machine():
    """One world on float64."""
    return Machine("float64", model_module.LAYOUT, workspace.LAYOUT, stages=workspace.FLOAT_STAGES)


def machine(dtype="float64", width=8, own=False):
    """`width` worlds at once on SIMD lanes; width 1 is the strict real of that precision. own: with parameters of their own."""
    if dtype not in ("float64", "float32") or type(width) is not int or width < 1 or width & (width - 1):
        raise ValueError(f"lanes are float64 or float32 and a power of two wide, not {dtype} x {width}")
    return _lane_machine(dtype, width, bool(own))


@functools.cache
def _lane_machine(dtype, width, own):
    name = f"{dtype} x {width}{OWN if own else ''}"
    return Machine(name, model_module.LAYOUT, workspace.LAYOUT, width, dtype, own=own)


def machine_named(name):
    """The machine of a name, None if it names none; widths that are no power of two are refused."""
    name, own = name.removesuffix(OWN), name.endswith(OWN)
    dtype, _, width = name.partition(" x ")
    if not width:
        return float_machine() if name == float_machine().name else None
    return machine(dtype, int(width), own) if dtype in ("float64", "float32") and width.isdigit() else None


@functools.cache
def lane_view(lanes):
    """One lane of such a machine seen as a float world of its own, for kernels that branch on values."""
    width = None if lanes.dtype == np.float64 else 1
    name = f"a lane of {lanes.name}"
    return Machine(name, lanes.model, lanes.data, width, lanes.dtype, step=lanes.width, own=lanes.own)
