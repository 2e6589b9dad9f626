"""Puts prebuilt machine code into wheels, where `make wheel` has left some, and says for which platform they are."""

import importlib.util
import json
import platform
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PREBUILT = Path("build", "prebuilt")
TAG = f"py3-none-manylinux_2_17_{platform.machine()}"  # code of plain C calls and of Python's stable ABI


def digest_of(package):
    """Digest of the sources, by the package's own function."""
    spec = importlib.util.spec_from_file_location("sources", package / "kernel" / "sources.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sources_digest(package)


class PrebuiltCode(BuildHookInterface):
    """A wheel without libraries is one for every platform, and compiles."""

    def initialize(self, version, build_data):
        """Called by hatchling before it collects files."""
        files = [path for path in Path(self.root, PREBUILT).glob("*") if path.suffix in (".so", ".json")]
        if not files or version != "standard":
            return
        for path in files:
            if not all(path.with_suffix(suffix) in files for suffix in (".so", ".json")):
                raise RuntimeError(f"{path} is alone: run `make wheel`, or remove its folder")
        digest = digest_of(Path(self.root, "src", "kinetree"))
        for path in files:
            if path.suffix == ".json" and json.loads(path.read_text())["sources"] != digest:
                raise RuntimeError(f"{path} was built from other sources: run `make wheel`, or remove its folder")
        build_data["pure_python"], build_data["tag"] = False, TAG
        build_data["force_include"] |= {str(path): f"kinetree/prebuilt/{path.name}" for path in files}
