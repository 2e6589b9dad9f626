"""The frame of a contact: its normal and two tangents. MuJoCo: mju_makeFrame."""

from ..kernel import kernel
from ..kernel.ops import where, zero
from ..math.vec3 import add_scaled, cross, dot, unit


@kernel
def make_frame(normal, tangent):
    """Rows of the frame as nine numbers: unit normal, then the tangent made orthogonal to it, then their cross product.

    Without a tangent (zeros) the y axis takes its place, or the z axis where the normal is within 60 degrees of y.
    """
    given = dot(tangent, tangent) >= 0.25
    none = zero(normal[0])
    upright = (normal[1] >= 0.5) | (normal[1] <= -0.5)
    hint = (
        where(given, tangent[0], none),
        where(given, tangent[1], where(upright, none, none + 1.0)),
        where(given, tangent[2], where(upright, none + 1.0, none)),
    )
    first = unit(add_scaled(hint, normal, -dot(normal, hint)))
    second = cross(normal, first)
    return normal[0], normal[1], normal[2], first[0], first[1], first[2], second[0], second[1], second[2]
