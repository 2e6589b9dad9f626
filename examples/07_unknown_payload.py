"""What is in the hand? Mass, centre and inertia of a payload from torques and motion of an arm, measured with noise.

Joint torques are linear in the ten inertial parameters of a body, so least squares finds them, but at this noise mostly a
body that cannot exist. Log-Cholesky parameters find the best one that can. Both are tried on twenty recordings of a motion.
"""

import casadi as ca
import numpy as np

import kinetree as kt

MP = kt.MassProperties
model = kt.load("""
<mujoco model="four_axes">
  <option timestep="0.002"/>
  <default><joint damping="0.5" armature="0.02"/><geom type="capsule" size=".035" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="base" pos="0 0 .4">
      <joint axis="0 0 1"/>
      <geom fromto="0 0 0 .05 0 .1"/>
      <body name="upper" pos=".05 0 .1" euler="0 20 0">
        <joint axis="0 1 0"/>
        <geom fromto="0 0 0 .3 .03 0"/>
        <body name="forearm" pos=".3 .03 0" euler="30 0 0">
          <joint axis="0 1 0"/>
          <geom fromto="0 0 0 .25 0 .02"/>
          <body name="hand" pos=".25 0 .02" euler="0 0 25">
            <joint axis="1 0 .3"/>
            <geom fromto="0 0 0 .08 0 0" size=".02"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>""")
NOISE = {"q": 1e-4, "v": 1e-3, "a": 0.05, "tau": 0.1}  # rad, rad/s, rad/s², N m
THINNEST, RECORDINGS = 0.005, 20  # m: no radius of gyration is taken to be less
GAINS = np.array([80, 120, 80, 10]), np.array([8, 12, 8, 1])
payload = MP.solid_box(0.8, dx=0.16, dy=0.06, dz=0.03, cg=(0.12, 0.02, -0.03)) + MP.point_mass(0.3, (0.16, 0.05, 0.0))


def motion(rng: np.random.Generator) -> np.ndarray:
    """Ten seconds of the arm with its payload, following waves: q, v, a and tau at 20 Hz, each with one row for each time."""
    truth = kt.set_body_mass_properties(model, "hand", MP.from_body(model, "hand") + payload)
    height, phase = rng.uniform(0.3, 0.6, (4, 3)) / [1, 2, 3], rng.uniform(0, 2 * np.pi, (4, 3))
    data, out = kt.Data(truth), []
    for k in range(5000):
        target = (height * np.sin(2 * np.pi * np.array([0.5, 1.1, 1.9]) * data.time + phase)).sum(axis=1)
        data.qfrc_applied = GAINS[0] * (target - data.qpos) - GAINS[1] * data.qvel
        if k % 25 == 0:
            kt.forward(truth, data)
            out.append(np.array([data.qpos, data.qvel, data.qacc, data.qfrc_applied]))
        kt.step(truth, data)
    return np.array(out).transpose(1, 0, 2)


# What the arm alone does not explain is due to the payload: Y theta = rest, with the columns of Y that belong to the hand.
sym = kt.symbolic(model)
hand = sym.inertial_columns("hand")


def equations(q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y and rest of a recording, all times one below the other."""
    samples = list(zip(q, v, a, strict=True))
    rows = [sym.regressor(*sample).full()[:, hand] for sample in samples]
    arm = [sym.inverse_dynamics(*sample).full().ravel() for sample in samples]
    return np.concatenate(rows), np.concatenate(tau - np.array(arm))


# The fit: the sum of squares of Y theta - rest, up to a constant, on the triangle R of Y = Q R. IPOPT has exact derivatives.
x, R, z = ca.SX.sym("x", 10), ca.SX.sym("R", 10, 10), ca.SX.sym("z", 10)
theta = MP.from_log_cholesky(x).inertial_parameters()
problem = {"x": x, "p": ca.veccat(R, z), "f": ca.sumsqr(R @ theta - z) / NOISE["tau"] ** 2}
solver = ca.nlpsol("fit", "ipopt", problem, {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}})
start = MP.solid_sphere(1.0, radius=0.1).log_cholesky()  # one kilogram of anything
bounds = np.full(10, -np.inf)
bounds[1:4] = np.log(THINNEST)

rng = np.random.default_rng(3)
clean = motion(rng)
bodies: dict[str, list[kt.MassProperties]] = {"least squares": [], "log-Cholesky": []}
residuals = []
for _ in range(RECORDINGS):
    noisy = (
        series + sigma * rng.normal(size=series.shape) for series, sigma in zip(clean, NOISE.values(), strict=True)
    )
    Y, rest = equations(*noisy)
    Q, triangle = np.linalg.qr(Y)
    found = solver(x0=start, lbx=bounds, p=np.concatenate([triangle.ravel("F"), Q.T @ rest]))
    bodies["least squares"].append(MP.from_inertial_parameters(np.linalg.lstsq(Y, rest)[0]))
    bodies["log-Cholesky"].append(MP.from_log_cholesky(found["x"].full().ravel()))
    candidates = (bodies["least squares"][-1], bodies["log-Cholesky"][-1], payload)
    residuals.append([np.sqrt(np.mean((Y @ body.inertial_parameters() - rest) ** 2)) for body in candidates])
residuals = np.array(residuals)

print("largest errors in twenty recordings   mass      centre   inertia   bodies that can exist")
worst = {}
for name, found_bodies in bodies.items():
    fits = MP.stack(found_bodies)
    mass, centre = np.abs(fits.mass - payload.mass) / payload.mass, np.linalg.norm(fits.cg - payload.cg, axis=1)
    inertia = np.linalg.norm(fits.inertia - payload.inertia, axis=(1, 2)) / np.linalg.norm(payload.inertia)
    worst[name] = mass.max(), centre.max(), fits.is_physically_valid().sum()
    print(f"{name:34s} {mass.max():6.2%} {1e3 * centre.max():8.1f} mm {inertia.max():8.0%} {worst[name][2]:8d}")
print(
    "residual of torques [N m], mean: least squares {:.4f}, log-Cholesky {:.4f}, truth {:.4f}".format(
        *residuals.mean(axis=0)
    )
)
print(f"least squares once: {'; '.join(bodies['least squares'][0].problems())}")

mass, centre, possible = worst["log-Cholesky"]
assert mass < 0.01 and centre < 0.005, "mass within 1 %, centre within 5 mm"
assert possible == RECORDINGS > worst["least squares"][2], "least squares was expected to find bodies that cannot exist"
assert (np.diff(residuals) > -1e-9).all(), "the best of all, then the best that can exist, then the true one"
assert residuals[:, 1].max() < 1.15 * NOISE["tau"], "what is left must be noise"
print("ok")
