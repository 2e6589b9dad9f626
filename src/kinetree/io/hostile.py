"""Text that MuJoCo's reader must not see: it would end the process, or leave it hanging.

MuJoCo 4.0.0 hands "unknown default class name '…'" to printf as the format itself, so `class="%n"` ends the process and
`class="%p"` prints addresses. It does so with the attribute `class` alone; all other text of a file passes through "%s".
Such a class is refused here, in MuJoCo's words, unless it is declared: names and files with "%" load. And an asset
`<model>` without a file leaves MuJoCo's reader locked, so that the next model never loads. And replicates in replicates,
also by way of includes and attached models, ask for more copies than any memory holds.

The scan is wider than MuJoCo's parser: it looks into comments, and into every file that an include or an attached model
may mean, so nothing that MuJoCo reads escapes it. It expands no entity but single characters. What looks bad is let pass
only where a strict parser, without a DTD, sees that it is not.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import ModelError

VALUE = rb"""\s*=\s*(?:"([^"]*)"|'([^']*)')"""
CLASS = re.compile(rb"(?<![\w.:-])class" + VALUE)
FILE = re.compile(rb"(?<![\w.:-])file" + VALUE)
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
    for name, contents in texts(start, where, folder, assets or {}):
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
        return bytes([code]) if 0 < code < 128 else b"?"

    return REFERENCE.sub(character, found[1] if found[1] is not None else found[2]).decode(errors="replace")


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


def texts(start: bytes, where: str, folder: Path, assets: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Name and contents of a model's text, of all assets, and of every file that one of these may include or attach."""
    waiting = [(where, start, folder), *((f"asset {name!r}", contents, folder) for name, contents in assets.items())]
    seen: set[Path] = set()
    while waiting:
        name, contents, beside = waiting.pop()
        if contents.startswith(ARCHIVE):
            waiting += [(f"{name}: {member}", part, beside) for member, part in _members(name, contents)]
            continue
        yield name, contents
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
