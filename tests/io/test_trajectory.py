"""Trajectory files: what is saved comes back, and what is not a trajectory is refused with the reason."""

import os
import zipfile

import numpy as np
import pytest

from kinetree.io.trajectory import load_trajectory, save_trajectory


def motion(frames=7, nq=5, nv=4, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "model_name": "walker",
        "time": np.arange(frames) * 0.01,
        "qpos": rng.normal(size=(frames, nq)),
        "qvel": rng.normal(size=(frames, nv)),
    }


def test_round_trip_is_exact(tmp_path):
    saved, rng = motion(), np.random.default_rng(1)
    extra = {"com": rng.normal(size=(7, 3)), "contacts": rng.integers(0, 9, 7), "touching": rng.random((7, 2)) < 0.5}
    path = save_trajectory(tmp_path / "run.npz", **saved, **extra)
    loaded = load_trajectory(path)
    assert path == tmp_path / "run.npz"
    assert (loaded.model_name, len(loaded), set(loaded.arrays)) == ("walker", 7, set(extra))
    assert loaded.duration == pytest.approx(0.06)
    for name in ("time", "qpos", "qvel"):
        np.testing.assert_array_equal(getattr(loaded, name), saved[name], err_msg=name)
    for name, array in extra.items():
        np.testing.assert_array_equal(loaded.arrays[name], array, err_msg=name)
        assert loaded.arrays[name].dtype == array.dtype


@pytest.mark.parametrize("name", ["plain", "odd name.trajectory", "snow☃.npz"])
def test_writes_exactly_the_path_given(tmp_path, name):
    save_trajectory(str(tmp_path / name), **motion())
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert len(load_trajectory(str(tmp_path / name))) == 7


def test_empty_motion_and_model_without_joints(tmp_path):
    save_trajectory(tmp_path / "a.npz", **motion(frames=0))
    save_trajectory(tmp_path / "b.npz", **motion(nq=0, nv=0))
    assert load_trajectory(tmp_path / "a.npz").duration == 0
    assert load_trajectory(tmp_path / "b.npz").qpos.shape == (7, 0)


def test_non_finite_numbers_survive(tmp_path):
    saved = motion()
    saved["qpos"][2, 1], saved["qpos"][3, 0] = np.nan, np.inf
    loaded = load_trajectory(save_trajectory(tmp_path / "x.npz", **saved))
    np.testing.assert_array_equal(loaded.qpos, saved["qpos"])


def test_trajectory_cannot_be_edited(tmp_path):
    loaded = load_trajectory(save_trajectory(tmp_path / "x.npz", **motion(), com=np.zeros((7, 3))))
    with pytest.raises(AttributeError):
        loaded.time = np.zeros(3)
    with pytest.raises(TypeError):
        loaded.arrays["com"] = np.zeros(3)
    assert repr(loaded) == "<kinetree.Trajectory of 'walker': 7 frames, 0.06 s, with com>"


BAD_MOTIONS = [
    ({"time": np.zeros((7, 1))}, "time must have 1 axes"),
    ({"time": np.zeros(6)}, "one row for each of the 6 frames"),
    ({"qpos": np.zeros(7)}, "qpos must have 2 axes"),
    ({"qpos": np.zeros((8, 5))}, "qpos must have one row for each of the 7 frames"),
    ({"qvel": np.zeros((7, 2, 2))}, "qvel must have 2 axes"),
    ({"qpos": [["a"] * 5] * 7}, "qpos must hold numbers"),
    ({"qvel": [[None] * 4] * 7}, "qvel must hold numbers"),
    ({"com": np.zeros((3, 3))}, "com must have one row"),
    ({"mass": 3.0}, "mass must have one row"),
    ({"com": [object()] * 7}, "com must hold numbers"),
    ({"version": np.zeros(7)}, "'version' is a name of the trajectory format"),
    ({"format": np.zeros(7)}, "'format' is a name of the trajectory format"),
]


@pytest.mark.parametrize("change, message", BAD_MOTIONS, ids=[message for _, message in BAD_MOTIONS])
def test_refuses_to_save(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        save_trajectory(tmp_path / "x.npz", **{**motion(), **change})
    assert not list(tmp_path.iterdir())


def test_model_name_must_be_a_string(tmp_path):
    with pytest.raises(TypeError, match="model_name must be a string, got int"):
        save_trajectory(tmp_path / "x.npz", **{**motion(), "model_name": 3})


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no trajectory file .*nowhere.npz"):
        load_trajectory(tmp_path / "nowhere.npz")
    with pytest.raises(FileNotFoundError):
        save_trajectory(tmp_path / "no folder" / "x.npz", **motion())
    with pytest.raises(IsADirectoryError):
        load_trajectory(tmp_path)


@pytest.mark.parametrize("contents", [b"", b"not an archive at all", b"PK\x03\x04 cut short", b"\x93NUMPY\x01\x00"])
def test_foreign_bytes(tmp_path, contents):
    (tmp_path / "x.npz").write_bytes(contents)
    with pytest.raises(
        ValueError, match="'.*x.npz' is not a trajectory file, or it is damaged: it is no .npz archive$"
    ):
        load_trajectory(tmp_path / "x.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    writer = os.open(tmp_path / "pipe.npz", os.O_RDWR)  # so that reading it would fail rather than wait
    os.write(writer, bytes(64))
    with pytest.raises(ValueError, match="pipe.npz' is not a regular file"):
        load_trajectory(tmp_path / "pipe.npz")
    os.close(writer)
    with pytest.raises(ValueError, match="/dev/null' is not a regular file"):
        load_trajectory("/dev/null")


def test_what_cannot_be_finished_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_trajectory(tmp_path / "x.npz", **motion())
    before = path.read_bytes()

    def stopped(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", stopped)
    for name in ("x.npz", "new.npz"):
        with pytest.raises(KeyboardInterrupt):
            save_trajectory(tmp_path / name, **motion())
    assert [file.name for file in tmp_path.iterdir()] == ["x.npz"] and path.read_bytes() == before


def test_links_and_permissions_stay(tmp_path):
    (tmp_path / "real.npz").touch(mode=0o640)
    (tmp_path / "link.npz").symlink_to("real.npz")
    save_trajectory(tmp_path / "link.npz", **motion())
    assert (tmp_path / "link.npz").is_symlink() and len(load_trajectory(tmp_path / "real.npz")) == 7
    assert (tmp_path / "real.npz").stat().st_mode & 0o777 == 0o640


def test_foreign_archives(tmp_path):
    np.save(tmp_path / "array.npy", np.arange(3))
    with pytest.raises(ValueError, match="not a trajectory file"):
        load_trajectory(tmp_path / "array.npy")
    np.savez(tmp_path / "other.npz", time=np.arange(3))
    with pytest.raises(ValueError, match="other.npz.*not a kinetree trajectory"):
        load_trajectory(tmp_path / "other.npz")
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match="text.npz"):
        load_trajectory(tmp_path / "text.npz")


def rewritten(path, **changes):
    """The stored archive with some entries changed; None removes one."""
    with np.load(path) as stored:
        contents = {**dict(stored), **changes}
    np.savez(path, **{name: value for name, value in contents.items() if value is not None})


BAD_CONTENTS = [
    ({"version": 2}, "format version 2; this kinetree reads up to 1"),
    ({"version": 0}, "format version 0"),
    ({"version": "one"}, "format version one"),
    ({"version": None}, "format version None"),
    ({"format": "other"}, "not a kinetree trajectory"),
    ({"qvel": None}, "lacks qvel"),
    ({"time": None, "qpos": None}, "lacks time, qpos"),
    ({"qpos": np.zeros((3, 5))}, "qpos must have one row for each of the 7 frames"),
    ({"qpos": np.array([["x"] * 5] * 7)}, "qpos must hold numbers"),
]


@pytest.mark.parametrize("changes, message", BAD_CONTENTS, ids=[message for _, message in BAD_CONTENTS])
def test_refuses_to_load(tmp_path, changes, message):
    path = save_trajectory(tmp_path / "x.npz", **motion())
    rewritten(path, **changes)
    with pytest.raises(ValueError, match=message):
        load_trajectory(path)


def test_damage_anywhere_gives_a_value_error_or_the_same_motion(tmp_path):
    path = save_trajectory(tmp_path / "x.npz", **motion())
    whole, rng = path.read_bytes(), np.random.default_rng(2)
    for _ in range(150):
        broken = bytearray(whole)
        if rng.random() < 0.3:
            del broken[rng.integers(len(broken)) :]
        else:
            broken[rng.integers(len(broken))] ^= 1 << rng.integers(8)
        path.write_bytes(broken)
        try:
            loaded = load_trajectory(path)
        except ValueError as problem:
            assert "x.npz" in str(problem)
        else:  # a flipped bit in a date or an attribute of the archive harms nothing
            np.testing.assert_array_equal(loaded.qpos, motion()["qpos"])


def test_pickled_objects_are_never_run(tmp_path):
    path = save_trajectory(tmp_path / "x.npz", **motion())
    rewritten(path, qpos=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="damaged: it holds objects, not numbers$"):
        load_trajectory(path)
