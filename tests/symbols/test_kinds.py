"""SX and MX, CasADi missing, and what is asked for wrongly."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import SYMBOLS, SYMBOLS_GRADIENT
from kinetree.errors import UnknownNameError
from kinetree.symbols.functions import FUNCTIONS
from kinetree.symbols.system import Symbolic
from tests.symbols import numeric

INPUT_OF = {"target": "q", "kp": "v", "kd": "v", "q1": "q", "q2": "q"}


@functools.cache
def system(kind):
    model = kt.load("tendon_finger")
    return model, kt.symbolic(model, kind=kind), numeric.random(model, 71)


def values_of(function, s):
    """Numbers for all inputs of a function."""
    given = s._asdict() | {"dt": 0.3} | {name: getattr(s, source) for name, source in INPUT_OF.items()}
    return [given[name] for name in function.name_in()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_mx_equal_those_of_sx(name):
    _, sx, s = system("SX")
    _, mx, _ = system("MX")
    one, two = getattr(sx, name), getattr(mx, name)
    assert one.is_a("SXFunction") and two.is_a("MXFunction")
    assert one.name_in() == two.name_in() and one.name_out() == two.name_out() and one.name() == two.name() == name
    values = values_of(one, s)
    for which, a, b in zip(one.name_out(), two.call(values), one.call(values), strict=True):
        numeric.same(a, np.asarray(b), SYMBOLS, f"{name} {which} ")


def test_a_function_of_mx_stays_one_call():
    model, sym, s = system("MX")
    q, v = casadi.MX.sym("q", model.nq), casadi.MX.sym("v", model.nv)
    for _ in range(5):
        q, v = sym.euler(q, v, s.tau)
    rollout = casadi.Function("rollout", casadi.symvar(casadi.vertcat(q, v)), [q, v])
    assert rollout.n_nodes() < 40
    got, wanted = rollout(s.q, s.v), (s.q, s.v)
    for _ in range(5):
        wanted = sym.euler(*wanted, s.tau)
    numeric.same(got[1], np.asarray(wanted[1]), SYMBOLS, "v after five steps ")


def test_derivatives_of_mx_equal_those_of_sx():
    jacobians = []
    for kind, symbol in (("SX", casadi.SX), ("MX", casadi.MX)):
        model, sym, s = system(kind)
        q = symbol.sym("q", model.nq)
        a = sym.forward_dynamics(q, s.v, s.tau)
        jacobians.append(np.asarray(casadi.Function("J", [q], [casadi.jacobian(a, q)])(s.q)))
    numeric.same(jacobians[0], jacobians[1], SYMBOLS_GRADIENT, "d a / d q ")


def test_functions_are_traced_once():
    _, sym, _ = system("SX")
    assert sym.mass_matrix is sym.mass_matrix
    assert sym.forward_kinematics(1) is sym.forward_kinematics(body=1)


def test_the_model_may_change_afterwards():
    """Functions are those of the model as it was given."""
    model = kt.load("double_pendulum")
    sym, q = kt.symbolic(model), np.array([0.3, -0.4])
    wanted = np.asarray(kt.symbolic(model).bias(q, q))
    model.body_mass[:] *= 2.0
    np.testing.assert_array_equal(np.asarray(sym.bias(q, q)), wanted)


def test_whatever_load_takes():
    text = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>"
    path = kt.models.path("cartpole")
    for source in ("cartpole", path, str(path), text, kt.load("cartpole"), kt.load("cartpole").to_mujoco()):
        sym = kt.symbolic(source)
        assert isinstance(sym, Symbolic) and sym.model.nv > 0


# what is wrong


def test_an_input_left_out_by_name_is_no_zero():
    """CasADi takes zeros for it: masses of zero would go unnoticed."""
    sym = kt.symbolic("cartpole", "body_mass")
    assert np.isnan(sym.mass_matrix(q=[0.1, 0.2])["M"].full()).any()
    named = sym.mass_matrix(q=[0.1, 0.2], body_mass=sym.values[0])["M"]
    np.testing.assert_array_equal(named.full(), sym.mass_matrix([0.1, 0.2], *sym.values).full())


def test_an_unknown_parameter_gets_a_suggestion():
    with pytest.raises(ValueError, match=r"'body_mas' cannot be a parameter.*body_mass"):
        kt.symbolic("cartpole", "body_mas")
    with pytest.raises(ValueError, match="geom_friction"):
        kt.symbolic("cartpole", ("geom_friction",))


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(ValueError, match="'body_mass' is given twice"):
        kt.symbolic("cartpole", ("body_mass", "body_ipos", "body_mass"))


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'SX' or 'MX', not 'XX'"):
        kt.symbolic("cartpole", kind="XX")


@pytest.mark.parametrize("method", ["forward_kinematics", "jacobian"])
def test_a_name_of_another_kind_gets_a_hint(method):
    sym = kt.symbolic("arm")
    site = next(name for name in sym.model.names("site") if name and name not in sym.model.names("body"))
    with pytest.raises(UnknownNameError, match=f"but a site: write site='{site}'"):
        getattr(sym, method)(site)
    with pytest.raises(UnknownNameError, match="nowhere"):
        getattr(sym, method)("nowhere")
    with pytest.raises(TypeError, match="takes one body"):
        getattr(sym, method)()
    with pytest.raises(TypeError, match="takes one body"):
        getattr(sym, method)("hand", site=site)
    with pytest.raises(TypeError, match="takes one body"):
        getattr(sym, method)(camera="any")


def test_unknown_subtrees_and_sensors_are_refused():
    sym = kt.symbolic("arm")
    with pytest.raises(UnknownNameError, match="nowhere"):
        sym.subtree("nowhere")
    with pytest.raises(UnknownNameError, match="nowhere"):
        sym.sensor("nowhere")


WITHOUT_CASADI = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "casadi":
            raise ModuleNotFoundError(f"No module named {name!r}", name="casadi")
sys.meta_path.insert(0, Blocker())
import kinetree as kt
from kinetree import *
try:
    kt.symbolic("cartpole")
except ModuleNotFoundError as error:
    assert error.name == "casadi", error.name
    print(error)
"""


def test_without_casadi_there_is_a_clear_message():
    source = str(Path(kt.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((source, os.environ.get("PYTHONPATH", "")))}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CASADI], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'kinetree[casadi]'" in done.stdout
