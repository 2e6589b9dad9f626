"""The commands as a user meets them: what they print, write and answer to bad input."""

import os
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli import main

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def kinetree(capsys, tmp_path, monkeypatch):
    """Runs a command in an empty folder; returns exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return call


def test_version(kinetree):
    status, out, _ = kinetree("--version")
    assert (status, out) == (0, f"kinetree {kt.__version__}\n")


def test_help_lists_the_commands(kinetree):
    status, out, _ = kinetree("--help")
    assert status == 0 and "run" in out and "info" in out
    assert kinetree() == (status, out, "")


@pytest.mark.parametrize("name", kt.models.names())
def test_run_every_bundled_model(kinetree, tmp_path, name):
    status, out, err = kinetree("run", name, "--seconds", "0.3")
    assert status == 0, err
    folder = tmp_path / "kinetree-run" / name
    assert "no dynamics yet" in out and str(folder.relative_to(tmp_path) / "plot.png") in out
    assert (folder / "plot.png").read_bytes().startswith(PNG)
    trajectory = kt.load_trajectory(folder / "trajectory.npz")
    model = kt.load(name)
    assert (trajectory.model_name, len(trajectory)) == (name, 31)
    assert trajectory.qpos.shape == (31, model.nq) and trajectory.qvel.shape == (31, model.nv)


def test_recorded_centre_of_mass_is_the_mean_of_the_bodies(kinetree, tmp_path):
    assert kinetree("run", "arm", "--seconds", "0.2", "--out", "here", "--seed", "5")[0] == 0
    trajectory, model = kt.load_trajectory(tmp_path / "here" / "trajectory.npz"), kt.load("arm")
    data = kt.Data(model)
    for k in (0, 11, 20):
        data.qpos = trajectory.qpos[k]
        kt.kinematics(model, data)
        expected = model.body_mass @ data.xipos / model.body_mass.sum()
        np.testing.assert_allclose(trajectory.arrays["com"][k], expected, atol=1e-12, err_msg=f"arm, frame {k}")


def test_summary_says_what_was_run(kinetree):
    _, out, _ = kinetree("run", "humanoid", "--seconds", "0.5")
    for part in ("humanoid", "32, 31", "78.2 kg", "0.5 s", "51", "height of centre of mass", "time per frame"):
        assert part in out, part


def test_run_from_a_file_and_twice_into_the_same_folder(kinetree, tmp_path):
    file = tmp_path / "my robot [v2].xml"
    file.write_text("<mujoco><worldbody><body name='[red]'><joint/><geom size='.1'/></body></worldbody></mujoco>")
    for _ in range(2):
        status, out, err = kinetree("run", str(file), "--seconds", "0.1")
        assert status == 0, err
        assert "my robot [v2]" in out
    assert (tmp_path / "kinetree-run" / "my robot [v2]" / "plot.png").exists()


@pytest.mark.parametrize(
    "xml",
    [
        "<mujoco/>",
        "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>",
        """<mujoco><worldbody><body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody>
        </mujoco>""",
        "<mujoco><worldbody><body name='$x_1$'><joint name='$'/><geom size='.1'/></body></worldbody></mujoco>",
    ],
    ids=["empty", "no joints", "no geoms", "mathematical names"],
)
def test_run_and_info_on_odd_models(kinetree, tmp_path, xml):
    (tmp_path / "odd.xml").write_text(xml)
    assert kinetree("run", "odd.xml", "--seconds", "0.1")[0] == 0
    assert kinetree("info", "odd.xml")[0] == 0


def test_info_shows_sizes_bodies_and_joints(kinetree):
    status, out, _ = kinetree("info", "double_pendulum")
    assert status == 0
    for part in (
        "degrees of freedom (nv)",
        "4.118 kg",
        "upper",
        "lower",
        "shoulder (hinge)",
        "elbow (hinge)",
        "raised",
    ):
        assert part in out, part


def test_info_prints_names_as_they_are(kinetree, tmp_path):
    (tmp_path / "x.xml").write_text(
        "<mujoco><worldbody><body name='[bold]b[/bold]'><geom size='.1'/></body></worldbody></mujoco>"
    )
    assert "[bold]b[/bold]" in kinetree("info", "x.xml")[1]


BAD = [
    (["run", "humanoyd"], 1, "no file and no bundled model 'humanoyd'; did you mean 'humanoid'"),
    (["info", "nowhere.xml"], 1, "no file and no bundled model 'nowhere.xml'"),
    (["info", ""], 1, "no file and no bundled model ''"),
    (["info", "."], 1, ". is a folder"),
    (["run", "broken.xml"], 1, "broken.xml"),
    (["info", "empty.xml"], 1, "empty.xml"),
    (["info", "binary.mjb"], 1, "binary.mjb"),
    (["info", "picture.png"], 1, "picture.png"),
    (["info", "wrong.xml"], 1, "wrong.xml"),
    (["run", "flex.xml"], 1, "flex"),
    (["run", "humanoid", "--seconds", "-1"], 2, "must be more than 0"),
    (["run", "humanoid", "--seconds", "0"], 2, "must be more than 0"),
    (["run", "humanoid", "--seconds", "nan"], 2, "must be more than 0"),
    (["run", "humanoid", "--seconds", "inf"], 2, "at most 3600"),
    (["run", "humanoid", "--seconds", "soon"], 2, "Invalid value for '--seconds'"),
    (["run", "humanoid", "--seed", "-3"], 2, "Invalid value for '--seed'"),
    (["run", "humanoid", "--out", "taken"], 1, "cannot write to taken: File exists"),
    (["run", "humanoid", "--out", "taken/below"], 1, "cannot write to taken/below: Not a directory"),
    (["run"], 2, "Missing argument"),
    (["fly"], 2, "fly"),
    (["run", "humanoid", "--what"], 2, "--what"),
]
FLEX = """<mujoco><worldbody><flexcomp name='cloth' type='grid' count='3 3 1' spacing='.1 .1 .1' dim='2' radius='.01'/>
</worldbody></mujoco>"""


@pytest.mark.parametrize("arguments, status, message", BAD, ids=[" ".join(arguments) for arguments, _, _ in BAD])
def test_bad_input_gives_a_message_and_a_status(kinetree, tmp_path, arguments, status, message):
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody>")
    (tmp_path / "empty.xml").write_text("")
    (tmp_path / "binary.mjb").write_bytes(bytes(range(256)))
    (tmp_path / "picture.png").write_bytes(PNG)
    (tmp_path / "wrong.xml").write_text("<mujoco><worldbody><body><joint type='wheel'/></body></worldbody></mujoco>")
    (tmp_path / "flex.xml").write_text(FLEX)
    (tmp_path / "taken").write_text("a file where a folder should be")
    code, _, err = kinetree(*arguments)
    assert code == status, err
    assert message in err and "Traceback" not in err
    assert err.startswith("kinetree: ") and err.count("\n") == 1, err


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_runs_into_a_pipe(tmp_path, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "TERM": "dumb"}
    command = [sys.executable, "-m", "kinetree.cli", "run", "cartpole", "--seconds", "0.2"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert b"cartpole" in done.stdout and b"\x1b[" not in done.stdout
    assert not done.stderr
