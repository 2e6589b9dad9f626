"""Worlds on lanes that are solved one by one: each as if its neighbours were not there, whatever rows these have."""

from __future__ import annotations

import warnings
from typing import Any

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import LaneData, lanes_of
from kinetree.constraint.island import DOFS_END, ROWS_END, find_islands
from kinetree.data_fields import DATA_FIELDS
from kinetree.kernel import stage
from kinetree.solver.pattern import set_pattern
from kinetree.types import Cone
from tests.pipeline.worlds import loaded

WIDTH, STEPS = 8, 12
PATTERN = ("H_rownnz", "H_rowadr", "H_super", "H_order", "H_colind")
BOXES = """<mujoco model="boxes"><option><flag island="enable"/></option><worldbody><geom type="plane" size="5 5 1"/>
  {}</worldbody><equality><connect body1="b0" body2="b1" anchor="0.06 0 0"/><joint joint1="h0" joint2="h1"/></equality>
  </mujoco>""".format(
    "".join(
        f'<body name="b{k}" pos="{0.11 * (k % 2)} {0.3 * (k // 4)} {0.06 + 0.1 * (k % 4)}"><freejoint/>'
        f'<geom type="box" size="0.05 0.05 0.05" condim="{(3, 4, 6, 1)[k % 4]}"/></body>'
        for k in range(8)
    )
    + "".join(
        f'<body pos="{k} 2 0.5"><joint name="h{k}" axis="0 1 0" frictionloss="0.1" limited="true" range="-20 20"/>'
        f'<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/></body>'
        for k in range(3)
    )
)
# A tendon that goes straight from tree to tree, or round a ball on a third one, on which it then has an arm.
ROUND = """<mujoco model="round a ball"><worldbody><site name="a" pos="-0.5 0 1"/>
  <body pos="0 0 0.95"><joint name="j0" axis="1 0 0"/><joint name="j1" type="slide" axis="0 0 1" range="-0.2 0.2"/>
    <geom name="ball" size="0.1"/><site name="over" pos="0 0 0.3"/></body>
  <body pos="0.5 0 1"><joint name="j2" axis="0 1 0" pos="0 0 1" frictionloss="0.01"/><geom size="0.05"/><site name="b"/></body>
  </worldbody><tendon><spatial name="t" limited="true" range="0 1.01" frictionloss="0.1">
    <site site="a"/><geom geom="ball" sidesite="over"/><site site="b"/></spatial></tendon></mujoco>"""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "boxes": (BOXES, {}),
    "boxes, elliptic": (BOXES, {"cone": Cone.ELLIPTIC}),
    "boxes, one group": (BOXES, {"disableflags": int(kt.DisableBit.ISLAND)}),
    "boxes, CG": (BOXES, {"solver": kt.Solver.CG}),
    "boxes, PGS": (BOXES, {"solver": kt.Solver.PGS}),
    "boxes, PGS, elliptic": (BOXES, {"solver": kt.Solver.PGS, "cone": Cone.ELLIPTIC}),
    "boxes, without slip": (BOXES, {"noslip_iterations": 4}),
    "boxes, PGS, without slip": (BOXES, {"solver": kt.Solver.PGS, "noslip_iterations": 4}),
    "contacts, PGS": ("tests/models/contacts.xml", {"solver": kt.Solver.PGS}),
    "tendon": (ROUND, {}),
    "limits": ("tests/models/limits.xml", {}),
    "equalities": ("tests/models/equalities.xml", {}),
    "couplings": ("tests/models/discrete.xml", {}),
    "sleep": ("tests/models/sleep.xml", {}),
}


def model_of(case: str) -> kt.Model:
    text, options = CASES[case]
    model = loaded(text) if text.endswith(".xml") else kt.load(mujoco.MjModel.from_xml_string(text))
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model


def different(model: kt.Model, seed: int, count: int = WIDTH) -> list[kt.Data]:
    """Worlds that have moved for different times from different starts, and so have different rows."""
    rng, out = np.random.default_rng(seed), []
    for k in range(count):
        data = kt.Data(model)
        data.qvel[:] = (0.0 if k == 0 else 0.4) * rng.normal(size=model.nv)
        if model.neq and k % 3 == 2:
            data.eq_active[rng.integers(model.neq)] = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kt.SimulationWarning)
            for _ in range(int(rng.integers(5, 90))):
                data.ctrl[:] = rng.uniform(-1.0, 1.0, model.nu)
                kt.step(model, data)
        out.append(data)
    return out


def bits(lanes: LaneData, lane: int) -> dict[str, bytes]:
    names = (
        "qpos",
        "qvel",
        "act",
        "qacc",
        "qfrc_constraint",
        "solver_niter",
        "sensordata",
        "warning_number",
    )
    return {name: np.ascontiguousarray(lanes.arrays[name][..., lane]).tobytes() for name in names}


@pytest.mark.parametrize("case", CASES)
def test_a_world_is_the_same_beside_any_others_and_on_any_lane(case):
    model, rng = model_of(case), np.random.default_rng(3)
    worlds = different(model, 1)
    blocks = [lanes_of(model, [data.copy() for data in worlds])]
    orders = [np.arange(WIDTH), rng.permutation(WIDTH), np.full(WIDTH, 2)]
    blocks += [lanes_of(model, [worlds[k].copy() for k in order]) for order in orders[1:]]
    differ = False
    for step in range(STEPS):
        controls = rng.uniform(-1.0, 1.0, (model.nu, WIDTH))
        for lanes, order in zip(blocks, orders, strict=True):
            lanes.arrays["ctrl"][:] = controls[:, order]
            lanes.step()
        wanted = [bits(blocks[0], k) for k in range(WIDTH)]
        for lanes, order in zip(blocks[1:], orders[1:], strict=True):
            for lane, k in enumerate(order):
                got = bits(lanes, lane)
                wrong = [name for name in got if got[name] != wanted[k][name]]
                assert not wrong, f"{case}: step {step}, world {k} on lane {lane}: {wrong}"
        mass = blocks[0].arrays["efc_D"][: int(blocks[0].nefc[0])]
        differ = differ or bool((mass == 0.0).any())
    assert differ, "all worlds had the same rows: this test has seen nothing"


@pytest.mark.parametrize("case", CASES)
def test_a_world_is_solved_as_on_floats(case):
    """In as many iterations, island by island. Digits differ by rounding: sums of lanes are fused in other places."""
    model = model_of(case)
    worlds = different(model, 2)
    lanes = lanes_of(model, [data.copy() for data in worlds])
    lanes.run(kt.pipeline.forward)
    for lane, data in enumerate(worlds):
        kt.forward(model, data)
        what = f"{case}, world {lane}"
        np.testing.assert_array_equal(lanes.arrays["solver_niter"][:, lane], data.solver_niter, err_msg=what)
        for name in ("qacc", "qfrc_constraint"):
            got, wanted = lanes.arrays[name][:, lane], getattr(data, name)
            scale = 1.0 + np.abs(wanted).max(initial=0.0)
            assert np.abs(got - wanted).max(initial=0.0) < 1e-9 * scale, f"{what}: {name}"


def test_the_rows_of_all_worlds_are_back_afterwards():
    model = model_of("boxes")
    lanes = lanes_of(model, different(model, 4))
    rows = [name for name, field in DATA_FIELDS.items() if field.stage == "make_constraint"]
    for part in ("fwd_position", "fwd_velocity", "fwd_actuation", "fwd_acceleration"):
        lanes.run(getattr(kt.pipeline, part))
    n, at = int(lanes.nefc[0]), int(lanes.nJ[0])
    assert (lanes.arrays["efc_D"][:n] == 0.0).any() and int(lanes.nisland[0]) > 1
    rows += ["efc_aref"]
    before = {name: lanes.arrays[name].copy() for name in rows}
    lanes.run(kt.pipeline.fwd_constraint)
    groups = before["group_part"][: int(lanes.arrays["ngroup"][0])]
    sizes = {"group_part": len(groups), "dof_run": int(groups[-1, DOFS_END]), "row_run": int(groups[-1, ROWS_END])}
    sizes |= {"efc_J": at, "efc_J_colind": at}
    for name in rows:
        if name.startswith("island_"):
            sizes[name] = int(lanes.nisland[0])
        elif name.startswith(("efc_", "map_efc", "map_iefc")):
            sizes.setdefault(name, n)
        size = sizes.get(name)
        np.testing.assert_array_equal(lanes.arrays[name][:size], before[name][:size], err_msg=name)
    absent = before["efc_D"][:n] == 0.0
    assert not lanes.arrays["efc_force"][:n][absent].any() and not lanes.arrays["efc_state"][:n][absent].any()


@stage
def patterned_twice(m, d):
    """The pattern for the rows at hand, after that for the first half of them."""
    rows = d.nefc[0]
    d.nefc[0], d.nrow[0] = rows // 2, rows // 2
    find_islands(m, d)
    set_pattern(m, d)
    d.nefc[0], d.nrow[0] = rows, rows
    find_islands(m, d)
    set_pattern(m, d)


@stage
def patterned_once(m, d):
    """The same without what came before."""
    d.H_pattern[0] = 0
    find_islands(m, d)
    set_pattern(m, d)


def test_a_pattern_does_not_hang_on_what_came_before():
    model = model_of("boxes, one group")
    for data in different(model, 5):
        kt.fwd_position(model, data)
        found = []
        for each in (patterned_twice, patterned_once):
            each(model, data)
            work = data._arrays.workspace
            n = int(work["H_rownnz"].sum())
            found.append([work[name][: n if name == "H_colind" else None].copy() for name in PATTERN])
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)
