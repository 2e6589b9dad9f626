"""Runs of stages are counted and ordered: from that follows what is stale."""

from .decorator import kernel


@kernel
def note_run(d, index):
    """Count the run of a stage, and note its place in the order of all runs. 1 if it lacked room."""
    d.stage_clock[0] += 1
    d.stage_order[index] = d.stage_clock[0]
    d.stage_runs[index] += 1
    return d.overflow[0]
