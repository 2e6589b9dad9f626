"""A cart swings up two poles, one on the end of the other: direct collocation with IPOPT on the dynamics of an MJCF model.

One motor, three degrees of freedom, bounds on motor and rail. Dynamics and derivatives are those of the engine, which then
has to follow. With the controls alone it loses the motion short of the top, since errors grow tenfold in a fifth of a
second there; with feedback, from derivatives of a step, it arrives and stays.
"""

import casadi as ca
import numpy as np

import kinetree as kt

model = kt.load("""
<mujoco model="two_poles">
  <option timestep="0.005" integrator="RK4"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" damping="0.2"/>
      <geom type="box" size=".1 .06 .04" mass="1"/>
      <body name="lower">
        <joint axis="0 1 0" damping="0.002"/>
        <geom type="capsule" fromto="0 0 0 0 0 .5" size=".015" mass=".15"/>
        <body name="upper" pos="0 0 .5">
          <joint axis="0 1 0" damping="0.002"/>
          <geom type="capsule" fromto="0 0 0 0 0 .5" size=".015" mass=".15"/>
          <site name="tip" pos="0 0 .5"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="slider" gear="20" ctrlrange="-1 1"/></actuator>
</mujoco>""")
DURATION, INTERVALS, RAIL = 2.5, 100, 1.0
H, STEPS, HOLD = DURATION / INTERVALS, round(DURATION / model.opt.timestep), 400
HANGING, UPRIGHT = np.array([0, np.pi, 0, 0, 0, 0]), np.zeros(6)

# Dynamics of the state x = (q, v) under the control u of the motor.
sym = kt.symbolic(model)
x, u = ca.MX.sym("x", 6), ca.MX.sym("u")
tau, _ = sym.actuation(x[:3], x[3:], [], u)
rate = ca.Function("rate", [x, u], [ca.vertcat(x[3:], sym.forward_dynamics(x[:3], x[3:], tau))])

# Hermite-Simpson: in each interval the state is a cubic, whose slope is right at both ends and in the middle.
x1, u1 = ca.MX.sym("x1", 6), ca.MX.sym("u1")
f0, f1 = rate(x, u), rate(x1, u1)
middle = rate((x + x1) / 2 + H / 8 * (f0 - f1), (u + u1) / 2)
defect = ca.Function("defect", [x, u, x1, u1], [x1 - x - H / 6 * (f0 + 4 * middle + f1)])

opti = ca.Opti()
X, U = opti.variable(6, INTERVALS + 1), opti.variable(1, INTERVALS + 1)
opti.minimize(H * ca.sumsqr(U) + ca.sumsqr(U[1:] - U[:-1]))
opti.subject_to(ca.vec(defect.map(INTERVALS)(X[:, :-1], U[:, :-1], X[:, 1:], U[:, 1:])) == 0)
opti.subject_to(X[:, 0] == HANGING)
opti.subject_to(X[:, -1] == UPRIGHT)
opti.subject_to(opti.bounded(-1, U, 1))
opti.subject_to(opti.bounded(-RAIL, X[0, :], RAIL))
opti.set_initial(X, np.linspace(HANGING, UPRIGHT, INTERVALS + 1).T)
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
found = opti.solve()
states, controls = found.value(X).T, found.value(U)
defects = np.abs(found.value(opti.g[: 6 * INTERVALS])).max()
print(f"IPOPT: {found.stats()['iter_count']} iterations, largest defect {defects:.1e}")
print(f"cart within {np.abs(states[:, 0]).max():.2f} m, motor within {np.abs(controls).max():.2f} of its range")

# Feedback for the way and for two seconds at the top: the Riccati equation, backwards, on derivatives of a step of the engine.
times, knots = model.opt.timestep * np.arange(STEPS + HOLD), H * np.arange(INTERVALS + 1)
motion = np.array([np.interp(times, knots, column) for column in states.T]).T
motor = np.interp(times + model.opt.timestep / 2, knots, controls, right=0.0)
value, gains = np.eye(6), np.zeros_like(motion)
for k in reversed(range(len(times))):
    A, B = (matrix.full() for matrix in sym.transition(motion[k, :3], motion[k, 3:], [], motor[k]))
    gains[k] = np.linalg.solve(1 + B.T @ value @ B, B.T @ value @ A)
    value = np.eye(6) + A.T @ value @ (A - B * gains[k])


def rollout(feedback: bool) -> np.ndarray:
    """States of the engine under the controls, the motor within its range."""
    data, out = kt.Data(model), []
    data.qpos = HANGING[:3]
    for k in range(len(times)):
        out.append(np.concatenate([data.qpos, data.qvel]))
        data.ctrl[0] = np.clip(motor[k] - feedback * gains[k] @ (out[-1] - motion[k]), -1, 1)
        kt.step(model, data)
    return np.array(out)


error = {}
print("largest error of cart [m] and angles [rad]   after 1 s   after 2 s  at the top  two seconds later")
for name, feedback in (("controls alone", False), ("with feedback", True)):
    off = np.abs(rollout(feedback) - motion)[:, :3].max(axis=1)
    error[name] = off[[200, 400, STEPS, -1]]
    print(f"{name:44s}" + "".join(f"{e:12.1e}" for e in error[name]))

assert defects < 1e-8 and np.abs(controls).max() <= 1 + 1e-6 and np.abs(states[:, 0]).max() <= RAIL + 1e-6
assert error["controls alone"][0] < 1e-2, "the engine must follow the motion while errors have not grown"
assert error["with feedback"][2:].max() < 0.02, "it must arrive at the top, and stay there"
print("ok")
