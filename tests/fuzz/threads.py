"""Threads: several in one Data, of which some are refused and none crashes, and several in worlds of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MODELS = ("humanoid", "quadruped", "ball_humanoid", "arm")
OPERATIONS = 10
# What threads do to a Data that others are in.
DEEDS = (
    "kt.step(m, d, 50)", "kt.step(m, d)", "kt.forward(m, d)", "kt.inverse(m, d)", "kt.fwd_position(m, d)",
    "kt.collision(m, d)", "kt.make_constraint(m, d)", "kt.fwd_constraint(m, d)", "d.reset()", "d.copy()",
    "d.set_state(d.get_state())", "pickle.loads(pickle.dumps(d))", "d.reset_keyframe(0)", "kt.jac_body(m, d, 1)",
    "kt.StablePD(m, 50.0, 5.0).step(d, nstep=5)", "kt.contact_forces(m, d)", "kt.rne_post_constraint(m, d)",
    "d.qpos.__iadd__(0.001)", "d.require('subtree_linvel')", "kt.full_m(m, d)", "repr(d)", "list(d.contact)",
    "d._make_room({k: n + 1 for k, n in d._arrays.capacity.items()})",
)  # fmt: skip
# Lets every thread do its deeds for a while; refusals are what they are there for, other errors are not.
CROWD = """
def crowd(deeds, seconds):
    wrong, end = [], time.monotonic() + seconds
    def work(deed):
        while time.monotonic() < end:
            try:
                deed()
            except (kt.BusyError, ValueError):
                pass
            except BaseException as error:
                wrong.append(error)
    threads = [threading.Thread(target=work, args=(deed,)) for deed in deeds]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong, wrong
""".strip()
# Steps worlds at the same time, and then one after another.
SIDE_BY_SIDE = """
def side_by_side(worlds, n):
    twins = [world.copy() for world in worlds]
    threads = [threading.Thread(target=kt.step, args=(m, world, n)) for world in worlds]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for world, twin in zip(worlds, twins):
        kt.step(m, twin, n)
        assert world.get_state().tobytes() == twin.get_state().tobytes()
        assert world.efc_force.tobytes() == twin.efc_force.tobytes()
""".strip()


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Crowds in one Data, then a check that it is still good for one; worlds side by side."""
    yield "import threading, time, pickle"
    yield CROWD
    yield SIDE_BY_SIDE
    yield f"m = kt.load({rng.choice(MODELS)!r})"
    yield "d = kt.Data(m)"
    if rng.random() < 0.5:
        yield "kt.step(m, d, 100)"  # else threads meet where everything is called for the first time
    for _ in range(OPERATIONS):
        match rng.integers(4):
            case 0:
                yield f"worlds = [kt.Data(m) for _ in range({rng.integers(2, 6)})]"
                yield "for i, w in enumerate(worlds): w.qvel = np.random.default_rng(i).normal(size=m.nv)"
                yield f"side_by_side(worlds, {rng.integers(1, 300)})"
            case 1:
                yield "d.reset(); twin = kt.Data(m); kt.step(m, d, 20); kt.step(m, twin, 20)"
                yield "assert d.get_state().tobytes() == twin.get_state().tobytes()"
            case _:
                deeds = ", ".join(f"lambda: {deed}" for deed in rng.choice(DEEDS, rng.integers(2, 6)))
                yield f"crowd([{deeds}], {rng.uniform(0.05, 0.5):.2f})"
