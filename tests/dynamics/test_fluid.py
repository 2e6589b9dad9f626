"""Forces of the medium: against MuJoCo in every term, and against the closed forms of spheres and boxes."""

from __future__ import annotations

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import FORCE, MACHINES
from kinetree.dynamics.fluid import fluid
from kinetree.dynamics.passive import passive
from kinetree.dynamics.velocity import com_vel
from kinetree.kernel import interpret, symbolic_record
from tests.dynamics.paired import MODELS, agree, paired, same

PASSIVE = MODELS / "passive.xml"
PI = np.pi
SIZES = {
    "sphere": "0.11",
    "capsule": "0.03 0.2",
    "cylinder": "0.05 0.15",
    "box": "0.1 0.2 0.03",
    "ellipsoid": "0.1 0.2 0.02",
}


def floating(geom: str, option: str, body: str = "") -> str:
    """One free body; its frame, centre of mass and geom frame coincide unless the geom says otherwise."""
    return f"""<mujoco model="floating"><compiler angle="radian"/><option {option}/><worldbody>
      <body {body}><freejoint/><geom {geom}/></body></worldbody></mujoco>"""


def moving(text: str, velocity: list[float]) -> kt.Data:
    """A free body that moves so (linear in the world, then angular in its own axes), with the medium's force."""
    model = kt.load(text)
    data = kt.Data(model)
    data.qvel[:] = velocity
    kt.fwd_position(model, data)
    com_vel(model, data)
    passive(model, data)
    return data


# against MuJoCo


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize(
    "coefficients", ["0.5 0.25 1.5 1 1", "1 0 0 0 0", "0 1 0 0 0", "0 0 1 0 0", "0 0 0 1 0", "0 0 0 0 1"]
)
def test_every_term_of_the_ellipsoid_model(shape, coefficients):
    geom = f'type="{shape}" size="{SIZES[shape]}" pos=".1 .2 -.1" euler=".4 .3 .2"'
    text = floating(f'{geom} fluidshape="ellipsoid" fluidcoef="{coefficients}"', 'wind=".4 .3 -.2"')
    for seed, (density, viscosity) in enumerate(((1.2, 0.3), (1.2, 0.0), (0.0, 0.3))):
        pair = paired(text, seed, speed=2.0, density=density, viscosity=viscosity)
        passive(pair.model, pair.ours)
        agree(pair, ["qfrc_fluid", "qfrc_passive"], FORCE, f"{shape} {coefficients} {density} {viscosity}")


@pytest.mark.parametrize("shape", SIZES)
def test_every_term_of_the_box_model(shape):
    text = floating(f'type="{shape}" size="{SIZES[shape]}" pos=".1 .2 -.1" euler=".4 .3 .2"', 'wind=".4 .3 -.2"')
    for seed, (density, viscosity) in enumerate(((1.2, 0.3), (1.2, 0.0), (0.0, 0.3))):
        pair = paired(text, seed, speed=2.0, density=density, viscosity=viscosity)
        passive(pair.model, pair.ours)
        agree(pair, ["qfrc_fluid", "qfrc_passive"], FORCE, f"{shape} {density} {viscosity}")


@pytest.mark.parametrize("speed", [0.0, 1e-12, 1e-6, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1.0])
def test_small_shapes_and_speeds(scale, speed):
    """No bound on a denominator may show, however small the insect and however slow."""
    size = " ".join(str(scale * s) for s in (0.1, 0.2, 0.02))
    text = floating(
        f'type="ellipsoid" size="{size}" mass="1" fluidshape="ellipsoid"', 'density="1000" viscosity="0.001"'
    )
    pair = paired(text, 3, speed=speed)
    passive(pair.model, pair.ours)
    wanted = pair.theirs.qfrc_fluid
    np.testing.assert_allclose(pair.ours.qfrc_fluid, wanted, rtol=1e-12, atol=1e-14 * np.abs(wanted).max())


@pytest.mark.parametrize("inertia", [1e-6, 1e-12, 3e-15])
@pytest.mark.parametrize("thin", [0.0, 1e-3])
def test_small_and_flat_inertia_boxes(inertia, thin):
    """A flat body's box has an edge of almost zero, which MuJoCo bounds from below."""
    moments = f"{inertia} {inertia} {inertia * (2 - thin)}"
    text = floating('size="0.1" mass="0"', 'density="1.2" viscosity=".3"').replace(
        "<freejoint/>", f'<freejoint/><inertial pos=".1 0 0" mass="1e-6" diaginertia="{moments}"/>'
    )
    pair = paired(text, 3)
    passive(pair.model, pair.ours)
    wanted = pair.theirs.qfrc_fluid
    np.testing.assert_allclose(pair.ours.qfrc_fluid, wanted, rtol=1e-12, atol=1e-14 * np.abs(wanted).max())


def test_negative_density_or_viscosity_does_as_mujoco():
    for density, viscosity in ((-1.0, 0.3), (1.0, -0.3)):
        pair = paired(PASSIVE, 1, density=density, viscosity=viscosity)
        passive(pair.model, pair.ours)
        agree(pair, ["qfrc_fluid"], FORCE, f"{density} {viscosity}")


# closed forms


def test_stokes_law_for_a_sphere_of_the_ellipsoid_model():
    """Without density: 6 pi mu r v and 8 pi mu r^3 w, exactly."""
    mu, r = 0.3, 0.2
    text = floating(f'size="{r}" fluidshape="ellipsoid"', f'viscosity="{mu}" gravity="0 0 0"')
    velocity = np.array([1.0, -2.0, 3.0, 0.5, 0.7, -0.2])
    wanted = -np.repeat([6 * PI * mu * r, 8 * PI * mu * r**3], 3) * velocity
    same(moving(text, list(velocity)).qfrc_fluid, wanted, 1e-14, "Stokes: dof ")


def test_drag_and_magnus_lift_of_a_sphere():
    """C_blunt rho pi r^2 |v| v against the motion, C_magnus rho V w x v across it; Kutta's lift needs an oblong shape."""
    rho, r, blunt, magnus = 1.3, 0.2, 0.4, 0.7
    coefficients = f'fluidcoef="{blunt} 0.9 0 5 {magnus}"'
    text = floating(f'size="{r}" fluidshape="ellipsoid" {coefficients}', f'density="{rho}" gravity="0 0 0"')
    v, w = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.7, -0.2])
    drag = -blunt * rho * PI * r**2 * np.linalg.norm(v) * v
    lift = magnus * rho * 4 / 3 * PI * r**3 * np.cross(w, v)
    added = rho * 0.5 * 4 / 3 * PI * r**3 * np.cross(v, w)  # half of the displaced medium moves along
    same(
        moving(text, [*v, *w]).qfrc_fluid[:3], drag + lift + added, 1e-4, "sphere: dof "
    )  # added mass is by quadrature


def test_kutta_lift_is_across_the_motion_and_drag_along_it():
    text = floating('type="ellipsoid" size=".1 .2 .02" fluidshape="ellipsoid" fluidcoef="0 0 0 1 0"', 'density="1.2"')
    data = moving(text, [1.0, 0.3, -0.6, 0.0, 0.0, 0.0])
    lift = data.qfrc_fluid[:3]
    assert np.linalg.norm(lift) > 1e-3
    assert abs(lift @ data.qvel[:3]) < 1e-14


def test_terminal_velocity_of_the_box_model():
    """Weight against 6 pi beta r_eq v: r_eq is half the edge of the box of the same inertia, 2/5 m r^2 for a sphere."""
    beta, r, g, mass = 0.4, 0.1, 9.81, 2.0
    half_edge = np.sqrt(3 / 2 * 2 / 5) * r
    speed = mass * g / (6 * PI * beta * half_edge)
    text = floating(f'size="{r}" mass="{mass}"', f'viscosity="{beta}" gravity="0 0 -{g}"')
    data = moving(text, [0.0, 0.0, -speed, 0.0, 0.0, 0.0])
    same(data.qfrc_passive, [0, 0, mass * g, 0, 0, 0], 1e-13, "terminal velocity: dof ")


def test_quadratic_drag_of_the_box_model():
    """A solid box is its own inertia box: -2 rho r_j r_k |v| v and -1/2 rho r_i (r_j^4 + r_k^4) |w| w."""
    rho, half = 1.7, np.array([0.3, 0.2, 0.1])
    text = floating('type="box" size="0.3 0.2 0.1"', f'density="{rho}" gravity="0 0 0"')
    v, w = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.7, -0.2])
    area, fourth = half.prod() / half, half**4
    force = -2 * rho * area * np.abs(v) * v
    torque = -0.5 * rho * half * (fourth.sum() - fourth) * np.abs(w) * w
    same(moving(text, [*v, *w]).qfrc_fluid, [*force, *torque], 1e-13, "box: dof ")


@pytest.mark.parametrize("fluidshape", ["none", "ellipsoid"])
def test_nothing_is_felt_when_drifting_with_the_wind(fluidshape):
    geom = f'type="box" size=".1 .2 .3" pos=".1 0 .1" fluidshape="{fluidshape}"'
    text = floating(geom, 'wind="1 -2 .5" density="1.2" viscosity=".1"')
    same(moving(text, [1.0, -2.0, 0.5, 0.0, 0.0, 0.0]).qfrc_fluid, np.zeros(6), 1e-16, "drifting: dof ")


def test_the_medium_only_takes_power_without_wind():
    for seed in range(5):
        pair = paired(PASSIVE, seed, speed=3.0, wind=[0.0, 0.0, 0.0])
        passive(pair.model, pair.ours)
        assert pair.ours.qfrc_fluid @ pair.ours.qvel < 0.0, seed


def test_a_static_or_massless_body_feels_nothing():
    text = """<mujoco><option density="10" viscosity="1" wind="3 2 1"/><worldbody><geom type="box" size="1 1 1"/>
      <body><geom size=".1"/></body><body mocap="true"><geom size=".1"/></body>
      <body><freejoint/><geom size=".1" fluidshape="ellipsoid" mass="0"/><body><geom size=".1" pos=".3 0 0"/></body></body>
    </worldbody></mujoco>"""
    pair = paired(text, 2)
    passive(pair.model, pair.ours)
    agree(pair, ["qfrc_fluid"], FORCE)
    alone = paired(text.replace('fluidshape="ellipsoid" mass="0"', 'mass="0"'), 2)
    passive(alone.model, alone.ours)
    same(pair.ours.qfrc_fluid, alone.ours.qfrc_fluid, 0.0, "with and without the massless shape: dof ")


# machines


@pytest.mark.parametrize(("dtype", "width"), [("float64", 8), ("float32", 16)])
def test_lanes_equal_floats(dtype, width):
    pair = paired(PASSIVE, 0)
    worlds = []
    for seed in range(width):
        other, world = paired(PASSIVE, seed), kt.Data(pair.model)
        for name, array in other.ours._arrays.items():
            world._arrays[name][...] = array
        worlds.append(world)
    lanes = lanes_of(pair.model, worlds, dtype)
    lanes.run(fluid)
    out = kt.Data(pair.model)
    for lane, world in enumerate(worlds):
        fluid(pair.model, world)
        lanes.store(lane, out)
        same(out.qfrc_fluid, world.qfrc_fluid, MACHINES[dtype], f"{dtype} lane {lane} qfrc_fluid")


def test_symbolic_derivative_by_velocity_equals_mujocos():
    """CasADi's derivative of the medium's force against central differences of MuJoCo's."""
    text = floating('type="ellipsoid" size=".1 .2 .05" pos=".1 .2 -.1" euler=".4 .3 .2" fluidshape="ellipsoid"',
                    'density="1.2" viscosity=".3" wind=".4 .3 -.2" gravity="0 0 0"')  # fmt: skip
    pair = paired(text, 4)
    mj, theirs, model, data = pair
    qvel = casadi.SX.sym("qvel", model.nv)
    record = symbolic_record(data, qvel=qvel)
    symbols = symbolic_record(model)
    interpret(com_vel, symbols, record)
    interpret(fluid, symbols, record)
    force = casadi.vertcat(*record.qfrc_fluid)
    slope = np.asarray(casadi.Function("f", [qvel], [casadi.jacobian(force, qvel)])(data.qvel))
    h, wanted = 1e-6, np.zeros((model.nv, model.nv))
    start = theirs.qvel.copy()
    for i in range(model.nv):
        for sign in (1, -1):
            theirs.qvel[:] = start
            theirs.qvel[i] += sign * h
            mujoco.mj_fwdVelocity(mj, theirs)
            wanted[:, i] += sign * theirs.qfrc_fluid / (2 * h)
    same(slope, wanted, 1e-8, "slope of qfrc_fluid ")


def test_symbolic_derivative_is_finite_at_rest():
    """Viscous resistance is linear: its slope at rest is Stokes' law, whatever the lengths that vanish there."""
    mu, r = 0.3, 0.2
    model = kt.load(floating(f'size="{r}" fluidshape="ellipsoid"', f'viscosity="{mu}" density="1.2"'))
    data = kt.Data(model)
    kt.fwd_position(model, data)
    qvel = casadi.SX.sym("qvel", model.nv)
    record = symbolic_record(data, qvel=qvel)
    interpret(com_vel, symbolic_record(model), record)
    interpret(fluid, symbolic_record(model), record)
    slope = casadi.jacobian(casadi.vertcat(*record.qfrc_fluid), qvel)
    got = np.asarray(casadi.Function("f", [qvel], [slope])(np.zeros(6)))
    same(got, -np.diag(np.repeat([6 * PI * mu * r, 8 * PI * mu * r**3], 3)), 1e-14, "slope at rest ")
