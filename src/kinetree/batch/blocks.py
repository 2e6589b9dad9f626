"""Blocks: the loop over the worlds of a batch, as many at a time as there are lanes, in one entry into compiled code.

The worlds of a block come in from their rows, make steps or run stages on a thread's block of lanes, and go back. A world that
goes bad is reset alone, as MuJoCo does, and its warnings are counted; where there is no room the block comes back to Python
before anything of it was stored, and is taken up again.
MuJoCo: the loop of mujoco.batch. Reads and writes: what `state`, `inputs`, ... name, see `batch.py`.
"""

from __future__ import annotations

from ..bad_states import KINDS_OF_RETURN, LACKS_ROOM, begin_pass, lacked_room
from ..constraint.rne_post import rne_post_constraint
from ..derived.derive import derive
from ..dynamics.camlight import camlight
from ..dynamics.com import com_pos
from ..dynamics.kinematics import kinematics
from ..dynamics.sleep import update_sleep
from ..dynamics.sleep_state import DOFS, DOFS_END
from ..dynamics.subtree import subtree_vel
from ..dynamics.tendon import tendon, tendon_path
from ..dynamics.transmission import transmission
from ..fields import Field
from ..initial import FULLY_AWAKE
from ..kernel import Entry, kernel
from ..kernel.guard import call_stage
from ..kernel.ops import any_, minimum, where
from ..kernel.raw import entries_at
from ..layout import Layout
from ..pipeline import fwd_velocity_smooth, make_inertia
from ..stepping import run_steps
from ..types import EnableBit, WarningType
from .parts import copy_parts

# Tables of parts. parameters: into the models of the lanes. state: in and out. inputs: in. results: out. start: the state after
# a reset. control: in before each step. record: out after each.
TABLES = ("parameters", "state", "inputs", "results", "start", "control", "record")
LAYOUT = Layout(
    "blocks",
    {
        **{name: Field(name, f"n{name} 6", "int64", "1", "parts", "driver") for name in TABLES},
        "order": Field("order", "nworld", "int64", "1", "worlds, in the order in which they go into blocks", "driver"),
        "stage": Field("stage", "nstage", "int64", "1", "numbers of the stages to run; none: steps", "driver"),
        "stop": Field("stop", "1", "int64", "1", "1 if all is to end after the step at hand", "driver"),
        "resets": Field("resets", "nworld", "int64", "1", "how often each world was reset", "driver"),
    },
    # width: worlds of a block. at: the first world of the block at hand. nstep: steps to make. news: 1 if there is something to
    # tell. fresh_*: flags of results on demand. wants_*: whether these are asked for.
    # bad, number, lastinfo, before, was_reset, time, when: addresses.
    dict.fromkeys(
        (*(f"n{name}" for name in TABLES), "nstage", "width", "at", "nstep", "news", "fresh_pos", "fresh_vel", "fresh_subtree",
         "fresh_rne",
         "wants_subtree", "wants_rne", "bad", "number", "lastinfo", "before", "was_reset", "time", "when"),
        "int64",
    ),
)  # fmt: skip
BITS = 15  # of what is known of the contacts of a world: sixteen are sorted fastest
STOPPED = 1000  # what a run returns that was told to end


@kernel
def place_sleepers(m, d):
    """What stages leave as it is of trees that sleep, and the lanes have of other worlds: computed as if all were awake."""
    asleep = d.time[0] != d.time[0]
    for t in range(m.ntree):
        d.tree_pass[t] = d.tree_asleep[t]
        asleep = asleep | (d.tree_asleep[t] >= 0)
    if any_(asleep):
        for t in range(m.ntree):
            d.tree_asleep[t] = FULLY_AWAKE
        update_sleep(m, d)
        kinematics(m, d)
        com_pos(m, d)
        camlight(m, d)
        tendon(m, d)
        tendon_path(m, d)
        make_inertia(m, d)
        transmission(m, d)
        fwd_velocity_smooth(m, d)
        for t in range(m.ntree):
            d.tree_asleep[t] = d.tree_pass[t]
    update_sleep(m, d)


@kernel
def bring(m, d, b, end):
    """The worlds of the block at hand onto the lanes; lanes that are left over have the last world too."""
    for lane in range(b.width):
        world = b.order[minimum(b.at + lane, end - 1)]
        copy_parts(d, b.parameters, b.nparameters, b.width, lane, world, 0, True)
        copy_parts(d, b.state, b.nstate, b.width, lane, world, 0, True)
        copy_parts(d, b.inputs, b.ninputs, b.width, lane, world, 0, True)
    d.was_reset[0] = where(d.bad[0], 0, 0)
    if m.opt_enableflags & EnableBit.SLEEP:
        place_sleepers(m, d)
    d.flg_energypos[0], d.flg_energyvel[0] = b.fresh_pos != 0, b.fresh_vel != 0
    d.flg_subtreevel[0], d.flg_rnepost[0] = b.fresh_subtree != 0, b.fresh_rne != 0


@kernel
def exchange_velocities(d):
    """qvel of what is awake, and what the last pass saw of it, change places."""
    for run in range(d.nawake_run[0]):
        for i in range(d.awake_run[run, DOFS], d.awake_run[run, DOFS_END]):
            now, seen = d.qvel[i], d.qvel_seen[i]
            d.qvel[i], d.qvel_seen[i] = seen, now


@kernel
def find_on_demand(m, d, b):
    """Results on demand that are asked for, where no sensor has: as `Data.require` finds them, of what the last pass saw."""
    if b.wants_subtree != 0 and not d.flg_subtreevel[0]:
        subtree_vel(m, d)
    if b.wants_rne != 0 and not d.flg_rnepost[0]:
        exchange_velocities(d)
        rne_post_constraint(m, d)
        exchange_velocities(d)


@kernel
def note_touching(m, d):
    """Which bodies contacts act on, as bits, in each world: worlds that are alike there share most rows."""
    found = where(d.bad[0], 0, 0)
    for c in range(d.ncon[0]):
        row = d.contact_efc_address[c]
        if row >= 0:
            first, second = m.geom_bodyid[d.contact_geom[c, 0]], m.geom_bodyid[d.contact_geom[c, 1]]
            bits = (1 << (first % BITS)) | (1 << (second % BITS))
            found = found | where(d.efc_D[row] != 0.0, bits, 0)
    d.touching[0] = found


@kernel
def give(m, d, b, end):
    """Back from the lanes."""
    note_touching(m, d)
    resets = entries_at(d.was_reset, b.was_reset)
    for lane in range(minimum(b.width, end - b.at)):
        world = b.order[b.at + lane]
        copy_parts(d, b.state, b.nstate, b.width, lane, world, 0, False)
        copy_parts(d, b.results, b.nresults, b.width, lane, world, 0, False)
        if resets[lane] > 0:  # which clears inputs too
            copy_parts(d, b.inputs, b.ninputs, b.width, lane, world, 0, False)
            b.resets[world] += resets[lane]


@kernel
def start_anew(d, b, lane, world):
    """Reset one world, but for the warning that led to it, which counts once: as in MuJoCo, all others are forgotten."""
    numbers, infos = entries_at(d.warning_number, b.number), entries_at(d.warning_number, b.lastinfo)
    before, times = entries_at(d.warning_number, b.before), entries_at(d.time, b.time)
    reason = 1 * WarningType.BADQPOS
    for k in range(WarningType.BADQPOS, WarningType.BADQACC + 1):
        if numbers[k * b.width + lane] > before[k * b.width + lane]:
            reason = k
    info, when = infos[reason * b.width + lane], times[lane]
    copy_parts(d, b.start, b.nstart, b.width, lane, world, 0, True)
    numbers[reason * b.width + lane], infos[reason * b.width + lane] = 1, info
    times = entries_at(d.time, b.when)
    times[world] = when
    resets = entries_at(d.was_reset, b.was_reset)
    resets[lane] += 1


@kernel
def start_bad_ones_anew(m, d, b, end):
    """Reset the worlds of the block that went bad."""
    bad = entries_at(d.bad, b.bad)
    for lane in range(b.width):
        if bad[lane]:
            start_anew(d, b, lane, b.order[minimum(b.at + lane, end - 1)])
    if m.opt_enableflags & EnableBit.SLEEP:
        place_sleepers(m, d)


@kernel
def one_step(m, d, b, end, *controller):
    """One step of a block; LACKS_ROOM if it was not made."""
    left = 1
    while left != 0:
        status = run_steps(m, d, left, *controller)
        left = status // KINDS_OF_RETURN
        if status - KINDS_OF_RETURN * left == LACKS_ROOM:
            return LACKS_ROOM
        if status != 0:
            b.news = 1
        if left != 0:
            start_bad_ones_anew(m, d, b, end)
    return 0


@kernel
def make_steps(m, d, b, end, *controller):
    """The steps of a block, with controls for each and a record of each; LACKS_ROOM if it has to begin again."""
    for step in range(b.nstep):
        if b.stop[0] != 0:
            return STOPPED if step == 0 else 0  # nothing was done for this block, or what was done is kept
        for lane in range(b.width):
            copy_parts(d, b.control, b.ncontrol, b.width, lane, b.order[minimum(b.at + lane, end - 1)], step, True)
        if one_step(m, d, b, end, *controller) != 0:
            return LACKS_ROOM
        if b.nrecord > 0:
            find_on_demand(m, d, b)
        for lane in range(minimum(b.width, end - b.at)):
            copy_parts(d, b.record, b.nrecord, b.width, lane, b.order[b.at + lane], step, False)
    return 0


@kernel
def run_stages(m, d, b):
    """Stages, one after the other; LACKS_ROOM if they have to run again."""
    begin_pass(m, d)
    for k in range(b.nstage):
        call_stage(m, d, b.stage[k])
        if lacked_room(m, d):
            return LACKS_ROOM
    b.news = 1  # stages do not say whether they have warned
    return 0


@kernel
def run_blocks(m, d, b, end, *controller):
    """All blocks from world `b.at` up to `end`; LACKS_ROOM if the one at hand did not fit, STOPPED if it was told to end."""
    while b.at < end:
        if b.stop[0] != 0:
            return STOPPED
        bring(m, d, b, end)
        status = make_steps(m, d, b, end, *controller) if b.nstage == 0 else run_stages(m, d, b)
        if status != 0:
            return status
        find_on_demand(m, d, b)
        give(m, d, b, end)
        b.at = b.at + b.width
    return 0


@kernel
def derive_blocks(m, d, b, end, groups):
    """Constants of the models of all worlds from `b.at` up to `end`: those of some groups (`derived/table.py`)."""
    while b.at < end:
        for lane in range(b.width):
            copy_parts(d, b.parameters, b.nparameters, b.width, lane, b.order[minimum(b.at + lane, end - 1)], 0, True)
        derive(m, d, groups)
        for lane in range(minimum(b.width, end - b.at)):
            copy_parts(d, b.results, b.nresults, b.width, lane, b.order[b.at + lane], 0, False)
        b.at = b.at + b.width
    return 0


ENTRY = Entry(run_blocks, LAYOUT, "int64", result="int64")
DERIVE = Entry(derive_blocks, LAYOUT, "int64", "int64", result="int64", edits_model=True)
