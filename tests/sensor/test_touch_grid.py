"""Touch grids of the plugin mujoco.sensor.touch_grid: images against MuJoCo with the plugin, and where they come from."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.batch.lanes import lanes_of
from kinetree.conformance.tolerances import INVERSE_CONTACT, SENSOR_CONSTRAINT, SOLVED
from tests.constraint.in_contact import CONES, MODELS, along, forward, scattered, start
from tests.pipeline.both import close, reading
from tests.sensor.everywhere import readings, same_readings

GRID = "mujoco.sensor.touch_grid"
SHAPES = ("sphere", "box", "capsule", "ellipsoid", "cylinder")


def plugin(site: str, more: str = "", **config: object) -> str:
    text = "".join(f'<config key="{key}" value="{value}"/>' for key, value in config.items())
    return f'<plugin plugin="{GRID}" objtype="site" objname="{site}" {more}>{text}</plugin>'


def model_of(bodies: str, sensors: str, option: str = "") -> str:
    return f"""<mujoco model="grids"><option {option}/><extension><plugin plugin="{GRID}"/></extension>
      <worldbody>{bodies}</worldbody><sensor>{sensors}</sensor></mujoco>"""


def heap(seed: int) -> mujoco.MjModel:
    """Bodies of random shapes and condims that fall on each other, each with a site turned at random."""
    rng = np.random.default_rng(seed)

    def text(values: np.ndarray) -> str:
        return " ".join(map(str, values))

    def geom() -> str:
        return (
            f'<geom type="{rng.choice(SHAPES)}" size=".06 .08 .05" condim="{rng.choice([1, 3, 4, 6])}" '
            f'pos="{text(rng.normal(scale=0.05, size=3))}" quat="{text(rng.normal(size=4))}"/>'
        )

    def site(name: str) -> str:
        return f'<site name="{name}" pos="{text(rng.normal(scale=0.03, size=3))}" quat="{text(rng.normal(size=4))}"/>'

    bodies = '<geom type="plane" size="2 2 1" condim="6"/><geom type="box" size=".1 .3 .1" pos=".3 0 0"/>' + site(
        "world"
    )
    for b in range(5):
        inner = site(f"s{b}")
        if b == 2:  # on a body that is welded to its parent, and has a child that moves
            inner = (
                f'<body pos=".02 .1 0">{geom()}{inner}<body pos="0 0 .1"><joint axis="1 2 3"/>{geom()}</body></body>'
            )
        at = (*rng.normal(scale=0.05, size=2), 0.1 + 0.12 * b)
        bodies += f'<body pos="{text(at)}" quat="{text(rng.normal(size=4))}"><freejoint/>{geom()}{geom()}{inner}</body>'
    sensors = plugin("world", nchannel=6, size="3 4", fov="170 80")
    for b in range(5):
        size, fov = rng.integers(1, 8, 2), rng.uniform((20, 20), (180, 90))
        channels, gamma = rng.integers(1, 7), rng.choice([0, 0.3, 1])
        cutoff = 'cutoff="3"' if b == 1 else ""
        sensors += plugin(f"s{b}", cutoff, nchannel=channels, size=text(size), fov=text(fov), gamma=gamma)
    return mujoco.MjModel.from_xml_string(model_of(bodies, sensors, 'timestep=".004"'))


def take_forces(pair) -> None:
    """Read our sensors with the forces that MuJoCo found, on the same rows: no solver stands between."""
    assert pair.ours.nefc == pair.theirs.nefc
    pair.ours._arrays["efc_force"][: pair.theirs.nefc] = pair.theirs.efc_force
    kt.sensor_acc(pair.model, pair.ours)


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("seed", range(4))
def test_images_equal_mujocos(seed, cone):
    pair, pixels = start(heap(seed), seed, cone=cone), 0
    for note in along(pair, steps=150, every=6):
        mj, theirs = pair.mj, pair.theirs
        near = np.array([contact.dist for contact in theirs.contact])
        if pair.ours.ncon != theirs.ncon or np.abs(pair.ours.contact_dist - near).max(initial=0.0) > 1e-9:
            continue  # two convex shapes that met elsewhere: contacts have tests of their own
        take_forces(pair)
        same_readings(pair.model, pair.ours.sensordata, theirs.sensordata, SENSOR_CONSTRAINT, f"seed {seed} {note}")
        pixels += np.count_nonzero(theirs.sensordata)
        assert mj.nsensor == 6
    assert pixels > 200, "next to nothing was touched"


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
def test_a_model_with_every_configuration(cone):
    """Also a grid that shares its instance with one before it, and so is not computed."""
    pair = start(MODELS / "plugins.xml", 2, cone=cone)
    some = np.zeros(pair.mj.nsensordata, bool)
    for note in along(pair, steps=300, every=10):
        take_forces(pair)
        same_readings(
            pair.model, pair.ours.sensordata, pair.theirs.sensordata, SENSOR_CONSTRAINT, note, ["slow", "pair"]
        )
        some |= pair.theirs.sensordata != 0.0
        assert not reading(pair.model, pair.ours, "hand, again").any()
    felt = {name: int(np.count_nonzero(values)) for name, values in readings(pair.model, some).items()}
    assert min(felt[name] for name in ("hand", "thumb", "ball", "brick", "below")) > 0, felt


BALL = """<geom type="plane" size="1 1 1"/>
  <body pos="0 0 .09"><freejoint/><geom size=".1"/><site name="s" pos="0 0 .05"/></body>"""


def test_contacts_exactly_on_an_edge_lie_in_mujocos_cell():
    """Straight below a site: with an even number of cells this is an edge, as far as rounding lets it be one."""
    sizes = [(n, n + 1, fov, gamma) for n in range(1, 40) for fov in (30, 180) for gamma in (0, 0.3, 1)]
    sensors = "".join(plugin("s", size=f"{a} {b}", fov=f"{fov} {fov / 2}", gamma=gamma) for a, b, fov, gamma in sizes)
    pair = start(mujoco.MjModel.from_xml_string(model_of(BALL, sensors)))
    pair.theirs.qvel[:] = 0.0
    forward(pair)
    same_readings(pair.model, pair.ours.sensordata, pair.theirs.sensordata, SOLVED, "on an edge")
    assert all(np.count_nonzero(image) == 1 for image in readings(pair.model, pair.ours.sensordata).values())


def test_a_ball_at_rest():
    """Its weight presses on the body from below, the middle of the image; images follow each other, rows from below."""
    sensors = plugin("s", nchannel=3, size="3 5", fov="90 45") + plugin("s", "", size="1 1", fov="10 10")
    model = kt.load(model_of(BALL, sensors, 'tolerance="0"'))
    data = kt.Data(model)
    kt.step(model, data, 2000)
    kt.forward(model, data)
    weight = 9.81 * model.body_mass[1]
    image = data.sensordata[:45].reshape(3, 5, 3)
    assert image[0, 2, 1] == pytest.approx(weight, rel=1e-6) and np.count_nonzero(np.abs(image) > 1e-9) == 1
    assert data.sensordata[45] == pytest.approx(weight, rel=1e-6)


def test_all_pixels_together_are_the_force_on_the_body():
    """A field of view all round misses nothing: the sum is what cfrc_ext counts, turned into the axes of the site."""
    turned = BALL.replace('pos="0 0 .05"', 'pos="0 0 .02" euler="40 30 20"')
    model = kt.load(model_of(turned, plugin("s", nchannel=3, size="6 7", fov="180 90")))
    data = kt.Data(model)
    data.qvel[:] = 0.4, -0.3, -0.2, 1.0, 2.0, -1.0
    kt.forward(model, data)
    z, x, y = data.sensordata.reshape(3, -1).sum(axis=1)
    close(data.site_xmat[0].reshape(3, 3) @ (x, y, z), data.cfrc_ext[1, 3:], INVERSE_CONTACT, "force on the body")
    assert np.abs((x, y, z)).min() > 1.0


def test_it_asks_for_the_forces_between_bodies_as_in_mujoco():
    model = kt.load(model_of(BALL, plugin("s", size="1 1", fov="90 45")))
    data = kt.Data(model)
    kt.forward(model, data)
    assert data.flg_rnepost and data.cfrc_ext[1, 5] > 0.0


@pytest.mark.parametrize("more", [{}, {"interval": [0.004, 0.0]}, {"delay": 0.004}], ids=str)
def test_a_history_is_refused(more):
    """Only an MjSpec can ask for one; MuJoCo makes too little room for it, and cannot compute a delayed one."""
    spec = mujoco.MjSpec.from_string(model_of(BALL, plugin("s", 'name="grid"', size="1 2", fov="180 90")))
    spec.sensors[0].nsample = 3
    for name, value in more.items():
        setattr(spec.sensors[0], name, value)
    with pytest.raises(kt.ModelError, match=f"{GRID} with a history .sensor 'grid'|invalid type in ACC stage"):
        kt.load(spec)


def test_nothing_is_read_where_sensors_are_disabled():
    model = kt.load(model_of(BALL, plugin("s", size="1 1", fov="90 45")))
    model.opt.disableflags |= kt.DisableBit.SENSOR
    data = kt.Data(model)
    kt.forward(model, data)
    assert data.sensordata[0] == 0.0


@pytest.mark.parametrize("dtype, tolerance", [("float64", SOLVED), ("float32", 2e-2)])
def test_lanes_equal_floats(dtype, tolerance):
    pairs = scattered(heap(1), 8 if dtype == "float64" else 16)
    model = pairs[0].model
    lanes = lanes_of(model, [pair.ours for pair in pairs], dtype)
    lanes.run(pipeline.forward)
    for lane, pair in enumerate(pairs):
        got, wanted = (readings(model, values) for values in (lanes.sensordata[:, lane], pair.ours.sensordata))
        for name in got:  # single precision may put a contact into the next cell: images are compared as sums
            a, b = (values[name] if dtype == "float64" else values[name].sum() for values in (got, wanted))
            close(a, b, tolerance, f"lane {lane}: {name}")


def test_the_field_of_view_can_be_edited():
    """Three cells of 60 degrees, then of 13: a contact 12 degrees aside leaves the middle one."""
    model = kt.load(model_of(BALL.replace('pos="0 0 .05"', 'pos=".03 0 .05"'), plugin("s", size="3 3", fov="90 90")))
    narrow = copy.copy(model)
    narrow.grid_fov[:] = 20.0
    for each, cell in ((model, 4), (narrow, 3), (kt.load(narrow.to_mujoco()), 3)):
        data = kt.Data(each)
        kt.forward(each, data)
        assert np.flatnonzero(data.sensordata).tolist() == [cell]
