"""A wheel with machine code where there is no compiler: what README and the pages show runs, and nothing is compiled."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.kernel import JIT
from kinetree.kernel.levels import NATIVE, level, levels
from kinetree.kernel.machine import USUAL
from tests.test_docs import ROOT, WITH_CODE, blocks
from tests.test_examples import EXAMPLES
from tests.test_needs import FEATURES
from tests.wheels import PARTS, build_sdist, build_wheel, common_folder, install, made_once, run

pytestmark = pytest.mark.skipif(not JIT or level() == NATIVE, reason="no level that wheels have code for")
# Pages that define kernels of their own, for which the extra `jit` is needed.
COMPILES = {"docs/guide/kernel-language.md", "docs/guide/batch-controllers.md"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel with code for the usual machines, for every level of this processor; all processes of a run have the same."""
    folder = common_folder(tmp_path_factory) / "project"
    (made,) = made_once(folder, lambda place: build_wheel(place, USUAL, levels())).glob("dist/*.whl")
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build_sdist(tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Run code where the wheel is installed and no compiler is; the cache must stay empty."""
    site, cache = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("cache")
    install(wheel, site, "casadi")  # of which some pages tell

    def run(*arguments: str, cwd: Path = site, at_level: str = "") -> str:
        names = {"PYTHONPATH": str(site), "KINETREE_CACHE": str(cache), "PYTHONWARNINGS": "error::RuntimeWarning"}
        env = {**os.environ, **names, "MPLBACKEND": "agg", "KINETREE_QUIET": "0", "KINETREE_LEVEL": at_level}
        done = subprocess.run([sys.executable, "-S", *arguments], cwd=cwd, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "compiling" not in done.stderr and not list(cache.iterdir())
        return done.stdout

    return run


def test_its_name_says_what_it_is(wheel):
    assert re.fullmatch(rf"kinetree-[\d.]+-py3-none-manylinux_2_17_{platform.machine()}\.whl", wheel.name)
    assert wheel.stat().st_size < 12e6


def test_what_judges_packages_agrees(wheel, sdist):
    run("twine", "check", "--strict", str(wheel), str(sdist))
    said = run("auditwheel", "show", str(wheel))
    oldest = re.search(r"following platform tag:\s+\"manylinux_2_(\d+)_", said)
    assert oldest and int(oldest[1]) <= 17, said


def test_the_sdist_has_all_that_a_wheel_is_built_from(sdist):
    with tarfile.open(sdist) as archive:
        held = {Path(*Path(name).parts[1:]) for name in archive.getnames()}
    files = [path for path in (ROOT / "src" / "kinetree").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    wanted = {Path(part) for part in PARTS if part != "src"} | {path.relative_to(ROOT) for path in files}
    assert len(files) > 100 and not wanted - held


def test_it_is_installed_where_it_belongs_alone(wheel, tmp_path):
    elsewhere = shutil.copy(wheel, tmp_path / wheel.name.replace(platform.machine(), "ppc64le"))
    with pytest.raises(AssertionError, match="is not a supported wheel on this platform"):
        install(elsewhere, tmp_path / "site")


STATES = """
import hashlib, json, sys, numpy as np, kinetree as kt
from kinetree.batch.lanes import LaneData
def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()
for name, source in json.loads(sys.argv[1]).items():
    model = kt.load(source)
    data = kt.Data(model)
    data.qvel[:] = np.random.default_rng(0).normal(size=model.nv)
    kt.step(model, data, 100)
    kt.inverse(model, data)
    print(name, digest(data.get_state(), data.qfrc_inverse, data.sensordata))
    functions = [kt.jac_body(model, data, 1), kt.ray(model, data, [0, 0, 3], [0.1, 0.2, -1]), kt.full_m(model, data)]
    functions += [kt.aba(model, data, np.ones(model.nv))] * (model.ntendon == 0) + [kt.rne(model, data)]
    functions += [kt.geom_distance(model, data, 0, model.ngeom - 1, 1.0)[0], kt.contact_forces(model, data)]
    functions.append(kt.StablePD(model, 10.0, 1.0).step(data, nstep=3))
    print(name, "functions", digest(*(np.concatenate([np.ravel(part) for part in each]) if type(each) is tuple else each
                                      for each in functions)))
    for width, dtype in ((8, "float64"), (16, "float32")):
        lanes = LaneData(model, width, dtype)
        lanes.qpos += 1e-3 * np.arange(width)
        lanes.run(kt.pipeline.forward)
        print(name, width, dtype, digest(lanes.qacc, lanes.qfrc_constraint, lanes.sensordata))
"""
SOURCES = {**{name: name for name in kt.models.names()}, **FEATURES}


@pytest.mark.parametrize("at_level", levels())
def test_its_numbers_are_those_of_compiled_code(at_level, python):
    """To the last bit, on floats and on lanes."""
    env = {**os.environ, "KINETREE_LEVEL": at_level, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = "-c", STATES, json.dumps(SOURCES)
    mine = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True)
    assert mine.returncode == 0, mine.stderr
    assert python(*arguments, at_level=at_level).splitlines() == mine.stdout.splitlines()
    assert len(mine.stdout.splitlines()) == 4 * len(SOURCES)


@pytest.mark.parametrize("name", [name for name in WITH_CODE if name not in COMPILES])
def test_pages_run(name, python, tmp_path):
    program = tmp_path / "page.py"
    program.write_text("".join(blocks(ROOT / name)), encoding="utf-8")
    python(str(program), cwd=tmp_path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, python, tmp_path):
    assert python(str(path), cwd=tmp_path).splitlines()[-1] == "ok"


def test_with_other_sources_it_is_refused(python, tmp_path):
    """A file that was edited where the wheel is installed: its code is not what the libraries hold."""
    site = Path(python("-c", "import kinetree; print(kinetree.__path__[0])").strip())
    shutil.copytree(site, tmp_path / "kinetree")
    with (tmp_path / "kinetree" / "dynamics" / "rne.py").open("a") as file:
        file.write("\n# edited\n")
    os.utime(tmp_path / "kinetree" / "dynamics" / "rne.py", (0, 0))
    text = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
import kinetree as kt
warnings.simplefilter("default")
model = kt.load("cartpole")
try:
    kt.step(model, kt.Data(model))
except ModuleNotFoundError as error:
    print(error)
"""
    said = python("-c", text, str(tmp_path))
    assert "it was built from other sources" in said and "kinetree[jit]" in said


def test_the_command_runs(python, tmp_path):
    said = python("-m", "kinetree", "run", "cartpole", "--seconds", "0.2", "--out", str(tmp_path / "out"))
    assert "cartpole" in said and (tmp_path / "out").exists()
    assert "nothing to compile" in python("-m", "kinetree", "warmup", "humanoid")


def test_every_other_command_runs(python, tmp_path):
    (tmp_path / "parts.csv").write_text("name,mass,x\nleft,1,0\nright,3,2\n")
    assert json.loads(python("-m", "kinetree", "mass", str(tmp_path / "parts.csv"), "--json"))["total"]["mass"] == 4
    assert "right_knee" in python("-m", "kinetree", "info", "humanoid")
    assert "cartpole agrees with MuJoCo" in python("-m", "kinetree", "check", "cartpole", "--states", "1")
    assert ": 0 files, 0.0 MB" in python("-m", "kinetree", "cache")
    assert kt.__version__ in python("-m", "kinetree", "--version")


def test_a_processor_below_all_levels_needs_the_compiler(python):
    code = """
import kinetree as kt
model = kt.load("cartpole")
try:
    kt.step(model, kt.Data(model))
except ModuleNotFoundError as error:
    print(error)
"""
    said = python("-c", code, at_level=NATIVE)
    assert "comes with no code for a processor like this one" in said and "kinetree[jit]" in said


def test_what_must_be_compiled_says_what_is_missing(python):
    code = """
import kinetree as kt
from kinetree.batch.lanes import LaneData
try:
    LaneData(kt.load("cartpole"), 4).run(kt.kinematics)
except ModuleNotFoundError as error:
    print(error)
"""
    said = python("-c", code)
    assert f"code for {', '.join(USUAL)}, not for float64 x 4" in said and "kinetree[jit]" in said
