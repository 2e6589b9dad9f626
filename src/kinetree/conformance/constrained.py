"""The layers in which constraints act: contacts, their rows, what the solver makes of them, and motions among them.

What is set alike on both sides, because it is no question of right or wrong:
 * MuJoCo may split the constraints into islands and solve one after the other. The optimum is the same, but each island
   stops by itself, so islands are off.
 * A solver stops when it has come close enough, and two that round differently stop at different distances. The tolerance is
   so small here that both go on until nothing improves.
 * The same goes for noslip iterations, if the model has any; how far a few of them come hangs on the order of contacts.
 * All trees are awake: sleep is a layer of its own (`sleeping`).

Contacts of convex shapes found by iteration are a layer of their own. All contacts are compared as sets within a pair of geoms,
and rows in the order of the contacts they belong to (`matching`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np

import kinetree as kt

from ..efc import dense_jacobian
from ..geometry.driver import CLOSED_FORMS, SHAPES
from ..types import Jacobian, Solver
from . import budget, tolerances
from .layer import STEPS, Along, Field, Getter, Layer, plain, reader, sequence, unless_discrete
from .matching import FIRST_CONTACT
from .scales import natural_sizes
from .smooth import (
    BODY_FORCES,
    MOVED,
    SOLVED,
    TIGHT,
    actuator_moment,
    oracle_steps,
    probes,
    set_acceleration,
    steps,
    unlimited_servos,
)
from .touching import resting_state, touching_state

Choice = Callable[[Any, Any], np.ndarray]
"""Indices of some contacts of a model and data."""

ITERATIONS = {Solver.NEWTON: 100, Solver.CG: 1000, Solver.PGS: 3000}
"""Enough of them, by solver."""
LINE_SEARCH = 100
NOSLIP = 1000
CHANGED = (
    "tolerance", "ls_tolerance", "noslip_tolerance", "iterations", "ls_iterations", "noslip_iterations", "disableflags",
    "enableflags",
)  # fmt: skip

DEFAULTS = {
    "solver": int(Solver.NEWTON), "tolerance": 1e-8, "ls_tolerance": 0.01, "noslip_tolerance": 1e-6, "iterations": 100,
    "ls_iterations": 50, "noslip_iterations": 0, "jacobian": int(Jacobian.AUTO),
}  # fmt: skip
"""MuJoCo's own settings of the solver."""

CONTACT = (
    "dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion", "surfacevel",
    "dim", "geom", "exclude",
)  # fmt: skip
ROWS = {
    "efc_type": "", "efc_pos": "row", "efc_margin": "", "efc_frictionloss": "", "efc_diagA": "", "efc_KBIP": "", "efc_D": "",
    "efc_R": "", "efc_vel": "row speed",
}  # fmt: skip
"""What rows are made of, and the units of what is a sum that may cancel."""


# how fields are read


LENGTHS = {"dist": "length", "pos": "length", "frame": "1", "includemargin": "length"}


def contact_fields(*names: str, choice: Choice | None = None) -> tuple[Field, ...]:
    """Members of contacts, one row for each contact, or for each that is chosen."""

    def getter(name: str) -> Getter:
        special = {"geom": geoms_in_place, "efc_address": owns_its_rows}
        return special.get(name, lambda _model, data: getattr(data.contact, name))

    return tuple(
        Field(f"contact.{name}", getter(name), getter(name), along=Along.CONTACTS, choice=choice,
              parts=((0, LENGTHS.get(name, "")),))
        for name in names
    )  # fmt: skip


def geoms_in_place(_model: Any, data: Any) -> np.ndarray:
    """Of each contact its two geoms, and how many pairs come before: pairs have an order, contacts of one pair have none."""
    geoms = np.asarray(data.contact.geom).reshape(-1, 2)
    fresh = np.any(np.diff(geoms, axis=0, prepend=geoms[:1]) != 0, axis=1)
    return np.column_stack([geoms, np.cumsum(fresh)])


def owns_its_rows(_model: Any, data: Any) -> np.ndarray:
    """Whether the first row that says it is of a contact is at its `efc_address` (1) or not (0); -1 where there are none."""
    address = np.array(data.contact.efc_address)
    owners = np.where(np.array(data.efc_type) >= FIRST_CONTACT, np.array(data.efc_id), -1)
    first = np.array([np.argmax(owners == k) if (owners == k).any() else -2 for k in range(len(address))], int)
    return np.where(address < 0, -1, first == address)


def row_owner(model: Any, data: Any) -> np.ndarray:
    """`efc_id`, with the pair of geoms of a contact as one number in place of the contact's."""
    numbers, geoms = np.array(data.efc_id), np.asarray(data.contact.geom).reshape(-1, 2)
    of_contacts = (np.array(data.efc_type) >= FIRST_CONTACT) & (numbers >= 0) & (numbers < len(geoms))
    numbers[of_contacts] = geoms[numbers[of_contacts]] @ (int(model.ngeom), 1)
    return numbers


def in_closed_form(model: Any, data: Any) -> np.ndarray:
    """Contacts of pairs of shapes that have a formula."""
    return np.flatnonzero([not _iterated(model, pair) for pair in data.contact.geom])


def by_iteration(model: Any, data: Any) -> np.ndarray:
    """Contacts of the other pairs."""
    return np.flatnonzero([_iterated(model, pair) for pair in data.contact.geom])


def _iterated(model: Any, pair: np.ndarray) -> bool:
    first, second = sorted(int(model.geom_type[g]) for g in pair)
    return SHAPES * first + second not in CLOSED_FORMS


def counts(*names: str) -> tuple[Field, ...]:
    """Numbers of contacts or rows."""

    def getter(name: str) -> Getter:
        return lambda _model, data: np.array([getattr(data, name)])

    return tuple(Field(name, getter(name), getter(name)) for name in names)


def our_jacobian(model: Any, data: Any) -> np.ndarray:
    """Our constraint Jacobian as a matrix (nefc, nv), whether it is shown dense or sparse; or its products with the probes."""
    if model.nv <= budget.DENSE:
        return dense_jacobian(data._arrays, model.nv)
    count = int(data._arrays["nJ"][0])
    rows, columns = data._arrays["efc_J_rownnz"][: data.nefc], data._arrays["efc_J_colind"][:count]
    return _products(model, rows, columns, data._arrays["efc_J"][:count])


def oracle_jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's, which is stored dense or sparse as the model wants."""
    if not mujoco.mj_isSparse(model):
        dense = data.efc_J[: data.nefc * model.nv].reshape(data.nefc, model.nv)
        return dense.copy() if model.nv <= budget.DENSE else dense @ probes(model)
    columns = np.concatenate([
        data.efc_J_colind[first : first + count]
        for first, count in zip(data.efc_J_rowadr, data.efc_J_rownnz, strict=True)
    ] or [np.zeros(0, int)])  # fmt: skip
    entries = np.concatenate([
        data.efc_J[first : first + count] for first, count in zip(data.efc_J_rowadr, data.efc_J_rownnz, strict=True)
    ] or [np.zeros(0)])  # fmt: skip
    if model.nv > budget.DENSE:
        return _products(model, data.efc_J_rownnz, columns, entries)
    out = np.zeros((data.nefc, model.nv))
    out[np.repeat(np.arange(data.nefc), data.efc_J_rownnz), columns] = entries
    return out


def _products(model: Any, counts: np.ndarray, columns: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """A sparse matrix times the probes (nefc, 4)."""
    out = np.zeros((len(counts), 4))
    np.add.at(out, np.repeat(np.arange(len(counts)), counts), entries[:, None] * probes(model)[columns])
    return out


def reference_scale(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """What reference accelerations are relative to: themselves, or the rounding of position and velocity they are a sum of."""
    sizes = natural_sizes(model, data)
    stiffness, damping, impedance, _ = np.abs(data.efc_KBIP.reshape(-1, 4)).T
    terms = stiffness * impedance * sizes["row"] + damping * sizes["row speed"]
    return np.maximum(np.abs(data.efc_aref), terms * tolerances.ROUNDING / tolerances.CONSTRAINT_ROWS)


# how fields are filled


@contextmanager
def tight(model: Any) -> Iterator[None]:
    """The model with a solver that goes on until nothing improves, on all islands at once; continuous inverse dynamics."""
    opt = model.opt
    kept = {name: getattr(opt, name) for name in CHANGED}
    opt.tolerance = opt.ls_tolerance = opt.noslip_tolerance = TIGHT
    opt.iterations, opt.ls_iterations = ITERATIONS[Solver(int(opt.solver))], LINE_SEARCH
    opt.noslip_iterations = NOSLIP if opt.noslip_iterations else 0
    opt.disableflags = int(opt.disableflags) | int(kt.DisableBit.ISLAND)
    opt.enableflags = int(opt.enableflags) & ~int(kt.EnableBit.INVDISCRETE)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(opt, name, value)


@contextmanager
def default_solver(model: Any) -> Iterator[None]:
    """The model with the solver that MuJoCo has unless told otherwise, on one island after the other."""
    opt = model.opt
    kept = {name: getattr(opt, name) for name in (*DEFAULTS, "disableflags")}
    for name, value in DEFAULTS.items():
        setattr(opt, name, value)
    opt.disableflags = int(opt.disableflags) & ~int(kt.DisableBit.ISLAND)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(opt, name, value)


@contextmanager
def tight_motion(model: Any) -> Iterator[None]:
    """The same for a motion: without sensors, and orientation servos of unlimited torque (see `smooth_motion`)."""
    disabled = int(model.opt.disableflags)
    model.opt.disableflags = disabled | int(kt.DisableBit.SENSOR)
    try:
        with tight(model), unlimited_servos(model):
            yield
    finally:
        model.opt.disableflags = disabled


def counted(choice: Choice) -> Callable[[mujoco.MjModel, mujoco.MjData], int]:
    """How many of a choice of contacts MuJoCo has."""
    return lambda model, data: len(choice(model, data))


def rows(_model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """Constraint rows that MuJoCo has."""
    return int(data.nefc)


CONTACT_LAYERS: tuple[Layer, ...] = (
    Layer(
        "contact geometry",
        tolerances.CONTACT_CLOSED_FORM,
        kt.fwd_position,
        mujoco.mj_fwdPosition,
        (*counts("ncon"), *contact_fields(*CONTACT, choice=in_closed_form)),
        prepare=touching_state,
        count=counted(in_closed_form),
    ),
    Layer(
        "contact geometry, convex",
        tolerances.CONTACT_CONVEX,
        kt.fwd_position,
        mujoco.mj_fwdPosition,
        (*counts("ncon"), *contact_fields(*CONTACT, choice=by_iteration)),
        count=counted(by_iteration),
    ),
    Layer(
        "constraint rows",
        tolerances.CONSTRAINT_ROWS,
        unless_discrete(kt.fwd_velocity, kt.forward),
        unless_discrete(mujoco.mj_fwdVelocity, mujoco.mj_forward),
        (
            *counts("nefc", "ne", "nf", "nl"),
            Field("efc_J", our_jacobian, oracle_jacobian, along=Along.ROWS, parts=((0, "1"),)),
            Field("efc_id", row_owner, row_owner, along=Along.ROWS),
            *(field for name, unit in ROWS.items() for field in plain(name, each=True, along=Along.ROWS, unit=unit)),
            Field("efc_aref", reader("efc_aref"), reader("efc_aref"), along=Along.ROWS, scale=reference_scale),
            *contact_fields("mu", "efc_address"),
            Field("actuator_moment", actuator_moment, actuator_moment),
            *plain("qfrc_adhesion", unit="joint force"),
        ),
        count=rows,
    ),
    Layer(
        "solved",
        tolerances.SOLVED,
        kt.forward,
        mujoco.mj_forward,
        (*SOLVED, *plain("efc_force", along=Along.ROWS)),
        setting=tight,
        count=rows,
    ),
    Layer(
        "sensors in contact",
        tolerances.SENSOR_CONSTRAINT,
        kt.rne_post_constraint,
        mujoco.mj_rnePostConstraint,
        BODY_FORCES,
        setting=tight,
        count=rows,
    ),
    Layer(
        "inverse in contact",
        tolerances.INVERSE_CONTACT,
        sequence(set_acceleration, kt.inverse),
        sequence(set_acceleration, mujoco.mj_inverse),
        (*plain("qfrc_inverse"), SOLVED[1], *plain("efc_force", "efc_state", along=Along.ROWS)),
        setting=tight,
        count=rows,
    ),
    Layer(
        "default solver",
        tolerances.AS_SHIPPED,
        kt.forward,
        mujoco.mj_forward,
        (
            *counts("nefc", "nisland"),
            *SOLVED,
            *plain("efc_force", along=Along.ROWS),
            *plain("sensordata", along=Along.READINGS, unit="1"),
        ),
        setting=default_solver,
        count=rows,
    ),
    Layer(
        "trajectory in contact",
        tolerances.TRAJECTORY_CONTACT,
        steps,
        oracle_steps,
        MOVED,
        setting=tight_motion,
        prepare=resting_state,
        count=rows,
        steps=STEPS,
    ),
)  # fmt: skip
