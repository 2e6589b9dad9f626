"""Bad states and warnings inside compiled steps: what to look for, and how counts of warnings are kept.

MuJoCo: mj_checkPos, mj_checkVel, mj_checkAcc. Reads: qpos, qvel, qacc. Writes: warning_number, warning_lastinfo. Scratch:
warning_before, warning_pass, energy_pass, flg_energy_pass, tree_pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .dynamics.sleep import update_sleep
from .dynamics.sleep_state import DOFS, DOFS_END
from .dynamics.warning import KINDS_OF_WARNING, warn
from .kernel import kernel
from .kernel.ops import absolute, any_, happens, not_, where
from .math.constants import MAX_VALUE
from .types import DisableBit, EnableBit, WarningType

if TYPE_CHECKING:
    from .model import Model

LACKS_ROOM = 2  # what a kernel returns if contacts or constraints did not fit
PAUSED = 3  # what it returns between two steps, for Python to hear signals
# Either may come with the number of steps that are left, times this: in the Data it would not outlive what handlers of
# signals do with it on the way out.
KINDS_OF_RETURN = 4


@kernel
def is_bad(x):
    """Where a number is none, infinite or huge."""
    return not_(absolute(x) <= MAX_VALUE)


@kernel
def first_bad(field, first, end, found):
    """Index of the first bad entry in each world, `found` if that is not -1 or all are fine."""
    some = False
    for i in range(first, end):
        some = some | is_bad(field[i])
    if happens(some):  # which a loop without branches tells
        for i in range(first, end):
            found = where(is_bad(field[i]) & (found < 0), i, found)
    return found


@kernel
def must_reset(m, d, i, what, good):
    """Count a warning of entry i unless it is -1, in worlds that were good so far; which of them have to be reset."""
    bad = (i >= 0) & good
    if happens(bad):
        warn(d, what, bad, i)
    return bad & (m.opt_disableflags & DisableBit.AUTORESET == 0)


@kernel
def motion_is_bad(m, d, field, what, good):
    """Look for a bad entry of qvel or qacc, but for trees that sleep; where the state has to be reset."""
    i = -1
    for run in range(d.nawake_run[0]):
        i = first_bad(field, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END], i)
    return must_reset(m, d, i, what, good)


@kernel
def state_is_bad(m, d):
    """Look for a bad entry of qpos, then of qvel; whether the state of some world has to be reset. MuJoCo's mj_checkPos."""
    bad = must_reset(m, d, first_bad(d.qpos, 0, m.nq, -1), WarningType.BADQPOS, True)
    bad = bad | motion_is_bad(m, d, d.qvel, WarningType.BADQVEL, not_(bad))
    d.bad[0] = bad
    return happens(bad)


@kernel
def acceleration_is_bad(m, d):
    """Look for a bad entry of qacc; whether the state of some world has to be reset. MuJoCo's mj_checkAcc.

    The others will make the pass again, as if this one had not been.
    """
    bad = motion_is_bad(m, d, d.qacc, WarningType.BADQACC, True)
    d.bad[0] = bad
    if any_(bad) and any_(not_(bad)):
        undo_pass(m, d, not_(bad))
    return happens(bad)


@kernel
def remember_warnings(d):
    """Keep the counts, so that new warnings can be told from old ones."""
    for k in range(KINDS_OF_WARNING):
        d.warning_before[k] = d.warning_number[k]


@kernel
def any_new_warning(d):
    """1 if some count has grown."""
    for k in range(KINDS_OF_WARNING):
        if happens(d.warning_number[k] != d.warning_before[k]):
            return 1
    return 0


@kernel
def begin_pass(m, d):
    """Keep what a pass changes and reads, in case that it has to be made again: counts of warnings, the energy, who sleeps."""
    for k in range(KINDS_OF_WARNING):
        d.warning_pass[k] = d.warning_number[k]
    d.energy_pass[0], d.flg_energy_pass[0] = d.energy[1], d.flg_energyvel[0]
    if m.opt_enableflags & EnableBit.SLEEP:
        for t in range(m.ntree):
            d.tree_pass[t] = d.tree_asleep[t]


@kernel
def lacked_room(m, d):
    """Whether contacts or constraints did not fit; the pass will be made again as if this one had not been."""
    if d.overflow[0] == 0:
        return False
    undo_pass(m, d, True)
    return True


@kernel
def undo_pass(m, d, undone):
    """Put back what `begin_pass` kept, in some worlds."""
    for k in range(KINDS_OF_WARNING):
        d.warning_number[k] = where(undone, d.warning_pass[k], d.warning_number[k])
    d.energy[1] = where(undone, d.energy_pass[0], d.energy[1])
    d.flg_energyvel[0] = d.flg_energy_pass[0]
    if m.opt_enableflags & EnableBit.SLEEP:
        for t in range(m.ntree):
            d.tree_asleep[t] = where(undone, d.tree_pass[t], d.tree_asleep[t])
        update_sleep(m, d)


def message(model: Model, world: Mapping[str, np.ndarray], what: WarningType, reset: bool) -> str:
    """A warning in words: which entry of what in a world given by its arrays, and when."""
    index, time = int(world["warning_lastinfo"][what]), f"at time {world['time'][0]:g}"
    if what == WarningType.BADCTRL:
        owner = int(np.flatnonzero(index < model.actuator_ctrladr + model.actuator_ctrlnum)[0])
        name = model.name("actuator", owner) or owner
        return f"ctrl[{index}] (actuator {name!r}) is not a number, infinite or huge {time}: all controls count as zero"
    if what == WarningType.INERTIA:
        body = int(model.dof_bodyid[index])
        name = model.name("body", body) or body
        return f"the inertia of dof {index} (body {name!r}) is not large enough to solve with {time}"
    fields = {
        WarningType.BADQPOS: ("qpos", model.jnt_qposadr),
        WarningType.BADQVEL: ("qvel", model.jnt_dofadr),
        WarningType.BADQACC: ("qacc", model.jnt_dofadr),
    }
    name, addresses = fields[what]
    joint = int(np.searchsorted(addresses, index, side="right")) - 1
    where = f"{name}[{index}] (joint {model.name('joint', joint) or joint!r})"
    end = "; to go on, the state is reset" if reset else ""
    return f"{where} is not a number, infinite or huge {time}: the simulation is unstable{end}"
