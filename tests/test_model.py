"""Model: fields, options, copies, `replace` and the way back to MuJoCo, against mjModel."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import weakref
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.model_fields import MODEL_FIELDS, OPTION_FIELDS, SIZES, STATISTIC_FIELDS
from tests import corpora
from tests.test_fields import RICH

PATHS: dict[str, Any] = dict(corpora.own_models())
PATHS |= {"dm_control/humanoid": corpora.package_root("dm_control") / "dm_control/suite/humanoid.xml"}
MODELS = ["rich", *PATHS]


@cache
def compiled(label: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(RICH) if label == "rich" else corpora.compiled(PATHS[label])


def values(model: Any) -> dict[str, np.ndarray]:
    """Every declared value of a model, ours or MuJoCo's, as copies."""
    out = {name: np.array(getattr(model, name)) for name in (*MODEL_FIELDS, *(size for size, _ in SIZES))}
    for part, declared in (("opt", OPTION_FIELDS), ("stat", STATISTIC_FIELDS)):
        out |= {f"{part}.{name}": np.array(getattr(getattr(model, part), name)) for name in declared}
    return out


def unequal(label: str, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> list[tuple]:
    """Model, field, index and both values where two models differ."""
    out = []
    for name, a in ours.items():
        b = theirs[name].reshape(a.shape)
        for at in np.argwhere(np.atleast_1d(a) != np.atleast_1d(b))[:3]:
            out.append((label, name, at.tolist(), np.atleast_1d(a)[tuple(at)], np.atleast_1d(b)[tuple(at)]))
    return out


# fields


@pytest.mark.parametrize("label", MODELS)
def test_every_declared_value_equals_mujocos(label):
    model = kt.load(compiled(label))
    assert not unequal(label, values(model), values(compiled(label)))
    for name, field in MODEL_FIELDS.items():
        if field.dims:
            array = getattr(model, name)
            assert array.dtype == field.dtype and array.shape == field.shape(model.sizes), (label, name)
            assert array.flags.c_contiguous and array.flags.writeable == field.in_place, (label, name)


def test_what_only_rendering_needs_comes_from_mujoco():
    model = kt.load(RICH)
    np.testing.assert_array_equal(model.site_rgba, compiled("rich").site_rgba)
    assert not model.site_rgba.flags.writeable


def test_options_and_statistics_are_python_numbers():
    model = kt.load(RICH)
    assert isinstance(model.opt.timestep, float) and isinstance(model.opt.iterations, int)
    assert model.stat.meaninertia == compiled("rich").stat.meaninertia
    model.opt.timestep = 0.001
    model.opt.gravity = [0, 0, -1]
    model.opt.integrator = kt.Integrator.RK4
    model.opt.disableflags |= kt.DisableBit.GRAVITY
    model.stat.extent = 3
    assert (model.opt.timestep, model.opt.gravity.tolist(), model.stat.extent) == (0.001, [0, 0, -1], 3.0)
    with pytest.raises(TypeError, match="kt.Integrator.EULER, .*kt.Integrator.DISCRETE, got 'discrete'"):
        model.opt.integrator = "discrete"
    with pytest.raises(TypeError, match="kt.EnableBit.SLEEP.*got 'sleep'"):
        model.opt.enableflags = "sleep"
    assert model.opt.integrator == kt.Integrator.RK4 and model.opt.disableflags & kt.DisableBit.GRAVITY
    assert "opt.timestep = 0.001" in repr(model.opt) and "timestep" in dir(model.opt)


def test_bounds_may_be_infinite():
    model = kt.load("<mujoco><worldbody><body><joint range='-inf inf'/><geom size='1'/></body></worldbody></mujoco>")
    assert model.jnt_range.tolist() == [[-np.inf, np.inf]]
    model.jnt_range = [[-1, np.inf]]
    kt.set_const(model)
    assert model.jnt_range.tolist() == [[-1, np.inf]]


def test_assignment_copies_and_converts():
    model = kt.load(RICH)
    masses = np.arange(1, model.nbody + 1)
    model.body_mass = masses
    masses[:] = 0
    assert model.body_mass.tolist() == list(range(1, model.nbody + 1))
    model.geom_margin = 0.5
    assert (model.geom_margin == 0.5).all()
    model.geom_pos = 0
    assert (model.geom_pos == 0.0).all()
    model.jnt_limited = [1, 0, True, False]
    assert model.jnt_limited.dtype == bool and model.jnt_limited.tolist() == [True, False, True, False]
    model.geom_group = np.full(model.ngeom, 2.0)
    assert model.geom_group.dtype == np.int32 and (model.geom_group == 2).all()


def test_dir_and_repr_name_what_there_is():
    model = kt.load("humanoid")
    assert {"body_mass", "nbody", "opt", "replace", "body"} <= set(dir(model))
    assert repr(model).startswith("<kinetree.Model 'humanoid': ")


# copies


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_equal_and_independent(make):
    model = kt.load(RICH)
    model.body_mass[2] = 5.0
    model.opt.timestep = 0.01
    before = values(model)
    other = make(model)
    assert not unequal("copy", values(other), before)
    assert (other.title, other.names("body")) == (model.title, model.names("body"))
    other.body_mass[:] = 1.0
    other.opt.timestep = 1.0
    other.opt.gravity[2] = 5.0
    assert not unequal("original", values(model), before)
    data = kt.Data(model)
    kt.fwd_position(other, data)
    assert data.subtree_mass[0] == model.nbody


def test_pickled_model_works_in_a_new_process(tmp_path):
    model = kt.load("arm")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    program = """
import pickle, sys
import kinetree as kt
model = pickle.load(open(sys.argv[1], "rb"))
data = kt.Data(model)
kt.fwd_position(model, data)
kt.set_const(model)
print(data.subtree_mass[0], model.to_mujoco().nbody)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "model.pkl")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    data = kt.Data(model)
    kt.fwd_position(model, data)
    assert done.stdout.split() == [str(data.subtree_mass[0]), str(model.nbody)]


def test_models_of_equal_sizes_share_them_and_are_freed():
    first, second = kt.load("humanoid"), kt.load("humanoid")
    assert first.sizes is second.sizes
    gone = weakref.ref(first)
    del first
    gc.collect()
    assert gone() is None


# replace


def test_replace_changes_a_copy_and_derives():
    model = kt.load("humanoid")
    before = values(model)
    heavy = model.replace(body_mass=2 * model.body_mass, opt_timestep=0.001, opt_gravity=[0, 0, -1], stat_extent=7.0)
    assert not unequal("original", values(model), before)
    assert heavy.body_subtreemass[0] == pytest.approx(2 * model.body_subtreemass[0])
    assert (heavy.opt.timestep, heavy.opt.gravity.tolist(), heavy.stat.extent) == (0.001, [0, 0, -1], 7.0)
    assert not np.array_equal(heavy.dof_M0, model.dof_M0)
    assert not unequal("nothing replaced", values(model.replace()), before)


def test_replace_of_a_derived_field_is_overwritten():
    """As with MuJoCo, derived constants follow from the others."""
    model = kt.load("humanoid")
    assert not unequal("derived", values(model.replace(body_subtreemass=1.0)), values(model))


# to MuJoCo and back


@pytest.mark.parametrize("label", MODELS)
def test_round_trip_through_mujoco(label):
    model = kt.load(compiled(label))
    back = model.to_mujoco()
    assert not unequal(label, values(back), values(model))
    assert not unequal(label, values(kt.load(back)), values(model))
    size = mujoco.mj_sizeModel(back)
    ours, theirs = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    mujoco.mj_saveModel(back, None, ours)
    mujoco.mj_saveModel(compiled(label), None, theirs)
    assert ours.tobytes() == theirs.tobytes(), f"{label}: a field that kinetree does not declare was lost"


def test_edits_are_carried_over_and_mujoco_simulates_them():
    model, reference = kt.load("humanoid"), mujoco.MjModel.from_xml_path(str(kt.models.path("humanoid")))
    for m in (model, reference):
        m.body_mass[3] *= 1.7
        m.dof_damping[:] = 0.3
        m.geom_friction[:, 0] = 0.2
        m.opt.gravity[:] = (0, 1, -5)
        m.opt.timestep = 0.003
        m.jnt_limited[2] = not m.jnt_limited[2]
    kt.set_const(model)
    mujoco.mj_setConst(reference, mujoco.MjData(reference))
    ours = model.to_mujoco()
    ends = []
    for m in (ours, reference):
        data = mujoco.MjData(m)
        mujoco.mj_step(m, data, 50)
        ends.append(data.qpos.copy())
    np.testing.assert_array_equal(*ends)
    ours.body_mass[:] = 1.0
    assert model.body_mass[3] != 1.0, "the MuJoCo model is a copy"


# fields of few choices


BALL = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 .09"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("how", ["array", "element", "replace"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_condim_is_edited_by_assignment(condim, how):
    """And counts in the next step, as in MuJoCo."""
    model = kt.load(BALL)
    if how == "array":
        model.geom_condim = [condim, 1]
    elif how == "element":
        model.geom("ball").condim, model.geom("floor").condim = 1, condim
    else:
        model = model.replace(geom_condim=np.array([condim, 1]))
    mj = mujoco.MjModel.from_xml_string(BALL)
    mj.geom_condim[:] = condim, 1
    ours, theirs = kt.Data(model), mujoco.MjData(mj)
    ours.qvel[:] = theirs.qvel[:] = np.arange(1.0, 7.0)
    kt.step(model, ours, 20)
    mujoco.mj_step(mj, theirs, 20)
    assert ours.nefc == theirs.nefc
    np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=1e-9)


def test_a_condim_that_does_not_exist_is_refused():
    model = kt.load(BALL)
    for bad in (2, 5, 7, [3, 0], -1, 1000):
        with pytest.raises(ValueError, match="1, 3, 4, 6"):
            model.geom_condim = bad
    with pytest.raises(ValueError, match="1, 3, 4, 6"):
        model.geom("ball").condim = 2
    with pytest.raises(ValueError, match="read-only"):
        model.geom_condim[0] = 7
    assert model.geom_condim.tolist() == [3, 3]
