"""Trajectory files: the recorded motion of one model, as NumPy's `.npz`.

A file holds `format` and `version`, the model's name, `time` (frames), `qpos` (frames, nq), `qvel` (frames, nv) and any
other arrays with one row per frame. It opens with plain `numpy.load` too.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from .whole import written_whole

FORMAT, VERSION = "kinetree-trajectory", 1
_OWN_KEYS = ("format", "version", "model_name", "time", "qpos", "qvel")


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A recorded motion. time in s; qpos and qvel in MuJoCo's layout and units; arrays: whatever else was recorded."""

    model_name: str
    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    arrays: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.time)

    @property
    def duration(self) -> float:
        """From the first frame to the last, in s; 0 when there are no frames."""
        return float(self.time[-1] - self.time[0]) if len(self) else 0.0

    def __repr__(self) -> str:
        extra = f", with {', '.join(self.arrays)}" if self.arrays else ""
        return f"<kinetree.Trajectory of {self.model_name!r}: {len(self)} frames, {self.duration:g} s{extra}>"


def save_trajectory(
    path: str | os.PathLike[str], *, model_name: str, time: Any, qpos: Any, qvel: Any, **arrays: Any
) -> Path:
    """Write a motion to a file, replacing it as a whole; every array has one row per frame. Returns the path."""
    if not isinstance(model_name, str):
        raise TypeError(f"model_name must be a string, got {type(model_name).__name__}")
    taken = [name for name in arrays if name in _OWN_KEYS]
    if taken:
        raise ValueError(f"{taken[0]!r} is a name of the trajectory format itself: give that array another one")
    motion = {"time": time, "qpos": qpos, "qvel": qvel, **arrays}
    checked = _checked({name: _numbers(name, value) for name, value in motion.items()})
    target = Path(path)
    with written_whole(target) as file:  # an open file, because numpy would append .npz to a bare name
        np.savez_compressed(file, format=FORMAT, version=VERSION, model_name=model_name, **checked)  # type: ignore[arg-type]
    return target


def load_trajectory(path: str | os.PathLike[str]) -> Trajectory:
    """Read a file that `save_trajectory` wrote; a ValueError says what is wrong with one that is not."""
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"no trajectory file {str(source)!r}")
    if not source.is_file() and not source.is_dir():  # a pipe would wait for a writer; opening a folder says what it is
        raise ValueError(f"{str(source)!r} is not a regular file")
    with source.open("rb") as file:
        contents = _unpacked(file, f"{str(source)!r} is not a trajectory file, or it is damaged")
    try:
        return _decoded(contents)
    except ValueError as problem:
        raise ValueError(f"{str(source)!r}: {problem}") from None


def _unpacked(file: BinaryIO, complaint: str) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` archive; NumPy takes anything else for an array or a pickle, and advises to run the latter."""
    if not zipfile.is_zipfile(file):
        raise ValueError(f"{complaint}: it is no .npz archive")
    file.seek(0)
    try:
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception as problem:  # damaged archives fail in many ways: zip, zlib, header, memory
        reason = "it holds objects, not numbers" if "allow_pickle" in str(problem) else problem
        raise ValueError(f"{complaint}: {reason}") from problem


def _decoded(contents: dict[str, np.ndarray]) -> Trajectory:
    if str(contents.get("format")) != FORMAT:
        raise ValueError("an .npz archive, but not a kinetree trajectory")
    version = contents.get("version", np.array(None))
    if version.shape != () or version.dtype.kind != "i" or not 1 <= version <= VERSION:
        raise ValueError(f"trajectory format version {version}; this kinetree reads up to {VERSION}")
    missing = [name for name in _OWN_KEYS if name not in contents]
    if missing:
        raise ValueError(f"the trajectory lacks {', '.join(missing)}")
    rows = {name: _numbers(name, value) for name, value in contents.items() if name not in _OWN_KEYS[:3]}
    motion = _checked(rows)
    extra = {name: array for name, array in motion.items() if name not in _OWN_KEYS}
    name = str(contents["model_name"])
    return Trajectory(name, motion["time"], motion["qpos"], motion["qvel"], MappingProxyType(extra))


def _numbers(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got {array.dtype}")
    return array.astype(np.float64) if name in ("time", "qpos", "qvel") else array


def _checked(motion: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same arrays, after checking that their shapes fit together."""
    for name, axes in (("time", 1), ("qpos", 2), ("qvel", 2)):
        if motion[name].ndim != axes:
            raise ValueError(f"{name} must have {axes} axes, one row per frame, got shape {motion[name].shape}")
    frames = len(motion["time"])
    for name, array in motion.items():
        if array.ndim == 0 or len(array) != frames:
            raise ValueError(f"{name} must have one row for each of the {frames} frames, got shape {array.shape}")
    return motion
