"""No function answers with zeros on a Data on which nothing has run: each gives what MuJoCo gives, or says what to call."""

from __future__ import annotations

import inspect

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import ENERGY, FORCE, INERTIA, KINEMATICS
from kinetree.prerequisites import PREREQUISITES

MODEL = """<mujoco><worldbody>
<geom name="floor" type="plane" size="5 5 .1"/>
<body name="base" pos=".1 .2 -.1"><freejoint name="root"/><geom name="base" size=".1" mass="2" pos="0 .01 .02"/>
<camera name="eye" pos="0 .1 .3" xyaxes="0 1 0 0 0 1"/>
<body name="arm" pos=".3 0 .1"><joint name="hinge" axis=".3 .8 .5" pos="0 .05 .02" stiffness="3" armature=".02"/>
<geom name="arm" type="capsule" size=".04" fromto="0 0 0 .2 .1 .3" mass=".7"/><site name="tip" pos=".2 .1 .3"/>
<body name="hand" pos=".2 .1 .3"><joint name="ball" type="ball"/><geom type="box" size=".05 .06 .07" mass=".4" pos=".1 0 0"/>
</body></body></body></worldbody>
<tendon><fixed name="cord" stiffness="5" springlength=".2"><joint joint="hinge" coef="1.5"/></fixed></tendon>
<actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>
<sensor><gyro site="tip" noise=".1"/></sensor></mujoco>"""
POINT, FORCE3, TORQUE = np.array([0.3, -0.2, 0.5]), np.array([1.0, -2.0, 3.0]), np.array([0.4, 0.5, -0.6])


class World:
    """The same state in kinetree, where nothing has run, and in MuJoCo, where positions and velocities have."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.model = kt.load(MODEL)
        self.mj = self.model.to_mujoco()
        self.data, self.theirs = kt.Data(self.model), mujoco.MjData(self.mj)
        mujoco.mj_integratePos(self.mj, self.theirs.qpos, 0.1 * rng.normal(size=self.mj.nv), 1.0)
        self.theirs.qvel[:] = rng.normal(size=self.mj.nv)
        self.x = rng.normal(size=self.mj.nv)
        self.data.qpos, self.data.qvel = self.theirs.qpos, self.theirs.qvel
        mujoco.mj_fwdPosition(self.mj, self.theirs)
        mujoco.mj_fwdVelocity(self.mj, self.theirs)

    def filled(self, function, *shapes, after=()):
        """What a function of MuJoCo writes into arrays of these shapes."""
        out = [np.zeros(shape) for shape in shapes]
        function(self.mj, self.theirs, *out, *after)
        return out if len(out) > 1 else out[0]

    def field(self, stage, theirs, name):
        """A field after a stage on both sides; MuJoCo's stage may take further arguments."""
        stage(self.model, self.data)
        theirs(self.mj, self.theirs)
        return getattr(self.data, name).copy(), getattr(self.theirs, name).copy()

    def dense_m(self):
        out = np.zeros((self.mj.nv, self.mj.nv))
        mujoco.mj_fullM(self.mj, self.theirs, out)
        return out

    def velocity_of(self, kind, name):
        theirs = np.zeros(6)
        code = {"site": mujoco.mjtObj.mjOBJ_SITE, "camera": mujoco.mjtObj.mjOBJ_CAMERA}[kind]
        mujoco.mj_objectVelocity(self.mj, self.theirs, code, self.model.id(kind, name), theirs, 0)
        return kt.object_velocity(self.model, self.data, kind, name), theirs

    def contact_jacobian(self):
        """Of contact 0 in its frame: the second body's point against the first's, in MuJoCo's terms."""
        contact = self.theirs.contact[0]
        frame, out = contact.frame.reshape(3, 3), np.zeros((6, self.mj.nv))
        for sign, geom in zip((-1.0, 1.0), contact.geom, strict=True):
            body = self.mj.geom_bodyid[geom]
            jacp, jacr = self.filled(mujoco.mj_jac, (3, self.mj.nv), (3, self.mj.nv), after=(contact.pos, body))
            out += sign * np.vstack((frame @ jacp, frame @ jacr))
        return np.vstack(kt.jac_contact(self.model, self.data, 0)), out

    def solved(self):
        theirs = np.zeros((1, self.mj.nv))
        mujoco.mj_solveM(self.mj, self.theirs, theirs, self.x[None])
        return kt.solve_m(self.model, self.data, self.x), theirs[0]

    def accelerated(self):
        return kt.aba(self.model, self.data, self.x), np.linalg.solve(self.dense_m(), self.x - self.theirs.qfrc_bias)

    def wrench(self):
        theirs = np.zeros(self.mj.nv)
        mujoco.mj_applyFT(self.mj, self.theirs, FORCE3, TORQUE, POINT, 2, theirs)
        return kt.apply_ft(self.model, self.data, FORCE3, TORQUE, POINT, 2), theirs

    def placed(self):
        pos, mat, quat = np.zeros(3), np.zeros(9), np.array([0.5, 0.5, -0.5, 0.5])
        mujoco.mj_local2Global(self.theirs, pos, mat, POINT, quat, 2, 0)
        return np.concatenate(kt.local_to_global(self.model, self.data, POINT, quat, 2)), np.concatenate((pos, mat))


def pair(ours, theirs, *after):
    """Both Jacobians of a point or element."""

    def act(w):
        got = ours(w.model, w.data, *after)
        return np.vstack(got), np.vstack(w.filled(theirs, (3, w.mj.nv), (3, w.mj.nv), after=after))

    return act


def one(ours, theirs, body):
    """One matrix of a subtree."""
    return lambda w: (ours(w.model, w.data, body), w.filled(theirs, (3, w.mj.nv), after=(body,)))


ANSWERS = {  # name -> ours and theirs, tolerance
    "local_to_global": (World.placed, KINEMATICS),
    "jac": (pair(kt.jac, mujoco.mj_jac, POINT, 3), KINEMATICS),
    "jac_body": (pair(kt.jac_body, mujoco.mj_jacBody, 3), KINEMATICS),
    "jac_body_com": (pair(kt.jac_body_com, mujoco.mj_jacBodyCom, 3), KINEMATICS),
    "jac_geom": (pair(kt.jac_geom, mujoco.mj_jacGeom, 2), KINEMATICS),
    "jac_site": (pair(kt.jac_site, mujoco.mj_jacSite, 0), KINEMATICS),
    "jac_subtree_com": (one(kt.jac_subtree_com, mujoco.mj_jacSubtreeCom, 1), INERTIA),
    "angmom_mat": (one(kt.angmom_mat, mujoco.mj_angmomMat, 1), INERTIA),
    "apply_ft": (World.wrench, FORCE),
    "jac_contact": (World.contact_jacobian, KINEMATICS),
    "jac_dot": (pair(kt.jac_dot, mujoco.mj_jacDot, POINT, 3), FORCE),
    "object_velocity": (lambda w: w.velocity_of("site", "tip"), FORCE),
    "object_velocity of a camera": (lambda w: w.velocity_of("camera", "eye"), FORCE),
    "subtree_vel": (lambda w: w.field(kt.subtree_vel, mujoco.mj_subtreeVel, "subtree_angmom"), FORCE),
    "rne": (lambda w: (kt.rne(w.model, w.data), w.filled(lambda m, d, y: mujoco.mj_rne(m, d, 0, y), w.mj.nv)), FORCE),
    "aba": (World.accelerated, 1e-9),
    "full_m": (lambda w: (kt.full_m(w.model, w.data), w.dense_m()), INERTIA),
    "mul_m": (lambda w: (kt.mul_m(w.model, w.data, w.x), w.filled(mujoco.mj_mulM, w.mj.nv, after=(w.x,))), INERTIA),
    "solve_m": (World.solved, 1e-9),
    "energy_pos": (lambda w: w.field(kt.energy_pos, mujoco.mj_energyPos, "energy"), ENERGY),
    "energy_vel": (lambda w: w.field(kt.energy_vel, mujoco.mj_energyVel, "energy"), ENERGY),
}  # fmt: skip
RNG = np.random.default_rng(0)
ERRORS = {  # name -> call, what to call first
    "aba without force": (lambda m, d: kt.aba(m, d), "kt.forward"),
    "contact_force": (lambda m, d: kt.contact_force(m, d, 0), "kt.forward"),
    "contact_forces": (lambda m, d: kt.contact_forces(m, d), "kt.forward"),
    "object_acceleration": (lambda m, d: kt.object_acceleration(m, d, "body", 1), "kt.forward"),
    "rne_post_constraint": (lambda m, d: kt.rne_post_constraint(m, d), "kt.forward"),
    "compare_fwd_inv": (lambda m, d: kt.compare_fwd_inv(m, d), "kt.forward"),
    "add_sensor_noise": (lambda m, d: kt.add_sensor_noise(m, d, RNG), "kt.forward"),
    "step2": (lambda m, d: kt.step2(m, d), "kt.step1"),
    "forward_skip after POS": (lambda m, d: kt.forward_skip(m, d, kt.Stage.POS), "kt.fwd_position"),
    "forward_skip after VEL": (lambda m, d: kt.forward_skip(m, d, kt.Stage.VEL), "kt.fwd_velocity"),
    "inverse_skip after POS": (lambda m, d: kt.inverse_skip(m, d, kt.Stage.POS), "kt.fwd_position"),
    "inverse_skip after VEL": (lambda m, d: kt.inverse_skip(m, d, kt.Stage.VEL), "kt.fwd_velocity"),
    "ray": (lambda m, d: kt.ray(m, d, [0, 0, 1], [0, 0, -1]), "kt.kinematics"),
    "multi_ray": (lambda m, d: kt.multi_ray(m, d, [0, 0, 1], [[0, 0, -1]]), "kt.kinematics"),
    "geom_distance": (lambda m, d: kt.geom_distance(m, d, 0, 1), "kt.kinematics"),
}
WHOLE = (
    "forward",
    "inverse",
    "step",
    "step1",
    "forward_skip",
    "inverse_skip",
    "set_const",
)  # they need nothing, or run it


@pytest.mark.parametrize("name", ANSWERS)
def test_where_nothing_has_run_the_answer_is_mujocos(name):
    answer, tolerance = ANSWERS[name]
    world = World()
    ours, theirs = answer(world)
    assert np.any(theirs), "a test for zeros needs an answer that is none"
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=tolerance * max(1.0, np.abs(theirs).max()), err_msg=name)


@pytest.mark.parametrize("name", ERRORS)
def test_where_nothing_has_run_the_error_says_what_to_call(name):
    world = World()
    call, first = ERRORS[name]
    with pytest.raises(ValueError, match=first):
        call(world.model, world.data)
    kt.forward(world.model, world.data)
    call(world.model, world.data)
    world.data.reset()
    with pytest.raises(ValueError, match=first):
        call(world.model, world.data)


def test_every_function_of_a_model_and_its_data_has_a_line():
    named = {name: getattr(kt, name) for name in kt.__all__}
    functions = {
        name
        for name, f in named.items()
        if inspect.isfunction(f) and [*inspect.signature(f).parameters][:2] == ["model", "data"]
    }
    tried = {*ANSWERS, *ERRORS}
    steps = {name for name in functions if hasattr(named[name], "stage_index") and name not in PREREQUISITES}
    assert functions - steps - set(WHOLE) == {name for name in tried if " " not in name}
    assert set(PREREQUISITES) <= tried
    assert not steps & tried


def test_a_stage_that_has_run_is_not_run_again():
    """Where positions have moved on since, the answer is that of the stage, as in MuJoCo."""
    world = World()
    kt.forward(world.model, world.data)
    runs, jacobian, inertia = (
        world.data.stage_runs.copy(), kt.jac_site(world.model, world.data, 0), kt.full_m(world.model, world.data)
    )  # fmt: skip
    world.data.qpos[:3] += 1.0
    world.data.qpos[7] += 1.0
    np.testing.assert_array_equal(kt.jac_site(world.model, world.data, 0), jacobian)
    np.testing.assert_array_equal(kt.full_m(world.model, world.data), inertia)
    kt.energy_pos(world.model, world.data)
    runs[kt.energy_pos.stage_index] += 1
    np.testing.assert_array_equal(world.data.stage_runs, runs)


def test_what_was_computed_from_a_missing_stage_is_computed_again():
    world = World()
    kt.make_m(world.model, world.data)  # of places that are all zero
    np.testing.assert_allclose(kt.full_m(world.model, world.data), world.dense_m(), rtol=0.0, atol=1e-9)
