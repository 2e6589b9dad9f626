"""Forward dynamics as a CasADi function: how long it takes to trace, its instructions, and its speed against other libraries.

Evaluated by CasADi's virtual machine, against the ABA of adam and of Pinocchio traced in the same way: as a call of the CasADi
function from Python, and through its buffers, which leaves the conversion of arrays out. As generated C, called from Python,
against Pinocchio's compiled ABA. All have the same model, and their accelerations are compared first. adam knows no armature,
so the model goes without where adam is the peer; springs and dampers, which ours has too, are given to the others as forces.

Pinocchio's wheel comes without `pinocchio.casadi`, so its ABA is traced by a small C++ program, which is compiled first (two
minutes; not with --quick).
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import SEPARATOR, Candidate, Report, Target, main, measure
from symbolic_peers import State, adam_function, compile_pinocchio_tracer, pinocchio_function

import kinetree as kt

FUNCTIONS = ("forward_dynamics", "mass_matrix", "inverse_dynamics", "euler", "rk4")
KERNELS = "kt.kinematics(m, d); kt.com_pos(m, d); kt.com_vel(m, d); kt.aba(m, d, t)"


def installed(name: str) -> bool:
    """Whether there is such a package."""
    return importlib.util.find_spec(name) is not None


def models() -> dict[str, Path]:
    """The humanoid of dm_control, if installed, and our own."""
    out = {"kinetree humanoid": kt.models.path("humanoid")}
    spec = importlib.util.find_spec("dm_control")
    if spec and spec.origin:
        out = {"dm_control humanoid": Path(spec.origin).parent / "suite" / "humanoid.xml", **out}
    return out


def random_state(model: kt.Model) -> State:
    """Away from the reference position, moving, pushed by its motors."""
    rng = np.random.default_rng(0)
    q = kt.integrate_pos(model, model.qpos0, rng.normal(size=model.nv), 0.3)
    return State(q, rng.normal(size=model.nv), np.concatenate([np.zeros(6), rng.normal(size=model.nv - 6)]))


def evaluations(name: str, function: Any, arguments: tuple[np.ndarray, ...]) -> list[Candidate]:
    """A CasADi function by its buffers, and as a call."""
    buffer, evaluate = function.buffer()
    arrays, result = [a.ravel(order="F") for a in arguments], np.zeros(function.nnz_out(0))
    for i, array in enumerate(arrays):
        buffer.set_arg(i, memoryview(array))
    buffer.set_res(0, memoryview(result))
    return [
        Candidate(f"{name}, buffers", "evaluate()", {"evaluate": evaluate, "keep": (buffer, arrays, result)}),
        Candidate(f"{name}, call", "f(*a)", {"f": function, "a": arguments}),
    ]


def answer(function: Any, arguments: tuple[np.ndarray, ...]) -> np.ndarray:
    """What a CasADi function answers, as an array."""
    return function(*arguments).full().ravel()


def compare(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Times of different answers would mean nothing."""
    worst = int(np.argmax(np.abs(found - expected)))
    assert np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max()), (
        f"{name}: acceleration {worst} is {found[worst]}, ours {expected[worst]}"
    )


def adam_candidates(model: kt.Model, state: State, full: State, counts: dict[str, int]) -> list[Candidate]:
    """adam's ABA, and ours of the same model without armature."""
    if not installed("adam"):
        return []
    ours, peer = kt.symbolic(model.replace(dof_armature=np.zeros(model.nv))).forward_dynamics, adam_function(model)
    counts["ABA of adam"] = peer.n_instructions()
    compare("adam", full.from_adam(answer(peer, full.for_adam())), answer(ours, state.arguments))
    return evaluations("without armature", ours, state.arguments) + evaluations("adam", peer, full.for_adam())


def pinocchio_candidates(
    path: Path, full: State, expected: np.ndarray, tracer: Path | None, counts: dict[str, int]
) -> list[Candidate]:
    """Pinocchio's ABA compiled, and traced if there is a program for it."""
    if not installed("pinocchio"):
        return []
    import pinocchio as pin

    model = pin.buildModelFromMJCF(str(path))
    q, v, tau = arguments = full.for_pinocchio()
    compare("Pinocchio", full.from_pinocchio(pin.aba(model, model.createData(), q, v, tau)), expected)
    scope = {"p": pin, "m": model, "d": model.createData(), "q": q, "v": v, "t": tau}
    out = [Candidate("Pinocchio, compiled", "p.aba(m, d, q, v, t)", scope)]
    if tracer:
        peer = pinocchio_function(tracer, model)
        counts["ABA of Pinocchio"] = peer.n_instructions()
        compare("Pinocchio, traced", full.from_pinocchio(answer(peer, arguments)), expected)
        out += evaluations("Pinocchio, traced", peer, arguments)
    return out


def compiled_candidates(
    symbolic: Any, state: State, full: State, expected: np.ndarray, folder: Path
) -> list[Candidate]:
    """Ours as machine code: the stages that kinetree compiles, and C code if there is a compiler."""
    data = kt.Data(symbolic.model)
    data.qpos, data.qvel = state.q, state.v
    out = [Candidate("compiled kernels", KERNELS, {"kt": kt, "m": symbolic.model, "d": data, "t": full.tau})]
    generated = symbolic.generate("forward_dynamics", folder)
    if generated.library:
        compare("generated C", generated(*state.arguments), expected)
        scope = {"f": generated, "q": state.q, "v": state.v, "t": state.tau}
        out.append(Candidate("generated C", "f(q, v, t)", scope))
    return out


def traced(model: kt.Model, times: int) -> tuple[Any, list[float]]:
    """The functions of a model, and the seconds that it took to trace forward dynamics, each time anew."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        symbolic = kt.symbolic(model)
        _ = symbolic.forward_dynamics
        seconds.append(time.perf_counter() - start)
    return symbolic, seconds


def measure_model(report: Report, label: str, path: Path, tracer: Path | None, folder: Path, quick: bool) -> None:
    """All figures of one model."""
    model = kt.load(path)
    symbolic, seconds = traced(model, 2 if quick else 9)
    counts = {name: getattr(symbolic, name).n_instructions() for name in FUNCTIONS}
    state = random_state(model)
    full = State(state.q, state.v, state.tau + answer(symbolic.passive, (state.q, state.v)))
    expected = answer(symbolic.forward_dynamics, state.arguments)
    candidates = [
        *evaluations("forward_dynamics", symbolic.forward_dynamics, state.arguments),
        *adam_candidates(model, state, full, counts),
        *pinocchio_candidates(path, full, expected, tracer, counts),
        *compiled_candidates(symbolic, state, full, expected, folder),
    ]
    times = measure(candidates, 5 if quick else 60, 0.001 if quick else 0.004)
    report.times.update({f"{name}{SEPARATOR}{label}": values for name, values in times.items()})
    report.details[label] = {"instructions": counts, "tracing [s]": seconds}
    report.notes.append(f"instructions, {label}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    report.targets += [
        Target(f"{label}: tracing forward_dynamics", statistics.median(seconds), "<=", 2.0, "s"),
        Target(f"{label}: thousands of instructions", counts["forward_dynamics"] / 1000, "<=", 15),
    ]
    _ratios(report, label)


# Ours, the peer, and the promise.
PAIRS = (
    ("forward_dynamics, buffers", "Pinocchio, traced, buffers", 1.2),
    ("forward_dynamics, call", "Pinocchio, traced, call", None),
    ("without armature, buffers", "adam, buffers", 1.2),
    ("without armature, call", "adam, call", None),
    ("generated C", "Pinocchio, compiled", 1.0),
    ("generated C", "compiled kernels", None),
    ("compiled kernels", "forward_dynamics, buffers", None),
)


def _ratios(report: Report, label: str) -> None:
    """Ratios and promises of one model."""
    for ours, peer, limit in PAIRS:
        names = [f"{name}{SEPARATOR}{label}" for name in (ours, peer)]
        if all(name in report.times for name in names):
            value = report.ratio(f"{ours} / {peer}{SEPARATOR}{label}", *names)
            if limit:
                report.targets.append(Target(f"{label}: {ours} / {peer}", value, "<=", limit, "x"))


def pinocchio_tracer(report: Report, folder: Path) -> Path | None:
    """The program that traces Pinocchio, or a note why there is none."""
    try:
        return compile_pinocchio_tracer(folder)
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        report.notes.append(f"Pinocchio's ABA could not be traced: {reason.strip().splitlines()[-1]}")
        return None


def run(quick: bool) -> Report:
    """Measure both humanoids."""
    report, tracer = Report("forward dynamics from the state"), None
    for package, source in {"adam": "adam-robotics and liecasadi", "pinocchio": "pin"}.items():
        if not installed(package):
            report.notes.append(f"{package} is not installed (from {source})")
    with tempfile.TemporaryDirectory() as folder:
        if installed("pinocchio") and not quick:
            if not installed("pinocchio.casadi"):
                report.notes.append("pinocchio.casadi is not in this build of Pinocchio: a C++ program traces its ABA")
            tracer = pinocchio_tracer(report, Path(folder))
        for label, path in models().items():
            measure_model(report, label, path, tracer, Path(folder), quick)
    if not any("generated C" in name for name in report.times):
        report.notes.append("there is no C compiler")
    return report


if __name__ == "__main__":
    main(run, __doc__)
