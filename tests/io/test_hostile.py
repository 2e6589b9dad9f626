"""Model files that would end or lock the process are refused before MuJoCo reads them; others with "%" load."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import mujoco
import pytest

import kinetree as kt
from kinetree.io.hostile import refuse_hostile, strictly_parsed
from tests import corpora

WORLD = "<mujoco><worldbody>{}</worldbody></mujoco>"
BAD = WORLD.format('<geom class="%n" size="1"/>')
UNKNOWN = "unknown default class name"
# Ways to write the class %n on an element, all of which MuJoCo's parser reads as %n; the process would end.
SPELLINGS = [
    'class="%n"', "class='%n'", 'class = "%n"', 'class\n=\n"%n"', 'class="&#37;n"', 'class="&#x25;n"', "class='&#37;&#110;'",
    'class="&#0000000000037;n"', 'class="&#4294967333;n"', 'class="%&apos;n"', 'name="a"class="%n"', 'class="%s%s%s%s%s%s"',
    'class="%1$n"', 'class="%-5lln"', 'class="100%n"',
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_formats_are_refused(spelling):
    with pytest.raises(
        kt.ModelError, match=f"^XML string: {UNKNOWN} .*; Element 'geom', attribute 'class', line [1-3]$"
    ):
        kt.load(WORLD.format(f"<geom {spelling} size='1'/>"))


ELEMENTS = {
    "body": "<body><geom class='%n' size='1'/></body>", "joint": "<body><joint class='%n'/></body>",
    "site": "<site class='%n'/>",
    "camera": "<camera class='%n'/>", "light": "<light class='%n'/>", "spaced": "< geom class='%n' size='1'/>",
    "no comment": "<geom name='<!--' class='%n' size='1'/><geom name='-->' size='1'/>",
}  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS)
def test_formats_on_other_elements(element):
    with pytest.raises(kt.ModelError, match=UNKNOWN):
        kt.load(WORLD.format(ELEMENTS[element]))


def test_messages_name_file_line_element_and_attribute(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text("<mujoco>\n<worldbody>\n<site/> <camera fovy='4' class='50% of %p'/></worldbody></mujoco>")
    with pytest.raises(kt.ModelError) as caught:
        kt.load(path)
    assert str(caught.value) == f"{path}: {UNKNOWN} '50% of %p'; Element 'camera', attribute 'class', line 3"


# other files


def archive(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("part.xml", text)
    return out.getvalue()


LINKS = {
    "include": "<mujoco><include file='part.xml'/></mujoco>",
    "entity": "<mujoco><include file='part&#46;xml'/></mujoco>",
    "spaced": "<mujoco>< include\nfile = 'part.xml'/></mujoco>",
    "attached": "<mujoco><asset><model name='m' file='part.xml'/></asset></mujoco>",
    "archive": "<mujoco><asset><model name='m' file='part.mjz'/></asset></mujoco>",
    "in archive": "<mujoco><include file='part.mjz/part.xml'/></mujoco>",
}  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("nested", [False, True])
def test_linked_files(link, nested, tmp_path):
    """From a folder, by a path relative to the including file or to the model, and from assets."""
    files = {"part.xml": BAD.encode(), "part.mjz": archive(BAD), "main.xml": LINKS[link].encode()}
    start = "main.xml"
    if nested:
        files = {f"sub/{name}": contents for name, contents in files.items()}
        files["top.xml"] = b"<mujoco><include file='sub/main.xml'/></mujoco>"
        start = "top.xml"
    for name, contents in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(contents)
    with pytest.raises(kt.ModelError, match=f"part.*: {UNKNOWN} '%n'; Element 'geom'"):
        kt.load(tmp_path / start)
    text = files.pop(start).decode()
    with pytest.raises(kt.ModelError, match=f"asset .*part.*: {UNKNOWN} '%n'"):
        kt.load(text, files)


def test_includes_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "part.xml").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kt.ModelError, match=f"part.xml: {UNKNOWN}"):
        kt.load("<mujoco><include file='part.xml'/></mujoco>")


def test_files_that_include_each_other_end(tmp_path):
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.xml").write_text(f"<mujoco><include file='{other}.xml'/></mujoco>")
    with pytest.raises(kt.ModelError, match="already included|more than one"):
        kt.load(tmp_path / "a.xml")


def test_damaged_archives():
    with pytest.raises(kt.ModelError, match="asset 'part.mjz': an archive that cannot be read"):
        kt.load(LINKS["archive"], {"part.mjz": archive(BAD)[:60]})


def test_urdf():
    with pytest.raises(kt.ModelError, match=UNKNOWN):
        kt.load("<robot name='r'><link name='a'><visual class='%n'/></link></robot>")


def test_a_model_asset_without_a_file():
    """MuJoCo answers with an unknown exception, after which its next model never loads."""
    for text in ("<model/>", "<model name='m' content_type='text/xml'/>"):
        with pytest.raises(kt.ModelError, match="^XML string: required attribute missing: 'file'; Element 'model'"):
            kt.load(f"<mujoco><asset>{text}</asset></mujoco>")
    kt.load("<mujoco><!-- see <model/> --><worldbody><geom size='1'/></worldbody></mujoco>")


def test_copies_without_end():
    """Replicates in replicates multiply; as many as a model may have load."""

    def nest(depth: int, count: str) -> str:
        return WORLD.format(f"<replicate count='{count}'>" * depth + "<geom size='1'/>" + "</replicate>" * depth)

    for depth, count in ((60, "2"), (3, "1000"), (1, "2000000000"), (8, " 10 ")):
        with pytest.raises(
            kt.ModelError, match="^XML string: more than 1000000 copies.*; Element 'replicate', attribute 'count'"
        ):
            kt.load(nest(depth, count))
    assert kt.load(nest(3, "4")).ngeom == 64
    beside = "<replicate count='1000'><site/></replicate>" * 3
    assert kt.load(WORLD.format(beside)).nsite == 3000


NESTED = "<replicate count='1000'>{}</replicate>"
MANY = "<replicate count='1001'><geom size='.1'/></replicate>"
ATTACHED = "<mujoco><asset><model name='m' file='part.xml'/></asset><worldbody>{}</worldbody></mujoco>"
# A model and the file part.xml: more than a million copies in all, though neither makes as many.
APART = {
    "include": (WORLD.format(NESTED.format("<include file='part.xml'/>")), f"<mujoco>{MANY}</mujoco>"),
    "spaced include": (WORLD.format(NESTED.format("< include file='part.xml'/>")), f"<mujoco>{MANY}</mujoco>"),
    "attached": (ATTACHED.format(NESTED.format("<attach model='m' body='b' prefix='p'/>")),
                 WORLD.format(f"<body name='b'>{MANY}</body>")),
    "an end in a comment": (WORLD.format(f"<replicate count='1000'><!-- </replicate> -->{MANY}</replicate>"), "<mujoco/>"),
    "an end in an attribute": (
        WORLD.format(f"<replicate count='1000'><site name='</replicate>'/>{MANY}</replicate>"), "<mujoco/>"),
    "signs and zeros": (
        WORLD.format(f"<replicate count='+{'0' * 20}1000'>{MANY}</replicate>"), "<mujoco/>"),
    "name space": (WORLD.replace("<mujoco", "<mujoco xmlns='a'").format(NESTED.format(MANY)), "<mujoco/>"),
}  # fmt: skip


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("case", APART)
def test_copies_multiply_through_files(case, in_memory, tmp_path):
    """The scan alone: MuJoCo would be busy for hours."""
    text, part = APART[case]
    if not in_memory:
        (tmp_path / "part.xml").write_text(part)
    assets = {"part.xml": part.encode()} if in_memory else {}
    with pytest.raises(kt.ModelError, match="more than 1000000 copies.*; Element 'replicate', attribute 'count'"):
        refuse_hostile(text, "XML string", tmp_path, assets)
    fewer, less = (t.replace("1000", "2").replace("1001", "2") for t in (text, part))
    refuse_hostile(fewer, "XML string", tmp_path, {"part.xml": less.encode()} if in_memory else {})


def test_name_spaces_hide_nothing(tmp_path):
    """MuJoCo's parser knows none: to it an element of a name space is as any other."""
    with pytest.raises(kt.ModelError, match="required attribute missing: 'file'"):
        refuse_hostile("<mujoco xmlns='a'><asset><model name='m'/></asset></mujoco>", "XML string", tmp_path)


def test_copies_in_files_beside_each_other_load(tmp_path):
    """Replicates that are not in each other do not multiply, nor does one count twice that holds an include."""
    for name in "abcd":
        (tmp_path / f"{name}.xml").write_text("<mujoco><replicate count='2000'><site/></replicate></mujoco>")
    (tmp_path / "e.xml").write_text("<mujoco><site/></mujoco>")
    links = "".join(f"<include file='{name}.xml'/>" for name in "abcd")
    path = tmp_path / "model.xml"
    path.write_text(WORLD.format(links + "<replicate count='3000'><include file='e.xml'/></replicate>"))
    with pytest.raises(kt.ModelError, match="more than"):  # as if a.xml were in the replicate
        kt.load(path)
    path.write_text(WORLD.format(links + "<replicate count='3'><include file='e.xml'/></replicate>"))
    assert kt.load(path).nsite == mujoco.MjModel.from_xml_path(str(path)).nsite == 8003


# what is no file


def asset(element: str) -> str:
    return f"<mujoco><asset>{element}</asset><worldbody><geom size='1'/></worldbody></mujoco>"


# Texts that name "odd" with an ending; MuJoCo opens it where `place` says.
ODD = {
    "include": ("<mujoco><include file='odd.xml'/></mujoco>", "odd.xml"),
    "in an archive": ("<mujoco><include file='odd.mjz/part.xml'/></mujoco>", "odd.mjz"),
    "model": (asset("<model name='m' file='odd.xml'/>"), "odd.xml"),
    "mesh": (asset("<mesh name='m' file='odd.stl'/>"), "odd.stl"),
    "entity": (asset("<mesh name='m' file='&#111;dd.stl'/>"), "odd.stl"),
    "foreign letters": (asset("<mesh name='m' file='&#233;.stl'/>"), "é.stl"),
    "a line's end": (asset("<mesh name='m' file='o\ndd.stl'/>"), "o\ndd.stl"),
    "texture": (asset("<texture name='t' type='2d' file='odd.png'/>"), "odd.png"),
    "cube": (asset("<texture name='t' type='cube' fileright='odd.png'/>"), "odd.png"),
    "hfield": (asset("<hfield name='h' size='1 1 1 1' file='odd.bin'/>"), "odd.bin"),
    "skin": (asset("<skin name='s' file='odd.skn'/>"), "odd.skn"),
    "flexcomp": (WORLD.format("<flexcomp name='f' type='mesh' file='odd.obj'/>"), "odd.obj"),
    "meshdir": (asset("<mesh name='m' file='odd.stl'/>").replace("<asset", "<compiler meshdir='a'/><asset"), "a/odd.stl"),
    "a folder that is not there": (asset("<mesh name='m' file='nowhere/../odd.stl'/>"), "odd.stl"),
    "strippath": (asset("<mesh name='m' file='a/b/odd.stl'/>").replace("<asset", "<compiler strippath='true'/><asset"),
                  "odd.stl"),
    "included": ("<mujoco><compiler meshdir='a'/><include file='b/part.xml'/></mujoco>", "a/b/odd.stl"),
    "attached": ("<mujoco><asset><model name='m' file='b/other.xml'/></asset></mujoco>", "b/c/odd.stl"),
    "urdf": ("<robot name='r'><link name='a'><collision><geometry><mesh filename='package://x/odd.stl'/></geometry>"
             "</collision></link></robot>", "odd.stl"),
}  # fmt: skip
PARTS = {
    "b/part.xml": asset("<mesh name='m' file='odd.stl'/>"),
    "b/other.xml": "<mujoco><compiler meshdir='c'/><asset><mesh name='m' file='odd.stl'/></asset></mujoco>",
}
LOADS = "import kinetree as kt, sys; kt.load(sys.argv[1])"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("case", ODD)
def test_pipes_and_folders_are_refused(case, tmp_path):
    """MuJoCo would wait for the pipe for ever; the scan alone is called, lest the test does."""
    text, place = ODD[case]
    for name, part in PARTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(part)
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    refused = f"{re.escape(str(path))} is not a regular file; Element .*, attribute 'file.*', line [12]$"
    with pytest.raises(kt.ModelError, match=refused):
        refuse_hostile(text, "XML string", tmp_path)
    path.unlink()
    refuse_hostile(text, "XML string", tmp_path)
    if case == "in an archive":
        return  # a folder there is as good
    path.mkdir()
    with pytest.raises(kt.ModelError, match="is not a regular file"):
        refuse_hostile(text, "XML string", tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_loading_what_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("odd.xml")
    os.mkfifo("odd.mjb")
    Path("main.xml").write_text(ODD["include"][0])
    for source in ("odd.xml", "odd.mjb", "main.xml", ODD["include"][0]):
        done = subprocess.run([sys.executable, "-c", LOADS, source], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "not a regular file" in done.stderr.splitlines()[-1], done.stderr
    device = "<mujoco><include file='/dev/null'/></mujoco>"
    with pytest.raises(kt.ModelError, match="/dev/null is not a regular file; Element 'include'"):
        kt.load(device)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_specs_that_name_what_is_no_file(tmp_path):
    """In a process of its own: MuJoCo would wait for the pipe."""
    (tmp_path / "é").mkdir()
    os.mkfifo(tmp_path / "é" / "odd.stl")
    (tmp_path / "main.xml").write_text(ODD["meshdir"][0].replace("meshdir='a'", "meshdir='é'"))
    load_spec = "import kinetree as kt, mujoco; kt.load(mujoco.MjSpec.from_file('main.xml'))"
    done = subprocess.run([sys.executable, "-c", load_spec], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert "odd.stl is not a regular file; Element 'mesh'" in done.stderr.splitlines()[-1], done.stderr


def test_names_of_folders_that_harm_nothing_load(tmp_path, monkeypatch):
    """In comments, beside an asset of that name, beside a file of that name, and no name at all."""
    monkeypatch.chdir(tmp_path)
    Path("part.xml").mkdir()
    part = WORLD.format("<geom size='1'/>")
    assert kt.load("<mujoco><!-- <include file='part.xml'/> --></mujoco>").ngeom == 0
    assert kt.load(LINKS["include"], {"part.xml": part.encode()}).ngeom == 1
    Path("sub").mkdir()
    Path("sub/part.xml").write_text(part)
    refuse_hostile(
        "<mujoco><compiler meshdir='sub'/><asset><mesh file='part.xml'/></asset></mujoco>", "XML string", Path()
    )
    assert kt.load(asset("<texture name='t' type='2d' builtin='flat' width='2' height='2' file=''/>")).ngeom == 1


def test_folders_without_end():
    many = "".join(f"<compiler meshdir='{i}'/>" for i in range(200))
    with pytest.raises(kt.ModelError, match="^XML string: more than 100 folders of files"):
        kt.load(f"<mujoco>{many}</mujoco>")


# what is no danger


HARMLESS = {
    "names": WORLD.format("<body name='%n%s'><joint name='%p'/><geom name='100%' size='1'/></body>"),
    "declared class": "<mujoco><default><default class='%n'><geom size='1'/></default></default>"
    "<worldbody><geom class='%n'/></worldbody></mujoco>",
    "nested class": "<mujoco><default><default class='a'><default class='%s'><geom size='1'/></default></default></default>"
    "<worldbody><body childclass='%s'><geom/><geom class='%s'/></body></worldbody></mujoco>",
    "comment": WORLD.format("<!-- <geom class='%n'/> --><geom size='1'/>"),
    "text": "<mujoco><custom><text name='t' data='class=%n 50% of &quot;%s&quot;'/></custom></mujoco>",
    "byte order mark": "\ufeff" + WORLD.format("<geom name='%d' size='1'/>"),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_percent_signs_that_harm_nothing_load(case):
    theirs = mujoco.MjModel.from_xml_string(HARMLESS[case].lstrip("\ufeff"))
    assert kt.load(HARMLESS[case]).nbody == theirs.nbody


def test_a_file_name_with_percent(tmp_path):
    (tmp_path / "50%n.xml").write_text(WORLD.format("<geom size='1'/>"))
    (tmp_path / "m%s.xml").write_text("<mujoco><include file='50%n.xml'/></mujoco>")
    assert kt.load(tmp_path / "m%s.xml").ngeom == 1


def test_what_only_looks_declared_is_not():
    declared = "<default><default class='%n'/></default>"
    for hidden in (
        f"<!-- {declared} -->",
        f"<![CDATA[{declared}]]>",
        f"<custom>{declared}</custom>",
        f"<x y='{declared}'/>",
    ):
        with pytest.raises(kt.ModelError, match=UNKNOWN):
            kt.load(f"<mujoco>{hidden}<worldbody><geom class='%n' size='1'/></worldbody></mujoco>")


@pytest.mark.parametrize("name, path", corpora.own_models())
def test_own_models_pass(name, path):
    refuse_hostile(Path(path).read_bytes(), name, Path(path).parent)


# reading is safe itself


def test_entities_are_never_expanded():
    """A document type makes the strict parser refuse, so that no bomb goes off and no file is opened."""
    levels = "".join(f"<!ENTITY e{i + 1} '{f'&e{i};' * 10}'>" for i in range(12))
    bomb = f"<!DOCTYPE mujoco [<!ENTITY e0 'ha'>{levels}]>" + WORLD.format("<geom class='%n&e12;' size='1'/>")
    outside = "<!DOCTYPE m [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" + WORLD.format("<geom class='%n&x;' size='1'/>")
    for text in (bomb, outside):
        assert strictly_parsed(text.encode()) is None
        with pytest.raises(kt.ModelError, match=UNKNOWN):
            kt.load(text)
    robot = "<!DOCTYPE robot [<!ENTITY e0 'ha'>" + levels + "]><robot name='r'><link name='&e12;'/></robot>"
    kt.load(robot)


@pytest.mark.parametrize("depth", [400, 100_000])
def test_deep_nesting(depth):
    text = WORLD.format("<body>" * depth + "<geom class='%n'/>" + "</body>" * depth)
    with pytest.raises(kt.ModelError, match=UNKNOWN):
        kt.load(text)
    with pytest.raises(kt.ModelError, match="XML|deep|Error"):
        kt.load(text.replace(" class='%n'", ""))


def test_lenient_texts_that_mujoco_reads_load():
    """A wrong encoding in the declaration, text around the root: MuJoCo's parser does not mind."""
    for text in ("<?xml version='1.0' encoding='utf-16'?>" + WORLD.format("<geom name='%n' size='1'/>"),
                 WORLD.format("<geom name='&unknown; %n' size='1'/>")):  # fmt: skip
        assert mujoco.MjModel.from_xml_string(text).ngeom == kt.load(text).ngeom == 1


ORACLE = "import mujoco, sys; mujoco.MjModel.from_xml_string(sys.argv[1])"


def test_mujoco_would_have_ended():
    """The reason for all this; when it no longer does, `hostile` can go."""
    done = subprocess.run([sys.executable, "-c", ORACLE, BAD], capture_output=True, cwd="/")
    assert done.returncode < 0
