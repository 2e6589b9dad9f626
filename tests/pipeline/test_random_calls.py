"""Everything at once: random calls on both sides, with the same flags and fields after each."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.states import copy_state
from tests.pipeline.both import (
    ENERGIES,
    ENERGY,
    FORCES,
    HARMLESS,
    INTEGRATORS,
    SENSOR,
    SUBTREE,
    Both,
    close,
    run,
    tree,
)

CALLS = {  # name -> ours, theirs, arguments
    "forward": (kt.forward, mujoco.mj_forward),
    "step": (kt.step, mujoco.mj_step),
    "step1": (kt.step1, mujoco.mj_step1),
    "inverse": (kt.inverse, mujoco.mj_inverse),
    "forward_skip(sensors)": (kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.NONE, True),
    "inverse_skip(sensors)": (kt.inverse_skip, mujoco.mj_inverseSkip, kt.Stage.NONE, True),
    "reset": (lambda m, d: d.reset(), mujoco.mj_resetData),
    "step2": (kt.step2, mujoco.mj_step2),
    "forward_skip(pos)": (kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.POS, False),
    "forward_skip(vel)": (kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.VEL, False),
    "forward_skip(vel, sensors)": (kt.forward_skip, mujoco.mj_forwardSkip, kt.Stage.VEL, True),
    "inverse_skip(pos)": (kt.inverse_skip, mujoco.mj_inverseSkip, kt.Stage.POS, False),
    "inverse_skip(vel)": (kt.inverse_skip, mujoco.mj_inverseSkip, kt.Stage.VEL, False),
    "fwd_position": (kt.fwd_position, mujoco.mj_fwdPosition),
    "fwd_velocity": (kt.fwd_velocity, mujoco.mj_fwdVelocity),
    "sensor_pos": (kt.sensor_pos, mujoco.mj_sensorPos),
    "sensor_vel": (kt.sensor_vel, mujoco.mj_sensorVel),
    "sensor_acc": (kt.sensor_acc, mujoco.mj_sensorAcc),
    "energy_pos": (kt.energy_pos, mujoco.mj_energyPos),
    "energy_vel": (kt.energy_vel, mujoco.mj_energyVel),
    "subtree_vel": (kt.subtree_vel, mujoco.mj_subtreeVel),
    "rne_post_constraint": (kt.rne_post_constraint, mujoco.mj_rnePostConstraint),
    "compare_fwd_inv": (kt.compare_fwd_inv, mujoco.mj_compareFwdInv),
}
FROM_POSITIONS = list(CALLS)[:6]  # they run the position and velocity stages, so they may follow a reset
FROM_VELOCITIES = ["forward_skip(pos)", "inverse_skip(pos)", "fwd_velocity"]
OF_POSITIONS = [*FROM_POSITIONS, "fwd_position"]
AFTER_POSITIONS = FROM_POSITIONS + FROM_VELOCITIES + ["reset"]
PARTS = (SUBTREE, FORCES, ENERGIES, HARMLESS, '<user dim="2" needstage="pos"/>', '<user dim="2" needstage="vel"/>',
         '<user dim="2" needstage="acc"/>', '<subtreecom body="b2"/>', "<e_kinetic/>", "<e_potential/>",
         '<frameangacc objtype="body" objname="b3"/>', '<torque site="s1"/>')  # fmt: skip
PLAIN = ("energy", "sensordata", "subtree_linvel", "subtree_angmom")
MOVED = ("cacc", "cfrc_ext", "cfrc_int")


@pytest.mark.criteria(
    "P-LAZY-MATRIX", "P-STAGE-SKIP", "P-LAZY-ENERGYPOS", "P-LAZY-ENERGYVEL", "P-LAZY-SUBTREE", "P-LAZY-RNEPOST"
)
@pytest.mark.parametrize("flags", [(0, 0), (0, ENERGY), (SENSOR, 0), (SENSOR, ENERGY), (0, int(kt.EnableBit.FWDINV))],
                         ids=["plain", "energy", "no sensors", "no sensors, energy", "fwdinv"])  # fmt: skip
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("seed", range(3))
def test_flags_and_fields_follow_mujocos_through_random_calls(seed, integrator, flags):
    """After every call the same flags stand, fields change exactly where MuJoCo's do, and they agree.

    Every call meets a new state, as far as its stages look at it. No call looks at velocities older than the positions, or at
    accelerations whose flag has outlived a position stage: taken at different points, they mean nothing.
    """
    rng = np.random.default_rng([seed, int(integrator), *flags])
    chosen = "".join(rng.choice(PARTS, size=int(rng.integers(0, 5)), replace=False))
    pair = tree(chosen, seed=None, disable=flags[0], enable=flags[1], integrator=int(integrator))
    allowed, outlived, history = FROM_POSITIONS, False, []
    for _ in range(30):
        name = str(rng.choice([call for call in allowed if call != "sensor_acc" or not outlived]))
        shake(pair, rng, name in OF_POSITIONS, name in FROM_POSITIONS + FROM_VELOCITIES)
        history.append(name)
        note = f"{integrator.name} sensors [{chosen}] after {history[-6:]}"
        old = {f: (getattr(pair.ours, f).copy(), np.array(getattr(pair.theirs, f))) for f in PLAIN + MOVED}
        run(pair, *CALLS[name])
        pair.same_flags(note)
        changed = {f for f in old if not np.array_equal(getattr(pair.theirs, f), old[f][1])}
        rk4 = name == "step" and integrator == kt.Integrator.RK4  # positions have moved on since the sensors
        for field in old:
            if field not in changed:
                close(getattr(pair.ours, field), old[field][0], 1e-9, f"{note}: changed unlike MuJoCo's: {field}")
            elif not (field in MOVED and rk4):
                pair.same((field,), 1e-8, note)
        copy_state(pair.theirs, pair.ours)
        pair.ours.qacc[:] = pair.theirs.qacc
        allowed = {"reset": FROM_POSITIONS, "fwd_position": AFTER_POSITIONS}.get(name, list(CALLS))
        outlived = rk4 or ((name in OF_POSITIONS or outlived) and not changed & set(MOVED))


def shake(pair: Both, rng: np.random.Generator, positions: bool, velocities: bool) -> None:
    """A new state of moderate speed and force on both sides, as far as asked."""
    values = {"xfrc_applied": rng.normal(size=(pair.mj.nbody, 6))}
    if velocities:
        values["qvel"] = 0.3 * rng.normal(size=pair.mj.nv)
    if positions:
        values["qpos"] = pair.mj.qpos0.copy()
        mujoco.mj_integratePos(pair.mj, values["qpos"], rng.normal(size=pair.mj.nv), 1.0)
    for field, value in values.items():
        getattr(pair.ours, field)[...] = getattr(pair.theirs, field)[...] = value
