"""A chain of ten hinges held straight out against gravity, at the gains of an animator and the step of a film.

Explicit PD computes the torque from the pose as it is, and blows up. Stable PD looks one step ahead: in mode "spd" up to a
bound on the stiffness, in mode "implicit" at any.
"""

import warnings

import numpy as np

import kinetree as kt

LINKS, H = 10, 1 / 60
link = (
    '<body pos="0.2 0 0"><joint axis="{axis}" armature="0.001"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/>'
)
bodies = "".join(link.format(axis=("0 1 0", "0 0 1")[k % 2]) for k in range(LINKS)) + "</body>" * LINKS
model = kt.load(
    f'<mujoco><option timestep="{H}"><flag contact="disable"/></option><worldbody>{bodies}</worldbody></mujoco>'
)
warnings.simplefilter("ignore", kt.SimulationWarning)  # explicit PD goes bad, and is reset again and again


def sag(kp: float, kd: float, control: str) -> float:
    """How far the chain is from straight [rad] after four seconds; infinite if it went bad on the way."""
    data = kt.Data(model)
    if control == "explicit":
        for _ in range(240):
            data.qfrc_applied = kp * (0.0 - data.qpos) - kd * data.qvel
            kt.step(model, data)
    else:
        kt.StablePD(model, kp, kd, mode=control).step(data, np.zeros(model.nq), nstep=240)
    return np.inf if data.warning_number.any() else float(np.abs(data.qpos).max())


found = {}
print("largest angle after 4 s [rad]; inf: it went bad")
for kp in (1e2, 1e4, 1e6, 1e10):
    found[kp] = {control: sag(kp, 2 * np.sqrt(kp), control) for control in ("explicit", "spd", "implicit")}
    print(f"kp = {kp:7.0e}  " + "  ".join(f"{name} {value:8.1e}" for name, value in found[kp].items()))

assert all(row["explicit"] == np.inf for row in found.values()), "explicit PD was expected to blow up at these gains"
assert found[1e6]["implicit"] < 1e-3 and found[1e10]["implicit"] < 1e-7, "implicit must hold the chain at any stiffness"
assert found[1e4]["implicit"] < found[1e2]["implicit"], "stiffer gains must sag less"
print("ok")
