"""Counts of warnings. MuJoCo: mj_warning. Writes: warning_number, warning_lastinfo."""

from ..kernel import kernel
from ..kernel.ops import where
from ..types import WarningType

KINDS_OF_WARNING = len(WarningType)


@kernel
def warn(d, kind, condition, i):
    """Count a warning about entry i in the worlds where a condition holds."""
    d.warning_number[kind] += where(condition, 1, 0)
    d.warning_lastinfo[kind] = where(condition, i, d.warning_lastinfo[kind])
