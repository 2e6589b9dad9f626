"""Compiles entries in a pool of processes, the largest first; what cannot go there is compiled in this one.

A worker is a Python of its own that imports the package and waits for jobs (`jit/worker.py`): no fork, so it is safe in a
program with threads, and nothing of the caller's `__main__` is run. `KINETREE_JOBS` says how many; 1 is none.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading

from ..errors import SettingError
from .code import reach
from .progress import Progress
from .registry import ENTRIES
from .store import cache_folder

MOST = 16  # workers, if nobody says otherwise: each takes some hundred megabytes
WORTH_A_POOL = 100  # kernels: a worker takes a second to start, as long as the compiler takes for so many
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from kinetree.kernel.jit.worker import main; main()"


def processes():
    """How many workers may run."""
    chosen = os.environ.get("KINETREE_JOBS", "")
    if chosen:
        if not chosen.isdigit() or int(chosen) < 1:
            raise SettingError(f"KINETREE_JOBS must be a whole number above 0, not {chosen!r}")
        return int(chosen)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MOST)


def python_can_start():
    """Whether there is a Python to start: a frozen program, or one that embeds Python, would start itself."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def can_travel(code):
    """Whether a worker can find the entry: it is listed, under a module that can be imported there."""
    listed = ENTRIES.get(code.entry.name) is code.entry
    return listed and code.entry.kernel.__module__ != "__main__" and code.machine.is_listed


def work_of(code):
    """How long it takes to compile, roughly: the number of its kernels."""
    return len(reach(code.entry.kernel)[0])


def compile_in_pool(codes, *levels):
    """Yield each code with its object files, one for each level of processors, as they are ready."""
    with Progress([work_of(code) for code in codes], cache_folder() is not None) as progress:
        codes = sorted(codes, key=lambda code: -work_of(code))
        travelling = [code for code in codes if can_travel(code)]
        work = sum(work_of(code) for code in travelling)
        count = min(processes(), len(travelling)) if work > WORTH_A_POOL and python_can_start() else 1
        left = list(codes)
        if count > 1:
            progress.begin(travelling[0].entry.kernel.__name__)  # else the bar would come when the first is done
            for code, contents in _from_workers(travelling, levels, count):
                left.remove(code)
                progress.done(code.entry.kernel.__name__, work_of(code))
                yield code, contents
        for code in left:
            from .jit.emit import objects_of  # LLVM is needed only here

            progress.begin(code.entry.kernel.__name__)
            contents = objects_of(code, levels)
            progress.done(code.entry.kernel.__name__, work_of(code))
            yield code, contents


def _from_workers(codes, levels, count):
    """Codes and object files from workers; codes that no worker could compile are left out."""
    jobs, results = queue.SimpleQueue(), queue.SimpleQueue()
    for code in codes:
        jobs.put(code)
    workers = []
    try:
        with contextlib.suppress(OSError):  # no memory for another process, or no right to start one
            for _ in range(count):
                workers.append(Worker(levels))
        serving = [threading.Thread(target=worker.serve, args=(jobs, results), daemon=True) for worker in workers]
        for thread in serving:
            thread.start()
        while any(thread.is_alive() for thread in serving) or not results.empty():
            with contextlib.suppress(queue.Empty):  # not for ever: what is raised in this thread must get through
                yield results.get(timeout=0.2)
    finally:
        for worker in workers:
            worker.close()


class Worker:
    """A process that compiles."""

    def __init__(self, levels):
        self._levels = levels
        flags = subprocess._args_from_interpreter_flags()  # without docstrings, as under -O, kernels have other marks
        path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-P", "-c", START, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "KINETREE_JOBS": "1"},
            **({"process_group": 0} if os.name == "posix" else {}),  # a Ctrl-C is for the parent alone
        )  # fmt: skip

    def serve(self, jobs, results):
        """Take jobs until there are none. What fails is compiled where its error can be seen; who died takes no more."""
        with contextlib.suppress(queue.Empty):
            while self._process.poll() is None:
                code = jobs.get_nowait()
                with contextlib.suppress(Exception):  # whatever comes out of another process
                    contents = self._compile(code)
                    if contents is not None:
                        results.put((code, contents))

    def _compile(self, code):
        job = {"module": code.entry.kernel.__module__, "entry": code.entry.name, "machine": code.machine.name}
        self._process.stdin.write(json.dumps({**job, "levels": self._levels}).encode() + b"\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        contents = [self._process.stdout.read(size) for size in reply["sizes"]]
        whole = [len(content) for content in contents] == reply["sizes"] and len(contents) == len(self._levels)
        return contents if whole and reply["mark"] == code.mark else None

    def close(self):
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
