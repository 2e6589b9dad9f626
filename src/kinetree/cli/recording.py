"""What a run keeps of a motion: one row per frame, and where all shapes are at the few instants of the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Data
from ..model import Model
from ..pipeline import energy_pos, energy_vel, fwd_position
from .motion import Motion

SNAPSHOTS = 8


@dataclass(frozen=True)
class Pose:
    """Where all geoms are at one instant: time in s, positions (ngeom, 3) in m, rotation matrices (ngeom, 3, 3)."""

    time: float
    positions: np.ndarray
    rotations: np.ndarray


@dataclass(frozen=True)
class Recording:
    """A motion and what was computed along it.

    com: centre of mass (frames, 3) in m. energy: potential and kinetic (frames, 2) in J; None for a prescribed motion.
    steps: time steps made. seconds: computing time of the steps, or of the frames of a prescribed motion. warnings: each
    message with the number of times it was given.
    """

    motion: Motion
    com: np.ndarray
    poses: list[Pose]
    energy: np.ndarray | None
    steps: int
    seconds: float
    warnings: dict[str, int]


class Recorder:
    """Collects the frames of a motion."""

    def __init__(self, model: Model, frames: int):
        self.model = model
        self.rows: list[tuple[np.ndarray, ...]] = []
        self.poses: dict[int, Pose] = {}  # by the number of the frame
        self.pictured = set(np.linspace(0, frames - 1, SNAPSHOTS).round().astype(int).tolist())

    def keep(self, data: Data) -> None:
        """One more frame. Computes what describes the present state, and leaves the state as it is."""
        for stage in (fwd_position, energy_pos, energy_vel):
            stage(self.model, data)
        row = (data.time, data.qpos, data.qvel, data.subtree_com[0], data.energy)
        frame = tuple(np.array(value) for value in row)
        if len(self.rows) in self.pictured:
            rotations = data.geom_xmat.reshape(-1, 3, 3)
            self.poses[len(self.rows)] = Pose(data.time, data.geom_xpos.copy(), rotations.copy())
        self.rows.append(frame)

    def recording(self, steps: int | None, seconds: float, told: dict[str, int]) -> Recording:
        """All frames together; where nothing is stepped there are no dynamics, and energies mean nothing."""
        time, qpos, qvel, com, energy = (np.array(column) for column in zip(*self.rows, strict=True))
        energies, poses = None if steps is None else energy, [*self.poses.values()]
        return Recording(Motion(time, qpos, qvel), com, poses, energies, steps or 0, seconds, told)
