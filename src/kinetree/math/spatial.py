"""Spatial vectors (angular then linear part, six numbers) as tuples of scalars."""

from ..kernel import kernel


@kernel
def get6(field, i):
    """Row i of a field with six columns."""
    return field[i, 0], field[i, 1], field[i, 2], field[i, 3], field[i, 4], field[i, 5]


@kernel
def set6(field, i, v):
    """Write row i of a field with six columns."""
    field[i, 0] = v[0]
    field[i, 1] = v[1]
    field[i, 2] = v[2]
    field[i, 3] = v[3]
    field[i, 4] = v[4]
    field[i, 5] = v[5]
