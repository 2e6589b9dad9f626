"""What users of MuJoCo will try: its names are answered with ours, its enumerations are taken as values."""

from __future__ import annotations

import inspect

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.instead import CLASSES, LOADERS
from kinetree.types import MUJOCO_ENUMS

WANTED = {
    "mj_step": "kt.step", "mj_forward": "kt.forward", "mj_inverse": "kt.inverse", "mj_step1": "kt.step1",
    "mj_fullM": "kt.full_m", "mj_kinematics": "kt.kinematics", "mj_comPos": "kt.com_pos", "mj_jacSite": "kt.jac_site",
    "mj_setConst": "kt.set_const", "mj_objectVelocity": "kt.object_velocity", "mj_integratePos": "kt.integrate_pos",
    "mj_ray": "kt.ray", "mj_geomDistance": "kt.geom_distance", "mj_resetData": "data.reset",
    "mj_resetDataKeyframe": "data.reset_keyframe", "mj_getState": "data.get_state", "mj_setState": "data.set_state",
    "mj_name2id": "model.id", "mj_id2name": "model.name", "set_mjcb_control": "model.callbacks.control = function",
    "mjcb_passive": "model.callbacks.passive = function", "mjtIntegrator": "kt.Integrator", "mjtState": "kt.State",
    "mjtCamLight": "kinetree.types.CamLight", **CLASSES,
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_names_of_mujoco_are_answered_with_ours(name):
    with pytest.raises(AttributeError) as caught:
        getattr(kt, name)
    assert str(caught.value).endswith(f"write {WANTED[name]}")


def test_what_is_offered_exists():
    scope = {"kt": kt, "model": kt.Model, "data": kt.Data, "kinetree": kt}
    for name in dir(mujoco):
        if name.startswith(("mj_", "mjt")):
            with pytest.raises(AttributeError) as caught:
                getattr(kt, name)
            for offered in (
                str(caught.value).partition(": write ")[2].split(" or ") if "write" in str(caught.value) else ()
            ):
                assert eval(offered, scope) is not None, (name, offered)


def test_unknown_names_stay_unknown():
    for name in ("stepp", "mj_nothing", "_private"):
        with pytest.raises(AttributeError, match=rf"^module 'kinetree' has no attribute '{name}'$"):
            getattr(kt, name)


@pytest.mark.parametrize("name", LOADERS)
def test_models_are_loaded_by_a_function(name):
    with pytest.raises(AttributeError, match=r"write kt\.load\("):
        getattr(kt.Model, name)
    assert not hasattr(kt.Model, "from_nothing")


OPTIONS = {"integrator": "mjINT_RK4", "cone": "mjCONE_ELLIPTIC", "jacobian": "mjJAC_SPARSE", "solver": "mjSOL_CG",
           "disableflags": "mjDSBL_CONTACT", "enableflags": "mjENBL_ENERGY"}  # fmt: skip
KINDS = {"disableflags": "mjtDisableBit", "enableflags": "mjtEnableBit"}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_take_mujocos_values_and_come_back_as_ours(name):
    theirs = getattr(mujoco, KINDS.get(name, f"mjt{name.capitalize()}"))
    ours = next(each for each, called in MUJOCO_ENUMS.items() if called == theirs.__name__)
    model = kt.load("arm")
    setattr(model.opt, name, theirs.__members__[OPTIONS[name]])
    value = getattr(model.opt, name)
    assert type(value) is ours and value == int(theirs.__members__[OPTIONS[name]])
    assert getattr(kt.load(model.to_mujoco()).opt, name) == value


def test_states_take_mujocos_specification():
    data = kt.Data(kt.load("arm"))
    spec = mujoco.mjtState.mjSTATE_PHYSICS
    assert np.array_equal(data.get_state(spec), data.get_state(kt.State.PHYSICS))
    data.set_state(np.zeros(data.state_size(spec)), spec)
    for wrong in (True, "physics", np.zeros(2, int), 1.5):
        with pytest.raises(TypeError, match="a state specification is"):
            data.get_state(wrong)


def test_exported_names():
    for name in ("BiasType", "DynType", "GainType", "TrnType", "WarningType", "UnknownNameError", "BudgetError"):
        assert name in kt.__all__ and getattr(kt, name).__name__ == name


def test_stages_have_typed_signatures():
    for name in kt.__all__:
        if hasattr(getattr(kt, name), "stage_index"):
            signature = inspect.signature(getattr(kt, name))
            assert [p.annotation for p in signature.parameters.values()] == [kt.Model, kt.Data], name
            assert signature.return_annotation is None


def test_rne_leaves_the_data_alone():
    model = kt.load("arm")
    data = kt.Data(model)
    data.qvel[:] = 1.0
    kt.forward(model, data)
    bias, inverse = data.qfrc_bias.copy(), data.qfrc_inverse.copy()
    data.qvel[:] = -3.0
    kt.fwd_velocity(model, data)
    wanted = data.qfrc_bias.copy()
    data._arrays["qfrc_bias"][:] = bias
    assert np.allclose(kt.rne(model, data), wanted, rtol=1e-13) and not np.allclose(wanted, bias)
    kt.rne(model, data, acceleration=True)
    assert np.array_equal(data.qfrc_bias, bias) and np.array_equal(data.qfrc_inverse, inverse)


@pytest.mark.parametrize("how", ["whole", "part"])
def test_bad_controls_are_met_as_clearly_either_way(how):
    model = kt.load("arm")
    data = kt.Data(model)
    if how == "whole":
        with pytest.raises(ValueError, match=r"data\.ctrl\[0\] is nan"):
            data.ctrl = np.full(model.nu, np.nan)
    else:
        data.ctrl[:] = np.nan
        with pytest.warns(kt.SimulationWarning, match=r"ctrl\[0\] \(actuator .*\) is not a number"):
            kt.step(model, data)
