"""Worlds on lanes are worlds of their own: each with real parameters, counts, warnings, sleep and resets of its own."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData, lanes_of
from kinetree.conformance.tolerances import LANES, LANES_SOLVED
from kinetree.fields import PARAMETER
from kinetree.kernel.machine import machine, machine_named
from kinetree.model_fields import MODEL_FIELDS
from tests.pipeline.worlds import CORPUS, loaded, moving, stepped

WIDTH = 8
# Not varied: what collision trusts to enclose geoms, the shapes these enclose, side sites that exist or not, keyframes, and
# orientations (as their lengths are one, and their derived matrices agree with them).
LEFT = {
    "geom_rbound", "geom_aabb", "bvh_aabb", "oct_aabb", "geom_size", "wrap_prm", "cam_mat0", "light_dir0", "qpos0",
    "qpos_spring", "eq_data", "mesh_polynormal",
}  # fmt: skip
UNIT = ("quat", "axis", "dir")
SCALED = tuple(
    name
    for name, field in MODEL_FIELDS.items()
    if field.per_world
    and field.role == PARAMETER
    and name not in LEFT
    and not name.startswith("key_")
    and not any(each in name for each in UNIT)
)
OPTIONS = ("timestep", "density", "viscosity", "impratio")
COMPARED = ("qpos", "qvel", "act", "sensordata", "qacc")


def varied(model: kt.Model, rng: np.random.Generator) -> kt.Model:
    """The model with other real numbers; what is zero stays so, and signs stay."""
    out = copy.copy(model)
    for name in SCALED:
        values = getattr(out, name)
        values[...] *= rng.uniform(0.97, 1.03, values.shape)
    for name in OPTIONS:
        setattr(out.opt, name, getattr(out.opt, name) * rng.uniform(0.97, 1.03))
    out.opt.gravity[:] += rng.normal(size=3) * 0.1
    return out


def tight(model: kt.Model) -> kt.Model:
    """Solved to the end, so that two ways to the minimum end in one place."""
    model.opt.tolerance, model.opt.ls_tolerance, model.opt.iterations = 1e-15, 1e-6, 200
    return model


def compare(model, got, wanted, note):
    """Fields of one world agree, relative to the largest number."""
    for name in COMPARED:
        a, b = np.ravel(got[name]), np.ravel(getattr(wanted, name))
        if b.size:
            solved = int(wanted.nefc) > 0 or name in ("qacc", "qvel", "sensordata")
            error = np.abs(a - b) / max(1.0, np.abs(b).max())
            if name == "qacc":  # of what sleeps it is what the last pass left there
                error *= wanted.tree_asleep[model.dof_treeid] < 0
            at = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
            limit = LANES_SOLVED if solved else LANES
            assert error[at] <= limit, f"{model.title} {note}: {name}[{at}] is {a[at]}, on floats {b[at]}"


@pytest.mark.parametrize("name", CORPUS)
def test_worlds_with_parameters_of_their_own_equal_separate_models(name):
    model, rng = tight(loaded(name)), np.random.default_rng(3)
    worlds = moving(model, WIDTH, every=2)
    models = [varied(model, rng) for _ in worlds]
    for own, data in zip(models, worlds, strict=True):
        data._adopt(own)
    lanes = lanes_of(model, worlds, models=models)
    lanes.run(kt.pipeline.forward)
    lanes.run(kt.pipeline.integrate)
    for lane, (own, data) in enumerate(zip(models, worlds, strict=True)):
        compare(model, {n: lanes.arrays[n][..., lane] for n in COMPARED}, stepped(own, data), f"lane {lane}")


def test_models_on_lanes_differ_in_real_numbers_alone():
    model = kt.load("humanoid")
    lanes = LaneData(model, WIDTH, own=True)
    other = copy.copy(model)
    other._arrays["geom_condim"][0] = 1
    with pytest.raises(ValueError, match="geom_condim"):
        lanes.set_model(1, other)
    other = copy.copy(model)
    other.opt.iterations = 7
    with pytest.raises(ValueError, match="opt_iterations"):
        lanes.set_model(1, other)
    with pytest.raises(ValueError, match="nq"):
        lanes.set_model(1, kt.load("quadruped"))


STRUCTURE = """
<mujoco>
  <worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
  <sensor><jointpos joint="j" nsample="4" delay="0.004"/></sensor>
</mujoco>
"""


def test_what_is_zero_or_not_and_so_decides_on_states_is_shared():
    model = kt.load(STRUCTURE)
    other = copy.copy(model)
    other.sensor_delay[:] = 0.0
    with pytest.raises(ValueError, match="sensor_delay"):
        LaneData(model, 2, own=True).set_model(0, other)


def test_a_machine_is_found_by_its_name():
    for each in (machine("float64", 8), machine("float32", 16, own=True), machine("float32", 1)):
        assert machine_named(each.name) is each


@pytest.mark.parametrize("name", [n for n in CORPUS if n.startswith(("tests/", "kinetree/"))])
def test_counts_and_states_of_rows_are_those_of_each_world(name):
    model = loaded(name)
    worlds = moving(model, WIDTH)
    lanes = lanes_of(model, worlds)
    lanes.run(kt.pipeline.forward)
    out = kt.Data(model)
    for lane, data in enumerate(worlds):
        lanes.store(lane, out)
        kt.pipeline.forward(model, data)
        assert out.warning_number.tolist() == data.warning_number.tolist()
        if int(out.nefc) == int(data.nefc) and int(out.nisland) == int(data.nisland):  # else rows are of other worlds
            n = int(data.nefc)
            assert out.solver_niter.tolist() == data.solver_niter.tolist(), f"{model.title} lane {lane}"
            assert out.efc_state[:n].tolist() == data.efc_state[:n].tolist(), f"{model.title} lane {lane}"


def standing(count: int = WIDTH) -> tuple[kt.Model, list[kt.Data]]:
    """Worlds of the humanoid that fall, each in its own way."""
    model, rng, worlds = kt.load("humanoid"), np.random.default_rng(0), []
    for _ in range(count):
        data = kt.Data(model)
        data.qvel[:] = 0.1 * rng.normal(size=model.nv)
        kt.step(model, data, 100)
        worlds.append(data)
    return model, worlds


@pytest.mark.parametrize("touching", [False, True])
@pytest.mark.parametrize("field", ["qpos", "qvel", "qfrc_applied"])
def test_a_world_that_goes_bad_is_reset_alone(field, touching):
    model, worlds = standing()
    if not touching:
        model.opt.disableflags |= kt.DisableBit.CONSTRAINT
    calm, upset = lanes_of(model, worlds), lanes_of(model, worlds)
    getattr(upset, field)[3, 5] = np.nan
    single = worlds[5].copy()
    getattr(single, field)[3] = np.nan
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        upset.step(30)
    assert len(told) == 1 and "world 5" in str(told[0].message) and "reset" in str(told[0].message)
    calm.step(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kt.step(model, single, 30)
    others = [lane for lane in range(WIDTH) if lane != 5]
    for name in ("qpos", "qvel", "qacc", "sensordata", "warning_number", "time"):
        got, wanted = upset.arrays[name][..., others], calm.arrays[name][..., others]
        if touching:  # rows of one world stand between those of others, and sums are made in another order
            np.testing.assert_allclose(got, wanted, atol=LANES_SOLVED * np.abs(wanted).max(), err_msg=name)
        else:
            assert np.array_equal(got, wanted), name
    assert upset.warning_number[:, 5].tolist() == single.warning_number.tolist()
    assert upset.warning_lastinfo[:, 5].tolist() == single.warning_lastinfo.tolist()
    assert upset.time[0, 5] == pytest.approx(float(single.time))
    np.testing.assert_allclose(upset.qpos[:, 5], single.qpos, atol=LANES_SOLVED)


def test_a_warning_belongs_to_its_world():
    model, worlds = standing()
    lanes = lanes_of(model, worlds)
    lanes.ctrl[2, 3] = np.nan
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lanes.step()
    assert [str(each.message)[:7] for each in told] == ["world 3"]
    assert lanes.warning_number.sum(axis=0).tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


FALLING = """
<mujoco>
  <option sleep_tolerance="1e-3"><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 0.2"><freejoint/><geom size="0.1" condim="1"/></body>
    <body pos="1 0 0.2"><freejoint/><geom size="0.1" condim="1"/></body>
    <body pos="1 0 0.5"><freejoint/><geom size="0.1" condim="1"/></body>
    <body name="hung" pos="2 0 0.5">
      <site name="tip" pos="0 0 -0.3"/>
      <joint name="hinge" axis="0 1 0" damping="0.5"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.05"/>
    </body>
  </worldbody>
  <actuator><general joint="hinge" dyntype="filter" dynprm="0.1" gainprm="0.01"/></actuator>
</mujoco>
"""


SENSED = """
  <sensor><accelerometer site="tip"/><framepos objtype="body" objname="hung"/><jointvel joint="hinge"/></sensor>
</mujoco>
"""


def falling(count: int = WIDTH, **options) -> tuple[kt.Model, list[kt.Data]]:
    """Spheres that drop from other heights in every world, onto the ground and onto each other, and a pendulum."""
    model, worlds = tight(kt.load(FALLING.replace("</mujoco>", SENSED))), []
    for name, value in options.items():
        setattr(model.opt, name, value)
    for k in range(count):
        data = kt.Data(model)
        data.qpos[[2, 9, 16]] += 0.1 * k  # higher ones come to rest later
        data.qpos[7] += 0.7 * (k % 2)  # in every second world they miss each other
        data.ctrl[:] = 0.1 * k
        worlds.append(data)
    return model, worlds


def alike(lanes: LaneData, worlds: list[kt.Data], note: str) -> None:
    """Worlds on lanes are as far asleep, and where, as the same worlds on floats."""
    for lane, data in enumerate(worlds):
        told = f"{note}, world {lane}"
        assert lanes.tree_asleep[:, lane].tolist() == data.tree_asleep.tolist(), told
        assert lanes.ntree_awake[0, lane] == data.ntree_awake, told
        np.testing.assert_allclose(lanes.qpos[:, lane], data.qpos, atol=1e-6, err_msg=told)
        np.testing.assert_allclose(lanes.act[:, lane], data.act, atol=1e-9, err_msg=told)
        np.testing.assert_allclose(lanes.sensordata[:, lane], data.sensordata, atol=1e-3, err_msg=told)
        assert (lanes.qvel[:, lane] == 0.0).tolist() == (data.qvel == 0.0).tolist(), told


@pytest.mark.parametrize("integrator", [kt.Integrator.EULER, kt.Integrator.IMPLICITFAST, kt.Integrator.RK4])
def test_worlds_fall_asleep_and_wake_alone(integrator):
    model, worlds = falling(integrator=integrator)
    lanes, seen = lanes_of(model, worlds), set()
    for round_ in range(80):
        if round_ == 60:
            lanes.qvel[0, 2] = worlds[2].qvel[0] = 0.5  # a push
        lanes.step(25)
        for data in worlds:
            kt.step(model, data, 25)
            seen.add(tuple(data.tree_asleep.tolist()))
        alike(lanes, worlds, f"round {round_}")
    assert len(seen) > 10 and any(max(asleep) >= 0 and min(asleep) < 0 for asleep in seen)


def test_a_world_that_is_reset_wakes_where_all_others_sleep():
    model, worlds = falling(3)
    lanes = lanes_of(model, [*worlds, worlds[0]])
    worlds.append(worlds[0].copy())
    lanes.step(4000)
    for data in worlds:
        kt.step(model, data, 4000)
    assert (lanes.tree_asleep[0] >= 0).all()
    lanes.qpos[0, 1] = worlds[1].qpos[0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lanes.step(20)
        for data in worlds:
            kt.step(model, data, 20)
    alike(lanes, worlds, "after a reset")
    out = kt.Data(model)
    for lane, data in enumerate(worlds):
        lanes.store(lane, out)
        for name in ("nv_awake", "nbody_awake", "ntree_awake"):
            assert getattr(out, name) == getattr(data, name), (lane, name)


SPHERES = slice(3)  # the trees that come to rest; the pendulum is driven


def asleep(own: bool) -> tuple[kt.Model, list[kt.Data], LaneData]:
    """Worlds on floats and on lanes whose spheres have all fallen asleep."""
    model, worlds = falling(4)
    for data in worlds:
        kt.step(model, data, 3000)
    assert all((data.tree_asleep[SPHERES] >= 0).all() for data in worlds)
    return model, worlds, lanes_of(model, worlds, models=[model] * 4 if own else None)


def test_a_world_wakes_when_its_model_is_another():
    model, worlds, lanes = asleep(own=True)
    changed = copy.copy(model)
    kt.set_const(changed)
    lanes.set_model(0, changed)
    lanes.step()
    for lane, data in enumerate(worlds):
        kt.step(changed if lane == 0 else model, data)
        assert lanes.tree_asleep[:, lane].tolist() == data.tree_asleep.tolist(), f"world {lane}"
    assert (lanes.tree_asleep[:, 0] < 0).all() and (lanes.tree_asleep[SPHERES, 1:] >= 0).all()


def test_constants_of_the_shared_model_wake_worlds_that_share_it():
    for own in (False, True):
        model, _, lanes = asleep(own)
        kt.set_const(model)
        lanes.step()
        assert (lanes.tree_asleep[SPHERES] < 0).all() != own


def test_a_world_of_another_model_arrives_as_it_is():
    model, worlds = falling(2)
    heavier = FALLING.replace("</mujoco>", SENSED).replace('condim="1"', 'condim="1" mass="2"')
    other = tight(kt.load(heavier))
    sleeper = kt.Data(other)
    kt.step(other, sleeper, 3000)
    assert (sleeper.tree_asleep[SPHERES] >= 0).all()
    lanes = LaneData(model, 2, own=True)
    lanes.set_model(1, other)
    lanes.load(1, sleeper)
    both = lanes_of(model, [worlds[0], sleeper], models=[model, other])
    for each in (lanes, both):
        assert each.tree_asleep[:, 1].tolist() == sleeper.tree_asleep.tolist()
        each.step(3)
        assert (each.tree_asleep[SPHERES, 1] >= 0).all() and (each.tree_asleep[:, 0] < 0).all()
    out = kt.Data(other)
    both.store(1, out)
    kt.step(other, out)
    assert (out.tree_asleep[SPHERES] >= 0).all()


def test_warnings_count_once_where_others_fall_asleep():
    model, worlds = falling()
    worlds[5].ctrl[:] = np.nan
    lanes = lanes_of(model, worlds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lanes.step(1500)
        for data in worlds:
            kt.step(model, data, 1500)
    assert lanes.warning_number.T.tolist() == [data.warning_number.tolist() for data in worlds]


def test_a_handler_of_warnings_may_step_the_same_worlds():
    """As on floats: steps that a handler makes with a state that is still bad warn again, and the reset comes after it."""
    model, worlds = standing()
    worlds[5].qvel[3] = np.nan
    lanes, single = lanes_of(model, worlds), worlds[5]

    def told(advance):
        inside = []

        def handler(*arguments, **more):
            inside.append(arguments)
            if len(inside) == 1:
                advance(2)

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = handler
            advance(10)
        return len(inside)

    assert told(lanes.step) == told(lambda count: kt.step(model, single, count)) == 2
    assert np.isfinite(lanes.qpos).all() and lanes.time[0, 5] == single.time
    np.testing.assert_allclose(lanes.qpos[:, 5], single.qpos, atol=LANES_SOLVED)
    np.testing.assert_allclose(lanes.time[0, 0], worlds[0].time + 12 * model.opt.timestep)
    assert lanes.warning_number[:, 5].tolist() == single.warning_number.tolist()


KINETIC = """
<mujoco>
  <option><flag energy="enable"/></option>
  <worldbody>
    <body><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/>
      <body pos="0.3 0 0"><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 0 0.2 0.1" size="0.04"/></body></body>
  </worldbody>
  <actuator><general joint="a" gainprm="0.1"/></actuator>
  <sensor><e_kinetic/></sensor>
</mujoco>
"""


def test_a_pass_made_again_finds_what_the_first_one_found():
    """The sensor of the kinetic energy reads that of the pass before, not that of a pass undone."""
    model, rng, worlds = kt.load(KINETIC), np.random.default_rng(1), []
    for _ in range(WIDTH):
        data = kt.Data(model)
        data.qvel[:] = rng.normal(size=model.nv)
        kt.step(model, data, 20)
        worlds.append(data)
    worlds[5].qfrc_applied[0] = np.nan
    lanes = lanes_of(model, worlds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lanes.step(1)
        for lane, data in enumerate(worlds):
            kt.step(model, data)
            np.testing.assert_allclose(lanes.sensordata[:, lane], data.sensordata, rtol=1e-12, err_msg=f"world {lane}")
            np.testing.assert_allclose(lanes.energy[:, lane], data.energy, rtol=1e-12, err_msg=f"world {lane}")


def told_by(advance):
    """The warnings of a run."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        advance()
    return [str(each.message) for each in told]


def test_warnings_of_steps_before_a_reset_are_told():
    """World 3 has a bad control on its way through a delay; that of world 5, one step later, is too large to bear."""
    delayed = KINETIC.replace("<general", '<general nsample="4" delay="0.006"')
    model = kt.load(delayed)
    worlds = [kt.Data(model) for _ in range(WIDTH)]
    for world, control in ((3, np.nan), (5, 9e9)):
        worlds[world].ctrl[:] = control
        for data in worlds:
            kt.step(model, data)
            data.ctrl[:] = 0.0
    single, upset = worlds[3].copy(), worlds[5].copy()
    lanes = lanes_of(model, worlds)
    told = told_by(lambda: lanes.step(30))
    wanted = {3: told_by(lambda: kt.step(model, single, 30)), 5: told_by(lambda: kt.step(model, upset, 30))}
    assert any("ctrl" in text for text in wanted[3]) and any("reset" in text for text in wanted[5])
    for lane in range(WIDTH):
        own = [text.split(": ", 1)[1].split(" at time")[0] for text in told if text.startswith(f"world {lane}: ")]
        assert own == [text.split(" at time")[0] for text in wanted.get(lane, [])], f"world {lane}"


def test_a_warning_made_an_error_leaves_the_worlds_to_look_at():
    """As on floats: no world is reset behind an error that tells of another one, and the next call goes on."""
    model, worlds = standing()
    lanes = lanes_of(model, worlds)
    lanes.qvel[3, [2, 5]] = np.nan
    before = lanes.time.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", kt.SimulationWarning)
        with pytest.raises(kt.SimulationWarning, match="world 2"):
            lanes.step(3)
    assert np.isnan(lanes.qvel[3, [2, 5]]).all() and (lanes.time == before).all()
    told = told_by(lambda: lanes.step(3))
    assert [text.split(":")[0] for text in told] == ["world 2", "world 5"]
    assert lanes.warning_number[:, 0].sum() == 0 and np.isfinite(lanes.qpos).all()
    np.testing.assert_allclose(lanes.time[0, [2, 5]], 3 * model.opt.timestep)


HELD = """
<mujoco>
  <worldbody>
    <body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/></body>
    <body name="b" pos="0.5 0 1"><freejoint/><geom size="0.1"/></body>
    <body pos="1 0 1"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size="0.05"/></body>
  </worldbody>
  <equality><weld body1="a"/><connect body1="a" body2="b" anchor=".2 0 0"/><joint joint1="j"/></equality>
</mujoco>
"""


@pytest.mark.parametrize("solver", [kt.Solver.NEWTON, kt.Solver.CG, kt.Solver.PGS])
def test_equalities_are_on_or_off_in_each_world(solver):
    model = tight(kt.load(HELD))
    model.opt.solver = solver
    worlds = [kt.Data(model) for _ in range(WIDTH)]
    for k, data in enumerate(worlds):
        data.eq_active[:] = [k & 1, k & 2, k & 4]
    lanes = lanes_of(model, worlds)
    lanes.step(50)
    for lane, data in enumerate(worlds):
        kt.step(model, data, 50)
        np.testing.assert_allclose(lanes.qpos[:, lane], data.qpos, atol=1e-6, err_msg=f"lane {lane}")
    lanes.reset(3)
    assert lanes.eq_active[:, 3].all() and not lanes.eq_active[:, 0].any()


ONE_HAS_IT = {
    "dof_frictionloss": 0.3, "dof_damping": 0.5, "dof_armature": 0.1, "jnt_stiffness": 4.0, "sensor_cutoff": 0.01,
    "geom_margin": 0.02, "geom_gap": 0.01, "body_gravcomp": 0.5, "geom_solmix": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("name", [*ONE_HAS_IT, "density", "viscosity"])
def test_one_world_has_what_others_lack(name):
    model = tight(kt.load("humanoid"))
    worlds, models = moving(model, WIDTH, every=2), []
    for k in range(WIDTH):
        own = copy.copy(model)
        if k == 3 and name in ONE_HAS_IT:
            getattr(own, name)[...] = ONE_HAS_IT[name]
        elif k == 3:
            setattr(own.opt, name, 1.2)
        elif name in ONE_HAS_IT and name != "geom_solmix":
            getattr(own, name)[...] = 0.0
        models.append(own)
    lanes = lanes_of(model, worlds, models=models)
    lanes.step()
    for lane, (own, data) in enumerate(zip(models, worlds, strict=True)):
        compare(model, {n: lanes.arrays[n][..., lane] for n in COMPARED}, stepped(own, data), f"{name} lane {lane}")


def test_options_that_worlds_share_follow_the_model():
    model, worlds = standing()
    lanes = lanes_of(model, worlds, models=[model] * WIDTH)
    model.opt.integrator = kt.Integrator.RK4
    lanes.set_model(2, model)
    lanes.step(3)
    kt.step(model, worlds[2], 3)
    np.testing.assert_allclose(lanes.qpos[:, 2], worlds[2].qpos, atol=1e-9)
    model.qpos0[:] = 9.0  # not that of the world, which took the numbers as they were
    lanes.reset(2)
    assert not (lanes.qpos[:, 2] == 9.0).any()


def test_integers_and_flags_are_those_of_the_model():
    """Worlds with numbers of their own follow edits of all else, as worlds that share the model do."""
    model, worlds = standing()
    lanes = lanes_of(model, worlds, models=[model] * WIDTH)
    model.jnt_limited[:] = False
    model.geom_condim = np.ones(model.ngeom, int)
    lanes.set_model(2, model)
    lanes.step(3)
    for lane, data in enumerate(worlds):
        kt.step(model, data, 3)
        np.testing.assert_allclose(lanes.qpos[:, lane], data.qpos, atol=1e-9, err_msg=f"lane {lane}")


def test_worlds_share_all_but_real_numbers():
    model = kt.load("humanoid")
    lanes = LaneData(model, WIDTH, own=True)
    for lane in range(WIDTH):
        lanes.set_model(lane, model)
        for name, field in MODEL_FIELDS.items():
            if field.dims and not field.per_world and model._arrays[name].size:
                assert np.shares_memory(lanes.models.of(lane)._arrays[name], model._arrays[name]), name


def test_a_model_whose_counts_were_derived_anew_is_like_the_others():
    model = kt.load("humanoid")
    other = copy.copy(model)
    other.body_gravcomp[3] = 1.0
    kt.set_const(other)
    assert other.ngravcomp != model.ngravcomp
    worlds = moving(model, 2)
    lanes = lanes_of(model, worlds, models=[model, other])
    lanes.step()
    for lane, (own, data) in enumerate(zip((model, other), worlds, strict=True)):
        kt.step(own, data)
        np.testing.assert_allclose(lanes.qvel[:, lane], data.qvel, atol=1e-8, err_msg=f"lane {lane}")


def test_bad_arguments_are_named():
    model, worlds = standing(2)
    lanes, shared = LaneData(model, 2, own=True), LaneData(model, 2)
    for wrong, error in ((-1, IndexError), (2, IndexError), (True, TypeError), ("x", TypeError), (0.5, TypeError)):
        with pytest.raises(error, match="lane"):
            lanes.set_model(wrong, model)
        with pytest.raises(error, match="lane"):
            lanes.reset(wrong)
    with pytest.raises(TypeError, match="Model"):
        lanes.set_model(0, worlds[0])
    with pytest.raises(TypeError, match="own=True"):
        shared.set_model(0, model)
    with pytest.raises(ValueError, match="2 worlds need as many models, got 1"):
        lanes_of(model, worlds, models=[model])
    for wrong in (-1, True, 1.0, "2"):
        with pytest.raises(ValueError, match="nstep"):
            shared.step(wrong)
