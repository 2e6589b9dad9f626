"""A character of ball joints stands on the floor at 60 steps a second, is pushed, and stands again.

Contacts are solved on the inertia that the controller gives the character, so stiff ankles do not chatter. Torque limits
hold for the motion that contacts leave.
"""

import numpy as np

import kinetree as kt

H, LIMIT = 1 / 60, 120.0
model = kt.load("ball_humanoid").replace(opt_timestep=H)
data = kt.Data(model)
data.reset_keyframe("stand")
spd = kt.StablePD(model, kp=3000.0, kd=300.0, mode="implicit", torque_limit=LIMIT)
spd.target = data.qpos
print(spd)

chest, weight = model.id("body", "chest"), 9.81 * model.body_mass.sum()
heights, leans, loads, torques = [], [], [], []
for k in range(10 * 60):
    pushed = 3.0 <= k * H < 3.2
    data.xfrc_applied[chest, :3] = (60.0, 20.0, 0.0) if pushed else 0.0
    torques.append(spd.step(data))
    up = kt.contact_forces(model, data)[:, 0].sum()  # on a level floor normals are vertical
    heights.append(data.qpos[2])
    leans.append(data.body("chest").xmat.reshape(3, 3)[2, 2])
    loads.append(up)
lean = np.degrees(np.arccos(np.clip(leans, -1, 1)))
print(f"pelvis between {min(heights):.3f} and {max(heights):.3f} m")
print(f"chest leans {lean.max():.1f} degrees at most, {lean[-1]:.1f} in the end")
print(f"the floor carries {loads[-1]:.0f} N of {weight:.0f} N; largest torque {np.abs(torques).max():.0f} N m")

assert min(heights) > 0.85 and lean[-1] < 5, "it fell"
assert abs(loads[-1] - weight) < 0.01 * weight, "at rest the floor carries the weight"
assert np.abs(torques).max() <= LIMIT and lean[180:240].max() > lean[170], "limits hold, and the push was felt"
print("ok")
