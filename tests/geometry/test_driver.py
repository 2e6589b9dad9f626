"""Collision as a whole: the models of the corpora against MuJoCo, and one source on floats, lanes and plain Python."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.states import random_state
from kinetree.conformance.tolerances import MACHINES
from kinetree.geometry.contact_list import FAR
from kinetree.geometry.driver import collision
from kinetree.kernel import interpret
from tests import corpora
from tests.geometry.scenes import GEOMETRY, agree, both, detect, rows, scatter, zoo

STATES = 5
ENTRIES = {entry.name: entry for entry in corpora.entries()}
PARAMETERS = ("includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion", "surfacevel")


@pytest.mark.parametrize("name", ENTRIES)
def test_corpora(name):
    """Random states, the initial state and all keyframes; boxes that lie flat on each other may begin at another corner."""
    mj = oracle_model(ENTRIES[name].source())
    mj.opt.enableflags &= ~int(kt.EnableBit.SLEEP | kt.EnableBit.SPECULATIVE)  # all is awake here, and at rest
    mj.opt.disableflags &= ~int(kt.DisableBit.NATIVECCD)  # as kinetree does
    theirs, model, ours = both(mj)
    rng = np.random.default_rng(11)
    for k in range(-1 - mj.nkey, STATES):
        if k >= 0:
            random_state(mj, rng, theirs)
            if mj.njnt and mj.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
                theirs.qpos[2] = rng.uniform(0.0, 1.0)  # near the floor
        elif k == -1:
            mujoco.mj_resetData(mj, theirs)
        else:
            mujoco.mj_resetDataKeyframe(mj, theirs, -2 - k)
        detect(mj, theirs, model, ours)
        agree(theirs, ours, f"{name}, state {k}", ordered=False)


@functools.cache
def loaded(name: str) -> kt.Model:
    return kt.load(zoo() if name == "zoo" else oracle_model(ENTRIES[name].source()))


def world(model: kt.Model, seed: int) -> kt.Data:
    """A Data in a random state with many contacts."""
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    rng = np.random.default_rng(seed)
    random_state(mj, rng, theirs)
    scatter(mj, theirs, rng, size=0.5)
    data = kt.Data(model)
    data.qpos[:] = theirs.qpos
    kt.kinematics(model, data)
    return data


LANE_MODELS = ("zoo", "dm_control/suite/humanoid.xml", "dm_control/suite/stacker(4)")


@pytest.mark.parametrize("name", LANE_MODELS)
@pytest.mark.parametrize("width", [8, pytest.param(1, marks=pytest.mark.soak)])
def test_lanes_have_the_contacts_of_floats(name, width):
    """Worlds with different contacts share the slots; in each, those that are not its own are far away and harmless."""
    model = loaded(name)
    worlds = [world(model, seed) for seed in range(width)]
    lanes = lanes_of(model, worlds)
    lanes.run(collision)
    out, counts = kt.Data(model), []
    for lane, data in enumerate(worlds):
        collision(model, data)
        lanes.store(lane, out)
        own = out.contact_dist < FAR
        counts.append(data.ncon)
        for field in (*(f"contact_{name}" for name in (*GEOMETRY, *PARAMETERS)), "contact_geom", "contact_dim"):
            got, wanted = np.asarray(getattr(out, field)), np.asarray(getattr(data, field))
            assert np.isfinite(got).all(), f"{name} lane {lane} {field}"
            assert got[own].shape == wanted.shape, f"{name} lane {lane}: {own.sum()} contacts, on floats {data.ncon}"
            error = np.abs(got[own] - wanted).max(initial=0.0)
            assert error <= MACHINES["float64"], f"{name} lane {lane} {field}: {error}"
    assert max(counts) > 3
    assert width == 1 or len(set(counts)) > 1


def test_single_precision_finds_what_is_clearly_there():
    """Of contacts deeper than single precision can err, those of floats are found on its lanes, and no others."""
    model = loaded("zoo")
    worlds = [world(model, seed) for seed in range(16)]
    lanes = lanes_of(model, worlds, "float32")
    lanes.run(collision)
    out = kt.Data(model)
    for lane, data in enumerate(worlds):
        collision(model, data)
        lanes.store(lane, out)
        deep, wanted = out.contact_dist < -1e-3, data.contact_dist < -1e-3
        got, expected = set(map(tuple, out.contact_geom[deep])), set(map(tuple, data.contact_geom[wanted]))
        assert got == expected, f"lane {lane}"


@pytest.mark.parametrize("name", LANE_MODELS)
def test_plain_python_equals_machine_code(name):
    model = loaded(name)
    compiled = world(model, 3)
    collision(model, compiled)
    plain = compiled.copy()
    plain._arrays["ncon"][0] = 0
    for field in GEOMETRY:
        plain._arrays[f"contact_{field}"][:] = 0.0
    interpret(collision, model.record(), plain.record())
    assert plain.ncon == compiled.ncon > 3
    for field in (*GEOMETRY, *PARAMETERS, "geom", "dim", "exclude"):
        error = np.abs(rows(plain, field) - rows(compiled, field)).max()
        assert error <= MACHINES["float64"], f"{name} {field}: {error}"


def test_contacts_are_gone_when_geoms_part():
    mj = zoo()
    theirs, model, ours = both(mj)
    scatter(mj, theirs, np.random.default_rng(1))
    detect(mj, theirs, model, ours)
    assert ours.ncon > 5 and ours.contact_dist.shape == (ours.ncon,)
    theirs.qpos[:3] = 5.0
    for k in range(mj.njnt):
        theirs.qpos[7 * k : 7 * k + 3] = 10.0 * k, 0.0, 10.0
    detect(mj, theirs, model, ours)
    assert theirs.ncon == ours.ncon == 0 and ours.contact_dist.shape == (0,)
