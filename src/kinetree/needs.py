"""Which of the rare stages a model needs: they are compiled with its others, at once, where several processors can help.

A stage that is needed after all, as options change or a function is called, is compiled when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .types import EnableBit, GeomType, Integrator, SensorType, Solver

if TYPE_CHECKING:
    from .model import Model

Need = Callable[["Model"], bool]


def flag(bit: EnableBit) -> Need:
    """A flag is set."""
    return lambda model: bool(model.opt.enableflags & bit)


def option(name: str) -> Need:
    """An option is not zero."""
    return lambda model: bool(getattr(model.opt, name))


def integrator(kind: Integrator) -> Need:
    """It is the model's integrator."""
    return lambda model: model.opt.integrator == kind


def solver(kind: Solver) -> Need:
    """It is the model's solver of constraints."""
    return lambda model: model.opt.solver == kind


def sensor(*kinds: SensorType) -> Need:
    """There is a sensor of these kinds; of any, where none are named."""
    return lambda model: bool(np.isin(model.sensor_type, kinds or list(SensorType)).any())


def shapes(*kinds: GeomType) -> Need:
    """There are geoms of all these kinds that may collide; a kind that is named twice, twice."""

    def need(model: Model) -> bool:
        collides = (model.geom_contype | model.geom_conaffinity != 0) | bool(model.npair)
        return all(np.sum(collides & (model.geom_type == kind)) >= kinds.count(kind) for kind in kinds)

    return need


def some(count: str) -> Need:
    """A count of the model is not zero."""
    return lambda model: getattr(model, count) > 0


def both(*needs: Need) -> Need:
    """All of them."""
    return lambda model: all(need(model) for need in needs)


def either(*needs: Need) -> Need:
    """One of them."""
    return lambda model: any(need(model) for need in needs)


S = SensorType
SLEEPS = flag(EnableBit.SLEEP)
CONVEX = either(*(shapes(kind) for kind in (GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.MESH)))
DISTANCES = sensor(S.GEOMDIST, S.GEOMNORMAL, S.GEOMFROMTO)
FORCES = sensor(S.ACCELEROMETER, S.FORCE, S.TORQUE, S.FRAMELINACC, S.FRAMEANGACC, S.USER)
RK4 = integrator(Integrator.RK4)
MEDIUM = either(option("density"), option("viscosity"))

NEEDS: dict[str, Need] = {
    # collision
    "near_points": CONVEX,
    "near_prisms": shapes(GeomType.HFIELD),
    "lowest_corners": shapes(GeomType.PLANE, GeomType.MESH),
    "capsule_with_box": shapes(GeomType.CAPSULE, GeomType.BOX),
    "box_with_box": shapes(GeomType.BOX, GeomType.BOX),
    "pair_distance": DISTANCES,
    "nearest_points": DISTANCES,
    # sleep
    "update_sleep": SLEEPS,
    "lie_down": SLEEPS,
    "wake": SLEEPS,
    "wake_by_tendons": SLEEPS,
    "wake_by_contacts": SLEEPS,
    "wake_by_equalities": SLEEPS,
    # constraints
    "equality_rows": some("neq"),
    "exact_diagonal": flag(EnableBit.DIAGEXACT),
    "solve_newton": solver(Solver.NEWTON),
    "newton_direction": solver(Solver.NEWTON),
    "solve_cg": solver(Solver.CG),
    "solve_pgs": solver(Solver.PGS),
    "solve_noslip": option("noslip_iterations"),
    # dynamics
    "energy_pos": either(flag(EnableBit.ENERGY), sensor(S.E_POTENTIAL)),
    "energy_vel": either(flag(EnableBit.ENERGY), sensor(S.E_KINETIC)),
    "tendon_lengths": some("ntendon"),
    "fluid": MEDIUM,
    "fluid_slopes": both(MEDIUM, either(integrator(Integrator.IMPLICIT), integrator(Integrator.IMPLICITFAST))),
    "symmetric_fluid_slopes": MEDIUM,
    "subtree_vel": sensor(S.SUBTREELINVEL, S.SUBTREEANGMOM, S.USER),
    "rne_post_constraint": FORCES,
    # sensors
    "position_readings": sensor(),
    "velocity_readings": sensor(),
    "acceleration_readings": sensor(),
    "contact_readings": sensor(S.TOUCH, S.CONTACT, S.TACTILE),
    "distance_readings": DISTANCES,
    "rangefinders": sensor(S.RANGEFINDER),
    # integrators
    "euler": integrator(Integrator.EULER),
    "implicit": integrator(Integrator.IMPLICIT),
    "implicitfast": integrator(Integrator.IMPLICITFAST),
    "rk4": RK4,
    "compare_fwd_inv": flag(EnableBit.FWDINV),
}
