"""The dynamics of a model as CasADi functions, traced from the kernels that simulate it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..io.load import load
from ..model import Model

if TYPE_CHECKING:
    from .system import Symbolic


def symbolic(model: Any, parameters: str | Iterable[str] = (), kind: str = "SX") -> Symbolic:
    """The smooth dynamics of a model as CasADi functions, from the kernels that simulate it.

    model: a Model, or whatever `kt.load` takes. parameters: fields of the model that become inputs of every function, after
    the others and in this order. kind: "SX" traces down to scalars; "MX" gives functions that stay one call in larger
    expressions, for large models. Needs CasADi, the extra `kinetree[casadi]`.
    """
    try:
        from .system import Symbolic  # here, since CasADi is an extra and takes time to import
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise ModuleNotFoundError("kt.symbolic needs CasADi: pip install 'kinetree[casadi]'", name="casadi") from None
    return Symbolic(model if isinstance(model, Model) else load(model), parameters, kind)
