"""M with what is taken at the end of the step, in the pattern of M: M - h D, and what goes onto the diagonal.

Euler adds the damping of joints, implicitfast takes the symmetric derivative of smooth forces, stable PD its gains, discrete
takes stiffness too (`metric.py`): all are made here, and factored like M.
"""

from ..dynamics.factor import copy_rows
from ..kernel import kernel


@kernel
def place(m, i):
    """Place of entry (i, i)."""
    return m.M_rowadr[i] + m.M_rownnz[i] - 1


@kernel
def start_with_inertia(m, d, matrix, first, end):
    """M, for dofs from `first` up to `end`."""
    copy_rows(m, d.M, matrix, first, end)


@kernel
def start_with_derivative(m, d, matrix, h, first, end):
    """M - h D, with the derivative D of smooth forces in qDeriv."""
    if first < end:
        for at in range(m.M_rowadr[first], place(m, end - 1) + 1):
            matrix[at] = d.M[at] - h * d.qDeriv[m.mapD2M[at]]


@kernel
def add_to_diagonal(m, matrix, x, first, end):
    """Add a number for each dof."""
    for i in range(first, end):
        matrix[place(m, i)] += x[i]
