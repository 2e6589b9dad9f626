"""Single precision: a whole step of every corpus model, in contact, against the same step in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import EXCUSE, SINGLE
from tests.pipeline.worlds import CORPUS, loaded, moving, stepped

ROUNDING = 2.0**-23
# Two capsules press each other with 2 kN along a line through the axes of light hinges: all that these feel of it is rounding.
JAMMED = {"contacts": 10.0}
LEFT = ("qacc", "qfrc_smooth")  # of what sleeps they are what the last pass left there
SETTLED = 120  # steps, by which half of the models touch something
RUNS = 4  # of which the spread of double precision is taken
# Where prisms of a height field meet in one corner, or an edge of a mesh is parallel to a face, the number of contacts in one
# place hangs on the last digit, and double precision agrees with itself only as long as positions are exact.
TIES = ("tests/models/convex.xml", "dm_control/third_party/kinova/jaco_arm.xml")


def rounded(model, data, rng):
    """The same state a rounding of single precision away."""
    out = data.copy()
    for name in ("qpos", "qvel", "act", "ctrl"):
        values = getattr(out, name)
        values[:] += ROUNDING * rng.uniform(-1.0, 1.0, values.size) * (np.abs(values) + 0.1 * (name == "qpos"))
    return out


def bounds(model, after):
    """By how much each field may be off: a share of its largest number, and what its rate is off in one step."""

    def largest(*names):
        return max(np.abs(getattr(after, name)).max(initial=0.0) for name in names)

    acceleration, step = JAMMED.get(model.title, 1.0) * SINGLE["qacc"] * largest("qacc"), model.opt.timestep
    velocity = SINGLE["qvel"] * largest("qvel") + step * acceleration
    return {
        "time": SINGLE["time"] * max(1.0, float(after.time)),
        "qpos": SINGLE["qpos"] * largest("qpos") + step * velocity,
        "qvel": velocity,
        "act": SINGLE["act"] * largest("act"),
        "qfrc_smooth": SINGLE["qfrc_smooth"] * largest("qfrc_smooth", "qfrc_constraint", "qfrc_bias"),
        "qacc": acceleration,
    }


def agrees(model, data, got, wanted, seed, note):
    """Each number within the bound, or within the spread of double precision from states a rounding away."""
    rng, runs = np.random.default_rng(seed), []
    for name, bound in bounds(model, wanted).items():
        a, b = np.ravel(got[name]).astype(float), np.ravel(getattr(wanted, name))
        if b.size == 0:
            continue
        error, allowed = np.abs(a - b), np.full(b.shape, bound)
        if name in LEFT:
            error *= wanted.tree_asleep[model.dof_treeid] < 0
        if not (error <= allowed).all():
            runs = runs or [stepped(model, rounded(model, data, rng)) for _ in range(RUNS)]
            spread = np.max([np.abs(np.ravel(getattr(run, name)) - b) for run in runs], axis=0)
            allowed += EXCUSE * spread
        at = int(np.argmax(np.where(np.isnan(error), np.inf, error - allowed)))
        assert error[at] <= allowed[at], (
            f"{model.title} {note}: {name}[{at}] is {a[at]}, in double precision {b[at]}, allowed {allowed[at]:.1e}"
        )


@pytest.mark.parametrize("width", [1, 16])
@pytest.mark.parametrize("name", [each for each in CORPUS if each not in TIES])
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
            agrees(model, data, got, stepped(model, data), first + lane, f"lane {lane} of {width}")


def test_many_of_the_worlds_are_in_contact():
    worlds = [moving(loaded(name), 1, settle=SETTLED)[0] for name in CORPUS]
    touching, held = [int(data.ncon) > 0 for data in worlds], [int(data.nefc) > 0 for data in worlds]
    assert sum(touching) > 50 and sum(held) > 70, (sum(touching), sum(held))


@pytest.mark.parametrize("name", TIES)
def test_ties_give_numbers_all_the_same(name):
    model = loaded(name)
    for data in moving(model, 3, settle=SETTLED):
        lanes = lanes_of(model, [data], "float32")
        lanes.run(kt.pipeline.forward)
        after = stepped(model, data)
        assert np.isfinite(lanes.qacc).all()
        assert abs(int(lanes.ncon[0]) - int(after.ncon)) <= max(4, 0.1 * int(after.ncon))
