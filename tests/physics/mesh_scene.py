"""Random scenes in which everything meets everything: meshes of all sorts, primitives, stacks, trees; sleep in some.

Beside what `random_scene` makes; here no contact bits keep shapes apart.
"""

from __future__ import annotations

import mujoco
import numpy as np

from tests.geometry.scenes import BITS
from tests.physics.random_scene import SHAPES, Scene

MESHES = 6  # in each scene
ASLEEP = 3  # one in so many scenes has sleep enabled


class MeshScene(Scene):
    """Writes the MJCF of one scene."""

    bits = {kind: "" for kind in BITS}

    def points(self, k: int) -> str:
        """Vertices of mesh k: a prism, a slab, a needle, or random points; some of them twice."""
        if k == 0:  # uneven, so that no two quadrilaterals of its ends are equally large
            sides = int(self.rng.integers(3, 12))
            angles = np.sort(self.rng.uniform(0, 2 * np.pi / sides, sides) + 2 * np.pi / sides * np.arange(sides))
            corners = [(0.1 * np.cos(t), 0.12 * np.sin(t), z) for z in (-0.07, 0.07) for t in angles]
            return " ".join(f"{x:.6f}" for x in np.ravel(corners))
        count = int(self.rng.choice([4, 6, 12, 30, 80]))
        points = self.rng.normal(size=(count, 3))
        points /= np.linalg.norm(points, axis=1)[:, None]
        thin = {1: (1.0, 1.0, 0.06), 2: (0.06, 0.06, 1.0)}.get(k, np.exp(self.rng.uniform(-0.7, 0.3, 3)))
        points = 0.12 * points * thin
        if self.chance(0.3):
            points = np.concatenate((points, points[:2]))
        return " ".join(f"{x:.6f}" for x in points.ravel())

    def assets(self) -> str:
        """All meshes of the scene."""
        return "".join(f'<mesh name="mesh{k}" vertex="{self.points(k)}"/>' for k in range(MESHES))

    def mesh(self) -> str:
        """One of them."""
        return f"mesh{self.rng.integers(MESHES)}"

    def stack(self, place: np.ndarray) -> str:
        """A pile of flat things, each a little into the one below."""
        out, z = "", 0.0
        for _ in range(self.rng.integers(2, 6)):
            half = float(self.rng.uniform(0.03, 0.07))
            kind = self.pick(("box", "cylinder", "mesh"))
            half = 0.07 if kind == "mesh" else half
            form = {"box": f'size=".1 .08 {half}"', "cylinder": f'size=".09 {half}"', "mesh": 'mesh="mesh0"'}[kind]
            z += half - 1e-4
            # not quite level, or discs would touch anywhere on their rim
            turn = f'euler="{self.numbers(-0.5, 0.5, 2)} {self.numbers(0, 90)}"'
            out += f'<body pos="{place[0]:.4f} {place[1]:.4f} {z:.5f}" {turn}><freejoint/><geom type="{kind}" {form}/></body>'
            z += half
        return out

    def world(self) -> str:
        """A floor with obstacles, stacks, a heap of loose bodies, and trees that hang above it."""
        rng = self.rng
        out = f'<geom name="floor" type="plane" size="3 3 1" condim="{rng.choice([1, 3, 4, 6])}"/>'
        if self.chance(0.5):
            out += f'<geom type="plane" size="3 3 1" pos="1.1 0 0" euler="0 {-self.rng.uniform(40, 70):.4g} 0"/>'
        for _ in range(rng.integers(0, 3)):
            out += self.geom(self.pick(SHAPES[2:]), f"{self.numbers(-0.5, 0.5, 2)} 0")
        for k in range(rng.integers(0, 3)):
            out += self.stack(np.array([-0.8 + 0.5 * k, -0.9]))
        for k in range(rng.integers(0, 2)):
            out += f'<body pos="{self.numbers(-0.6, 0.6, 2)} 0.9">{self.tree(f"t{k}", 1)}</body>'
        for k, cell in enumerate(rng.permutation(27)[: rng.integers(3, 11)]):
            place = np.array([cell // 9 - 1, cell // 3 % 3 - 1, 0.6 + cell % 3]) * 0.28 + rng.uniform(-0.05, 0.05, 3)
            out += self.loose(f"b{k}", place)
        return out

    def sleeps(self) -> bool:
        """Whether trees may fall asleep."""
        return self.seed % ASLEEP == 0

    def equalities(self, tendons: list[str]) -> str:
        """As elsewhere; MuJoCo has no sleep where tendons are held equal."""
        return super().equalities([] if self.sleeps() else tendons)

    def flags(self) -> str:
        """Ways through collision, and sleep."""
        sleep = 'sleep="enable"' if self.sleeps() else ""
        return " ".join([super().flags(), sleep, 'multiccd="disable"' if self.chance(0.1) else ""])


def mesh_scene(seed: int) -> mujoco.MjModel:
    """The compiled scene of a seed."""
    return mujoco.MjModel.from_xml_string(MeshScene(seed).text())
