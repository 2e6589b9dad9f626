"""The controller on every machine: lanes with gains and targets of their own, symbols, plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import STABLE_PD_SINGLE
from kinetree.control.arrays import FIELDS, Arrays, entry, run
from kinetree.control.forward import COUPLED, DOUBTFUL, evaluate, run_evaluate
from kinetree.control.solvers import SOLVERS
from kinetree.kernel import symbolic_record
from kinetree.kernel.stage import plain
from tests.control.reference import Problem, controller, problem
from tests.control.side_by_side import step_all
from tests.trees import random_tree

TREE = random_tree(2, nbody=8)
DRIVEN = """<mujoco><option><flag contact="disable"/></option><worldbody><body><joint name="a" type="ball" damping=".1"/>
  <geom size=".1" pos=".1 0 .3"/>
  <body pos="0 .1 .4"><joint name="b" axis="1 .2 0" stiffness="2"/><geom size=".1" pos="0 .1 .2"/>
  <body pos="0 0 .3"><joint name="c" type="slide" axis="0 1 1"/><geom size=".08"/></body></body></body></worldbody>
  <actuator><motor joint="b" gear="2"/><position joint="c" kp="5"/></actuator></mujoco>"""
SOURCES = {"tree": TREE, "driven": DRIVEN}


def worlds(source: str, count: int) -> list[Problem]:
    """Problems of one model that differ in state, gains and target."""
    model = None
    out = []
    for seed in range(count):
        p = problem(SOURCES[source], seed, speed=0.3)
        model = model or problem(SOURCES[source], 0).model
        data = kt.Data(model)
        data.set_state(p.data.get_state())
        out.append(p._replace(model=model, data=data))
    return out


def lane_arrays(problems: list[Problem], solver: str, limit: float | None, dtype: str) -> Arrays:
    """The arrays of all worlds side by side."""
    model = problems[0].model
    arrays = Arrays(model, solver == "dense", len(problems), dtype)
    for lane, p in enumerate(problems):
        single = controller(p, torque_limit=limit)
        for name in ("kp", "kd", "torque_range"):
            arrays[name][..., lane] = single._arrays[name]
        arrays["target"][..., lane] = p.target
    for name in ("limited", "model_step"):
        arrays[name] = single._arrays[name]
    arrays["solver"], arrays["solves"] = SOLVERS.index(solver), 100
    return arrays


@pytest.mark.parametrize("limit", [None, 4.0], ids=["free", "limited"])
@pytest.mark.parametrize("solver, dtype, width", [
    ("maba", "float64", 8), ("sparse", "float64", 8), ("dense", "float64", 8), ("maba", "float32", 16),
    ("sparse", "float32", 16), ("dense", "float32", 16), ("maba", "float32", 1),
    pytest.param("maba", "float64", 1, marks=pytest.mark.soak),
])  # fmt: skip
@pytest.mark.parametrize("source", SOURCES)
def test_lanes_equal_floats(source, solver, dtype, width, limit):
    problems = worlds(source, width)
    model, tolerance = problems[0].model, {"float64": 1e-9, "float32": STABLE_PD_SINGLE}[dtype]
    arrays, lanes = lane_arrays(problems, solver, limit, dtype), lanes_of(model, [p.data for p in problems], dtype)
    assert entry(run_evaluate, lanes.machine, model)(model.address, lanes.address, arrays.address) == 0
    assert arrays["unsettled"] == 0
    for lane, p in enumerate(problems):
        spd = controller(p, solver=solver, torque_limit=limit)
        for name, wanted in (
            ("torque", spd.torque(p.data, p.target)),
            ("acceleration", spd.acceleration(p.data, p.target)),
        ):
            got = arrays[name][..., lane]
            error = np.abs(got - wanted).max() / max(1.0, np.abs(wanted).max())
            assert error <= tolerance, (
                f"{model.title} {solver} {dtype} x {width} lane {lane} {name}: {got} against {wanted}"
            )
    if limit is not None:
        at_limit = (np.abs(arrays["torque"]) == limit).any(axis=0)
        assert at_limit.any()


def test_steps_on_lanes():
    problems = worlds("driven", 8)
    model = problems[0].model
    arrays, lanes = lane_arrays(problems, "maba", 10.0, "float64"), lanes_of(model, [p.data for p in problems])
    assert step_all(lanes, arrays, 20) == 0
    for lane, p in enumerate(problems):
        controller(p, solver="maba", torque_limit=10.0).step(p.data, p.target, nstep=20)
        np.testing.assert_allclose(lanes.qpos[..., lane], p.data.qpos, atol=1e-10, err_msg=f"lane {lane}")


@pytest.mark.parametrize("field", ["qpos", "qvel", "qfrc_applied"])
def test_a_world_that_goes_bad_under_a_controller_is_reset_alone(field):
    problems = worlds("driven", 8)
    model = problems[0].model
    getattr(problems[3].data, field)[2] = np.nan
    arrays, lanes = lane_arrays(problems, "maba", 10.0, "float64"), lanes_of(model, [p.data for p in problems])
    with pytest.warns(kt.SimulationWarning, match="world 3.*the state is reset") as told:
        assert step_all(lanes, arrays, 20) == 0
    assert len(told) == 1
    for lane, p in enumerate(problems):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller(p, solver="maba", torque_limit=10.0).step(p.data, p.target, nstep=20)
        np.testing.assert_allclose(lanes.qpos[..., lane], p.data.qpos, atol=1e-10, err_msg=f"lane {lane}")
        assert lanes.warning_number[:, lane].tolist() == p.data.warning_number.tolist()
        assert lanes.time[0, lane] == pytest.approx(p.data.time)


def test_steps_on_lanes_say_what_must_be_seen_to_first():
    problems = worlds("driven", 8)
    model = problems[0].model
    arrays, lanes = lane_arrays(problems, "maba", 10.0, "float64"), lanes_of(model, [p.data for p in problems])
    began = lanes.time.copy()
    arrays["target"][1, 5] = np.nan
    assert step_all(lanes, arrays, 3) == DOUBTFUL
    arrays["target"][1, 5] = 0.0
    model.opt.density = 1000.0
    assert step_all(lanes, arrays, 3) == COUPLED
    assert (lanes.time == began).all()


# symbols


def symbolic_torque(p: Problem, solver: str, limit: float | None = None, solves: int = 1) -> casadi.Function:
    """The torque as a CasADi function of state, target and gains."""
    names = {"qpos": p.model.nq, "qvel": p.model.nv, "target": p.model.nq, "kp": p.model.nv, "kd": p.model.nv}
    x = {name: casadi.SX.sym(name, n) for name, n in names.items()}
    d = symbolic_record(p.data, qpos=x["qpos"], qvel=x["qvel"])
    sizes = {**p.model.sizes, "ndense": p.model.nv}
    a = SimpleNamespace(**{name: np.zeros(field.shape(sizes), object) for name, field in FIELDS.items()})
    for name in ("target", "kp", "kd"):
        getattr(a, name)[:] = [x[name][i] for i in range(names[name])]
    a.torque_range[:] = np.inf if limit is None else limit
    a.solver, a.implicit, a.limited, a.model_step = SOLVERS.index(solver), 1, limit is not None, 1
    a.solves, a.unsettled = solves, 0
    plain(evaluate)(symbolic_record(p.model), d, a)
    return casadi.Function("torque", list(x.values()), [casadi.vertcat(*a.torque)])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("source", SOURCES)
def test_symbols_equal_floats(source, solver):
    p = problem(SOURCES[source], 3, speed=0.3)
    function = symbolic_torque(p, solver)
    got = np.asarray(function(p.data.qpos, p.data.qvel, p.target, p.kp, p.kd)).ravel()
    wanted = controller(p, solver=solver, mode="implicit").torque(p.data, p.target)
    np.testing.assert_allclose(got, wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()))


def test_derivatives_by_gains_and_target():
    """A reason to have symbols: the derivative of the torque, here against differences."""
    p = problem(DRIVEN, 4, speed=0.3)
    inputs = [casadi.SX.sym(n, k) for n, k in (("q", p.model.nq), ("v", p.model.nv), ("t", p.model.nq), ("kp", p.model.nv),
                                               ("kd", p.model.nv))]  # fmt: skip
    torque = symbolic_torque(p, "maba")(*inputs)
    slope = casadi.Function("slope", inputs, [casadi.jacobian(torque, inputs[3])])
    got = np.asarray(slope(p.data.qpos, p.data.qvel, p.target, p.kp, p.kd))
    for i in range(p.model.nv):
        ends = []
        for step in (1e-4, -1e-4):
            kp = p.kp.copy() + 1.0
            kp[i] += step
            ends.append(kt.StablePD(p.model, kp, p.kd, mode="implicit").torque(p.data, p.target))
        base = np.asarray(slope(p.data.qpos, p.data.qvel, p.target, p.kp + 1.0, p.kd))
        np.testing.assert_allclose(base[:, i], (ends[0] - ends[1]) / 2e-4, atol=1e-5 * max(1.0, np.abs(base).max()))
    assert np.isfinite(got).all()


def test_the_error_is_smooth_where_it_is_zero():
    """At the target, at rest: the derivative of the torque by the target is finite, and kp on hinges."""
    p = problem(DRIVEN, 5)
    inputs = [casadi.SX.sym(n, k) for n, k in (("q", p.model.nq), ("v", p.model.nv), ("t", p.model.nq), ("kp", p.model.nv),
                                               ("kd", p.model.nv))]  # fmt: skip
    jacobian = casadi.jacobian(symbolic_torque(p, "maba")(*inputs), inputs[2])
    at_rest = casadi.Function("slope", inputs, [jacobian])
    values = at_rest(p.data.qpos, np.zeros(p.model.nv), p.data.qpos, p.kp + 1.0, p.kd)
    assert np.isfinite(np.asarray(values)).all() and np.asarray(values).any()


def test_limits_on_symbols():
    """An expression cannot end on values: it makes all the solves it may, here four, which are enough."""
    p = problem(DRIVEN, 6, speed=0.3)
    wanted = controller(p, mode="implicit", torque_limit=4.0).torque(p.data, p.target)
    function = symbolic_torque(p, "maba", 4.0, solves=4)
    got = np.asarray(function(p.data.qpos, p.data.qvel, p.target, p.kp, p.kd)).ravel()
    np.testing.assert_allclose(got, wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()))
    assert (np.abs(wanted) == 4.0).any()


# plain Python


def test_plain_python_equals_floats():
    p = problem(TREE, 7)
    for solver in SOLVERS:
        spd = controller(p, solver=solver, torque_limit=5.0)
        wanted = spd.torque(p.data, p.target)
        record = spd._arrays.record()
        record.torque = np.zeros_like(wanted)
        plain(run_evaluate)(p.model.record(), p.data.copy().record(), record)
        np.testing.assert_allclose(record.torque, wanted, atol=1e-9 * max(1.0, np.abs(wanted).max()))


def test_without_a_compiler():
    """KINETREE_JIT=0: all calls work and give the same."""
    program = """
import warnings
import kinetree as kt
model = kt.load("double_pendulum")
data = kt.Data(model)
spd = kt.StablePD(model, 50.0, 5.0, torque_limit=3.0, mode="implicit")
print(*spd.force(data, [1.0, -1.0]), *spd.torque(data, [1.0, -1.0]), *spd.step(data, [1.0, -1.0], nstep=3), *data.qpos)
spd.max_solves = 1
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    spd.torque(data, [1.0, -1.0])
assert "settle" in str(caught[-1].message)
"""
    found = []
    for jit in ("0", "1"):
        environment = {**os.environ, "KINETREE_JIT": jit, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append([float(x) for x in done.stdout.split()])
    np.testing.assert_allclose(*found, atol=1e-11)


def test_run_returns_a_status():
    p = problem(TREE, 8)
    spd = controller(p)
    spd.torque(p.data, p.target)
    assert run(run_evaluate, p.model, p.data.copy(), spd._arrays) == 0
