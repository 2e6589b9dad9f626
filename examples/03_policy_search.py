"""A small seeded policy search: a whip of six hinges learns to draw a circle with its tip, twice a second.

The policy gives targets as a Fourier series in time; the cross-entropy method finds its coefficients. It has to come out the
same whether the controller solves densely or in linear time, and it has to fail with explicit PD, which at this step and these
gains cannot hold the whip at all. Takes some seconds on one core.
"""

import warnings

import numpy as np

import kinetree as kt

H, STEPS, JOINTS, WAVES = 1 / 60, 60, 6, 2
KP, KD = 400.0, 8.0
POPULATION, ELITE, ROUNDS = 32, 8, 20

link = (
    '<body name="link{k}" pos=".15 0 0"><joint axis="{axis}"/><geom type="capsule" fromto="0 0 0 .15 0 0" size=".02"/>'
)
bodies = "".join(link.format(k=k, axis=("0 1 0", "0 0 1")[k % 2]) for k in range(JOINTS)) + "</body>" * JOINTS
model = kt.load(
    f'<mujoco><option timestep="{H}"><flag contact="disable"/></option><worldbody>{bodies}</worldbody></mujoco>'
)
warnings.simplefilter("ignore", kt.SimulationWarning)
angle = 2 * np.pi * 2.0 * H * np.arange(STEPS)
circle = np.stack([np.full(STEPS, 0.7), 0.25 * np.cos(angle), 0.25 * np.sin(angle)], axis=1)
waves = np.concatenate([[np.ones(STEPS)], *([np.sin(k * angle), np.cos(k * angle)] for k in range(1, WAVES + 1))])


def cost(weights: np.ndarray, data: kt.Data, spd: kt.StablePD | None) -> float:
    """Mean distance of the tip from the circle [m], over a second from rest; a bad state costs a metre a step."""
    targets, total = (weights @ waves).T.copy(), 0.0
    data.reset()
    for k in range(STEPS):
        if spd is None:
            data.qfrc_applied = KP * (targets[k] - data.qpos) - KD * data.qvel
            kt.step(model, data)
        else:
            spd.step(data, targets[k])
        kt.kinematics(model, data)
        tip = data.xpos[-1] + 0.15 * data.xmat[-1].reshape(3, 3)[:, 0]
        total += min(1.0, float(np.linalg.norm(tip - circle[k]))) if not data.warning_number.any() else 1.0
    return total / STEPS


def learn(control: str) -> list[float]:
    """The mean cost of the elite, round by round."""
    rng, curve, data = np.random.default_rng(7), [], kt.Data(model)
    spd = None if control == "explicit" else kt.StablePD(model, KP, KD, solver=control, mode="implicit")
    mean, spread = np.zeros((JOINTS, len(waves))), np.full((JOINTS, len(waves)), 0.5)
    for _ in range(ROUNDS):
        trials = mean + spread * rng.normal(size=(POPULATION, *mean.shape))
        costs = np.array([cost(trial, data, spd) for trial in trials])
        best = np.argsort(costs, kind="stable")[:ELITE]
        mean, spread = trials[best].mean(axis=0), trials[best].std(axis=0) + 0.02
        curve.append(float(costs[best].mean()))
    return curve


curves = {control: learn(control) for control in ("dense", "maba", "explicit")}
print("round  " + "  ".join(f"{name:>8s}" for name in curves))
for k in range(0, ROUNDS, 5):
    print(f"{k:5d}  " + "  ".join(f"{curve[k]:8.4f}" for curve in curves.values()))
print("  end  " + "  ".join(f"{curve[-1]:8.4f}" for curve in curves.values()))

difference = np.abs(np.subtract(curves["dense"], curves["maba"])).max()
print(f"largest difference between the curves of dense and maba: {difference:.1e}")
assert difference < 1e-8, "both solvers must learn the same"
assert curves["maba"][-1] < 0.5 * curves["maba"][0], "stable PD must learn the circle"
assert curves["explicit"][-1] > 2 * curves["maba"][-1], "explicit PD was not expected to learn it"
print("ok")
