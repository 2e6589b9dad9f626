"""What MuJoCo 3.3.0 to 4.0.0 brought for rigid bodies, each change with what proves its state; `test_changes.py` looks at all.

A row per feature, the newest version first; what several versions changed stands under the one whose form is in force.
"""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree.conformance.changes import Change

S, M = "tests/models/", "tests/models/refused/"
FLEX = "flexes are refused by name"
COMPILER = "of MuJoCo's compiler, spec or files; `kt.load` has what comes out of it"
INTERFACE = "of MuJoCo's own interfaces"


def sensor(m, kind):
    """Rows of sensors of a type."""
    return m.sensor_type == kind


def world(bodies, rest="", head=""):
    """A model of a floor and some bodies."""
    return f'<mujoco>{head}<worldbody><geom type="plane" size="3 3 1"/>{bodies}</worldbody>{rest}</mujoco>'


ARM = """<body name="arm" pos="0 0 .6" euler="10 20 30"><joint name="a" axis=".1 1 .2" pos=".01 0 .02" range="-90 90"/>
  <geom name="arm" type="capsule" size=".03" fromto="0 0 0 .2 .05 0"/><body name="hand" pos=".2 .05 0" euler="5 10 20">
  <joint name="b" type="ball"/><geom name="hand" type="capsule" size=".03" fromto="0 0 0 .05 .02 -.2"/>
        <site name="s" pos=".02 .03 0"/>
  </body></body>"""
ROUND = '<body pos="0 0 {}"><freejoint/><geom type="{}" size="{}" euler="{}" {}/></body>'

SPRINGS = [
    Change("4.0.0", "joint and tendon springs that yield, `plastic`, a part of the state", S + "passive.xml",
           lambda m: m.jnt_springyield.any() and m.tendon_springyield.any() and m.nplastic),
    Change("3.7.0", "stiffness and damping of joints and tendons as polynomials", S + "passive.xml",
           lambda m: m.jnt_stiffnesspoly.any() and m.tendon_stiffnesspoly.any() and m.dof_dampingpoly.any()
           and m.tendon_dampingpoly.any()),
    Change("3.7.0", "damping and armature that actuators give to joints and tendons", S + "tendons.xml",
           lambda m: m.actuator_armature.any()),
    Change("3.7.0", "the same damping as a polynomial", S + "passive.xml", lambda m: m.actuator_dampingpoly.any()),
    Change("3.5.0", "gravity compensation of bodies without joints inside jointed ones", xml=world(
        """<body pos="0 0 1" gravcomp=".2"><joint axis="1 0 .2"/><geom size=".1" pos="0 .3 0"/>
        <body gravcomp=".7" pos="0 .2 .1">
        <geom size=".1" pos="0 .3 0"/><body pos="0 .1 0" gravcomp="1"><geom size=".05"/></body></body></body>""")),
    Change("3.3.6", "flags `spring` and `damper` instead of `passive`; both off switch off all passive forces",
           test="tests/dynamics/test_passive.py::test_equals_mujoco_under_every_flag"),
]  # fmt: skip

INTEGRATION = [
    Change("4.0.0", "RK4 of fourth order for balls and free joints",
           test="tests/integrator/test_rk4.py::test_a_step_equals_mujocos_at_any_spin"),
    Change("4.0.0", "actuators at the force limit of their joint or tendon have no implicit derivative",
           test="tests/integrator/test_derivative.py::test_actuators_at_their_limits_equal_mujocos"),
    Change("3.14.0", "warnings of singular inertia in `implicit`, `implicitfast` and damped Euler",
           test="tests/integrator/test_singular.py::test_feedback_that_takes_the_inertia_away_is_told"),
    Change("3.13.0", "integrator `discrete`", S + "discrete.xml", lambda m: m.opt.integrator == kt.Integrator.DISCRETE),
    Change("3.13.0", "pivots of a singular inertia are replaced, with a warning",
           test="tests/test_stepping.py::test_a_singular_inertia_met_while_stepping_names_the_body"),
    Change("3.11.0", "gyroscopic derivatives of lone free bodies in `implicitfast` (3.7.0 had a midpoint rule)",
           test="tests/integrator/test_implicit.py::test_both_agree_on_bodies_that_fly_alone"),
    Change("3.5.0", "implicit derivatives of actuators at `forcerange` and with `actearly`",
           test="tests/integrator/test_derivative.py::test_derivative_equals_mujocos"),
    Change("3.3.6", "`qacc_warmstart` moves on at the end of a step: `forward` may be repeated, RK4 is well-defined",
           test="tests/test_stepping.py::test_steps_of_our_models_equal_mujocos_with_every_integrator"),
]  # fmt: skip

CONTACTS = [
    Change("4.0.0", "speculative contacts", S + "speculative.xml",
           lambda m: m.opt.enableflags & kt.EnableBit.SPECULATIVE),
    Change("4.0.0", "`contact.surfacevel`", S + "contacts.xml", lambda m: m.flg_surfacevel),
    Change("4.0.0", "steadier native convex collision", test="tests/geometry/test_convex.py::test_random_poses"),
    Change("4.0.0", "explicit pairs without `solref` mix those of their geoms", xml=world(ARM.replace('name="arm" type',
        'name="arm" solref=".03 .8" solmix="2" type'), '<contact><pair geom1="arm" geom2="ball"/></contact>').replace(
        "</worldbody>", '<body pos=".1 0 .5"><freejoint/><geom name="ball" size=".05" solref=".02 1.1"/></body></worldbody>')),
    Change("3.17.0", "several contacts at once for shapes with margins", S + "convex.xml",
           lambda m: (m.geom_margin[m.geom_type == kt.GeomType.MESH] > 0).any()),
    Change("3.17.0", "normals of mesh polygons from their whole outline", S + "convex.xml", lambda m: m.nmeshpoly),
    Change("3.16.0", "capsules that are parallel or nearly so", test="tests/geometry/test_pairs.py::test_nearly_parallel_axes"),
    Change("3.15.0", "several contacts at once for capsules (3.13.0: for cylinders)", xml=world(
        ROUND.format(".1", "cylinder", ".2 .1", "0 0 0", "") + ROUND.format(".31", "box", ".2 .1 .1", "0 0 10", "")
        + ROUND.format(".51", "capsule", ".1 .2", "90 0 0", ""))),
    Change("3.14.0", "experimental contact mode `ipc`: of flexes alone, a rigid body's solve is only made twice",
           M + "ipc.xml", refused="flag ipc"),
    Change("3.13.0", "planes with meshes, a new collider", test="tests/geometry/test_pairs.py::test_meshes_on_a_plane"),
    Change("3.12.0", "boxes with boxes, a new collider", test="tests/physics/test_random_scenes.py::test_a_hundred_steps"),
    Change("3.12.0", "mocap bodies are the root of their own weld group: filters, sensors, waking", xml=world(
        """<body name="m" mocap="true" pos="0 0 .5"><geom type="box" size=".2 .2 .05"/><body pos=".1 0 0"><geom size=".12"/>
        <body pos="0 .1 .2"><joint axis="1 .2 0"/><geom size=".1" pos="0 0 .04"/></body></body></body>
        <body pos=".02 0 .6"><freejoint/><geom size=".1"/></body><body mocap="true" pos=".1 0 .6"><geom size=".1"/></body>""",
        '<sensor><contact body1="m" data="found force dist" num="3"/></sensor>')),
    Change("3.11.0", "moving surfaces of geoms, `surfacevel`", S + "contacts.xml", lambda m: m.geom_surfacevel.any()),
    Change("3.11.0", "adhesion of geoms and pairs, in the gap too", S + "contacts.xml",
           lambda m: (m.geom_adhesion * m.geom_gap).any()),
    Change("3.11.0", "gaps count in the middle phase", test="tests/geometry/test_midphase.py::test_margins_and_gaps_count"),
    Change("3.11.0", "several contacts at once for meshes of any size",
           test="tests/geometry/test_convex.py::test_faces_on_faces"),
    Change("3.9.0", "`margin` inflates, `gap` is beyond it (3.5.0: both are summed); negative margins", xml=world(
        ROUND.format(".09", "sphere", ".1", "0 0 0", 'margin="-.01" gap=".05"')
        + ROUND.format(".3", "capsule", ".1 .1", "0 80 0", 'margin=".02" gap=".01"'))),
    Change("3.8.0", "several contacts of convex shapes by default, `multiccd`", S + "convex.xml",
           lambda m: not m.opt.disableflags & kt.DisableBit.MULTICCD),
    Change("3.4.0", "distance of boxes", test="tests/geometry/test_distance.py::test_distances_and_points_are_mujocos"),
    Change("3.3.5", "convex hulls of meshes that collide in explicit pairs alone", xml=world(
        '<body pos="0 0 .1"><freejoint/><geom name="m" type="mesh" mesh="m" contype="0" conaffinity="0"/></body>'
        '<body pos=".1 0 .5"><freejoint/><geom name="b" size=".2"/></body>', '<contact><pair geom1="m" geom2="b"/></contact>',
        '<asset><mesh name="m" vertex="0 0 0 .4 0 0 0 .4 0 0 0 .4 .3 .3 .3"/></asset>')),
    Change("3.3.0", "the native convex solver by default; the older one is replaced, with a warning",
           test="tests/io/test_contacts.py::test_the_older_convex_solver_is_replaced_with_a_warning"),
]  # fmt: skip

CONSTRAINTS = [
    Change("3.17.0", "solvers stop by the trace of the present inertia",
           test="tests/solver/test_budgets.py::test_any_budget_gives_mujocos_accelerations"),
    Change("3.14.0", "pivots of the sparse Hessian that rounding loses",
           test="tests/solver/test_newton.py::test_degenerate_scenes"),
    Change("3.11.0", "PGS with momentum (3.8.1: rows in a pseudo-random order; 3.9.0: of a fixed seed)",
           test="tests/solver/test_pgs.py::test_every_sweep_equals_mujocos"),
    Change("3.11.0", "Newton stops by its decrement, both primal solvers by a certificate before they begin",
           test="tests/solver/test_newton.py::test_good_guess_needs_no_iteration"),
    Change("3.10.0", "CG with the direction of Hager and Zhang",
           test="tests/solver/test_cg.py::test_first_iterations_equal_mujocos"),
    Change("3.10.0", "primal solvers in single precision", test="tests/pipeline/test_single.py::"
           "test_a_step_in_single_precision_is_that_in_double"),
    Change("3.9.0", "the exact diagonal of A, `diagexact`", test="tests/constraint/test_make.py::test_exact_diagonal"),
    Change("3.8.1", "islands for PGS (3.3.6: by default, for Newton and CG)",
           test="tests/solver/test_islands.py::test_every_island_equals_mujocos"),
    Change("3.7.0", "the term of J's change in connects and welds", S + "equalities.xml",
           lambda m: np.isin([kt.EqType.CONNECT, kt.EqType.WELD], m.eq_type).all()),
    Change("3.4.0", "sleeping islands (3.17.0: what cannot begin asleep is warned of; 4.0.0: sensors, energies, tendons)",
           S + "sleep.xml", lambda m: m.opt.enableflags & kt.EnableBit.SLEEP),
]  # fmt: skip

TENDONS = [
    Change("4.0.0", "side sites by homotopy", test="tests/dynamics/test_wrap.py::test_random_paths_equal_mujocos"),
    Change("4.0.0", "steadier wraps at their onset (3.16.0: and inside)",
           test="tests/dynamics/test_wrap.py::test_special_places_equal_mujocos"),
    Change("4.0.0", "`tendon_type`", S + "tendons.xml", lambda m: np.unique(m.tendon_type).size == 2),
    Change("3.14.0", "`actuatorfrclimited` of tendons is automatic", S + "servos.xml", lambda m: m.tendon_actfrclimited.any()),
    Change("3.3.1", "armature of tendons (3.3.4: in inverse dynamics)", S + "tendons.xml", lambda m: m.tendon_armature.any()),
    Change("3.3.1", "limits of the sum of forces on a tendon, `tendonactuatorfrc`", S + "sensors.xml",
           lambda m: m.tendon_actfrclimited.any() and sensor(m, kt.SensorType.TENDONACTFRC).any()),
]  # fmt: skip

ACTUATORS = [
    Change("4.0.0", "parameters of DC motors: no constant where there is no input, negative ones are refused",
           S + "actuators.xml",
           lambda m: (m.actuator_ctrlnum[m.actuator_gaintype == kt.GainType.DCMOTOR] == 0).any()),
    Change("3.16.0", "shortcuts inherit from the same shortcut or `general`; `inheritrange`, `input` of `general`",
           xml="""<mujoco>
        <default><position kp="50" dampratio="1"/><default class="m"><general gear="3" ctrlrange="-1 1"/></default></default>
        <worldbody><body><joint name="j" range="-60 60"/><geom size=".1" pos=".3 0 .1"/></body></worldbody><actuator>
        <motor joint="j"/><position joint="j"/><pid joint="j"/><velocity class="m" joint="j" kv="2"/>
        <general class="m" joint="j"
        inheritrange="1" biastype="affine" gainprm="2" biasprm="0 -2 0" input="pos"/></actuator></mujoco>"""),
    Change("3.15.0", "`dampratio` by the inertia along the transmission", xml=world(ARM, """<actuator>
        <position joint="a" kp="20"
        dampratio="1"/><position joint="b" gear="1 .3 .2" kp="5" dampratio=".7"/><orientation joint="b" kp="4" dampratio="1"/>
        </actuator>""")),
    Change("3.14.0", "histories of controls of actuators that have several", xml=world(ARM, """<actuator><orientation joint="b"
        kp="1" nsample="4" delay=".005" interp="linear" input="quat"/><pid joint="a" kp="1" input="pos vel" nsample="3"
        delay=".003"/></actuator>""")),
    Change("3.12.0", "`pid`: setpoints, integral, slew", S + "actuators.xml",
           lambda m: (m.actuator_dyntype == kt.DynType.PID).any()),
    Change("3.12.0", "the controller of `dcmotor` in torques (3.7.0: inductance, cogging, heat, LuGre friction)",
           S + "actuators.xml", lambda m: (m.actuator_dyntype == kt.DynType.DCMOTOR).any()),
    Change("3.11.0", "actuators of several controls and outputs", S + "actuators.xml",
           lambda m: m.nactuator < min(m.nu, m.nout)),
    Change("3.11.0", "`orientation`: a servo on SO(3)", S + "servos.xml",
           lambda m: (m.actuator_trntype == kt.TrnType.SO3).any()),
    Change("3.11.0", "controls of quaternions are reset to no rotation",
           test="tests/test_data.py::test_reset_equals_mj_resetdata"),
    Change("3.11.0", "setpoints on the circle",
           test="tests/dynamics/test_actuation.py::test_a_setpoint_on_a_circle_may_gain_whole_turns"),
    Change("3.5.0", "delayed controls", S + "actuators.xml", lambda m: m.actuator_delay.any()),
    Change("3.3.0", "plugin `mujoco.pid`, older than `pid`", S + "plugins.xml", lambda m: (m.actuator_plugin >= 0).any()),
]  # fmt: skip

SENSORS = [
    Change("4.0.0", "accelerations of static and mocap bodies have gravity taken off", xml="""<mujoco><worldbody>
        <site name="s" pos="1 2 3" euler="10 20 30"/><body name="m" mocap="true" euler="20 0 10"><site name="t"/></body>
        <body><joint/><geom size=".1" pos=".1 0 0"/></body></worldbody><sensor><accelerometer site="s"/>
        <accelerometer site="t"/>
        <framelinacc objtype="site" objname="s"/><framelinacc objtype="body" objname="m"/></sensor></mujoco>"""),
    Change("3.16.0", "contact sensors report `linvel` and `angvel`; their stage follows from what they report",
           S + "sensors.xml",
           lambda m: (m.sensor_intprm[sensor(m, kt.SensorType.CONTACT), 0] >> kt.types.ConDataField.ANGVEL & 1).any()),
    Change("3.15.0", "`enclosed`: how far something sticks out of a site", S + "sensors.xml",
           lambda m: m.sensor_intprm[sensor(m, kt.SensorType.INSIDESITE), 0].any()),
    Change("3.14.0", "`force` and `torque` count welds", test="tests/constraint/test_rne_post.py::test_wrenches_equal_mujocos"),
    Change("3.14.0", "`force` and `torque` count spatial tendons",
           test="tests/dynamics/test_tendon_force.py::test_wrenches_equal_mujocos"),
    Change("3.13.0", "sites that are meshes, in `insidesite` and contact sensors", S + "sensors.xml",
           lambda m: (m.site_type == kt.GeomType.MESH).any()),
    Change("3.13.0", "`touch` in such a site: MuJoCo itself stops at the first contact", refused="touch in a mesh",
           xml=world('<body><freejoint/><geom size=".1"/><site name="s" type="mesh" mesh="m"/></body>',
           '<sensor><touch site="s"/></sensor>', '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>')),
    Change("3.9.0", "`tactile` in meshes with signed distances (3.3.5: native octrees)",
           test="tests/sensor/test_tactile.py::test_meshes_with_signed_distances_are_felt"),
    Change("3.9.0", "`tactile`: depths and sliding speeds (3.13.0: `cutoff`)", S + "sensors.xml",
           lambda m: sensor(m, kt.SensorType.TACTILE).any()),
    Change("3.5.0", "delays and intervals of sensors", S + "sensors.xml",
           lambda m: m.sensor_delay.any() and m.sensor_interval.any()),
    Change("3.5.0", "rangefinders on cameras, and what else they report; orthographic cameras", S + "rays.xml",
           lambda m: (m.sensor_objtype[sensor(m, kt.SensorType.RANGEFINDER)] == kt.ObjType.CAMERA).any()
           and m.cam_projection.any()),
    Change("3.3.5", "`insidesite`", S + "sensors.xml", lambda m: sensor(m, kt.SensorType.INSIDESITE).any()),
    Change("3.3.5", "`contact` sensors (3.3.6: subtrees of any body)", S + "sensors.xml",
           lambda m: sensor(m, kt.SensorType.CONTACT).any()),
    Change("3.3.0", "sensors of energy", S + "sensors.xml",
           lambda m: sensor(m, kt.SensorType.E_POTENTIAL).any() and sensor(m, kt.SensorType.E_KINETIC).any()),
    Change("3.3.0", "plugin `mujoco.sensor.touch_grid`", S + "plugins.xml",
           lambda m: sensor(m, kt.SensorType.PLUGIN).any()),
]  # fmt: skip

MODELS = [
    Change("4.0.0", "`xiquat`, `geom_xquat`, `site_xquat`",
           test="tests/conformance/test_layers.py::test_layers_cover_all_that_mujoco_writes"),
    Change("4.0.0", "`set_const` wakes all trees", test="tests/dynamics/test_waking.py::test_set_const_wakes_all"),
    Change("4.0.0", "inertias that are not positive are bounded by `boundinertia`",
           xml="""<mujoco><compiler boundinertia="1e-3"/>
        <worldbody><body><freejoint/><inertial pos=".1 0 0" mass="1" fullinertia="1 1 0 0 0 0"/></body></worldbody>
        </mujoco>"""),
    Change("4.0.0", "rays along directions that are no unit vectors, and triangles behind their origin",
           test="tests/geometry/test_ray.py::test_the_length_of_a_direction_only_scales_the_distance"),
    Change("3.17.0", "`set_const` derives from other fields alone; relative poses of welds (3.16.0: bounding volumes, margins, "
           "added mass, sleep policies; 3.11.0: frames that coincide)",
           test="tests/io/test_set_const.py::test_equals_mj_setconst"),
    Change("3.16.0", "frames that scale what they hold", xml=world(f'<frame scale="1.7" massscale="2">{ARM}</frame>',
           '<actuator><position joint="a" kp="3"/></actuator>')),
    Change("3.16.0", "keyframes and replicas", xml=world("""<replicate count="3" offset="0 .5 0" euler="0 0 20">
        <body pos="0 0 .4">
        <joint axis="1 .2 .3"/><geom type="capsule" size=".05 .1" pos="0 0 .1"/></body></replicate>""",
        '<keyframe><key qpos=".1 .2 .3" qvel="1 2 3"/></keyframe>')),
    Change("3.16.0", "static bodies fused, visual geoms discarded, masses kept", xml=world("""<body pos="0 0 .4"><freejoint/>
        <geom size=".1"/><body pos=".1 .1 .1" euler="10 20 30" gravcomp=".5"><geom type="box" size=".1 .05 .02"/>
        <site name="s"/>
        </body><body pos="0 .1 .1" euler="10 20 30"><geom type="box" size=".1 .05 .02"/>
        <geom size=".1" contype="0" conaffinity="0"
        group="1" mass="0"/></body></body>""", '<sensor><accelerometer site="s"/></sensor>',
        '<compiler fusestatic="true" discardvisual="true"/>')),
    Change("3.16.0", "procedural meshes (3.3.5: the first of them)", xml=world("".join(
        f'<body pos="0 {k} .2"><freejoint/><geom type="mesh" mesh="{name}"/></body>'
        for k, name in enumerate(("sphere", "cone"))),
        head="""<asset><mesh name="sphere" builtin="sphere" params="1" scale=".1 .2 .15"/><mesh name="cone" builtin="cone"
        params="6 .3" scale=".1 .1 .2"/></asset>""")),
    Change("3.11.0", "models attached to themselves", xml=world(ARM + """<frame pos="1 0 .2" euler="10 20 30"><attach body="arm"
        prefix="x"/></frame>""")),
    Change("3.11.0", "`body/simple` switches off the short way through the inertia matrix", xml=world("".join(
        f'<body pos="{k} 0 .2" simple="{s}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        for k, s in enumerate(("auto", "false"))))),
    Change("3.11.0", "the inertia matrix in rows, `M`; flags `flg_gravcomp`, `flg_surfacevel`; `sleep_tolerance` of 1e-3",
           S + "contacts.xml", lambda m: m.flg_surfacevel and m.opt.sleep_tolerance == 1e-3),
    Change("3.7.0", "URDF keeps the folders of its files", test="tests/io/test_load.py::test_urdf_equals_mujocos"),
    Change("3.6.0", "`ten_J` is always sparse", S + "tendons.xml", lambda m: m.nJten),
    Change("3.5.0", "names of cameras' projections and outputs, normals of rays", S + "rays.xml",
           lambda m: m.cam_projection.any()),
    Change("3.3.1", "`jac_dot` counts the motion of its point",
           test="tests/dynamics/test_jacobian.py::test_jac_dot_is_the_derivative_of_the_jacobian"),
    Change("3.3.0", "inertia of meshes by volume, hull or shell", S + "rays.xml", lambda m: m.nmesh),
]  # fmt: skip

ELSEWHERE = [
    Change("4.0.0", "everything of flexes, from 3.3.0 on; the removed cables and composites", M + "flex.xml", refused="flex"),
    Change("4.0.0", "geoms that are signed distance fields", M + "sdf.xml", refused="signed distance field"),
    Change("4.0.0", "models that the compiler rejects: height fields of one row, pulleys without divisor, …", reason=COMPILER),
    Change("4.0.0", "rendering, Studio, viewers, USD, MJX, Unity, samples, bindings, from 3.3.0 on", reason="no rigid bodies"),
    Change("4.0.0", "saving, copying and merging of specs, textures by reference, archives, encoders, from 3.3.0 on",
           reason=COMPILER),
    Change("3.17.0", "`mujoco.batch`; pools of threads (3.10.0)", reason=INTERFACE + "; kinetree has lanes of worlds"),
    Change("3.14.0", "finite differences of transitions stop where trees sleep", reason=INTERFACE + "; kinetree has symbols"),
    Change("3.13.0", "`mj_insideSite`; `mj_maxContact` (3.8.0), `mj_copyState` and `mj_extractState` (3.4.0), "
           "`mj_actuatorInputName` (3.11.0)", reason=INTERFACE + "; `get_state` and `set_state` take any part of the state"),
    Change("3.11.0", "`mju_round`, `mju_mat2Rot`, `mju_boxQP` and other utilities", reason=INTERFACE),
    Change("3.10.0", "log handlers", reason=INTERFACE + "; kinetree warns as Python does"),
]  # fmt: skip

CHANGES = sorted(
    [*SPRINGS, *INTEGRATION, *CONTACTS, *CONSTRAINTS, *TENDONS, *ACTUATORS, *SENSORS, *MODELS, *ELSEWHERE],
    key=lambda change: [-int(part) for part in change.version.split(".")],
)
