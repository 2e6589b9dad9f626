"""The lightest arm for a job: tubes and motors sized together by IPOPT, with mass properties of symbols in the dynamics.

Six sizes are free: radius and wall of two tubes, and the masses of the motors of shoulder and elbow, which give 10 N m a
kilogram. A heavier forearm needs a stronger elbow, which the shoulder has to carry. The arm must make a given motion with
2 kg in its hand, sag by no more than 2 mm, and keep its walls thick enough. A grid of plain models knows no better one.
"""

from typing import Any

import casadi as ca
import numpy as np

import kinetree as kt

MP = kt.MassProperties
UPPER, FOREARM, PAYLOAD = 0.5, 0.4, 2.0  # m, m, kg
DENSITY, YOUNG = 2700.0, 70e9  # aluminium: kg/m³, Pa
TORQUE, SAG, SLENDER, G = 10.0, 2e-3, 20.0, 9.81  # N m/kg of motor, m, radius to wall, m/s²
SAMPLES, DURATION = 41, 0.8

model = kt.load(f"""
<mujoco model="arm_of_tubes">
  <worldbody>
    <body name="turret">
      <joint axis="0 0 1"/>
      <geom type="cylinder" size=".05 .05" mass="1"/>
      <body name="upper">
        <joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 {UPPER}" size=".02"/>
        <body name="forearm" pos="0 0 {UPPER}" euler="0 0 30">
          <joint axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0 0 {FOREARM}" size=".02"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>""")


def tube(radius: Any, wall: Any, length: float) -> kt.MassProperties:
    """A tube from a joint along z; of numbers or of symbols."""
    return MP.tube(
        density=DENSITY, inner_radius=radius - wall, outer_radius=radius, length=length, cg=(0, 0, length / 2)
    )


def links(r1: Any, w1: Any, r2: Any, w2: Any, motor: Any) -> tuple[kt.MassProperties, kt.MassProperties]:
    """Upper arm with the motor of the elbow at its end, and forearm with the payload."""
    upper = tube(r1, w1, UPPER) + MP.solid_sphere(motor, radius=0.05, cg=(0, 0, UPPER))
    return upper, tube(r2, w2, FOREARM) + MP.solid_sphere(PAYLOAD, radius=0.04, cg=(0, 0, FOREARM))


def sag(r1: Any, w1: Any, r2: Any, w2: Any, motor: Any) -> Any:
    """How far the hand of the arm stretched out goes down under the weight [m]: two beams, end to end."""
    stiff1, stiff2 = (YOUNG * np.pi / 4 * (r**4 - (r - w) ** 4) for r, w in ((r1, w1), (r2, w2)))
    own1, own2 = (G * tube(*size).mass for size in ((r1, w1, UPPER), (r2, w2, FOREARM)))
    force, moment = own2 + G * (motor + PAYLOAD), FOREARM * (own2 / 2 + G * PAYLOAD)  # at the elbow
    down = UPPER**2 * (UPPER * (force / 3 + own1 / 8) + moment / 2) / stiff1
    slope = UPPER * (UPPER * (force / 2 + own1 / 6) + moment) / stiff1
    return down + FOREARM * slope + FOREARM**3 * (G * PAYLOAD / 3 + own2 / 8) / stiff2


# The motion: from hanging to stretched out to one side in 0.8 s, a polynomial with rest at both ends.
s = np.linspace(0, 1, SAMPLES)[:, None]
way = np.array([1.5, -1.6, 1.2])
Q = np.array([0, np.pi, -1.2]) + way * (10 * s**3 - 15 * s**4 + 6 * s**5)
V = way * (30 * s**2 - 60 * s**3 + 30 * s**4) / DURATION
A = way * (60 * s - 180 * s**2 + 120 * s**3) / DURATION**2

# The optimum: torques are functions of the sizes, through the mass properties.
size = ca.SX.sym("size", 6)  # r1, w1, r2, w2 [m], motors of elbow and shoulder [kg]
shape = [size[k] for k in range(5)]
upper, forearm = links(*shape)
sym = kt.symbolic(model).with_body("upper", upper, inputs=[size]).with_body("forearm", forearm, inputs=[size])
mass = upper.mass + forearm.mass - PAYLOAD + size[5]

opti = ca.Opti()
x = opti.variable(6)
torques = sym.inverse_dynamics.map(SAMPLES)(Q.T, V.T, A.T, ca.repmat(x, 1, SAMPLES))
total = ca.Function("total", [size], [mass, sag(*shape)])
opti.minimize(total(x)[0])
opti.subject_to(total(x)[1] / SAG <= 1)
opti.subject_to(opti.bounded(-TORQUE * x[4], torques[2, :].T, TORQUE * x[4]))
opti.subject_to(opti.bounded(-TORQUE * x[5], torques[1, :].T, TORQUE * x[5]))
opti.subject_to(opti.bounded(2, x[[0, 2]] / x[[1, 3]], SLENDER))
opti.subject_to(opti.bounded([0.005, 0.0005, 0.005, 0.0005, 0.1, 0.1], x, [0.06, 0.02, 0.06, 0.02, 10, 10]))
opti.set_initial(x, [0.03, 0.003, 0.03, 0.003, 2, 4])
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
found = opti.solve()
best = found.value(x)
lightest, sagging = (float(value) for value in total(best))
peaks = np.abs(found.value(torques)).max(axis=1)
print(
    f"IPOPT: {found.stats()['iter_count']} iterations, {lightest:.4f} kg without payload, sags by {1e3 * sagging:.3f} mm"
)
print("tubes of {:.1f} x {:.2f} mm and {:.1f} x {:.2f} mm (radius x wall)".format(*1e3 * best[:4]))
print(
    f"motors of {best[4]:.3f} kg for {peaks[2]:.2f} N m in the elbow, {best[5]:.3f} kg for {peaks[1]:.2f} N m in the shoulder"
)


def needed(trial: kt.Model) -> np.ndarray:
    """Torques of a plain model along the motion [N m], by the engine."""
    data, out = kt.Data(trial), []
    for data.qpos, data.qvel, data.qacc in zip(Q, V, A, strict=True):
        kt.inverse(trial, data)
        out.append(data.qfrc_inverse.copy())
    return np.array(out).T


set_body = kt.set_body_mass_properties
upper, forearm = links(*best[:5])
difference = np.abs(needed(set_body(set_body(model, "upper", upper), "forearm", forearm)) - found.value(torques)).max()
print(f"the engine needs the same torques: largest difference {difference:.1e} N m")

# Brute force: a grid of tubes around the optimum; the motors follow, first the elbow's, which the shoulder's has to carry.
tubes = [(f, f / slender) for f in np.linspace(0.85, 1.15, 6) for slender in (14.0, 17.0, SLENDER)]
masses = []
for r2, w2 in best[2] * np.array(tubes):
    half = set_body(model, "forearm", links(*best[:2], r2, w2, 0.0)[1])
    elbow = np.abs(needed(half)[2]).max() / TORQUE
    for r1, w1 in best[0] * np.array(tubes):
        if sag(r1, w1, r2, w2, elbow) <= SAG * (1 + 1e-6):
            upper, forearm = links(r1, w1, r2, w2, elbow)
            shoulder = np.abs(needed(set_body(half, "upper", upper))[1]).max() / TORQUE
            masses.append(upper.mass + forearm.mass - PAYLOAD + shoulder)
print(f"of {len(tubes) ** 2} arms of a grid {len(masses)} are stiff enough; the lightest has {min(masses):.4f} kg")

assert difference < 1e-9, "symbols and engine must agree"
assert sagging < SAG * (1 + 1e-5) and np.all(peaks[[2, 1]] < TORQUE * best[4:] * (1 + 1e-5)), "it must be up to the job"
assert lightest - 1e-4 < min(masses) < 1.02 * lightest, "no arm of the grid may be lighter, and one must come near"
print("ok")
