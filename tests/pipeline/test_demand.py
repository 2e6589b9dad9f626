"""Who demands a lazy pass: a sensor of every type, alone."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.types import SensorType
from tests.pipeline.both import (
    FLAGS,
    PASSES,
    both,
    run,
)

ARM = """<mujoco><worldbody><camera name="eye" pos="0 -2 0" euler="90 0 0" resolution="2 2"/>
  <site name="zone" type="box" size=".5 .5 .5"/><site name="lamp" pos="0 0 2" euler="180 0 0"/>
  <body name="a"><joint name="h" axis=".1 1 .2" range="-170 170"/>
    <geom name="g" type="box" size=".1 .2 .3" pos=".1 0 0"/><site name="s" pos=".1 .2 .3"/>
    <body name="b" pos=".3 0 0"><joint name="ball" type="ball"/><geom name="k" type="box" size=".1 .2 .1" pos=".2 0 0"/></body>
  </body></worldbody>
  <tendon><spatial name="t" range="0 9"><site site="zone"/><site site="s"/></spatial></tendon>
  <actuator><motor name="m" joint="h"/><motor tendon="t"/></actuator><sensor>{}</sensor></mujoco>"""
OBJECT = 'objtype="site" objname="s"'
SENSORS = {  # type -> its element
    SensorType.ACCELEROMETER: '<accelerometer site="s"/>',
    SensorType.VELOCIMETER: '<velocimeter site="s"/>',
    SensorType.GYRO: '<gyro site="s"/>',
    SensorType.FORCE: '<force site="s"/>',
    SensorType.TORQUE: '<torque site="s"/>',
    SensorType.MAGNETOMETER: '<magnetometer site="s"/>',
    SensorType.RANGEFINDER: '<rangefinder site="lamp"/>',
    SensorType.CAMPROJECTION: '<camprojection site="s" camera="eye"/>',
    SensorType.JOINTPOS: '<jointpos joint="h"/>',
    SensorType.JOINTVEL: '<jointvel joint="h"/>',
    SensorType.TENDONPOS: '<tendonpos tendon="t"/>',
    SensorType.TENDONVEL: '<tendonvel tendon="t"/>',
    SensorType.ACTUATORPOS: '<actuatorpos actuator="m"/>',
    SensorType.ACTUATORVEL: '<actuatorvel actuator="m"/>',
    SensorType.ACTUATORFRC: '<actuatorfrc actuator="m"/>',
    SensorType.JOINTACTFRC: '<jointactuatorfrc joint="h"/>',
    SensorType.TENDONACTFRC: '<tendonactuatorfrc tendon="t"/>',
    SensorType.BALLQUAT: '<ballquat joint="ball"/>',
    SensorType.BALLANGVEL: '<ballangvel joint="ball"/>',
    SensorType.FRAMEPOS: f"<framepos {OBJECT}/>",
    SensorType.FRAMEQUAT: f"<framequat {OBJECT}/>",
    SensorType.FRAMEXAXIS: f"<framexaxis {OBJECT}/>",
    SensorType.FRAMEYAXIS: f"<frameyaxis {OBJECT}/>",
    SensorType.FRAMEZAXIS: f"<framezaxis {OBJECT}/>",
    SensorType.FRAMELINVEL: f"<framelinvel {OBJECT}/>",
    SensorType.FRAMEANGVEL: f"<frameangvel {OBJECT}/>",
    SensorType.FRAMELINACC: f"<framelinacc {OBJECT}/>",
    SensorType.FRAMEANGACC: f"<frameangacc {OBJECT}/>",
    SensorType.SUBTREECOM: '<subtreecom body="a"/>',
    SensorType.SUBTREELINVEL: '<subtreelinvel body="b"/>',
    SensorType.SUBTREEANGMOM: '<subtreeangmom body="b"/>',
    SensorType.INSIDESITE: f'<insidesite {OBJECT} site="zone"/>',
    SensorType.E_POTENTIAL: "<e_potential/>",
    SensorType.E_KINETIC: "<e_kinetic/>",
    SensorType.CLOCK: "<clock/>",
    SensorType.TOUCH: '<touch site="s"/>',
    SensorType.JOINTLIMITPOS: '<jointlimitpos joint="h"/>',
    SensorType.JOINTLIMITVEL: '<jointlimitvel joint="h"/>',
    SensorType.JOINTLIMITFRC: '<jointlimitfrc joint="h"/>',
    SensorType.TENDONLIMITPOS: '<tendonlimitpos tendon="t"/>',
    SensorType.TENDONLIMITVEL: '<tendonlimitvel tendon="t"/>',
    SensorType.TENDONLIMITFRC: '<tendonlimitfrc tendon="t"/>',
    SensorType.CONTACT: '<contact geom1="g"/>',
    SensorType.USER: '<user dim="1" needstage="pos"/>',
    SensorType.GEOMDIST: '<distance geom1="g" geom2="k" cutoff="9"/>',
    SensorType.GEOMNORMAL: '<normal geom1="g" geom2="k" cutoff="9"/>',
    SensorType.GEOMFROMTO: '<fromto geom1="g" geom2="k" cutoff="9"/>',
}
NO_MODEL = {SensorType.PLUGIN, SensorType.TACTILE}  # need a plugin or a mesh: tests of loading have them
DEMANDED = {  # type -> flag that stands after `forward`
    SensorType.E_POTENTIAL: "flg_energypos",
    SensorType.SUBTREELINVEL: "flg_subtreevel",
    SensorType.SUBTREEANGMOM: "flg_subtreevel",
    SensorType.ACCELEROMETER: "flg_rnepost",
    SensorType.FORCE: "flg_rnepost",
    SensorType.TORQUE: "flg_rnepost",
    SensorType.FRAMELINACC: "flg_rnepost",
    SensorType.FRAMEANGACC: "flg_rnepost",
}


def test_every_type_of_sensor_is_in_one_of_the_lists():
    assert set(SENSORS) | NO_MODEL == set(SensorType)


@pytest.mark.criteria("001-AC5", "001-AC6", "000-AC8", "000-T7", "P-LAZY-DEMAND", "P-LAZY-NONE")
@pytest.mark.parametrize("kind", SENSORS, ids=lambda k: k.name)
def test_a_sensor_demands_its_own_pass_and_no_other(kind):
    """e_kinetic sets its flag in the position stage, and the velocity stage clears it."""
    pair = both(ARM.format(SENSORS[kind]), 2)
    run(pair, kt.forward, mujoco.mj_forward)
    pair.same_flags(kind.name)
    ours, _ = pair.flags()
    assert ours == {flag: flag == DEMANDED.get(kind) for flag in FLAGS}
    for flag in ("flg_subtreevel", "flg_rnepost"):
        for name in PASSES[flag]:
            assert np.any(getattr(pair.ours, name)) == ours[flag], f"{kind.name}: {name}"


@pytest.mark.criteria("P-LAZY-DEMAND")
@pytest.mark.parametrize("callback", [False, True])
@pytest.mark.parametrize(("stage", "flag"), [("pos", None), ("vel", "flg_subtreevel"), ("acc", "flg_rnepost")])
def test_a_user_sensor_finds_the_pass_of_its_stage_done(stage, flag, callback):
    """Also without a callback, as in MuJoCo."""
    pair = both(ARM.format(f'<user dim="3" needstage="{stage}"/>'), 2)
    seen = []
    if callback:
        pair.model.callbacks.sensor = lambda m, d, s: seen.append({f: bool(getattr(d, f)) for f in FLAGS})
    run(pair, kt.forward, mujoco.mj_forward)
    pair.same_flags(stage)
    assert pair.flags()[0] == {f: f == flag for f in FLAGS}
    assert seen == [{f: f == flag for f in FLAGS}] * callback
