"""Bad states and warnings inside compiled steps: what to look for, and how counts of warnings are kept.

MuJoCo: mj_checkPos, mj_checkVel, mj_checkAcc. Reads: qpos, qvel, qacc. Writes: warning_number, warning_lastinfo. Scratch:
warning_before, warning_pass, energy_pass, flg_energy_pass, tree_pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .dynamics.actuation import MAX_VALUE
from .dynamics.sleep import update_sleep
from .dynamics.sleep_state import DOFS, DOFS_END
from .kernel import kernel
from .kernel.ops import absolute, not_
from .types import DisableBit, EnableBit, WarningType

if TYPE_CHECKING:
    from .data import Data
    from .model import Model

KINDS_OF_WARNING = len(WarningType)
LACKS_ROOM = 2  # what a kernel returns if contacts or constraints did not fit
PAUSED = 3  # what it returns between two steps, for Python to hear signals
# Either may come with the number of steps that are left, times this: in the Data it would not outlive what handlers of
# signals do with it on the way out.
KINDS_OF_RETURN = 4


@kernel(scalar=True)
def is_bad(x):
    """Whether a number is none, infinite or huge."""
    return not_(absolute(x) <= MAX_VALUE)


@kernel(scalar=True)
def first_bad(field, first, end):
    """Index of the first bad entry; -1 if all are fine, which a loop without branches tells."""
    some = False
    for i in range(first, end):
        some = some | is_bad(field[i])
    if some:
        for i in range(first, end):
            if is_bad(field[i]):
                return i
    return -1


@kernel(scalar=True)
def must_reset(m, d, i, what):
    """Count a warning of entry i unless it is -1; whether the state has to be reset."""
    if i >= 0:
        d.warning_number[what] += 1
        d.warning_lastinfo[what] = i
    return i >= 0 and m.opt_disableflags & DisableBit.AUTORESET == 0


@kernel(scalar=True)
def position_is_bad(m, d):
    """Look for a bad entry of qpos; whether the state has to be reset."""
    return must_reset(m, d, first_bad(d.qpos, 0, m.nq), WarningType.BADQPOS)


@kernel(scalar=True)
def motion_is_bad(m, d, field, what):
    """Look for a bad entry of qvel or qacc, but for trees that sleep; whether the state has to be reset."""
    i = -1
    for run in range(d.nawake_run[0]):
        if i < 0:
            i = first_bad(field, d.awake_run[run, DOFS], d.awake_run[run, DOFS_END])
    return must_reset(m, d, i, what)


@kernel(scalar=True)
def remember_warnings(d):
    """Keep the counts, so that new warnings can be told from old ones."""
    for k in range(KINDS_OF_WARNING):
        d.warning_before[k] = d.warning_number[k]


@kernel(scalar=True)
def any_new_warning(d):
    """1 if some count has grown."""
    for k in range(KINDS_OF_WARNING):
        if d.warning_number[k] != d.warning_before[k]:
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


@kernel(scalar=True)
def lacked_room(m, d):
    """Whether contacts or constraints did not fit; the pass will be made again as if this one had not been."""
    if d.overflow[0] == 0:
        return False
    undo_pass(m, d)
    return True


@kernel
def undo_pass(m, d):
    """Put back what `begin_pass` kept."""
    for k in range(KINDS_OF_WARNING):
        d.warning_number[k] = d.warning_pass[k]
    d.energy[1], d.flg_energyvel[0] = d.energy_pass[0], d.flg_energy_pass[0]
    if m.opt_enableflags & EnableBit.SLEEP:
        for t in range(m.ntree):
            d.tree_asleep[t] = d.tree_pass[t]
        update_sleep(m, d)


def message(model: Model, data: Data, what: WarningType, reset: bool) -> str:
    """A warning in words: which entry of what, and when."""
    index, time = int(data.warning_lastinfo[what]), f"at time {data.time:g}"
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
