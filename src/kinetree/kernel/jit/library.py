"""Builds the libraries that come with the package: every entry for the usual machines and levels of processors.

`python -m kinetree.kernel.jit.library FOLDER [MACHINE…]`. Needs a linker: ld.lld of the package ziglang, or the system's ld.
"""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from ..build import Code, objects
from ..levels import known_levels
from ..machine import USUAL, machine_named
from ..prebuilt import PACKAGE, file_name, library_digest
from ..registry import ENTRIES
from ..sources import sources_digest

OPTIONS = "-shared --gc-sections --strip-all -z now -z relro -z noexecstack -Bsymbolic --allow-shlib-undefined".split()


def linker():
    """The command of a linker: that of the package ziglang, else the system's."""
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "ld.lld"]
    for name in ("ld.lld", "ld"):
        if shutil.which(name):
            return [name]
    raise RuntimeError("libraries of machine code need a linker, ld.lld or ld: pip install ziglang brings one")


def build(folder, machine_name, levels, entries=None):
    """The libraries of a machine and their indices, of all entries or some; returns how many bytes they have."""
    machine, size, link = machine_named(machine_name), 0, linker()
    levels = levels[:1] if machine.own else levels  # the best: of both a wheel would have more than twelve megabytes
    chosen = ENTRIES.values() if entries is None else entries
    codes = [Code(e, machine) for e in chosen if e.runs_on(machine) and e.name.startswith("kinetree.")]
    contents = dict(objects(codes, *levels))
    with tempfile.TemporaryDirectory() as place:
        for k, level in enumerate(levels):
            paths = []
            for code in codes:
                paths.append(pathlib.Path(place, f"{code.symbol}.o"))
                paths[-1].write_bytes(contents[code][k])
            library = pathlib.Path(folder, file_name(machine.name, level) + ".so")
            subprocess.run([*link, *OPTIONS, "-o", str(library), *map(str, paths)], check=True)
            content = library.read_bytes()
            symbols = {c.entry.name: c.symbol for c in codes}
            index = {
                "machine": machine.name, "level": level, "sources": sources_digest(PACKAGE),
                "sha256": library_digest(content, symbols), "entries": symbols,
            }  # fmt: skip
            library.with_name(file_name(machine.name, level) + ".json").write_text(json.dumps(index, indent=0))
            size += len(content)
    return size


def main(folder, *machines):
    """Build all, or some."""
    if not known_levels():
        raise RuntimeError("no level of processors is listed for this kind of machine: see kinetree/kernel/levels.py")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name in machines or USUAL:
        print(f"{name}: {build(folder, name, tuple(known_levels())) / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
