"""The diagonal of J M^-1 J', by which the softness of rows is scaled.

MuJoCo: mj_diagApprox estimates it from inverse inertias at qpos0. With the flag `diagexact`, mj_projectConstraint computes it
in the present configuration: row by row |sqrt(D)^-1 L'^-1 J'|^2 with the factors M = L'DL. Then impedances are set anew.
Reads: efc_J, qLD, qLDiagInv. Writes: efc_diagA and what `impedance` writes. Scratch: efc_row.
"""

from ..dynamics.factor import pass_up
from ..kernel import kernel, stage
from ..kernel.ops import zero
from ..needs import flag
from ..types import EnableBit
from .impedance import make_impedance
from .jacobian_product import spread_row


@kernel
def exact_weight(m, d, row):
    """One entry of the diagonal."""
    start, n = d.efc_J_rowadr[row], d.efc_J_rownnz[row]
    total = zero(d.time[0])
    if n > 0:
        last = d.efc_J_colind[start + n - 1]
        for i in range(last + 1):
            d.efc_row[i] = 0.0
        spread_row(d, row, d.efc_row)
        for i in range(last, -1, -1):
            value = pass_up(m, d.qLD, d.efc_row, i)
            total += value * value * d.qLDiagInv[i]
    return total


@stage(when=flag(EnableBit.DIAGEXACT))
def exact_diagonal(m, d):
    """Under the flag `diagexact`, the exact diagonal and the impedances it gives. Part of MuJoCo's mj_projectConstraint.

    Comes after `make_constraint` and `factor_m`.
    """
    if m.opt_enableflags & EnableBit.DIAGEXACT and d.nefc[0] > 0:
        for row in range(d.nefc[0]):
            d.efc_diagA[row] = exact_weight(m, d, row)
        make_impedance(m, d)
