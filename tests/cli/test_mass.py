"""`kinetree mass`: the table and its total, forms for other tools, pictures, and every broken row."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli import mass_figure
from kinetree.cli.common import output

MP = kt.MassProperties
PNG = b"\x89PNG\r\n\x1a\n"

CSV = """name,mass,x,y,z,Ixx,Iyy,Izz
left,1,0,0,0,,,
right,1,2,0,0,,,
[red]box[/red],2,1,0,3,1,2,2.5
"""
HOLE = """title = "Block"
[[component]]
name = "block"
shape = "box"
mass = 12
dx = 1
dy = 2
dz = 3
[[component]]
name = "bore"
hole = true
shape = "cylinder"
radius = 0.1
length = 3
density = 2
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "parts.csv").write_text(CSV)
    (tmp_path / "block.toml").write_text(HOLE)
    (tmp_path / "point.csv").write_text("name,mass\nonly,3\n")
    (tmp_path / "odd.csv").write_text("name,mass,Ixx,Iyy,Izz\nodd one,1,1,1,3\nfine,1,1,1,1\n")
    (tmp_path / "bad.csv").write_text("name,mass [g],x\na,-1,0\nb,1 foot,\na,2,0\n")


def total():
    return kt.aggregate([MP.point_mass(1, 0), MP.point_mass(1, (2, 0, 0)), MP.diagonal(2, (1, 0, 3), 1, 2, 2.5)])


def test_table_total_and_axes(kinetree, files):
    status, out, err = kinetree("mass", "parts.csv", "--about", "1", "0", "-1")
    assert (status, err) == (0, "")
    for word in ("left", "right", "[red]box[/red]", "total", "mass [kg]", "Iyz [kg·m²]"):
        assert word in out, word
    row = next(line for line in out.splitlines() if "total" in line)
    cells = [float(cell) for cell in row.replace("│", " ").split()[1:]]
    i = total().inertia
    np.testing.assert_allclose(
        cells, [4, 1, 0, 1.5, i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]], rtol=1e-4, atol=1e-9
    )
    about = total().inertia_about_point((1, 0, -1))
    assert f"inertia about (1, 0, -1) m: Jxx {about[0, 0]:.5g}, Jyy {about[1, 1]:.5g}" in out
    for moment in total().principal_moments():
        assert f"principal moment {moment:.5g} kg·m² about (" in out


def test_a_narrow_terminal_shows_the_total(kinetree, files, monkeypatch):
    for width in (80, 20):
        monkeypatch.setattr(output, "_width", width)
        _, out, _ = kinetree("mass", "parts.csv")
        lines = out.splitlines()
        assert "total mass: 4 kg" in lines and "total cg: (1, 0, 1.5) m" in lines
        i = total().inertia
        assert any(
            line.startswith(f"total inertia about its cg: Ixx {i[0, 0]:.5g}, Iyy {i[1, 1]:.5g}") for line in lines
        )
        rows = [line for line in lines if line.startswith(("┃", "│"))]
        assert all(len(line) <= width for line in rows) and "…" not in out
        if width == 80:
            assert sum("│ left " in line for line in rows) == 2, "mass and cg in one table, moments in another"


def test_json(kinetree, files):
    status, out, err = kinetree("mass", "block.toml", "--json", "--about", "0", "0", "1")
    assert (status, err) == (0, "")
    values = json.loads(out)
    block = MP.solid_box(12, 1, 2, 3) - MP.solid_cylinder(density=2, radius=0.1, length=3)
    assert MP.from_dict(values["total"]).isclose(block, 1e-12) and values["title"] == "Block" and values["possible"]
    assert values["components"]["bore"]["hole"] and values["components"]["bore"]["mass"] < 0 and "-0.0," not in out
    np.testing.assert_allclose(values["principal_moments"], block.principal_moments())
    assert values["about"]["point"] == [0, 0, 1]
    np.testing.assert_allclose(values["about"]["inertia"], block.inertia_about_point((0, 0, 1)))
    values = json.loads(kinetree("mass", "block.toml", "--json")[1])
    assert values["about"]["point"] == [0, 0, 0]
    np.testing.assert_allclose(values["about"]["inertia"], block.inertia_about_point((0, 0, 0)))


def test_elements_for_simulators(kinetree, files):
    status, out, _ = kinetree("mass", "parts.csv", "--mjcf")
    assert status == 0 and MP.from_mjcf_body(out).isclose(total(), 1e-12)
    status, out, _ = kinetree("mass", "parts.csv", "--urdf")
    assert status == 0 and float(ET.fromstring(out).find("mass").attrib["value"]) == 4
    status, out, err = kinetree("mass", "point.csv", "--mjcf")
    assert (status, out) == (1, "") and err.startswith(
        "kinetree: point.csv: MuJoCo needs three positive principal moments"
    )
    status, out, _ = kinetree("mass", "point.csv", "--mjcf", "--regularise", "1e-6")
    assert status == 0 and ET.fromstring(out).attrib["diaginertia"] == "1e-06 1e-06 1e-06"


def test_what_cannot_exist_is_warned_of(kinetree, files):
    status, out, err = kinetree("mass", "odd.csv")
    assert status == 0 and "total" in out
    assert (
        err == "kinetree: warning: 'odd one' cannot exist: triangle inequality I1 + I2 >= I3 fails: 1 + 1 < 3 kg·m²\n"
    )
    status, out, err = kinetree("mass", "odd.csv", "--json")
    assert json.loads(out)["components"]["odd one"]["possible"] is False and "warning" in err


def test_broken_rows_all_at_once(kinetree, files):
    status, out, err = kinetree("mass", "bad.csv")
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        "kinetree: bad.csv:2: column 'mass': negative mass: -1",
        "kinetree: bad.csv:3: column 'mass': unknown unit 'foot': known are kg, g, mg, t, lb, lbm, oz, slug",
        "kinetree: bad.csv:3: column 'x': missing number",
        "kinetree: bad.csv:4: column 'name': duplicate name 'a', first in line 2",
    ]


def test_pictures(kinetree, files, tmp_path, monkeypatch):
    for name in ("parts.csv", "block.toml", "point.csv", "odd.csv"):
        status, out, err = kinetree("mass", name, "--plot", "out.png")
        assert status == 0 and "total" in out and err.endswith("picture: out.png\n")
        assert (tmp_path / "out.png").read_bytes().startswith(PNG)
    monkeypatch.setattr(mass_figure, "screen", lambda: False)
    assert kinetree("mass", "parts.csv", "--plot")[0] == 0 and (tmp_path / "parts.png").exists()
    shown = []
    monkeypatch.setattr(mass_figure, "screen", lambda: True)
    monkeypatch.setattr(mass_figure, "show", shown.append)
    assert kinetree("mass", "parts.csv", "--plot")[0] == 0 and len(shown) == 1


def test_the_picture_may_come_first(kinetree, files, tmp_path):
    status, out, err = kinetree("mass", "--plot", "first.png", "parts.csv")
    assert (status, err) == (0, "picture: first.png\n") and "total mass: 4 kg" in out
    assert (tmp_path / "first.png").read_bytes().startswith(PNG)
    assert (
        kinetree("mass", "parts.csv", "--plot", "bare")[2] == "picture: bare.png\n" and (tmp_path / "bare.png").exists()
    )


def test_nothing_is_printed_if_the_picture_cannot_be_written(kinetree, files, tmp_path):
    for picture in ("no/such/folder.png", "out.xyz", "."):
        assert kinetree("mass", "parts.csv", "--plot", picture)[:2] == (1, "")
    before = (tmp_path / "point.csv").read_text()
    assert kinetree("mass", "parts.csv", "--plot", "point.csv")[0] == 1
    assert (tmp_path / "point.csv").read_text() == before, "another table is not drawn over"


def test_the_ellipsoid_has_the_same_inertia():
    body = MP.solid_ellipsoid(3, 1, 2, 4, cg=(1, 2, 3))
    half_axes = mass_figure.ellipsoid(body)
    np.testing.assert_allclose(np.sort(np.linalg.norm(half_axes, axis=0)), [1, 2, 4])
    assert (
        mass_figure.ellipsoid(MP.diagonal(1, 1, 1, 3)) is None and not mass_figure.ellipsoid(MP.point_mass(1, 0)).any()
    )


@pytest.mark.parametrize("arguments, status, message", [
    (["nowhere.toml"], 1, "nowhere.toml: no such file"),
    (["parts.txt"], 1, "a .toml or a .csv"),
    (["parts.csv", "out.png"], 2, "drawn with --plot"),
    (["parts.csv", "--json", "--mjcf"], 2, "choose one of --mjcf, --json"),
    (["parts.csv", "--about", "1", "2"], 2, "--about"),
    (["parts.csv", "--plot", "no/such/folder.png"], 1, "cannot write to no/such/folder.png: No such file or directory"),
    (["parts.csv", "--plot", "out.xyz"], 1, "cannot write to out.xyz"),
    (["parts.csv", "--regularise", "1e-6"], 2, "--regularise is for --mjcf and --urdf"),
    (["parts.csv", "--json", "--regularise", "1e-6"], 2, "--regularise is for --mjcf and --urdf"),
    (["parts.csv", "--mjcf", "--regularise", "-1"], 2, "--regularise must be a positive moment"),
    (["point.csv", "--urdf"], 1, "point.csv: MuJoCo needs three positive principal moments"),
    (["point.csv", "--urdf"], 1, "--regularise 1e-6, say"),
    ([], 2, "Missing argument"),
])  # fmt: skip
def test_bad_calls(kinetree, files, arguments, status, message):
    code, _, err = kinetree("mass", *arguments)
    assert code == status and message in err and "Traceback" not in err and err.count("\n") == 1, err


def test_a_screen_is_looked_for(monkeypatch):
    import matplotlib

    for backend, there in (("agg", False), ("TkAgg", True), ("svg", False)):
        monkeypatch.setattr(matplotlib, "get_backend", lambda backend=backend: backend)
        assert mass_figure.screen() is there
