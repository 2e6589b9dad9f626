"""A character of ball joints tracks a motion: arms that swing, a spine that twists, legs that stride, in mid-air.

The reference is a trajectory of configurations, whose ball joints are quaternions; the controller takes the error on the
manifold, the shortest way round, so that nothing is lost to Euler angles. Torques stay within limits all the way.
"""

import numpy as np

import kinetree as kt

H, LIMIT = 1 / 60, 150.0
model = kt.load("ball_humanoid").replace(opt_timestep=H)
model.opt.disableflags = kt.DisableBit.CONSTRAINT | kt.DisableBit.GRAVITY  # floating, no floor


def swing(t: float) -> np.ndarray:
    """The configuration at a time: turns of each joint away from the T-pose, as a velocity that acts for a second."""
    phase, turn = 2 * np.pi * 0.7 * t, np.zeros(model.nv)

    def put(joint: str, *angles: float) -> None:
        first = int(model.joint(joint).dofadr[0])
        turn[first : first + len(angles)] = angles

    put("spine", 0.2 * np.sin(phase), 0.1 * np.cos(phase), 0.4 * np.sin(phase))
    put("neck", 0.0, 0.2 * np.sin(2 * phase), -0.3 * np.sin(phase))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        put(f"{side}_shoulder", 1.2 * sign, 0.9 * np.sin(phase) * sign, 0.3 * np.cos(phase))
        put(f"{side}_hip", 0.1 * np.sin(phase), 0.7 * np.sin(phase) * sign, 0.0)
        put(f"{side}_elbow", 0.8 + 0.5 * np.sin(phase) * sign)
        put(f"{side}_knee", 0.7 - 0.5 * np.cos(phase) * sign)
        put(f"{side}_ankle", 0.0, 0.2 * np.sin(phase), 0.0)
    return kt.integrate_pos(model, model.qpos0, turn, 1.0)


data = kt.Data(model)
data.qpos = swing(0.0)
spd = kt.StablePD(model, kp=3000.0, kd=100.0, mode="implicit", torque_limit=LIMIT)
print(spd)
errors, torques = [], []
for k in range(1, 5 * 60):
    torques.append(spd.step(data, swing(k * H)))
    errors.append(kt.differentiate_pos(model, 1.0, data.qpos, swing(k * H))[6:])
error = np.abs(errors[60:]).max()
print(
    f"after the first second no joint is off by more than {error:.3f} rad; largest torque {np.abs(torques).max():.0f} N m"
)

assert error < 0.15, "the character lost its motion"
assert np.abs(torques).max() <= LIMIT and not np.abs(torques)[:, :6].any(), "limits, and no hand of god on the root"
print("ok")
