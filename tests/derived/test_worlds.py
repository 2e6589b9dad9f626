"""Numbers of their own for worlds on lanes: written, checked, and what follows from them derived for all at once."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.constants import rederive
from kinetree.batch.lanes import LaneData, lanes_of
from kinetree.batch.models import DECIDING, OPTIONS, OWN
from kinetree.conformance.tolerances import DERIVED_INERTIA, DERIVED_POSE, DERIVED_SINGLE
from kinetree.derived.table import DERIVED, INERTIA
from kinetree.errors import ModelError
from tests.derived.edits import everything
from tests.pipeline.worlds import loaded, moving, stepped
from tests.test_own_worlds import COMPARED, compare, tight

WIDTH = 8
MODELS = (
    "tests/models/actuators.xml",
    "tests/models/tendons.xml",
    "tests/models/equalities.xml",
    "kinetree/models/humanoid.xml",
)


def with_values(model: kt.Model, values: dict[str, np.ndarray], lane: int) -> kt.Model:
    """The model that a world must have, by MuJoCo."""
    out = copy.copy(model)
    for name, numbers in values.items():
        if name.startswith("opt_"):
            setattr(out.opt, name[4:], numbers[lane])
        else:
            getattr(out, name)[...] = numbers[lane]
    kt.set_const(out)
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_constants_of_each_world_are_those_of_a_model_of_its_own(name, dtype):
    model, width = loaded(name), WIDTH if dtype == "float64" else 2 * WIDTH
    lanes = LaneData(model, width, dtype, own=True)
    values = everything(model, np.random.default_rng(1), width)
    lanes.set_parameters(values)
    for lane in range(width):
        wanted = with_values(model, values, lane)
        for field, group in DERIVED.items():
            a, b = lanes.models.numbers[field][..., lane], wanted._arrays[field]
            limit = DERIVED_SINGLE if dtype == "float32" else DERIVED_INERTIA if group == INERTIA else DERIVED_POSE
            if b.size:
                error = np.abs(a - b).max()
                assert error <= limit * max(np.abs(b).max(), 1e-30), f"{field} in world {lane}: off by {error}"


@pytest.mark.parametrize("name", MODELS)
def test_worlds_move_as_with_models_of_their_own(name):
    model = tight(loaded(name))
    worlds = moving(model, WIDTH, every=2)
    values = everything(model, np.random.default_rng(3), WIDTH, by=0.02)
    values["opt_timestep"] = model.opt.timestep * np.linspace(0.9, 1.1, WIDTH)
    values["opt_gravity"] = model.opt.gravity + 0.1 * np.random.default_rng(4).normal(size=(WIDTH, 3))
    models = [with_values(model, values, lane) for lane in range(WIDTH)]
    for own, data in zip(models, worlds, strict=True):
        data._adopt(own)
    lanes = lanes_of(model, worlds, models=[model] * WIDTH)
    lanes.set_parameters(values)
    lanes.run(kt.pipeline.forward)
    lanes.run(kt.pipeline.integrate)
    for lane, (own, data) in enumerate(zip(models, worlds, strict=True)):
        compare(model, {n: lanes.arrays[n][..., lane] for n in COMPARED}, stepped(own, data), f"lane {lane}")


@pytest.mark.parametrize("name", MODELS)
def test_constants_of_a_world_do_not_hang_on_its_lane_or_its_neighbours(name):
    model, rng = loaded(name), np.random.default_rng(6)
    values, others = everything(model, rng, WIDTH), everything(model, rng, WIDTH)
    order = rng.permutation(WIDTH)
    first, second, third = (LaneData(model, WIDTH, own=True) for _ in range(3))
    first.set_parameters(values)
    second.set_parameters({field: numbers[order] for field, numbers in values.items()})
    for field, numbers in others.items():
        numbers[2] = values[field][5]
    third.set_parameters(others)
    for field in DERIVED:
        numbers = first.models.numbers[field]
        np.testing.assert_array_equal(second.models.numbers[field], numbers[..., order], err_msg=field)
        np.testing.assert_array_equal(third.models.numbers[field][..., 2], numbers[..., 5], err_msg=field)


SEPARATE = """
<mujoco>
  <option density="1.2"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" size=".1" margin=".02" gap=".01"/></body>
    <body pos="1 0 1"><joint name="j" axis="0 1 0" damping=".1"/>
      <geom name="egg" type="ellipsoid" size=".1 .05 .03" pos=".2 0 0" fluidshape="ellipsoid"/></body>
  </worldbody>
  <actuator><position joint="j" kp="3"/><motor joint="j"/></actuator>
  <sensor><jointvel joint="j"/></sensor>
</mujoco>
"""
ONE_HAS_IT = {
    "body_gravcomp": 0.5, "geom_surfacevel": 0.3, "geom_adhesion": 2.0, "actuator_armature": 0.2, "actuator_damping": 0.4,
    "dof_armature": 0.1,
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_HAS_IT)
def test_one_world_has_what_the_model_and_the_others_lack(name):
    model = tight(kt.load(SEPARATE))
    worlds, old = moving(model, WIDTH, every=2), getattr(model, name)
    values = {name: np.zeros((WIDTH, *old.shape))}
    values[name][3] = ONE_HAS_IT[name]
    lanes, plain = lanes_of(model, worlds, models=[model] * WIDTH), lanes_of(model, worlds, models=[model] * WIDTH)
    lanes.set_parameters(values)
    lanes.step()
    plain.step()
    for lane, data in enumerate(worlds):
        got = {n: lanes.arrays[n][..., lane] for n in COMPARED}
        compare(model, got, stepped(with_values(model, values, lane), data.copy()), f"{name} lane {lane}")
        for field in COMPARED:
            assert lane == 3 or np.array_equal(got[field], plain.arrays[field][..., lane]), (
                f"{name}: {field} of world {lane}"
            )
    assert not np.array_equal(lanes.qvel[:, 3], plain.qvel[:, 3])


def test_the_model_of_a_world_follows_what_was_written():
    model = kt.load("humanoid")
    lanes = LaneData(model, WIDTH, own=True)
    values = everything(model, np.random.default_rng(8), WIDTH)
    values["opt_timestep"] = np.linspace(0.001, 0.002, WIDTH)
    lanes.set_parameters(values)
    before = lanes.models.of(4)
    for field, numbers in values.items():
        if not field.startswith("opt_"):
            np.testing.assert_array_equal(before._arrays[field], numbers[4], err_msg=field)
    assert before.opt.timestep == values["opt_timestep"][4]
    lanes.reset(4)
    np.testing.assert_array_equal(lanes.qpos[:, 4], values["qpos0"][4])
    data = kt.Data(model)
    lanes.step(3)
    lanes.store(4, data)
    own = kt.Data(lanes.models.of(4))
    kt.step(lanes.models.of(4), own, 3)
    np.testing.assert_allclose(data.qpos, own.qpos, atol=1e-10)
    lanes.set_parameters({"body_mass": values["body_mass"] * 1.1})
    assert lanes.models.of(4) is not before and lanes.models.of(4)._constant("edition") != before._constant("edition")


def test_a_world_takes_a_model_after_others_were_written():
    model = kt.load("humanoid")
    lanes = LaneData(model, WIDTH, own=True)
    lanes.set_parameters({"geom_pos": np.repeat(model.geom_pos[None], WIDTH, axis=0) + 0.01})
    other = copy.copy(model)
    other.geom_pos[:] *= 1.1
    kt.set_const(other)
    lanes.set_model(2, other)
    for field in DERIVED:
        np.testing.assert_array_equal(lanes.models.numbers[field][..., 2], other._arrays[field])
    lanes.run(kt.kinematics)
    data = kt.Data(other)
    kt.kinematics(other, data)
    np.testing.assert_allclose(lanes.geom_xpos[..., 2], data.geom_xpos, atol=1e-12)


def test_nothing_is_derived_from_what_nothing_follows_from():
    model = kt.load("humanoid")
    lanes, scratch = LaneData(model, WIDTH, own=True), LaneData(model, WIDTH, own=True)
    scratch.qpos[:] = 3.0
    assert rederive(lanes.models, scratch, ["geom_friction", "opt_gravity", "jnt_range"]) == ()
    assert (scratch.qpos == 3.0).all()
    assert "dof_M0" in rederive(lanes.models, scratch, ["dof_armature"])
    assert "geom_rbound" not in rederive(lanes.models, scratch, ["dof_armature"])


def test_every_real_field_that_may_be_edited_can_be_written():
    model = loaded("kinetree/models/humanoid.xml")
    lanes = LaneData(model, WIDTH, own=True)
    for name in (*OWN, *OPTIONS):
        try:
            numbers = lanes.models.array(name)
        except AttributeError:
            assert name == "wrap_prm"
            continue
        values = np.moveaxis(numbers, -1, 0)
        lanes.models.write(name, values.reshape(WIDTH, *values.shape[1:]))


def test_the_dtype_of_a_world_is_kept():
    model = kt.load("humanoid")
    lanes = LaneData(model, 16, "float32", own=True)
    with pytest.raises(ValueError, match=r"body_mass\[0, 1\] is 1e\+300, which does not fit float32"):
        lanes.set_parameters({"body_mass": np.full((16, model.nbody), 1e300) * (np.arange(model.nbody) > 0)})


SERVO = """
<mujoco>
  <worldbody>
    <body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
    <body name="free"><freejoint/><geom size=".1"/></body>
  </worldbody>
  <actuator><dcmotor joint="j" motorconst="0.05" resistance="1"/></actuator>
  <sensor><jointpos joint="j" nsample="4" delay="0.004"/></sensor>
</mujoco>
"""


def test_what_worlds_share_is_refused():
    model = kt.load(SERVO)
    lanes = LaneData(model, 2, own=True)
    two = lambda name, **put: np.repeat(getattr(model, name)[None], 2, axis=0)  # noqa: E731
    delay = two("sensor_delay")
    delay[1] = 0.0
    with pytest.raises(ValueError, match="sensor_delay is zero"):
        lanes.set_parameters({"sensor_delay": delay})
    delay[1] = 0.008
    lanes.set_parameters({"sensor_delay": delay})
    moved = two("body_ipos")
    moved[0, 2] = 0.1
    with pytest.raises(ValueError, match="simple"):
        lanes.set_parameters({"body_ipos": moved})
    moved[0, 2], moved[0, 1] = 0.0, 0.2
    lanes.set_parameters({"body_ipos": moved})
    light = two("body_mass")
    light[1, 2] = 0.0
    with pytest.raises(ModelError, match=r"body 2|free"):
        lanes.set_parameters({"body_mass": light})
    for wrong, values, error, words in (
        ("body_mas", light, AttributeError, "body_mass"),
        ("geom_type", np.zeros((2, model.ngeom)), AttributeError, "shared by all worlds"),
        ("opt_iterations", [1, 2], AttributeError, "shared by all worlds"),
        ("body_mass", light[0], ValueError, "shape"),
        ("body_mass", 1.0, ValueError, "shape"),
        ("body_mass", light * np.nan, ValueError, "nan"),
        ("opt_timestep", "x", TypeError, "numbers"),
    ):
        with pytest.raises(error, match=words):
            lanes.set_parameters({wrong: values})
    with pytest.raises(TypeError, match="own=True"):
        LaneData(model, 2).set_parameters({"body_mass": two("body_mass")})
    with pytest.raises(TypeError, match="2 worlds with parameters"):
        rederive(lanes.models, LaneData(model, 2), ["body_mass"])
    with pytest.raises(TypeError, match="2 worlds with parameters"):
        rederive(lanes.models, LaneData(model, 4, own=True), ["body_mass"])


def test_a_refusal_leaves_everything_as_it_was():
    model = kt.load("humanoid")
    lanes = LaneData(model, 2, own=True)
    before = {name: numbers.copy() for name, numbers in lanes.models.numbers.items()}
    mass = np.repeat(model.body_mass[None], 2, axis=0)
    with pytest.raises(ValueError, match="nan"):
        lanes.set_parameters({"body_mass": mass * 2.0, "dof_armature": np.full((2, model.nv), np.nan)})
    for name, numbers in lanes.models.numbers.items():
        np.testing.assert_array_equal(numbers, before[name], err_msg=name)


def test_all_that_decides_is_checked():
    model = kt.load("humanoid")
    lanes = LaneData(model, 2, own=True)
    assert set(DECIDING) - {"wrap_prm"} <= set(OWN)
    for name in set(DECIDING) - {"wrap_prm"}:
        numbers = np.moveaxis(lanes.models.array(name), -1, 0)
        lanes.models.write(name, numbers)


def test_what_is_no_number_is_told():
    model = kt.load(SEPARATE)
    sizes = np.repeat(model.geom_size[None], WIDTH, axis=0)
    sizes[6, 2, 0] = 0.0
    with pytest.raises(ModelError, match="world 6: set_const gives model.geom_fluid"):
        LaneData(model, WIDTH, own=True).set_parameters({"geom_size": sizes})


def test_worlds_that_sleep_wake():
    model = kt.load(SEPARATE.replace('density="1.2"/>', 'density="1.2"><flag sleep="enable"/></option>'))
    lanes = LaneData(model, WIDTH, own=True)
    lanes.arrays["tree_asleep"][0] = 0
    lanes._listed = False
    lanes.run(kt.pipeline.update_sleep)
    assert (lanes.ntree_awake == model.ntree - 1).all()
    lanes.set_parameters({"body_mass": np.repeat(model.body_mass[None], WIDTH, axis=0)})
    lanes.step()
    assert (lanes.ntree_awake == model.ntree).all()


def test_a_copy_has_numbers_of_its_own():
    model, rng = kt.load("humanoid"), np.random.default_rng(9)
    lanes, scratch = LaneData(model, WIDTH, own=True), LaneData(model, WIDTH, own=True)
    values, others = everything(model, rng, WIDTH), everything(model, rng, WIDTH)
    values["opt_density"], others["opt_density"] = rng.uniform(1.0, 2.0, (2, WIDTH))
    lanes.set_parameters(values)
    twin = copy.copy(lanes.models)
    for numbers, each in ((values, twin), (others, lanes.models)):
        for name in each.numbers:
            assert not np.shares_memory(lanes.models.numbers[name], twin.numbers[name]), name
        for name, new in numbers.items():
            each.write(name, new)
        rederive(each, scratch, numbers)
    for lane in (0, 7):
        for numbers, each in ((values, twin), (others, lanes.models)):
            np.testing.assert_array_equal(each.of(lane).body_mass, numbers["body_mass"][lane])
            assert each.of(lane).opt.density == numbers["opt_density"][lane]
            for name, field in OWN.items():
                if field.dims and name not in numbers:
                    np.testing.assert_allclose(each.of(lane)._arrays[name], each.numbers[name][..., lane], err_msg=name)
    assert twin.tables[0, 0] == lanes.models.tables[0, 0] and not (twin.tables == lanes.models.tables).all()
