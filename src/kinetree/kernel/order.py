"""The order in which a text calls kernels and stages, and which of the stages a model needs.

`stages_of(run_steps, model)` is what a step of a model is made of: a machine that launches stages one by one has its list.
"""

import functools

from .names import global_names, named_in
from .stage import plain


def order_of(function):
    """The kernels and stages that the text of one calls, in its order; those of its own file behind their parts."""
    out, file = {}, plain(function).__module__  # a dict, for its order

    def walk(each):
        text = plain(each)
        if text.__module__ == file:
            for called in kernels_in(text).values():
                if called not in out:
                    walk(called)
        out[each] = None

    walk(function)
    return list(out)


def stages_of(function, model=None, lanes=False):
    """The stages that a kernel or stage needs for a model, in the order of the text, each behind those that it calls.

    Without a model, those that every model has. lanes: whether stages that run lane by lane have compiled in what they call.
    """
    out, met = {}, set()

    def walk(text):
        for stage in () if lanes and text.scalar_only else stages_in(text):
            if stage not in met and exists_for(stage, model):
                met.add(stage)
                walk(plain(stage))
                out[stage] = None

    walk(plain(function))
    return list(out)


def exists_for(stage, model=None):
    """Whether a stage exists for a model; without one, whether it does for all of them."""
    return stage.when is None or (model is not None and stage.when(model))


@functools.cache
def stages_in(text):
    """The stages that a kernel calls, itself or through other kernels, in the order in which it first does."""
    out, met = {}, set()

    def walk(each):
        met.add(each)
        for _, called in named_in(each):
            if hasattr(called, "stage_index"):
                out[called] = None
            elif is_kernel(called) and called not in met:
                walk(called)

    walk(text)
    return tuple(out)


def kernels_in(text):
    """The kernels and stages that a function names, in the order in which it first does."""
    scope = text.__globals__
    return {name: scope[name] for name in global_names(text.__code__) if is_kernel(scope.get(name))}


def is_kernel(value):
    """Whether it is a kernel or a stage."""
    return hasattr(plain(value), "scalar_only")
