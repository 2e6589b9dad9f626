"""Every stage runs from the same source on floats, strict reals, SIMD lanes, plain Python and symbols, with one result."""

from __future__ import annotations

import functools

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.states import copy_state, random_state
from kinetree.conformance.tolerances import MACHINES, MACHINES_SOLVED
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import REAL
from kinetree.kernel import STAGES, interpret, symbolic_record
from kinetree.kernel.code import reach
from kinetree.types import SensorType, WrapType
from tests.corpora import own_models
from tests.trees import random_tree

# Precision, worlds, and whether each has parameters of its own.
LANES = {
    "8 x float64": ("float64", 8, False), "4 x float64": ("float64", 4, False), "1 x float64": ("float64", 1, False),
    "16 x float32": ("float32", 16, False), "1 x float32": ("float32", 1, False),
    "8 x float64 own": ("float64", 8, True), "16 x float32 own": ("float32", 16, True),
}  # fmt: skip
# Stages that between them run all others.
WHOLE = (
    kt.fwd_position,
    pipeline.forward,
    pipeline.integrate,
    pipeline.inverse,
    pipeline.aba,
    pipeline.damping,
    pipeline.damping_diagonal,
    kt.rne_post_constraint,
    kt.compare_fwd_inv,
)
RUNS = [(stage, "8 x float64") for stage in WHOLE]
RUNS += [(stage, machine) for stage in (pipeline.forward, pipeline.integrate)
         for machine in ("16 x float32", "1 x float32", "8 x float64 own", "16 x float32 own")]  # fmt: skip
RUNS += [(kt.kinematics, machine) for machine in LANES]
NAMES = ("joints", "cameras", "mocap", "massless", "frames", "humanoid", "tendons", "actuators", "passive", "sensors")
SOURCES = {path.stem: path for _, path in own_models() if path.stem in NAMES}
SOURCES |= {f"tree{seed}": random_tree(seed, nbody=8) for seed in (1, 2)}
# Sensors of what is met first or is nearest, one geom or another: no expression says which.
NEAREST = (SensorType.RANGEFINDER, SensorType.GEOMDIST, SensorType.GEOMNORMAL, SensorType.GEOMFROMTO)
REALS = [name for name, field in DATA_FIELDS.items() if field.dtype == REAL]


@functools.cache
def load(name):
    """A model without constraints, whose rows on lanes are those of all worlds: they have tests of their own."""
    model = kt.load(SOURCES[name])
    model.opt.disableflags = kt.DisableBit.CONSTRAINT
    return model


def world(model, seed):
    """A Data in a seeded random state, with the fields that each stage needs already computed; one's own to change."""
    return computed(model, seed).copy()


@functools.cache
def computed(model, seed):
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    random_state(mj, np.random.default_rng(seed), theirs)
    data = kt.Data(model)
    copy_state(theirs, data)
    pipeline.forward(model, data)
    return data


# What went through a factor of M, directly or as an acceleration; and GJK, whose directions are ever shorter differences.
SOLVED = {
    "qLD", "qLDiagInv", "qacc", "qacc_smooth", "qacc_warmstart", "saved_acc", "qpos", "qvel", "qfrc_inverse", "aba_qacc",
    "cacc", "cfrc_int", "cfrc_ext", "sensordata", "sensor_fresh", "history",
}  # fmt: skip


def compare(model, got, wanted, dtype, machine):
    """Every real field, with model, field, index and both values in the message."""
    for name in REALS:
        tolerance = (MACHINES_SOLVED if name in SOLVED else MACHINES)[dtype]
        a, b = np.asarray(got[name], float), np.asarray(wanted[name], float)
        if a.size:
            error = np.abs(a - b) / np.maximum(1.0, np.abs(b).max())
            at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
            assert error[at] <= tolerance, f"{model.title} on {machine}: {name}{list(at)} is {a[at]}, on floats {b[at]}"


def test_the_runs_reach_every_stage():
    """A stage that no run reaches would go untested on lanes."""
    reached, todo = set(), [stage for stage, _ in RUNS]
    while todo:
        stage = todo.pop()
        if stage.stage_index not in reached:
            reached.add(stage.stage_index)
            todo += reach(stage.kernel)[1]
    missed = [s.__name__ for s in STAGES if s.__module__.startswith("kinetree.") and s.stage_index not in reached]
    # parts of steps with callbacks, of resets, and wrenches of contacts: all asked for one world at a time
    assert sorted(missed) == ["contact_wrenches", "lie_down", "rne_inverse"], missed


@pytest.mark.parametrize("model_name", SOURCES)
@pytest.mark.parametrize("stage, machine", RUNS, ids=lambda x: getattr(x, "__name__", x))
def test_lanes_equal_floats(stage, machine, model_name):
    model = load(model_name)
    dtype, width, own = LANES[machine]
    worlds = [world(model, seed) for seed in range(width)]
    lanes = lanes_of(model, worlds, dtype, [model] * width if own else None)
    lanes.run(stage)
    out = kt.Data(model)
    for lane, data in enumerate(worlds):
        stage(model, data)
        lanes.store(lane, out)
        compare(model, out._arrays, data._arrays, dtype, machine)


@pytest.mark.parametrize("model_name", SOURCES)
@pytest.mark.parametrize("stage", WHOLE, ids=lambda s: s.__name__)
def test_plain_python_equals_floats(stage, model_name):
    model = load(model_name)
    compiled, plain = world(model, 5), world(model, 5)
    stage(model, compiled)
    interpret(stage, model.record(), plain.record())
    compare(model, plain._arrays, compiled._arrays, "float64", "plain Python")


def without_rays(model_name):
    """The model less rangefinders, distances, and how far something sticks out of a site."""
    spec = mujoco.MjSpec.from_file(str(SOURCES[model_name]))
    for sensor in list(spec.sensors):
        enclosed = int(sensor.type) == kt.types.SensorType.INSIDESITE and sensor.intprm[0] != 0
        if int(sensor.type) in NEAREST or enclosed:
            spec.delete(sensor)
    spec.option.disableflags |= int(kt.DisableBit.CONSTRAINT)
    return kt.load(spec)


@pytest.mark.parametrize("model_name", SOURCES)
@pytest.mark.parametrize("stage", (kt.fwd_position, pipeline.forward), ids=lambda s: s.__name__)
def test_symbols_equal_floats(stage, model_name):
    model = without_rays(model_name) if model_name == "sensors" else load(model_name)
    data = world(model, 7)
    symbols = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "mocap_pos", "mocap_quat")
    inputs = {name: casadi.SX.sym(name, getattr(data, name).size) for name in symbols}
    record = symbolic_record(data, **inputs)
    interpret(stage, symbolic_record(model), record)
    fields = {name: casadi.vertcat(*getattr(record, name).ravel()) for name in REALS if getattr(record, name).size}
    function = casadi.Function("stage", list(inputs.values()), list(fields.values()))
    values = function(*(getattr(data, name).ravel() for name in inputs))
    stage(model, data)
    got = {name: np.asarray(v).reshape(data._arrays[name].shape) for name, v in zip(fields, values, strict=True)}
    if np.isin(model.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER)).any():
        got["wrap_xpos"] = data.wrap_xpos  # not compared: a symbolic path leaves out the geoms that it touches
    empty = {name: data._arrays[name] for name in REALS if name not in got}
    compare(model, {**got, **empty}, data._arrays, "float64", "symbols")


def test_symbolic_jacobian_equals_motion_axes():
    """The derivative of a body's position with respect to a hinge angle is the linear part of its motion axis."""
    model = load("humanoid")
    data = world(model, 3)
    q = casadi.SX.sym("q", model.nq)
    record = symbolic_record(data, qpos=q)
    interpret(kt.fwd_position, symbolic_record(model), record)
    for j in np.flatnonzero(model.jnt_type == kt.JointType.HINGE):
        body, a, v = model.jnt_bodyid[j], model.jnt_qposadr[j], model.jnt_dofadr[j]
        position = casadi.vertcat(*record.xpos[body])
        slope = casadi.Function("slope", [q], [casadi.jacobian(position, q[int(a)])])(data.qpos)
        np.testing.assert_allclose(
            np.asarray(slope).ravel(), data.cdof[v, 3:], atol=1e-12, err_msg=model.name("joint", j)
        )


def test_a_symbol_stands_for_a_model_parameter():
    """Masses as symbols: the derivative of the total mass is one for every body."""
    model = load("humanoid")
    masses = casadi.SX.sym("mass", model.nbody)
    record = symbolic_record(kt.Data(model))
    interpret(kt.fwd_position, symbolic_record(model, body_mass=masses), record)
    slope = casadi.jacobian(record.subtree_mass[0], masses)
    np.testing.assert_array_equal(np.asarray(casadi.Function("f", [masses], [slope])(model.body_mass)), 1.0)


def test_symbols_of_the_wrong_size_or_name_are_refused():
    data = kt.Data(load("humanoid"))
    with pytest.raises(ValueError, match="qpos: expected"):
        symbolic_record(data, qpos=casadi.SX.sym("q", 3))
    with pytest.raises(KeyError, match="qpso"):
        symbolic_record(data, qpso=casadi.SX.sym("q", 3))
    with pytest.raises(TypeError, match="records"):
        interpret(kt.kinematics, data.model, data)
