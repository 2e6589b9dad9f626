"""kinetree: articulated rigid-body dynamics, MuJoCo's physics from one readable Python source.

>>> import kinetree as kt
>>> model = kt.load("humanoid")
>>> data = kt.Data(model)
>>> kt.step(model, data, nstep=100)
>>> position = data.body("torso").xpos
"""

from . import interrupt as _interrupt  # noqa: F401, I001  # before all that takes time
import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import forks as _forks  # noqa: F401  # makes them wait for the compiler
from . import models, pipeline
from .batch import controllers as _controllers  # noqa: F401  # its entries, and those of blocks, are ones of the package
from .geometry.distance import geom_distance
from .geometry.ray import multi_ray, ray
from .constraint.contact_force import contact_force, contact_forces, jac_contact
from .constraint.rne_post import object_acceleration
from .control.stable_pd import StablePD
from .data import Data
from .dynamics.configuration import differentiate_pos, integrate_pos
from .dynamics.inertia import aba, full_m, mul_m, rne, solve_m
from .dynamics.jacobian import (
    angmom_mat,
    apply_ft,
    jac,
    jac_body,
    jac_body_com,
    jac_dot,
    jac_geom,
    jac_site,
    jac_subtree_com,
    local_to_global,
)
from .dynamics.objects import object_velocity
from .errors import BusyError, ModelError, SimulationWarning, UnknownNameError, UnsupportedFeatureError
from .instead import instead_of as _instead_of
from .instead import is_mujocos as _is_mujocos
from .model import Model
from .pipeline import (
    camlight,
    collision,
    com_pos,
    com_vel,
    crb,
    factor_m,
    fluid,
    fwd_acceleration,
    fwd_actuation,
    fwd_constraint,
    fwd_position,
    fwd_velocity,
    inv_constraint,
    kinematics,
    make_constraint,
    make_m,
    passive,
    reference_constraint,
    rne_bias,
    sensor_acc,
    sensor_pos,
    sensor_vel,
    tendon,
    tendon_path,
    transmission,
)
from .prerequisites import prepared
from .sensor.noise import add_sensor_noise
from .staged import (
    inverse,
    inverse_skip,
    step1,
    step2,
)
from .stepping import forward, forward_skip, step
from .types import (
    BiasType,
    Cone,
    Constraint,
    ConstraintState,
    DisableBit,
    DynType,
    EnableBit,
    EqType,
    GainType,
    GeomType,
    Integrator,
    Jacobian,
    JointType,
    ObjType,
    SensorType,
    SleepPolicy,
    SleepState,
    Solver,
    Stage,
    State,
    TrnType,
    WarningType,
)

if _TYPE_CHECKING:
    from .batch.batch import Batch
    from .io.load import ModelFileNotFoundError, load, set_const
    from .io.trajectory import Trajectory, load_trajectory, save_trajectory
    from .mass import BudgetError, MassAggregator, MassProperties, aggregate, load_budget, set_body_mass_properties
    from .symbols import symbolic

# Imported when they are first asked for: with MuJoCo they would take half of the time of an import.
_LATER = {
    "batch.batch": ("Batch",),
    "io.load": ("ModelFileNotFoundError", "load", "set_const"),
    "io.trajectory": ("Trajectory", "load_trajectory", "save_trajectory"),
    "mass": ("BudgetError", "MassAggregator", "MassProperties", "aggregate", "load_budget", "set_body_mass_properties"),
    "symbols": ("symbolic",),
}


def __getattr__(name: str) -> _Any:
    for module, names in _LATER.items():
        if name in names:
            value = globals()[name] = getattr(_importlib.import_module(f".{module}", __name__), name)
            return value
    hint = ""
    if _is_mujocos(name):
        offered = _instead_of(name, {each: getattr(_sys.modules[__name__], each) for each in __all__})
        hint = f": write {offered}" * bool(offered)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


compare_fwd_inv = prepared(pipeline.compare_fwd_inv)
energy_pos = prepared(pipeline.energy_pos)
energy_vel = prepared(pipeline.energy_vel)
rne_post_constraint = prepared(pipeline.rne_post_constraint)
subtree_vel = prepared(pipeline.subtree_vel)

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BiasType",
    "BudgetError",
    "BusyError",
    "Cone",
    "Constraint",
    "SleepPolicy",
    "SleepState",
    "ConstraintState",
    "Data",
    "DisableBit",
    "DynType",
    "EnableBit",
    "EqType",
    "GainType",
    "GeomType",
    "Integrator",
    "Jacobian",
    "JointType",
    "MassAggregator",
    "MassProperties",
    "Model",
    "ModelError",
    "ModelFileNotFoundError",
    "ObjType",
    "SensorType",
    "SimulationWarning",
    "Solver",
    "StablePD",
    "Stage",
    "State",
    "Trajectory",
    "TrnType",
    "UnknownNameError",
    "UnsupportedFeatureError",
    "WarningType",
    "__version__",
    "aba",
    "add_sensor_noise",
    "aggregate",
    "angmom_mat",
    "apply_ft",
    "camlight",
    "collision",
    "com_pos",
    "com_vel",
    "compare_fwd_inv",
    "contact_force",
    "contact_forces",
    "crb",
    "differentiate_pos",
    "energy_pos",
    "energy_vel",
    "factor_m",
    "fluid",
    "forward",
    "forward_skip",
    "full_m",
    "fwd_acceleration",
    "fwd_actuation",
    "fwd_constraint",
    "fwd_position",
    "fwd_velocity",
    "geom_distance",
    "integrate_pos",
    "inv_constraint",
    "inverse",
    "inverse_skip",
    "jac",
    "jac_body",
    "jac_body_com",
    "jac_contact",
    "jac_dot",
    "jac_geom",
    "jac_site",
    "jac_subtree_com",
    "kinematics",
    "load",
    "load_budget",
    "load_trajectory",
    "local_to_global",
    "make_constraint",
    "make_m",
    "models",
    "mul_m",
    "multi_ray",
    "object_acceleration",
    "object_velocity",
    "passive",
    "ray",
    "reference_constraint",
    "rne",
    "rne_bias",
    "rne_post_constraint",
    "save_trajectory",
    "sensor_acc",
    "sensor_pos",
    "sensor_vel",
    "set_body_mass_properties",
    "set_const",
    "solve_m",
    "step",
    "step1",
    "step2",
    "subtree_vel",
    "symbolic",
    "tendon",
    "tendon_path",
    "transmission",
]
