"""Models less what kinetree refuses so far, so that everything else about them can be compared and timed.

Sensors that cannot be read yet are deleted. Where two geoms can touch that have no closed form, the one of the harder shape
loses its contact bits, and explicit pairs of such geoms are deleted; the same holds for MuJoCo then, on the other side.
"""

from __future__ import annotations

from pathlib import Path

import mujoco

from ..io.contacts import missing_pairs
from ..io.features import UNREAD_SENSORS
from ..types import GeomType

# From the shapes that most others meet in closed form to those that none but planes do.
EASY_FIRST = (
    GeomType.PLANE, GeomType.SPHERE, GeomType.CAPSULE, GeomType.BOX, GeomType.CYLINDER, GeomType.ELLIPSOID, GeomType.MESH,
    GeomType.HFIELD, GeomType.SDF,
)  # fmt: skip


def without_unread_sensors(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """The specification itself, its sensors of refused types deleted."""
    for sensor in list(spec.sensors):
        if int(sensor.type) in UNREAD_SENSORS:
            spec.delete(sensor)
    return spec


def without_missing_pairs(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """The specification itself, with fewer geoms that collide: none of them makes a pair that kinetree lacks."""
    mj = spec.compile()
    pairs = list(missing_pairs(mj))
    harder = {max(pair, key=lambda geom: EASY_FIRST.index(GeomType(mj.geom_type[geom]))) for pair in pairs}
    for geom in spec.geoms:
        if geom.id in harder:
            geom.contype = geom.conaffinity = 0
    names = {frozenset(mj.geom(geom).name for geom in pair) for pair in pairs}
    for pair in list(spec.pairs):
        if frozenset((pair.geomname1, pair.geomname2)) in names:
            spec.delete(pair)
    return spec


def readable(path: Path) -> Path | mujoco.MjModel:
    """A model file that kinetree loads: the path itself if nothing in it is refused, else the compiled rest."""
    spec = mujoco.MjSpec.from_file(str(path))
    before = len(spec.sensors)
    missing = any(True for _ in missing_pairs(without_unread_sensors(spec).compile()))
    return without_missing_pairs(spec).compile() if missing or len(spec.sensors) < before else path
