"""The same model and state in kinetree and in MuJoCo, the same call on both, and what a test may compare afterwards."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import mujoco
import numpy as np

import kinetree as kt
from kinetree.conformance import convert
from kinetree.conformance.states import copy_state, random_state
from kinetree.data import FLOAT_STAGES
from kinetree.kernel import JIT, float_machine
from tests.trees import random_tree

FLAGS = ("flg_energypos", "flg_energyvel", "flg_subtreevel", "flg_rnepost")
PASSES = {  # flag -> fields of its pass
    "flg_energypos": ("energy",),
    "flg_energyvel": ("energy",),
    "flg_subtreevel": ("subtree_linvel", "subtree_angmom"),
    "flg_rnepost": ("cacc", "cfrc_int", "cfrc_ext"),
}
ALL_LAZY = [name for names in PASSES.values() for name in names if name != "energy"] + ["energy"]
FORCE_FIELDS = ("cfrc_int", "cfrc_ext")
INTEGRATORS = (kt.Integrator.EULER, kt.Integrator.RK4, kt.Integrator.IMPLICIT, kt.Integrator.IMPLICITFAST)
SENSOR, ENERGY = int(kt.DisableBit.SENSOR), int(kt.EnableBit.ENERGY)
SUBTREE = '<subtreelinvel body="b2"/><subtreeangmom body="b3"/>'
FORCES = '<accelerometer site="s2"/><force site="s3"/>'
FRAME_ACC = '<framelinacc objtype="site" objname="s1"/><frameangacc objtype="body" objname="b2"/>'
ENERGIES = "<e_potential/><e_kinetic/>"
HARMLESS = '<framepos objtype="site" objname="s2"/><gyro site="s3"/><subtreecom body="b2"/><clock/>'
PASS_OF = {
    "flg_energypos": kt.energy_pos,
    "flg_energyvel": kt.energy_vel,
    "flg_subtreevel": kt.subtree_vel,
    "flg_rnepost": kt.rne_post_constraint,
}
TREE = 4  # a random tree whose bodies all move


class Both(NamedTuple):
    """A model and a state on both sides."""

    mj: mujoco.MjModel
    theirs: mujoco.MjData
    model: kt.Model
    ours: kt.Data

    def flags(self) -> tuple[dict[str, bool], dict[str, bool]]:
        """Our four flags and theirs."""
        return {f: bool(getattr(self.ours, f)) for f in FLAGS}, {f: bool(getattr(self.theirs, f)) for f in FLAGS}

    def same_flags(self, note: str) -> None:
        """All four flags agree."""
        ours, theirs = self.flags()
        assert ours == theirs, f"{self.model.title}: {note}: ours {ours}, MuJoCo's {theirs}"

    def state_from(self, change: Callable[[Any], None]) -> None:
        """The same change of the state on both sides."""
        change(self.ours)
        change(self.theirs)

    def same(self, names: tuple[str, ...], tolerance: float, note: str = "") -> None:
        """Fields agree, MuJoCo's moved to our reference point where they need it."""
        for name in names:
            close(getattr(self.ours, name), self.wanted(name), tolerance, f"{self.model.title} {note} {name}")

    def wanted(self, name: str) -> np.ndarray:
        """A field of MuJoCo's as ours should be; the world's row of cfrc_int mixes points in MuJoCo and is taken from us."""
        if name in ("cvel", "cacc"):
            return convert.body_motion(self.mj, self.theirs, name)
        if name in FORCE_FIELDS:
            moved = convert.body_force(self.mj, self.theirs, name)
            moved[0] = getattr(self.ours, name)[0]
            return moved
        return np.asarray(getattr(self.theirs, name), float)


def both(source: Any, seed: int | None = 0, disable: int = 0, enable: int = 0, **options: Any) -> Both:
    """Both sides without constraints, in a random state, or in the initial one if there is no seed."""
    mj = source if isinstance(source, mujoco.MjModel) else mujoco.MjModel.from_xml_string(source)
    mj.opt.disableflags |= int(kt.DisableBit.CONSTRAINT) | disable
    mj.opt.enableflags |= enable
    for name, value in options.items():
        setattr(mj.opt, name, value)
    model = kt.load(mj)
    theirs, ours = mujoco.MjData(mj), kt.Data(model)
    if seed is not None:
        random_state(mj, np.random.default_rng(seed), theirs)
        copy_state(theirs, ours)
    return Both(mj, theirs, model, ours)


def load(source: str, **options: Any) -> tuple[kt.Model, kt.Data]:
    """Our side alone, without constraints, in the initial state."""
    model = kt.load(source)
    model.opt.disableflags |= kt.DisableBit.CONSTRAINT
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model, kt.Data(model)


def close(got: Any, wanted: Any, tolerance: float, what: str) -> None:
    """Two arrays agree within a tolerance relative to the larger of 1 and the largest value."""
    got, wanted = np.asarray(got, float), np.asarray(wanted, float)
    assert got.shape == wanted.shape, f"{what}: shape {got.shape} against {wanted.shape}"
    if wanted.size:
        error = np.abs(got - wanted) / max(1.0, np.abs(wanted).max())
        at = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        assert error[at] <= tolerance, f"{what}{[int(i) for i in at]}: {got[at]} against {wanted[at]}"


def sensing(seed: int, sensors: str, nbody: int = 8, extra: str = "", **arguments: Any) -> str:
    """A random tree with sensors; its bodies are b1.., its sites s1.., the world's site `world`."""
    tree = random_tree(seed, nbody, **arguments)
    return tree.replace("</worldbody></mujoco>", f"</worldbody>{extra}<sensor>{sensors}</sensor></mujoco>")


def reading(model: kt.Model, data: kt.Data, sensor: str | int) -> np.ndarray:
    """The numbers of one sensor."""
    i = model.id("sensor", sensor)
    return data.sensordata[model.sensor_adr[i] : model.sensor_adr[i] + model.sensor_dim[i]].copy()


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warning about what this version leaves out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.SimulationWarning)
        yield


def tree(sensors: str, seed: int | None = 1, **options) -> Both:
    """A random tree with sensors on both sides, in a random state of moderate speed."""
    return both(sensing(TREE, sensors, nbody=5, massless=0.0), seed, **options)


def run(pair: Both, ours, theirs, *arguments) -> None:
    """The same call on both sides."""
    with quietly():
        ours(pair.model, pair.ours, *arguments)
    theirs(pair.mj, pair.theirs, *(int(a) for a in arguments))


def raise_all(pair: Both) -> None:
    """All four passes by hand."""
    for ours, theirs in zip(
        PASS_OF.values(), ("EnergyPos", "EnergyVel", "SubtreeVel", "RnePostConstraint"), strict=True
    ):
        run(pair, ours, getattr(mujoco, f"mj_{theirs[0].lower()}{theirs[1:]}"))
    assert all(pair.flags()[0].values())


# counting how often a stage runs


@contextmanager
def counted(stage: Any) -> Iterator[list[int]]:
    """Count how often other stages run this one: a list of one number.

    Compiled stages call each other through a table of addresses: the entry of this stage is replaced by a function that
    counts and passes the call on; everything must have run once before, or a first compile would write the table anew.
    Without machine code Python's own profile hook sees the calls.
    """
    count = [0]
    if not JIT:
        code = getattr(stage.kernel, "py_func", stage.kernel).__code__

        def hook(frame: Any, event: str, argument: Any) -> None:
            count[0] += event == "call" and frame.f_code is code

        sys.setprofile(hook)
        try:
            yield count
        finally:
            sys.setprofile(None)
        return
    stage.compile_for(float_machine())
    signature = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
    address = int(FLOAT_STAGES[stage.stage_index])
    original = signature(address)

    @signature
    def counting(m: int, d: int) -> None:
        count[0] += 1
        original(m, d)

    patched = ctypes.cast(counting, ctypes.c_void_p).value
    FLOAT_STAGES[stage.stage_index] = patched
    try:
        yield count
        assert FLOAT_STAGES[stage.stage_index] == patched, (
            "something was compiled meanwhile: run it once before counting"
        )
    finally:
        FLOAT_STAGES[stage.stage_index] = address
