"""The discrete integrator against MuJoCo: metric, rows, accelerations and motions; and what follows from theory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData
from kinetree.conformance import tolerances
from kinetree.conformance.states import random_state
from kinetree.types import Integrator
from tests.dynamics.paired import Pair, paired, same
from tests.integrator.stepping import SOURCES, source_of

DISCRETE = int(Integrator.DISCRETE)
LAST_DIGITS = 1e-11  # of the metric: products of a few numbers, and of muscles and drag some divisions
TIGHT = {"tolerance": 1e-15, "ls_tolerance": 1e-15, "iterations": 200, "ls_iterations": 100}

MACHINE = (Path(__file__).parents[1] / "models" / "discrete.xml").read_text()


def machine(option: str = "", flags: str = "", shape: str = "none") -> mujoco.MjModel:
    """tests/models/discrete.xml with other options."""
    text = MACHINE.replace('timestep="0.01"/>', f'timestep="0.01" {option}><flag {flags}/></option>')
    return mujoco.MjModel.from_xml_string(text.replace('fluidshape="none"', f'fluidshape="{shape}"'))


def dense(mj: mujoco.MjModel, values: np.ndarray) -> np.ndarray:
    """A symmetric matrix in the pattern of M."""
    out = np.zeros((mj.nv, mj.nv))
    rows = np.repeat(np.arange(mj.nv), mj.M_rownnz)
    out[rows, mj.M_colind] = out[mj.M_colind, rows] = values
    return out


def our_metric(model: kt.Model, data: kt.Data) -> np.ndarray:
    """The metric, dense, with what its rows couple."""
    arrays = data._arrays
    n = int(arrays["nmetric"][0])
    out = dense(model, arrays["metric"][:n] if n else data.M)
    for row in range(int(arrays["nefc"][0]), int(arrays["nrow"][0])):
        first, count = arrays["efc_J_rowadr"][row], arrays["efc_J_rownnz"][row]
        j = np.zeros(model.nv)
        j[arrays["efc_J_colind"][first : first + count]] = arrays["efc_J"][first : first + count]
        out += arrays["efc_D"][row] * np.outer(j, j)
    return out


def their_metric(mj: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's, from the fields in which it lists its terms."""
    out = dense(mj, data.M)
    if data.efm_diag.size:
        out += np.diag(data.efm_diag)
    if data.efm_fluid.size:
        out += dense(mj, data.efm_fluid)
    tendons = np.zeros((mj.ntendon, mj.nv))
    mujoco.mju_sparse2dense(tendons, data.ten_J, mj.ten_J_rownnz, mj.ten_J_rowadr, mj.ten_J_colind)
    moments = np.zeros((mj.nout, mj.nv))
    mujoco.mju_sparse2dense(moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    for k in range(data.nefmT):
        out += data.efm_ts[k] * np.outer(tendons[data.efm_tid[k]], tendons[data.efm_tid[k]])
    for k in range(data.nefmA):
        i = data.efm_aid[k]
        rows = moments[mj.actuator_outadr[i] : mj.actuator_outadr[i] + mj.actuator_outnum[i]]
        out += data.efm_as[k] * rows.T @ rows
    return out


def their_shift(data: mujoco.MjData) -> np.ndarray:
    return np.zeros_like(data.qvel) + data.efm_c + data.efm_ca


def both(source: mujoco.MjModel, seed: int, steps: int = 0, **options: Any) -> Pair:
    """Both sides in one random state, or some steps of MuJoCo later, after `forward`."""
    pair = paired(source, seed, 0.5, **{**TIGHT, **options, "integrator": DISCRETE})
    mj, theirs, model, ours = pair
    for _ in range(steps):
        mujoco.mj_step(mj, theirs)
    adopt(pair)
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    return pair


def adopt(pair: Pair) -> None:
    """Put our side into MuJoCo's state."""
    for name in (
        "time",
        "qpos",
        "qvel",
        "act",
        "ctrl",
        "qacc_warmstart",
        "history",
        "plastic",
        "qfrc_applied",
        "xfrc_applied",
    ):
        if np.size(getattr(pair.theirs, name)):
            setattr(pair.ours, name, getattr(pair.theirs, name))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SOURCES)
def test_metric_and_shift_are_mujocos(name, seed):
    pair = both(source_of(name), seed)
    mj, theirs, model, ours = pair
    if not theirs.efm_diag.size:
        assert ours._arrays["nmetric"][0] == 0
        return
    scale = np.sqrt(np.outer(np.diag(their_metric(mj, theirs)), np.diag(their_metric(mj, theirs)))) + 1e-12
    error = np.abs(our_metric(model, ours) - their_metric(mj, theirs)) / scale
    assert error.max() < LAST_DIGITS, (
        f"{name}: metric differs by {error.max():.1e} at {np.argwhere(error == error.max())[0]}"
    )
    same(ours._arrays["metric_shift"][: mj.nv], their_shift(theirs), tolerances.FORCE, f"{name}: shift")
    same(ours.qacc_smooth, theirs.qacc_smooth, tolerances.ACCELERATION, f"{name}: qacc_smooth")


FLAGS = (
    "", 'spring="disable"', 'damper="disable"', 'spring="disable" damper="disable"', 'actuation="disable"',
    'eulerdamp="disable"', 'refsafe="disable"', 'diagexact="enable"', 'warmstart="disable"', 'island="disable"',
)  # fmt: skip
MEDIA = ("", 'density="100" viscosity=".5" wind="1 .3 0"')


@pytest.mark.parametrize("shape", ["none", "ellipsoid"])
@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("flags", FLAGS)
def test_machine_in_contact_equals_mujocos(flags, medium, shape):
    """Every term of the metric, rows of every kind, and the solution among them."""
    pair = both(machine(medium, flags, shape), 1, 60)
    mj, theirs, model, ours = pair
    assert theirs.nefc > 8, "nothing is in contact"
    same(our_metric(model, ours), their_metric(mj, theirs), LAST_DIGITS, "metric")
    for name in ("efc_R", "efc_D", "efc_diagA", "efc_KBIP", "efc_aref", "efc_vel"):
        same(np.ravel(getattr(ours, name)), np.ravel(getattr(theirs, name)), tolerances.CONSTRAINT_ROWS, name)
    for name in ("qacc_smooth", "qacc", "qfrc_constraint", "efc_force"):
        same(getattr(ours, name), getattr(theirs, name), tolerances.SOLVED, name)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
@pytest.mark.parametrize("noslip", [0, 100])
def test_every_solver_ends_where_mujocos_does(solver, cone, noslip):
    option = f'solver="{solver}" cone="{cone}" noslip_iterations="{noslip}" impratio="3"'
    pair = both(machine(option), 2, 60, iterations=3000 if solver != "Newton" else 100, noslip_tolerance=0.0)
    for name in ("qacc", "qfrc_constraint"):
        same(getattr(pair.ours, name), getattr(pair.theirs, name), 1e-5 if solver == "PGS" else tolerances.SOLVED, name)


@pytest.mark.parametrize("solver", ["Newton", "CG"])
def test_statistics_are_mujocos(solver):
    """Scale, preconditioner and rule of stopping: iterations are as many."""
    pair = both(machine(f'solver="{solver}"'), 3, 40, tolerance=1e-8, iterations=100)
    count = int(pair.theirs.solver_niter[0])
    assert list(pair.ours.solver_niter[:3]) == list(pair.theirs.solver_niter[:3])
    same(pair.ours.solver_gradient[:count], [s.gradient for s in pair.theirs.solver[:count]], 1e-4, "gradient")


SOLREFS = (
    ".02 1",
    ".009 1",
    ".0101 1",
    ".009 .5",
    ".003 2",
    "-2000 -50",
    "-200000 -500",
    "-1e7 -10",
    ".001 .1",
    "0 -50",
)


@pytest.mark.parametrize("refsafe", ["enable", "disable"])
@pytest.mark.parametrize("solref", SOLREFS)
def test_rows_at_the_end_of_the_step(solref, refsafe):
    """Springs of rows from soft to far stiffer than the step, in both formats, with and without the safety."""
    mj = machine(flags=f'refsafe="{refsafe}"')
    ref = np.array([float(x) for x in solref.split()])
    mj.geom_solref[:] = mj.jnt_solref[:] = mj.eq_solref[:] = mj.dof_solref[:] = ref
    pair = both(mj, 1, 40)  # a depth of many digits: of 1e-8 m rounding leaves seven
    for name in ("efc_KBIP", "efc_R", "efc_diagA", "efc_aref"):
        ours, theirs = np.ravel(getattr(pair.ours, name)), np.ravel(getattr(pair.theirs, name))
        assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-12), f"{name}: {ours - theirs}"


@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
def test_trajectory_in_contact(solver):
    """A hundred steps that begin alike; the motion among contacts loses digits."""
    pair = both(machine(f'solver="{solver}"'), 5, 30, iterations=1000)
    for k in range(100):
        mujoco.mj_step(pair.mj, pair.theirs)
        kt.step(pair.model, pair.ours)
        same(pair.ours.qpos, pair.theirs.qpos, tolerances.TRAJECTORY_CONTACT, f"qpos after step {k}")


def test_inverse_undoes_forward_and_equals_mujocos():
    """Inverse dynamics is of the step, with or without invdiscrete, with the forces of the actuators as they are."""
    for flags in ("", 'invdiscrete="enable"'):
        pair = both(machine(flags=flags), 4, 60)
        mj, theirs, model, ours = pair
        applied = ours.qfrc_applied + ours.qfrc_actuator
        xfrc = np.zeros(mj.nv)
        for b in range(1, mj.nbody):
            mujoco.mj_applyFT(
                mj, theirs, theirs.xfrc_applied[b, :3], theirs.xfrc_applied[b, 3:], theirs.xipos[b], b, xfrc
            )
        kt.inverse(model, ours)
        same(ours.qfrc_inverse, applied + xfrc, 1e-8, "qfrc_inverse against forces")
        theirs.qacc[:] = ours.qacc[:] = np.random.default_rng(0).normal(size=mj.nv)
        mujoco.mj_inverse(mj, theirs)
        kt.inverse(model, ours)
        same(ours.qfrc_inverse, theirs.qfrc_inverse, tolerances.INVERSE_CONTACT, "qfrc_inverse")


def test_islands_are_joined_by_the_metric():
    """A spring between two trees of which one is at a limit; another between two without rows; sleep, as MuJoCo's."""
    text = """<mujoco><option integrator="discrete" timestep=".01" sleep_tolerance=".01"><flag sleep="{}"/></option><worldbody>
    {}</worldbody><tendon>
    <fixed name="x" stiffness="5"><joint joint="j0" coef="1"/><joint joint="j1" coef="-.5"/></fixed>
    <fixed name="y" damping="1"><joint joint="j2" coef="1"/><joint joint="j3" coef=".5"/></fixed></tendon></mujoco>"""
    bodies = "".join(
        f'<body pos="{k} 0 0"><joint name="j{k}" axis="0 1 .2" damping=".5" {extra}/><geom size=".1" pos=".2 0 -.1"/></body>'
        for k, extra in enumerate(('range="-1 -.1" limited="true"', "", "", "", ""))
    )
    for sleep in ("disable", "enable"):
        mj = mujoco.MjModel.from_xml_string(text.format(sleep, bodies))
        mj.tree_sleep_policy[:] = 2 if sleep == "enable" else mj.tree_sleep_policy
        theirs, model = mujoco.MjData(mj), kt.load(mj)
        ours = kt.Data(model)
        for k in range(400):
            mujoco.mj_step(mj, theirs)
            kt.step(model, ours)
            assert ours.nisland == theirs.nisland and list(ours.tree_island) == list(theirs.tree_island), f"step {k}"
            assert list(ours.tree_asleep) == list(theirs.tree_asleep), f"step {k}"
            same(ours.qpos, theirs.qpos, 1e-9, f"qpos after step {k}")


def test_lone_bodies_spin_with_gyroscopic_forces():
    """A fast asymmetric body in free flight loses energy, and turns as MuJoCo's; explicit gyroscopic forces would gain."""
    text = """<mujoco><option integrator="{}" timestep=".01" gravity="0 0 0"><flag energy="enable"/></option><worldbody>
    <body><freejoint/><geom type="box" size=".1 .2 .4" density="1000"/></body></worldbody></mujoco>"""
    energies = {}
    for name in ("discrete", "Euler"):
        mj = mujoco.MjModel.from_xml_string(text.format(name))
        theirs, model = mujoco.MjData(mj), kt.load(mj)
        ours = kt.Data(model)
        theirs.qvel[3:] = ours.qvel[3:] = 5.0, 40.0, 9.0
        found = []
        for _ in range(60):
            mujoco.mj_step(mj, theirs)
            kt.step(model, ours)
            found.append(float(ours.energy[1]))
        energies[name] = np.array(found)
        if name == "discrete":
            same(ours.qpos, theirs.qpos, 1e-9, "qpos")
    assert (np.diff(energies["discrete"]) < 1e-9).all() and energies["Euler"][-1] > 1.01 * energies["Euler"][0]


def spring(stiffness: float, h: float, integrator: Integrator, servo: bool = False) -> kt.Model:
    """A mass of 1 kg on a spring, or under a position servo of that gain."""
    held = f'<actuator><position joint="x" kp="{stiffness}"/></actuator>' if servo else ""
    model = kt.load(f"""<mujoco><option gravity="0 0 0" timestep="{h}"/><worldbody><body>
    <joint name="x" type="slide" stiffness="{0.0 if servo else stiffness}"/><geom size=".1" mass="1"/></body></worldbody>{held}
    </mujoco>""")
    model.opt.integrator = integrator
    return model


def stays(stiffness: float, h: float, integrator: Integrator, servo: bool = False) -> bool:
    """Whether the mass stays within what it was displaced by, tenfold."""
    model = spring(stiffness, h, integrator, servo)
    data = kt.Data(model)
    data.qpos[0] = 1.0
    for _ in range(400):
        kt.step(model, data)
        if not abs(data.qpos[0]) < 10.0:
            return False
    return True


def limit(h: float, integrator: Integrator, servo: bool) -> float:
    """The largest stable stiffness, by bisection of its logarithm."""
    low, high = 0.0, 30.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stays(np.exp(middle), h, integrator, servo) else (low, middle)
    return float(np.exp(low))


@pytest.mark.parametrize("servo", [False, True], ids=["spring", "servo"])
def test_stability_is_that_of_backward_euler(servo):
    """Without damping semi-implicit steps are stable up to h = 2 / omega; discrete ones for any stiffness."""
    for h in (0.001, 0.02):
        assert abs(limit(h, Integrator.IMPLICITFAST, servo) * h * h / 4.0 - 1.0) < 2e-2
        for stiffness in (1e3, 1e8, 1e14):
            assert stays(stiffness, h, Integrator.DISCRETE, servo)


def test_spring_moves_as_backward_euler():
    """Position and velocity of a spring follow (1 + h^2 k) v' = v - h k x, x' = x + h v', step by step."""
    k, h = 300.0, 0.03
    model = spring(k, h, Integrator.DISCRETE)
    data = kt.Data(model)
    data.qpos[0] = x = 0.7
    v, energy = 0.0, 0.5 * k * x * x
    for _ in range(50):
        kt.step(model, data)
        v = (v - h * k * x) / (1.0 + h * h * k)
        x += h * v
        assert abs(data.qvel[0] - v) < 1e-12 * k and abs(data.qpos[0] - x) < 1e-12
        assert 0.5 * v * v + 0.5 * k * x * x <= energy * (1.0 + 1e-12)  # backward Euler never gains energy
        energy = 0.5 * v * v + 0.5 * k * x * x


def test_momentum_of_free_systems_is_kept():
    """What bodies do to each other by tendons and actuators is equal and opposite, also at the end of the step."""
    mj = mujoco.MjModel.from_xml_string("""<mujoco><option integrator="discrete" gravity="0 0 0" timestep=".01"/><worldbody>
    <body pos="0 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
    <geom size=".1" mass="1"/><site name="a"/></body>
    <body pos="1 .3 .2"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
    <geom size=".1" mass="3"/><site name="b"/></body></worldbody>
    <tendon><spatial name="t" stiffness="1e5" damping="10" springlength=".5"><site site="a"/><site site="b"/></spatial></tendon>
    <actuator><position tendon="t" kp="1e4"/></actuator></mujoco>""")
    model = kt.load(mj)
    data = kt.Data(model)
    data.qvel = [0.3, -0.2, 0.5, 0.1, 0.4, -0.3]
    mass = np.array([1.0, 3.0])
    before = mass @ np.reshape(data.qvel, (2, 3))
    for _ in range(200):
        kt.step(model, data)
    same(mass @ np.reshape(data.qvel, (2, 3)), before, 1e-10, "momentum")


def test_humanoid_under_stiff_servos_stands():
    """The bundled humanoid, held by position servos of kp 1e5 at 1/60 s, stands for ten seconds."""
    model = stiff_humanoid(1e5)
    data = kt.Data(model)
    height = float(data.qpos[2])
    for _ in range(600):
        kt.step(model, data)
    assert np.isfinite(data.qpos).all() and not data.warning_number.any()
    assert data.qpos[2] > height - 0.1, f"the root fell from {height} to {data.qpos[2]}"


def stiff_humanoid(kp: float) -> kt.Model:
    """The bundled humanoid with servos of that gain on every joint, at 1/60 s."""
    spec = mujoco.MjSpec.from_file(str(kt.models.path("humanoid")))
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for joint in spec.joints:
        if joint.type != mujoco.mjtJoint.mjJNT_FREE:
            servo = spec.add_actuator(name=f"hold_{joint.name}", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=kp)
    spec.option.timestep, spec.option.integrator = 1.0 / 60.0, mujoco.mjtIntegrator.mjINT_DISCRETE
    return kt.load(spec.compile())


@pytest.mark.parametrize("real, width, tolerance", [("float64", 8, 1e-7), ("float32", 16, 2e-2)])
def test_lanes_take_the_same_steps(real, width, tolerance):
    """Worlds in states of their own, some of them in contact, on lanes and alone."""
    mj = machine()
    model, rng = kt.load(mj), np.random.default_rng(0)
    lanes, alone = LaneData(model, width, real), [kt.Data(model) for _ in range(width)]
    for lane, data in enumerate(alone):
        theirs = random_state(mj, rng)
        data.qpos, data.qvel, data.ctrl = theirs.qpos, 0.3 * theirs.qvel, theirs.ctrl
        lanes.load(lane, data)
    lanes.step(20)
    out = kt.Data(model)
    for lane, data in enumerate(alone):
        kt.step(model, data, 20)
        lanes.store(lane, out)
        same(out.qpos, data.qpos, tolerance, f"{real} qpos of world {lane}")


def test_pgs_leaves_tendons_and_actuators_explicit():
    pair = both(machine('solver="PGS"'), 0)
    assert pair.theirs.nefmT == pair.theirs.nefmA == 0
    assert pair.ours._arrays["nrow"][0] == pair.ours._arrays["nefc"][0]
    same(our_metric(pair.model, pair.ours), their_metric(pair.mj, pair.theirs), LAST_DIGITS, "metric")


ADHERING = """<mujoco><option integrator="discrete" timestep=".005" cone="{cone}" solver="{solver}"/><worldbody>
    <geom type="plane" size="3 3 1"/><body pos="0 0 .099"><freejoint/><geom size=".1"/></body>
    <body pos="1 0 .099"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body name="h" pos="1 0 .24"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size=".06"/></body>
    <body pos="0 0 3"><freejoint/><geom type="box" size=".1 .2 .4"/></body></worldbody>
    <actuator><general body="h" biastype="affine" biasprm="0 0 -50" ctrlrange="0 1"/></actuator></mujoco>"""


@pytest.mark.parametrize("flags", [0, kt.DisableBit.ISLAND], ids=["islands", "whole"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("solver", ["Newton", "CG"])
def test_adhesion_couples_only_what_it_pulls_on(solver, cone, flags):
    """The moment of a body lists every dof: its zeros put it in no island, and end no lone body's flight."""
    mj = mujoco.MjModel.from_xml_string(ADHERING.format(cone=cone, solver=solver))
    mj.opt.disableflags, mj.opt.tolerance, mj.opt.iterations = int(flags), 0.0, 300
    theirs, model = mujoco.MjData(mj), kt.load(mj)
    ours = kt.Data(model)
    theirs.qvel[:14] = 0.5 * np.random.default_rng(0).normal(size=14)
    theirs.qvel[14 + 3 :] = 5.0, 40.0, 9.0  # of the last body, which flies alone
    ours.qvel = theirs.qvel
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    assert theirs.nefmA == 1 and ours.nisland == theirs.nisland and list(ours.tree_island) == list(theirs.tree_island)
    same(our_metric(model, ours), their_metric(mj, theirs), LAST_DIGITS, "metric")
    same(ours.qacc, theirs.qacc, tolerances.SOLVED, "qacc")


@pytest.mark.parametrize("solver", ["Newton", "CG"])
def test_adhesion_across_a_gap_makes_one_island_of_two(solver):
    """No row joins them but that of the actuator: there MuJoCo stops, and runs with islands disabled."""
    mj = mujoco.MjModel.from_xml_string(f"""<mujoco><option integrator="discrete" timestep=".005" solver="{solver}"
        gravity="0 0 0" tolerance="0" iterations="300"/><worldbody><geom type="plane" size="3 3 1"/>
        <body name="a" pos="0 0 .099"><freejoint/><geom type="box" size=".1 .1 .1" gap=".02"/></body>
        <body pos=".21 0 .099"><freejoint/><geom type="box" size=".1 .1 .1" gap=".02"/></body>
        <body pos="2 0 .099"><freejoint/><geom size=".1"/></body></worldbody>
        <actuator><general body="a" biastype="affine" biasprm="0 0 -500"/></actuator></mujoco>""")
    mj.opt.disableflags |= kt.DisableBit.ISLAND
    theirs, model = mujoco.MjData(mj), kt.load(mj)
    model.opt.disableflags = 0
    ours = kt.Data(model)
    theirs.qvel[:] = ours.qvel[:] = np.random.default_rng(0).normal(size=mj.nv)
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    assert list(ours.tree_island) == [0, 0, 1]
    same(ours.qacc, theirs.qacc, tolerances.SOLVED, "qacc")


def switched() -> tuple[mujoco.MjModel, mujoco.MjData, kt.Model, kt.Data]:
    """Springs, dampers, a limit that is exceeded and a contact, both sides in the same state; nothing is coupled."""
    mj = mujoco.MjModel.from_xml_string("""<mujoco><option integrator="discrete" timestep=".005"/><worldbody>
        <geom type="plane" size="3 3 1"/><body pos="0 0 .099"><freejoint/><geom size=".1"/></body>
        <body pos="1 0 .3"><joint damping="3" stiffness="300" axis="0 1 .2" range="-1 .05" limited="true"/>
        <geom size=".1" pos=".3 0 0"/><body pos=".3 0 0"><joint axis="1 .3 0" damping="2"/><geom size=".05" pos="0 .2 .1"/>
        </body></body></worldbody></mujoco>""")
    for name, value in TIGHT.items():
        setattr(mj.opt, name, value)
    theirs, model = mujoco.MjData(mj), kt.load(mj)
    ours = kt.Data(model)
    theirs.qpos[7] = 0.1
    theirs.qvel[:] = np.random.default_rng(0).normal(size=mj.nv)
    ours.qpos, ours.qvel = theirs.qpos, theirs.qvel
    return mj, theirs, model, ours


@pytest.mark.parametrize("callback", [None, lambda model, data: None], ids=["alone", "with a callback"])
def test_switched_on_between_the_halves_of_a_step(callback):
    """There is no room for the metric yet; with callbacks it is made on the spot."""
    mj, theirs, model, ours = switched()
    model.callbacks.control = callback
    model.opt.integrator = Integrator.EULER
    kt.step1(model, ours)
    model.opt.integrator = Integrator.DISCRETE
    kt.step2(model, ours)
    mujoco.mj_step(mj, theirs)
    assert theirs.nefc > 4
    same(ours.efc_R, theirs.efc_R, tolerances.CONSTRAINT_ROWS, "efc_R")
    same(ours.qvel, theirs.qvel, tolerances.SOLVED, "qvel")


def test_switched_off_after_a_forward_pass():
    """The metric stays that of the positions, for the smooth acceleration and the solver alike, as in MuJoCo."""
    mj, theirs, model, ours = switched()
    mujoco.mj_forward(mj, theirs)
    kt.forward(model, ours)
    mj.opt.integrator = model.opt.integrator = int(Integrator.EULER)
    mujoco.mj_forwardSkip(mj, theirs, mujoco.mjtStage.mjSTAGE_VEL, 0)
    kt.forward_skip(model, ours, kt.Stage.VEL)
    same(ours.qacc_smooth, theirs.qacc_smooth, tolerances.SOLVED, "qacc_smooth")
    same(ours.qacc, theirs.qacc, tolerances.SOLVED, "qacc")


TENDONS = """<mujoco><option integrator="discrete" timestep=".02"/><worldbody><body><joint name="a" axis="0 1 .2"/>
    <geom size=".1" pos=".3 0 0"/><body pos=".3 0 0"><joint name="b" axis="1 .3 0"/><geom size=".1" pos="0 .3 0"/>
    <body pos="0 .3 0"><joint name="c" axis="0 .4 1" pos=".1 0 0"/><geom size=".1" pos=".2 0 .3"/></body></body></body>
    </worldbody><tendon><fixed name="x" stiffness="{}"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed>
    <fixed name="y"><joint joint="b" coef="1"/><joint joint="c" coef="-1.5"/></fixed></tendon>
    <actuator><position tendon="x" kp="300" kv="2" group="3"/><position tendon="y" kp="500" kv="5"/></actuator></mujoco>"""


def stiffen(model: Any, data: Any) -> None:
    model.tendon_stiffness[0] = 700.0


def disable(model: Any, data: Any) -> None:
    model.opt.disableactuator = 1 << 3


@pytest.mark.parametrize("stiffness, control", [(0, stiffen), (200, disable)])
def test_controls_that_change_what_is_implicit(stiffness, control):
    """After positions rows are given: what has none stays out, its shift too, and the others are not mistaken for it."""
    mj = mujoco.MjModel.from_xml_string(TENDONS.format(stiffness))
    theirs, model = mujoco.MjData(mj), kt.load(mj)
    mj.opt.tolerance = model.opt.tolerance = 1e-14
    ours = kt.Data(model)
    theirs.qpos[:] = ours.qpos[:] = 0.2, -0.3, 0.4
    theirs.qvel[:] = ours.qvel[:] = 1.0, -2.0, 3.0
    model.callbacks.control = control
    mujoco.set_mjcb_control(control)
    try:
        mujoco.mj_forward(mj, theirs)
    finally:
        mujoco.set_mjcb_control(None)
    kt.forward(model, ours)
    same(our_metric(model, ours), their_metric(mj, theirs), LAST_DIGITS, "metric")
    same(ours._arrays["metric_shift"][: mj.nv], their_shift(theirs), tolerances.FORCE, "shift")
    same(ours.qacc, theirs.qacc, tolerances.SOLVED, "qacc")
