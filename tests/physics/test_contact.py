"""Laws of contact: friction angles, creep, stacks, momentum, energy, restitution."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

import kinetree as kt

G = 9.81
MU = 0.5
CONES = ("elliptic", "pyramidal")


def load(world: str, option: str = "", **flags: str) -> tuple[kt.Model, kt.Data]:
    """Model and data of a world; flags of the options by name."""
    flag = " ".join(f'{name}="{value}"' for name, value in flags.items())
    model = kt.load(f"<mujoco><option {option}><flag {flag}/></option><worldbody>{world}</worldbody></mujoco>")
    return model, kt.Data(model)


# a box on a slope


def on_slope(cone: str, slope: float, heading: float = 0.0, free: bool = True) -> tuple[kt.Model, kt.Data]:
    """A box on a floor under gravity that is tilted: slope is the tangent of the angle, heading where it points [deg].

    A box that is not free slides without turning.
    """
    joints = (
        "<freejoint/>"
        if free
        else "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    )
    model, data = load(
        f'<geom type="plane" size="9 9 1" friction="{MU} 0 0"/>'
        f'<body pos="0 0 .1">{joints}<geom type="box" size=".1 .1 .1" friction="{MU} 0 0"/></body>',
        f'cone="{cone}" tolerance="1e-12"',
    )
    angle, way = np.arctan(slope), np.radians(heading)
    model.opt.gravity[:] = G * np.array([np.sin(angle) * np.cos(way), np.sin(angle) * np.sin(way), -np.cos(angle)])
    return model, data


def travelled(model: kt.Model, data: kt.Data) -> tuple[float, float]:
    """Speed after two seconds, and how much it grew in one more."""
    kt.step(model, data, 1000)
    before = np.linalg.norm(data.qvel[:2])
    kt.step(model, data, 500)
    return before, np.linalg.norm(data.qvel[:2]) - before


@pytest.mark.parametrize("heading", [0.0, 22.5, 45.0])
def test_elliptic_friction_holds_up_to_its_angle_and_not_beyond(heading):
    """In every direction. Below the angle there is a creep of some millimetres per second, and it does not grow."""
    speed, growth = travelled(*on_slope("elliptic", 0.99 * MU, heading))
    assert 0 < speed < 0.003 and abs(growth) < 1e-4
    speed, growth = travelled(*on_slope("elliptic", 1.02 * MU, heading))
    assert speed > 0.05 and growth > 0.02


@pytest.mark.parametrize("heading, edge", [(0.0, MU), (45.0, MU / np.sqrt(2))])
def test_pyramidal_friction_holds_up_to_the_edge_of_its_diamond(heading, edge):
    """The cone is cut along its tangents: full friction along them, less by a square root of two between."""
    speed, growth = travelled(*on_slope("pyramidal", 0.97 * edge, heading))
    assert 0 < speed < 0.03 and growth < 0.01
    speed, growth = travelled(*on_slope("pyramidal", 1.03 * edge, heading))
    assert speed > 0.1 and growth > 0.05


@pytest.mark.parametrize("slope", [0.1, 0.3, 0.49])
@pytest.mark.parametrize("heading", [0.0, 30.0])
def test_creep_is_that_of_the_soft_model(slope, heading):
    """Sticking rows are dampers: at rest their force D B v carries the weight along the slope."""
    model, data = on_slope("elliptic", slope, heading, free=False)
    kt.step(model, data, 2000)
    across = [row for row in range(data.nefc) if row % 3]  # the first row of a contact is the normal
    damping = 0.5 * (data.efc_D[across] * data.efc_KBIP[across, 1]).sum()  # half of the rows are along each tangent
    weight = model.body_mass[1] * model.opt.gravity[:2]
    np.testing.assert_allclose(data.qvel[:2], weight / damping, rtol=1e-6)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("slope", [0.5 * MU, 0.69 * MU, 0.9 * MU, 1.1 * MU, 1.5 * MU])
@pytest.mark.parametrize("heading", [0.0, 45.0])
def test_creep_and_slide_equal_mujocos(cone, slope, heading):
    """A box that cannot turn, for two seconds: its motion is not chaotic."""
    model, data = on_slope(cone, slope, heading, free=False)
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    kt.step(model, data, 1000)
    mujoco.mj_step(mj, theirs, 1000)
    np.testing.assert_allclose(data.qvel, theirs.qvel, atol=1e-8)
    np.testing.assert_allclose(data.qpos, theirs.qpos, atol=1e-8)


@pytest.mark.parametrize("slope", [0.6, 0.8])
def test_a_sliding_box_is_braked_by_friction_times_weight(slope):
    """The force lies on the cone, and the acceleration over a second is g (sin - mu cos) but for the lift of a soft contact."""
    model, data = on_slope("elliptic", slope, free=False)
    kt.step(model, data, 500)
    before = data.qvel[0]
    for _ in range(500):
        kt.step(model, data)
        for k in range(data.ncon):
            force = kt.contact_force(model, data, k)
            assert np.linalg.norm(force[1:3]) == pytest.approx(MU * force[0], rel=1e-9)
    angle = np.arctan(slope)
    assert data.qvel[0] - before == pytest.approx(G * (np.sin(angle) - MU * np.cos(angle)), rel=0.03)


# a stack


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
def test_a_stack_of_ten_boxes_stays_for_ten_seconds(cone, solver):
    """It settles by less than a millimetre for each box, does not lean, and rests.

    CG and PGS stop short of the solution in every step: their boxes tremble, in MuJoCo too, and lean by millimetres.
    """
    aside = 1e-9 if solver == "Newton" else 0.02
    boxes = "".join(
        f'<body pos="0 0 {0.1 + 0.2 * k}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for k in range(10)
    )
    model, data = load('<geom type="plane" size="9 9 1"/>' + boxes, f'cone="{cone}" solver="{solver}"', energy="enable")
    start = data.qpos.reshape(-1, 7).copy()
    kt.forward(model, data)
    energy = data.energy.sum()
    for _ in range(50):
        kt.step(model, data, 100)
        moved = data.qpos.reshape(-1, 7) - start
        assert np.abs(moved[:, :2]).max() < aside, f"a box slid at {data.time:.1f} s"
        assert (moved[:, 2] <= 1e-3).all() and (moved[:, 2] > -0.001 * np.arange(1, 11)).all(), f"at {data.time:.1f} s"
        assert np.abs(moved[:, 3:]).max() < aside, f"a box turned at {data.time:.1f} s"
        assert data.energy.sum() <= energy and data.energy[1] < 0.05
    assert np.abs(data.qvel).max() < (1e-8 if solver == "Newton" else 0.05)


# momentum


SHAPES = {
    "sphere": 'type="sphere" size=".1"', "capsule": 'type="capsule" size=".06 .1"', "box": 'type="box" size=".1 .07 .12"',
    "cube": 'type="box" size=".1 .1 .1"',
}  # fmt: skip


def colliding(first: str, second: str, option: str = "", seed: int = 0) -> tuple[kt.Model, kt.Data]:
    """Four free bodies without gravity that fly at each other and spin."""
    kinds, rng = (first, second, first, second), np.random.default_rng(seed)
    world = "".join(
        f'<body pos="{x} {y} 0"><freejoint/><geom {SHAPES[kind]} condim="{condim}"/></body>'
        for kind, (x, y), condim in zip(
            kinds, ((0.3, 0.02), (-0.3, 0), (0.01, 0.35), (0, -0.3)), (3, 4, 6, 1), strict=True
        )
    )
    model, data = load(world, f'gravity="0 0 0" {option}')
    velocities = data.qvel.reshape(4, 6)
    velocities[:, :3] = -2.0 * data.qpos.reshape(4, 7)[:, :3]
    velocities[:, 3:] = rng.normal(size=(4, 3))
    return model, data


def momentum(model: kt.Model, data: kt.Data) -> np.ndarray:
    """Linear and angular momentum about the origin of all bodies."""
    kt.fwd_position(model, data)
    kt.fwd_velocity(model, data)
    kt.subtree_vel(model, data)
    mass = data.subtree_mass[0]
    linear = mass * data.subtree_linvel[0]
    return np.concatenate([linear, data.subtree_angmom[0] + np.cross(data.subtree_com[0], linear)])


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("first, second", list(itertools.combinations_with_replacement(("sphere", "cube"), 2)))
def test_momentum_is_conserved_in_collisions(first, second, cone):
    """To the last digits, for bodies whose inertia is the same about every axis: else turning itself costs accuracy.

    So does a solver that stops early, hence its tolerance.
    """
    model, data = colliding(first, second, f'cone="{cone}" tolerance="0"')
    before, touched = momentum(model, data), 0
    for _ in range(300):
        kt.step(model, data)
        touched += data.ncon > 0
    assert touched > 10
    np.testing.assert_allclose(momentum(model, data), before, atol=1e-12)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("first, second", list(itertools.combinations_with_replacement(SHAPES, 2)))
def test_contact_forces_are_equal_and_opposite(first, second, cone):
    """Whatever the shapes and the friction: no force and no moment about any point in all, in every step."""
    model, data = colliding(first, second, f'cone="{cone}"')
    touched, turned = 0, 0.0
    for _ in range(200):
        kt.step(model, data)
        if data.ncon:
            touched += 1
            force, torque, scale = np.zeros(3), np.zeros(3), 1.0 + np.abs(data.qfrc_constraint).max()
            for k in range(4):
                f, local = data.qfrc_constraint[6 * k : 6 * k + 3], data.qfrc_constraint[6 * k + 3 : 6 * k + 6]
                spin = data.xmat[k + 1].reshape(3, 3) @ local
                turned = max(turned, np.abs(spin).max())
                force += f
                torque += spin + np.cross(data.xpos[k + 1], f)
            assert np.abs(force).max() <= 1e-12 * scale and np.abs(torque).max() <= 1e-12 * scale
    assert touched > 5 and turned > 0.1, "nothing happened"


@pytest.mark.parametrize("first, second", [("box", "box"), ("capsule", "box"), ("capsule", "capsule")])
def test_momentum_of_any_shape_is_conserved_to_the_order_of_the_integrator(first, second):
    """The angular momentum drifts with the time step as that of a single spinning body does; the linear one does not."""
    drifts = []
    for h in (2e-3, 1e-3, 5e-4):
        model, data = colliding(first, second, f'timestep="{h}" tolerance="0"')
        before = momentum(model, data)
        kt.step(model, data, round(0.5 / h))
        change = momentum(model, data) - before
        assert np.abs(change[:3]).max() < 1e-12
        drifts.append(np.abs(change[3:]).max())
    assert drifts[0] < 1e-3 and drifts[2] < 0.5 * drifts[0], drifts


def test_a_floating_robot_that_hits_itself_keeps_its_momentum():
    """Internal constraints of every kind: contacts, limits, friction losses and an equality."""
    world = '<body><freejoint/><geom size=".2"/>'
    for k, x in enumerate((-0.3, 0.3)):
        world += (
            f'<body pos="{x} 0 0"><joint name="j{k}" axis="0 1 .2" range="-25 25" limited="true" frictionloss=".1"/>'
            f'<geom type="capsule" fromto="0 0 0 {-x / 2} 0 .4" size=".05"/></body>'
        )
    couple = '<equality><joint joint1="j0" joint2="j1" polycoef="0 -1 0 0 0" solref=".1 1"/></equality>'
    text = f'<mujoco><option gravity="0 0 0"/><worldbody>{world}</body></worldbody>{couple}</mujoco>'
    model = kt.load(text)
    data = kt.Data(model)
    data.qvel[:] = np.random.default_rng(3).normal(size=model.nv)
    kinds: set[int] = set()
    for k in range(400):
        if k % 200 == 0:
            data.qvel[-2:] = (-6.0, 6.0) if k == 0 else (6.0, -6.0)  # apart, into the limits, then against each other
        kt.step(model, data)
        kinds |= set(data.efc_type.tolist())
        scale = 1.0 + np.abs(data.qfrc_constraint).max()
        assert np.abs(data.qfrc_constraint[:6]).max() <= 1e-12 * scale, "a force from outside"
    assert len(kinds) == 4, kinds


# energy


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("cone", CONES)
def test_a_pile_at_rest_gains_no_energy(cone, integrator):
    """Mixed shapes fall into a heap: once they lie, the energy never rises again and the motion dies out."""
    rng = np.random.default_rng(5)
    world = '<geom type="plane" size="9 9 1"/>'
    for k in range(9):
        shape = list(SHAPES.values())[k % 4]
        place = 0.26 * np.array([k % 3 - 1, k // 3 - 1, 1.0]) + rng.uniform(-0.02, 0.02, 3)
        where = f"{place[0]} {place[1]} {place[2]}"
        world += f'<body pos="{where}"><freejoint/><geom {shape} condim="6" friction="1 .01 .01"/></body>'
    model, data = load(world, f'cone="{cone}" integrator="{integrator}" timestep=".001"', energy="enable")
    data.qvel = 0.3 * rng.normal(size=model.nv)  # so that none stays upright for a while, balanced to the last digit
    kt.step(model, data, 3000)
    lying = data.energy.sum()
    for _ in range(40):
        kt.step(model, data, 50)
        assert data.energy.sum() <= lying + 1e-4 * abs(lying), f"energy rises at {data.time}"
        lying = min(lying, data.energy.sum())
    assert data.energy[1] < 1e-3


@pytest.mark.parametrize("solref", [".02 1", ".02 .2", "-1000 0", "-1000 -5", "-1000 -60"])
@pytest.mark.parametrize("cone", CONES)
def test_a_ball_never_bounces_higher_than_it_fell(cone, solref):
    """Restitution falls as damping grows. Without any it is one, but for the time step: the ball leaves a step late."""
    model, data = load(
        f'<geom type="plane" size="9 9 1" solref="{solref}" priority="1"/>'
        '<body pos="0 0 .6"><freejoint/><geom size=".1"/></body>',
        f'cone="{cone}" timestep=".0005"',
    )
    fall, rise, bounced = 0.5, [0.0], False
    for _ in range(3000):
        kt.step(model, data)
        bounced = bounced or data.ncon > 0
        if bounced and data.qpos[2] > 0.1:
            rise.append(data.qpos[2] - 0.1)
    restitution = np.sqrt(max(rise) / fall)
    expected = {
        ".02 1": (0.0, 0.2),
        ".02 .2": (0.3, 0.7),
        "-1000 0": (0.99, 1.002),
        "-1000 -5": (0.7, 0.95),
        "-1000 -60": (0.0, 0.2),
    }
    low, high = expected[solref]
    assert low <= restitution <= high, restitution


def test_a_resting_body_carries_its_weight_without_energy():
    """Ten seconds on the floor: contact forces sum up to the weight, and nothing moves."""
    model, data = load(
        '<geom type="plane" size="9 9 1"/><body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .2 .1"/></body>',
        'tolerance="0"',
    )
    kt.step(model, data, 5000)
    total = sum(kt.contact_force(model, data, k)[0] for k in range(data.ncon))
    assert total == pytest.approx(G * model.body_mass[1], rel=1e-9)
    assert np.abs(data.qvel).max() < 1e-10


# single features, each with its law


@pytest.mark.parametrize("cone", CONES)
def test_a_belt_carries_a_box_at_its_speed(cone):
    """A surface that moves drags what lies on it until nothing slips, and no faster than friction lets it."""
    model, data = load(
        '<geom type="plane" size="9 9 1" surfacevel=".8 -.3 0 0 0 0" friction=".4 0 0"/>'
        '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .05" friction=".4 0 0"/></body>',
        f'cone="{cone}"',
    )
    data.qpos[2] = 0.05
    kt.step(model, data, 50)
    assert 0.01 < np.linalg.norm(data.qvel[:2]) <= 0.4 * G * 0.1 * 1.5
    kt.step(model, data, 1000)
    np.testing.assert_allclose(data.qvel[:3], [0.8, -0.3, 0.0], atol=1e-3)


@pytest.mark.parametrize("adhesion, falls", [(0.9, True), (1.1, False)])
def test_adhesion_holds_a_ball_below_a_ceiling_if_it_is_more_than_the_weight(adhesion, falls):
    weight = 0.5 * G
    model, data = load(
        '<geom type="plane" size="9 9 1" pos="0 0 1" zaxis="0 0 -1"/>'
        f'<body pos="0 0 .9"><freejoint/><geom size=".1" mass=".5" adhesion="{adhesion * weight}" gap=".02"/></body>'
    )
    kt.step(model, data, 1000)
    assert (data.qpos[2] < 0) == falls and (falls or abs(data.qpos[2] - 0.9) < 0.005)


@pytest.mark.parametrize("share, moves", [(0.98, False), (1.05, True)])
@pytest.mark.parametrize("kind", ["dof", "tendon"])
def test_friction_loss_holds_up_to_its_force(kind, share, moves):
    """A slide pushed by less than its loss creeps as the soft model says; by more it accelerates with the rest."""
    loss, mass = 2.0, 0.5
    own, other = (f'frictionloss="{loss}"', "") if kind == "dof" else ("", f'frictionloss="{loss}"')
    tendon = f'<tendon><fixed {other}><joint joint="j" coef="1"/></fixed></tendon>'
    model = kt.load(
        f'<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" type="slide" {own}/>'
        f'<geom size=".1" mass="{mass}"/></body></worldbody>{tendon}</mujoco>'
    )
    data = kt.Data(model)
    data.qfrc_applied[0] = share * loss
    kt.step(model, data, 1000)
    assert data.time == pytest.approx(2.0)
    if moves:
        assert data.qvel[0] == pytest.approx((share - 1) * loss / mass * 2.0, rel=0.1)
        assert data.efc_force[0] == pytest.approx(-loss)
    else:
        assert 0 < data.qvel[0] < 0.01 and data.qacc[0] == pytest.approx(0.0, abs=1e-6)
        assert data.qvel[0] == pytest.approx(share * loss / (data.efc_D[0] * data.efc_KBIP[0, 1]), rel=1e-6)


def test_a_limit_pushes_back_and_never_pulls():
    """A pendulum swings into its limit: the force is never negative, and rests where stiffness carries the weight."""
    model, data = load(
        '<body><joint axis="0 1 0" limited="true" range="-30 30" damping=".2"/><geom size=".05" mass="1" pos="0.5 0 0"/></body>'
    )
    for _ in range(3000):
        kt.step(model, data)
        assert (data.efc_force >= 0).all()
    over = data.qpos[0] - np.radians(30)
    assert 0 < over < 0.05 and data.nl == 1
    assert data.qfrc_constraint[0] == pytest.approx(-G * 0.5 * np.cos(data.qpos[0]), rel=1e-6)


def test_equalities_are_switched_at_run_time():
    """A weld holds a body up while data.eq_active says so, whatever the model said at first."""
    model = kt.load(
        '<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody>'
        '<equality><weld name="hold" body1="a" active="false"/></equality></mujoco>'
    )
    data = kt.Data(model)
    kt.step(model, data, 100)
    assert data.ne == 0 and data.qpos[2] == pytest.approx(1 - G * 0.2**2 / 2, rel=0.01)
    data.eq_active[0] = True
    kt.step(model, data, 2000)
    assert data.ne == 6 and abs(data.qpos[2] - 1) < 0.01 and np.abs(data.qvel).max() < 1e-6
    data.eq_active[model.id("equality", "hold")] = False
    kt.step(model, data, 100)
    assert data.ne == 0 and data.qpos[2] < 0.9


def test_noslip_stops_the_creep():
    """The sweeps without regularisation hold a box on a slope where the soft friction creeps."""
    speeds = []
    for sweeps in (0, 20):
        model, data = on_slope("elliptic", 0.5 * MU, free=False)
        model.opt.noslip_iterations = sweeps
        kt.step(model, data, 2000)
        speeds.append(data.qvel[0])
    assert 0 < speeds[0] < 0.005 and abs(speeds[1]) < 0.01 * speeds[0]


def test_impratio_makes_friction_harder_than_the_normal():
    """With it the creep falls in proportion, for elliptic cones."""
    speeds = []
    for ratio in (1.0, 10.0):
        model, data = on_slope("elliptic", 0.5 * MU, free=False)
        model.opt.impratio = ratio
        kt.step(model, data, 2000)
        speeds.append(data.qvel[0])
    assert speeds[1] == pytest.approx(speeds[0] / 10, rel=1e-3)


@pytest.mark.parametrize("condim, turns, rolls", [(3, True, True), (4, False, True), (6, False, False)])
def test_dimensions_of_contacts_stop_spin_and_rolling(condim, turns, rolls):
    model, data = load(
        '<geom type="plane" size="99 99 1"/><body pos="0 0 .1"><freejoint/>'
        f'<geom size=".1" condim="{condim}" friction="1 .05 .02"/></body>'
    )
    data.qvel[:] = 0.3, 0, 0, 0, 3, 5
    kt.step(model, data, 1500)
    spin, speed = (data.xmat[1].reshape(3, 3) @ data.qvel[3:])[2], np.linalg.norm(data.qvel[:2])
    assert (abs(spin) > 1) == turns and (speed > 0.1) == rolls, (spin, speed)


def test_a_contact_without_friction_slows_nothing():
    model, data = load(
        '<geom type="plane" size="99 99 1" condim="1"/><body pos="0 0 .1"><freejoint/><geom size=".1" condim="1"/></body>'
    )
    data.qvel[:] = 0.5, 0.2, 0, 1, 2, 3
    kt.step(model, data, 1000)
    np.testing.assert_allclose(data.qvel[:2], [0.5, 0.2], rtol=1e-12)
    assert np.linalg.norm(data.qvel[3:]) == pytest.approx(np.sqrt(14.0))
