"""Single precision: a whole step of every corpus model, in contact, against the same step in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import EXCUSE, SINGLE
from tests.pipeline.worlds import CORPUS, loaded, moving, stepped

ROUNDING = 2.0**-23
# How many times more accelerations are off where rounding decides. contacts: two capsules press each other with
# 2 kN along a line through the axes of light hinges. convex: a lid on a rim, and a stone where prisms of a height field meet in
# one corner: in single precision it has one or two of its contacts there less, and turns by them.
JAMMED = {"contacts": {"": 10.0}, "convex": {"": 5.0, "stone": 800.0}}
STICKY = {"convex": 3.0}  # the same for forces: a rock with adhesion loses a contact with the hills, and its pull
LEFT = ("qacc", "qfrc_smooth")  # of what sleeps they are what the last pass left there
SETTLED = 120  # steps, by which half of the models touch something
RUNS, MORE_RUNS = 4, 16  # of which the spread of double precision is taken; where it is one of two numbers of contacts
# Where edges of meshes are parallel to faces the number of contacts hangs on the last digits of poses, which have gone through
# chains of bodies: the spread of double precision is that of models a few roundings away, not of states alone.
TIES = {"dm_control/third_party/kinova/jaco_arm.xml": 4.0}
FRAMES = ("body_pos", "body_quat", "geom_pos", "geom_quat", "mesh_vert")


def rounded(model, data, rng):
    """The same state a rounding of single precision away."""
    out = data.copy()
    for name in ("qpos", "qvel", "act", "ctrl"):
        values = getattr(out, name)
        values[:] += ROUNDING * rng.uniform(-1.0, 1.0, values.size) * (np.abs(values) + 0.1 * (name == "qpos"))
    return out


def runs_nearby(model, data, rng, roundings):
    """Steps of double precision from states a rounding of single precision away, with frames some roundings away."""
    kept, out = {name: getattr(model, name).copy() for name in FRAMES}, []
    try:
        for _ in range(RUNS if not roundings else MORE_RUNS):
            for name, values in kept.items():
                away = roundings * ROUNDING * rng.uniform(-1.0, 1.0, values.shape)
                getattr(model, name)[:] = values + away * (np.abs(values) + 0.1)
            out.append(stepped(model, rounded(model, data, rng)))
    finally:
        for name, values in kept.items():
            getattr(model, name)[:] = values
    return out


def of_qpos(model, rates):
    """The largest rate of each joint, for each of its numbers in qpos."""
    out = np.zeros(model.nq)
    for a, v in zip(addressed(model.jnt_qposadr, model.nq), addressed(model.jnt_dofadr, model.nv), strict=True):
        out[a] = rates[v].max()
    return out


def addressed(first, end):
    """The ranges between addresses that ascend."""
    return [slice(a, b) for a, b in zip(first, [*first, end][1:], strict=True)]


def bounds(model, after):
    """By how much each field may be off: a share of its largest number, and what its rate is off in one step."""

    def largest(*names):
        return max(np.abs(getattr(after, name)).max(initial=0.0) for name in names)

    jammed, step = JAMMED.get(model.title, {}), model.opt.timestep
    factors = np.array([jammed.get(model.name("body", b), jammed.get("", 1.0)) for b in model.dof_bodyid.tolist()])
    acceleration = factors * SINGLE["qacc"] * largest("qacc")
    velocity = SINGLE["qvel"] * largest("qvel") + step * acceleration
    sticky = STICKY.get(model.title, 1.0)
    return {
        "time": SINGLE["time"] * max(1.0, float(after.time)),
        "qpos": SINGLE["qpos"] * largest("qpos") + step * of_qpos(model, velocity),
        "qvel": velocity,
        "act": SINGLE["act"] * largest("act"),
        "qfrc_smooth": SINGLE["qfrc_smooth"] * largest("qfrc_smooth", "qfrc_constraint", "qfrc_bias") * sticky,
        "qacc": acceleration,
    }


def agrees(model, data, got, wanted, seed, note, roundings=0.0):
    """Each number within the bound, or within the spread of double precision from states a rounding away."""
    rng, runs = np.random.default_rng(seed), []
    for name, bound in bounds(model, wanted).items():
        a, b = np.ravel(got[name]).astype(float), np.ravel(getattr(wanted, name))
        if b.size == 0:
            continue
        error, allowed = np.abs(a - b), np.broadcast_to(bound, b.shape).astype(float)
        if name in LEFT:
            error *= wanted.tree_asleep[model.dof_treeid] < 0
        if not (error <= allowed).all():
            runs = runs or runs_nearby(model, data, rng, roundings)
            spread = np.max([np.abs(np.ravel(getattr(run, name)) - b) for run in runs], axis=0)
            allowed += EXCUSE * spread
        at = int(np.argmax(np.where(np.isnan(error), np.inf, error - allowed)))
        assert error[at] <= allowed[at], (
            f"{model.title} {note}: {name}[{at}] is {a[at]}, in double precision {b[at]}, allowed {allowed[at]:.1e}"
        )


@pytest.mark.parametrize("width", [1, 16])
@pytest.mark.parametrize("name", CORPUS)
def test_a_step_in_single_precision_is_that_in_double(name, width):
    model = loaded(name)
    worlds = moving(model, max(width, 3), settle=SETTLED)
    for first in range(0, len(worlds), width):
        some = worlds[first : first + width]
        lanes = lanes_of(model, some, "float32")
        lanes.run(kt.pipeline.forward)
        lanes.run(kt.pipeline.integrate)
        for lane, data in enumerate(some):
            got = {field: lanes.arrays[field][..., lane] for field in SINGLE}
            note = f"lane {lane} of {width}"
            agrees(model, data, got, stepped(model, data), first + lane, note, TIES.get(name, 0.0))


@pytest.mark.parametrize("name", ["kinetree/models/humanoid.xml", "kinetree/models/tendon_finger.xml"])
def test_worlds_of_their_own_in_single_precision(name):
    """Other masses, friction, gravity and time step in every world."""
    model, rng = loaded(name), np.random.default_rng(3)
    worlds, models = moving(model, 16, settle=SETTLED), [loaded(name) for _ in range(16)]
    for own in models:
        own.body_mass *= rng.uniform(0.8, 1.2, own.nbody)
        own.geom_friction *= rng.uniform(0.5, 2.0, own.geom_friction.shape)
        own.opt.gravity = own.opt.gravity * rng.uniform(0.5, 1.5)
        own.opt.timestep *= rng.uniform(0.5, 1.0)
    worlds = [data.copy()._adopt(own) for data, own in zip(worlds, models, strict=True)]
    lanes = lanes_of(model, worlds, "float32", models)
    lanes.run(kt.pipeline.forward)
    lanes.run(kt.pipeline.integrate)
    for lane, (own, data) in enumerate(zip(models, worlds, strict=True)):
        got = {field: lanes.arrays[field][..., lane] for field in SINGLE}
        agrees(own, data, got, stepped(own, data), lane, f"lane {lane}, with a model of its own")


def test_many_of_the_worlds_are_in_contact():
    worlds = [moving(loaded(name), 1, settle=SETTLED)[0] for name in CORPUS]
    touching, held = [int(data.ncon) > 0 for data in worlds], [int(data.nefc) > 0 for data in worlds]
    assert sum(touching) > 50 and sum(held) > 70, (sum(touching), sum(held))
