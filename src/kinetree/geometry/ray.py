"""Rays: the nearest surface that a ray meets, how far away it is, and its normal there.

MuJoCo: mj_ray, mj_multiRay. Reads: geom_xpos, geom_xmat of the position stage; sizes, groups and colours of the model.
`RAY` has a kernel for each shape. A ray passes through geoms whose own colour, or material if they have one, is fully
transparent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import let_in
from ..dynamics.kinematics import kinematics
from ..fields import REAL, Field
from ..kernel import JIT, Entry, float_machine, kernel, stage
from ..kernel.dispatch import dispatch
from ..kernel.ops import any_, maximum, minimum, not_, where, zero
from ..kernel.stage import check_arguments, plain
from ..layout import Layout, checked
from ..math.constants import MIN_VALUE
from ..math.vec3 import add_scaled, dot, get3, get9, mul_mat_t_vec, mul_mat_vec, norm, scale, set3, sub, where3
from ..needs import some
from ..types import GeomType
from .ray_hfield import ray_hfield
from .ray_mesh import ray_mesh
from .ray_shapes import INF, PRIMITIVES, nearer, ray_nothing

if TYPE_CHECKING:
    from ..data import Data
    from ..model import Model

RAY = dict(sorted({**PRIMITIVES, GeomType.HFIELD: ray_hfield, GeomType.MESH: ray_mesh}.items()))
GROUPS = 6  # MuJoCo's mjNGROUP
ALL_GROUPS = (1 << GROUPS) - 1
NOBODY = -1  # the body to leave out, if none is
MARGIN = 1.0 + 1e-6  # by which the balls around geoms are taken larger: they touch what they hold

ray_geom = dispatch(
    {kind: row for kind, row in RAY.items() if kind != GeomType.HFIELD}, "m, sizes, g, p, v", ray_nothing
)


@kernel
def is_seen(m, g, groups, static, exclude):
    """Where rays meet geom g: visible, in one of the groups (bits), not of the excluded body, static only if wanted."""
    material, body = m.geom_matid[g], m.geom_bodyid[g]
    alpha = m.geom_rgba[g, 3] if material < 0 else m.mat_rgba[material, 3]
    group = minimum(maximum(m.geom_group[g], 0), GROUPS - 1)
    wanted = static != 0 or m.body_weldid[body] != 0
    return (alpha != 0.0) & (body != exclude and wanted and (groups >> group) & 1 != 0)


@kernel
def is_beyond(m, d, g, point, cutoff):
    """Whether the ball around geom g is farther from a point than the cutoff; a plane is never left out."""
    distance = norm(sub(point, get3(d.geom_xpos, g)))
    return (distance > cutoff + m.geom_rbound[g]) & (m.geom_type[g] != GeomType.PLANE)


@kernel
def may_meet(m, g, centre, direction, best):
    """Whether a ray can meet geom g before `best`, judged by the ball around it, whose centre is given from the start on."""
    r = MARGIN * m.geom_rbound[g]
    x = dot(centre, direction)
    aside = add_scaled(centre, direction, -x)
    near = (dot(aside, aside) <= r * r) & (x >= -r) & ((best < 0.0) | (x - r <= best))
    return near | (m.geom_type[g] == GeomType.PLANE)


@stage(scalar=True, when=some("nhfield"), part_of="rangefinders")
def meet_field(m, d):
    """Where the ray in ray_line meets the height field in ray_geom, and the normal there: ray_met. Part of MuJoCo's mj_ray.

    -1 if it does not.
    """
    d.ray_met[0] = -1.0
    if d.ray_asks[0] >= 0.0:
        p, v = get3(d.ray_line, 0), get3(d.ray_line, 1)
        x, n = ray_hfield(m, m.geom_size, d.ray_geom[0], p, v, 1.0 * d.ray_asks[0])
        d.ray_met[0] = x
        for k in range(3):
            d.ray_met[1 + k] = n[k]


@kernel
def staged_field(m, d, g, p, v, asked, best):
    """`ray_hfield` by its stage, in the worlds that ask and up to what they have met: cells steer addresses, lane by lane."""
    set3(d.ray_line, 0, p)
    set3(d.ray_line, 1, v)
    d.ray_asks[0] = where(asked, where(best < 0.0, INF, MARGIN * best), -1.0)
    d.ray_geom[0] = g
    meet_field(m, d)
    return d.ray_met[0], (d.ray_met[1], d.ray_met[2], d.ray_met[3])


@kernel
def nearest(m, d, point, direction, groups, static, exclude, cutoff):
    """The first geom on a ray of unit direction: distance [m], id, outward unit normal; -1, -1, 0 if there is none.

    Of the geoms those that `is_seen` are met, and none of those farther than a cutoff, unless that is negative.
    """
    none = zero(point[0])
    best, geom, normal = none - 1.0, -1, (none, none, none)
    for g in range(m.ngeom):
        centre = sub(get3(d.geom_xpos, g), point)
        near = may_meet(m, g, centre, direction, best)
        if any_(near):
            near = near & is_seen(m, g, groups, static, exclude)
            if cutoff >= 0.0:
                near = near & not_(is_beyond(m, d, g, point, cutoff))
            if any_(near):
                axes = get9(d.geom_xmat, g)
                p, v = scale(mul_mat_t_vec(axes, centre), -1.0), mul_mat_t_vec(axes, direction)
                if m.geom_type[g] == GeomType.HFIELD:
                    x, n = staged_field(m, d, g, p, v, near, best)
                else:
                    x, n = ray_geom(m.geom_type[g], m, m.geom_size, g, p, v)
                first = near & nearer(best, x)
                best, geom, normal = (
                    where(first, x, best),
                    where(first, g, geom),
                    where3(first, mul_mat_vec(axes, n), normal),
                )
    return best, geom, scale(normal, 1.0 / where(best < 0.0, 1.0, norm(normal)))


# from Python

COLUMNS = 8  # of a row of `rays`: unit direction, then distance, geom, normal
_REALS = ("x", "y", "z", "cutoff")  # the first three are the point where the rays begin
_INTEGERS = ("groups", "static", "exclude")
_ARGUMENTS = Layout(
    "rays",
    {"rays": Field("rays", f"nray {COLUMNS}", REAL, "mixed", "directions and results")},
    {**dict.fromkeys(_REALS, "float64"), **dict.fromkeys(("nray", *_INTEGERS), "int64")},
)


@kernel(scalar=True)
def cast(m, d, a):
    """Fill the results in all rows of `rays`."""
    for i in range(a.nray):
        x, geom, n = nearest(m, d, (a.x, a.y, a.z), get3(a.rays, i), a.groups, a.static, a.exclude, a.cutoff)
        a.rays[i, 3] = x
        a.rays[i, 4] = geom
        for k in range(3):
            a.rays[i, 5 + k] = n[k]


_CAST = Entry(cast, _ARGUMENTS)


def _run(model: Model, data: Data, rays: np.ndarray, reals: Sequence[float], integers: Sequence[int]) -> None:
    if not JIT:
        constants = dict(zip((*_REALS, "nray", *_INTEGERS), (*reals, len(rays), *integers), strict=True))
        return plain(cast)(model.record(), data.record(), SimpleNamespace(rays=rays, **constants))
    words = _ARGUMENTS.words({"rays": rays})
    words.view(np.float64)[: len(reals)] = reals
    words[len(reals) : len(_ARGUMENTS.constants)] = (len(rays), *integers)
    let_in(data, _CAST.on(float_machine()), model.address, data.address, words.ctypes.data)
    return None


def ray(
    model: Model,
    data: Data,
    point: Any,
    direction: Any,
    groups: Any = None,
    static: bool = True,
    exclude: str | int | None = None,
) -> tuple[float, int, np.ndarray]:
    """The first geom on the ray from a point [m] in a direction: distance, id, outward normal. MuJoCo's mj_ray.

    The distance counts in lengths of the direction: the surface is met at point + distance * direction, from outside or
    from inside. Where nothing is met, it is -1, the id -1 and the normal zero.
    groups: six flags, which groups of geoms to meet; None for all. static: whether to meet geoms that cannot move.
    exclude: a body, by name or id, whose geoms are not met.
    Geoms are where the last position stage (`kinematics`, `forward`, ...) has put them; after a change of their sizes in
    place, call `kt.set_const`, which makes the balls around them anew.
    """
    check_arguments("ray", model, data)
    check_placed("ray", data)
    chosen = _chosen("ray", model, groups, static, exclude)
    x, y, z = _vector("ray: direction", direction)
    length = math.hypot(x, y, z)
    if length < MIN_VALUE:
        raise ValueError(f"ray: direction {[x, y, z]} has no length")
    rays = np.array([[x / length, y / length, z / length, 0.0, 0.0, 0.0, 0.0, 0.0]])
    _run(model, data, rays, (*_vector("ray: point", point), -1.0), chosen)
    distance, geom = rays[0, 3:5].tolist()
    return distance / length if geom >= 0 else -1.0, int(geom), rays[0, 5:].copy()


def multi_ray(
    model: Model,
    data: Data,
    point: Any,
    directions: Any,
    groups: Any = None,
    static: bool = True,
    exclude: str | int | None = None,
    cutoff: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first geom on each of several rays from one point: distances (n), ids (n), normals (n, 3). MuJoCo's mj_multiRay.

    directions: (n, 3). cutoff [m]: geoms of which no part is that near to the point are not met, judged by the balls around
    them; planes are always met. The rest is as in `ray`.
    """
    check_arguments("multi_ray", model, data)
    check_placed("multi_ray", data)
    chosen = _chosen("multi_ray", model, groups, static, exclude)
    start = _vector("multi_ray: point", point)
    directions = _rows("multi_ray: directions", directions)
    lengths = np.hypot(np.hypot(directions[:, 0], directions[:, 1]), directions[:, 2])
    if (lengths < MIN_VALUE).any():
        row = int(np.argmax(lengths < MIN_VALUE))
        raise ValueError(f"multi_ray: directions[{row}] is {directions[row].tolist()}, which has no length")
    if cutoff is not None and checked(cutoff, (), REAL, "multi_ray: cutoff") < 0.0:
        raise ValueError(f"multi_ray: cutoff must not be negative, got {cutoff}")
    rays = np.zeros((len(directions), COLUMNS))
    rays[:, :3] = directions / lengths[:, None]
    _run(model, data, rays, (*start, -1.0 if cutoff is None else float(cutoff)), chosen)
    geoms = rays[:, 4].astype(int)
    return np.where(geoms >= 0, rays[:, 3] / lengths, -1.0), geoms, rays[:, 5:].copy()


def check_placed(name: str, data: Data) -> None:
    """Raise unless geoms have been put in their places since the reset."""
    if data._arrays["stage_order"][kinematics.stage_index] == 0:
        raise ValueError(f"{name}: nothing is in its place yet: call kt.kinematics or kt.forward first")


def _vector(where: str, value: Any) -> list[float]:
    """Three finite numbers."""
    if isinstance(value, np.ndarray) and value.dtype == REAL and value.shape == (3,):  # nothing to convert: fast
        numbers = value.tolist()
        if math.isfinite(sum(numbers)):
            return numbers
    a = checked(value, (3,), REAL, where)
    if not a.ndim:
        raise ValueError(f"{where}: expected shape (3,), got {value!r}")
    return a.tolist()


def checked_shape(where: str, value: Any) -> tuple[int, ...]:
    """The shape of nested numbers, which must be regular."""
    try:
        return np.shape(value)
    except ValueError as error:
        raise ValueError(f"{where}: not a regular array ({error})") from None


def _rows(where: str, value: Any) -> np.ndarray:
    """Rows of three finite numbers."""
    shape = checked_shape(where, value)
    if len(shape) != 2 or shape[1] != 3:
        raise ValueError(f"{where}: expected shape (n, 3), got {shape}")
    return checked(value, shape, REAL, where)


def _body(name: str, model: Model, exclude: str | int) -> int:
    if isinstance(exclude, int) and exclude < 0:
        raise ValueError(f"{name}: exclude: None leaves out no body, a body id is not negative, got {exclude}")
    return model.id("body", exclude)


def _chosen(name: str, model: Model, groups: Any, static: Any, exclude: Any) -> tuple[int, int, int]:
    """Which geoms to meet, as `is_seen` takes it."""
    bits = ALL_GROUPS
    if groups is not None:
        if np.shape(groups) != (GROUPS,):
            raise ValueError(f"{name}: groups: expected {GROUPS} flags, got shape {np.shape(groups)}")
        flags = checked(groups, (GROUPS,), "bool", f"{name}: groups")
        bits = sum(1 << k for k in range(GROUPS) if flags[k])
    if static is not True:
        static = checked(static, (), "bool", f"{name}: static")
    return bits, int(static), NOBODY if exclude is None else _body(name, model, exclude)
