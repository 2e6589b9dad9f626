"""Readings in closed form, beyond those of the reference points."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from tests.pipeline.both import close, load
from tests.sensor.everywhere import readings


def of_model(bodies: str, sensors: str, qvel=(), ctrl=(), options: str = "") -> dict[str, np.ndarray]:
    """Readings of a model after `forward`."""
    model, data = load(f"<mujoco><option {options}/><worldbody>{bodies}</worldbody>{sensors}</mujoco>")
    data.qvel[: len(qvel)], data.ctrl[: len(ctrl)] = qvel, ctrl
    kt.forward(model, data)
    return readings(model, data.sensordata)


def test_a_gyro_adds_up_the_rates_of_joints_about_their_own_axes():
    """A quarter turn about x: the site's z axis is the world's -y, its y axis the world's z."""
    bodies = """<body><joint axis="1 0 0"/><joint axis="0 0 1"/><geom size=".1"/><body pos="1 2 3"><joint axis="0 1 0"/>
      <geom size=".1"/><site name="s" pos=".3 .2 .1" euler="90 0 0"/></body></body>"""
    got = of_model(bodies, '<sensor><gyro name="gyro" site="s"/></sensor>', qvel=(2, 3, 5))
    close(got["gyro"], [2, 3, -5], 1e-14, "gyro")


def test_a_ball_joint_tells_its_rate_in_the_axes_of_its_body():
    bodies = '<body euler="0 0 90"><joint name="b" type="ball"/><geom size=".1"/><site name="s"/></body>'
    sensors = (
        '<sensor><ballangvel name="ball" joint="b"/><frameangvel name="world" objtype="site" objname="s"/></sensor>'
    )
    got = of_model(bodies, sensors, qvel=(1, 2, 3))
    close(got["ball"], [1, 2, 3], 0.0, "own axes")
    close(got["world"], [-2, 1, 3], 1e-15, "world axes")


def test_a_body_in_free_fall_feels_nothing_but_its_spin():
    """The accelerometer lies .5 off the axis about which the body turns at 4 rad/s: 8 m/s^2 inwards."""
    bodies = '<body><freejoint/><geom type="box" size=".1 .1 .1"/><site name="c"/><site name="s" pos=".5 0 0"/></body>'
    sensors = '<sensor><accelerometer name="centre" site="c"/><accelerometer name="off" site="s"/></sensor>'
    got = of_model(bodies, sensors, qvel=(1, 2, 3, 0, 0, 4))
    close(got["centre"], [0, 0, 0], 1e-13, "at the centre of mass")
    close(got["off"], [-8, 0, 0], 1e-13, "off the axis")


def test_a_motor_turns_a_flywheel_and_twists_its_mount():
    """Inertia 2 about z, torque 6: 3 rad/s^2; a site at .5 on x gets 1.5 m/s^2 along y; the mount holds the weight only."""
    bodies = """<body name="mount"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site name="mount" pos="0 1 0"/>
      <body name="wheel"><joint name="z" axis="0 0 1"/><inertial pos="0 0 0" mass="3" diaginertia="1.5 1.5 2"/>
      <site name="s" pos=".5 0 0"/></body></body>"""
    sensors = """<actuator><motor name="m" joint="z" gear="3"/></actuator><sensor>
      <frameangacc name="angular" objtype="body" objname="wheel"/><framelinacc name="linear" objtype="site" objname="s"/>
      <actuatorfrc name="motor" actuator="m"/><jointactuatorfrc name="joint" joint="z"/>
      <force name="force" site="mount"/><torque name="torque" site="mount"/><force name="bearing" site="s"/></sensor>"""
    got = of_model(bodies, sensors, ctrl=[2], options='gravity="0 0 -10"')
    wanted = {"angular": [0, 0, 3], "linear": [0, 1.5, 10], "motor": [2], "joint": [6], "force": [0, 0, 40],
              "bearing": [0, 0, 30], "torque": [-40, 0, 6]}  # fmt: skip
    for name, values in wanted.items():
        close(got[name], values, 1e-13, name)


def test_a_compass_turns_against_its_site():
    bodies = '<body><joint axis="0 0 1"/><geom size=".1"/><site name="s" euler="0 0 90"/></body>'
    got = of_model(bodies, '<sensor><magnetometer name="m" site="s"/></sensor>', options='magnetic="1 2 3"')
    close(got["m"], [2, -1, 3], 1e-15, "magnetometer")
