"""Three solvers, one answer, and that is the formula's, with MuJoCo's matrices."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import STABLE_PD
from kinetree.control.choice import is_coupled
from tests.control.reference import agree, answer, controller, problem, reference
from tests.corpora import own_models
from tests.dynamics.test_aba import ACTUATORS, STAR
from tests.trees import random_tree

SOLVERS = ("dense", "sparse", "maba")
MODES = ("spd", "implicit")
JOINTS = (("free",), ("ball",), ("slide",), ("hinge",), ("hinge", "slide"), ("free", "ball", "slide", "hinge"))
NAMES = ("joints", "massless", "frames", "mocap", "passive", "actuators", "arm", "ball_humanoid", "humanoid", "quadruped",
         "tendon_finger")  # fmt: skip
FILES = {path.stem: path for _, path in own_models() if path.stem in NAMES}


def all_agree(p, tolerance=STABLE_PD, solvers=SOLVERS, **options):
    """Every solver in every mode gives the answer of the formula."""
    for mode in MODES:
        wanted = reference(p, mode, options.get("h"))
        for solver in solvers:
            spd = controller(p, mode=mode, solver=solver, **options)
            agree(answer(p, spd), wanted, tolerance, f"{p.model.title} {mode} {solver}")


@pytest.mark.parametrize("joints", JOINTS, ids="-".join)
@pytest.mark.parametrize("seed", range(5))
def test_random_trees(joints, seed):
    """Several joints on a body, branching, massless bodies; applied forces and wrenches are set in every state."""
    p = problem(random_tree(seed, nbody=10, joints=joints), seed)
    assert p.data.qfrc_applied.any() and p.data.xfrc_applied.any()
    all_agree(p)


@pytest.mark.parametrize("name", FILES)
def test_models_with_actuators_springs_and_tendons(name):
    p = problem(FILES[name], 3)
    all_agree(p, solvers=SOLVERS[:2] if is_coupled(p.model) else SOLVERS)


@pytest.mark.parametrize("seed", range(3))
def test_bodies_with_many_children(seed):
    all_agree(problem(STAR.replace("</mujoco>", ACTUATORS), seed))


def test_fast_motion_and_a_long_chain():
    all_agree(problem(random_tree(5, nbody=40, joints=("hinge", "ball")), 5, speed=10.0))


@pytest.mark.parametrize("h", [1e-3, 1 / 30])
def test_a_step_of_its_own(h):
    """h need not be the time step of the model to ask for a torque."""
    all_agree(problem(random_tree(2), 2), h=h)


def test_velocity_terms_matter():
    """A check of the test: the answer at rest is another one."""
    p = problem(random_tree(4, nbody=8), 4, speed=3.0)
    moving = answer(p, controller(p, solver="maba")).acceleration
    p.data.qvel[:] = 0.0
    assert np.abs(answer(p, controller(p, solver="maba")).acceleration - moving).max() > 1.0


def test_zero_gains_are_forward_dynamics():
    p = problem(random_tree(6), 6)
    kt.forward(p.model, p.data)
    for solver in SOLVERS:
        spd = kt.StablePD(p.model, 0.0, 0.0, solver=solver)
        assert not spd.torque(p.data).any()
        scale = max(1.0, np.abs(p.data.qacc_smooth).max())
        np.testing.assert_allclose(spd.acceleration(p.data), p.data.qacc_smooth, atol=STABLE_PD * scale)


def test_a_model_that_cannot_move():
    model = kt.load("<mujoco><worldbody><body><geom size='.1'/></body></worldbody></mujoco>")
    for solver in (*SOLVERS, "auto"):
        spd = kt.StablePD(model, 1.0, 1.0, solver=solver, torque_limit=1.0)
        assert spd.torque(kt.Data(model)).shape == spd.step(kt.Data(model)).shape == (0,)
