"""The joint-space inertia from Python (dense, times a vector, its inverse times a vector), and the two recursions.

MuJoCo: mj_fullM, mj_mulM, mj_solveM, mj_rne. Reads: M and its factors from the position stage, which runs if
it never did (see `prerequisites`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel import function
from ..layout import checked
from ..occupancy import holding
from ..prerequisites import prepare
from .aba import aba as aba_stage
from .aba import check_aba
from .factor import multiply, solve_in_place
from .rne import bias_forces, inverse_forces

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model


@function(x="nv", y="nv")
def _mul_m(m, d, a):
    multiply(m, d.M, a.x, a.y)


@function(x="nv")
def _solve_m(m, d, a):
    solve_in_place(m, d.qLD, d.qLDiagInv, a.x)


@function(force="nv")
def _rne_bias(m, d, a):
    bias_forces(m, d, a.force)


@function(force="nv")
def _rne_inverse(m, d, a):
    inverse_forces(m, d, a.force)


@holding(1, inside=True)
def full_m(model: Model, data: Data) -> np.ndarray:
    """The joint-space inertia as a dense (nv, nv) matrix. MuJoCo's mj_fullM."""
    prepare("full_m", model, data)
    return full_rows(model, data.M)


def full_rows(model: Any, entries: np.ndarray) -> np.ndarray:
    """The dense matrix of entries in the pattern of M, numbers or symbols."""
    out = np.zeros((model.nv, model.nv), entries.dtype)
    rows = np.repeat(np.arange(model.nv), model.M_rownnz)
    out[rows, model.M_colind] = out[model.M_colind, rows] = entries
    return out


def mul_m(model: Model, data: Data, vector: Any) -> np.ndarray:
    """M times a vector. MuJoCo's mj_mulM, returned."""
    prepare("mul_m", model, data)
    return _mul_m(model, data, x=vector).y


def solve_m(model: Model, data: Data, vector: Any) -> np.ndarray:
    """The solution of M x = vector, with the factors of `factor_m`. MuJoCo's mj_solveM, returned."""
    prepare("solve_m", model, data)
    return _solve_m(model, data, x=vector).x


def rne(model: Model, data: Data, acceleration: bool = False) -> np.ndarray:
    """Joint forces of the bare tree: for zero acceleration, or for data.qacc; without armature. MuJoCo's mj_rne, returned.

    Without the bias of tendons, which is in data.qfrc_bias. Of trees that sleep the bias is that of data.
    """
    prepare("rne", model, data)
    if acceleration:
        return _rne_inverse(model, data).force
    return _rne_bias(model, data, force=data.qfrc_bias).force


def aba(model: Model, data: Data, force: Any = None) -> np.ndarray:
    """Accelerations under joint forces in linear time, without M: the articulated-body algorithm, returned.

    force: joint forces besides gravity and velocity effects; by default all smooth forces, as `forward` left them.
    Reads the position and velocity stages, and by default the forces of `forward`, which then must have run.
    Refuses tendon armature, which couples joints that no body connects.
    """
    prepare("aba" if force is not None else "aba without force", model, data)
    if model.sizes["ntendon"]:
        check_aba(model)
    arrays = data._arrays
    target = arrays["aba_force"]
    if force is None:
        force = arrays["qfrc_smooth"] + arrays["qfrc_bias"]
    elif type(force) is not np.ndarray or force.dtype != target.dtype or force.shape != target.shape:
        force = checked(force, target.shape, "float64", "aba: force")
    target[:] = force
    aba_stage(model, data)
    return arrays["aba_qacc"].copy()
