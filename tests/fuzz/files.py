"""Damaged model files: MJCF, URDF, meshes and what they include, mutated as text and as bytes, from strings and from disk."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.test_fields import RICH

OPERATIONS = 200
MODELS = Path(__file__).parents[1] / "models"
LARGEST_TEXT = 30_000
# What most models lack: text that builds other text, files, and elements that name each other.
BUILDERS = """<mujoco model="builders"><compiler autolimits="true"/><size memory="1M" nuserdata="3"/>
<default><default class="a"><geom size=".1"/><default class="50%"><joint damping="1"/></default></default></default>
<asset><mesh name="cube" file="cube.obj" scale="1 1 1"/><mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<mesh name="ball" builtin="sphere" params="2"/>
<hfield name="hills" nrow="3" ncol="3" size="1 1 1 1" elevation="0 1 0 1 2 1 0 1 0"/>
<texture name="t" type="2d" builtin="checker" width="8" height="8" rgb1="1 1 1" rgb2="0 0 0"/>
<material name="m" texture="t" texrepeat="2 2"/><model name="other" file="other.xml"/></asset>
<worldbody><geom type="hfield" hfield="hills" material="m"/><include file="part.xml"/>
<replicate count="3" offset=".5 0 0" euler="0 0 10">
<body name="r"><joint class="50%"/><geom class="a"/><site name="rs"/></body></replicate>
<frame name="f" pos="0 0 1"><attach model="other" body="b" prefix="x_"/></frame>
<body name="mesh"><freejoint/><geom type="mesh" mesh="cube"/><geom type="mesh" mesh="tetra"/>
<geom type="mesh" mesh="ball"/></body></worldbody>
<tendon><spatial name="rope" range="0 1"><site site="rs0"/><site site="rs1"/></spatial></tendon>
<actuator><position name="p" tendon="rope" kp="3"/></actuator>
<sensor><tendonpos tendon="rope"/><user dim="3"/></sensor><keyframe><key name="k" time="1"/></keyframe>
<custom><numeric name="n" size="4" data="1 2"/><text name="x" data="50% %s"/>
<tuple name="y"><element objtype="body" objname="mesh"/></tuple>
</custom></mujoco>"""
FLEX = """<mujoco><worldbody><body name="b">
<flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" dim="2" radius=".01">
<edge equality="true"/><contact selfcollide="none"/></flexcomp></body></worldbody></mujoco>"""
ASSETS = {
    "cube.obj": b"".join(b"v %d %d %d\n" % (i & 1, i >> 1 & 1, i >> 2) for i in range(8))
    + b"f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n",
    "part.xml": b"<mujoco><body name='part'><geom size='.2'/></body></mujoco>",
    "other.xml": b"<mujoco><worldbody><body name='b'><joint/><geom size='.3'/></body></worldbody></mujoco>",
}
VALUES = (
    "", "%n", "%s%s%s%s%s%s", "%1000000d", "50%", "&#37;n", "nan", "inf", "-inf", "1e308", "1e400", "-1", "0", "2147483647",
    "-2147483648", "4294967296", "99999999999999999999", "0x10", "1 2 3 4 5 6 7 8 9", "a" * 5000, "1 " * 2000, "true", "auto",
    "../../..", "/dev/null", "cube.obj", "part.xml", "mesh", "r0", "é\u4e2d", "&amp;&lt;", "&e;", "\\0", "world", "1T",
)  # fmt: skip
NAMES = (
    "class",
    "childclass",
    "file",
    "name",
    "count",
    "mesh",
    "body",
    "joint",
    "site",
    "nrow",
    "size",
    "data",
    "type",
    "prefix",
)
PNG = b"\x89PNG\r\n\x1a\n"
ATTRIBUTE = re.compile(r"([\w]+)=([\"'])(.*?)\2", re.S)
ELEMENT = re.compile(r"<(\w+)([^<>]*)/>")


def sources() -> list[str]:
    """Sound texts."""
    files = [*sorted(MODELS.glob("*.xml")), *sorted(MODELS.glob("*.urdf"))]
    return [BUILDERS, BUILDERS, FLEX, RICH, *(text for file in files if len(text := file.read_text()) < LARGEST_TEXT)]


def mutated(text: str, rng: np.random.Generator) -> str:
    """The text with one thing wrong."""
    attributes, elements = list(ATTRIBUTE.finditer(text)), list(ELEMENT.finditer(text))
    kind = int(rng.integers(11)) if attributes and elements else 5
    one, two = (attributes[rng.integers(len(attributes))] for _ in range(2)) if attributes else (None, None)
    element = elements[rng.integers(len(elements))] if elements else None
    at, value = int(rng.integers(len(text) + 1)), str(rng.choice(VALUES))
    if kind <= 2:  # another value
        return text[: one.start(3)] + value + text[one.end(3) :]
    if kind == 3:  # a value of another attribute
        return text[: one.start(3)] + two[3] + text[one.end(3) :]
    if kind == 4:  # another attribute
        return text[: one.start(1)] + str(rng.choice(NAMES)) + text[one.end(1) :]
    if kind == 5:  # truncated
        return text[:at]
    if kind == 6:  # one more attribute, or one less
        new = f' {rng.choice(NAMES)}="{value}"' if rng.random() < 0.5 else ""
        return text[: one.start()] + new + text[one.end() :]
    if kind == 7:  # an element twice, or elsewhere, or not at all
        without = text[: element.start()] + text[element.end() :]
        return (text, without)[rng.integers(2)][:at] + (element[0], "")[rng.integers(2)] + without[at:]
    if kind == 8:  # deep
        depth = int(rng.choice([3, 60, 490, 510, 5000]))
        tag = str(rng.choice(["body", "default", "frame", "replicate count='2'"]))
        return (
            text[: element.start()]
            + f"<{tag}>" * depth
            + element[0]
            + f"</{tag.split()[0]}>" * depth
            + text[element.end() :]
        )
    if kind == 9:  # other characters
        return text[:at] + chr(int(rng.integers(1, 0x2FF))) * int(rng.integers(1, 4)) + text[at + 1 :]
    head = "<!DOCTYPE m [<!ENTITY e 'eeeeeeeeee'><!ENTITY f '&e;&e;&e;'>]>"
    return str(rng.choice([head, "<?xml version='1.0' encoding='utf-16'?>", "\ufeff", "<!--", "<![CDATA["])) + text


def damaged(contents: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with some of them wrong, missing, or doubled."""
    out = bytearray(contents)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(max(len(out), 1)))
        kind = int(rng.integers(4))
        if kind == 0 and out:
            out[at] = int(rng.integers(256))
        elif kind == 1:
            del out[at : at + int(rng.integers(1, 9))]
        elif kind == 2:
            out[at:at] = out[at : at + int(rng.integers(1, 99))]
        else:
            out[at : at + 4] = np.array(rng.choice([-1, 0, 2**31 - 1, 10**6]), np.int32).tobytes()
    return bytes(out)


def chunk(kind: bytes, contents: bytes) -> bytes:
    """A part of a PNG image."""
    check = zlib.crc32(kind + contents).to_bytes(4, "big")
    return len(contents).to_bytes(4, "big") + kind + contents + check


def binary_asset(rng: np.random.Generator) -> tuple[str, str, bytes]:
    """A file that is no text: the element that names it, its name and its contents."""
    kind = int(rng.integers(3))
    if kind == 0:
        grid = np.array([3, 4], np.int32).tobytes() + rng.random(12, np.float32).tobytes()
        return '<hfield name="x" file="x.bin" size="1 1 1 1" content_type="image/vnd.mujoco.hfield"/>', "x.bin", grid
    if kind == 1:
        head = chunk(b"IHDR", np.array([4, 4], ">u4").tobytes() + b"\x08\x02\0\0\0")
        rows = chunk(b"IDAT", zlib.compress((b"\0" + bytes(12)) * 4))
        if rng.random() < 0.5:
            return '<hfield name="x" file="x.png" size="1 1 1 1"/>', "x.png", PNG + head + rows + chunk(b"IEND", b"")
        return '<texture name="x" type="2d" file="x.png"/>', "x.png", PNG + head + rows + chunk(b"IEND", b"")
    counts = np.array([4, 0, 1, 1], np.int32).tobytes()
    bone = b"mesh".ljust(40, b"\0") + np.zeros(7, np.float32).tobytes() + np.int32(4).tobytes()
    bone += np.arange(4, dtype=np.int32).tobytes() + np.ones(4, np.float32).tobytes()
    skin = counts + np.zeros(12, np.float32).tobytes() + np.array([0, 1, 2], np.int32).tobytes() + bone
    return '<skin name="x" file="x.skn"/>', "x.skn", skin


def binary_mesh(rng: np.random.Generator) -> tuple[str, bytes]:
    """A tetrahedron as STL or MSH."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
    if rng.random() < 0.5:
        triangles = b"".join(bytes(12) + corners[face].tobytes() + bytes(2) for face in faces)
        return "cube.stl", bytes(80) + np.int32(4).tobytes() + triangles
    return "cube.msh", np.array([4, 0, 0, 4], np.int32).tobytes() + corners.tobytes() + faces.tobytes()


def lines(rng: np.random.Generator) -> Iterator[str]:
    """Write and load, one damaged model after another; where one loads, look at it."""
    texts = sources()
    yield (
        "def look(m):\n    d = kt.Data(m)\n    kt.kinematics(m, d)\n    kt.com_pos(m, d)\n"
        "    assert m.to_mujoco().nbody == m.nbody and len(m.names('body')) == m.nbody"
    )
    yield f"for name, contents in {ASSETS!r}.items():\n    (tmp / name).write_bytes(contents)"
    for i in range(OPERATIONS):
        text, assets = str(texts[rng.integers(len(texts))]), dict(ASSETS)
        for _ in range(int(rng.integers(1, 3))):
            text = mutated(text, rng)
        kind = int(rng.integers(5))
        if kind == 0:
            yield f"look(kt.load({text!r}, {assets!r}))"
        elif kind == 1:
            encoding = str(rng.choice(["utf-8", "utf-16", "latin-1", "utf-8-sig"]))
            name = f"m{i}.{rng.choice(['xml', 'urdf', 'mjcf'])}"
            yield f"_ = (tmp / {name!r}).write_bytes({text.encode(encoding, errors='replace')!r})"
            yield f"look(kt.load(tmp / {name!r}))"
        elif kind == 2:
            name = str(rng.choice(list(assets)))
            assets[name] = damaged(assets[name], rng)
            yield f"look(kt.load({BUILDERS!r}, {assets!r}))"
        elif kind == 3:
            element, name, contents = binary_asset(rng)
            assets[name] = damaged(contents, rng)
            yield f"look(kt.load({BUILDERS.replace('</asset>', element + '</asset>')!r}, {assets!r}))"
        else:
            name, contents = binary_mesh(rng)
            assets[name] = damaged(contents, rng)
            yield f"look(kt.load({BUILDERS.replace('cube.obj', name)!r}, {assets!r}))"
