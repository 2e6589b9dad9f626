"""One way through a step: callbacks that do nothing change nothing, warnings count as in MuJoCo, and an error is no retry."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.data_fields import DATA_FIELDS
from kinetree.io.load import mujoco_warnings
from kinetree.types import WarningType
from tests.pipeline.worlds import CORPUS, loaded

MODELS = Path(__file__).parent / "models"
OWN_BOOKS = {"stage_runs", "stage_order", "stage_clock"}  # who called a stage, not what it computed
KINDS = (WarningType.BADQPOS, WarningType.BADQVEL, WarningType.BADQACC)

# A mass on its own axis, beside a row of boxes: room for their contacts has to grow.
SINGULAR = """
<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 3"><joint name="free of mass" type="hinge" axis="0 0 1"/><geom size=".1" pos="0 0 .3"/></body>
  {boxes}
</worldbody></mujoco>"""
BOX = '<body pos="{} 0 .09"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'


def singular():
    """A hinge through the centre of a point mass has no inertia: the factor of M warns in each pass."""
    model = kt.load(SINGULAR.format(boxes="".join(BOX.format(0.3 * k) for k in range(6))))
    model.body_inertia[1] = 0.0
    return model


def sleeping():
    model = kt.load(MODELS / "sleep.xml")
    model.opt.enableflags = int(model.opt.enableflags) | kt.EnableBit.SLEEP
    return model


def with_integrator(integrator):
    model = kt.load("humanoid")
    model.opt.integrator = integrator
    model.opt.enableflags = kt.EnableBit.ENERGY | kt.EnableBit.FWDINV
    return model


SCENES = {
    "singular": singular,
    "sleep": sleeping,
    "contacts": lambda: kt.load(MODELS / "contacts.xml"),
    "sensors": lambda: kt.load(MODELS / "sensors.xml"),
    **{f"humanoid, {kind.name}": lambda kind=kind: with_integrator(kind) for kind in
       (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICITFAST)},
}  # fmt: skip


def stable_pd(solver):
    """A step under a controller that holds every other dof."""

    def stepper(model):
        held = np.arange(model.nv) % 2
        controller = kt.StablePD(model, 50.0 * held, 2.0 * held, solver=solver, torque_limit=5.0)
        return lambda _, data: controller.step(data)

    return stepper


STEPPERS = {"step": lambda model: kt.step, "maba": stable_pd("maba"), "sparse": stable_pd("sparse")}


def run(model, steps, spoil=None, stepper=STEPPERS["step"]):
    """A run of several steps; `spoil` makes the state bad on the way. Warnings, and the data at the end."""
    data, step = kt.Data(model), stepper(model)
    data.qvel[:] = np.random.default_rng(0).normal(0.0, 0.1, model.nv)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k in range(steps):
            if spoil is not None and k in (3, 5):
                spoil(data)
            step(model, data)
    texts = [str(w.message) for w in told if w.category is kt.SimulationWarning]
    return [re.sub(" at time [^ :]*", "", text) for text in texts], data  # compiled steps tell at the end of the call


def spoil_velocity(data):
    data.qvel[0] = np.nan


def spoil_force(data):
    data.qfrc_applied[0] = np.inf


@pytest.mark.parametrize("spoil", [None, spoil_velocity, spoil_force], ids=["sound", "velocity", "force"])
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("name", SCENES)
def test_a_callback_that_does_nothing_changes_nothing(name, stepper, spoil):
    plain, called = SCENES[name](), SCENES[name]()
    called.callbacks.control = called.callbacks.passive = lambda model, data: None
    (told, one), (told_too, other) = (run(model, 12, spoil, STEPPERS[stepper]) for model in (plain, called))
    assert told == told_too
    for field, declared in DATA_FIELDS.items():
        if declared.shown and field not in OWN_BOOKS and declared.stage != "driver":
            a, b = one._arrays[field], other._arrays[field]
            np.testing.assert_array_equal(a, b, err_msg=f"{name}: {field}")


# What a pass would put back if it had to be made again: with callbacks each part of it begins anew, and keeps
# its own. So it makes room part by part, and may make more of it.
OF_THE_PASS = {"energy_pass", "flg_energy_pass", "tree_pass", "warning_pass", "capacity"}
COMPARED = [name for name in DATA_FIELDS if name not in OWN_BOOKS | OF_THE_PASS]


def three_steps(model, data):
    for _ in range(3):
        kt.step(model, data)


def two_halves(model, data):
    kt.step1(model, data)
    kt.step2(model, data)


def held(model, data):
    """A step under stable PD, of models that it takes."""
    if model.nv and model.opt.integrator != kt.Integrator.RK4:
        kt.StablePD(model, 10.0, 1.0).step(data)


WAYS = {"step": three_steps, "forward": kt.forward, "inverse": kt.inverse, "halves": two_halves, "stable PD": held}


def settled(model, steps):
    """A world after some steps under random controls and a push."""
    data, rng = kt.Data(model), np.random.default_rng(1)
    data.qvel[:] = rng.normal(0.0, 0.1, model.nv)
    for _ in range(steps):
        data.ctrl[:] = rng.uniform(-0.5, 0.5, model.nu)
        kt.step(model, data)
    return data


def after(way, model, data):
    """What was told on that way, and the data then."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", kt.SimulationWarning)
        way(model, data)
    return [str(w.message) for w in told if w.category is kt.SimulationWarning], data


@pytest.mark.parametrize("name", CORPUS)
def test_callbacks_that_do_nothing_change_no_corpus_model(name):
    """On every way, from a world in motion; and where room has to grow, as in a fresh Data with the state of that world."""
    plain, called = loaded(name), loaded(name)  # two models, as what one asks for in vain is told once
    callbacks = called.callbacks
    callbacks.control = callbacks.passive = callbacks.sensor = lambda *_: None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        world = settled(plain, 60)
        kt.step(called, kt.Data(called))
    for how, way in WAYS.items():
        for grows in (False, True) if how == "step" else (False,):
            starts = []
            for model in (plain, called):
                data = kt.Data(model) if grows else world.copy()._adopt(model)
                data.set_state(world.get_state())
                starts.append(data)
            room = dict(starts[0]._arrays.capacity)
            (told, one), (told_too, other) = (after(way, m, d) for m, d in zip((plain, called), starts, strict=True))
            assert told == told_too, f"{name}, {how}"
            counted = ["stage_runs"] if dict(one._arrays.capacity) == room else []  # a pass that lacks room runs again
            for field in COMPARED + counted:
                a, b = one._arrays[field], other._arrays[field]
                n = min(len(a), len(b)) if DATA_FIELDS[field].growing else None  # part by part there may be made more
                np.testing.assert_array_equal(b[:n], a[:n], err_msg=f"{name}, {how}, grows: {grows}: {field}")


@pytest.mark.parametrize("autoreset", [True, False])
@pytest.mark.parametrize("called", [False, True], ids=["compiled", "with callbacks"])
@pytest.mark.parametrize("field", ["qpos", "qvel", "qfrc_applied"])
def test_warnings_count_as_in_mujoco(field, called, autoreset):
    """After an automatic reset the warning that led to it counts one, and no other is remembered."""
    model = kt.load("double_pendulum")
    if not autoreset:
        model.opt.disableflags = int(model.opt.disableflags) | kt.DisableBit.AUTORESET
    mj = model.to_mujoco()
    if called:
        model.callbacks.control = lambda model, data: None
    ours, theirs = kt.Data(model), mujoco.MjData(mj)
    with mujoco_warnings(), pytest.warns(kt.SimulationWarning):
        for k, name in enumerate(("qvel", field, field, "qpos", field)):
            for data in (ours, theirs):
                getattr(data, name)[1] = np.nan
            kt.step(model, ours)
            mujoco.mj_step(mj, theirs)
            for kind in KINDS:
                count, info = theirs.warning[int(kind)].number, theirs.warning[int(kind)].lastinfo
                found = ours.warning_number[kind], ours.warning_lastinfo[kind]
                assert found == (count, info), f"{kind.name} after bad number {k} in {name}"


class Stop(Exception):
    """Raised by a handler of warnings."""


@pytest.mark.parametrize("error", [Stop, KeyError, TypeError, AttributeError])
@pytest.mark.parametrize("call, steps", [("step", 5), ("forward", 0)])
def test_a_handler_that_raises_does_not_repeat_steps(monkeypatch, call, steps, error):
    model = kt.load("arm")
    data = kt.Data(model)
    arguments = (steps,) if steps else ()
    getattr(kt, call)(model, data, *arguments)  # from now on the short way in is open
    data.reset()
    data.ctrl[0] = np.nan

    def raises(*_args, **_kwargs):
        raise error("a handler that raises")

    monkeypatch.setattr(warnings, "showwarning", raises)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", raises)
        with pytest.raises(error, match="a handler that raises"):
            getattr(kt, call)(model, data, *arguments)
    assert data.time == pytest.approx(steps * model.opt.timestep, abs=1e-12)


def test_a_warning_made_an_error_leaves_the_state_to_look_at():
    """The reset and the steps after it are left out; the next call goes on as if there had been no error."""
    model = kt.load("arm")
    data = kt.Data(model)
    data.qvel[1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", kt.SimulationWarning)
        with pytest.raises(kt.SimulationWarning, match=r"qvel\[1\]"):
            kt.step(model, data, nstep=3)
    assert np.isnan(data.qvel[1]) and data.time == 0.0
    with pytest.warns(kt.SimulationWarning, match=r"qvel\[1\]"):
        kt.step(model, data, nstep=3)
    assert data.time == pytest.approx(3 * model.opt.timestep)
