"""Elements that refer to others by type: equality constraints, tendon paths, actuators, sensors, tuples, histories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...named import DOF_WIDTH
from ...types import (
    CtrlChart,
    CtrlInput,
    DynType,
    EqType,
    GainType,
    GeomType,
    JointType,
    ObjType,
    SensorType,
    TrnType,
    WrapType,
)  # fmt: skip
from .report import first, outside, starts, unequal
from .tree import branch

SIZE_OF: dict[ObjType, str] = {
    ObjType.BODY: "nbody", ObjType.XBODY: "nbody", ObjType.JOINT: "njnt", ObjType.DOF: "nv", ObjType.GEOM: "ngeom",
    ObjType.SITE: "nsite", ObjType.CAMERA: "ncam", ObjType.LIGHT: "nlight", ObjType.MESH: "nmesh",
    ObjType.SKIN: "nskin", ObjType.HFIELD: "nhfield", ObjType.TEXTURE: "ntex", ObjType.MATERIAL: "nmat",
    ObjType.PAIR: "npair", ObjType.EXCLUDE: "nexclude", ObjType.EQUALITY: "neq", ObjType.TENDON: "ntendon",
    ObjType.ACTUATOR: "nactuator", ObjType.SENSOR: "nsensor", ObjType.NUMERIC: "nnumeric", ObjType.TEXT: "ntext",
    ObjType.TUPLE: "ntuple", ObjType.KEY: "nkey",
}  # fmt: skip

# What a transmission acts on, by its type; SO3 has two kinds of target.
TARGETS = {
    TrnType.JOINT: ObjType.JOINT, TrnType.JOINTINPARENT: ObjType.JOINT, TrnType.SLIDERCRANK: ObjType.SITE,
    TrnType.TENDON: ObjType.TENDON, TrnType.SITE: ObjType.SITE, TrnType.BODY: ObjType.BODY,
}  # fmt: skip

# Sensors: type -> (what it may observe, what it may refer to, how many numbers it gives or None).
Sensor = tuple[tuple[ObjType, ...], tuple[ObjType, ...], int | None]
NOTHING = (ObjType.UNKNOWN,)
SITE, JOINT, TENDON, ACTUATOR = (ObjType.SITE,), (ObjType.JOINT,), (ObjType.TENDON,), (ObjType.ACTUATOR,)
FRAMES = (ObjType.BODY, ObjType.XBODY, ObjType.GEOM, ObjType.SITE, ObjType.CAMERA)
SOLIDS = (ObjType.BODY, ObjType.GEOM)
SENSORS: dict[SensorType, Sensor] = {
    SensorType.TOUCH: (SITE, NOTHING, 1),
    SensorType.ACCELEROMETER: (SITE, NOTHING, 3),
    SensorType.VELOCIMETER: (SITE, NOTHING, 3),
    SensorType.GYRO: (SITE, NOTHING, 3),
    SensorType.FORCE: (SITE, NOTHING, 3),
    SensorType.TORQUE: (SITE, NOTHING, 3),
    SensorType.MAGNETOMETER: (SITE, NOTHING, 3),
    SensorType.RANGEFINDER: ((ObjType.SITE, ObjType.CAMERA), NOTHING, None),
    SensorType.CAMPROJECTION: (SITE, (ObjType.CAMERA,), 2),
    SensorType.JOINTPOS: (JOINT, NOTHING, 1),
    SensorType.JOINTVEL: (JOINT, NOTHING, 1),
    SensorType.TENDONPOS: (TENDON, NOTHING, 1),
    SensorType.TENDONVEL: (TENDON, NOTHING, 1),
    SensorType.ACTUATORPOS: (ACTUATOR, NOTHING, None),
    SensorType.ACTUATORVEL: (ACTUATOR, NOTHING, None),
    SensorType.ACTUATORFRC: (ACTUATOR, NOTHING, None),
    SensorType.JOINTACTFRC: (JOINT, NOTHING, 1),
    SensorType.TENDONACTFRC: (TENDON, NOTHING, 1),
    SensorType.BALLQUAT: (JOINT, NOTHING, 4),
    SensorType.BALLANGVEL: (JOINT, NOTHING, 3),
    SensorType.JOINTLIMITPOS: (JOINT, NOTHING, 1),
    SensorType.JOINTLIMITVEL: (JOINT, NOTHING, 1),
    SensorType.JOINTLIMITFRC: (JOINT, NOTHING, 1),
    SensorType.TENDONLIMITPOS: (TENDON, NOTHING, 1),
    SensorType.TENDONLIMITVEL: (TENDON, NOTHING, 1),
    SensorType.TENDONLIMITFRC: (TENDON, NOTHING, 1),
    SensorType.FRAMEPOS: (FRAMES, (*FRAMES, *NOTHING), 3),
    SensorType.FRAMEQUAT: (FRAMES, (*FRAMES, *NOTHING), 4),
    SensorType.FRAMEXAXIS: (FRAMES, (*FRAMES, *NOTHING), 3),
    SensorType.FRAMEYAXIS: (FRAMES, (*FRAMES, *NOTHING), 3),
    SensorType.FRAMEZAXIS: (FRAMES, (*FRAMES, *NOTHING), 3),
    SensorType.FRAMELINVEL: (FRAMES, (*FRAMES, *NOTHING), 3),
    SensorType.FRAMEANGVEL: (FRAMES, (*FRAMES, *NOTHING), 3),
    SensorType.FRAMELINACC: (FRAMES, NOTHING, 3),
    SensorType.FRAMEANGACC: (FRAMES, NOTHING, 3),
    SensorType.SUBTREECOM: ((ObjType.BODY,), NOTHING, 3),
    SensorType.SUBTREELINVEL: ((ObjType.BODY,), NOTHING, 3),
    SensorType.SUBTREEANGMOM: ((ObjType.BODY,), NOTHING, 3),
    SensorType.INSIDESITE: (FRAMES, SITE, 1),
    SensorType.GEOMDIST: (SOLIDS, SOLIDS, 1),
    SensorType.GEOMNORMAL: (SOLIDS, SOLIDS, 3),
    SensorType.GEOMFROMTO: (SOLIDS, SOLIDS, 6),
    SensorType.CONTACT: ((*FRAMES[:4], *NOTHING), (*FRAMES[:3], *NOTHING), None),
    SensorType.E_POTENTIAL: (NOTHING, NOTHING, 1),
    SensorType.E_KINETIC: (NOTHING, NOTHING, 1),
    SensorType.CLOCK: (NOTHING, NOTHING, 1),
    SensorType.TACTILE: ((ObjType.MESH,), (ObjType.GEOM,), None),
    SensorType.PLUGIN: (SITE, (), None),
    SensorType.USER: ((), (), None),
}
COMPACT = tuple(range(GeomType.SPHERE, GeomType.MESH + 1))  # shapes that are convex and end somewhere
CONTACT_WIDTHS = (1, 3, 3, 1, 3, 3, 3, 3, 3)  # numbers of each ConDataField
RAY_WIDTHS = (1, 3, 3, 3, 3, 1)  # numbers of each RayDataField


def equalities(m: Any) -> Iterator[str]:
    """What both objects are follows from the type; only couplings of joints and tendons may lack the second."""
    for i, (kind, object_type) in enumerate(zip(m.eq_type, m.eq_objtype, strict=True)):
        own = {EqType.JOINT: ObjType.JOINT, EqType.TENDON: ObjType.TENDON}.get(EqType(kind))
        if own is None and object_type not in (ObjType.BODY, ObjType.SITE):
            yield f"eq_objtype[{i}] is {object_type}, neither body nor site"
        size = getattr(m, SIZE_OF[own or ObjType(object_type)])
        yield from outside(f"eq_obj1id[{i}]", m.eq_obj1id[i], 0, size)
        yield from outside(f"eq_obj2id[{i}]", m.eq_obj2id[i], -1 if own else 0, size)


def paths(m: Any) -> Iterator[str]:
    """Objects on tendon paths; a geom stands between two sites and may name the site on whose side it is passed."""
    sizes = {WrapType.JOINT: m.njnt, WrapType.SITE: m.nsite, WrapType.SPHERE: m.ngeom, WrapType.CYLINDER: m.ngeom}
    high = np.array([sizes.get(WrapType(t), 0) for t in m.wrap_type], np.int64)
    yield from outside("wrap_objid", m.wrap_objid, np.where(high > 0, 0, -1), high)
    around = np.isin(m.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER))
    path = np.repeat(np.arange(m.ntendon), m.tendon_num)
    site = np.where(m.wrap_type == WrapType.SITE, path, -1)  # the path of each site
    held = (np.append(-1, site[:-1]) == path) & (np.append(site[1:], -1) == path)
    yield from first(around & ~held, "wrap_type", m.wrap_type, "a geom that does not stand between two sites")
    side = m.wrap_prm.clip(-2, m.nsite)
    yield from first(around & ((side < -1) | (side >= m.nsite)), "wrap_prm", m.wrap_prm, "not the id of a site")
    for t in range(m.ntendon):
        columns = m.ten_J_colind[m.ten_J_rowadr[t] : m.ten_J_rowadr[t] + m.ten_J_rownnz[t]]
        expected = _moving_dofs(m, t)
        if sorted(columns) != expected:
            yield f"ten_J_colind of tendon {t} lists the dofs {sorted(int(i) for i in columns)}, but {expected} follows"
    yield from outside("tendon_treenum", m.tendon_treenum, 0, m.ntree + 1)
    named = (m.tendon_treeid.reshape(-1, 2) >= 0).sum(axis=1)
    yield from first(
        named < np.minimum(m.tendon_treenum, 2), "tendon_treenum", m.tendon_treenum, "more than tendon_treeid has"
    )
    yield from outside("tendon_plasticadr", m.tendon_plasticadr, -1, max(0, m.nplastic - 1))


def _moving_dofs(m: Any, tendon: int) -> list[int]:
    """Degrees of freedom that can change the length of a tendon."""
    path = slice(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
    dofs: list[int] = []
    for kind, index in zip(m.wrap_type[path], m.wrap_objid[path], strict=True):
        if kind == WrapType.JOINT:
            dofs.append(int(m.jnt_dofadr[index]))
        elif kind != WrapType.PULLEY:
            dofs += branch(m, (m.site_bodyid if kind == WrapType.SITE else m.geom_bodyid)[index]) - set(dofs)
    return sorted(dofs)


def actuators(m: Any) -> Iterator[str]:
    """Numbers of controls and outputs follow from the types; the transmission names what the type acts on."""
    commands = CtrlInput.POS | CtrlInput.VEL | CtrlInput.FF | CtrlInput.VOLTAGE
    for i in range(m.nactuator):
        gain, kind, spec = GainType(m.actuator_gaintype[i]), TrnType(m.actuator_trntype[i]), int(m.actuator_ctrlspec[i])
        controls = 1
        if gain == GainType.SO3:
            controls = 4 if spec == CtrlChart.QUAT else 3
        elif gain in (GainType.PID, GainType.DCMOTOR):
            controls = (spec & commands).bit_count()
        yield from unequal(f"actuator_ctrlnum[{i}]", m.actuator_ctrlnum[i], controls)
        yield from unequal(f"actuator_outnum[{i}]", m.actuator_outnum[i], 3 if kind == TrnType.SO3 else 1)
        if m.actuator_plugin[i] < 0:  # the states of the others are counted by a rule of plugins
            yield from _states(m, i, gain)
        yield from _transmission(m, i, kind)
    moments = sum(_moments(m, i) for i in range(m.nactuator))
    if moments != m.nJmom:
        yield f"actuator_trntype and actuator_trnid ask for {moments} moments, but nJmom is {m.nJmom}"


def _states(m: Any, i: int, gain: GainType) -> Iterator[str]:
    """How many states the dynamics of one actuator have."""
    dynamics = DynType(m.actuator_dyntype[i])
    if dynamics in (DynType.NONE, DynType.FILTER, DynType.FILTEREXACT, DynType.MUSCLE, DynType.INTEGRATOR):
        states = 0 if dynamics == DynType.NONE else 3 if gain == GainType.SO3 else 1
        yield from unequal(f"actuator_actnum[{i}]", m.actuator_actnum[i], states)
    else:
        yield from outside(f"actuator_actnum[{i}]", m.actuator_actnum[i], dynamics != DynType.DCMOTOR, m.na + 1)


def _moments(m: Any, i: int) -> int:
    """Non-zeros that one actuator may need in the matrix of moments."""
    kind, (target, second) = TrnType(m.actuator_trntype[i]), m.actuator_trnid[i]
    if kind in (TrnType.JOINT, TrnType.JOINTINPARENT):
        return DOF_WIDTH[JointType(m.jnt_type[target])]
    if kind == TrnType.TENDON:
        return int(m.ten_J_rownnz[target])
    if kind == TrnType.SO3:
        return 3 if second < 0 else 3 * m.nv
    if kind == TrnType.BODY:
        return int(m.nv)
    here, there = branch(m, m.site_bodyid[target]), branch(m, m.site_bodyid[second]) if second >= 0 else set()
    return len(here | there if kind == TrnType.SLIDERCRANK else here ^ there)


def _transmission(m: Any, i: int, kind: TrnType) -> Iterator[str]:
    """The objects of one actuator. SO3 acts on a ball joint, or on a site against another; a crank has two sites."""
    main, second = (int(x) for x in m.actuator_trnid[i])
    if kind == TrnType.SO3:
        target = ObjType.JOINT if second == -1 else ObjType.SITE
    else:
        target = TARGETS[kind]
    yield from outside(f"actuator_trnid[{i}, 0]", main, 0, getattr(m, SIZE_OF[target]))
    if kind == TrnType.SO3 and target == ObjType.JOINT and m.jnt_type[main] != JointType.BALL:
        yield f"actuator_trnid[{i}, 0] is {main}, not a ball joint"
    if target == ObjType.SITE:
        yield from outside(f"actuator_trnid[{i}, 1]", second, 0 if kind == TrnType.SLIDERCRANK else -1, m.nsite)


def sensors(m: Any) -> Iterator[str]:
    """A sensor's type says what it may observe, against what, and how many numbers it gives."""
    for i in range(m.nsensor):
        kind = SensorType(m.sensor_type[i])
        observed, reference, width = SENSORS[kind]
        for what, allowed, low in (("obj", observed, 0), ("ref", reference, -1 if ObjType.UNKNOWN in reference else 0)):
            object_type, index = ObjType(getattr(m, f"sensor_{what}type")[i]), getattr(m, f"sensor_{what}id")[i]
            if allowed and object_type not in allowed:
                yield f"sensor_{what}type[{i}] is {object_type}, which a sensor of type {kind.name.lower()} cannot have"
            size = SIZE_OF.get(object_type)
            yield from outside(f"sensor_{what}id[{i}]", index, low if size else -1, getattr(m, size) if size else 0)
        yield from unequal(f"sensor_dim[{i}]", m.sensor_dim[i], _numbers(m, i, kind) if width is None else width)
        if kind in (SensorType.BALLQUAT, SensorType.BALLANGVEL) and m.jnt_type[m.sensor_objid[i]] != JointType.BALL:
            yield f"sensor_objid[{i}] is {m.sensor_objid[i]}, not a ball joint"
        if kind == SensorType.INSIDESITE and m.sensor_intprm[i, 0]:
            yield from _enclosed(m, i)


def _enclosed(m: Any, i: int) -> Iterator[str]:
    """How far something sticks out of a site is known of shapes that are convex and end somewhere."""
    kind, k = ObjType(m.sensor_objtype[i]), m.sensor_objid[i]
    bodies = [b for b in range(m.nbody) if b == k or (kind == ObjType.XBODY and k in _ancestors(m, b))]
    geoms = [k] if kind == ObjType.GEOM else np.flatnonzero(np.isin(m.geom_bodyid, bodies))
    if kind == ObjType.CAMERA:
        yield f"sensor_objtype[{i}] is a camera, which has no shape to enclose"
    elif kind != ObjType.SITE and not len(geoms):
        yield f"sensor_objid[{i}] is {k}, which has no geom to enclose"
    shapes = [("site", m.site_type[m.sensor_refid[i]])]
    shapes += [("site", m.site_type[k])] if kind == ObjType.SITE else [("geom", m.geom_type[g]) for g in geoms]
    for what, shape in shapes:
        if shape not in COMPACT:
            yield f"sensor_intprm[{i}] needs convex and compact shapes, but a {what} is {GeomType(shape).name}"


def _ancestors(m: Any, body: int) -> set[int]:
    """All bodies that carry a body."""
    found = set()
    while body > 0:
        body = int(m.body_parentid[body])
        found.add(body)
    return found


def _numbers(m: Any, i: int, kind: SensorType) -> int:
    """How many numbers a sensor gives whose type alone does not say it."""
    spec, _, slots = (int(n) for n in m.sensor_intprm[i])
    target = m.sensor_objid[i]
    if kind in (SensorType.ACTUATORPOS, SensorType.ACTUATORVEL, SensorType.ACTUATORFRC):
        return int(m.actuator_outnum[target])
    if kind == SensorType.TACTILE:
        return 3 * int(m.mesh_vertnum[target])
    if kind == SensorType.CONTACT:
        return slots * sum(width for bit, width in enumerate(CONTACT_WIDTHS) if spec >> bit & 1)
    if kind == SensorType.RANGEFINDER:
        rays = m.cam_resolution[target].prod(dtype=np.int64) if m.sensor_objtype[i] == ObjType.CAMERA else 1
        return int(rays) * sum(width for bit, width in enumerate(RAY_WIDTHS) if spec >> bit & 1)
    return int(m.sensor_dim[i])


def tuples(m: Any) -> Iterator[str]:
    """Members of custom tuples exist."""
    for i, kind in enumerate(m.tuple_objtype):
        size = SIZE_OF.get(ObjType(kind))
        yield from outside(f"tuple_objid[{i}]", m.tuple_objid[i], 0 if size else -1, getattr(m, size) if size else 0)


def histories(m: Any) -> Iterator[str]:
    """Delay buffers, actuators' then sensors': two numbers, then a time and the values of each sample."""
    samples = np.concatenate([m.actuator_history, m.sensor_history]).astype(np.int64)
    for name in ("actuator_history", "sensor_history"):
        yield from outside(name, getattr(m, name), 0, (m.nhistory + 1, 3))
    values = np.concatenate([m.actuator_ctrlnum, m.sensor_dim])
    length = np.where(samples[:, 0] > 0, 2 + samples[:, 0] * (1 + values), 0)
    if length.sum() != m.nhistory:
        yield f"actuator_history and sensor_history ask for {length.sum()} numbers, but nhistory is {m.nhistory}"
    begin = np.where(length > 0, starts(length), -1)
    yield from unequal("actuator_historyadr", m.actuator_historyadr, begin[: m.nactuator])
    yield from unequal("sensor_historyadr", m.sensor_historyadr, begin[m.nactuator :])
