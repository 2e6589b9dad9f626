"""`kinetree run`: the recorded motion is MuJoCo's, the files and the summary say what happened."""

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.simulate import random_velocities
from kinetree.conformance.tolerances import TRAJECTORY_SMOOTH

PNG = b"\x89PNG\r\n\x1a\n"


def oracle(model):
    """MuJoCo's model, whose solver ends its iterations as ours does: not island by island."""
    mj = model.to_mujoco()
    mj.opt.disableflags |= int(kt.DisableBit.ISLAND)
    return mj


def assert_close(ours, theirs, tolerance, what):
    error = np.abs(ours - theirs) / max(1.0, np.abs(theirs).max())
    worst = int(np.argmax(error))
    assert error[worst] <= tolerance, f"{what}[{worst}]: {ours[worst]} against {theirs[worst]}"


@pytest.mark.parametrize("name", kt.models.names())
def test_every_bundled_model_moves_as_in_mujoco(kinetree, tmp_path, name):
    status, out, err = kinetree("run", name, "--seconds", "0.3")
    assert (status, err) == (0, "")
    folder = tmp_path / "kinetree-run" / name
    assert str(folder.relative_to(tmp_path) / "plot.png") in out
    assert (folder / "plot.png").read_bytes().startswith(PNG)
    trajectory, model = kt.load_trajectory(folder / "trajectory.npz"), kt.load(name)
    assert trajectory.model_name == name and trajectory.duration == pytest.approx(0.3)
    frames = np.diff(trajectory.time)
    assert np.all(frames > 0) and frames.max() < 1 / 40, "about sixty frames a second"

    mj = oracle(model)
    theirs = mujoco.MjData(mj)
    mujoco.mj_resetDataKeyframe(mj, theirs, 0)
    theirs.qpos[:], theirs.qvel[:] = trajectory.qpos[0], trajectory.qvel[0]
    start = theirs.time
    for k in (0, 3, len(trajectory) - 1):
        mujoco.mj_step(mj, theirs, round((trajectory.time[k] - start) / mj.opt.timestep))
        start = theirs.time
        assert_close(trajectory.qpos[k], theirs.qpos, TRAJECTORY_SMOOTH, f"{name}, frame {k}, qpos")
        assert_close(trajectory.qvel[k], theirs.qvel, TRAJECTORY_SMOOTH, f"{name}, frame {k}, qvel")
        mujoco.mj_forward(mj, theirs)
        mujoco.mj_energyPos(mj, theirs)
        mujoco.mj_energyVel(mj, theirs)
        assert_close(trajectory.arrays["energy"][k], theirs.energy, TRAJECTORY_SMOOTH, f"{name}, frame {k}, energy")
        assert_close(trajectory.arrays["com"][k], theirs.subtree_com[0], TRAJECTORY_SMOOTH, f"{name}, frame {k}, com")


def test_a_floating_model_keeps_its_momentum(kinetree, tmp_path):
    """Without gravity its centre of mass moves on a straight line at constant speed; the seed chooses which."""
    astronaut = kt.models.path("humanoid").read_text().replace('<geom name="floor"', '<geom name="floor" pos="0 0 -9"')
    (tmp_path / "astronaut.xml").write_text(astronaut)
    options = ("run", "astronaut.xml", "--no-gravity", "--out", "here")
    assert kinetree(*options, "--seconds", "1", "--seed", "3")[0] == 0
    first = kt.load_trajectory(tmp_path / "here" / "trajectory.npz")
    com = first.arrays["com"]
    straight = com[0] + (first.time / first.time[-1])[:, None] * (com[-1] - com[0])
    # An integrator of first order: the deviation shrinks with the time step, it is 1e-3 at 4 ms.
    assert np.abs(com - straight).max() < 5e-3 and np.abs(com[-1] - com[0]).max() > 0.01
    assert kinetree(*options, "--seconds", "0.1", "--seed", "4")[0] == 0
    second = kt.load_trajectory(tmp_path / "here" / "trajectory.npz")
    assert np.any(first.qvel[0] != second.qvel[0])


def test_gravity_can_be_asked_for(kinetree, tmp_path):
    weightless = kt.models.path("humanoid").read_text().replace("<option", '<option gravity="0 0 -2"', 1)
    (tmp_path / "moon.xml").write_text(weightless.replace('<geom name="floor"', '<geom name="floor" pos="0 0 -9"'))
    status, _, _ = kinetree("run", "moon.xml", "--seconds", "0.5", "--gravity", "--out", "here")
    assert status == 0
    trajectory = kt.load_trajectory(tmp_path / "here" / "trajectory.npz")
    assert not np.any(trajectory.qvel[0]), "with gravity it starts at rest"
    height = trajectory.arrays["com"][:, 2]
    time = trajectory.time - trajectory.time[0]
    # Euler's steps fall g dt t / 2 more than g t^2 / 2
    assert np.abs(height[0] - height - 0.5 * 2 * time * (time + 0.004)).max() < 1e-3


def test_a_humanoid_ends_on_the_floor(kinetree, tmp_path):
    status, out, _ = kinetree("run", "humanoid", "--seconds", "2", "--out", "here")
    assert status == 0 and "ignores" not in out
    trajectory = kt.load_trajectory(tmp_path / "here" / "trajectory.npz")
    height = trajectory.arrays["com"][:, 2]
    assert 0.05 < height[-1] < height[0] and np.abs(trajectory.qvel[-1][:3]).max() < 1.0


def test_gravity_can_be_switched_off(kinetree, tmp_path):
    status, _, _ = kinetree("run", "double_pendulum", "--seconds", "0.5", "--no-gravity", "--out", "here")
    assert status == 0
    trajectory = kt.load_trajectory(tmp_path / "here" / "trajectory.npz")
    potential, kinetic = trajectory.arrays["energy"].T
    assert not np.any(potential) and np.ptp(kinetic) < 1e-7 * kinetic[0]


def test_random_velocities_point_into_the_ranges():
    model = kt.load("humanoid")
    qvel = random_velocities(model, model.qpos0, np.random.default_rng(1))
    assert np.all(qvel != 0)
    for j in np.flatnonzero(model.jnt_limited):
        q, v = model.jnt_qposadr[j], model.jnt_dofadr[j]
        assert qvel[v] * (np.mean(model.jnt_range[j]) - model.qpos0[q]) >= 0, model.name("joint", j)
    ball = kt.load("ball_humanoid")
    assert np.all(random_velocities(ball, ball.qpos0, np.random.default_rng(1)) != 0)


@pytest.mark.parametrize("options", [[], ["--kinematic"]])
def test_it_starts_at_a_keyframe(kinetree, tmp_path, options):
    model = kt.load("double_pendulum")
    for keyframe, k in ((None, 0), ("raised", 0), ("swinging", 1)):
        chosen = [] if keyframe is None else ["--keyframe", keyframe]
        assert kinetree("run", "double_pendulum", "--seconds", "0.1", *chosen, *options)[0] == 0
        trajectory = kt.load_trajectory(tmp_path / "kinetree-run" / "double_pendulum" / "trajectory.npz")
        if not options:
            assert np.array_equal(trajectory.qpos[0], model.key_qpos[k])
            assert np.array_equal(trajectory.qvel[0], model.key_qvel[k])
        else:
            assert np.abs(trajectory.qpos - model.key_qpos[k]).max() <= 0.5 + 1e-12


def test_summary_says_what_was_run(kinetree):
    _, out, _ = kinetree("run", "humanoid", "--seconds", "0.5")
    rows = {left.strip(): right.strip() for left, right in _rows(out)}
    expected = {
        "model": "humanoid", "bodies, the world included": "15", "joints": "26", "nq, nv": "32, 31",
        "total mass": "78.2 kg", "integrator": "implicitfast", "time step": "0.004 s", "duration": "0.5 s",
        "steps": "125", "frames": "33",
    }  # fmt: skip
    assert {label: rows[label] for label in expected} == expected
    assert rows["warnings"] == "none"
    for label in (
        "wall time",
        "times real time",
        "energy at the start",
        "energy at the end",
        "height of centre of mass",
    ):
        assert label in rows, label


def test_another_integrator_can_be_asked_for(kinetree):
    _, out, _ = kinetree("run", "humanoid", "--seconds", "0.1", "--integrator", "discrete")
    assert any("integrator" in line and "discrete" in line for line in out.splitlines())
    status, _, err = kinetree("run", "humanoid", "--integrator", "discret")
    assert status == 2 and "no integrator is called 'discret'" in err and "discrete" in err


def test_energy_is_kept_where_nothing_takes_it(kinetree):
    _, out, _ = kinetree("run", "double_pendulum", "--seconds", "1")
    rows = {left.strip(): right.strip() for left, right in _rows(out)}
    assert rows["energy at the start"].split(" J")[0] == rows["energy at the end"].split(" J")[0]


def test_no_warnings(kinetree, tmp_path):
    (tmp_path / "ball.xml").write_text(
        "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    _, out, _ = kinetree("run", "ball.xml", "--seconds", "0.1")
    assert dict((left.strip(), right.strip()) for left, right in _rows(out))["warnings"] == "none"


def test_a_model_without_joints_has_no_energy_to_show(kinetree, tmp_path):
    (tmp_path / "stone.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    status, out, _ = kinetree("run", "stone.xml", "--seconds", "0.1")
    assert status == 0 and "energy" not in out


UNSTABLE = """<mujoco><option timestep="0.1"><flag autoreset="{}"/></option><worldbody>
<body><joint axis="0 1 0" stiffness="1e9" springref="50"/><geom size=".1" pos="0 0 .3"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("autoreset", ["enable", "disable"])
def test_an_unstable_motion_is_reported(kinetree, tmp_path, autoreset):
    (tmp_path / "wild.xml").write_text(UNSTABLE.format(autoreset))
    status, out, err = kinetree("run", "wild.xml", "--seconds", "100")
    assert (status, err) == (0, "")
    assert "the simulation is unstable" in out and ("the state is reset" in out) == (autoreset == "enable")
    trajectory = kt.load_trajectory(tmp_path / "kinetree-run" / "wild" / "trajectory.npz")
    assert np.all(np.isfinite(trajectory.qpos))


def test_kinematic_motion(kinetree, tmp_path):
    status, out, _ = kinetree("run", "arm", "--kinematic", "--seconds", "0.2", "--out", "here", "--seed", "5")
    assert status == 0 and "joints follow prescribed sines" in out and "energy" not in out and "steps" not in out
    trajectory, model = kt.load_trajectory(tmp_path / "here" / "trajectory.npz"), kt.load("arm")
    assert trajectory.qpos.shape == (21, model.nq) and list(trajectory.arrays) == ["com"]
    data = kt.Data(model)
    for k in (0, 11, 20):
        data.qpos = trajectory.qpos[k]
        kt.kinematics(model, data)
        expected = model.body_mass @ data.xipos / model.body_mass.sum()
        np.testing.assert_allclose(trajectory.arrays["com"][k], expected, atol=1e-12, err_msg=f"arm, frame {k}")


def _rows(out):
    """Pairs of label and value of the printed table; values that go over several lines are joined."""
    pairs = []
    for line in out.splitlines():
        if line.startswith("│"):
            left, right = line.strip("│").split("│")
            if left.strip():
                pairs.append([left, right])
            else:
                pairs[-1][1] = f"{pairs[-1][1].rstrip()} {right.strip()}"
    return pairs
