"""Sensors of every type kinetree reads, put on all objects of a model, and readings compared one sensor at a time."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance.readable import without_unread_sensors
from kinetree.conformance.states import copy_state, random_state
from kinetree.types import ObjType, SensorType
from tests.pipeline.both import Both, both

FRAME_OBJECTS = (ObjType.BODY, ObjType.XBODY, ObjType.GEOM, ObjType.SITE, ObjType.CAMERA)
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
RESOLUTION = 3, 2
MAGNETIC = 0.2, -0.5, 0.1  # every component counts


def named(elements: Any, prefix: str) -> list[str]:
    """Names of all elements of a kind; those without one get one."""
    for k, element in enumerate(elements):
        element.name = element.name or f"{prefix}{k}"
    return [element.name for element in elements]


def watched(spec: mujoco.MjSpec, seed: int, pairs: int = 1) -> mujoco.MjModel:
    """A model with sensors on all its objects, beside its own.

    Frame sensors are there for every pair of kinds of object and reference, on `pairs` pairs of each, drawn by the seed.
    """
    spec = without_unread_sensors(spec)
    rng = np.random.default_rng(seed)
    for camera in spec.cameras:
        camera.resolution = RESOLUTION
    spec.option.magnetic = MAGNETIC
    bodies = named(spec.bodies, "body")
    sites, cameras = named(spec.sites, "site"), named(spec.cameras, "camera")
    objects = {
        ObjType.BODY: bodies,
        ObjType.XBODY: bodies,
        ObjType.GEOM: named(spec.geoms, "geom"),
        ObjType.SITE: sites,
        ObjType.CAMERA: cameras,
    }

    def add(kind: SensorType, *objects: tuple[ObjType, str], **more: Any) -> None:
        words = [kind.name.lower(), *(f"{what.name.lower()} {name}" for what, name in objects)]
        frames = dict(zip(("obj", "ref"), objects, strict=False))
        places = {f"{k}type": what for k, (what, _) in frames.items()} | {f"{k}name": n for k, (_, n) in frames.items()}
        wanted = mujoco.mjtSensor(int(kind))
        spec.add_sensor(name=f"{' '.join(words)} #{len(spec.sensors)}", type=wanted, **to_mujoco(places), **more)

    for site in sites:
        for kind in SITE_TYPES:
            add(kind, (ObjType.SITE, site), **({"intprm": [1, 0, 0]} if kind == SensorType.RANGEFINDER else {}))
    for joint in spec.joints:
        named([joint], f"joint{len(spec.sensors)}")
        for kind in joint_types(joint):
            add(kind, (ObjType.JOINT, joint.name))
    for kinds, what, elements in (
        (TENDON_TYPES, ObjType.TENDON, named(spec.tendons, "tendon")),
        (ACTUATOR_TYPES, ObjType.ACTUATOR, named(spec.actuators, "actuator")),
        (SUBTREE_TYPES, ObjType.BODY, bodies),
    ):
        for name in elements:
            for kind in kinds:
                add(kind, (what, name))
    for kind in GLOBAL_TYPES:
        add(kind)

    def one(what: ObjType) -> tuple[ObjType, str]:
        return what, objects[what][int(rng.integers(len(objects[what])))]

    present = [what for what in FRAME_OBJECTS if objects[what]]
    for what in present:
        for _ in range(pairs):
            for kind in RELATIVE_TYPES:
                add(kind, one(what))
                for reference in present:
                    add(kind, one(what), one(reference))
            for kind in ABSOLUTE_TYPES:
                add(kind, one(what))
            if sites:
                add(SensorType.INSIDESITE, one(what), one(ObjType.SITE))
            if sites and cameras:
                add(SensorType.CAMPROJECTION, one(ObjType.SITE), one(ObjType.CAMERA))
    return spec.compile()


def joint_types(joint: Any) -> tuple[SensorType, ...]:
    """Sensors that a joint may have."""
    if joint.type == mujoco.mjtJoint.mjJNT_BALL:
        return BALL_TYPES
    return () if joint.type == mujoco.mjtJoint.mjJNT_FREE else JOINT_TYPES


def to_mujoco(places: dict[str, Any]) -> dict[str, Any]:
    """Object types as MuJoCo's enum."""
    return {k: mujoco.mjtObj(int(v)) if isinstance(v, ObjType) else v for k, v in places.items()}


def driven(text: str, seed: int) -> mujoco.MjSpec:
    """A random tree with motors on its joints and ropes between its sites, one of them with a motor."""
    spec, rng = mujoco.MjSpec.from_string(text), np.random.default_rng(seed)
    for site in spec.sites:
        site.type = mujoco.mjtGeom(int(rng.choice([2, 3, 4, 5, 6])))
        site.size = rng.uniform(0.2, 0.6, size=3)
    for joint in spec.joints:
        if joint_types(joint) == JOINT_TYPES:
            spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target=joint.name, gainprm=[rng.normal()] + [0] * 9)
    sites = named(spec.sites, "site")
    for k in range(2):
        rope = spec.add_tendon(name=f"rope{k}", stiffness=[rng.uniform(1, 9), 0, 0], damping=[rng.uniform(0, 2), 0, 0])
        for name in rng.choice(sites, size=3, replace=False):
            rope.wrap_site(str(name))
    spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_TENDON, target="rope0", gainprm=[rng.normal()] + [0] * 9)
    return spec


def readings(model: kt.Model, values: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers of every sensor, by its name."""
    names, ends = model.names("sensor"), model.sensor_adr + model.sensor_dim
    return {n: np.array(values[a:e]) for n, a, e in zip(names, model.sensor_adr, ends, strict=True)}


def agree(pair: Both, tolerance: float, note: str, skip: Any = ()) -> None:
    """Every sensor agrees with MuJoCo's, or a message with model, sensor, type, index and both values."""
    model = pair.model
    ours, theirs = readings(model, pair.ours.sensordata), readings(model, pair.theirs.sensordata)
    for i, (name, got) in enumerate(ours.items()):
        wanted = theirs[name]
        error = np.abs(got - wanted) / max(1.0, np.abs(wanted).max(initial=0.0))
        error = np.where(np.isnan(error), np.inf, error)
        if name not in skip and error.max(initial=0.0) > tolerance:
            k, kind = int(error.argmax()), SensorType(int(model.sensor_type[i])).name.lower()
            raise AssertionError(f"{model.title} {note}: sensor {name!r} ({kind}) [{k}]: {got[k]} against {wanted[k]}")


def in_state(mj: mujoco.MjModel, seed: int, **options: Any) -> Both:
    """Both sides without constraints in a random state, with controls and applied wrenches."""
    return both(mj, seed, **options)


def move(pair: Both, seed: int) -> None:
    """Another random state."""
    random_state(pair.mj, np.random.default_rng(seed), pair.theirs)
    copy_state(pair.theirs, pair.ours)


def world_torques(model: kt.Model) -> set[str]:
    """Torque sensors of the world: MuJoCo adds up torques of trees about different points there."""
    sites = model.sensor_objid[model.sensor_type == SensorType.TORQUE]
    numbers = np.flatnonzero(model.sensor_type == SensorType.TORQUE)
    return {model.name("sensor", int(i)) for i, s in zip(numbers, sites, strict=True) if model.site_bodyid[s] == 0}
