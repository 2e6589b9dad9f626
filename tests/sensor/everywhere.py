"""Sensors of every type that kinetree reads, put on all objects of a model, and readings compared sensor by sensor."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.types import ObjType, SensorType
from tests.trees import random_tree

FRAMES = (ObjType.BODY, ObjType.XBODY, ObjType.GEOM, ObjType.SITE, ObjType.CAMERA)  # objects that have a pose
RELATIVE_TYPES = (
    SensorType.FRAMEPOS, SensorType.FRAMEQUAT, SensorType.FRAMEXAXIS, SensorType.FRAMEYAXIS, SensorType.FRAMEZAXIS,
    SensorType.FRAMELINVEL, SensorType.FRAMEANGVEL,
)  # fmt: skip
ABSOLUTE_TYPES = (SensorType.FRAMELINACC, SensorType.FRAMEANGACC)
SITE_TYPES = (
    SensorType.ACCELEROMETER, SensorType.VELOCIMETER, SensorType.GYRO, SensorType.FORCE, SensorType.TORQUE,
    SensorType.MAGNETOMETER, SensorType.RANGEFINDER,
)  # fmt: skip
JOINT_TYPES = (SensorType.JOINTPOS, SensorType.JOINTVEL, SensorType.JOINTACTFRC)
BALL_TYPES = (SensorType.BALLQUAT, SensorType.BALLANGVEL)
TENDON_TYPES = (SensorType.TENDONPOS, SensorType.TENDONVEL, SensorType.TENDONACTFRC)
ACTUATOR_TYPES = (SensorType.ACTUATORPOS, SensorType.ACTUATORVEL, SensorType.ACTUATORFRC)
SUBTREE_TYPES = (SensorType.SUBTREECOM, SensorType.SUBTREELINVEL, SensorType.SUBTREEANGMOM)
GLOBAL_TYPES = (SensorType.E_POTENTIAL, SensorType.E_KINETIC, SensorType.CLOCK)
SITE_SHAPES = tuple(range(mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_MESH))
RESOLUTION = 3, 2
MAGNETIC = 0.2, -0.5, 0.1
DISTANCE = 1, 0, 0  # what a rangefinder reports

Place = tuple[ObjType, str]


def named(elements: Any, prefix: str) -> list[str]:
    """Names of all elements of a kind; those without one get one."""
    for k, element in enumerate(elements):
        element.name = element.name or f"{prefix}{k}"
    return [element.name for element in elements]


def add_sensor(spec: mujoco.MjSpec, kind: SensorType, *places: Place, **more: Any) -> None:
    """A sensor of an object, perhaps with a reference, named after what it measures."""
    words = " ".join([kind.name.lower(), *(f"{what.name.lower()} {name}" for what, name in places)])
    for role, (what, name) in zip(("obj", "ref"), places, strict=False):
        more |= {f"{role}type": mujoco.mjtObj(int(what)), f"{role}name": name}
    spec.add_sensor(name=f"{words} #{len(spec.sensors)}", type=mujoco.mjtSensor(int(kind)), **more)


def joint_types(joint: Any) -> tuple[SensorType, ...]:
    """Sensors that a joint may have."""
    kinds = {mujoco.mjtJoint.mjJNT_BALL: BALL_TYPES, mujoco.mjtJoint.mjJNT_FREE: ()}
    return kinds.get(joint.type, JOINT_TYPES)


def watched(spec: mujoco.MjSpec, seed: int, pairs: int = 2) -> mujoco.MjModel:
    """A model with sensors on all its objects, beside its own.

    Frame sensors are there for every pair of kinds of object and reference, on `pairs` pairs of each, drawn by the seed.
    """
    rng = np.random.default_rng(seed)
    spec.option.magnetic = MAGNETIC
    for camera in spec.cameras:
        camera.resolution = RESOLUTION
    bodies, sites, cameras = (
        named(spec.bodies, "a body"),
        named(spec.sites, "a site"),
        named(spec.cameras, "a camera"),
    )
    objects = dict(zip(FRAMES, (bodies, bodies, named(spec.geoms, "a geom"), sites, cameras), strict=True))
    named(spec.joints, "a joint")
    for site in sites:
        for kind in SITE_TYPES:
            more = {"intprm": DISTANCE} if kind == SensorType.RANGEFINDER else {}
            add_sensor(spec, kind, (ObjType.SITE, site), **more)
    for joint in spec.joints:
        for kind in joint_types(joint):
            add_sensor(spec, kind, (ObjType.JOINT, joint.name))
    for kinds, what, names in (
        (TENDON_TYPES, ObjType.TENDON, named(spec.tendons, "a tendon")),
        (ACTUATOR_TYPES, ObjType.ACTUATOR, named(spec.actuators, "an actuator")),
        (SUBTREE_TYPES, ObjType.BODY, bodies),
    ):
        for name in names:
            for kind in kinds:
                add_sensor(spec, kind, (what, name))
    for kind in GLOBAL_TYPES:
        add_sensor(spec, kind)
    for _ in range(pairs):
        _add_frame_sensors(spec, {what: names for what, names in objects.items() if names}, rng)
    return spec.compile()


def _add_frame_sensors(spec: mujoco.MjSpec, objects: dict[ObjType, list[str]], rng: np.random.Generator) -> None:
    """One sensor of every type for every pair of kinds of object and reference."""

    def one(what: ObjType) -> Place:
        return what, objects[what][int(rng.integers(len(objects[what])))]

    for what in objects:
        for kind in RELATIVE_TYPES:
            add_sensor(spec, kind, one(what))
            for reference in objects:
                add_sensor(spec, kind, one(what), one(reference))
        for kind in ABSOLUTE_TYPES:
            add_sensor(spec, kind, one(what))
        if ObjType.SITE in objects:
            add_sensor(spec, SensorType.INSIDESITE, one(what), one(ObjType.SITE))
            if ObjType.CAMERA in objects:
                add_sensor(spec, SensorType.CAMPROJECTION, one(ObjType.SITE), one(ObjType.CAMERA))


def driven_tree(seed: int, nbody: int = 9) -> mujoco.MjSpec:
    """A random tree with motors on its joints, ropes between its sites, one with a motor, and sites of all shapes."""
    spec, rng = mujoco.MjSpec.from_string(random_tree(seed, nbody)), np.random.default_rng(seed)
    for site in spec.sites:
        site.type, site.size = mujoco.mjtGeom(int(rng.choice(SITE_SHAPES))), rng.uniform(0.2, 0.6, size=3)
    for joint in spec.joints:
        if joint_types(joint) == JOINT_TYPES:
            spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=joint.name, gear=[rng.normal()] + [0] * 5)
    sites = named(spec.sites, "a site")
    for rope in ("rope", "string"):
        stiffness, damping = [rng.uniform(1, 9), 0, 0], [rng.uniform(0, 2), 0, 0]
        tendon = spec.add_tendon(name=rope, stiffness=stiffness, damping=damping)
        for name in rng.choice(sites, size=3, replace=False):
            tendon.wrap_site(str(name))
    spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_TENDON, target="rope", gear=[rng.normal()] + [0] * 5)
    return spec


def readings(model: kt.Model, values: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers of every sensor, by its name."""
    names, ends = model.names("sensor"), model.sensor_adr + model.sensor_dim
    return {n: np.array(values[a:e], float) for n, a, e in zip(names, model.sensor_adr, ends, strict=True)}


def same_readings(
    model: kt.Model, ours: np.ndarray, theirs: np.ndarray, tolerance: float, note: str, skip: Collection[str] = ()
) -> None:
    """Every sensor agrees, or a message with model, sensor, type, index and both values.

    The error of a sensor is relative to the larger of 1 and its largest number.
    """
    if np.all(np.abs(ours - theirs) <= tolerance):  # spares the loop
        return
    got, wanted = readings(model, ours), readings(model, theirs)
    for i, name in enumerate(got):
        if name not in skip:
            size = max(1.0, np.abs(wanted[name]).max(initial=0.0))
            error = np.abs(got[name] - wanted[name]) / size
            k = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
            what = f"{model.title} {note}: sensor {name!r} ({SensorType(int(model.sensor_type[i])).name}) [{k}]"
            assert error[k] <= tolerance, f"{what}: {got[name][k]} against {wanted[name][k]}"


def sensors_of(model: kt.Model, *kinds: SensorType) -> list[int]:
    """Numbers of the sensors of some types."""
    return [int(i) for i in np.flatnonzero(np.isin(model.sensor_type, kinds))]


def torques_of_the_world(model: kt.Model) -> set[str]:
    """Torque sensors on the world, where MuJoCo adds up torques of trees about different points."""
    found = sensors_of(model, SensorType.TORQUE)
    return {model.name("sensor", i) for i in found if model.site_bodyid[model.sensor_objid[i]] == 0}
