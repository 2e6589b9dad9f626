"""What `import kinetree` imports: neither MuJoCo nor a compiler, a plot or a command line; all names are there all the same."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import kinetree as kt

HEAVY = ("mujoco", "llvmlite", "numba", "casadi", "matplotlib", "typer", "rich", "scipy", "trimesh")


def said_by(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_an_import_is_light():
    assert said_by(f"import json, sys, kinetree; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))") == []


def test_every_name_is_there():
    assert set(kt.__all__) <= set(dir(kt))
    assert all(getattr(kt, name) is not None for name in kt.__all__)
    assert (
        said_by("import json, kinetree as kt; print(json.dumps([n for n in kt.__all__ if not hasattr(kt, n)]))") == []
    )
    code = "from kinetree import *; import json; print(json.dumps([load.__name__, symbolic.__name__]))"
    assert said_by(code) == ["load", "symbolic"]


def test_an_unknown_name_is_told():
    with pytest.raises(AttributeError, match="module 'kinetree' has no attribute 'lod'"):
        kt.lod  # noqa: B018


def test_pickles_need_no_load_before(tmp_path):
    """A model and its data come back in a process that has loaded nothing."""
    import pickle

    model = kt.load("cartpole")
    data = kt.Data(model)
    kt.step(model, data, 3)
    path = tmp_path / "world.pickle"
    path.write_bytes(pickle.dumps((model, data)))
    code = f"""
import json, pickle
model, data = pickle.loads(open({str(path)!r}, "rb").read())
import copy
print(json.dumps([float(data.time), copy.copy(model).replace(opt_timestep=0.5).opt.timestep]))"""
    assert said_by(code) == [float(data.time), 0.5]


def test_no_package_is_hidden_by_a_public_name():
    """`import kinetree.geometry.driver as driver` must not find a function in the way."""
    for module in pkgutil.iter_modules(kt.__path__):
        if module.name in kt.__all__:
            assert getattr(kt, module.name) is importlib.import_module(f"kinetree.{module.name}")
