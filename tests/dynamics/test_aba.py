"""The articulated-body algorithm: against a solve with MuJoCo's inertia and bias, closed forms, and on every machine."""

from __future__ import annotations

from typing import Any

import casadi
import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.compare import oracle_model
from kinetree.conformance.tolerances import MACHINES
from kinetree.dynamics.aba import aba, check_aba
from kinetree.dynamics.velocity import com_vel
from kinetree.kernel import interpret, symbolic_record
from kinetree.types import DisableBit
from tests.corpora import entries
from tests.dynamics.paired import Pair, paired, same
from tests.trees import random_tree

TOLERANCE = 1e-10
JOINTS = (("free",), ("ball",), ("slide",), ("hinge",), ("hinge", "slide"), ("free", "ball", "slide", "hinge"))
ACTUATORS = """<actuator><motor joint="hinge" gear="2" armature="0.3"/><motor joint="slide" gear="-3" armature="0.1"/>
<motor joint="slide" gear="0.5" armature="0.2"/></actuator></mujoco>"""
STAR = """<mujoco model="star"><worldbody><body><joint name="hinge" axis="0 .3 1"/><geom size=".1" pos=".1 .2 0"/>
  <body pos=".2 0 .1"><joint type="ball"/><geom size=".1" pos="0 .1 .1"/></body>
  <body pos="0 .2 .1"><joint axis="1 0 .2"/><geom size=".07" pos="0 .1 .1"/>
    <body pos=".1 .2 .3"><geom size=".05"/></body>
    <body pos=".1 .1 0"><joint name="slide" type="slide" axis="1 2 0"/><geom size=".06" pos=".1 0 0"/></body></body>
  <body pos="0 0 .3"><geom size=".04"/><body pos=".1 .2 .1"><joint axis=".5 1 0"/><geom size=".08" pos="0 0 .1"/></body></body>
  <body pos=".1 .1 .1"><joint axis="0 1 0" pos=".03 0 0"/><joint axis="1 0 1"/><geom size=".09" pos="0 .1 0"/></body>
</body></worldbody></mujoco>"""


def random_pair(source: Any, seed: int, armature: float = 0.1, **options: Any) -> Pair:
    """Both sides in a random state, with random armature and a random force to respond to."""
    rng = np.random.default_rng(seed)
    mj = oracle_model(source)
    if armature:
        mj.dof_armature[:] += armature * rng.uniform(size=mj.nv)
        mujoco.mj_setConst(mj, mujoco.MjData(mj))  # MuJoCo takes the inertia of simple dofs from here
    pair = paired(mj, seed, **options)
    pair.ours.aba_force[:] = rng.normal(size=mj.nv)
    return pair


def solved(pair: Pair, diagonal: np.ndarray | float = 0.0) -> np.ndarray:
    """The acceleration by a dense solve with MuJoCo's inertia and bias."""
    inertia = np.zeros((pair.mj.nv, pair.mj.nv))
    mujoco.mj_fullM(pair.mj, pair.theirs, inertia)
    inertia[np.diag_indices(pair.mj.nv)] += diagonal
    return np.linalg.solve(inertia, pair.ours.aba_force - pair.theirs.qfrc_bias)


def responds(pair: Pair, what: str = "", diagonal: np.ndarray | float = 0.0) -> None:
    """`aba` gives the acceleration of the dense solve, whatever its scratch holds."""
    for name in ("aba_qacc", "aba_inertia", "aba_gain", "aba_own", "body_acc", "body_frc"):
        pair.ours._arrays[name][...] = np.nan
    pair.ours.aba_diagonal[:] = diagonal
    aba(pair.model, pair.ours)
    same(pair.ours.aba_qacc, solved(pair, diagonal), TOLERANCE, f"{pair.model.title} {what} qacc")


# against a dense solve


@pytest.mark.parametrize("joints", JOINTS, ids="-".join)
@pytest.mark.parametrize("seed", range(5))
def test_equals_a_dense_solve_on_random_trees(joints, seed):
    text = random_tree(seed, nbody=10, joints=joints)
    responds(random_pair(text, seed))
    responds(random_pair(text, seed, armature=0.0), "without armature")


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_equals_a_dense_solve_on_the_corpora(entry):
    mj = oracle_model(entry.source())
    pair = random_pair(mj, 1, armature=0.0)
    try:
        check_aba(pair.model)
    except kt.UnsupportedFeatureError:
        assert pair.model.ntendon
        return
    responds(pair)


@pytest.mark.parametrize("joints", JOINTS, ids="-".join)
@pytest.mark.parametrize("seed", range(3))
def test_a_diagonal_is_part_of_the_inertia(joints, seed):
    """What stable PD needs: the recursion for M + diag."""
    pair = random_pair(random_tree(seed, nbody=10, joints=joints), seed)
    diagonal = np.random.default_rng(seed).uniform(0.0, 3.0, size=pair.mj.nv)
    responds(pair, "with a diagonal", diagonal)
    responds(pair, "without it again")


def test_bodies_with_many_children():
    for seed in range(4):
        responds(random_pair(STAR, seed))


def test_actuators_lend_their_armature():
    pair = random_pair(STAR.replace("</mujoco>", ACTUATORS), 2, armature=0.0)
    assert sorted(set(pair.model.jnt_actuatorid)) == [-2, -1, 0]
    responds(pair, "with actuators")


def test_gravity_can_be_off():
    responds(random_pair(random_tree(3), 3, disable=int(DisableBit.GRAVITY)), "without gravity")


def test_fast_bodies_and_long_chains():
    responds(random_pair(random_tree(5, nbody=40, joints=("hinge", "ball")), 5, speed=20.0), "fast")


def test_a_model_that_cannot_move():
    model = kt.load("<mujoco><worldbody><body><geom size='.1'/></body></worldbody></mujoco>")
    data = kt.Data(model)
    aba(model, data)
    assert data.aba_qacc.size == 0


# closed forms


def test_a_pendulum_with_armature_and_diagonal():
    mass, arm, inertia, armature, diagonal, torque, angle = 2.0, 0.3, 0.05, 0.1, 0.7, 0.4, 0.6
    model = kt.load(
        f"""<mujoco><option gravity="0 0 -9.81"/><worldbody><body><joint axis="0 1 0" armature="{armature}"/>
        <inertial pos="0 0 {-arm}" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/></body></worldbody></mujoco>"""
    )
    data = kt.Data(model)
    data.qpos, data.qvel, data.aba_force, data.aba_diagonal = angle, 3.0, torque, diagonal
    kt.fwd_position(model, data)
    com_vel(model, data)
    aba(model, data)
    wanted = (torque - mass * 9.81 * arm * np.sin(angle)) / (inertia + mass * arm**2 + armature + diagonal)
    same(data.aba_qacc, [wanted], 1e-14, "pendulum qacc")


def test_a_free_body_falls():
    model = kt.load(
        """<mujoco><worldbody><body><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>"""
    )
    data = kt.Data(model)
    data.qpos[:] = [1.0, 2.0, 3.0, 0.5, 0.5, -0.5, 0.5]
    data.qvel[:3] = [4.0, 5.0, 6.0]
    kt.fwd_position(model, data)
    com_vel(model, data)
    aba(model, data)
    same(data.aba_qacc, [0.0, 0.0, -9.81, 0.0, 0.0, 0.0], 1e-14, "free body qacc")


# what it refuses


def test_tendon_armature_is_refused_by_name():
    kinds = ('name="own" armature="0.1"', 'armature="0.1"', 'name="lent"', 'name="light"')
    text = "".join(
        f'<fixed {kind}><joint joint="hinge" coef="1"/><joint joint="slide" coef="2"/></fixed>' for kind in kinds
    )
    model = kt.load(STAR.replace("</mujoco>", f"""<tendon>{text}</tendon><actuator><motor tendon="light"/>
        <motor tendon="lent" armature="0.2"/></actuator></mujoco>"""))  # fmt: skip
    with pytest.raises(kt.UnsupportedFeatureError, match="aba of 'star'") as error:
        check_aba(model)
    assert error.value.features == ("armature (tendon 'own')", "armature (tendon 1)", "armature (tendon 'lent')")


def test_tendons_without_armature_are_welcome():
    check_aba(kt.load(kt.models.path("tendon_finger")))
    check_aba(kt.load(kt.models.path("humanoid")))


# other machines


@pytest.mark.parametrize(("dtype", "width"), [("float64", 8), ("float64", 1), ("float32", 16)])
@pytest.mark.parametrize("source", [random_tree(2, nbody=8), STAR], ids=["tree", "star"])
def test_lanes_equal_floats(source, dtype, width):
    worlds = []
    for seed in range(width):
        pair = random_pair(source, seed, armature=0.0, speed=0.3)
        pair.ours.aba_diagonal[:] = 0.1 + 0.1 * seed
        worlds.append(pair.ours)
    model = pair.model
    worlds = [_moved(world, kt.Data(model)) for world in worlds]
    lanes = lanes_of(model, worlds, dtype)
    lanes.run(aba)
    out = kt.Data(model)
    for lane, world in enumerate(worlds):
        aba(model, world)
        lanes.store(lane, out)
        # a recursion over the tree loses more digits than one pose does
        same(out.aba_qacc, world.aba_qacc, 10 * MACHINES[dtype], f"{model.title} {dtype} x {width} lane {lane} qacc")


def _moved(source: kt.Data, target: kt.Data) -> kt.Data:
    target._restore(source._arrays.capacity, source._arrays.fixed, source._arrays.room)
    return target


def test_plain_python_equals_floats():
    pair = random_pair(random_tree(4, nbody=8), 4)
    plain = pair.ours.copy()
    interpret(aba, pair.model.record(), plain.record())
    aba(pair.model, pair.ours)
    same(plain.aba_qacc, pair.ours.aba_qacc, MACHINES["float64"], "plain Python qacc")


def test_symbols_equal_floats_and_their_slope_is_the_inverse_inertia():
    pair = random_pair(random_tree(7, nbody=4), 7)
    model, data = pair.model, pair.ours
    names = ("qpos", "qvel", "aba_force", "aba_diagonal")
    inputs = {name: casadi.SX.sym(name, getattr(data, name).size) for name in names}
    record, symbolic_model = symbolic_record(data, **inputs), symbolic_record(model)
    for stage in (kt.kinematics, kt.com_pos, com_vel, aba):
        interpret(stage, symbolic_model, record)
    qacc = casadi.vertcat(*record.aba_qacc)
    slope = casadi.jacobian(qacc, inputs["aba_force"])
    data.aba_diagonal[:] = diagonal = np.linspace(0.1, 0.5, model.nv)
    values, slopes = casadi.Function("f", [*inputs.values()], [qacc, slope])(*(getattr(data, name) for name in names))
    aba(model, data)
    same(np.asarray(values).ravel(), data.aba_qacc, 1e-12, "symbols qacc")
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(pair.mj, pair.theirs, inertia)
    same(np.asarray(slopes) @ (inertia + np.diag(diagonal)), np.eye(model.nv), TOLERANCE, "slope times inertia ")
