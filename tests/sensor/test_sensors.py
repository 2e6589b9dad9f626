"""Every type of sensor: its table and stage, and its readings against MuJoCo on all objects of many models."""

from __future__ import annotations

import copy
import functools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import MACHINES, MACHINES_SOLVED, SENSOR
from kinetree.kernel import interpret
from kinetree.sensor.acceleration import ACCELERATION
from kinetree.sensor.position import POSITION
from kinetree.sensor.velocity import VELOCITY
from kinetree.types import CamLight, DataType, ObjType, SensorType, Stage
from tests.corpora import own_models
from tests.pipeline.both import Both, both, close, quietly
from tests.sensor.everywhere import (
    ABSOLUTE_TYPES,
    FRAMES,
    RELATIVE_TYPES,
    driven_tree,
    readings,
    same_readings,
    sensors_of,
    torques_of_the_world,
    watched,
)

TABLES = {Stage.POS: POSITION, Stage.VEL: VELOCITY, Stage.ACC: ACCELERATION}
READ = {kind for table in TABLES.values() for kind in table}
OF_CONSTRAINTS = (
    SensorType.JOINTLIMITPOS, SensorType.JOINTLIMITVEL, SensorType.JOINTLIMITFRC, SensorType.TENDONLIMITPOS,
    SensorType.TENDONLIMITVEL, SensorType.TENDONLIMITFRC, SensorType.TOUCH, SensorType.CONTACT,
    SensorType.TACTILE, SensorType.PLUGIN,
)  # fmt: skip
OWN = {path.stem: path for _, path in own_models() if path.suffix == ".xml"}
TREES = [f"tree{seed}" for seed in range(8)]
SOURCES = (*OWN, *TREES)
SEEDS = range(3)


@functools.cache
def source(name: str) -> mujoco.MjModel:
    """A model with sensors on all its objects."""
    if name in OWN:
        out = watched(mujoco.MjSpec.from_file(str(OWN[name])), len(name))
        out.opt.tolerance = 1e-14  # under `discrete` MuJoCo iterates towards qacc_smooth, until it is that near
        return out
    return watched(driven_tree(int(name.removeprefix("tree"))), len(name))


def forwarded(name: str, seed: int, **options) -> Both:
    """Both sides after `forward` in a random state, with controls, applied forces and wrenches, without constraints."""
    pair = both(copy.copy(source(name)), seed, **options)
    run_forward(pair)
    return pair


def run_forward(pair: Both) -> None:
    with quietly():
        kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)


def agree(pair: Both, note: str, tolerance: float = SENSOR) -> None:
    """Every sensor reads what MuJoCo's reads."""
    skip = torques_of_the_world(pair.model)
    same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, tolerance, note, skip)


# the tables


@pytest.mark.criteria("P-SENS-TYPES")
def test_every_type_is_in_one_table_or_refused():
    """MuJoCo's 49 types; a user's sensors belong to callbacks, at any stage."""
    places = [*READ, SensorType.USER]
    twice = [kind for kind in READ if sum(kind in table for table in TABLES.values()) > 1]
    assert twice == [SensorType.CONTACT], "types in several tables: only a contact sensor may belong to any stage"
    assert sorted(places) == sorted(SensorType)
    assert len(SensorType) == len(mujoco.mjtSensor.__members__) == 49
    for name, kind in mujoco.mjtSensor.__members__.items():
        assert SensorType(int(kind)).name == name.removeprefix("mjSENS_")


@pytest.mark.criteria("P-SENS-STAGES")
@pytest.mark.parametrize("stage", TABLES, ids=lambda s: s.name)
def test_tables_follow_the_stages_of_mujocos_compiler(stage):
    kinds: dict[int, set[int]] = {}
    for name in SOURCES:
        for k, s in zip(*stages_of(source(name)), strict=True):
            kinds.setdefault(int(k), set()).add(int(s))
    for kind in TABLES[stage]:
        found = kinds[int(kind)]
        assert found == {int(stage)} or kind == SensorType.CONTACT, f"{kind.name}: MuJoCo computes it in stages {found}"


def stages_of(mj: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    return mj.sensor_type, mj.sensor_needstage


# all types on all objects


@pytest.mark.criteria("P-SENS-CONFORMANCE")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SOURCES)
def test_readings_equal_mujocos(name, seed):
    agree(forwarded(name, seed), f"seed {seed}")


@pytest.mark.parametrize("name", ["sensors", "mocap", "tendons", *TREES[:3]])
@pytest.mark.parametrize("flag", ["GRAVITY", "SPRING", "DAMPER", "ACTUATION", "CLAMPCTRL", "EULERDAMP", "FILTERPARENT"])
def test_readings_equal_mujocos_under_flags(name, flag):
    agree(forwarded(name, 4, disable=int(kt.DisableBit[flag])), f"without {flag}")


@pytest.mark.parametrize("name", ["sensors", "mocap", "humanoid", *TREES[:3]])
def test_readings_after_inverse_equal_mujocos(name):
    """For accelerations that the user gives."""
    pair = both(copy.copy(source(name)), 5)
    rng = np.random.default_rng(5)
    pair.theirs.qacc[:] = pair.ours.qacc[:] = rng.normal(size=pair.mj.nv)
    kt.inverse(pair.model, pair.ours)
    mujoco.mj_inverse(pair.mj, pair.theirs)
    agree(pair, "inverse")


@pytest.mark.parametrize("energy", [0, int(kt.EnableBit.ENERGY)], ids=["", "energy"])
@pytest.mark.parametrize("name", ["joints", "sensors", "double_pendulum", "tree1"])
def test_readings_over_several_passes_equal_mujocos(name, energy):
    """What one pass leaves behind is there for the next: energies and the flags of lazy passes."""
    pair = both(copy.copy(source(name)), 6, enable=energy)
    for k in range(4):
        pair.state_from(lambda data: data.qvel.__imul__(1.3))
        run_forward(pair)
        agree(pair, f"pass {k}")
        pair.same_flags(f"pass {k}")


def test_the_models_have_every_type_and_pair_of_frames():
    """All kinds of object and reference for each frame sensor, moving ones, the world, and cameras of all modes."""
    kinds, pairs, modes, joints = set(), set(), set(), set()
    for name in SOURCES:
        mj = source(name)
        kinds |= set(mj.sensor_type)
        joints |= {int(n) for n in mj.body_jntnum}
        for i in range(mj.nsensor):
            obj, ref = mj.sensor_objtype[i], mj.sensor_reftype[i] if mj.sensor_refid[i] >= 0 else None
            pairs.add((mj.sensor_type[i], obj, ref))
            for kind, k in ((obj, mj.sensor_objid[i]), (ref, mj.sensor_refid[i])):
                if kind == ObjType.CAMERA:
                    modes.add((kind == obj, int(mj.cam_mode[k])))
                if kind == ObjType.XBODY and k == 0:
                    pairs.add((mj.sensor_type[i], "world"))
    assert kinds - {int(SensorType.USER)} == {int(k) for k in READ}
    for kind in RELATIVE_TYPES:
        assert {(kind, obj, ref) for obj in FRAMES for ref in (None, *FRAMES)} <= pairs, kind.name
        assert (kind, "world") in pairs, kind.name
    for kind in (*ABSOLUTE_TYPES, SensorType.INSIDESITE):
        references = [None] if kind in ABSOLUTE_TYPES else [ObjType.SITE]
        assert {(kind, obj, ref) for obj in FRAMES for ref in references} <= pairs, kind.name
    assert {mode for _, mode in modes} == {int(mode) for mode in CamLight} and len(modes) == 2 * len(CamLight)
    assert {0, 1, 2, 3} <= joints, "bodies with several joints"


def test_readings_vary_and_are_not_zero():
    """A sensor whose reading is zero in all models would prove nothing. Those of constraints have tests of their own."""
    seen: dict[SensorType, float] = {}
    for name in ("sensors", "tendons", "tree1", "tree2"):
        pair = forwarded(name, 1)
        values = readings(pair.model, pair.ours.sensordata)
        for i, numbers in enumerate(values.values()):
            kind = SensorType(int(pair.model.sensor_type[i]))
            seen[kind] = max(seen.get(kind, 0.0), np.abs(numbers).max(initial=0.0))
    assert not [kind.name for kind in READ if kind not in OF_CONSTRAINTS and not seen[kind] > 0.0]


# cutoffs


@pytest.mark.criteria("P-SENS-CUTOFF")
@pytest.mark.parametrize("cutoff", [0.05, 0.7, 4.0])
@pytest.mark.parametrize("name", ["sensors", "tree2"])
def test_cutoffs_equal_mujocos_for_every_type(name, cutoff):
    """Of every data type: MuJoCo's compiler wants none on axes and quaternions, but a model may have it all the same."""
    mj = copy.copy(source(name))
    mj.sensor_cutoff[:] = cutoff
    pair = both(mj, 3)
    run_forward(pair)
    agree(pair, f"cutoff {cutoff}")
    assert {int(kind) for kind in DataType} == set(mj.sensor_datatype)
    for i, numbers in enumerate(readings(pair.model, pair.ours.sensordata).values()):
        kind = DataType(int(mj.sensor_datatype[i]))
        if mj.sensor_type[i] == SensorType.GEOMFROMTO:
            continue  # ends of what is looked for within the cutoff
        if kind == DataType.REAL:
            assert np.abs(numbers).max() <= cutoff
        elif kind == DataType.POSITIVE:
            assert numbers.max() <= cutoff
        elif numbers.any() or mj.sensor_type[i] != SensorType.GEOMNORMAL:  # which is zero where nothing is near
            assert np.linalg.norm(numbers) == pytest.approx(1.0)


def test_a_cutoff_clips_both_sides_of_reals_and_the_upper_of_positives():
    text = """<mujoco><worldbody><site name="zone" size="9"/><body name="b"><joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/><geom size=".1"/></body></worldbody><sensor>
      <jointpos name="x" joint="x" cutoff="2"/><jointpos name="y" joint="y" cutoff="2"/><jointpos name="free" joint="x"/>
      <insidesite name="in" objtype="body" objname="b" site="zone" cutoff=".25"/>
      <framepos name="place" objtype="body" objname="b" cutoff="4"/></sensor></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    for position, wanted in (
        ((5.0, -5.0), (2, -2, 5, 0.25, 4, -4, 0)),
        ((1.5, -1.0), (1.5, -1, 1.5, 0.25, 1.5, -1, 0)),
    ):
        data.qpos = position
        kt.forward(model, data)
        np.testing.assert_array_equal(data.sensordata, wanted)


# odd inputs


CAMERAS = """<mujoco model="cameras in a row"><worldbody>
  <site name="ahead" pos=".2 .1 -2"/><site name="behind" pos=".2 .1 2"/><site name="beside" pos=".2 .1 0"/><site name="at"/>
  <camera name="angle" resolution="320 240" fovy="50"/>
  <camera name="lens" resolution="320 240" sensorsize=".03 .02" focal=".017 .019" principal=".001 .002"/>
  <camera name="pixels" resolution="320 240" sensorsize=".03 .02" focalpixel="311 307"/>
  <camera name="parallel" resolution="320 240" projection="orthographic" fovy="2"/>
</worldbody><sensor>{}</sensor></mujoco>"""
SIGHTS = [(s, c) for s in ("ahead", "behind", "beside", "at") for c in ("angle", "lens", "pixels", "parallel")]


@pytest.mark.parametrize(("site", "camera"), SIGHTS)
def test_projections_equal_mujocos_for_every_lens(site, camera):
    """Also behind the camera, in its plane and at its centre, where the depth is zero. MuJoCo's focal length has 24 bits."""
    pair = both(CAMERAS.format(f'<camprojection name="{site}" site="{site}" camera="{camera}"/>'), None)
    run_forward(pair)
    agree(pair, camera, 1e-12)


def test_a_projection_in_closed_form():
    """A pinhole camera: x to the right, y downwards, from the upper left corner."""
    pair = both(CAMERAS.format('<camprojection site="ahead" camera="angle"/>'), None)
    run_forward(pair)
    focal = 120 / np.tan(np.radians(25))
    close(pair.ours.sensordata, [160 + focal * 0.2 / 2, 120 - focal * 0.1 / 2], 1e-12, "pixels")


@pytest.mark.parametrize("quat", [(0, 0, 0, 0), (3, 0, 4, 0), (1e-8, 0, 0, 0), (1e-20, 0, 1e-20, 0), (-2, 1, 1, 1)])
def test_a_ball_whose_quaternion_has_no_unit_length(quat):
    """It is read normalised, and the unit one where there is nothing to normalise."""
    text = """<mujoco><worldbody><body><joint name="b" type="ball"/><geom size=".1"/></body></worldbody>
      <sensor><ballquat joint="b"/></sensor></mujoco>"""
    pair = both(text, None)
    pair.state_from(lambda data: data.qpos.__setitem__(slice(4), quat))
    run_forward(pair)
    close(pair.ours.sensordata, pair.theirs.sensordata, 1e-15, f"ballquat of {quat}")
    assert np.linalg.norm(pair.ours.sensordata) == pytest.approx(1.0)


def test_a_model_of_nothing_but_the_world():
    """No joint, no mass: positions, zero velocities, gravity felt upwards, no NaN."""
    spec = mujoco.MjSpec.from_string(
        """<mujoco model="world"><worldbody><camera name="c" pos="0 0 1"/><geom name="g" size=".1" pos="1 0 0"/>
        <site name="s" pos=".1 .2 .3" euler="10 20 30"/>
        <body name="still" pos="0 1 0"><site name="t"/></body></worldbody></mujoco>"""
    )
    pair = both(watched(spec, 0), None)
    run_forward(pair)
    assert np.isfinite(pair.ours.sensordata).all()
    agree(pair, "", 1e-14)


# machines


LANES = ["sensors", "mocap", "tendons", "massless", "tree1", "tree2"]


def worlds(name: str, count: int) -> list[kt.Data]:
    """Data in different random states."""
    mj = copy.copy(source(name))
    mj.opt.disableflags |= int(kt.DisableBit.CONSTRAINT)
    model, out = kt.load(mj), []
    for seed in range(count):
        out.append(kt.Data(model))
        copy_state(random_state(mj, np.random.default_rng(seed)), out[-1])
    return out


@pytest.mark.parametrize("name", LANES)
def test_lanes_equal_floats(name):
    """All stages in one pass; sensors of forces carry the errors of a solve."""
    datas = worlds(name, 8)
    model = datas[0].model
    lanes = lanes_of(model, datas)
    lanes.run(pipeline.forward)
    for lane, data in enumerate(datas):
        pipeline.forward(model, data)
        same_readings(
            model, lanes.sensordata[:, lane], data.sensordata, MACHINES_SOLVED["float64"], f"lane {lane} of 8"
        )


@pytest.mark.parametrize("name", ["sensors", "tree1"])
def test_single_precision_lanes_equal_floats(name):
    """Up to the velocity stage. Left out is what leaps: rays, images and volumes; and energies, sums of large numbers."""
    datas = worlds(name, 16)
    model = datas[0].model
    lanes = lanes_of(model, datas, "float32")
    leaps = (SensorType.RANGEFINDER, SensorType.CAMPROJECTION, SensorType.INSIDESITE, SensorType.E_POTENTIAL,
             SensorType.E_KINETIC)  # fmt: skip
    later = np.flatnonzero(model.sensor_needstage == Stage.ACC)
    skip = {model.name("sensor", int(i)) for i in [*later, *sensors_of(model, *leaps)]}
    for stage in (kt.fwd_position, kt.sensor_pos, kt.fwd_velocity, kt.sensor_vel):
        lanes.run(stage)
        for data in datas:
            stage(model, data)
    for lane, data in enumerate(datas):
        same_readings(
            model, lanes.sensordata[:, lane], data.sensordata, 5 * MACHINES["float32"], f"lane {lane} of 16", skip
        )


@pytest.mark.parametrize("name", ["sensors", "tree1"])
def test_plain_python_equals_compiled_code(name):
    compiled, plain = worlds(name, 1)[0], worlds(name, 1)[0]
    pipeline.forward(compiled.model, compiled)
    interpret(pipeline.forward, plain.model.record(), plain.record())
    same_readings(compiled.model, plain.sensordata, compiled.sensordata, MACHINES_SOLVED["float64"], "plain Python")
