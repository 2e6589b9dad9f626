"""Random scenes beside MuJoCo: every step stays finite where MuJoCo's does, and every visited state gives MuJoCo's numbers.

The scenes are those of `tests/physics`, with springs, more actuators and sensors, and with random switches and budgets. Numbers
are judged as a conformance report judges them: entry by entry, by MuJoCo's own spread where they are off by more than a
tolerance.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance import tolerances
from kinetree.conformance.compare import Pair, quiet
from kinetree.conformance.constrained import CONTACT_LAYERS, by_iteration, counts
from kinetree.conformance.layer import Along, Layer, plain
from kinetree.conformance.smooth import MOVED, SOLVED
from kinetree.conformance.states import STATE_FIELDS, copy_state
from kinetree.dynamics.actuation import MAX_VALUE
from tests.physics.mesh_scene import MeshScene
from tests.physics.random_scene import Scene, spread_joints

SCENES, VISITS, APART = 4, 8, 25  # scenes of a case, states of each that are compared, steps between two of them
RUNS = 20  # of MuJoCo from starts a hair away, where our step warns and its own does not
SAME = 1e-8  # contacts that are this close, and in the same order, must lead to the same motion
ACTUATORS = (
    '<position joint="{joint}" kp="{big}" dampratio="1"/>', '<velocity joint="{joint}" kv="{small}"/>',
    '<motor joint="{joint}" ctrllimited="true" ctrlrange="-.5 .4" forcelimited="true" forcerange="-.2 .3"/>',
    '<intvelocity joint="{joint}" kp="{big}" actrange="-1 1"/>', '<damper joint="{joint}" kv="{small}" ctrlrange="0 1"/>',
    '<general joint="{joint}" dyntype="filterexact" dynprm="{small}" gainprm="2" biastype="affine" biasprm=".1 -1 -.1"/>',
    '<general joint="{joint}" dyntype="filter" dynprm="{small}" actearly="true" gear="{small}"/>',
    '<muscle joint="{joint}" lengthrange="-1 1" force="{big}"/>', '<cylinder joint="{joint}" timeconst="{small}"/>',
    '<general site="{site}" gear="1 0 .5 0 .2 0" biastype="affine" biasprm="0 0 -.1"/>',
    '<adhesion body="{body}" ctrlrange="0 1" gain="{small}"/>',
    '<general body="{body}" biastype="affine" biasprm="0 0 -{big}"/>',
)  # fmt: skip
SENSORS = (
    '<jointpos joint="{joint}"/>', '<jointvel joint="{joint}"/>', '<jointactuatorfrc joint="{joint}"/>',
    '<accelerometer site="{site}"/>', '<velocimeter site="{site}"/>', '<gyro site="{site}"/>', '<force site="{site}"/>',
    '<torque site="{site}"/>', '<magnetometer site="{site}"/>', '<touch site="{site}"/>', '<rangefinder site="{site}"/>',
    '<framepos objtype="site" objname="{site}" reftype="body" refname="{body}"/>', '<clock/>',
    '<framequat objtype="body" objname="{body}"/>',
    '<framelinvel objtype="site" objname="{site}" reftype="body" refname="{body}"/>', '<e_kinetic/>',
    '<frameangvel objtype="xbody" objname="{body}"/>', '<framelinacc objtype="body" objname="{body}"/>', '<e_potential/>',
    '<frameangacc objtype="site" objname="{site}"/>', '<subtreecom body="{body}"/>', '<subtreelinvel body="{body}"/>',
    '<subtreeangmom body="{body}"/>', '<contact body1="{body}" num="2" data="found force dist"/>',
)  # fmt: skip
SWITCHES = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl", "warmstart",
    "actuation", "refsafe", "eulerdamp", "island",
)  # fmt: skip


class More(Scene):
    """What scenes of `tests/physics` lack, written with their random numbers."""

    def joint(self, name: str, last: bool) -> str:
        """Some joints have springs."""
        spring = f' stiffness="{self.numbers(0, 5)}"/>' if self.chance(0.3) else "/>"
        return super().joint(name, last).removesuffix("/>") + spring

    def flags(self) -> str:
        """More switches; no attribute may come twice."""
        taken = super().flags()
        more = [f'{name}="disable"' for name in SWITCHES if self.chance(0.04) and name not in taken]
        return " ".join([taken, *more, 'fwdinv="enable"' if self.chance(0.1) else ""])

    def filled(self, templates: tuple[str, ...], p: float) -> str:
        """Some of the templates, for elements that the scene has."""
        out = ""
        for template in templates:
            names = {"joint": self.scalars, "site": self.sites, "body": self.bodies}
            if self.chance(p) and all(names[kind] for kind in names if f"{{{kind}}}" in template):
                chosen = {kind: self.pick(tuple(found)) for kind, found in names.items() if found}
                out += template.format(**chosen, small=self.numbers(0.05, 1), big=self.numbers(1, 20))
        return out

    def text(self) -> str:
        """The scene with actuators, sensors, a medium and budgets of the solver."""
        out = super().text()
        actuators, sensors = self.filled(ACTUATORS, 0.3), self.filled(SENSORS, 0.4)
        options = f'density="{self.numbers(0, 5)}" wind="{self.numbers(-1, 1, 3)}"' if self.chance(0.2) else ""
        if self.chance(0.4):
            options += f' iterations="{self.rng.integers(1, 30)}" ls_iterations="{self.rng.integers(1, 20)}"'
        more = f"<option {options}/><actuator>{actuators}</actuator><sensor>{sensors}</sensor>"
        return out.replace("</mujoco>", more + "</mujoco>")


class Apart(More, Scene):
    """Scenes in which contact bits keep shapes apart that only iterations can tell of."""


class Heap(More, MeshScene):
    """Scenes in which everything meets everything."""


KINDS = {"apart": Apart, "heap": Heap}
GEOMETRY = tuple(dataclasses.replace(layer, prepare=None) for layer in CONTACT_LAYERS[:2])
FORWARD = Layer(
    "forward",
    tolerances.AS_SHIPPED,
    kt.forward,
    mujoco.mj_forward,
    (
        *counts("ncon", "nefc", "nisland"), *SOLVED, *plain("efc_force", along=Along.ROWS),
        *plain("qfrc_passive", "qfrc_actuator", "qfrc_bias", unit="joint force"), *plain("actuator_force", "act_dot"),
        *plain("sensordata", along=Along.READINGS, unit="1"),
    ),
)  # fmt: skip
STEP = Layer("step", tolerances.AS_SHIPPED, kt.step, mujoco.mj_step, MOVED)


class Beside:
    """One scene on both sides."""

    def __init__(self, kind: str, seed: int):
        mj = mujoco.MjModel.from_xml_string(KINDS[kind](seed).text())
        self.what, self.rng = f"{kind} {seed}", np.random.default_rng(seed)
        self.pair = Pair.of(mj)
        self.model = kt.load(mj)
        self.data = kt.Data(self.model)
        self.judged = self.undecided = 0
        # With a sparse Jacobian MuJoCo's Newton may run to its limit where branches of a tree are joined and hold other trees.
        self.pair.theirs_model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        spread_joints(mj, self.data.qpos, self.rng)

    def hand_over(self, target: mujoco.MjData) -> None:
        """Put MuJoCo into our state."""
        mujoco.mj_resetData(self.pair.theirs_model, target)
        target.time = self.data.time
        for name in STATE_FIELDS:
            getattr(target, name)[...] = getattr(self.data, name)

    def move(self, steps: int) -> None:
        """Steps under random controls. All is finite; a warning is one of MuJoCo's too."""
        for _ in range(steps):
            self.data.ctrl[:] = self.rng.uniform(-1, 1, self.model.nu)
            self.hand_over(self.pair.theirs)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kt.step(self.model, self.data)
            told = [w for w in caught if issubclass(w.category, kt.SimulationWarning)]
            assert not told or self.warns(), f"{self.what}: {told[0].message}, but MuJoCo goes on"
            for name in ("qpos", "qvel", "qacc", "efc_force", "qfrc_constraint", "sensordata"):
                assert np.isfinite(getattr(self.data, name)).all(), f"{self.what}: {name}"

    def warns(self) -> bool:
        """Whether MuJoCo warns in a step from its state, or from one a hair away."""
        mj, start = self.pair.theirs_model, self.pair.theirs
        with quiet():
            for run in range(RUNS):
                data = mujoco.MjData(mj)
                copy_state(start, data)
                data.qvel[:] *= 1.0 + (run > 0) * tolerances.HAIR * self.rng.normal(size=mj.nv)
                mujoco.mj_step(mj, data)
                if data.warning.number.any():
                    return True
        return False

    def compare(self) -> None:
        """What both sides make of the state that we are in: contacts; if these are the same, forces and the next state."""
        pair = self.pair
        with quiet():
            if max(np.abs(getattr(self.data, name)).max(initial=0.0) for name in ("qpos", "qvel")) > MAX_VALUE:
                self.judge(STEP)  # a state that went bad: both reset it, and nothing else of it has a meaning
                return
            for layer in GEOMETRY:
                self.judge(layer)
            if not self.same_contacts():
                return
            self.judge(FORWARD)
            curved = (
                pair.ours_model.opt.integrator == kt.Integrator.RK4 and by_iteration(pair.ours_model, pair.ours).size
            )
            if not curved:  # whose substeps have contacts of their own
                self.judge(STEP)

    def judge(self, layer: Layer) -> None:
        """Every entry of a layer agrees with MuJoCo's, or is one that MuJoCo does not decide."""
        self.hand_over(self.pair.theirs)
        self.pair.ours.reset()
        copy_state(self.pair.theirs, self.pair.ours)
        _, results, _ = self.pair.judge(layer, np.random.default_rng(0), title=self.what)
        for result in results:
            assert not result.differs, str(result)
            self.judged += result.entries
            self.undecided += result.undecided_entries

    def same_contacts(self) -> bool:
        """Whether contacts are the same to many digits and in the same order, which dual solvers follow."""
        ours, theirs = self.pair.ours.contact, self.pair.theirs.contact
        if not np.array_equal(np.reshape(ours.geom, (-1, 2)), np.reshape(theirs.geom, (-1, 2))):
            return False
        return all(
            np.abs(np.ravel(getattr(ours, name)) - np.ravel(getattr(theirs, name))).max(initial=0.0) <= SAME
            for name in ("pos", "frame", "dist")
        )


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Scenes one after the other, each moved and compared in turn."""
    yield "from tests.fuzz.scenes import Beside"
    for _ in range(SCENES):
        yield f"run = Beside({str(rng.choice(list(KINDS)))!r}, {rng.integers(1 << 31)})"
        for _ in range(VISITS):
            yield f"run.move({rng.integers(1, APART)})"
            yield "run.compare()"
