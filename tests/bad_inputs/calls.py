"""Bad calls: unknown names and ids, states, keyframes, `replace`, `set_const`, stages, lanes, pickles, trajectories."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

import kinetree as kt
from kinetree.batch.lanes import LaneData, lanes_of
from tests.bad_inputs.world import INF, NAN, Case, World, put

UNKNOWN = [
    Case("data typo, read", lambda w: w.data.qpso, AttributeError, "data has no 'qpso': did you mean 'qpos'"),
    Case("data typo, write", put("data.qpso", 1), AttributeError, "data has no 'qpso': did you mean 'qpos'"),
    Case("data method typo", lambda w: w.data.boddy("arm"), AttributeError, "data has no 'boddy': did you mean 'body"),
    Case("model typo, read", lambda w: w.model.body_mas, AttributeError,
         "model has no 'body_mas': did you mean 'body_mass'"),
    Case("model typo, write", put("model.body_mas", 1), AttributeError,
         "model has no 'body_mas': did you mean 'body_mass'"),
    Case("size typo", lambda w: w.model.nboddy, AttributeError, "did you mean 'nbody'"),
    Case("data of the model", lambda w: w.model.xquat, AttributeError, "model has no 'xquat'"),
    Case("model of the data", lambda w: w.data.body_mass, AttributeError, "data has no 'body_mass'"),
    Case("private", lambda w: w.data._qpos, AttributeError, "data has no '_qpos'"),
    Case("option typo, read", lambda w: w.model.opt.timstep, AttributeError,
         "opt has no 'timstep': did you mean 'timestep'"),
    Case("option typo, write", put("model.opt.gravitty", [0, 0, 0]), AttributeError, "did you mean 'gravity'"),
    Case("statistic typo", put("model.stat.extend", 1.0), AttributeError,
         "stat has no 'extend': did you mean 'extent'"),
    Case("element typo, read", lambda w: w.model.body("arm").mas, AttributeError,
         "body('arm') has no 'mas': did you mean 'mass'"),
    Case("element typo, write", lambda w: setattr(w.data.joint(1), "qpso", 1), AttributeError, "did you mean 'qpos'"),
    Case("data through the model", lambda w: w.model.joint("elbow").qpos, AttributeError,
         "joint('elbow') has no 'qpos'"),
    Case("body typo", lambda w: w.model.body("amr"), KeyError, "no body is called 'amr': did you mean 'arm'"),
    Case("joint of the data", lambda w: w.data.joint("elbo"), KeyError,
         "no joint is called 'elbo': did you mean 'elbow'"),
    Case("nothing like it", lambda w: w.data.body("xyzzy"), KeyError,
         "no body is called 'xyzzy': known: world, mark, trunk"),
    Case("no names at all", lambda w: w.data.sensor("imu"), KeyError,
         "no sensor is called 'imu': there are none with a name"),
    Case("empty name", lambda w: w.data.joint(""), KeyError, "no joint is called ''"),
    Case("another kind's name", lambda w: w.data.site("rope"), KeyError, "no site is called 'rope': known: a, b"),
    Case("id after the last", lambda w: w.model.body(6), IndexError, "body id 6 is outside 0..5"),
    Case("negative id", lambda w: w.data.geom(-1), IndexError, "geom id -1 is outside 0..5"),
    Case("huge id", lambda w: w.data.site(10**30), IndexError, "is outside 0..1"),
    Case("bool id", lambda w: w.model.body(True), TypeError, "body: expected a name or an id, got bool"),
    Case("numpy bool id", lambda w: w.model.body(np.True_), TypeError, "or an id, got bool"),
    Case("float id", lambda w: w.model.body(1.0), TypeError, "or an id, got float"),
    Case("None", lambda w: w.data.actuator(None), TypeError, "actuator: expected a name or an id, got NoneType"),
    Case("list of names", lambda w: w.data.body(["arm"]), TypeError, "or an id, got list"),
    Case("slice", lambda w: w.data.body(slice(2)), TypeError, "or an id, got slice"),
    Case("bytes", lambda w: w.data.body(b"arm"), TypeError, "or an id, got bytes"),
    Case("kind typo", lambda w: w.model.names("boddy"), KeyError,
         "no kind of element is called 'boddy': did you mean 'body'"),
    Case("kind of id", lambda w: w.model.id("bone", 0), KeyError, "no kind of element is called 'bone'"),
    Case("kind of name", lambda w: w.model.name("limb", 0), KeyError, "no kind of element is called 'limb'"),
    Case("kind None", lambda w: w.model.names(None), TypeError,
         "a kind of element is a string such as 'body', not NoneType"),
    Case("kind list", lambda w: w.model.id(["body"], 0), TypeError, "not list"),
    Case("name of a name", lambda w: w.model.name("body", "hnd"), KeyError, "did you mean 'hand'"),
    Case("none of that kind", lambda w: w.other.mesh(0), IndexError, "the model has no mesh"),
    Case("keyframe by data", lambda w: w.data.keyframe(0), AttributeError, "data has no 'keyframe'"),
]  # fmt: skip

STATES = [
    Case("too short", lambda w: w.data.set_state(np.zeros(3)), ValueError, "state: expected shape (108,), got (3,)"),
    Case("too long", lambda w: w.data.set_state(np.zeros(109)), ValueError, "state: expected shape (108,), got (109,)"),
    Case("matrix", lambda w: w.data.set_state(np.zeros((108, 1))), ValueError, "got (108, 1)"),
    Case("one number", lambda w: w.data.set_state(0.0), ValueError, "state: expected shape (108,), got one number"),
    Case("nan", lambda w: w.data.set_state(np.full(108, NAN)), ValueError, "state[0] is nan"),
    Case("inf", lambda w: w.data.set_state([0.0, INF], kt.State.CTRL), ValueError, "state[1] is inf"),
    Case("text", lambda w: w.data.set_state("home"), TypeError, "state: expected numbers, got 'home'"),
    Case("None", lambda w: w.data.set_state(None), TypeError, "state: expected numbers, got None"),
    Case("flags", lambda w: w.data.set_state([True, False], kt.State.CTRL), TypeError, "state: expected numbers"),
    Case("state of another model", lambda w: w.data.set_state(w.other_data.get_state()), ValueError,
         "expected shape (108,)"),
    Case("another specification", lambda w: w.data.set_state(w.data.get_state(), kt.State.PHYSICS), ValueError, "got (108,)"),
    Case("unknown bit", lambda w: w.data.get_state(1 << 15), ValueError,
         "state specification 0x8000 has bits outside 0x7fff"),
    Case("negative specification", lambda w: w.data.state_size(-1), ValueError,
         "state specification -0x1 has bits outside"),
    Case("set with unknown bit", lambda w: w.data.set_state([], 1 << 40), ValueError, "has bits outside 0x7fff"),
    Case("specification as text", lambda w: w.data.get_state("qpos"), TypeError,
         "a state specification is a kt.State or an integer"),
    Case("specification as float", lambda w: w.data.get_state(1.0), TypeError, "not float"),
    Case("specification as bool", lambda w: w.data.state_size(True), TypeError, "not bool"),
    Case("specification None", lambda w: w.data.get_state(None), TypeError, "not NoneType"),
    Case("keyframe typo", lambda w: w.data.reset_keyframe("tow"), KeyError,
         "no keyframe is called 'tow': did you mean 'two'"),
    Case("keyframe id", lambda w: w.data.reset_keyframe(2), IndexError, "keyframe id 2 is outside 0..1"),
    Case("keyframe -1", lambda w: w.data.reset_keyframe(-1), IndexError, "keyframe id -1 is outside"),
    Case("keyframe None", lambda w: w.data.reset_keyframe(None), TypeError, "keyframe: expected a name or an id"),
    Case("no keyframes", lambda w: w.other_data.reset_keyframe(0), IndexError, "the model has no keyframe"),
    Case("no keyframes, by name", lambda w: w.other_data.reset_keyframe("home"), KeyError,
         "there are none with a name"),
]  # fmt: skip


def set_const_of(field: str, index: Any, value: float) -> Callable[[World], None]:
    """Edit in place, let `set_const` refuse it, and undo the edit."""

    def act(world: World) -> None:
        array = getattr(world.model, field)
        before = array[index].copy()
        array[index] = value
        try:
            kt.set_const(world.model)
        finally:
            array[index] = before

    return act


def simple() -> kt.Model:
    return kt.load(
        "<mujoco><worldbody><body name='ball'><freejoint/><geom name='skin' size='1'/></body></worldbody></mujoco>"
    )


def ghost() -> kt.Model:
    geoms = "<geom size='1'/><geom name='ghost' size='1' contype='0' conaffinity='0'/>"
    return kt.load(f"<mujoco><worldbody><body><joint/>{geoms}</body></worldbody></mujoco>")


CONSTANTS = [
    Case("replace unknown", lambda w: w.model.replace(body_mas=1.0), AttributeError,
         "replace: model has no field 'body_mas': did you"),
    Case("replace unknown option", lambda w: w.model.replace(opt_timstep=1.0), AttributeError,
         "did you mean 'opt_timestep'"),
    Case("replace a size", lambda w: w.model.replace(nbody=3), AttributeError, "replace: model has no field 'nbody'"),
    Case("replace opt", lambda w: w.model.replace(opt=None), AttributeError, "replace: model has no field 'opt'"),
    Case("replace shape", lambda w: w.model.replace(body_mass=[1.0]), ValueError,
         "model.body_mass: expected shape (6,), got (1,)"),
    Case("replace nan", lambda w: w.model.replace(body_pos=NAN), ValueError, "model.body_pos is nan"),
    Case("replace text", lambda w: w.model.replace(geom_size="large"), TypeError, "model.geom_size: expected numbers"),
    Case("replace an id", lambda w: w.model.replace(geom_bodyid=0), AttributeError, "model.geom_bodyid is read-only"),
    Case("replace a flag", lambda w: w.model.replace(flg_gravcomp=True), AttributeError,
         "model.flg_gravcomp is read-only"),
    Case("replace the time step", lambda w: w.model.replace(opt_timestep=0.0), ValueError,
         "the time step must be positive, got 0.0"),
    Case("replace by position", lambda w: w.model.replace({"body_mass": 1}), TypeError, "positional argument"),
    Case("replace, one good and one bad", lambda w: w.model.replace(body_mass=1.0, body_pos=[0]), ValueError,
         "model.body_pos"),
    Case("simple body loses its frame", lambda w: simple().replace(body_ipos=[[0, 0, 0], [0.1, 0, 0]]), kt.ModelError,
         "body 1 ('ball') is compiled as simple but sameframe no longer holds"),
    Case("geom made to collide", lambda w: ghost().replace(geom_contype=1), kt.ModelError,
         "geom 1 ('ghost') collides but was not compiled to collide"),
    Case("set_const of nothing", lambda w: kt.set_const(None), TypeError,
         "set_const needs a kinetree Model, got NoneType"),
    Case("set_const of data", lambda w: kt.set_const(w.data), TypeError, "got Data"),
    Case("set_const of MjModel", lambda w: kt.set_const(w.mj), TypeError, "got MjModel"),
    Case("set_const with nan mass", set_const_of("body_mass", 3, NAN), kt.ModelError,
         "set_const: model.body_mass[3] is nan"),
    Case("set_const with inf length", set_const_of("tendon_lengthspring", (0, 1), INF), kt.ModelError,
         "model.tendon_lengthspring[0, 1] is inf"),
    Case("set_const with nan keyframe", set_const_of("key_qpos", (1, 0), NAN), kt.ModelError,
         "model.key_qpos[1, 0] is nan"),
    Case("set_const with nan vertex", set_const_of("mesh_vert", (0, 2), NAN), kt.ModelError,
         "model.mesh_vert[0, 2] is nan"),
    Case("set_const that overflows", set_const_of("body_mass", 3, 1e308), kt.ModelError, "set_const"),
]  # fmt: skip

STAGES = [
    Case("no arguments", lambda w: kt.kinematics(), TypeError, "model"),
    Case("model only", lambda w: kt.kinematics(w.model), TypeError, "data"),
    Case("None and None", lambda w: kt.kinematics(None, None), TypeError,
         "kinematics: the first argument must be a kinetree Model"),
    Case("no data", lambda w: kt.com_pos(w.model, None), TypeError,
         "com_pos: the second argument must be a kinetree Data, got NoneType"),
    Case("no model", lambda w: kt.camlight(None, w.data), TypeError,
         "camlight: the first argument must be a kinetree Model, got None"),
    Case("numbers", lambda w: kt.fwd_position(1, 2), TypeError,
         "fwd_position: the first argument must be a kinetree Model, got int"),
    Case("addresses", lambda w: kt.kinematics(w.model.address, w.data.address), TypeError, "got int"),
    Case("MjModel with our data", lambda w: kt.kinematics(w.mj, w.data), TypeError,
         "the first argument must be a kinetree Model, got MjModel"),
    Case("our model with MjData", lambda w: kt.kinematics(w.model, mujoco.MjData(w.mj)), TypeError, "got MjData"),
    Case("data of another model", lambda w: kt.kinematics(w.model, w.other_data), ValueError,
         "this Data belongs to another model (nq 13 != 2"),
    Case("another model", lambda w: kt.fwd_position(w.other, w.data), ValueError,
         "this Data belongs to another model (nq 2 != 13"),
]  # fmt: skip

LANES = [
    Case("lanes of nothing", lambda w: LaneData(None), TypeError, "LaneData needs a kinetree Model, got NoneType"),
    Case("lanes of data", lambda w: LaneData(w.data), TypeError, "got Data"),
    Case("no lanes", lambda w: LaneData(w.model, 0), ValueError,
         "lanes are float64 or float32 and a power of two wide"),
    Case("three lanes", lambda w: LaneData(w.model, 3), ValueError, "not float64 x 3"),
    Case("lanes of integers", lambda w: LaneData(w.model, 8, "int32"), ValueError, "not int32 x 8"),
    Case("half a lane", lambda w: LaneData(w.model, 0.5), ValueError, "lanes are float64 or float32"),
    Case("lane outside", lambda w: LaneData(w.model, 2).load(2, w.data), IndexError, "lane 2 is outside 0..1"),
    Case("lane negative", lambda w: LaneData(w.model, 2).store(-1, w.data), IndexError, "lane -1 is outside 0..1"),
    Case("another model's data", lambda w: LaneData(w.model, 2).load(0, w.other_data), ValueError,
         "this Data belongs to another model"),
    Case("no data", lambda w: LaneData(w.model, 2).load(0, None), ValueError, "this Data belongs to another model"),
    Case("other worlds", lambda w: lanes_of(w.model, [w.data, w.other_data]), ValueError,
         "this Data belongs to another model"),
    Case("no stage", lambda w: LaneData(w.model, 2).run(len), TypeError, "len is not a stage"),
    Case("unknown field", lambda w: LaneData(w.model, 2).qpso, AttributeError, "LaneData has no field 'qpso'"),
]  # fmt: skip


def of_another_version(thing: Any, **changes: Any) -> Any:
    """Unpickle something as if it had been saved by a kinetree with other fields."""
    restore, arguments = thing.__reduce__()
    return restore(*("0" * 16 if i == 0 else a for i, a in enumerate(arguments)))


def cut_contents(data: kt.Data) -> kt.Data:
    restore, (fingerprint, model, capacity, contents, growing) = data.__reduce__()[:2]
    return restore(fingerprint, model, capacity, contents[:-64], growing)


SAVED = [
    Case("model of another version", lambda w: of_another_version(w.model), ValueError,
         "this Model was saved with another version"),
    Case("data of another version", lambda w: of_another_version(w.data), ValueError,
         "this Data was saved with another version"),
    Case("data cut short", lambda w: cut_contents(w.data), ValueError, "this Data was saved with another version"),
    Case("truncated pickle", lambda w: pickle.loads(pickle.dumps(w.model)[:-100]), Exception, ""),
    Case("trajectory missing", lambda w: kt.load_trajectory("nowhere.npz"), FileNotFoundError,
         "no trajectory file 'nowhere.npz'"),
    Case("trajectory folder", lambda w: kt.load_trajectory(w.folder), OSError, ""),
    Case("trajectory empty", lambda w: kt.load_trajectory(w.file("a.npz", b"")), ValueError,
         "is not a trajectory file, or it is damaged"),
    Case("trajectory of text", lambda w: kt.load_trajectory(w.file("a.npz", "text")), ValueError,
         "is not a trajectory file"),
    Case("trajectory cut", lambda w: kt.load_trajectory(w.file("a", w.trajectory().read_bytes()[:-50])), ValueError,
         "damaged"),
    Case("another archive", lambda w: w.archive(x=np.zeros(3)), ValueError,
         "an .npz archive, but not a kinetree trajectory"),
    Case("later format", lambda w: w.archive(format="kinetree-trajectory", version=99), ValueError,
         "trajectory format version 99"),
    Case("incomplete", lambda w: w.archive(format="kinetree-trajectory", version=1), ValueError,
         "the trajectory lacks model_name, time"),
    Case("pickled objects", lambda w: w.archive(format=np.array([None])), ValueError,
         "is not a trajectory file, or it is damaged"),
    Case("frames that differ", lambda w: w.trajectory(qvel=np.zeros((2, 2))), ValueError,
         "qvel must have one row for each of the 3 frames"),
    Case("time as a matrix", lambda w: w.trajectory(time=np.zeros((3, 1))), ValueError, "time must have 1 axes"),
    Case("text for qpos", lambda w: w.trajectory(qpos=[["a", "b"]] * 3), ValueError, "qpos must hold numbers, got <U1"),
    Case("own name taken", lambda w: w.trajectory(version=np.zeros(3)), ValueError,
         "'version' is a name of the trajectory format"),
    Case("name of the model", lambda w: w.trajectory(model_name=3), TypeError, "model_name must be a string, got int"),
]  # fmt: skip
