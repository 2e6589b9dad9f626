"""C code of functions: written, compiled once, loaded back, and right with and without a compiler."""

from __future__ import annotations

import functools
import pickle
import shutil
import subprocess

import casadi
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import C_CODE, SOLVED
from kinetree.symbols import code
from tests.symbols import numeric

MODEL = "arm"
needs_compiler = pytest.mark.skipif(not any(map(shutil.which, code.COMPILERS)), reason="there is no C compiler")


@functools.cache
def system():
    model = kt.load(MODEL)
    return model, kt.symbolic(model, ("body_mass", "body_ipos")), numeric.random(model, 61)


def matrix_function():
    """Of a matrix that is not symmetric, with a sparse result and a dense one."""
    a, x = casadi.SX.sym("a", 3, 2), casadi.SX.sym("x", 2)
    sparse = casadi.SX(3, 3)
    sparse[0, 2], sparse[2, 0] = a[0, 1], x[0] * a[2, 0]
    return casadi.Function("mixed", [a, x], [casadi.mtimes(a, x), sparse], ["a", "x"], ["y", "s"])


@pytest.fixture(params=["compiled", "not compiled"])
def folder(request, tmp_path, monkeypatch):
    """A folder for files, once with a compiler and once without."""
    if request.param == "not compiled":
        monkeypatch.setattr(shutil, "which", lambda *a, **k: None)
    elif not any(map(shutil.which, code.COMPILERS)):
        pytest.skip("there is no C compiler")
    return tmp_path


@pytest.mark.parametrize("name", ["mass_matrix", "forward_dynamics", "energy", "euler"])
def test_values_equal_the_function(folder, name):
    """Matrices as parameters: CasADi stores columns, NumPy rows."""
    _, sym, s = system()
    function = getattr(sym, name)
    compiled = sym.generate(name, folder)
    given = s._asdict() | dict(zip(sym.parameters, sym.values, strict=True))
    given["body_ipos"] = given["body_ipos"] + np.random.default_rng(2).normal(size=given["body_ipos"].shape)
    values = [given[n] for n in function.name_in()]
    wanted, got = function.call(values), compiled(*values)
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(wanted) == function.n_out()
    for which, a, b in zip(function.name_out(), got, wanted, strict=True):
        assert isinstance(a, np.ndarray)
        numeric.same(a, np.asarray(b).reshape(a.shape), C_CODE, f"{name} {which} ")
    inside = compiled.function.call(values)  # in solvers and expressions
    numeric.same(inside[0], np.asarray(wanted[0]), C_CODE, f"{name} as a CasADi function ")


def test_matrices_and_sparse_results(folder):
    a, x = np.arange(6.0).reshape(3, 2), np.array([2.0, -1.0])
    compiled = code.generate(matrix_function(), folder)
    y, s = compiled(a, x)
    np.testing.assert_allclose(y, a @ x, atol=1e-15)
    np.testing.assert_allclose(s, [[0, 0, a[0, 1]], [0, 0, 0], [x[0] * a[2, 0], 0, 0]], atol=1e-15)
    np.testing.assert_array_equal(compiled(np.asfortranarray(a), x)[0], y)
    np.testing.assert_array_equal(compiled(np.repeat(a, 2, axis=1)[:, ::2], x)[0], y)


def test_a_sparse_input_is_given_as_a_full_matrix(folder):
    p = casadi.SX.sym("p", casadi.Sparsity.diag(3))
    compiled = code.generate(casadi.Function("scaled", [p], [casadi.mtimes(p, casadi.DM([1, 2, 3]))]), folder)
    np.testing.assert_array_equal(compiled(np.diag([1.0, 2.0, 3.0])), [1.0, 4.0, 9.0])


def test_lists_numbers_and_casadi_values_are_taken(folder):
    a, x = np.arange(6.0).reshape(3, 2), np.array([2.0, -1.0])
    compiled = code.generate(matrix_function(), folder)
    wanted = compiled(a, x)[0]
    for given in (
        (a.tolist(), [2, -1]),
        (casadi.DM(a), casadi.DM(x)),
        (a, x[:, None]),
        (a.astype(np.float32), x.astype(int)),
    ):
        np.testing.assert_array_equal(compiled(*given)[0], wanted)
    np.testing.assert_array_equal(compiled(a, 3.0)[0], compiled(a, [3.0, 3.0])[0])


def test_results_are_copies(folder):
    """A second call leaves the first result alone, and results may be written to."""
    compiled = code.generate(matrix_function(), folder)
    first = compiled(np.ones((3, 2)), [1.0, 1.0])[0]
    compiled(np.zeros((3, 2)), [0.0, 0.0])
    np.testing.assert_array_equal(first, 2.0)
    first[:] = 7.0
    np.testing.assert_array_equal(compiled(np.ones((3, 2)), [1.0, 1.0])[0], 2.0)


def test_wrong_inputs_are_refused(folder):
    compiled = code.generate(matrix_function(), folder)
    with pytest.raises(TypeError, match=r"takes 2 inputs \(a, x\), not 1"):
        compiled(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"a has shape \(3, 2\), got \(2, 2\)"):
        compiled(np.ones((2, 2)), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"x has shape \(2,\), got \(3,\)"):
        compiled(np.ones((3, 2)), [1.0, 2.0, 3.0])


def test_a_transposed_matrix_is_refused(folder):
    """It has the right number of entries, in the wrong places."""
    compiled = code.generate(matrix_function(), folder)
    with pytest.raises(ValueError, match="shape"):
        compiled(np.arange(6.0).reshape(2, 3), [1.0, 2.0])


@needs_compiler
def test_the_same_function_is_compiled_once(tmp_path, monkeypatch):
    runs = []
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: (runs.append(a), real(*a, **k))[1])
    first = code.generate(matrix_function(), tmp_path)
    second = code.generate(matrix_function(), tmp_path)
    assert len(runs) == 1 and first.library == second.library and first.library.exists()
    code.generate(matrix_function(), tmp_path, flags=("-O0",))
    assert len(runs) == 2
    assert not list(tmp_path.glob("*.tmp"))


@needs_compiler
def test_a_failing_compiler_tells_why(tmp_path):
    with pytest.raises(RuntimeError, match="no-such-flag"):
        code.generate(matrix_function(), tmp_path, flags=("--no-such-flag",))
    assert not list(tmp_path.glob("*.so")) and not list(tmp_path.glob("*.tmp"))


def test_no_compiler_leaves_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *a, **k: None)
    compiled = code.generate(matrix_function(), tmp_path / "new" / "folder")
    assert compiled.library is None and "mixed" in compiled.source.read_text(encoding="utf-8")
    assert "not compiled" in repr(compiled)
    np.testing.assert_array_equal(compiled(np.ones((3, 2)), [1.0, 2.0])[0], 3.0)


def test_a_compiler_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such-compiler"):
        code.generate(matrix_function(), tmp_path, compiler="no-such-compiler")


@needs_compiler
def test_a_jacobian_of_the_users_can_be_generated(tmp_path):
    model, _, s = system()
    sym, q = kt.symbolic(model), casadi.SX.sym("q", model.nq)
    pos = sym.forward_kinematics(model.nbody - 1)(q)[0]
    jacobian = casadi.Function("slope", [q], [casadi.jacobian(pos, q)], ["q"], ["J"])
    compiled = sym.generate(jacobian, tmp_path)
    assert compiled.library is not None and repr(compiled).startswith("<kinetree CompiledFunction slope(q)")
    numeric.same(compiled(s.q), np.asarray(jacobian(s.q)), C_CODE, "slope ")


@needs_compiler
def test_functions_of_mx_are_generated(tmp_path):
    model, _, s = system()
    sym = kt.symbolic(model, kind="MX")
    got = sym.generate("forward_dynamics", tmp_path)(s.q, s.v, s.tau)
    numeric.same(got, np.ravel(sym.forward_dynamics(s.q, s.v, s.tau)), C_CODE, "MX ")


def test_what_is_no_function_is_refused(tmp_path):
    _, sym, _ = system()
    with pytest.raises(ValueError, match="'forward_dynamic' is none of"):
        sym.generate("forward_dynamic", tmp_path)
    with pytest.raises(TypeError, match="CasADi function"):
        sym.generate(lambda q: q, tmp_path)


@needs_compiler
def test_derivatives_on_request_make_it_fit_for_solvers(tmp_path):
    """Without them a Jacobian is refused; with them it is the function's own, and an optimiser runs on the library."""
    sym = kt.symbolic("double_pendulum")
    x, torque = casadi.MX.sym("x", 2), [0.3, -0.2]
    plain = sym.generate("forward_dynamics", tmp_path).function
    with pytest.raises(RuntimeError, match="[Dd]erivative"):
        casadi.Function("slope", [x], [casadi.jacobian(plain(x, 0, torque), x)])([0.1, 0.2])
    fast = sym.generate("forward_dynamics", tmp_path, derivatives=True).function
    slopes = [
        casadi.Function("slope", [x], [casadi.jacobian(f(x, [1, 2], torque), x)])([0.1, 0.2]).full()
        for f in (fast, sym.forward_dynamics)
    ]
    numeric.same(slopes[0], slopes[1], C_CODE, "slope of C ")
    opti = casadi.Opti()
    tau = opti.variable(2)
    opti.minimize(casadi.sumsqr(tau))
    opti.subject_to(fast([0.4, 0.1], 0, tau) == 0)
    limited = {"print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory"}
    opti.solver("ipopt", {"print_time": False}, limited)
    held = opti.solve().value(tau)
    numeric.same(held, sym.inverse_dynamics([0.4, 0.1], 0, 0), SOLVED, "torques of IPOPT ")


def test_matrices_stay_matrices_in_small_models(folder):
    """One dof and one motor: M and B have one column, and a vector has none."""
    sym = kt.symbolic(
        '<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>'
        '<actuator><motor joint="j"/></actuator></mujoco>'
    )
    assert sym.generate("mass_matrix", folder)([0.1]).shape == (1, 1)
    assert sym.generate("bias", folder)([0.1], [0.0]).shape == (1,)
    assert [part.shape for part in sym.generate("transition", folder)([0.1], [0.0], [], [1.0])] == [(2, 2), (2, 1)]


@pytest.mark.parametrize("value", [None, "text", 1j, np.array([1j, 0])])
def test_what_is_no_real_number_is_refused(folder, value):
    with pytest.raises(TypeError, match="real numbers"):
        code.generate(matrix_function(), folder)(np.ones((3, 2)), value)


def test_cc_names_the_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -pipe")
    with pytest.raises(FileNotFoundError, match="no-such-compiler.*CC"):
        code.generate(matrix_function(), tmp_path)
    found = next(filter(shutil.which, code.COMPILERS), None)
    if found:
        monkeypatch.setenv("CC", f"{found} -DNOTHING")
        assert code.generate(matrix_function(), tmp_path, flags="-O1 -g0").library is not None


def test_a_compiled_function_is_pickled(folder):
    compiled = code.generate(matrix_function(), folder)
    copied = pickle.loads(pickle.dumps(compiled))
    given = np.arange(6.0).reshape(3, 2), np.array([0.5, 2.0])
    for a, b in zip(copied(*given), compiled(*given), strict=True):
        np.testing.assert_array_equal(a, b)
