"""`kinetree run` told to stop: it saves what it has, says so, and its exit status names the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import typer

import kinetree as kt
from kinetree.cli import run as run_module
from kinetree.cli.recording import Recorder
from kinetree.cli.simulate import start
from kinetree.io.whole import written_whole

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
WAIT = 120.0  # s for a process to come to its end
PLACES = ("recording", "summary", "draw")


def started(folder, *arguments, **environment):
    """A run that takes an hour of simulated time."""
    command = [sys.executable, "-m", "kinetree", "run", "humanoid", "--seconds", "3600", "--out", str(folder)]
    return subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip


def stopped(folder, number, *arguments, sign="simulating"):
    """Exit status and complaints of a run that was stopped on its way: where its progress bar, made for terminals, shows."""
    child, shown = started(folder, *arguments, FORCE_COLOR="1"), ""
    while sign not in shown:
        shown += child.stdout.read(1) or pytest.fail(f"ended early: {child.stderr.read()}")
    time.sleep(0.3)
    child.send_signal(number)
    _, complaints = child.communicate(timeout=WAIT)
    return child.returncode, " ".join(complaints.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_saves_what_it_has(tmp_path, number):
    status, complaints = stopped(tmp_path / "out", number)
    assert status == 128 + number
    trajectory = kt.load_trajectory(tmp_path / "out" / "trajectory.npz")
    assert f"stopped by {number.name} at {trajectory.time[-1]:g} s" in complaints
    assert (tmp_path / "out" / "plot.png").exists()

    model = kt.load("humanoid")
    data = start(model, None, 0)
    for time_, qpos, qvel in zip(trajectory.time, trajectory.qpos, trajectory.qvel, strict=True):
        kt.step(model, data, round((time_ - data.time) / model.opt.timestep))
        assert data.time == time_  # the last one too: it is that of a whole step
        np.testing.assert_array_equal(data.qpos, qpos)
        np.testing.assert_array_equal(data.qvel, qvel)
    assert len(trajectory) > 1


def test_a_prescribed_motion_saves_what_it_has(tmp_path):
    status, _ = stopped(tmp_path / "out", signal.SIGTERM, "--kinematic", sign="playing")
    assert status == 128 + signal.SIGTERM
    assert 0 < len(kt.load_trajectory(tmp_path / "out" / "trajectory.npz")) < 3600 * 100


@pytest.fixture
def deaf():
    """SIGTERM, if the program does not listen to it, is a failure rather than the end of all tests."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: pytest.fail("nobody listened"))
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("deaf")
@pytest.mark.parametrize("kinematic", [False, True])
@pytest.mark.parametrize("place", [(Recorder, "recording"), (run_module, "summary"), (run_module, "draw")], ids=PLACES)
def test_a_signal_after_the_last_step_loses_nothing(tmp_path, monkeypatch, capsys, place, kinematic):
    real = getattr(*place)

    def disturbed(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(*place, disturbed)
    with pytest.raises(typer.Exit) as end:
        run_module.run("cartpole", 0.5, tmp_path, 0, None, None, kinematic)
    assert end.value.exit_code == 128 + signal.SIGTERM
    assert kt.load_trajectory(tmp_path / "trajectory.npz").duration == pytest.approx(0.5, abs=0.02)
    assert (tmp_path / "plot.png").exists()
    assert "stopped by SIGTERM" in " ".join(capsys.readouterr().err.split())


def half_written(path, *_):
    with written_whole(path) as file:
        file.write(b"half")
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("nobody listened")


@pytest.mark.usefixtures("deaf")
@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("place", ["save_trajectory", "draw"])
def test_a_second_signal_spares_the_plot_and_says_so(tmp_path, monkeypatch, capsys, place, earlier):
    """While the trajectory is written it is heard afterwards; a plot that was begun is not left half written."""
    real, plot = run_module.save_trajectory, tmp_path / "plot.png"
    if earlier:
        plot.write_bytes(b"earlier")

    def impatient(*arguments, **motion):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **motion)

    monkeypatch.setattr(run_module, place, half_written if place == "draw" else impatient)
    with pytest.raises(typer.Exit) as end:
        run_module.run("cartpole", 0.5, tmp_path, 0, None, None, False)
    assert end.value.exit_code == 128 + signal.SIGTERM
    assert kt.load_trajectory(tmp_path / "trajectory.npz").duration == pytest.approx(0.5, abs=0.02)
    assert {file.name for file in tmp_path.iterdir()} == {"trajectory.npz", *(["plot.png"] if earlier else [])}
    assert not earlier or plot.read_bytes() == b"earlier"
    said = capsys.readouterr()
    told = "all up to the last whole step is saved, but no plot is drawn"
    assert told + (f": {plot} is that of an earlier run" if earlier else "") in " ".join(said.err.split())
    assert "not drawn" in said.out


EARLY = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
LATE = f"try: {EARLY}\nexcept KeyboardInterrupt as problem: raise ImportError('initialization failed') from problem"
STARTS = {
    "module": ["-m", "kinetree"],
    "command line": ["-m", "kinetree.cli"],
    "script": ["kinetree"],
    "library": ["-c", "import kinetree.cli"],
}


@pytest.mark.parametrize("imported", ["numpy", "typer"])
@pytest.mark.parametrize("entry", STARTS)
def test_interrupted_while_it_is_imported(tmp_path, entry, imported):
    """By a module that sends the signal, early and late; other programs see the exception as always.

    The late one makes an ImportError of it, as modules written in C do.
    """
    (tmp_path / f"{imported}.py").write_text(EARLY if imported == "numpy" else LATE)
    (tmp_path / "kinetree").write_text("from kinetree.cli import main\nmain()")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *STARTS[entry]], env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    if entry == "library":
        assert "Traceback" in done.stderr and "\nKeyboardInterrupt\n" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (130, "kinetree: interrupted\n")


def test_a_run_stops_while_it_compiles(tmp_path):
    """With an empty cache there is nothing to save yet."""
    child = started(tmp_path / "out", KINETREE_CACHE=str(tmp_path / "cache"), KINETREE_QUIET="0")
    assert "what is used for the first time" in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    _, complaints = child.communicate(timeout=WAIT)
    assert child.returncode == 128 + signal.SIGINT
    assert "stopped by SIGINT before there was anything to save" in complaints
    assert not list((tmp_path / "out").iterdir())


def test_nohup_is_respected(tmp_path):
    """A signal that is ignored from the start stays so."""
    command = [sys.executable, "-m", "kinetree", "run", "cartpole", "--seconds", "30", "--out", str(tmp_path / "out")]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    while child.poll() is None:
        child.send_signal(signal.SIGHUP)
        time.sleep(0.2)
    _, complaints = child.communicate()
    assert (child.returncode, complaints) == (0, "")
    assert kt.load_trajectory(tmp_path / "out" / "trajectory.npz").duration == pytest.approx(30.0)
