"""Text that MuJoCo's reader must not see: it would end the process, or leave it hanging.

MuJoCo 4.0.0 hands "unknown default class name '…'" to printf as the format itself, so `class="%n"` ends the process and
`class="%p"` prints addresses. It does so with the attribute `class` alone; all other text of a file passes through "%s".
Such a class is refused here, in MuJoCo's words, unless it is declared: names and files with "%" load. And an asset
`<model>` without a file leaves MuJoCo's reader locked, so that the next model never loads. And replicates in replicates,
also by way of includes and attached models, ask for more copies than any memory holds. And a file that is a pipe keeps
MuJoCo waiting for a writer.

The scan is wider than MuJoCo's parser: it looks into comments, and into every file that an include or an attached model
may mean, so nothing that MuJoCo reads escapes it. It expands no entity but single characters. What looks bad is let pass
only where a strict parser, without a DTD, sees that it is not.
"""

from __future__ import annotations

import functools
import io
import os
import re
import stat
import sys
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..errors import ModelError

VALUE = rb"""\s*=\s*(?:"([^"]*)"|'([^']*)')"""
CLASS = re.compile(rb"(?<![\w.:-])class" + VALUE)
FILE = re.compile(rb"(?<![\w.:-])file" + VALUE)
# Every attribute that names a file, those of URDF and of the sides of a cube included, and a folder of files.
FILES = re.compile(rb"(?<![\w.:-])file(?:name|right|left|up|down|front|back)?" + VALUE)
FOLDERS = re.compile(rb"(?<![\w.:-])(?:mesh|texture|asset)dir" + VALUE)
MOST_FOLDERS = 100  # that one model looks for its files in
# A tag that names another model file, with all its attributes; MuJoCo's parser allows a space before the name.
ATTRIBUTES = rb"""(?![\w.:-])((?:\s*[^\s=<>"'/]+\s*=\s*(?:"[^"]*"|'[^']*'))*)"""
LINK = re.compile(rb"<\s*(include|model)" + ATTRIBUTES)
REPLICATE = re.compile(rb"<\s*replicate" + ATTRIBUTES)
COUNT = re.compile(rb"(?<![\w.:-])count" + VALUE)
NUMBER = re.compile(r"\s*\+?0*(\d{1,18})")
MOST_COPIES = 10**6  # of one element; MuJoCo itself stops at 65534 bodies, but only once it has made them
REFERENCE = re.compile(rb"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|(quot|amp|apos|lt|gt));")
NAMED = {b"quot": b'"', b"amp": b"&", b"apos": b"'", b"lt": b"<", b"gt": b">"}
ARCHIVE = b"PK\x03\x04"
LARGEST = 2**28  # bytes of all texts inside one archive


def refuse_hostile(text: str | bytes, where: str, folder: Path, assets: Mapping[str, bytes] | None = None) -> None:
    """Raise ModelError, naming file, line, element and attribute, for text that would end or lock the process.

    text: the model's XML. where: how messages call it. folder: that of the model file. assets: files by name.
    """
    start = text.encode(errors="replace") if isinstance(text, str) else text
    replicates, through = [], 1  # through: copies by all places that lead from one text to the next
    found_texts = list(texts(start, where, folder, assets or {}))
    _refuse_what_is_no_file(found_texts, folder, assets or {})
    for name, contents, _ in found_texts:
        for found in _classes_with_percent(contents):
            if _value(found) not in _harmless_classes(contents):
                raise _problem(f"unknown default class name {_value(found)!r}", name, contents, found.start(), "class")
        for tag in LINK.finditer(contents):
            if tag[1] == b"model" and not FILE.search(tag[2]) and not _all_models_have_files(contents):
                raise _problem("required attribute missing: 'file'", name, contents, tag.end(), "file")
        if first := REPLICATE.search(contents):
            most, linked = _copies(contents)
            replicates.append((name, contents, first.end(1), most, linked))
            through *= linked
    for name, contents, at, most, linked in replicates:
        if most * (through // linked) > MOST_COPIES:
            raise _problem(f"more than {MOST_COPIES} copies of one element", name, contents, at, "count")


def _problem(what: str, name: str, text: bytes, at: int, attribute: str) -> ModelError:
    before = text[:at]
    line, tag = before.count(b"\n") + 1, before[before.rfind(b"<") + 1 :].split() or [b""]
    element = tag[0].decode(errors="replace")
    return ModelError(f"{name}: {what}; Element {element!r}, attribute {attribute!r}, line {line}")


def _classes_with_percent(text: bytes) -> Iterator[re.Match[bytes]]:
    if b"%" in text or b"&#" in text:
        yield from (found for found in CLASS.finditer(text) if "%" in _value(found))


def _value(found: re.Match[bytes]) -> str:
    """An attribute's value with references to characters resolved; numbers wrap at 32 bits, as MuJoCo's parser has them."""

    def character(reference: re.Match[bytes]) -> bytes:
        if reference[3]:
            return NAMED[reference[3]]
        digits = (reference[1] or reference[2])[-4000:]
        code = int(digits, 16 if reference[1] else 10) % 2**32
        return chr(code).encode(errors="replace") if 0 < code <= sys.maxunicode else b"?"

    return REFERENCE.sub(character, found[1] if found[1] is not None else found[2]).decode(errors="surrogateescape")


def _copies(text: bytes) -> tuple[int, int]:
    """The most copies that a text makes of an element, and of an include or of an attached model, in replicates.

    Where no strict parser can tell which are in each other, all are.
    """
    root, most, linked = strictly_parsed(text), 1, 1
    if root is None:
        for tag in REPLICATE.finditer(text):
            most = _times(most, [_value(found) for found in COUNT.finditer(tag[1])])
        return most, most
    below = [(root, 1)]
    while below:
        element, copies = below.pop()
        if element.tag == "replicate":
            copies = _times(copies, [element.get("count", "")])
        elif element.tag in ("include", "attach"):
            linked = max(linked, copies)
        most = max(most, copies)
        below += [(child, copies) for child in element]
    return most, linked


def _times(copies: int, counts: list[str]) -> int:
    numbers = [int(number[1]) for number in map(NUMBER.match, counts) if number]
    return min(copies * max(numbers, default=1) or copies, 10 * MOST_COPIES)


def strictly_parsed(text: bytes) -> ET.Element | None:
    """The root, if the text is XML by the book, without a document type or name spaces, which could make it something else."""
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text or b"xmlns" in text:
        return None
    try:
        return ET.fromstring(text, ET.XMLParser(encoding="utf-8"))  # as MuJoCo does, whatever it says of its encoding
    except (ET.ParseError, ValueError, LookupError):
        return None


def _harmless_classes(text: bytes) -> set[str]:
    """Classes with "%" that the defaults of a text declare, or that stand in comments only."""
    root = strictly_parsed(text)
    if root is None:
        return set()
    used = {element.get("class", "") for element in root.iter()}
    out = {_value(found) for found in _classes_with_percent(text)} - used
    below = [root]
    while below:
        for child in below.pop().findall("default"):
            out.add(child.get("class", ""))
            below.append(child)
    return out


def _all_models_have_files(text: bytes) -> bool:
    root = strictly_parsed(text)
    return root is not None and all("file" in element.keys() for element in root.iter("model"))


def _refuse_what_is_no_file(found: list[tuple[str, bytes, Path]], folder: Path, assets: Iterable[str]) -> None:
    """Raise ModelError if a text names something that exists and is no regular file: a pipe, a device, a folder."""
    folders = {"", *(_value(match) for _, text, _ in found for match in FOLDERS.finditer(text))}
    if len(folders) > MOST_FOLDERS:
        raise ModelError(f"{found[0][0]}: more than {MOST_FOLDERS} folders of files")
    given, kind = {_base(name).lower() for name in assets}, functools.cache(_kind)
    for name, text, beside in found:
        for match in FILES.finditer(text):
            file = _value(match).replace("\\", "/")
            if not file:
                continue
            paths = _places(file, beside, folder, folders)
            special = {part for path in paths for part in (path, *path.parents) if kind(part) == "special"}
            if not special and _base(file).lower() not in given and not any(kind(path) == "file" for path in paths):
                special = {path for path in paths if kind(path) == "folder"}
            if special and _is_attribute(text, _value(match)):
                what = f"{min(special)} is not a regular file"
                attribute = match[0].split(b"=")[0].strip().decode()
                raise _problem(what, name, text, match.end(), attribute)


def _places(file: str, beside: Path, folder: Path, folders: Iterable[str]) -> set[Path]:
    """Where MuJoCo may look for a file: a folder of files may begin at any level between the model and the text."""
    below = beside.parts[len(folder.parts) :] if beside.is_relative_to(folder) else ()
    roots = [(folder.joinpath(*below[:i]), below[i:]) for i in range(len(below) + 1)] + [(folder, ()), (beside, ())]
    paths = {root.joinpath(f, *rest, end) for f in folders for root, rest in roots for end in (file, _base(file))}
    return paths | {Path(os.path.normpath(path)) for path in paths}  # MuJoCo drops ".." with what stands before it


def _base(file: str) -> str:
    return re.split(r"[/\\]", file)[-1]


def _kind(path: Path) -> str:
    """Whether a path is that of a "file", a "folder", something "special", or of nothing."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # there is none, it is not to be looked at, or it is no name of a file
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "special"


def _is_attribute(text: bytes, value: str) -> bool:
    """Whether an attribute may have this value; not, if a strict parser sees that it stands in comments only."""
    root = strictly_parsed(text)
    values = (other for element in root.iter() for other in element.attrib.values()) if root is not None else ()
    return root is None or any(value.split() == other.split() for other in values)  # it makes any white space a blank


def texts(start: bytes, where: str, folder: Path, assets: Mapping[str, bytes]) -> Iterator[tuple[str, bytes, Path]]:
    """Name, contents and folder of a model's text, of all assets, and of every file that these may include or attach."""
    waiting = [(where, start, folder), *((f"asset {name!r}", contents, folder) for name, contents in assets.items())]
    seen: set[Path] = set()
    while waiting:
        name, contents, beside = waiting.pop()
        if contents.startswith(ARCHIVE):
            waiting += [(f"{name}: {member}", part, beside) for member, part in _members(name, contents)]
            continue
        yield name, contents, beside
        for tag in LINK.finditer(contents):
            for found in FILE.finditer(tag[2]):
                for place in (folder, beside):
                    path = place / _value(found).replace("\\", "/")
                    for part in (path, *path.parents):  # an archive stands for a folder
                        waiting += [(str(part), new, part.parent) for new in _contents(part) if part not in seen]
                        seen.add(part)


def _contents(path: Path) -> Iterator[bytes]:
    """What a file holds, if there is such a file."""
    try:
        if path.is_file():
            yield path.read_bytes()
    except (OSError, ValueError):  # not to be read, or no name of a file
        return


def _members(name: str, contents: bytes) -> Iterator[tuple[str, bytes]]:
    """Texts in a zip archive."""
    room = LARGEST
    try:
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as file:
                    part = file.read(room)
                room -= len(part)
                if not room:
                    raise ValueError(f"more than {LARGEST} bytes")
                if not part.startswith(ARCHIVE):
                    yield entry.filename, part
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError) as problem:
        raise ModelError(f"{name}: an archive that cannot be read: {problem}") from None
