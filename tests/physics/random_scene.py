"""Random scenes with everything that constrains: shapes of all kinds, trees, limits, equalities, tendons, options."""

from __future__ import annotations

import mujoco
import numpy as np

import kinetree as kt
from tests.geometry.scenes import BITS, vertices

SHAPES = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")
JOINTS = ("hinge", "hinge", "slide", "ball")
INTEGRATORS = ("Euler", "implicitfast", "implicit", "RK4")
SOLVERS = ("Newton", "Newton", "CG", "PGS")


class Scene:
    """Writes the MJCF of one scene."""

    bits = BITS

    def __init__(self, seed: int):
        self.rng, self.seed = np.random.default_rng(seed), seed
        self.bodies: list[str] = []
        self.sites: list[str] = []
        self.scalars: list[str] = []  # hinge and slide joints

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def numbers(self, low: float, high: float, n: int = 1) -> str:
        return " ".join(f"{x:.5g}" for x in self.rng.uniform(low, high, n))

    def pick(self, choices: tuple[str, ...]) -> str:
        return str(self.rng.choice(choices))

    def softness(self, end: str = "") -> str:
        """solref in the standard or the direct form, and solimp."""
        out = ""
        if self.chance(0.3):
            direct = f"{-self.rng.uniform(200, 2000):.5g} {-self.rng.uniform(10, 60):.5g}"
            standard = f"{self.numbers(0.01, 0.05)} {self.numbers(0.6, 1.5)}"
            out += f' solref{end}="{direct if self.chance(0.4) else standard}"'
        if self.chance(0.3):
            imp = [self.numbers(0.5, 0.9), self.numbers(0.9, 0.97), self.numbers(0.001, 0.02), self.numbers(0.2, 0.8)]
            out += f' solimp{end}="{" ".join(imp)} {self.rng.integers(1, 4)}"'
        return out

    def assets(self) -> str:
        """The meshes of the scene."""
        return f'<mesh name="shape" vertex="{vertices(12, self.seed)}"/>'

    def mesh(self) -> str:
        """The name of one of them."""
        return "shape"

    def geom(self, shape: str, place: str = "0 0 0") -> str:
        """One geom of random size and contact parameters; bits say which of them meet."""
        sizes = {
            "sphere": self.numbers(0.05, 0.12), "capsule": self.numbers(0.04, 0.1, 2), "cylinder": self.numbers(0.05, 0.1, 2),
            "box": self.numbers(0.04, 0.12, 3), "ellipsoid": self.numbers(0.05, 0.12, 3),
        }  # fmt: skip
        form = f'mesh="{self.mesh()}"' if shape == "mesh" else f'size="{sizes[shape]}"'
        out = f'<geom type="{shape}" {form} {self.bits[shape]} pos="{place}" condim="{self.rng.choice([1, 3, 4, 6])}"'
        out += f' friction="{self.numbers(0, 1.2)} {self.numbers(0, 0.05)} {self.numbers(0, 0.01)}"' + self.softness()
        for attribute, value, p in (
            ("margin", self.numbers(0, 0.02), 0.2), ("gap", self.numbers(0, 0.02), 0.2), ("solmix", self.numbers(0, 3), 0.2),
            ("priority", str(self.rng.integers(-1, 2)), 0.2), ("adhesion", self.numbers(0, 2), 0.1),
            ("surfacevel", self.numbers(-1, 1, 6), 0.1),
        ):  # fmt: skip
            out += f' {attribute}="{value}"' if self.chance(p) else ""
        turn = f'euler="{self.numbers(0, 180, 3)}"' if self.chance(0.5) else ""
        return f"{out} {turn}/>"

    def joint(self, name: str, last: bool) -> str:
        """One joint; no rotation may follow a ball."""
        kind = self.pick(JOINTS if last else JOINTS[:-1])
        out = f'<joint name="{name}" type="{kind}" damping="{self.numbers(0, 0.5)}" armature="{self.numbers(0, 0.05)}"'
        if kind != "ball":
            out += f' axis="{self.numbers(-1, 1, 3)}"'
            self.scalars.append(name)
        if self.chance(0.5):
            out += f' frictionloss="{self.numbers(0, 0.5)}"' + self.softness("friction")
        if self.chance(0.6):
            low, high = {"hinge": (-60, 50), "slide": (-0.2, 0.1), "ball": (0, 50)}[kind]
            out += f' limited="true" range="{low} {high}" margin="{self.numbers(0, 0.02)}"' + self.softness("limit")
        return out + "/>"

    def tree(self, name: str, depth: int) -> str:
        """A body with joints, geoms, a site and children."""
        self.bodies.append(name)
        self.sites.append(f"s{name}")
        joints = self.rng.integers(1, 3)
        inside = "".join(self.joint(f"j{name}{k}", k == joints - 1) for k in range(joints))
        inside += self.geom(self.pick(SHAPES[:3]), self.numbers(0.04, 0.1, 3))  # no joint at a centre of mass
        inside += f'<site name="s{name}" pos="{self.numbers(-0.1, 0.1, 3)}"/>'
        for k in range(self.rng.integers(1, 3) if depth else 0):
            inside += self.tree(f"{name}{k}", depth - 1)
        return f'<body name="{name}" pos="{self.numbers(0.12, 0.2, 3)}">{inside}</body>'

    def loose(self, name: str, place: np.ndarray) -> str:
        """A free body of one or two geoms."""
        self.bodies.append(name)
        self.sites.append(f"s{name}")
        inside = "".join(self.geom(self.pick(SHAPES)) for _ in range(self.rng.integers(1, 3)))
        where = " ".join(f"{x:.4f}" for x in place)
        site = f'<site name="s{name}" pos="{self.numbers(-0.05, 0.05, 3)}"/>'
        return f'<body name="{name}" pos="{where}" euler="{self.numbers(0, 180, 3)}"><freejoint/>{inside}{site}</body>'

    def world(self) -> str:
        """A floor, perhaps walls and a step, trees that hang above it, and loose bodies in cells of a grid."""
        rng = self.rng
        out = f'<geom name="floor" type="plane" size="3 3 1" {BITS["plane"]} condim="{rng.choice([1, 3, 4, 6])}"/>'
        for k in range(rng.integers(0, 3)):
            turn, x = ("0 60 0", -1.2) if k else ("0 -60 0", 1.2)
            out += f'<geom type="plane" size="3 3 1" {BITS["plane"]} pos="{x} 0 0" euler="{turn}"/>'
        if self.chance(0.5):
            out += f'<geom type="box" size=".3 .2 .1" {BITS["box"]} pos="{self.numbers(-0.5, 0.5, 2)} 0"/>'
        for k in range(rng.integers(0, 3)):
            out += f'<body pos="{self.numbers(-0.6, 0.6, 2)} 0.7">{self.tree(f"t{k}", 1)}</body>'
        cells = rng.permutation(27)[: rng.integers(1, 7)]
        for k, cell in enumerate(cells):
            place = np.array([cell // 9 - 1, cell // 3 % 3 - 1, 0.5 + cell % 3]) * 0.25 + rng.uniform(-0.05, 0.05, 3)
            out += self.loose(f"b{k}", place)
        return out

    def tendons(self) -> tuple[str, list[str]]:
        """Tendons over joints and between sites; their MJCF and names."""
        names, out = [], ""
        for k in range(self.rng.integers(0, 3)):
            fixed = len(self.scalars) > 1 and self.chance(0.5)
            if not fixed and len(self.sites) < 2:
                continue
            kind, part = ("fixed", "joint") if fixed else ("spatial", "site")
            extra = f' frictionloss="{self.numbers(0, 0.5)}"' + self.softness("friction") if self.chance(0.5) else ""
            if self.chance(0.6):
                low = self.numbers(-0.3, 0) if fixed else self.numbers(0.1, 0.3)
                extra += f' limited="true" range="{low} {self.numbers(0.4, 0.6)}" margin="{self.numbers(0, 0.02)}"'
                extra += self.softness("limit")
            path = "".join(
                f'<{part} {part}="{name}" {f"coef={chr(34)}{self.numbers(-1, 1)}{chr(34)}" if fixed else ""}/>'
                for name in self.rng.choice(self.scalars if fixed else self.sites, 2, replace=False)
            )
            out += f'<{kind} name="f{k}"{extra}>{path}</{kind}>'
            names.append(f"f{k}")
        return out, names

    def equalities(self, tendons: list[str]) -> str:
        """Equalities of every type, some of them not active."""
        out = ""
        for _ in range(self.rng.integers(0, 4)):
            kind, rest = self.rng.integers(5), self.softness() + (' active="false"' if self.chance(0.2) else "")
            poly = f'polycoef="{self.numbers(-0.1, 0.1)} {self.numbers(-1, 1)} {self.numbers(-0.3, 0.3, 3)}"'
            if kind == 0:
                first, second = self.rng.choice(self.bodies), self.rng.choice(self.bodies)
                other = f'body2="{second}"' if first != second else ""
                out += f'<connect body1="{first}" {other} anchor="{self.numbers(-0.1, 0.1, 3)}" {rest}/>'
            elif kind == 1:
                out += f'<weld body1="{self.rng.choice(self.bodies)}" torquescale="{self.numbers(0.2, 2)}" {rest}/>'
            elif kind == 2 and len(self.scalars) > 1:
                first, second = self.rng.choice(self.scalars, 2, replace=False)
                other = f'joint2="{second}"' if self.chance(0.7) else ""
                out += f'<joint joint1="{first}" {other} {poly} {rest}/>'
            elif kind == 3 and tendons:
                other = f'tendon2="{tendons[1]}"' if len(tendons) > 1 else ""
                out += f'<tendon tendon1="{tendons[0]}" {other} {poly} {rest}/>'
            elif kind == 4 and len(self.sites) > 1:
                first, second = self.rng.choice(self.sites, 2, replace=False)
                out += f'<connect site1="{first}" site2="{second}" {rest}/>'
        return out

    def flags(self) -> str:
        """Switches of the model."""
        bits = (("diagexact", "enable", 0.2), ("override", "enable", 0.1), ("warmstart", "disable", 0.2),
                ("refsafe", "disable", 0.05),
                ("filterparent", "disable", 0.1), ("midphase", "disable", 0.2), ("energy", "enable", 0.3))  # fmt: skip
        return " ".join(f'{name}="{value}"' for name, value, p in bits if self.chance(p))

    def text(self) -> str:
        """The whole scene."""
        world = self.world()
        tendon, names = self.tendons()
        equality = self.equalities(names)
        motors = "".join(
            f'<motor joint="{j}" gear="{self.numbers(0.2, 2)}"/>' for j in self.scalars if self.chance(0.5)
        )
        flags = self.flags()
        noslip = f'noslip_iterations="{self.rng.integers(1, 5)}"' if self.chance(0.2) else ""
        jacobian, cone = self.pick(("dense", "sparse", "auto")), self.pick(("pyramidal", "elliptic"))
        options = (
            f'timestep="{self.rng.choice([0.001, 0.002, 0.003])}" cone="{cone}" jacobian="{jacobian}" {noslip} '
            f'solver="{self.pick(SOLVERS)}" integrator="{self.pick(INTEGRATORS)}" impratio="{self.rng.choice([1, 1, 3, 0.5])}"'
        )
        return (
            f'<mujoco model="scene {self.seed}"><option {options}><flag {flags}/></option>'
            f"<asset>{self.assets()}</asset>"
            f"<worldbody>{world}</worldbody><tendon>{tendon}</tendon><equality>{equality}</equality>"
            f"<actuator>{motors}</actuator></mujoco>"
        )


def random_scene(seed: int) -> mujoco.MjModel:
    """The compiled scene of a seed, islands off: MuJoCo then solves all rows at once, as we do."""
    mj = mujoco.MjModel.from_xml_string(Scene(seed).text())
    mj.opt.disableflags |= kt.DisableBit.ISLAND
    return mj


def spread_joints(mj: mujoco.MjModel, qpos: np.ndarray, rng: np.random.Generator) -> None:
    """Put hinges and slides anywhere in their range, a tenth beyond it included."""
    for joint in np.flatnonzero(mj.jnt_limited & (mj.jnt_type >= kt.types.JointType.SLIDE)):
        low, high = mj.jnt_range[joint]
        qpos[mj.jnt_qposadr[joint]] = low + (high - low) * rng.uniform(-0.1, 1.1)
