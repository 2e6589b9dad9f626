"""Signals at any moment: while steps, solves, loads and controllers run. Afterwards all is as if none had come."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MODELS = ("humanoid", "quadruped", "ball_humanoid", "arm", "cartpole")
OPERATIONS = 12
SETTINGS = (
    "m.opt.solver = kt.Solver.PGS; m.opt.iterations = 50",
    "m.opt.solver = kt.Solver.PGS; m.opt.iterations = 10**6; m.opt.tolerance = 0.0",
    "m.opt.solver = kt.Solver.CG; m.opt.iterations = 10**6; m.opt.tolerance = 0.0",
    "m.opt.solver = kt.Solver.NEWTON; m.opt.iterations = 10**6; m.opt.tolerance = 0.0",
    "m.opt.solver = kt.Solver.NEWTON; m.opt.iterations = 100; m.opt.noslip_iterations = 5",
    "m.opt.integrator = kt.Integrator.RK4",
    "m.opt.integrator = kt.Integrator.IMPLICITFAST",
    "m.opt.integrator = kt.Integrator.EULER; m.opt.noslip_iterations = 0",
    "m.callbacks.control = lambda model, data: data.ctrl.fill(np.sin(data.time))",
    "m.callbacks.clear()",
)
# Runs something with a signal on its way; whether it was broken off. With nothing raised it must come to its end.
SHAKEN = """
def shaken(run, delay, again, raises):
    on = [True]
    def ring(number, frame):
        if on[0] and raises:
            on[0] = False
            raise KeyboardInterrupt
    try:
        try:
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, delay, again)
            run()
            return False
        finally:
            on[0] = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        return True
""".strip()
# Steps both for some time: the first with signals, then the second, without any, for as many steps as the first has made.
FOLLOW = """
def follow(advance, n, delay, again, raises):
    broken = shaken(lambda: advance(d, n), delay, again, raises)
    made = 0
    while twin.time < d.time:
        advance(twin, 1)
        made += 1
    assert broken or made == n, (made, n)
    assert twin.time == d.time, (twin.time, d.time)
    twin.ctrl = d.ctrl  # a callback sets them also for a step that is then broken off
    one, other = d.get_state(), twin.get_state()
    assert one.tobytes() == other.tobytes(), np.flatnonzero(one != other)
""".strip()


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Steps, controllers and loads under signals, each followed by a comparison with a run that had none."""
    yield "import signal, threading, os, time"
    yield SHAKEN
    yield FOLLOW
    yield f"m = kt.load({rng.choice(MODELS)!r})"
    yield "d, twin = kt.Data(m), kt.Data(m)"
    yield "pd = kt.StablePD(m, 50.0, 5.0)"
    yield "kt.step(m, kt.Data(m), 3); pd.step(kt.Data(m), nstep=3)"  # compiles what is common
    for _ in range(OPERATIONS):
        delay, again = rng.uniform(1e-4, 0.05), rng.choice([0.0, 0.003, 0.03])
        steps, raises = int(rng.choice([1, 10, 1000])), bool(rng.random() < 0.8)
        endless = "m.opt.iterations > 1000"  # a solve that does not end must be broken off
        shake = f"{delay:.5f}, {again}, {raises} or {endless}"
        match rng.integers(6):
            case 0:
                yield str(rng.choice(SETTINGS))
            case 1:
                yield f"follow(lambda data, n: pd.step(data, nstep=n), min({steps}, 1 + 99 * (not m.callbacks.any)), {shake})"
            case 2:
                yield f"shaken(lambda: kt.load({rng.choice(MODELS)!r}), {shake}); kt.load('arm')"
            case 3:
                yield f"shaken(lambda: [d.reset() for _ in range(300)], {shake}); twin.reset(); d.reset()"
            case 4:
                yield f"shaken(lambda: kt.forward(m, d), {shake})"
            case _:
                yield f"follow(lambda data, n: kt.step(m, data, n), {steps} if not m.callbacks.any else 5, {shake})"
