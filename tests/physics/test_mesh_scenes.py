"""Random scenes of meshes among everything else: every step stays finite, and the first ones give what MuJoCo gives."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable

import mujoco
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import kinetree as kt
from kinetree.conformance.tolerances import CONTACT_CONVEX
from tests.physics.mesh_scene import ASLEEP, mesh_scene
from tests.physics.random_scene import spread_joints
from tests.physics.test_random_scenes import survive, take_over

PAIRED = 8  # steps that MuJoCo makes too
CLOSE = 1e-5  # of positions and velocities, for a time step from the same state with the same contacts
CLOSE_CURVED = 1e-3  # the same where curved shapes touch, whose normals are found to a few thousandths
CURVED = int(kt.GeomType.ELLIPSOID), int(kt.GeomType.CYLINDER)
SOAK, BATCHES, STEPS = 500, 20, 300


def by_pair(data: mujoco.MjData | kt.Data) -> dict[tuple[int, ...], np.ndarray]:
    """Place and depth of the contacts of each pair of geoms that touches."""
    out: dict[tuple[int, ...], list[np.ndarray]] = defaultdict(list)
    for geoms, pos, dist in zip(data.contact.geom, data.contact.pos, data.contact.dist, strict=True):
        out[tuple(geoms.tolist())].append(np.append(pos, dist))
    return {pair: np.array(rows) for pair, rows in out.items()}


def same_set(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether contacts agree in some order. There may be several at one place."""
    if first.shape != second.shape:
        return False
    apart = np.abs(first[:, None] - second[None]).max(axis=2)
    return bool(apart[linear_sum_assignment(apart)].max() <= CONTACT_CONVEX)


def compare(seed: int) -> np.ndarray:
    """The first steps against MuJoCo's from the same states: how many pairs touched, and how many had the same contacts.

    Where all have, the step must lead to the same state; RK4 looks at contacts of its substeps too.
    """
    mj, rng = mesh_scene(seed), np.random.default_rng(seed)
    mj.opt.tolerance, mj.opt.iterations = 1e-14, 1000
    model, theirs = kt.load(mj), mujoco.MjData(mj)
    ours, counts = kt.Data(model), np.zeros(2, int)
    spread_joints(mj, ours.qpos, rng)
    for k in range(PAIRED):
        ours.ctrl[:] = rng.uniform(-1, 1, model.nu)
        take_over(ours, theirs)
        kt.fwd_position(model, ours)
        mujoco.mj_fwdPosition(mj, theirs)
        here, there = by_pair(ours), by_pair(theirs)
        assert set(here) == set(there), f"scene {seed}, step {k}: {set(here) ^ set(there)} touch on one side only"
        same = [same_set(here[pair], there[pair]) for pair in here]
        counts += len(same), sum(same)
        kt.step(model, ours)
        mujoco.mj_step(mj, theirs)
        curved = np.isin(mj.geom_type[[geom for pair in here for geom in pair]], CURVED).any()
        if all(same) and mj.opt.integrator != kt.Integrator.RK4:
            for name in ("qpos", "qvel"):
                got, wanted = getattr(ours, name), getattr(theirs, name)
                error = np.abs(got - wanted) / (1 + np.abs(wanted).max(initial=0.0))
                i = int(np.argmax(error))
                what = f"scene {seed}, step {k}, {ours.ncon} contacts: {name}[{i}] is {got[i]} against MuJoCo's {wanted[i]}"
                assert error[i] <= (CLOSE_CURVED if curved else CLOSE), what
    return counts


def check_share(seeds: Iterable[int]) -> None:
    """Nearly all pairs that touch have the same contacts on both sides; on the rims of discs rounding chooses."""
    touching, same = sum(compare(seed) for seed in seeds)
    assert same >= 0.9 * touching, f"the same contacts in {same} of {touching} pairs"


def test_first_steps_equal_mujocos():
    check_share(range(10))


def test_scenes_have_what_they_are_for():
    """Contacts of meshes with meshes and with every other shape, several islands, and trees that fall asleep."""
    pairs, islands, asleep = set(), 0, 0
    for seed in range(9):
        model = kt.load(mesh_scene(seed))
        data = kt.Data(model)
        assert bool(model.opt.enableflags & kt.EnableBit.SLEEP) == (seed % ASLEEP == 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kt.SimulationWarning)
            kt.step(model, data, nstep=200)
        for geoms in data.contact_geom[: data.ncon]:
            pairs.add(tuple(sorted(kt.GeomType(int(model.geom_type[g])).name for g in geoms)))
        islands = max(islands, data.nisland)
        asleep += int((data.tree_asleep >= 0).sum()) if seed % ASLEEP == 0 else 0
    with_meshes = {other for pair in pairs if "MESH" in pair for other in pair}
    assert {"PLANE", "MESH", "BOX"} <= with_meshes and len(with_meshes) >= 5, pairs
    assert islands > 2 and asleep > 3


@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_steps(seed):
    assert not survive(seed, 100, mesh_scene)


def unstable_for_mujoco(seed: int) -> bool:
    """Whether MuJoCo on its own, from the start and with the same controls, finds a scene unstable."""
    mj, rng = mesh_scene(seed), np.random.default_rng(seed)
    data = mujoco.MjData(mj)
    for _ in range(STEPS):
        data.ctrl[:] = rng.uniform(-1, 1, mj.nu)
        mujoco.mj_step(mj, data)
        if data.warning.number.any():
            return True
    return False


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(BATCHES))
def test_three_hundred_steps_of_many_scenes(batch):
    """500 scenes in all; none is unstable but some of those that MuJoCo finds so: 5 of its 7 when this was written."""
    seeds = range(batch * SOAK // BATCHES, (batch + 1) * SOAK // BATCHES)
    check_share(seeds)
    unstable = [seed for seed in seeds if survive(seed, STEPS, mesh_scene)]
    assert len(unstable) <= 2, f"unstable, as for MuJoCo from the same state: {unstable}"
    for seed in unstable:
        assert unstable_for_mujoco(seed), f"scene {seed} is stable in MuJoCo"
