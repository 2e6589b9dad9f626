"""Three ways to solve (M + h D + diag) aba_qacc = aba_force - bias, the one system of stable PD.

D is the damping of the model, -qDeriv. Its diagonal is part of aba_diagonal; where it couples dofs (a.coupled) the rest
counts too.

* maba: the articulated-body recursion with the diagonal in it (Yin and Yin 2020), which is `aba`. Linear; M is never formed.
* sparse: the factor L'DL in the order of the tree, as MuJoCo factors M.
* dense: Cholesky of the full matrix, cubic: the reference.

Reads: aba_force, aba_diagonal; maba what `aba` reads, the others M, qDeriv and qfrc_bias. Writes: aba_qacc.
Scratch: qH, qHDiagInv; matrix.
"""

from ..dynamics.aba import aba
from ..dynamics.factor import factor_in_place, pivot_inverse, solve_in_place
from ..integrator.implicit_inertia import add_to_diagonal, place, start_with_derivative, start_with_inertia
from ..kernel import kernel
from ..kernel.ops import sqrt

SOLVERS = ("dense", "sparse", "maba")
DENSE, SPARSE, MABA = range(3)


@kernel
def set_right_side(m, d):
    """Force less bias, to be replaced by the solution."""
    for i in range(m.nv):
        d.aba_qacc[i] = d.aba_force[i] - d.qfrc_bias[i]


@kernel
def set_changed_inertia(m, d, a, matrix):
    """M + h D + diag, in the sparsity of M."""
    if a.coupled != 0:
        start_with_derivative(m, d, matrix, a.h[0], 0, m.nv)
        for i in range(m.nv):
            matrix[place(m, i)] = d.M[place(m, i)]  # aba_diagonal has that of the damping too
    else:
        start_with_inertia(m, d, matrix, 0, m.nv)
    add_to_diagonal(m, matrix, d.aba_diagonal, 0, m.nv)


@kernel
def solve_sparse(m, d, a):
    """By L'DL in the sparsity of M."""
    set_changed_inertia(m, d, a, d.qH)
    set_right_side(m, d)
    factor_in_place(m, d.qH, d.qHDiagInv)
    solve_in_place(m, d.qH, d.qHDiagInv, d.aba_qacc)


@kernel
def set_dense(m, d, a, matrix):
    """The upper triangle of M + h D + diag."""
    set_changed_inertia(m, d, a, d.qH)
    for i in range(m.nv):
        for k in range(i, m.nv):
            matrix[i, k] = 0.0
    for i in range(m.nv):
        for at in range(m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i]):
            matrix[m.M_colind[at], i] = d.qH[at]


@kernel
def factor_dense(matrix, n):
    """Replace an upper triangle by its Cholesky factor R with R'R; row by row, so that inner loops run along memory."""
    for k in range(n):
        inverse = sqrt(pivot_inverse(matrix[k, k]))
        for j in range(k, n):
            matrix[k, j] *= inverse
        for i in range(k + 1, n):
            weight = matrix[k, i]
            for j in range(i, n):
                matrix[i, j] -= weight * matrix[k, j]


@kernel
def solve_dense_factor(matrix, n, x):
    """Replace x by the solution of R'R y = x."""
    for i in range(n):
        value = x[i] / matrix[i, i]
        x[i] = value
        for j in range(i + 1, n):
            x[j] -= matrix[i, j] * value
    for i in range(n - 1, -1, -1):
        value = x[i]
        for j in range(i + 1, n):
            value -= matrix[i, j] * x[j]
        x[i] = value / matrix[i, i]


@kernel
def solve_dense(m, d, a):
    """By Cholesky of the full matrix."""
    set_dense(m, d, a, a.matrix)
    set_right_side(m, d)
    factor_dense(a.matrix, m.nv)
    solve_dense_factor(a.matrix, m.nv, d.aba_qacc)


@kernel
def solve(m, d, a):
    """By the solver that the controller has chosen."""
    if a.solver == MABA:
        aba(m, d)
    elif a.solver == SPARSE:
        solve_sparse(m, d, a)
    else:
        solve_dense(m, d, a)
