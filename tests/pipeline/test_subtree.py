"""Subtree fields: values known without a computer, sums over bodies, MuJoCo, conservation, and what sensors read."""

from __future__ import annotations

import ast
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from tests import naive
from tests.pipeline.both import both, close, load, quietly, reading, sensing
from tests.trees import random_tree

EXACT = 1e-14
BRUTE_FORCE = 1e-12  # the order of summation differs
SOURCE = Path(kt.__file__).parent

FREE_BODY = """<mujoco><worldbody><body name="a" pos=".3 .2 .1"><freejoint/>
  <inertial pos=".1 -.2 .3" mass="1" diaginertia="1 2 2.5"/></body></worldbody>
  <sensor><subtreelinvel name="v" body="a"/><subtreelinvel name="all" body="world"/></sensor></mujoco>"""

CHAIN = """<mujoco><worldbody>
  <body name="a"><joint type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
    <body name="b" pos="0 .5 0"><joint type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <body name="c" pos="0 0 .5"><joint type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      </body></body></body></worldbody>
  <sensor><subtreelinvel name="world" body="world"/><subtreelinvel name="a" body="a"/>
    <subtreelinvel name="b" body="b"/><subtreelinvel name="c" body="c"/></sensor></mujoco>"""

SPINNER = """<mujoco><worldbody><body name="a"><joint axis="0 0 1"/>
  <inertial pos="{com}" mass="1" diaginertia="1.5 1.5 2"/></body></worldbody>
  <sensor><subtreeangmom name="a" body="a"/></sensor></mujoco>"""

ORBIT = """<mujoco><worldbody>
  <body name="right" pos="1 0 0"><joint type="slide" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
  <body name="left" pos="-1 0 0"><joint type="slide" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
  </worldbody><sensor><subtreeangmom name="all" body="world"/></sensor></mujoco>"""

# Two bodies rigidly joined, turning about the first one's centre of mass.
PAIR = """<mujoco><worldbody>
  <body name="inner"><joint axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .15"/>
    <body name="outer" pos=".3 0 0"><inertial pos=".1 0 0" mass="1" diaginertia=".1 .1 .15"/></body></body></worldbody>
  <sensor><subtreeangmom name="inner" body="inner"/><subtreeangmom name="outer" body="outer"/>
    <subtreelinvel name="moving" body="inner"/></sensor></mujoco>"""


def subtree_sensors(model_text: str) -> str:
    """A sensor of each kind on every body of a random tree."""
    names = [line.split('"')[1] for line in model_text.split("<body ")[1:]]
    kinds = ("subtreecom", "subtreelinvel", "subtreeangmom")
    return "".join(f'<{kind} name="{kind}_{name}" body="{name}"/>' for name in ["world", *names] for kind in kinds)


def momenta(model, data):
    """Both fields after a pass by hand."""
    kt.forward(model, data)
    kt.subtree_vel(model, data)
    return data.subtree_linvel, data.subtree_angmom


def brute_force(model, data):
    """The four fields by sums over bodies."""
    bodies = range(model.nbody)
    return {
        "subtree_mass": np.array([naive.subtree_mass(model, b) for b in bodies]),
        "subtree_com": np.array([naive.subtree_com(model, data, b) for b in bodies]),
        "subtree_linvel": np.array([naive.subtree_linvel(model, data, b) for b in bodies]),
        "subtree_angmom": np.array([naive.subtree_angmom(model, data, b) for b in bodies]),
    }


def relative(got, wanted, what):
    """Agreement to the digits that a sum over bodies leaves, relative to the largest value of the field."""
    scale = max(np.abs(wanted).max(), np.finfo(float).tiny)
    close(got / scale, wanted / scale, BRUTE_FORCE, what)


# values known beforehand


@pytest.mark.criteria("000-AC1", "P-SUB-ROWS")
def test_the_fields_have_a_row_for_every_body():
    model, data = load(CHAIN)
    for name, shape in (
        ("subtree_com", (4, 3)),
        ("subtree_mass", (4,)),
        ("subtree_linvel", (4, 3)),
        ("subtree_angmom", (4, 3)),
    ):
        array = getattr(data, name)
        assert array.shape == shape and array.dtype == np.float64, name
        assert array is getattr(data, name), f"{name} must stay the same view"
        assert DATA_FIELDS[name].dims.startswith("nbody")
    assert data.flg_subtreevel is False


@pytest.mark.criteria("000-AC2", "000-T1", "001-T1", "P-SUB-FREE")
@pytest.mark.parametrize("velocity", [(1.0, 2.0, 3.0), (1.0, 0.0, 0.0)])
def test_a_free_body_moves_with_its_velocity(velocity):
    model, data = load(FREE_BODY)
    data.qvel[:3] = velocity
    kt.forward(model, data)
    for row in (0, 1):
        close(data.subtree_linvel[row], velocity, EXACT, f"subtree_linvel[{row}]")
    for sensor in ("v", "all"):
        close(reading(model, data, sensor), velocity, EXACT, sensor)


@pytest.mark.criteria("000-AC3", "000-T2", "001-AC1", "001-T2", "P-SUB-CHAIN")
def test_a_chain_has_the_mean_velocity_weighted_by_mass():
    """Masses 2, 1, 1 at 1, 4, 0 along x; joint rates are relative."""
    model, data = load(CHAIN)
    data.qvel = 1.0, 3.0, -4.0
    kt.forward(model, data)
    for body, vx in (("world", 1.5), ("a", 1.5), ("b", 2.0), ("c", 0.0)):
        close(data.subtree_linvel[model.id("body", body)], [vx, 0, 0], EXACT, f"subtree_linvel of {body}")
        close(reading(model, data, body), [vx, 0, 0], EXACT, f"sensor of {body}")
    momentum = model.body_mass @ np.array([[0, 0, 0], [1, 0, 0], [4, 0, 0], [0, 0, 0]])
    close(data.subtree_linvel[0] * model.body_mass.sum(), momentum, EXACT, "total momentum")


@pytest.mark.criteria("000-AC4", "000-T3", "001-AC2", "001-T3", "P-SUB-SPIN")
def test_a_spinning_body_has_inertia_times_rate():
    model, data = load(SPINNER.format(com="0 0 0"))
    data.qvel[0] = 3.0
    kt.forward(model, data)
    for row in (0, 1):
        close(data.subtree_angmom[row], [0, 0, 6], EXACT, f"subtree_angmom[{row}]")
    close(reading(model, data, "a"), [0, 0, 6], EXACT, "sensor")


@pytest.mark.criteria("000-AC5", "000-T4", "001-T4", "P-SUB-ORBIT")
def test_two_masses_about_their_common_centre():
    """Each contributes r x m v = 1 to the whole; alone, about its own centre of mass, neither has any."""
    model, data = load(ORBIT)
    data.qvel = 1.0, -1.0
    kt.forward(model, data)
    close(data.subtree_angmom, [[0, 0, 2], [0, 0, 0], [0, 0, 0]], EXACT, "subtree_angmom")
    close(reading(model, data, "all"), [0, 0, 2], EXACT, "sensor")


@pytest.mark.criteria("002-B4-AC1", "002-T4", "P-SUB-PAIR")
def test_a_rigid_pair_has_spin_and_orbit():
    """.15 twice, and two masses of 1 at .2 from their common centre: .3 + .08."""
    model, data = load(PAIR)
    data.qvel[0] = 1.0
    linvel, angmom = momenta(model, data)
    close(angmom, [[0, 0, 0.38], [0, 0, 0.38], [0, 0, 0.15]], EXACT, "subtree_angmom")
    close(linvel, [[0, 0.2, 0], [0, 0.2, 0], [0, 0.4, 0]], EXACT, "subtree_linvel")


@pytest.mark.criteria("002-B4-AC2")
@pytest.mark.parametrize("com", ["0 0 0", ".1 0 0", ".3 -.4 .2"])
def test_a_lone_body_has_spin_only_wherever_its_centre_of_mass_is(com):
    model, data = load(SPINNER.format(com=com))
    data.qvel[0] = 3.0
    kt.forward(model, data)
    close(data.subtree_angmom[1], [0, 0, 6], EXACT, f"centre of mass {com}")


@pytest.mark.criteria("002-B4-AC3")
def test_a_sensor_sees_the_offsets_of_centres_of_mass():
    """With the velocity of the origins instead, r x m v of the pair would be -.2 * 0 + .2 * .3 = .06, not .08."""
    model, data = load(PAIR)
    data.qvel[0] = 1.0
    kt.forward(model, data)
    close(reading(model, data, "inner"), [0, 0, 0.38], EXACT, "inner")
    close(reading(model, data, "outer"), [0, 0, 0.15], EXACT, "outer")
    close(reading(model, data, "moving"), [0, 0.2, 0], EXACT, "moving")


# sums over bodies, and MuJoCo


@pytest.mark.criteria(
    "000-AC6", "000-T5", "000-T6", "000-T9", "001-AC3", "001-T5", "001-T10", "P-SUB-BRUTE", "P-SUB-ABOUT"
)
@pytest.mark.parametrize("seed", range(12))
def test_random_trees_agree_with_sums_over_bodies_and_with_mujoco(seed):
    tree = random_tree(seed, nbody=10)
    pair = both(sensing(seed, subtree_sensors(tree), nbody=10), seed)
    with quietly():
        kt.forward(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    for name, wanted in brute_force(pair.model, pair.ours).items():
        relative(getattr(pair.ours, name), wanted, f"tree {seed}: {name} against the sum over bodies")
    for name in ("subtree_com", "subtree_linvel", "subtree_angmom"):
        relative(getattr(pair.ours, name), getattr(pair.theirs, name), f"tree {seed}: {name} against MuJoCo")
        kind = name.replace("_", "")
        for b in range(pair.model.nbody):
            body = pair.model.name("body", b)
            np.testing.assert_array_equal(reading(pair.model, pair.ours, f"{kind}_{body}"), getattr(pair.ours, name)[b])


@pytest.mark.criteria("000-T9", "001-T10", "P-SUB-BRUTE")
@pytest.mark.parametrize("joints", [("hinge",), ("hinge", "slide"), ("ball",), ("free", "ball", "hinge", "slide")])
def test_deep_chains_agree_with_sums_over_bodies(joints):
    """Ten links, each on the one before, axes and anchors anywhere."""
    rng = np.random.default_rng(len(joints))

    def numbers(n, scale=1.0):
        return " ".join(f"{x:.4f}" for x in scale * rng.normal(size=n))

    text = '<mujoco><compiler angle="radian"/><worldbody>'
    for k in range(10):
        kind = joints[k % len(joints)] if joints[k % len(joints)] != "free" or k == 0 else "hinge"
        joint = (
            "<freejoint/>" if kind == "free" else f'<joint type="{kind}" axis="{numbers(3)}" pos="{numbers(3, 0.2)}"/>'
        )
        text += f'<body pos="{numbers(3, 0.4)}" euler="{numbers(3)}">{joint}'
        text += f'<geom type="box" size=".1 .2 .3" pos="{numbers(3, 0.2)}" euler="{numbers(3)}"/>'
    pair = both(text + "</body>" * 10 + "</worldbody></mujoco>", 3)
    momenta(pair.model, pair.ours)
    mujoco.mj_forward(pair.mj, pair.theirs)
    mujoco.mj_subtreeVel(pair.mj, pair.theirs)
    for name, wanted in brute_force(pair.model, pair.ours).items():
        relative(getattr(pair.ours, name), wanted, f"{joints}: {name} against the sum over bodies")
    for name in ("subtree_linvel", "subtree_angmom"):
        relative(getattr(pair.ours, name), getattr(pair.theirs, name), f"{joints}: {name} against MuJoCo")


@pytest.mark.criteria("P-SUB-FORMULA")
def test_the_recursion_of_the_second_document_is_wrong_at_the_root():
    """Its transfer by the children's own centres of mass and momenta misses most of the tree; the first document's holds."""
    model, data = load(random_tree(3, nbody=10, joints=("hinge", "ball"), massless=0.0))
    data.qvel = np.random.default_rng(0).normal(size=model.nv)
    _, angmom = momenta(model, data)
    momentum = np.array(
        [model.body_mass[b] * naive.motion(model, data, b, data.xipos[b]).v for b in range(model.nbody)]
    )
    spin = np.array(
        [naive.inertia(model, data, b) @ naive.motion(model, data, b, data.xipos[b]).w for b in range(model.nbody)]
    )
    for b in range(model.nbody - 1, 0, -1):
        p = model.body_parentid[b]
        momentum[p] += momentum[b]
        spin[p] += spin[b] + np.cross(data.xipos[b] - data.subtree_com[p], momentum[b])
    linvel = momentum / data.subtree_mass[:, None]
    spin -= np.cross(data.subtree_mass[:, None] * (data.subtree_com - data.xipos), linvel)
    wanted = naive.subtree_angmom(model, data, 0)
    relative(angmom[0], wanted, "the first document's recursion")
    assert np.linalg.norm(spin[0] - wanted) > 0.05 * np.linalg.norm(wanted)


@pytest.mark.criteria("000-T12")
def test_the_row_of_the_world_is_the_whole_system():
    model, data = load(random_tree(5, nbody=9))
    data.qvel = np.random.default_rng(2).normal(size=model.nv)
    linvel, angmom = momenta(model, data)
    assert model.body_mass[0] == 0.0
    about = data.subtree_com[0]
    total, spin = np.zeros(3), np.zeros(3)
    for b in range(1, model.nbody):
        now = naive.motion(model, data, b, data.xipos[b])
        total += model.body_mass[b] * now.v
        spin += naive.inertia(model, data, b) @ now.w + np.cross(data.xipos[b] - about, model.body_mass[b] * now.v)
    relative(angmom[0], spin, "subtree_angmom[0]")
    relative(linvel[0] * model.body_mass.sum(), total, "momentum of all")


# masses


MASSLESS = """<mujoco><worldbody>
  <body name="root"><joint type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
    <body name="ring" pos="0 1 0"><joint type="slide" axis="0 1 0"/>
      <body name="weight" pos=".1 0 0"><inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/></body>
      <body name="tip" pos="0 0 1"><site name="tip" pos=".2 .1 .3"/><body name="empty" pos="1 0 0"/></body></body>
  </body></worldbody>
  <sensor><subtreelinvel name="ring" body="ring"/><subtreelinvel name="tip" body="tip"/><subtreeangmom name="spin" body="tip"/>
    <velocimeter name="v" site="tip"/></sensor></mujoco>"""


@pytest.mark.criteria("000-T13", "002-T8", "P-SUB-MASSLESS")
def test_a_massless_body_moves_with_what_it_carries_and_an_empty_subtree_rests():
    model, data = load(MASSLESS)
    data.qvel = 2.0, 5.0
    kt.forward(model, data)
    kt.rne_post_constraint(model, data)
    rows = {name: data.subtree_linvel[model.id("body", name)] for name in ("root", "ring", "weight", "tip", "empty")}
    close(rows["root"], [2, 3, 0], EXACT, "root: (2 * 0 + 3 * 5) / 5 along y")
    for name in ("ring", "weight"):
        close(rows[name], [2, 5, 0], EXACT, name)
    for name in ("tip", "empty"):
        close(rows[name], [0, 0, 0], 0.0, name)
        close(data.subtree_angmom[model.id("body", name)], [0, 0, 0], 0.0, name)
    close(reading(model, data, "v"), [2, 5, 0], EXACT, "a site on a massless body moves all the same")
    for name in ("subtree_com", "subtree_linvel", "subtree_angmom", "cacc", "cfrc_int", "sensordata"):
        assert np.isfinite(getattr(data, name)).all(), name


@pytest.mark.criteria("P-SUB-MASS")
def test_masses_of_subtrees_follow_the_masses_of_bodies():
    """com_pos adds them up anew and every pass reads the sum; the constant of the model waits for set_const."""
    model, data = load(random_tree(2, nbody=8))
    data.qvel = np.random.default_rng(3).normal(size=model.nv)
    kt.forward(model, data)
    before = model.body_subtreemass.copy()
    heavy = int(np.argmax(model.body_mass))
    model.body_mass[heavy] *= 3.0
    momenta(model, data)
    np.testing.assert_array_equal(model.body_subtreemass, before)
    for name, wanted in brute_force(model, data).items():
        relative(getattr(data, name), wanted, f"after the change: {name}")
    kt.set_const(model)
    relative(model.body_subtreemass, data.subtree_mass, "body_subtreemass after set_const")


# conservation


def flight(seed, h, seconds):
    """Drift of both rows of the whole system over a free flight of an articulated body."""
    source = random_tree(seed, nbody=6, joints=("ball", "hinge", "slide"))
    at = source.index("<body name=")
    carrier = '<body name="carrier"><freejoint/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>'
    model, data = load(source[:at] + carrier + source[at:].replace("</worldbody>", "</body></worldbody>"))
    model.opt.gravity[:] = 0.0
    model.opt.timestep, model.opt.integrator = h, kt.Integrator.RK4
    model.opt.disableflags |= kt.DisableBit.SPRING | kt.DisableBit.DAMPER
    data.qvel = 0.5 * np.random.default_rng(seed).normal(size=model.nv)
    start = np.concatenate([row[0] for row in momenta(model, data)])
    kt.step(model, data, nstep=round(seconds / h))
    return np.abs(np.concatenate([row[0] for row in momenta(model, data)]) - start).max()


@pytest.mark.criteria("P-SUB-FLIGHT")
@pytest.mark.parametrize("seed", range(3))
def test_one_body_in_free_flight_keeps_both_momenta(seed):
    model, data = load(FREE_BODY, timestep=1e-3, integrator=kt.Integrator.RK4)
    model.opt.gravity[:] = 0.0
    rng = np.random.default_rng(seed)
    data.qvel[:3] = rng.normal(size=3)
    spin = rng.normal(size=3)
    data.qvel[3:] = 2.0 * spin / np.linalg.norm(spin)
    start = np.concatenate([row[0] for row in momenta(model, data)])
    for _ in range(10):
        kt.step(model, data, nstep=100)
        now = np.concatenate([row[0] for row in momenta(model, data)])
        assert np.abs(now - start).max() < 1e-10, now - start


@pytest.mark.criteria("P-SUB-FLIGHT")
@pytest.mark.parametrize("seed", [2, 4, 5])
def test_the_drift_of_an_articulated_body_falls_as_the_fourth_power_of_the_step(seed):
    coarse, fine = flight(seed, 8e-3, 0.4), flight(seed, 4e-3, 0.4)
    assert coarse > 1e-10, "nothing left to measure"
    assert abs(np.log2(coarse / fine) - 4.0) < 0.3, f"{coarse} at 8 ms, {fine} at 4 ms"


# cost, and what sensors do not do


class Counting:
    """An array that counts how often it is read or written."""

    def __init__(self, array, count):
        self.array, self.count = array, count

    def __getitem__(self, at):
        self.count[0] += 1
        return self.array[at]

    def __setitem__(self, at, value):
        self.count[0] += 1
        self.array[at] = value


def accesses(nbody):
    """How many numbers of Model and Data one pass touches, run as plain Python on a chain."""
    body = '<body pos=".1 0 0"><joint axis="0 .6 .8"/><geom size=".1"/>'
    model, data = load(f"<mujoco><worldbody>{body * nbody}{'</body>' * nbody}</worldbody></mujoco>")
    kt.forward(model, data)
    m, d, count = model.record(), data.record(), [0]
    for record in (m, d):
        for name, value in vars(record).items():
            if isinstance(value, np.ndarray):
                setattr(record, name, Counting(value, count))
    kt.subtree_vel(m, d)
    return count[0]


@pytest.mark.criteria("000-AC7", "001-AC4", "P-SUB-COST")
def test_the_work_is_proportional_to_the_bodies():
    """Exactly: a chain of ten times the bodies, where a walk up the parents would cost a hundred times as much."""
    few, more, many = accesses(10), accesses(20), accesses(110)
    per_body = (more - few) / 10
    assert many - few == 100 * per_body, f"{few} for 10 bodies, {more} for 20, {many} for 110"


@pytest.mark.criteria("000-AC12", "000-T11", "P-SUB-SENSORS")
def test_sensors_read_the_rows_and_compute_nothing():
    """What is written into the fields by hand comes out of the sensors."""
    tree = random_tree(1, nbody=6)
    model, data = load(sensing(1, subtree_sensors(tree), nbody=6))
    kt.forward(model, data)
    for name in ("subtree_com", "subtree_linvel", "subtree_angmom"):
        getattr(data, name)[:] = np.random.default_rng(len(name)).normal(size=(model.nbody, 3))
    assert data.flg_subtreevel
    kt.sensor_pos(model, data)
    kt.sensor_vel(model, data)
    for name in ("subtree_com", "subtree_linvel", "subtree_angmom"):
        for b in range(model.nbody):
            sensor = f"{name.replace('_', '')}_{model.name('body', b)}"
            np.testing.assert_array_equal(reading(model, data, sensor), getattr(data, name)[b], err_msg=sensor)


@pytest.mark.criteria("000-AC13")
def test_no_second_way_to_momenta_is_left_in_the_sensors():
    """They read no mass, inertia or joint acceleration, and nothing in the product knows the slow references."""
    forbidden = {"body_mass", "body_inertia", "cinert", "qacc", "xanchor", "xaxis", "cdof"}
    functions = {
        f"{path.stem}.{node.name}": {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        for path in (SOURCE / "sensor").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    reads = {name: names & forbidden for name, names in functions.items() if names & forbidden}
    reads.pop("position.centre_inside", None)  # asks whether a body has mass at all
    assert "velocity.subtreelinvel" in functions and not reads, reads
    for path in SOURCE.rglob("*.py"):
        assert "naive" not in path.read_text(), path
