"""Small runs with a cache folder of their own, each in a process that has compiled nothing before.

A program of its own (`python -m tests.kernel.forks`) imports kinetree once and forks a process for every run: new in all that
matters, without the second that an import takes. A run calls some of the smallest functions there are, compares them with
MuJoCo and a closed form, and is right if its status is 0. What runs said lies in `Run.text`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COMPILES = "what is used for the first time"  # what a run says that does not find its code in the cache
LIMIT = 50  # seconds for one run
AT_ONCE = 2

MODEL = """<mujoco><worldbody>
    <body><joint type="ball"/><geom size="0.1"/><body pos="1 0 0"><joint axis="0 1 0"/><geom size="0.1"/></body></body>
</worldbody></mujoco>"""


class Run(NamedTuple):
    """How a run ended: its exit status, minus the signal if one killed it, and what it printed."""

    status: int
    text: str


def runs(folders, before="") -> list[Run]:
    """One run with each folder as its cache. before: code that the process executes first."""
    return [Run(*r) for r in _ask("run_all", folders=[str(f) for f in folders], before=before)]


def kills(folder, rounds: int, seed: int) -> list[str]:
    """Rounds of eight processes on one empty folder, killed at random moments; what went wrong in the runs that came after."""
    return _ask("run_kills", folder=str(folder), rounds=rounds, seed=seed)


def _ask(job, **arguments):
    """What a function of this file returns in the program."""
    env = {**os.environ, "KINETREE_QUIET": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernel.forks", job, json.dumps(arguments)],
        env=env, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# the program


def start(folder, task, before="") -> tuple[int, str]:
    """Fork a process that does a task with this cache; its id, and the file with what it says."""
    handle, log = tempfile.mkstemp()
    pid = os.fork()
    if pid:
        os.close(handle)
        return pid, log
    status = 1
    try:
        signal.alarm(LIMIT)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.environ |= {"KINETREE_CACHE": folder, "XDG_CACHE_HOME": f"{folder}, home"}  # the user's own stays as it is
        exec(before, {"os": os, "folder": folder})
        task()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def finish(pid, log) -> Run:
    """Wait for a process."""
    _, status = os.waitpid(pid, 0)
    text = Path(log).read_text()
    os.unlink(log)
    return Run(os.waitstatus_to_exitcode(status), text)


def run_all(folders, before):
    """See `runs`; a few at a time."""
    task, out = small_task(), []
    for i in range(0, len(folders), AT_ONCE):
        out += [finish(*p) for p in [start(folder, task, before) for folder in folders[i : i + AT_ONCE]]]
    return out


def small_task():
    """A public function that compiles fast, compared with MuJoCo, and two stages that must not be taken for each other."""
    import mujoco
    import numpy as np
    import numpy.testing

    import kinetree as kt
    import kinetree.kernel.jit.emit
    from kinetree.kernel.code import language

    language()  # before a run may not read files any more

    theirs, ours, tiny = mujoco.MjModel.from_xml_string(MODEL), kt.load(MODEL), tiny_task(2)
    rng = np.random.default_rng(0)
    qvel, start = rng.normal(size=theirs.nv), np.array([1.0, 0.0, 0.0, 0.0, rng.normal()])

    def task():
        moved = start.copy()
        mujoco.mj_integratePos(theirs, moved, qvel, 0.1)
        np.testing.assert_allclose(kt.integrate_pos(ours, start, qvel, 0.1), moved, rtol=1e-13, atol=1e-13)
        tiny()

    return task


def tiny_task(n):
    """The first n stages that compile in no time, so that there is a file to write every few tenths of a second."""
    import kinetree as kt
    from tests.kernel.tiny_stages import TIMES, TINY

    model = kt.load(MODEL)

    def task():
        data = kt.Data(model)
        for tiny, after in zip(TINY[:n], TIMES[:n], strict=True):
            tiny(model, data)
            assert data.time == after, (tiny.__name__, data.time, after)

    return task


SLOW_MOVES = """
import time
move = os.replace
def slow(*args, **kwargs):
    time.sleep(0.05)
    move(*args, **kwargs)
os.replace = slow
"""


def run_kills(folder, rounds, seed):
    """See `kills`. A file moves into place within microseconds: processes that are to be killed wait there."""
    task, rng, wrong = tiny_task(4), random.Random(seed), []
    begin = time.monotonic()
    finish(*start(os.path.join(folder, "first"), task))
    alone = time.monotonic() - begin
    for i in range(rounds):
        cache = os.path.join(folder, str(i))
        processes = [start(cache, task, SLOW_MOVES) for _ in range(8)]
        times = sorted((rng.uniform(0.0, 3.0 * alone), pid) for pid, _ in processes)
        begin = time.monotonic()
        for at, pid in times[: rng.randint(3, 8)]:
            time.sleep(max(0.0, begin + at - time.monotonic()))
            os.kill(pid, signal.SIGKILL)  # one that has ended is still ours to wait for
        ended = [finish(*p) for p in processes]
        wrong += [f"round {i}, one of eight: {r}" for r in ended if r.status not in (0, -signal.SIGKILL)]
        later, last = finish(*start(cache, task)), finish(*start(cache, task))
        if later.status or "Warning" in later.text or last != Run(0, ""):
            wrong.append(f"round {i}, after it: {later} {last}")
    return wrong


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
