"""Potential and kinetic energy: against MuJoCo, and kinetic energy against the sum over bodies."""

from __future__ import annotations

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.tolerances import MACHINES
from kinetree.dynamics.energy import energy_pos, energy_vel
from kinetree.kernel import interpret, symbolic_record
from kinetree.types import DisableBit
from tests.corpora import entries, own_models
from tests.dynamics.paired import MODELS, Pair, agree, paired, same
from tests.trees import random_tree

ENERGY = 1e-12  # sums over all bodies and pairs of dofs, in an order of our own
PASSIVE = MODELS / "passive.xml"
STAGES = {"energy_pos": energy_pos, "energy_vel": energy_vel}


def run_both(pair: Pair) -> None:
    """Both energies on both sides."""
    mujoco.mj_energyPos(pair.mj, pair.theirs)
    mujoco.mj_energyVel(pair.mj, pair.theirs)
    energy_pos(pair.model, pair.ours)
    energy_vel(pair.model, pair.ours)


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_equals_mujoco_on_the_corpora(entry):
    pair = paired(oracle_model(entry.source()), 1)
    run_both(pair)
    agree(pair, ["energy"], ENERGY)


@pytest.mark.parametrize("seed", range(5))
def test_equals_mujoco_on_random_trees(seed):
    text = random_tree(seed, nbody=9).replace('type="ball"', 'type="ball" stiffness="2 .4 .3"')
    pair = paired(text.replace('type="slide"', 'type="slide" stiffness="2 .4 .3"'), seed, gravity=[1.0, 2.0, -9.0])
    run_both(pair)
    agree(pair, ["energy"], ENERGY)


@pytest.mark.parametrize("disable", [0, DisableBit.SPRING, DisableBit.GRAVITY, DisableBit.SPRING | DisableBit.GRAVITY])
def test_equals_mujoco_under_flags(disable):
    for seed in range(3):  # with springs that have yielded by some random amount
        pair = paired(PASSIVE, seed, disable=disable)
        run_both(pair)
        agree(pair, ["energy"], ENERGY, f"flags {disable:#x} seed {seed}")


def test_flags_say_which_energy_is_valid():
    model = kt.load("double_pendulum")
    data = kt.Data(model)
    assert not data.flg_energypos and not data.flg_energyvel
    energy_pos(model, data)
    assert data.flg_energypos and not data.flg_energyvel
    energy_vel(model, data)
    assert data.flg_energypos and data.flg_energyvel


@pytest.mark.parametrize("name", ["joints", "passive", "massless", "humanoid"])
def test_kinetic_energy_is_the_sum_over_bodies(name):
    """1/2 m v^2 at the centre of mass, 1/2 w I w, and the armature of each dof."""
    path = next(path for _, path in own_models() if path.stem == name)
    pair = paired(path, 3)
    model, data = pair.model, pair.ours
    energy_vel(model, data)
    w, v = data.cvel[:, :3], data.cvel[:, 3:] + np.cross(data.cvel[:, :3], data.xipos - data.xpos)
    local = np.einsum("bji,bj->bi", data.ximat.reshape(-1, 3, 3), w)
    wanted = 0.5 * (model.body_mass * (v**2).sum(axis=1) + (model.body_inertia * local**2).sum(axis=1)).sum()
    wanted += 0.5 * (model.dof_armature * data.qvel**2).sum()
    same(data.energy[1], wanted, ENERGY, f"{name}: kinetic energy ")


def test_energy_of_springs_by_hand():
    """a x^2/2 + b x^3/3 + c x^4/4 for a slide and for a tendon outside its interval of rest."""
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint name="s" type="slide" stiffness="3 2 1" springref=".2"/><geom size=".1"/></body></worldbody>
      <tendon><fixed springlength="-.1 .3" stiffness="5 4 6"><joint joint="s" coef="1"/></fixed></tendon></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    for q, x in ((0.1, 0.0), (0.8, 0.5), (-0.7, -0.6)):
        data.qpos[0] = data.ten_length[0] = q
        energy_pos(model, data)
        y = q - 0.2
        wanted = 3 * y**2 / 2 + 2 * y**3 / 3 + y**4 / 4 + 5 * x**2 / 2 + 4 * x**3 / 3 + 6 * x**4 / 4
        assert data.energy[0] == pytest.approx(wanted, rel=1e-14), q


# machines


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(("dtype", "width"), [("float64", 8), ("float32", 16)])
def test_lanes_equal_floats(dtype, width, stage):
    pair = paired(PASSIVE, 0)
    worlds = []
    for seed in range(width):
        other, world = paired(PASSIVE, seed), kt.Data(pair.model)
        for name, array in other.ours._arrays.items():
            world._arrays[name][...] = array
        worlds.append(world)
    lanes = lanes_of(pair.model, worlds, dtype)
    lanes.run(STAGES[stage])
    out = kt.Data(pair.model)
    for lane, world in enumerate(worlds):
        STAGES[stage](pair.model, world)
        lanes.store(lane, out)
        same(out.energy, world.energy, MACHINES[dtype], f"{dtype} lane {lane} energy")
        assert out.flg_energypos == world.flg_energypos and out.flg_energyvel == world.flg_energyvel


def test_symbols_equal_floats():
    pair = paired(PASSIVE, 5)
    model, data = pair.model, pair.ours
    inputs = {name: casadi.SX.sym(name, getattr(data, name).size) for name in ("qpos", "qvel", "plastic")}
    record = symbolic_record(data, **inputs)
    interpret(energy_pos, symbolic_record(model), record)
    interpret(energy_vel, symbolic_record(model), record)
    function = casadi.Function("energy", list(inputs.values()), [casadi.vertcat(*record.energy)])
    value = np.asarray(function(*(getattr(data, name) for name in inputs))).ravel()
    run_both(pair)
    same(value, data.energy, MACHINES["float64"], "symbols: energy ")
