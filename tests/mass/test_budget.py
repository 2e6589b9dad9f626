"""Component tables: what they hold by hand, units, and every broken row with its line and column."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.mass import BudgetError
from kinetree.mass.budget import SHAPES
from kinetree.mass.units import UNITS, quantity, unit
from tests.mass.bodies import assert_same

MP = kt.MassProperties

TOML = """\
title = "Glider"

[units]
mass = "g"
length = "mm"

[[component]]
name = "boom"           # along x
shape = "tube"
axis = "x"
mass = "60 g"
inner_radius = 4
outer_radius = "0.5 cm"
length = 800
cg = [100, 0, 0]

[[component]]
name = "wing"
shape = "box"
density = "30 kg/m^3"
dx = "20 cm"
dy = 1500
dz = 10

[[component]]
name = "bay"
hole = true
shape = "box"
density = "30 kg/m^3"
dx = 50
dy = 60
dz = 10
x = 20
y = 0
z = 0

[[component]]
name = "battery"
mass = 120
cg = [-80, 0, "-0.01 m"]
Ixx = "1e-4 kg*m^2"
Iyy = "2e-4 kg·m²"
Izz = 2e5
Ixz = 1000
note = "products as CAD tools print them"
"""


def write(tmp_path, text, name="budget.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def problems(tmp_path, text, name="budget.toml"):
    with pytest.raises(BudgetError) as error:
        kt.load_budget(write(tmp_path, text, name))
    return [(p.line, p.column, p.message) for p in error.value.problems]


def test_toml_by_hand(tmp_path):
    budget = kt.load_budget(write(tmp_path, TOML))
    boom = MP.tube(0.06, 0.004, 0.005, 0.8).rotated([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).translated((0.1, 0, 0))
    wing = MP.solid_box(density=30, dx=0.2, dy=1.5, dz=0.01)
    bay = MP.solid_box(density=30, dx=0.05, dy=0.06, dz=0.01, cg=(0.02, 0, 0))
    battery = MP.from_components(0.12, (-0.08, 0, -0.01), 1e-4, 2e-4, 2e-4, 0, 1e-6, 0)
    assert budget.title == "Glider" and list(budget.components) == ["boom", "wing", "bay", "battery"]
    assert budget.holes == {"bay"}
    for name, expected in (("boom", boom), ("wing", wing), ("bay", -bay), ("battery", battery)):
        assert_same(budget.components[name], expected)
    assert_same(budget.total, boom + wing - bay + battery)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_by_hand(tmp_path, delimiter):
    text = """\
# a comment
name,mass [g],x [mm],y (mm),z [mm],shape,radius [mm],hole,Ixx,Iyy,Izz

servo,25,10,0,0,,,,,,
"ball, large",0.5 kg,0,0,-20,sphere,30,,,,
"hole",1,0,0,-20,sphere,2,yes,,,
frame,200,0,0,0,,,no,1e-3,2e-3,2e-3
""".replace(",", delimiter).replace('"ball' + delimiter, '"ball,')
    budget = kt.load_budget(write(tmp_path, text, "small robot.csv"))
    expected = {
        "servo": MP.point_mass(0.025, (0.01, 0, 0)),
        "ball, large": MP.solid_sphere(0.5, 0.03, cg=(0, 0, -0.02)),
        "hole": -MP.solid_sphere(1e-3, 2e-3, cg=(0, 0, -0.02)),
        "frame": MP.diagonal(0.2, 1e-3, 2e-3, 2e-3),
    }
    assert budget.title == "small robot" and list(budget.components) == list(expected)
    for name, component in expected.items():
        assert_same(budget.components[name], component)


def test_shapes_and_their_lengths(tmp_path):
    """Every shape of the table is made by the constructor of its name, and is asked for its own lengths."""
    for shape, (constructor, lengths, _) in SHAPES.items():
        if shape == "mesh":
            continue
        cells = "".join(f"{name} = {0.2 + 0.1 * i}\n" for i, name in enumerate(lengths))
        budget = kt.load_budget(write(tmp_path, f'[[component]]\nname = "it"\nmass = 2\nshape = "{shape}"\n{cells}'))
        expected = getattr(MP, constructor)(2, **{name: 0.2 + 0.1 * i for i, name in enumerate(lengths)})
        assert_same(budget.total, expected)
        missing = problems(tmp_path, f'[[component]]\nname = "it"\nmass = 2\nshape = "{shape}"\n')
        assert missing == [(1, name, "missing number") for name in lengths]


@pytest.mark.parametrize("axis, direction", [("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))])
def test_axis_turns_the_shape(tmp_path, axis, direction):
    budget = kt.load_budget(write(tmp_path, f'[[component]]\nname="rod"\nmass=1\nshape="rod"\nlength=2\naxis="{axis}"'))
    np.testing.assert_allclose(budget.total.inertia, (np.eye(3) - np.diag(direction)) / 3)


def test_meshes_are_found_beside_the_table(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((100, 200, 300)).export(tmp_path / "box.stl")
    row = '[[component]]\nname = "box"\nfile = "box.stl"\ndensity = "2 g/cm^3"\nscale = 0.001\ncg = [1, 0, 0]\n'
    assert_same(kt.load_budget(write(tmp_path, row)).total, MP.solid_box(12, 0.1, 0.2, 0.3, cg=(1, 0, 0)), rtol=1e-6)
    in_mm = '[units]\nlength = "mm"\n' + row.replace("scale = 0.001\n", "").replace("[1,", "[1000,")
    assert_same(kt.load_budget(write(tmp_path, in_mm)).total, MP.solid_box(12, 0.1, 0.2, 0.3, cg=(1, 0, 0)), rtol=1e-6)
    [(line, column, message)] = problems(tmp_path, row.replace("box.stl", "bax.stl"))
    assert (line, column) == (3, "file") and "no mesh file" in message


def test_all_broken_rows_at_once_with_line_and_column(tmp_path):
    text = """\
name,mass [g],x,y,z,Ixx,Iyy,Izz
servo,25,10,0,0,,,
battery,-120,50,0,0,,,
servo,25,-10,0,0,,,
motor,80 gramm,0,,10,,,
frame,200,0,0,abc,1e-3,2e-3,
,5,0,0,0,,,
long,5,0,0,0,1,1,1,1
"""
    assert [(line, column, message.split(":")[0]) for line, column, message in problems(tmp_path, text, "b.csv")] == [
        (3, "mass", "negative mass"),
        (4, "name", "duplicate name 'servo', first in line 2"),
        (5, "mass", "unknown unit 'gramm'"),
        (5, "y", "missing number"),
        (6, "z", "not a number"),
        (6, "Izz", "missing number"),
        (7, "name", "missing name"),
        (8, "", "9 cells, but the header has 8"),
    ]


def test_lines_of_toml(tmp_path):
    text = """\
# comment

[[component]]
name = "a"
mass = -1

[[component]]
name = "a"
mass = "3 stone"
cg = [1, 2]

[[component]]
mass = 1

[[component]]
name = "d"
mas = 3

[[component]]
name = "e"
mass = "1 m"
radius = 3

[[component]]
name = "f"
mass = true
x = 1
shape = "cube"
"""
    assert [(line, column, message.split(":")[0]) for line, column, message in problems(tmp_path, text)] == [
        (5, "mass", "negative mass"),
        (8, "name", "duplicate name 'a', first in line 3"),
        (9, "mass", "unknown unit 'stone'"),
        (10, "cg", "expected three lengths, got [1, 2]"),
        (12, "name", "missing name"),
        (17, "mas", "unknown column"),
        (21, "mass", "unit 'm' does not fit"),
        (22, "radius", "radius without a shape"),
        (28, "shape", "unknown shape 'cube'"),
    ]


@pytest.mark.parametrize("text, line, column, message", [
    ("title = \n", 1, "", "not TOML"),
    ("title = 'x'\n", 0, "", "no components"),
    ("component = 3\n", 1, "component", "expected tables"),
    ("[[componant]]\nname='x'\n", 1, "componant", "unknown key"),
    ("[units]\nmass = 3\n[[component]]\nname='x'\nmass=1\n", 1, "units", "expected mass"),
    ("[units]\nmass = 'stone'\n[[component]]\nname='x'\nmass=1\n", 1, "mass", "unknown unit 'stone'"),
    ("[units]\nlength = 'kg'\n[[component]]\nname='x'\nmass=1\nfile='x.stl'\n", 1, "length", "does not fit"),
    ("[[component]]\nname='x'\nmass=1\nshape='box'\ndx=1\ndy=1\ndz=1\nradius=3\n", 8, "radius", "a box has no radius"),
    ("[[component]]\nname='x'\nmass=1\ndensity=1\nshape='rod'\nlength=1\n", 4, "density", "either the mass or the density"),
    ("[[component]]\nname='x'\nmass=1\nshape='rod'\nlength=-1\n", 5, "length", "negative length"),
    ("[[component]]\nname='x'\nmass=1\nshape='rod'\nlength=1\nIxx=1\n", 6, "Ixx", "either a shape or moments"),
    ("[[component]]\nname='x'\nmass=1\nshape='rod'\nlength=1\naxis='w'\n", 6, "axis", "expected x, y or z"),
    ("[[component]]\nname='x'\nmass=1\nshape='tube'\nlength=1\ninner_radius=2\nouter_radius=1\n", 4, "shape", "larger than"),
    ("[[component]]\nname='x'\nmass=1\nhole='maybe'\n", 4, "hole", "expected true or false"),
    ("[[component]]\nname='x'\nmass=1\n[[components]]\nname='y'\nmass=1\n", 4, "components", "both [[component]] and"),
    ("[[component]]\nname='x'\nmass=1\nMass=2\n", 4, "mass", "the column appears twice"),
    ("[[component]]\nname=3\nmass=1\n", 2, "name", "expected a text"),
    ("[[component]]\nname='x'\nmass=nan\n", 3, "mass", "not a finite number"),
    ("[[component]]\nname='x'\nmass='1e999'\n", 3, "mass", "not a finite number"),
    ("[[component]]\nname='x'\nmass=[1]\n", 3, "mass", "not a number"),
    ("[[component]]\nname='x'\nmass=1\ncg=[0,0,0]\nx=1\n", 4, "cg", "either cg or x"),
    ("[[component]]\nname='x'\nmass=1\nIxx=1\nIzz=1\n", 1, "Iyy", "missing number"),
    ("[[component]]\nname='x'\nmass=1\nshape='mesh'\n", 1, "file", "missing file"),
    ("component = [\n {name='x', mass=1},\n {name='y', mass=-1},\n]\n", 3, "mass", "negative mass"),
])  # fmt: skip
def test_one_problem_at_a_time(tmp_path, text, line, column, message):
    found = problems(tmp_path, text)
    assert any(f[:2] == (line, column) and message in f[2] for f in found), found


def test_problems_of_a_csv_header(tmp_path):
    assert problems(tmp_path, "name,mass,mas,mass\nx,1,2,3\n", "b.csv") == [
        (1, "mas", "unknown column: did you mean 'mass' or 'axis'?"),
        (1, "mass", "the column appears twice"),
    ]
    assert problems(tmp_path, "name,mass [stone]\nx,1\n", "b.csv")[0][:2] == (1, "mass")
    assert problems(tmp_path, "", "b.csv") == [(0, "", "no components")]


def test_an_unknown_column_is_one_problem(tmp_path):
    """What misses because of it is not told as well, row by row; other problems are."""
    rows = "".join(f"part {i},1,0,0,0\n" for i in range(7))
    assert problems(tmp_path, f"name,maß,x,y,z\n{rows}", "b.csv") == [
        (1, "maß", "unknown column: did you mean 'mass'?")
    ]
    assert problems(tmp_path, f"part,weight [kg],x,y,z\n{rows}bad,1,no,0,\n", "b.csv") == [
        (1, "part", "unknown column: did you mean 'name'?"),
        (1, "weight", "unknown column: did you mean 'mass'?"),
        (9, "x", "not a number: 'no'"),
        (9, "z", "missing number"),
    ]
    tables = "".join(f"[[component]]\nname = 'part {i}'\nmas = 1\n" for i in range(7))
    assert [p[:2] for p in problems(tmp_path, tables)] == [(3, "mas")]


def test_columns_and_words_in_capitals(tmp_path):
    csv = "Name,MASS [g],X (mm),y,z,Shape,RADIUS,Hole\nball,500,100,0,0,Sphere,0.1,No\n"
    toml = "[[component]]\nName='ball'\nMass=0.5\nCG=[0.1, 0, 0]\nSHAPE='SPHERE'\nradius=0.1\naxis='X'\n"
    for text, name in ((csv, "b.csv"), (toml, "b.toml")):
        budget = kt.load_budget(write(tmp_path, text, name))
        assert_same(budget.components["ball"], MP.solid_sphere(0.5, 0.1, cg=(0.1, 0, 0)))
    broken = "name,IXX,mass [stone]\nrod,,1\n"
    assert problems(tmp_path, broken, "b.csv")[0][:2] == (1, "mass")


def test_comments_of_a_csv(tmp_path):
    text = """\
# Glider, third version
name,mass,note
# a comment
#1 engine,500,
# 2 engine,400,spare
,,# a remark alone
wing,3,#2 is the left one
"""
    budget = kt.load_budget(write(tmp_path, text, "b.csv"))
    assert {name: c.mass for name, c in budget.components.items()} == {"#1 engine": 500, "# 2 engine": 400, "wing": 3}


@pytest.mark.parametrize("text, sign", [
    ("1,000", "a comma"), ("1,5 kg", "a comma"), ("1_000", "an underscore"), ("1 000 g", "a space"), ("-1\u202f000", "a space"),
    ("1'000", "an apostrophe"), ("1.000,5", "a comma"),
])  # fmt: skip
def test_separators_are_named(text, sign):
    with pytest.raises(ValueError, match=f"not a number: .* has {sign} between its digits"):
        quantity(text, (1, 0))


def test_files_that_are_none(tmp_path):
    for name, contents, message in (
        ("b.txt", b"", "a .toml or a .csv"),
        ("b.csv", b"\xff\xfe\x00", "not a text in UTF-8"),
    ):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(BudgetError, match=message):
            kt.load_budget(tmp_path / name)
    with pytest.raises(BudgetError, match="no such file"):
        kt.load_budget(tmp_path / "nowhere.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BudgetError, match="not a file"):
        kt.load_budget(str(tmp_path / "folder.csv"))


def test_the_error_reads_like_a_compilers(tmp_path):
    path = write(tmp_path, "name,mass\na,-1\nb,x\n", "b.csv")
    with pytest.raises(ValueError) as error:
        kt.load_budget(path)
    assert str(error.value).splitlines() == [
        f"{path}:2: column 'mass': negative mass: -1",
        f"{path}:3: column 'mass': not a number: 'x'",
    ]
    assert pickle.loads(pickle.dumps(error.value)).problems == error.value.problems


# units


@pytest.mark.parametrize("text, dimension, expected", [
    ("kg", (1, 0), 1), ("lb", (1, 0), 0.45359237), ("oz", (1, 0), 0.028349523125), ("slug", (1, 0), 14.593902937206364),
    ("in", (0, 1), 0.0254), ("kg*m^2", (1, 2), 1), ("kg m^2", (1, 2), 1), ("kg·m²", (1, 2), 1), ("kg*m**2", (1, 2), 1),
    ("kg m2", (1, 2), 1), ("g*cm^2", (1, 2), 1e-7), ("lb*in^2", (1, 2), 0.45359237 * 0.0254**2), ("g/cm^3", (1, -3), 1000),
    ("kg/m³", (1, -3), 1), ("kg*m^-3", (1, -3), 1), ("slug*ft^2", (1, 2), 14.593902937206364 * 0.3048**2),
    ("t/m^2", (1, -2), 1000),
])  # fmt: skip
def test_units(text, dimension, expected):
    assert unit(text, dimension) == pytest.approx(expected, rel=1e-12)


def test_quantities():
    assert (
        quantity("2.5 kg", (1, 0)) == 2.5
        and quantity("-1.5e2mm", (0, 1)) == -0.15
        and quantity(".5", (0, 1), 0.001) == 5e-4
    )
    for wrong in (
        "",
        "kg",
        "1,5",
        "1 kg/",
        "1 kg ^2",
        "1 kg!",
        "1.5.2 kg",
        "1 kg kg",
        "1 m",
        "1 parsec",
        None,
        [1],
        "nan",
        "inf",
    ):
        with pytest.raises(ValueError):
            quantity(wrong, (1, 0))
    assert all(quantity(f"1 {name}", dimension) == factor for name, (factor, dimension) in UNITS.items())


SUMS = (
    "Total",
    "TOTAL",
    "total:",
    "Sum",
    "Subtotal",
    "Sub-total",
    "Grand Total",
    "Total mass",
    "wing subtotal",
    "Sum of all",
)


@pytest.mark.parametrize("name", SUMS)
def test_a_row_that_adds_up_others_is_refused(tmp_path, name):
    path = tmp_path / "parts.csv"
    path.write_text(f"name,mass,x\nwing,2,0\ntail,1,1\n{name},3,0.33\n")
    with pytest.raises(BudgetError, match=f"parts.csv:4: column 'name': '{name}' looks like a sum of other rows"):
        kt.load_budget(path)


def test_names_that_only_sound_like_sums_stay(tmp_path):
    path = tmp_path / "parts.csv"
    path.write_text("name,mass,x\nsump,2,0\nsummit mast,1,1\ntotaliser,1,1\n")
    assert kt.load_budget(path).total.mass == 4


@pytest.mark.parametrize(
    "moments, words",
    [
        ("1,1,3", "triangle inequality"),
        ("0,0,0.5", "triangle inequality"),
        ("1,1,1,2", "principal moment I1 is negative"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*the total cannot exist")
def test_an_inertia_that_cannot_exist_is_said_by_name_at_load(tmp_path, moments, words):
    path = tmp_path / "parts.csv"
    columns = ",".join(("Ixx", "Iyy", "Izz", "Ixy")[: moments.count(",") + 1])
    path.write_text(f"name,mass,{columns}\nbattery,2,{moments}\n")
    with pytest.warns(UserWarning, match=f"parts.csv: 'battery' cannot exist: {words}") as caught:
        budget = kt.load_budget(path)
    assert caught[0].filename == __file__
    assert [line.split(" cannot")[0] for line in budget.problems()] == ["'battery'", "the total"]
