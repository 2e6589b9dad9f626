"""The diagonal of J M^-1 J', by which the softness of rows is scaled.

MuJoCo: mj_diagApprox estimates it from inverse inertias at qpos0. With the flag `diagexact`, mj_projectConstraint computes it
in the present configuration: row by row |sqrt(D)^-1 L'^-1 J'|^2 with the factors M = L'DL. Then impedances are set anew.
With the discrete integrator both go by the metric (`effective_metric`): the estimate is scaled by what the metric does to the
row if dofs were independent, the exact diagonal takes the factor of the metric.
Reads: efc_J, qLD, qLDiagInv. Writes: efc_diagA and what `impedance` writes. Scratch: efc_row.
"""

from ..dynamics.factor import pass_up
from ..kernel import kernel, stage
from ..kernel.ops import maximum, where, zero
from ..math.constants import MIN_VALUE
from ..needs import flag
from ..types import EnableBit, Integrator
from .impedance import make_impedance
from .jacobian_product import spread_row


@kernel
def exact_weight(m, d, row, factor, diagonal_inverse):
    """One entry of the diagonal, for an inertia of which the factors are given."""
    start, n = d.efc_J_rowadr[row], d.efc_J_rownnz[row]
    total = zero(d.time[0])
    if n > 0:
        last = d.efc_J_colind[start + n - 1]
        for i in range(last + 1):
            d.efc_row[i] = 0.0
        spread_row(d, row, d.efc_row)
        for i in range(last, -1, -1):
            value = pass_up(m, factor, d.efc_row, i)
            total += value * value * diagonal_inverse[i]
    return total


@kernel
def set_exact_diagonal(m, d, factor, diagonal_inverse):
    """The diagonal of all rows for an inertia of which the factors are given."""
    for row in range(d.nefc[0]):
        d.efc_diagA[row] = exact_weight(m, d, row, factor, diagonal_inverse)


@kernel
def take_bare_diagonal(d):
    """The estimate for the bare inertia, as it was before impedances were made."""
    for row in range(d.nefc[0]):
        d.efc_diagA[row] = d.efc_bare[row]


@kernel
def scale_diagonal(m, d):
    """The estimate for the bare inertia, times what the metric does to the row's inverse inertia if dofs were independent."""
    for row in range(d.nefc[0]):
        bare = changed = zero(d.time[0])
        for at in range(d.efc_J_rowadr[row], d.efc_J_rowadr[row] + d.efc_J_rownnz[row]):
            i = d.efc_J_colind[at]
            square, inertia = d.efc_J[at] * d.efc_J[at], d.M[m.M_rowadr[i] + m.M_rownnz[i] - 1]
            bare += square / maximum(MIN_VALUE, inertia)
            if d.nmetric[0] != 0:
                inertia += d.metric_diag[i]
            changed += square / maximum(MIN_VALUE, inertia)
        some = bare > MIN_VALUE
        d.efc_diagA[row] = d.efc_bare[row] * where(some, changed / where(some, bare, 1.0), 1.0)


@stage(when=flag(EnableBit.DIAGEXACT))
def exact_diagonal(m, d):
    """Under the flag `diagexact`, the exact diagonal and the impedances it gives. Part of MuJoCo's mj_projectConstraint.

    Comes after `make_constraint` and `factor_m`.
    """
    if m.opt_enableflags & EnableBit.DIAGEXACT and d.nefc[0] > 0 and m.opt_integrator != Integrator.DISCRETE:
        set_exact_diagonal(m, d, d.qLD, d.qLDiagInv)
        make_impedance(m, d, False)
