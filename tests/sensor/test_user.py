"""Sensors of the user: a callback at each stage, what it finds, and what becomes of what it writes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.types import Stage
from tests.pipeline.both import FLAGS, INTEGRATORS, SENSOR, both, close, quietly, run

STAGES = {"pos": Stage.POS, "vel": Stage.VEL, "acc": Stage.ACC}
# A builtin sensor of every stage behind the user's own, so that it is computed later in order.
BUILTIN = {"pos": "framepos", "vel": "framelinvel", "acc": "framelinacc"}
MODEL = """<mujoco model="user"><worldbody><body name="a"><joint name="x" axis=".1 1 .2" damping=".1"/>
    <geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
    <body name="b" pos=".3 0 0"><joint type="ball"/><geom type="box" size=".1 .2 .1" pos=".2 0 0"/>
      <site name="s" pos=".1 .2 .3"/></body></body></worldbody>
  <actuator><motor joint="x"/></actuator>
  <sensor>{}</sensor></mujoco>"""
ALL = "".join(
    f'<user name="{stage}" dim="3" needstage="{stage}"/><{kind} name="{kind}" objtype="site" objname="s"/>'
    for stage, kind in BUILTIN.items()
)


@pytest.fixture
def mujoco_callback():
    """Sets MuJoCo's callback, which is one for all models, and removes it at the end."""
    yield mujoco.set_mjcb_sensor
    mujoco.set_mjcb_sensor(None)


def numbers(model, data, name):
    """A view of a sensor's numbers, in either engine."""
    i = model.sensor(name).id
    return data.sensordata[model.sensor_adr[i] : model.sensor_adr[i] + model.sensor_dim[i]]


def squares(model, data, stage):
    """A callback for both engines: the squares of the builtin sensor of the stage, and the stage's own number."""
    name = {int(s): n for n, s in STAGES.items()}[int(stage)]
    out = numbers(model, data, name)
    out[:] = numbers(model, data, BUILTIN[name]) ** 2 + int(stage)


@pytest.mark.criteria("P-SENS-USER")
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
@pytest.mark.parametrize("how", ["step", "forward", "halves", "inverse"])
def test_callbacks_equal_mujocos(how, integrator, mujoco_callback):
    pair = both(MODEL.format(ALL), 1, integrator=int(integrator))
    pair.model.callbacks.sensor = squares
    mujoco_callback(squares)
    for k in range(5):
        if how == "halves":
            run(pair, kt.step1, mujoco.mj_step1)
            run(pair, kt.step2, mujoco.mj_step2)
        else:
            run(pair, getattr(kt, how), getattr(mujoco, f"mj_{how}"))
        close(pair.ours.sensordata, pair.theirs.sensordata, 1e-9, f"{how}, call {k}: sensordata")
        pair.same_flags(f"{how}, call {k}")
    assert np.abs(pair.ours.sensordata).min() > 0


@pytest.mark.parametrize("name", STAGES)
def test_a_callback_finds_its_own_numbers_zero_and_the_builtin_ones_of_its_stage_done(name):
    pair = both(MODEL.format(ALL), 2)
    model, data = pair.model, pair.ours
    data.sensordata[:] = 77.0
    seen = {}

    def look(m, d, stage):
        seen[stage] = d.sensordata.copy()
        numbers(m, d, {s: n for n, s in STAGES.items()}[stage])[:] = 5.0

    model.callbacks.sensor = look
    with quietly():
        kt.forward(model, data)
    stage = STAGES[name]
    at = {sensor: slice(model.sensor_adr[i], model.sensor_adr[i] + 3) for i, sensor in enumerate(model.names("sensor"))}
    for other, later in STAGES.items():
        mine, builtin = seen[stage][at[other]], seen[stage][at[BUILTIN[other]]]
        if later < stage:
            assert (mine == 5.0).all()
        elif later == stage:
            assert (mine == 0.0).all(), "the user's own numbers start at zero"
        else:
            assert (mine == 77.0).all() and (builtin == 77.0).all(), "later stages have not begun"
        if later <= stage:
            np.testing.assert_array_equal(builtin, data.sensordata[at[BUILTIN[other]]])
            assert (builtin != 77.0).all()


def test_the_order_of_calls_and_the_stage_as_an_enum():
    pair = both(MODEL.format(ALL), 3)
    calls = []
    pair.model.callbacks.sensor = lambda m, d, stage: calls.append((m is pair.model, d is pair.ours, stage))
    with quietly():
        kt.step(pair.model, pair.ours)
    assert calls == [(True, True, stage) for stage in STAGES.values()]
    assert all(isinstance(stage, Stage) for _, _, stage in calls)


@pytest.mark.parametrize("name", STAGES)
def test_only_stages_with_a_user_sensor_are_called(name):
    pair = both(MODEL.format(f'<user name="{name}" dim="2" needstage="{name}"/><clock/>'), 3)
    calls = []
    pair.model.callbacks.sensor = lambda m, d, stage: calls.append(stage)
    for function in (kt.forward, kt.inverse):
        with quietly():
            function(pair.model, pair.ours)
    assert calls == [STAGES[name]] * 2


@pytest.mark.parametrize(("name", "flag"), [("pos", None), ("vel", "flg_subtreevel"), ("acc", "flg_rnepost")])
def test_lazy_passes_are_there_for_a_callback(name, flag):
    """Fresh, for the state of this pass; and the same pass is not run again for builtin sensors."""
    pair = both(
        MODEL.format(f'<user name="u" dim="3" needstage="{name}"/><subtreeangmom body="a"/><force site="s"/>'), 4
    )
    model, data = pair.model, pair.ours
    seen = []

    def look(m, d, stage):
        seen.append(({f: bool(getattr(d, f)) for f in FLAGS}, d.subtree_angmom.copy(), d.cfrc_int.copy()))

    model.callbacks.sensor = look
    for k in range(2):
        data.qvel[:] *= 2.0
        kt.forward(model, data)
        flags, momenta, forces = seen[k]
        if flag:
            assert flags[flag]
        if name != "pos":
            np.testing.assert_array_equal(momenta, data.subtree_angmom)
        if name == "acc":
            np.testing.assert_array_equal(forces, data.cfrc_int)
    assert not np.array_equal(seen[0][1], seen[1][1]) or name == "pos"


@pytest.mark.parametrize("callback", [False, True])
def test_without_a_callback_user_sensors_read_zero(callback):
    pair = both(MODEL.format(ALL), 5)
    pair.ours.sensordata[:] = 3.0
    if callback:  # some other one, so that stages run one by one
        pair.model.callbacks.passive = lambda m, d: None
    run(pair, kt.forward, mujoco.mj_forward)
    close(pair.ours.sensordata, pair.theirs.sensordata, 1e-9, "sensordata")
    for name in STAGES:
        assert not numbers(pair.model, pair.ours, name).any()


@pytest.mark.parametrize("kind", ["real", "positive", "axis", "quaternion"])
@pytest.mark.parametrize("name", STAGES)
def test_cutoffs_hold_for_what_a_callback_writes(name, kind, mujoco_callback):
    """By the kind of number that the sensor says it has. (Of axes and quaternions the compiler takes no cutoff.)"""
    size = {"axis": 3, "quaternion": 4}.get(kind, 4)
    text = (
        f'<user name="u" dim="{size}" datatype="{kind}" needstage="{name}"/><user name="v" dim="1" needstage="{name}"/>'
    )
    mj = mujoco.MjModel.from_xml_string(MODEL.format(text))
    mj.sensor_cutoff[0] = 0.5
    pair = both(mj, 6)

    def write(model, data, stage):
        data.sensordata[:] = np.array([2.0, -2.0, 0.25, -0.25][:size] + [9.0])

    pair.model.callbacks.sensor = write
    mujoco_callback(write)
    run(pair, kt.forward, mujoco.mj_forward)
    np.testing.assert_array_equal(pair.ours.sensordata, pair.theirs.sensordata)
    cut = {"real": [0.5, -0.5, 0.25, -0.25], "positive": [0.5, -2.0, 0.25, -0.25]}.get(kind, [2.0, -2.0, 0.25, -0.25])
    np.testing.assert_array_equal(pair.ours.sensordata, [*cut[:size], 9.0])


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("function", [kt.step, kt.forward, kt.inverse], ids=lambda f: f.__name__)
def test_a_callback_that_raises_names_itself(function, name):
    pair = both(MODEL.format(ALL), 7)

    def fails(model, data, stage):
        if stage == STAGES[name]:
            raise RuntimeError("the lens is dirty")

    pair.model.callbacks.sensor = fails
    with quietly(), pytest.raises(RuntimeError, match="the lens is dirty") as caught:
        function(pair.model, pair.ours)
    assert "callback 'sensor'" in caught.value.__notes__[0]
    pair.model.callbacks.clear()
    function(pair.model, pair.ours)
    assert np.isfinite(pair.ours.sensordata).all()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_disabled_or_skipped_sensors_call_nobody(integrator):
    """Nor do the substeps of RK4."""
    pair = both(MODEL.format(ALL), 8, integrator=int(integrator))
    model, data = pair.model, pair.ours
    calls = []
    model.callbacks.sensor = lambda m, d, stage: calls.append(stage)
    with quietly():
        kt.step(model, data)
        assert calls == list(STAGES.values())
        calls.clear()
        data.sensordata[:] = 4.0
        kt.forward_skip(model, data, skip_sensors=True)
        kt.inverse_skip(model, data, skip_sensors=True)
        model.opt.disableflags |= SENSOR
        kt.step(model, data)
        kt.inverse(model, data)
    assert not calls and (data.sensordata == 4.0).all()


@pytest.mark.parametrize(
    "history", [{"nsample": 3}, {"nsample": 3, "interval": (0.005, -0.001)}], ids=["kept", "interval"]
)
@pytest.mark.parametrize("name", STAGES)
def test_histories_keep_what_a_callback_wrote(name, history, mujoco_callback):
    """MJCF has no history for the user's sensors, a specification has; one with a delay MuJoCo cannot step."""
    spec = mujoco.MjSpec.from_string(MODEL.format(f'<user name="u" dim="2" needstage="{name}"/>'))
    for field, value in history.items():
        setattr(spec.sensors[0], field, value)
    pair = both(spec.compile(), 9)

    def write(model, data, stage):
        data.sensordata[:] = data.time, 10.0 * data.time

    pair.model.callbacks.sensor = write
    mujoco_callback(write)
    for k in range(12):
        run(pair, kt.step, mujoco.mj_step)
        np.testing.assert_array_equal(pair.ours.history, pair.theirs.history, err_msg=f"step {k}")
        np.testing.assert_array_equal(pair.ours.sensordata, pair.theirs.sensordata, err_msg=f"step {k}")
