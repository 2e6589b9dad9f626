"""The commands as a user meets them: help, odd models, bad input, pipes. What each one does has a file of its own."""

import os
import subprocess
import sys

import pytest

import kinetree as kt

PNG = b"\x89PNG\r\n\x1a\n"


def test_version(kinetree):
    status, out, _ = kinetree("--version")
    assert (status, out) == (0, f"kinetree {kt.__version__}\n")


def test_help_lists_the_commands(kinetree):
    status, out, _ = kinetree("--help")
    assert status == 0 and all(command in out for command in ("run", "check", "info"))
    assert kinetree() == (status, out, "")


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
def test_odd_models(kinetree, tmp_path, xml):
    (tmp_path / "odd.xml").write_text(xml)
    for command in (["run", "--seconds", "0.1"], ["run", "--kinematic", "--seconds", "0.1"], ["check"], ["info"]):
        status, _, err = kinetree(*command, "odd.xml")
        assert (status, err) == (0, ""), command


BAD = [
    (["run", "humanoyd"], 1, "no file and no bundled model 'humanoyd'; did you mean 'humanoid'"),
    (["info", "nowhere.xml"], 1, "no file and no bundled model 'nowhere.xml'"),
    (["info", ""], 1, "no file and no bundled model ''"),
    (["info", "."], 1, "'.' is not a path to a model"),
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
    (["run", "humanoid", "--keyframe", "squad"], 2, "no keyframe is called 'squad': did you mean 'squat'"),
    (["run", "spinner", "--keyframe", ""], 2, "no keyframe is called ''"),
    (["run", "humanoid", "--kinematic", "--keyframe", "squad"], 2, "did you mean 'squat'"),
    (["check", "humanoyd"], 2, "no file and no bundled model 'humanoyd'; did you mean 'humanoid'"),
    (["check", "broken.xml"], 2, "broken.xml"),
    (["check", "flex.xml"], 2, "flex (flex 'cloth')"),
    (["check", "cartpole", "--states", "0"], 2, "Invalid value for '--states'"),
    (["check", "cartpole", "--json", "taken/report.json"], 2, "cannot write to taken/report.json: Not a directory"),
    (["check"], 2, "Missing argument"),
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
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "TERM": "dumb", "KINETREE_QUIET": "1"}
    command = [sys.executable, "-m", "kinetree.cli", "run", "cartpole", "--seconds", "0.2"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert b"cartpole" in done.stdout and b"\x1b[" not in done.stdout
    assert not done.stderr
