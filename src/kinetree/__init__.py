"""kinetree: articulated rigid-body dynamics, MuJoCo's physics from one readable Python source.

    import kinetree as kt

    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.fwd_position(model, data)
    print(data.body("torso").xpos)
"""

from . import models
from .data import Data
from .errors import ModelError, SimulationWarning, UnsupportedFeatureError
from .io.load import ModelFileNotFoundError, load, set_const
from .io.trajectory import Trajectory, load_trajectory, save_trajectory
from .model import Model
from .pipeline import camlight, com_pos, fwd_position, kinematics
from .types import DisableBit, EnableBit, Integrator, JointType, State

__version__ = "0.1.0"

__all__ = [
    "Data",
    "DisableBit",
    "EnableBit",
    "Integrator",
    "JointType",
    "Model",
    "ModelError",
    "ModelFileNotFoundError",
    "SimulationWarning",
    "State",
    "Trajectory",
    "UnsupportedFeatureError",
    "__version__",
    "camlight",
    "com_pos",
    "fwd_position",
    "kinematics",
    "load",
    "load_trajectory",
    "models",
    "save_trajectory",
    "set_const",
]
