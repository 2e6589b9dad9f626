"""Puts prebuilt machine code into wheels, where `make wheel` has left some, and says for which platform they are."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PREBUILT = Path("build", "prebuilt")
TAG = "py3-none-manylinux_2_17_x86_64"  # code of plain C calls and of Python's stable ABI


class PrebuiltCode(BuildHookInterface):
    """A wheel without libraries is one for every platform, and compiles."""

    def initialize(self, version, build_data):
        """Called by hatchling before it collects files."""
        files = [path for path in Path(self.root, PREBUILT).glob("*") if path.suffix in (".so", ".json")]
        if files and version == "standard":
            build_data["pure_python"], build_data["tag"] = False, TAG
            build_data["force_include"] |= {str(path): f"kinetree/prebuilt/{path.name}" for path in files}
