"""Rows of constraints as they are seen from outside: how many a contact has, and their Jacobian as MuJoCo stores it.

That is dense or sparse, as `opt.jacobian` says. Kernels always have it sparse. Where MuJoCo would have it dense, `data.efc_J`
and `data.nJ` show that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .types import Constraint, Jacobian

if TYPE_CHECKING:
    from .model import Model

SPARSE_FROM = 60  # dofs from which "auto" means sparse


def contact_width(kind: int, dim: int) -> int:
    """How many rows of this type a contact of so many dimensions has; a kernel too."""
    return 2 * (dim - 1) if kind == Constraint.CONTACT_PYRAMIDAL else dim


def is_dense(model: Model) -> bool:
    """Whether MuJoCo would store the Jacobian of this model dense. MuJoCo's mj_isSparse, negated."""
    jacobian = model.opt.jacobian
    return jacobian == Jacobian.DENSE or (jacobian == Jacobian.AUTO and model.nv < SPARSE_FROM)


def dense_jacobian(arrays: Mapping[str, np.ndarray], nv: int) -> np.ndarray:
    """A matrix (nefc, nv) from the sparse rows."""
    nefc, nnz = int(arrays["nefc"][0]), int(arrays["nJ"][0])
    out = np.zeros((nefc, nv))
    rows = np.repeat(np.arange(nefc), arrays["efc_J_rownnz"][:nefc])
    out[rows, arrays["efc_J_colind"][:nnz]] = arrays["efc_J"][:nnz]
    return out
