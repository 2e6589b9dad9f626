"""Every field of `Data`: one line each, with MuJoCo's names, storage types and order, and the stage that writes it.

Stage "user" marks state and inputs; any other stage is the function that computes the field. World axes, SI units,
quaternions w-first. Reference point: cvel, cacc, cfrc_int, cfrc_ext, cinert, crb, cdof and cdof_dot of body b are taken
at its own frame origin xpos[b], spatial vectors as [angular; linear]. (MuJoCo's are at subtree_com[body_rootid[b]].)

The ten numbers of cinert and crb, with r from xpos[b] to the centre of mass, are Ixx, Iyy, Izz, Ixy, Ixz, Iyz about
xpos[b] (elements of the tensor: Ixy is minus the product of inertia), m rx, m ry, m rz and m.
Left out: flexes, plugins, statistics of memory and threads, and what each step sizes anew (contacts, constraints).
"""

from __future__ import annotations

from .fields import COUNT, FLAG, INT, REAL, Field, table

MAX_STAGES = 96  # compiled units of the pipeline

DATA_FIELDS: dict[str, Field] = table([
    # the solver's report, by island; only the first twenty islands are recorded
    Field("solver_niter", "20", INT, "1", "iterations of the solver in each island", "fwd_constraint"),
    Field("solver_nnz", "20", INT, "1", "non-zeros of the solver's matrix in each island", "fwd_constraint"),
    Field("solver_fwdinv", "2", REAL, "mixed", "forward less inverse: constraint and applied force", "compare_fwd_inv"),
    # warnings by WarningType: MuJoCo's mjWarningStat as two arrays
    Field("warning_number", "7", INT, "1", "how often each warning was raised since the reset", "step"),
    Field("warning_lastinfo", "7", INT, "1", "what the last warning of each type was about: a dof or a control", "step"),
    # how many are awake
    Field("ntree_awake", "", INT, "1", "trees awake", "update_sleep"),
    Field("nbody_awake", "", INT, "1", "bodies awake or static: length of body_awake_ind", "update_sleep"),
    Field("nparent_awake", "", INT, "1", "bodies whose parent is: length of parent_awake_ind", "update_sleep"),
    Field("nv_awake", "", INT, "1", "dofs awake: length of dof_awake_ind", "update_sleep"),
    # whether the results of stages that run on demand are valid
    Field("flg_energypos", "", FLAG, "1", "energy[0] is valid", "energy_pos", editable=False),
    Field("flg_energyvel", "", FLAG, "1", "energy[1] is valid", "energy_vel", editable=False),
    Field("flg_subtreevel", "", FLAG, "1", "subtree_linvel, subtree_angmom are valid", "subtree_vel", editable=False),
    Field("flg_rnepost", "", FLAG, "1", "cacc, cfrc_int, cfrc_ext are valid", "rne_post_constraint", editable=False),
    # which stages have run since the reset, by their number: what `is_stale` looks at
    Field("stage_clock", "", COUNT, "1", "scratch of stages: how many have run", "driver"),
    Field("stage_model", "", COUNT, "1", "scratch of stages: address of the model that the last one ran with", "driver"),
    Field("stage_order", f"{MAX_STAGES}", COUNT, "1", "scratch of stages: stage_clock when each ended last, 0 if never",
          "driver"),
    Field("stage_runs", f"{MAX_STAGES}", COUNT, "1", "scratch of stages: how often each has run", "driver"),
    # global
    Field("time", "", REAL, "s", "simulation time", "user"),
    Field("energy", "2", REAL, "J", "potential and kinetic energy", "energy_pos/energy_vel"),
    # state
    Field("qpos", "nq", REAL, "mixed", "configuration", "user"),
    Field("qvel", "nv", REAL, "mixed", "generalised velocity", "user"),
    Field("act", "na", REAL, "mixed", "actuator activations", "user"),
    Field("history", "nhistory", REAL, "mixed", "past controls and sensor readings with their times", "user"),
    Field("plastic", "nplastic", REAL, "mixed", "rest positions of springs that can yield", "user"),
    Field("qacc_warmstart", "nv", REAL, "mixed", "acceleration from which the solver starts", "user"),
    # inputs
    Field("ctrl", "nu", REAL, "mixed", "controls", "user"),
    Field("qfrc_applied", "nv", REAL, "mixed", "generalised force of the user", "user"),
    Field("xfrc_applied", "nbody 6", REAL, "N; N m", "force of the user at the centre of mass, then torque", "user"),
    Field("eq_active", "neq", FLAG, "1", "equality constraint is on", "user"),
    Field("mocap_pos", "nmocap 3", REAL, "m", "positions of mocap bodies", "user"),
    Field("mocap_quat", "nmocap 4", REAL, "1", "orientations of mocap bodies", "user"),
    # outputs
    Field("qacc", "nv", REAL, "mixed", "generalised acceleration", "fwd_constraint"),
    Field("act_dot", "na", REAL, "mixed", "rate of change of act", "fwd_actuation"),
    Field("userdata", "nuserdata", REAL, "mixed", "numbers of the user, never touched", "user"),
    Field("sensordata", "nsensordata", REAL, "mixed", "readings of all sensors", "sensor"),
    Field("sensor_due", "nsensor", INT, "1", "scratch of sensors: 1 if it is to be computed now", "sensor"),
    Field("sensor_fresh", "nsensordata", REAL, "mixed", "scratch of sensors: readings before delay and interval", "sensor"),
    Field("tree_asleep", "ntree", INT, "1", "next tree asleep with it; awake: minus a countdown", "sleep"),
    # poses
    Field("xpos", "nbody 3", REAL, "m", "origin of the body frame", "kinematics"),
    Field("xquat", "nbody 4", REAL, "1", "orientation of the body frame", "kinematics"),
    Field("xmat", "nbody 9", REAL, "1", "rotation matrix of the body frame", "kinematics"),
    Field("xipos", "nbody 3", REAL, "m", "centre of mass of the body", "kinematics"),
    Field("xiquat", "nbody 4", REAL, "1", "orientation of the inertial frame", "kinematics"),
    Field("ximat", "nbody 9", REAL, "1", "rotation matrix of the inertial frame", "kinematics"),
    Field("xanchor", "njnt 3", REAL, "m", "anchor of the joint", "kinematics"),
    Field("xaxis", "njnt 3", REAL, "1", "axis of the joint", "kinematics"),
    Field("geom_xpos", "ngeom 3", REAL, "m", "position of the geom", "kinematics"),
    Field("geom_xquat", "ngeom 4", REAL, "1", "orientation of the geom", "kinematics"),
    Field("geom_xmat", "ngeom 9", REAL, "1", "rotation matrix of the geom", "kinematics"),
    Field("site_xpos", "nsite 3", REAL, "m", "position of the site", "kinematics"),
    Field("site_xquat", "nsite 4", REAL, "1", "orientation of the site", "kinematics"),
    Field("site_xmat", "nsite 9", REAL, "1", "rotation matrix of the site", "kinematics"),
    Field("cam_xpos", "ncam 3", REAL, "m", "position of the camera", "camlight"),
    Field("cam_xmat", "ncam 9", REAL, "1", "rotation matrix of the camera", "camlight"),
    Field("light_xpos", "nlight 3", REAL, "m", "position of the light", "camlight"),
    Field("light_xdir", "nlight 3", REAL, "1", "direction of the light", "camlight"),
    # scratch of kinematics, not in MuJoCo's data
    Field("half_sin", "nq", REAL, "1", "scratch of kinematics: sine of half of qpos - qpos0", "kinematics"),
    Field("half_cos", "nq", REAL, "1", "scratch of kinematics: cosine of half of qpos - qpos0", "kinematics"),
    # mass and motion axes; subtree_mass is not in MuJoCo's data, where it is a constant of the model
    Field("subtree_com", "nbody 3", REAL, "m", "centre of mass of the subtree", "com_pos"),
    Field("subtree_mass", "nbody", REAL, "kg", "mass of the subtree", "com_pos"),
    Field("cdof", "nv 6", REAL, "mixed",
          "motion axis [angular; linear] at xpos of the dof's body, world axes", "com_pos"),
    Field("cinert", "nbody 10", REAL, "kg m^2; kg m; kg",
          "body inertia about xpos, world axes: Ixx, Iyy, Izz, Ixy, Ixz, Iyz, m rx, m ry, m rz, m", "com_pos"),
    # tendons
    Field("ten_wrapadr", "ntendon", INT, "1", "first point of the path", "tendon"),
    Field("ten_wrapnum", "ntendon", INT, "1", "points of the path", "tendon"),
    Field("ten_J", "nJten", REAL, "mixed", "tendon Jacobian, sparse by ten_J_colind", "tendon"),
    Field("ten_length", "ntendon", REAL, "mixed", "length", "tendon"),
    Field("wrap_obj", "nwrap 2", INT, "1", "what each point touches: geom, -1 for a site, -2 for a pulley", "tendon"),
    Field("wrap_xpos", "nwrap 6", REAL, "m", "points of all paths, two per row", "tendon"),
    # scratch of tendon, not in MuJoCo's data
    Field("wrap_touch", "nwrap", REAL, "1", "scratch of tendon: 1 where the path touches this geom, else 0", "tendon"),
    Field("wrap_point", "nwrap 6", REAL, "m", "scratch of tendon: first and last point of the path on this geom", "tendon"),
    # actuator transmission
    Field("actuator_length", "nout", REAL, "mixed", "length of each force output", "transmission"),
    Field("moment_rownnz", "nout", INT, "1", "actuator moments: non-zeros of each row", "transmission"),
    Field("moment_rowadr", "nout", INT, "1", "actuator moments: first non-zero of each row", "transmission"),
    Field("moment_colind", "nJmom", INT, "1", "actuator moments: column of each non-zero", "transmission"),
    Field("actuator_moment", "nJmom", REAL, "mixed", "actuator moments, sparse by moment_colind", "transmission"),
    # inertia matrix
    Field("crb", "nbody 10", REAL, "kg m^2; kg m; kg",
          "subtree inertia about the body's xpos, world axes, ten numbers as in cinert", "crb"),
    Field("cdof_root", "nv 6", REAL, "mixed", "scratch of crb: motion axis at xpos of its tree's root", "crb"),
    Field("body_shared", "nbody", INT, "1", "scratch of crb, aba: whether a child put down its share here", "crb"),
    Field("M", "nC", REAL, "mixed", "inertia matrix, lower triangle, sparse by M_colind", "make_m"),
    Field("qLD", "nC", REAL, "mixed", "factors of M = L' D L, sparse by M_colind", "factor_m"),
    Field("qLDiagInv", "nv", REAL, "mixed", "inverse of D", "factor_m"),
    # sleep
    Field("tree_awake", "ntree", INT, "1", "1 if awake, 0 if asleep", "update_sleep"),
    Field("body_awake", "nbody", INT, "1", "state of the body (SleepState)", "update_sleep"),
    Field("body_awake_ind", "nbody", INT, "1", "bodies awake or static", "update_sleep"),
    Field("parent_awake_ind", "nbody", INT, "1", "bodies whose parent is awake or static", "update_sleep"),
    Field("dof_awake_ind", "nv", INT, "1", "dofs awake", "update_sleep"),
    # velocities
    Field("ten_velocity", "ntendon", REAL, "mixed", "rate of change of ten_length", "fwd_velocity"),
    Field("actuator_velocity", "nout", REAL, "mixed", "rate of change of actuator_length", "fwd_velocity"),
    Field("cvel", "nbody 6", REAL, "rad/s; m/s",
          "velocity [angular; linear] of the body at its xpos, world axes", "com_vel"),
    Field("cdof_dot", "nv 6", REAL, "mixed",
          "rate of change of cdof [angular; linear] at xpos of the dof's body, world axes", "com_vel"),
    Field("qvel_seen", "nv", REAL, "mixed", "scratch of com_vel: qvel as it was then, for passes that run later", "com_vel"),
    # forces that depend on position and velocity
    Field("body_acc", "nbody 6", REAL, "rad/s^2; m/s^2", "scratch of rne: acceleration at xpos, world axes", "rne"),
    Field("body_frc", "nbody 6", REAL, "N m; N", "scratch of rne: force on the subtree at xpos, world axes", "rne"),
    Field("qfrc_bias", "nv", REAL, "mixed", "Coriolis, centrifugal and gravitational force", "rne"),
    Field("qfrc_spring", "nv", REAL, "mixed", "force of springs", "passive"),
    Field("qfrc_damper", "nv", REAL, "mixed", "force of dampers", "passive"),
    Field("qfrc_gravcomp", "nv", REAL, "mixed", "force of gravity compensation", "passive"),
    Field("qfrc_fluid", "nv", REAL, "mixed", "force of the medium", "passive"),
    Field("qfrc_adhesion", "nv", REAL, "mixed", "force of adhesive contacts", "passive"),
    Field("qfrc_passive", "nv", REAL, "mixed", "sum of passive forces", "passive"),
    # momentum
    Field("subtree_linvel", "nbody 3", REAL, "m/s", "velocity of subtree_com", "subtree_vel"),
    Field("subtree_angmom", "nbody 3", REAL, "kg m^2/s", "angular momentum about subtree_com", "subtree_vel"),
    # scratch of integrators, not in MuJoCo's data
    Field("step_acc", "nv", REAL, "mixed", "scratch of integrators: acceleration over the step", "integrator"),
    Field("step_act_dot", "na", REAL, "mixed", "scratch of integrators: activation rate over the step", "integrator"),
    Field("warning_before", "7", INT, "1", "scratch of step: warning_number when it began", "step"),
    Field("steps_left", "", INT, "1", "scratch of step: steps not made yet, < 0 if bad after the forward pass", "step"),
    Field("saved_acc", "nv", REAL, "mixed", "scratch of inverse: qacc while it is changed", "inverse"),
    Field("rk_qpos", "nq", REAL, "mixed", "scratch of rk4: qpos at the start of the step", "rk4"),
    Field("rk_qvel", "nv", REAL, "mixed", "scratch of rk4: qvel at the start of the step", "rk4"),
    Field("rk_act", "na", REAL, "mixed", "scratch of rk4: act at the start of the step", "rk4"),
    Field("rk_time", "", REAL, "s", "scratch of rk4: time at the start of the step", "rk4"),
    Field("rk_vel", "4 nv", REAL, "mixed", "scratch of rk4: velocity of each stage, pulled back", "rk4"),
    Field("rk_acc", "4 nv", REAL, "mixed", "scratch of rk4: acceleration of each stage", "rk4"),
    Field("rk_act_dot", "4 na", REAL, "mixed", "scratch of rk4: activation rate of each stage", "rk4"),
    Field("rk_ten_length", "ntendon", REAL, "mixed", "scratch of rk4: ten_length at the start of the step", "rk4"),
    Field("rk_ten_J", "nJten", REAL, "mixed", "scratch of rk4: ten_J at the start of the step", "rk4"),
    Field("rk_actuator_length", "nout", REAL, "mixed", "scratch of rk4: actuator_length at the start of the step", "rk4"),
    Field("rk_actuator_velocity", "nout", REAL, "mixed", "scratch of rk4: actuator_velocity at the start of it", "rk4"),
    Field("rk_step", "nv", REAL, "mixed", "scratch of rk4: velocity along which qpos moves", "rk4"),
    # implicit integration
    Field("qH", "nC", REAL, "mixed", "factors of M with damping implicit, laid out as qLD", "euler/implicit"),
    Field("qHDiagInv", "nv", REAL, "mixed", "inverse of the diagonal factor in qH", "euler/implicit"),
    Field("qDeriv", "nD", REAL, "mixed", "derivative of smooth forces by qvel, sparse by D_colind", "implicit"),
    Field("qLU", "nD", REAL, "mixed", "LU factors of M - timestep * qDeriv, sparse by D_colind", "implicit"),
    Field("crb_rate", "nbody 6", REAL, "kg m^2/s",
          "scratch of derivatives: rate of the subtree's inertia tensor about xpos, six numbers as in crb", "implicit"),
    Field("crb_momentum", "nbody 6", REAL, "mixed",
          "scratch of derivatives: momentum [angular; linear] of the subtree at xpos, world axes", "implicit"),
    Field("dof_drift", "nv 6", REAL, "mixed",
          "scratch of derivatives: cdof crossed by the velocities before and after its joint", "implicit"),
    Field("fluid_slope", "nbody 36", REAL, "mixed",
          "scratch of derivatives: force of the medium on the subtree by its velocity at xpos, four 3x3 blocks",
          "implicit"),
    # forces that depend on control, and accelerations
    Field("ctrl_used", "nu", REAL, "mixed", "scratch of actuation: controls delayed, clamped, rate-limited", "fwd_actuation"),
    Field("user_gain", "nactuator", REAL, "mixed", "scratch of actuation: gain of user type, 1 without a callback",
          "fwd_actuation"),
    Field("user_bias", "nactuator", REAL, "mixed", "scratch of actuation: bias of user type, 0 without a callback",
          "fwd_actuation"),
    Field("actuator_force", "nout", REAL, "mixed", "force of each actuator output", "fwd_actuation"),
    Field("qfrc_actuator", "nv", REAL, "mixed", "force of actuators", "fwd_actuation"),
    Field("qfrc_smooth", "nv", REAL, "mixed", "sum of all forces but those of constraints", "fwd_acceleration"),
    Field("qacc_smooth", "nv", REAL, "mixed", "acceleration without constraints", "fwd_acceleration"),
    Field("aba_force", "nv", REAL, "mixed", "scratch of aba, its input: applied force without the bias", "aba"),
    Field("aba_diagonal", "nv", REAL, "mixed", "scratch of aba, its input: what to add to the diagonal of M", "aba"),
    Field("aba_qacc", "nv", REAL, "mixed", "scratch of aba, its result: acceleration under aba_force", "aba"),
    Field("aba_inertia", "nbody 21", REAL, "kg m^2; kg m; kg",
          "scratch of aba: articulated inertia at xpos that later children put down", "aba"),
    Field("aba_gain", "nv 6", REAL, "mixed", "scratch of aba: what the body's acceleration takes off the dof's", "aba"),
    Field("aba_own", "nv", REAL, "mixed", "scratch of aba: acceleration of the dof if its body had none before it", "aba"),
    Field("qfrc_constraint", "nv", REAL, "mixed", "force of constraints", "fwd_constraint"),
    Field("qfrc_inverse", "nv", REAL, "mixed", "applied force that would give qacc", "inverse"),
    # after the constraints
    Field("cacc", "nbody 6", REAL, "rad/s^2; m/s^2",
          "acceleration less gravity [angular; linear] of the body at its xpos, world axes", "rne_post_constraint"),
    Field("cfrc_int", "nbody 6", REAL, "N m; N",
          "wrench [torque; force] from the parent at the body's xpos, world axes", "rne_post_constraint"),
    Field("cfrc_ext", "nbody 6", REAL, "N m; N",
          "wrench [torque; force] from outside the tree at the body's xpos, world axes", "rne_post_constraint"),
])  # fmt: skip

# Bits of `types.State` in their order and the field that each stands for; PLUGIN has none, as plugins are refused.
STATE_FIELDS: tuple[tuple[str, str], ...] = (
    ("TIME", "time"),
    ("QPOS", "qpos"),
    ("QVEL", "qvel"),
    ("ACT", "act"),
    ("HISTORY", "history"),
    ("WARMSTART", "qacc_warmstart"),
    ("CTRL", "ctrl"),
    ("QFRC_APPLIED", "qfrc_applied"),
    ("XFRC_APPLIED", "xfrc_applied"),
    ("EQ_ACTIVE", "eq_active"),
    ("MOCAP_POS", "mocap_pos"),
    ("MOCAP_QUAT", "mocap_quat"),
    ("USERDATA", "userdata"),
    ("PLUGIN", ""),
    ("PLASTIC", "plastic"),
)
