"""An attack: stages and public functions in any order, on states of any numbers, with models that share a Data.

Nothing may die: a line works, or says what it lacks. Pairs of models are those of `tests/pipeline/twins.py`, so that what a
Data remembers of one model meets another; every so often the results are held against those of a fresh Data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from kinetree import pipeline
from kinetree.data_fields import DATA_FIELDS, STATE_FIELDS
from kinetree.fields import REAL
from tests.pipeline.twins import TWINS

STAGES = [name for name in pipeline.__all__ if hasattr(getattr(pipeline, name), "stage_index")]
WHOLE = (
    "forward",
    "fwd_position",
    "fwd_velocity",
    "inverse",
    "kinematics",
    "collision",
    "make_constraint",
    "fwd_constraint",
)
ON_LANES = (
    "forward",
    "integrate",
    "inverse",
    "fwd_position",
    "collision",
    "make_constraint",
    "fwd_constraint",
    "kinematics",
)
RICH = (
    "quadruped", "tendon_finger", "ball_humanoid",
    *(f"tests/models/{name}.xml" for name in (
        "actuators", "asleep", "cameras", "contacts", "convex", "equalities", "joints", "limits", "mocap", "passive", "rays",
        "sensors", "servos", "sleep", "tendons")),
)  # fmt: skip
STATE = tuple(name for _, name in STATE_FIELDS if name and DATA_FIELDS[name].dtype == REAL)
NUMBERS = tuple(
    name for name, field in DATA_FIELDS.items() if field.dtype == REAL and field.writable and not field.growing
)
BAD = ("np.nan", "np.inf", "-np.inf", "1e308", "-1e12", "1e5", "-1.0", "0.0", "1e-320")
SETTINGS = {
    "solver": (0, 1, 2), "cone": (0, 1), "integrator": (0, 1, 2, 3), "jacobian": (0, 1, 2), "noslip_iterations": (0, 3),
    "iterations": (0, 1, 20), "ls_iterations": (0, 1, 20), "ccd_iterations": (0, 1, 35),
    "disableflags": (0, 1, 2, 16, 32, 256, 1 << 14, 1 << 15, 1 << 17, 1 << 18), "enableflags": (0, 1, 2, 4, 8, 32, 40, 64),
}  # fmt: skip
CALLS = (
    "kt.forward(m, d)", "kt.step(m, d)", "kt.step(m, d, nstep=3)", "kt.step1(m, d)", "kt.step2(m, d)", "kt.inverse(m, d)",
    "kt.forward_skip(m, d, {stage})", "kt.inverse_skip(m, d, {stage})", "kt.full_m(m, d)", "kt.rne(m, d)", "kt.aba(m, d)",
    "kt.solve_m(m, d, np.ones(m.nv))", "kt.jac_body(m, d, {body})", "kt.jac_dot(m, d, np.zeros(3), {body})",
    "kt.contact_forces(m, d)", "kt.contact_force(m, d, 0)", "kt.jac_contact(m, d, 0)", "kt.rne_post_constraint(m, d)",
    "kt.geom_distance(m, d, 0, {body})", "kt.ray(m, d, [0, 0, 1], [.1, .2, -1])", "kt.energy_pos(m, d)",
    "kt.subtree_vel(m, d)", "kt.compare_fwd_inv(m, d)", "kt.object_velocity(m, d, 'body', {body})", "kt.set_const(m)",
    "d.require({field!r})", "d.is_stale({field!r})", "d.reset()", "d = d.copy()", "d = pickle.loads(pickle.dumps(d))",
    "d.set_state(d.get_state())", "kt.StablePD(m, 5.0, 1.0).step(d)", "kt.StablePD(m, 5.0, 1.0).torque(d)",
)  # fmt: skip
LAZY = ("energy", "subtree_angmom", "cfrc_int", "qacc", "sensordata", "efc_force", "xpos")
CHECK = """kt.kinematics(m, d)
m = models[m is models[0]]
m.opt.enableflags = 0  # a fresh Data may begin with trees asleep
other = kt.Data(m)
other.set_state(d.get_state())
for side in (d, other):
    kt.forward(m, side)
sane = np.abs(np.concatenate((d.qpos, d.qvel))).max() < 1e6  # else nothing is in its place
for name in ("xpos", "qacc", "efc_force", "sensordata") if sane else ():
    np.testing.assert_array_equal(getattr(d, name), getattr(other, name), err_msg=name)"""


def _mutation(rng: np.random.Generator) -> str:
    """A line that changes the state, or puts a bad number into some field."""
    kind, size = rng.integers(5), 10.0 ** rng.integers(-2, 12)
    if kind == 0:
        return f"d.qpos[:] = m.qpos0 + np.random.default_rng({rng.integers(1000)}).normal(size=m.nq) * .3"
    if kind == 1:
        return f"d.qvel[:] = np.random.default_rng({rng.integers(1000)}).normal(size=m.nv) * {size}"
    if kind == 2:
        return f"d.qpos[:] = np.random.default_rng({rng.integers(1000)}).normal(size=m.nq) * {size}"
    name = rng.choice(STATE if kind == 3 else NUMBERS)
    if not DATA_FIELDS[name].dims:
        return f"d.{name} = {rng.choice(BAD)}"
    return f"if d.{name}.size: d.{name}.flat[{rng.integers(40)} % d.{name}.size] = {rng.choice(BAD)}"


def _option(rng: np.random.Generator) -> str:
    name = str(rng.choice(list(SETTINGS)))
    return f"m.opt.{name} = {rng.choice(SETTINGS[name])}"


def _call(rng: np.random.Generator) -> str:
    text = str(rng.choice(CALLS))
    return text.format(stage=rng.integers(0, 4), body=f"{rng.integers(9)} % m.nbody", field=str(rng.choice(LAZY)))


def _on_lanes(rng: np.random.Generator) -> str:
    return rng.choice((
        f"lanes.run(kt.pipeline.{rng.choice(ON_LANES)})",
        f"lanes.load({rng.integers(2)}, d)",
        f"lanes.store({rng.integers(2)}, d)",
        f"lanes.step({rng.integers(4)})",
        f"lanes.reset({rng.integers(2)})",
        f"lanes.qpos[0, 1] = {rng.choice(BAD)}",
        f"lanes.qvel[0, 0] = {rng.choice(BAD)}",
        f"if m.neq: lanes.eq_active[0, {rng.integers(2)}] = {rng.integers(2)}",
        f"if lanes.models: lanes.set_model({rng.integers(2)}, m)",
        f"if lanes.models: m.body_mass[1:] *= {rng.choice(('0.9', '1.1'))}",
        "if lanes.models: kt.set_const(m)",
    ))  # fmt: skip


def lines(
    rng: np.random.Generator, count: int = 40, with_lanes: bool | None = None, only: Sequence[str] = ()
) -> Iterator[str]:
    """Statements of one case: models, a Data, then stages, functions, numbers, options, and models exchanged.

    with_lanes: also on lanes, which take minutes to compile; by default if FUZZ_LANES=1 asks for it.
    only: some stages and nothing else, where little is to be compiled.
    """
    if with_lanes is None:
        with_lanes = os.environ.get("FUZZ_LANES") == "1"
    yield "import pickle, warnings; from kinetree.batch.lanes import LaneData; warnings.simplefilter('ignore')"
    if not only and rng.random() < 0.4:
        yield f"models = [kt.load({str(rng.choice(RICH))!r}) for _ in range(2)]"
    else:
        first, second = TWINS[str(rng.choice(list(TWINS)))]
        yield f"models = [kt.load(mujoco.MjModel.from_xml_string(text)) for text in ({first!r}, {second!r})]"
    yield "m = models[0]; d = kt.Data(m)"
    lanes = with_lanes and rng.random() < 0.25
    if lanes:
        yield f"lanes = LaneData(m, own={rng.random() < 0.5})"
    for _ in range(count):
        x = rng.random()
        if x < 0.45:
            yield f"kt.pipeline.{rng.choice(only or (STAGES if rng.random() < 0.7 else WHOLE))}(m, d)"
        elif x < 0.65:
            yield _mutation(rng)
        elif x < 0.75:
            yield f"m = models[{rng.integers(2)}]"
        elif x < 0.82:
            yield _option(rng)
        elif lanes and x < 0.9:
            yield _on_lanes(rng)
        elif not only:
            yield _call(rng)
        if not only and rng.random() < 0.04:
            yield CHECK
