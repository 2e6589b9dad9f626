"""Memory stays flat: whatever is done again and again leaves nothing behind. Each task runs in a process of its own."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import weakref
from pathlib import Path
from types import MappingProxyType

import pytest

import kinetree as kt

CHILD = """
import copy, ctypes, gc, pickle, sys
import numpy as np
import kinetree as kt

def mjcf(i):
    "Models of ever new sizes that take no more memory."
    rest, sites = divmod(797 * i % 15**3, 15)  # small and large ones mixed
    numbers, geoms = divmod(rest, 15)
    custom = "".join(f"<numeric name='{j}' data='1'/>" for j in range(numbers))
    body = "<body><joint/>" + "<site/>" * sites + "<geom size='0.1'/>" * (geoms + 1) + "</body>"
    return f"<mujoco><custom>{custom}</custom><worldbody>{body}</worldbody></mujoco>"

def resident():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # no huge pages, which come in steps of 2 MiB
model = kt.load("cartpole")
data = kt.Data(model)

def task(i):
    TASK

n, done, sizes = int(sys.argv[1]), 0, []
for times in (min(n // 2, 2000), n // 2, n // 2):
    for done in range(done, done + times):
        task(done)
    sizes.append(resident())
print(2 * min(sizes[1] - sizes[0], sizes[2] - sizes[1]))  # a leak shows in both halves, a whim of the allocator in one
"""

# What is done, how often in a short run, how often in a long one.
TASKS = {
    "steps": ("kt.step(model, data)", 20_000, 10**6),
    "bad controls": ("data.ctrl[:] = np.nan; kt.step(model, data)", 20_000, 10**6),
    "data": ("kt.Data(model)", 1_000, 10**4),
    "copies of data": ("copy.copy(data); pickle.loads(pickle.dumps(data))", 200, 2_000),
    "loads": ("kt.load(mjcf(i))", 600, 10**3),
    "edited models": ("kt.step(model.replace(opt_timestep=0.001 + i * 1e-6), data)", 200, 10**3),
    "callbacks": ("m = copy.copy(model); m.callbacks.control = lambda m2, d: m.nq; kt.step(m, data)", 200, 2_000),
}
ALLOWED = 1 << 20  # bytes: what the allocator may keep for itself

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the resident set from /proc")


def growth(task: str, times: int) -> int:
    """Bytes by which a process grew."""
    code = CHILD.replace("TASK", task)
    done = subprocess.run([sys.executable, "-c", code, str(times)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout)


@linux
@pytest.mark.parametrize("name", TASKS)
def test_memory_stays_flat(name):
    task, times, _ = TASKS[name]
    grown = growth(task, times)
    assert grown <= ALLOWED, f"{name}: {grown} bytes after {times}"


@linux
@pytest.mark.soak
@pytest.mark.parametrize("name", TASKS)
def test_memory_stays_flat_for_long(name):
    task, _, times = TASKS[name]
    grown = growth(task, times)
    assert grown <= ALLOWED, f"{name}: {grown} bytes after {times}"


def kept_sizes() -> int:
    """How many mappings of sizes there are in this process."""
    gc.collect()
    return sum(type(thing) is MappingProxyType and "nbody" in thing for thing in gc.get_objects())


def test_models_and_their_sizes_are_freed():
    before = kept_sizes()
    model = kt.load("<mujoco><worldbody><body><joint/><geom size='0.1'/><site/><site/></body></worldbody></mujoco>")
    data, other = kt.Data(model), kt.load("cartpole")
    traces = [weakref.ref(thing) for thing in (model, data)]
    assert copy.copy(model).sizes is model.sizes is data.sizes is not other.sizes
    assert kept_sizes() > before
    del model, data, other
    assert kept_sizes() <= before and [trace() for trace in traces] == [None, None]
