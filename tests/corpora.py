"""Every model the tests compare with MuJoCo, found through the packages that ship it.

No file is left out silently: an XML of these packages is either a model of the corpus, or in `UNLOADABLE` with the
reason why MuJoCo itself does not load it. A model that kinetree refuses is in `REFUSED` with the feature it needs.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

PACKAGES = ("dm_control", "gymnasium", "gymnasium_robotics")

FRAGMENT = "a part of other models, to be included"
NO_MESHES = "names mesh files that are not where it looks for them"

# Files (patterns below the package's parent folder) that MuJoCo does not load on their own, and why.
UNLOADABLE = {
    "dm_control/mjcf/schema.xml": "the schema of MJCF, not a model",
    "dm_control/mjcf/test_assets/attribute_test_schema.xml": "a schema, not a model",
    "dm_control/mjcf/test_assets/*_with_invalid_filenames.xml": "names files that do not exist, on purpose",
    "dm_control/mjcf/test_assets/test_model.xml": "a moving body without mass",
    "dm_control/mujoco/testing/assets/model_with_assets.xml": "its assets are handed over in memory, not in files",
    "dm_control/locomotion/walkers/assets/build_fruitfly/assets/drosophila.xml": NO_MESHES,
    "dm_control/locomotion/walkers/assets/build_fruitfly/floor.xml": NO_MESHES,
    "dm_control/locomotion/walkers/assets/build_fruitfly/fruitfly.xml": NO_MESHES,
    "dm_control/locomotion/walkers/assets/dog_v2/scene.xml": "defines a texture that the file it includes defines too",
    "gymnasium_robotics/envs/assets/adroit_hand/adroit_assets.xml": FRAGMENT,
    "gymnasium_robotics/envs/assets/adroit_hand/adroit_model.xml": FRAGMENT,
    "gymnasium_robotics/envs/assets/fetch/shared.xml": FRAGMENT,
    "gymnasium_robotics/envs/assets/hand/shared*.xml": FRAGMENT,
    "gymnasium_robotics/envs/assets/kitchen_franka/franka_assets/franka_config.xml": "settings, not a model",
    "gymnasium_robotics/envs/assets/kitchen_franka/franka_assets/[!f]*.xml": FRAGMENT,
    "gymnasium_robotics/envs/assets/kitchen_franka/kitchen_assets/basic_scene.xml": FRAGMENT,
    "gymnasium_robotics/envs/assets/kitchen_franka/kitchen_assets/item_assets/*.xml": FRAGMENT,
}

# Models with something kinetree does not do, and words that the refusal must contain.
REFUSED = {
    "tests/models/refused/flex.xml": ("flex",),
    "tests/models/refused/ipc.xml": ("flag ipc",),
    "tests/models/refused/sdf.xml": ("plugin", "signed distance field"),
}


class Entry(NamedTuple):
    """A model by name; `source()` gives what `kinetree.load` takes."""

    name: str
    source: Callable[[], Any]


def package_root(package: str) -> Path:
    """Folder that holds an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the corpus needs the package {package!r} (pip install kinetree[dev])")
    return Path(spec.origin).parent.parent


def package_files(package: str) -> list[tuple[str, Path]]:
    """(name, path) of every XML and URDF file of a package; the name is the path below the package's parent folder."""
    root = package_root(package)
    found = [path for pattern in ("*.xml", "*.urdf") for path in (root / package).rglob(pattern)]
    return sorted((path.relative_to(root).as_posix(), path) for path in found)


def reason_not_loadable(name: str) -> str | None:
    """Why MuJoCo does not load a file of the packages, or None for a model."""
    return next((reason for pattern, reason in UNLOADABLE.items() if fnmatch(name, pattern)), None)


def package_models() -> list[tuple[str, Path]]:
    """(name, path) of every model of the packages that MuJoCo loads."""
    files = [file for package in PACKAGES for file in package_files(package)]
    return [(name, path) for name, path in files if reason_not_loadable(name) is None]


def own_models() -> list[tuple[str, Path]]:
    """(name, path) of our test models and of the bundled ones."""
    tests = Path(__file__).parent
    mine = [*sorted((tests / "models").glob("*.xml")), *sorted((tests / "models").glob("*.urdf"))]
    bundled = sorted((package_root("kinetree") / "kinetree" / "models").glob("*.xml"))
    return [(f"tests/models/{p.name}", p) for p in mine] + [(f"kinetree/models/{p.name}", p) for p in bundled]


def refused_models() -> list[tuple[str, Path]]:
    """(name, path) of the models that kinetree must refuse."""
    folder = Path(__file__).parent / "models" / "refused"
    return [(f"tests/models/refused/{p.name}", p) for p in sorted(folder.glob("*.xml"))]


# Models that dm_control's suite writes at run time, beyond the files it ships: (module, what to call in it).
GENERATED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cartpole(2 poles)": ("cartpole", lambda suite: suite.get_model_and_assets(2)),
    "cartpole(3 poles)": ("cartpole", lambda suite: suite.get_model_and_assets(3)),
    "dog(no ball)": ("dog", lambda suite: suite.get_model_and_assets()),
    "lqr(2, 1)": ("lqr", lambda suite: suite.get_model_and_assets(2, 1, np.random.RandomState(0))),
    "lqr(6, 2)": ("lqr", lambda suite: suite.get_model_and_assets(6, 2, np.random.RandomState(0))),
    "manipulator(ball)": ("manipulator", lambda suite: suite.make_model(use_peg=False, insert=False)),
    "manipulator(insert peg)": ("manipulator", lambda suite: suite.make_model(use_peg=True, insert=True)),
    "quadruped(terrain)": ("quadruped", lambda suite: suite.make_model(40, terrain=True, rangefinders=True)),
    "quadruped(fetch)": ("quadruped", lambda suite: suite.make_model(40, walls_and_ball=True)),
    "stacker(2)": ("stacker", lambda suite: suite.make_model(2)),
    "stacker(4)": ("stacker", lambda suite: suite.make_model(4)),
    "swimmer(6)": ("swimmer", lambda suite: suite.get_model_and_assets(6)),
    "swimmer(15)": ("swimmer", lambda suite: suite.get_model_and_assets(15)),
}


def generated_models() -> list[Entry]:
    """The models of `GENERATED`, compiled when their source is asked for."""
    return [Entry(f"dm_control/suite/{name}", _compiler(*call)) for name, call in GENERATED.items()]


def _compiler(module: str, make: Callable[[Any], Any]) -> Callable[[], mujoco.MjModel]:
    def source() -> mujoco.MjModel:
        os.environ.setdefault("MUJOCO_GL", "disable")  # the suite looks for a display on import; only its XML is wanted
        suite = importlib.import_module(f"dm_control.suite.{module}")
        made = make(suite)
        xml, assets = made if isinstance(made, tuple) else (made, suite.common.ASSETS)
        text = xml.decode() if isinstance(xml, bytes) else xml
        spec = mujoco.MjSpec.from_string(text, include=assets, assets=assets)
        return spec.compile()

    return source


def entries() -> list[Entry]:
    """The whole corpus of models that must agree with MuJoCo."""
    files = [*own_models(), *package_models()]
    return [Entry(name, lambda path=path: path) for name, path in files] + generated_models()


def corpus() -> list[tuple[str, Any]]:
    """(name, source) of everything, refused models included: what the generated page reports on."""
    return [(entry.name, entry.source()) for entry in entries()] + [*refused_models()]


def compiled(path: Path) -> mujoco.MjModel:
    """A file compiled by MuJoCo."""
    return mujoco.MjModel.from_xml_path(str(path))


def unloadable() -> list[tuple[str, str]]:
    """(file, reason) of every file of the packages that is no model by itself."""
    names = [name for package in PACKAGES for name, _ in package_files(package)]
    return [(name, reason) for name in names if (reason := reason_not_loadable(name))]


def changes() -> list[Any]:
    """What MuJoCo added, row by row, for the page."""
    from tests.changes import CHANGES

    return CHANGES
