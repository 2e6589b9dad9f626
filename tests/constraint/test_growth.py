"""Room for contacts and rows that is missing in the middle of things: what was running gives what it gives with ample room."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree import memory
from kinetree.batch.lanes import lanes_of
from kinetree.data_fields import DATA_FIELDS
from kinetree.memory import CAPACITIES
from kinetree.types import Cone, Integrator, Solver
from tests.pipeline.both import quietly

WORLD = """<mujoco model="growing"><option timestep="0.004"/>
  <worldbody><geom type="plane" size="3 3 1"/>
    {bodies}
    <body pos="0 0 .4"><joint name="hinge" axis="0 1 0" limited="true" range="-20 20" frictionloss=".1" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".04"/><site name="tip" pos=".5 0 0"/></body>
  </worldbody>
  <tendon><spatial limited="true" range="0 .6" frictionloss=".05"><site site="tip"/><site site="s0"/></spatial></tendon>
  <equality><connect body1="b1" body2="b2" anchor=".1 0 0"/></equality>
  <actuator><general joint="hinge" dyntype="filter" dynprm=".1" gainprm="2"/></actuator>
  <sensor><touch site="s1"/><jointvel joint="hinge" nsample="4" delay=".009" interval=".005 0"/><jointlimitfrc joint="hinge"/>
    <accelerometer site="s2" nsample="3" delay=".006"/></sensor></mujoco>"""
BODIES = "".join(
    f'<body name="b{k}" pos="{0.22 * (k % 3)} {0.22 * (k // 3)} {0.1 + 0.004 * k}"><freejoint/>'
    f'<geom type="box" size=".1 .1 .1"/><site name="s{k}" size=".2"/></body>'
    for k in range(6)
)
SEEN = (
    "qpos", "qvel", "act", "qacc", "sensordata", "history", "time", "efc_force", "contact_dist", "cfrc_ext", "solver_niter",
)  # fmt: skip


def worlds(**options) -> tuple[kt.Model, kt.Data, kt.Data]:
    """A model and two Data of it, the second with more room than it will ever need."""
    model = kt.load(WORLD.format(bodies=BODIES))
    for name, value in options.items():
        setattr(model.opt, name, value)
    tight, ample = kt.Data(model), kt.Data(model)
    ample._make_room(dict.fromkeys(ample._arrays.capacity, 4000))
    for data in (tight, ample):
        data.ctrl[:] = 1.0
        data.qvel[:] = 0.2 * np.random.default_rng(0).normal(size=model.nv)
    return model, tight, ample


def shrink(data: kt.Data) -> None:
    """No room for more than one of anything."""
    data._make_room(dict.fromkeys(data._arrays.capacity, 1))
    for count in ("ncon", "nefc", "nJ", "nY", "nrow", "nentry", "nmetric"):
        data._arrays[count][0] = 0


def equal(tight: kt.Data, ample: kt.Data, what: str, names: tuple[str, ...] = SEEN) -> None:
    """The same numbers, to the last digit."""
    for name in names:
        got, wanted = np.asarray(getattr(tight, name)), np.asarray(getattr(ample, name))
        assert np.array_equal(got, wanted), f"{what}: {name} {got} against {wanted}"


@pytest.mark.parametrize("cone", list(Cone), ids=lambda c: c.name)
@pytest.mark.parametrize("solver", list(Solver), ids=lambda s: s.name)
@pytest.mark.parametrize("integrator", list(Integrator), ids=lambda i: i.name)
def test_steps(integrator, solver, cone):
    """At every step the room is taken away; in RK4 a later substep may be the first that lacks it."""
    model, tight, ample = worlds(integrator=integrator, solver=solver, cone=cone, noslip_iterations=2)
    for k in range(12):
        shrink(tight)
        kt.step(model, tight)
        kt.step(model, ample)
        equal(tight, ample, f"step {k}")
    assert ample.ncon > 8 and tight._arrays.capacity["maxcon"] > 8


def test_many_steps_in_one_call():
    model, tight, ample = worlds(integrator=Integrator.RK4)
    kt.step(model, tight, 30)
    for _ in range(30):
        kt.step(model, ample)
    equal(tight, ample, "after 30 steps")


@pytest.mark.parametrize("fall", [0.0005, 0.003, 0.0085, 0.013])
def test_a_substep_that_is_the_first_to_touch(fall):
    """Bodies above the floor that reach it within a step of RK4: the step is made again from its start."""
    for delay in range(3):
        model, tight, ample = worlds(integrator=Integrator.RK4)
        for data in (tight, ample):
            data.qpos[2 : 7 * 6 : 7] = 0.1 + fall + 0.0005 * np.arange(6)
            data.qvel[:36] = 0.0
            data.qvel[2:36:6] = -1.0
        for k in range(6):
            if k == delay:
                shrink(tight)
            kt.step(model, tight)
            kt.step(model, ample)
            equal(tight, ample, f"fall {fall}, step {k}")


@pytest.mark.parametrize("fall", [0.0005, 0.003])
def test_the_integrator_alone(fall):
    """The same called as a stage, which then starts over by itself: the next state is right.

    Only delayed sensors of acceleration would need the whole step again.
    """
    model, tight, ample = worlds(integrator=Integrator.RK4)
    for data in (tight, ample):
        data.qpos[2 : 7 * 6 : 7] = 0.1 + fall
        data.qvel[2:36:6] = -1.0
        if data is tight:
            shrink(data)
        kt.forward(model, data)
    assert 8 > tight._arrays.capacity["maxcon"]
    for data in (tight, ample):
        kt.pipeline.integrate(model, data)
    assert tight._arrays.capacity["maxcon"] > 8, "no substep lacked room"
    equal(tight, ample, f"fall {fall}", ("qpos", "qvel", "act", "qacc", "time"))


@pytest.mark.parametrize("run", [kt.forward, kt.inverse, kt.forward_skip], ids=lambda f: f.__name__)
def test_other_ways(run):
    model, tight, ample = worlds()
    for data in (tight, ample):
        kt.step(model, data, 5)
        if data is tight:
            shrink(data)
        run(model, data)
    equal(tight, ample, run.__name__)


@pytest.mark.parametrize("integrator", [Integrator.EULER, Integrator.RK4], ids=lambda i: i.name)
def test_halves_and_callbacks(integrator):
    model, tight, ample = worlds(integrator=integrator)
    for k in range(8):
        for data in (tight, ample):
            if data is tight:
                shrink(data)
            kt.step1(model, data)
            kt.step2(model, data)
        equal(tight, ample, f"halves, step {k}")
    model.callbacks.passive = lambda model, data: None
    for k in range(8):
        for data in (tight, ample):
            if data is tight:
                shrink(data)
            kt.step(model, data)
        equal(tight, ample, f"callbacks, step {k}")


def test_contents_are_kept():
    """What the fields held is there after growing."""
    model, data, _ = worlds()
    kt.step(model, data, 5)
    names = [name for name in data._arrays if name.startswith(("contact_", "efc_"))]
    before = {name: data._arrays[name].copy() for name in names}
    data._make_room({name: 2 * room for name, room in data._arrays.capacity.items()})
    for name, values in before.items():
        assert np.array_equal(data._arrays[name][: len(values)], values), name


@pytest.mark.parametrize("solver", list(Solver), ids=lambda s: s.name)
def test_lanes(solver):
    """Eight worlds with different contacts, with the room of a fresh block, with ample room, and one by one on floats."""
    model, _, ample = worlds(solver=solver, tolerance=1e-16, iterations=3000)
    states = []
    for k in range(8):
        kt.step(model, ample, 3)
        ample.qpos[2 + 7 * (k % 6)] += 0.05  # one box in the air
        fresh = kt.Data(model)
        fresh.set_state(ample.get_state())
        states.append(fresh)
    tight, wide = lanes_of(model, states), lanes_of(model, states)
    wide._make_room(dict.fromkeys(wide._arrays.capacity, 4000))
    room = dict(tight._arrays.capacity)
    for lanes in (tight, wide):
        lanes.run(kt.pipeline.forward)
    assert tight._arrays.capacity["maxcon"] > room["maxcon"] and tight._arrays.capacity["maxJ"] > room["maxJ"]
    for name in ("qacc", "sensordata", "qfrc_constraint"):
        assert np.array_equal(tight.arrays[name], wide.arrays[name]), name
    n = tight.arrays["nefc"][0]
    assert n == wide.arrays["nefc"][0] > 0 and np.array_equal(tight.efc_force[:n], wide.efc_force[:n])
    contacts = set()
    for lane, data in enumerate(states):
        kt.forward(model, data)
        contacts.add(tuple(map(tuple, data.contact_geom.tolist())))
        scale = 1.0 + np.abs(data.qacc).max()
        for name in ("qacc", "qfrc_constraint", "sensordata"):
            error = np.abs(tight.arrays[name][:, lane] - getattr(data, name))
            assert error.max() < 1e-6 * scale, f"lane {lane} {name}[{error.argmax()}]: {error.max()}"
    assert len(contacts) >= 5


def test_a_bad_state_does_not_ask_for_the_moon():
    """NaN positions: no contacts, no endless growth, a reset with a warning."""
    model, tight, _ = worlds()
    tight.qpos[:] = np.nan
    with quietly():
        kt.forward(model, tight)
        kt.step(model, tight)
    assert np.isfinite(tight.qpos).all() and max(tight._arrays.capacity.values()) < 10000


# when growing fails


def test_a_failed_allocation_loses_nothing(monkeypatch):
    """Kernels must never believe in room that is not there; afterwards everything goes on as if nothing had happened."""
    model, tight, ample = worlds()
    real, growing = memory.Placement.buffer, [name for name, field in DATA_FIELDS.items() if field.growing]
    monkeypatch.setattr(memory.Placement, "buffer", lambda *_: (_ for _ in ()).throw(MemoryError("none left")))
    before = {name: len(tight._arrays[name]) for name in growing}
    for call in (kt.forward, kt.step):
        with pytest.raises(MemoryError, match="none left"):
            call(model, tight)
        tight.reset()
        assert {name: len(tight._arrays[name]) for name in growing} == before
        assert (
            tight._arrays["capacity"].tolist() == [*tight._arrays.capacity.values()] == [memory.START] * len(CAPACITIES)
        )
    monkeypatch.setattr(memory.Placement, "buffer", real)
    ample.reset()
    for data in (tight, ample):
        kt.step(model, data, 5)
    equal(tight, ample, "after the error")


def test_too_much_is_refused_and_forgotten(monkeypatch):
    """A state that asks for too much gives an error; the next state, which does not, gives none."""
    model, tight, _ = worlds()
    monkeypatch.setattr(memory, "LIMIT", 9)
    with pytest.raises(MemoryError, match=r"needs \d+ entries of max\w+, more than the 9"):
        kt.forward(model, tight)
    tight.qpos[2:42:7] += 5.0
    tight.eq_active[:] = 0
    model.opt.disableflags = kt.DisableBit.LIMIT | kt.DisableBit.FRICTIONLOSS
    kt.forward(model, tight)
    assert tight.nefc == 0


@pytest.mark.parametrize("call", [kt.forward, kt.step])
def test_a_pass_that_is_made_again_warns_once(call):
    model, tight, ample = worlds()
    counts = []
    for data in (tight, ample):
        data.ctrl[0] = np.nan
        with pytest.warns(kt.SimulationWarning) as caught:
            call(model, data)
        counts.append((len(caught), data.warning_number.tolist()))
    assert counts[0] == counts[1] and counts[1][0] == 1


def test_a_pass_that_is_made_again_reads_the_kinetic_energy_anew():
    """The sensor shows what the pass before has left, if that is up to date; there was none, so it is computed."""
    sensor = '<sensor><e_kinetic name="energy"/>'
    model = kt.load(WORLD.format(bodies=BODIES).replace("<sensor>", sensor))
    for flag in (0, kt.EnableBit.ENERGY):
        model.opt.enableflags = flag
        data = kt.Data(model)
        shrink(data)
        data.qvel[:] = np.random.default_rng(1).normal(size=model.nv)
        kt.forward(model, data)
        momentum = kt.mul_m(model, data, data.qvel)
        assert data.sensor("energy").data[0] == pytest.approx(0.5 * data.qvel @ momentum, rel=1e-12)
