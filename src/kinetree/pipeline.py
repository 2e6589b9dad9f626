"""The pipeline: the order in which stages run. The table of contents of the physics."""

from .dynamics.camlight import camlight
from .dynamics.com import com_pos
from .dynamics.kinematics import kinematics
from .kernel import stage


@stage
def fwd_position(m, d):
    """All that depends on positions alone. MuJoCo's mj_fwdPosition, as far as it exists here."""
    kinematics(m, d)
    com_pos(m, d)
    camlight(m, d)


__all__ = ["camlight", "com_pos", "fwd_position", "kinematics"]
