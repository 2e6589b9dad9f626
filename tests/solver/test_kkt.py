"""The conditions that make forces and acceleration the solution, checked with dense matrices in NumPy.

Gauss' principle with soft constraints has one solution. With f the forces of the rows, a the acceleration, and
x = J a - aref + R f what is left of the violation of each row: M (a - a_smooth) = J' f; f lies in its set (any number, an
interval, a half-line, a cone); x lies in the dual of that set, and x f = 0. Nothing of the solver is used here.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.types import Cone, Constraint, Solver
from tests.constraint.in_contact import start
from tests.constraint.paired_rows import our_jacobian
from tests.physics.random_scene import random_scene
from tests.pipeline.both import Both, quietly
from tests.solver.solved import inertia

SCENES = {"humanoid": 120, "quadruped": 60, "contacts": 40, "limits": 30, "equalities": 30, "seed 5": 60, "seed 26": 60}
TIGHT = {"tolerance": 0.0, "iterations": 100}
# What each solver reaches if only rounding or its last iteration ends it.
WITHIN = {Solver.NEWTON: 1e-9, Solver.CG: 1e-6, Solver.PGS: 1e-6}
APEX = "seed 26"  # has a contact that Gauss-Seidel leaves at the apex of its cone, see `residuals`
ITERATIONS = {Solver.NEWTON: 100, Solver.CG: 1000, Solver.PGS: 5000}


@functools.cache
def motion(name: str) -> np.ndarray:
    """A state of the scene some steps after its start, as a vector."""
    pair = scene(name)
    with quietly():
        kt.step(pair.model, pair.ours, SCENES[name])
    return pair.ours.get_state()


def scene(name: str, **options: Any) -> Both:
    """Both sides at the start."""
    source = random_scene(int(name.split()[1])) if name.startswith("seed") else name
    pair = start(source, 1, **options)
    for field in ("qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied"):
        getattr(pair.ours, field)[:] = getattr(pair.theirs, field)
    return pair


def solved(name: str, **options: Any) -> Both:
    """The scene after its motion, with its rows solved."""
    state, pair = motion(name), scene(name, **options)
    pair.ours.set_state(state)
    with quietly():
        kt.forward(pair.model, pair.ours)
    return pair


def residuals(pair: Both) -> dict[str, float]:
    """By how much each condition is missed, relative to the forces and accelerations of the scene.

    Gauss-Seidel moves normal and friction forces in turn, in MuJoCo too: from no force at all it cannot leave the apex of an
    elliptic cone if only both together would lower the cost. Such contacts are passed over.
    """
    d, mass, jacobian = pair.ours, inertia(pair), our_jacobian(pair.ours)
    f, left = d.efc_force, jacobian @ d.qacc - d.efc_aref + d.efc_R * d.efc_force
    force_scale, left_scale = 1.0 + np.abs(f).max(), 1.0 + np.abs(jacobian @ d.qacc).max() + np.abs(d.efc_aref).max()
    smooth = mass @ (d.qacc - d.qacc_smooth)
    out = {"stationarity": np.abs(smooth - jacobian.T @ f).max() / (1.0 + np.abs(smooth).max())}
    sets, duals, products = [0.0], [0.0], [0.0]
    row = 0
    while row < d.nefc:
        kind, n = d.efc_type[row], 1
        if kind == Constraint.EQUALITY:
            duals.append(abs(left[row]))
        elif kind in (Constraint.FRICTION_DOF, Constraint.FRICTION_TENDON):
            loss = d.efc_frictionloss[row]
            sets.append(abs(f[row]) - loss)
            products.append(abs(left[row]) * loss + left[row] * f[row])  # zero inside, else against the motion
        elif kind == Constraint.CONTACT_ELLIPTIC:
            n = int(d.contact_dim[d.efc_id[row]])
            mu, own, rest = d.contact_friction[d.efc_id[row]][: n - 1], f[row : row + n], left[row : row + n]
            sets.append(np.linalg.norm(own[1:] / mu) - own[0])
            stays = pair.model.opt.solver == Solver.PGS and not own.any() and rest[0] >= 0.0
            duals.append(0.0 if stays else np.linalg.norm(rest[1:] * mu) - rest[0])
            products.append(abs(own @ rest))
        else:
            sets.append(-f[row])
            duals.append(-left[row])
            products.append(abs(f[row] * left[row]))
        row += n
    out["set"], out["dual"] = max(sets) / force_scale, max(duals) / left_scale
    out["complementarity"] = max(products) / (force_scale * left_scale)
    return out


def costs(pair: Both) -> tuple[float, float]:
    """The cost of the acceleration and the negative of that of the forces, which are equal at the optimum only.

    The first needs forces that belong to the acceleration, as Newton and CG leave them.
    """
    d, mass, jacobian = pair.ours, inertia(pair), our_jacobian(pair.ours)
    f, change = d.efc_force, d.qacc - d.qacc_smooth
    primal = 0.5 * change @ mass @ change - f @ (jacobian @ d.qacc - d.efc_aref) - 0.5 * f @ (d.efc_R * f)
    moved = np.linalg.solve(mass, jacobian.T @ f)
    free = jacobian @ d.qacc_smooth - d.efc_aref
    return primal, -0.5 * f @ (jacobian @ moved) - 0.5 * f @ (d.efc_R * f) - f @ free


@pytest.mark.parametrize("cone", list(Cone), ids=lambda c: c.name)
@pytest.mark.parametrize("solver", list(Solver), ids=lambda s: s.name)
@pytest.mark.parametrize("name", SCENES)
def test_all_conditions_hold(name, solver, cone):
    pair = solved(name, solver=solver, cone=cone, tolerance=0.0, iterations=ITERATIONS[solver])
    assert pair.ours.nefc > 0
    found = residuals(pair)
    assert max(found.values()) <= WITHIN[solver], f"{name}: {found}, {pair.ours.solver_niter[0]} iterations"


@pytest.mark.parametrize("cone", list(Cone), ids=lambda c: c.name)
@pytest.mark.parametrize("name", SCENES)
def test_both_costs_meet_at_the_optimum(name, cone):
    primal, dual = costs(solved(name, cone=cone, **TIGHT))
    assert primal == pytest.approx(dual, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("cone", list(Cone), ids=lambda c: c.name)
@pytest.mark.parametrize("solver", list(Solver), ids=lambda s: s.name)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_what_is_left_to_gain_is_below_the_tolerance(solver, cone, tolerance):
    """The cost above the optimum, scaled as the solver scales it.

    Newton ends on what a step promises. The others end on what the last one gained, of which much may be left.
    """
    times = {Solver.NEWTON: 1.0, Solver.CG: 50.0, Solver.PGS: 500.0}[solver]
    for name in SCENES:
        if (name, solver, cone) == (APEX, Solver.PGS, Cone.ELLIPTIC):
            continue
        primal, dual = costs(solved(name, cone=cone, **TIGHT))
        pair = solved(name, solver=solver, cone=cone, tolerance=tolerance, iterations=ITERATIONS[solver])
        excess = dual - costs(pair)[1] if solver == Solver.PGS else costs(pair)[0] - primal
        left = excess / np.trace(inertia(pair))
        assert -1e-8 <= left <= times * tolerance, f"{name}: {left} left after {pair.ours.solver_niter[0]} iterations"


def test_there_are_rows_of_every_kind_and_in_every_zone():
    """What is checked above is not trivially true."""
    kinds, sliding, sticking = set(), 0, 0
    for name in SCENES:
        for cone in Cone:
            d = solved(name, cone=cone, **TIGHT).ours
            kinds |= set(d.efc_type.tolist())
            for row in np.flatnonzero(d.efc_type == Constraint.CONTACT_ELLIPTIC):
                contact = d.efc_id[row]
                if d.contact_efc_address[contact] == row and d.efc_force[row] > 0:
                    n = d.contact_dim[contact]
                    ratio = np.linalg.norm(d.efc_force[row + 1 : row + n] / d.contact_friction[contact, : n - 1])
                    sliding += ratio > 0.999999 * d.efc_force[row]
                    sticking += ratio < 0.9 * d.efc_force[row]
    assert kinds == {int(kind) for kind in Constraint} and sliding > 5 and sticking > 5
