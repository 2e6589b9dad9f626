"""Which stages make the fields of Data, and which others they depend on: what their texts read.

A name in the column "stage" of the field table stands for a maker. What it depends on is not written down: it is found in
the text of its stage (`kernel/reads.py`), when it is first asked for. Where several make a field, whoever reads it depends on
none of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import pipeline
from .data_fields import DATA_FIELDS
from .kernel.order import order_of, stages_in
from .kernel.reads import access
from .kernel.stage import plain
from .solver.own_rows import bring_all_back


class Maker(NamedTuple):
    """The stage whose runs count, what to call for it, and what runs beside it and writes fields of the same name.

    unless: makers that it can do without, but that make it stale when they run after it.
    passes: makers whose place a controller's solve may take; what they depend on counts instead.
    puts_back: fields that it changes and leaves as they were: it depends on them all the same.
    """

    stage: Any
    call: str = "kt.forward"
    beside: tuple[Any, ...] = ()
    unless: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    puts_back: frozenset[str] = frozenset()


ROWS = frozenset(
    access(bring_all_back).writes
)  # fields that are a world's own alone for a while, and then those of all again
MAKERS: dict[str, Maker] = {
    "kinematics": Maker(pipeline.kinematics),
    "com_pos": Maker(pipeline.com_pos),
    "camlight": Maker(pipeline.camlight),
    "tendon": Maker(pipeline.tendon, beside=(pipeline.tendon_path,)),
    "crb": Maker(pipeline.crb),
    "make_m": Maker(pipeline.make_m),
    "factor_m": Maker(pipeline.factor_m),
    "transmission": Maker(pipeline.transmission, unless=("collision",)),  # contacts are read for adhesion alone
    "fwd_velocity": Maker(pipeline.tendon_velocity, beside=(pipeline.actuator_velocities,)),
    "com_vel": Maker(pipeline.com_vel),
    "passive": Maker(pipeline.passive, unless=("collision",)),  # likewise
    "rne": Maker(pipeline.rne_bias, beside=(pipeline.tendon_bias,)),
    "fwd_actuation": Maker(pipeline.actuator_forces, beside=(pipeline.actuator_dynamics,)),
    "fwd_acceleration": Maker(pipeline.fwd_acceleration),
    "collision": Maker(pipeline.collision, unless=("com_pos",)),  # motion axes are read for speculative contacts alone
    "make_constraint": Maker(pipeline.make_constraint),
    "reference_constraint": Maker(pipeline.reference_constraint),
    "fwd_constraint": Maker(  # a controller has its own inertia and bias, and gives qacc_smooth
        pipeline.fwd_constraint,
        unless=("fwd_acceleration",),
        passes=("make_m", "crb", "factor_m", "rne", "fwd_acceleration"),
        puts_back=ROWS,
    ),
    "inverse": Maker(  # both run in discrete time alone: it has a derivative of its own, and takes actuators as they are
        pipeline.inverse_acceleration, "kt.inverse", unless=("implicit", "fwd_actuation")
    ),
    "aba": Maker(pipeline.aba, "kt.aba"),
    "damping": Maker(pipeline.damping, "StablePD.step"),
    "damping_diagonal": Maker(pipeline.damping_diagonal, "StablePD.step"),
    "implicit": Maker(  # the others write the same field
        pipeline.smooth_derivative, "kt.step with an implicit integrator", unless=("damping", "damping_diagonal")
    ),
    "compare_fwd_inv": Maker(  # it runs the inverse itself, if there are rows
        pipeline.compare_fwd_inv, "kt.step with the flag fwdinv, or kt.compare_fwd_inv", unless=("inverse",)
    ),
}
# Fields that the user gives to some functions and others compute: one of these is enough.
EITHER = {"qacc": ("fwd_constraint", "inverse")}


def makers_of(field: str) -> tuple[str, ...]:
    """The makers of a field of Data, by the names of its column."""
    return EITHER.get(field) or tuple(DATA_FIELDS[field].stage.split("/"))


def makers_read(*texts: Any, handle: str = "d", but: frozenset[str] = frozenset()) -> frozenset[str]:
    """The makers of what some texts read, and those whose stages they call; but for what they write themselves.

    but: fields that count as read all the same.
    """
    reads, writes, called = set[str](), set[str](), set[str]()
    by_stage = {maker.stage: name for name, maker in MAKERS.items()}
    todo, met = [access(text, handle) for text in texts], set(texts)
    while todo:
        found = todo.pop()
        reads |= found.reads
        writes |= found.writes
        for stage in found.calls:
            if stage in by_stage:
                called.add(by_stage[stage])
            elif stage not in met:  # a part
                met.add(stage)
                todo.append(access(stage))
    fields = (field for field in reads - (writes - but) if field in DATA_FIELDS)
    return frozenset(called.union(*(makers_of(field) for field in fields if len(makers_of(field)) == 1)) & set(MAKERS))


@functools.cache
def after(name: str) -> frozenset[str]:
    """The makers that must be fresh before one."""
    maker, out = MAKERS[name], set[str]()
    read = makers_read(maker.stage, *maker.beside, but=maker.puts_back)
    todo, met = [*read], {name, *maker.unless} - {*maker.passes}
    while todo:
        each = todo.pop()
        if each in maker.passes and each not in met:
            todo += after(each)
        elif each not in met:
            out.add(each)
        met.add(each)
    return frozenset(out)


@functools.cache
def ancestry(name: str) -> frozenset[str]:
    """A maker, with all that must be fresh before it."""
    return frozenset({name}.union(*(ancestry(each) for each in after(name))))


def chain(names: Iterable[str]) -> list[Any]:
    """The stages of some makers and of all that comes before them, in the order of the pipeline; not those that others call."""
    stages = [MAKERS[name].stage for name in frozenset[str]().union(*(ancestry(name) for name in names))]
    called = {each for stage in stages for each in stages_in(plain(stage))}
    return sorted((stage for stage in stages if stage not in called), key=order_of(pipeline.forward).index)
