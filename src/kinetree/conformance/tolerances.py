"""How closely each layer must agree with MuJoCo, and why not closer: the one place where tolerances live.

The error of an entry is |ours - theirs| relative to the scale of its field: its largest number in that state, so that a robot
of a milligram is held to as many digits as one of a ton. Fields that mix units (an inertia and a mass, an angular and a linear
part, sensors of several kinds) have a scale for each; of an inertia matrix M it is the root of M[i, i] M[j, j]; rows of
constraints, whose weights differ by many orders, are each relative to themselves. What a solver leaves of accelerations and
forces that cancel is relative to the sum of these, all counted positive, and a velocity to what one step could add to it.
"""

from __future__ import annotations

ROUNDING = 1e-13
"""Where terms cancel, a field is small and has the digits of its terms: some hundred roundings (2e-16) of these, whose size
follows from mass, length, speed and gravity of the model (`scales`), are no error. Chains of fifty bodies come to 1e-14."""

HAIR = 1e-13
"""The change of positions, velocities and places of geoms on bodies from which MuJoCo is run again: a few hundred roundings, as
much as two programs that round differently are apart when a motion begins."""

EXCUSE = 3.0
"""How many times MuJoCo's own spread in an entry is not judged. The spread is the largest of several random runs, and so itself
too small by some factor, of which three is rarely passed: of the sizes of normal numbers, the largest of four is above a third
of their standard deviation in 99 of 100 cases."""

NO_INERTIA = 1e12
"""Weight of a row beyond which it can move nothing: its Jacobian is rounding, and its force the last digit of its violation
times that. Such rows are not judged."""

KINEMATICS = 1e-12
"""Products and sums of numbers of order one, in an order of our own: rounding alone, amplified by long chains and by
cameras close to what they look at."""

COM = 1e-12
"""Sums over a subtree; inertias and axes are moved from MuJoCo's reference point to ours in the comparison itself,
which costs a few roundings of mass times distance squared."""

INERTIA = 1e-11
"""Composite inertias add up a whole subtree and cancel where centres of mass coincide; a factor is judged through
M x = y."""

MOMENTUM = 1e-11
"""Sums over a subtree of mass times velocity, where parts moving against each other cancel."""

FORCE = 1e-10
"""Velocities enter squared through the recursion of accelerations and forces over the whole tree."""

ACCELERATION = 1e-9
"""A solve with the joint-space inertia multiplies the error of the forces by its condition number."""

ENERGY = 1e-11
"""Sums over all bodies and springs; weights above and below the origin cancel."""

CONTACT_CLOSED_FORM = 1e-8
"""Closed-form pairs take square roots of differences, which halves the digits where surfaces just touch."""

CONTACT_CONVEX = 1e-5
"""Iterations on both sides stop at a tolerance of 1e-6, on paths of their own."""

CONVEX_POINTS = 1e-3
"""Nearest points on curved surfaces, whose distance is known to 1e-6: they lie about the root of that times the radius
aside."""

CONSTRAINT_ROWS = 1e-8
"""Rows inherit the error of contact points and normals, times impedances that grow steeply near a limit."""

SOLVED = 1e-6
"""Two optimisers stop near the same minimum; the cost is flat there, so its argument is known to half the digits."""

INVERSE_CONTACT = 1e-8
"""Forces of rows at a given acceleration: the error of rows, with no solver between."""

SENSOR = 1e-8
"""The loosest of what a sensor reads when it reads no constraint force."""

SENSOR_CONSTRAINT = 1e-5
"""A sensor that reads constraint forces carries the error of the solver, times a lever arm."""

TRAJECTORY_SMOOTH = 1e-8
"""A hundred steps let the rounding of one step grow, faster where the motion is chaotic: so the motion starts from a tenth
of the random velocities, under forces that give accelerations of order one (`states.gentle_state`)."""

TRAJECTORY_CONTACT = 1e-4
"""Contacts that open and close a step earlier or later separate two runs much faster. A motion that is chaotic even so is told
from a wrong one by MuJoCo's own motion from a start a hair away (`spread`)."""

AS_SHIPPED = 1e-6
"""Solvers with few iterations and loose tolerances reach no exact minimum, but go the same path to it: each iterate agrees to
rounding times the condition of the problem. Where rounding decides on one more iteration, MuJoCo's own runs show it."""

MACHINES = {"float64": 1e-13, "float32": 2e-5}
"""The same kernel on another machine: fused multiply-adds may fall differently, and single precision has seven digits,
of which a chain of poses loses one or two."""

MACHINES_SOLVED = {"float64": 1e-9, "float32": 1e-2}
"""The same for factors of M and what was solved with them: the condition number of M, up to 1e5 in random trees,
multiplies the last digits."""

DERIVED_POSE = 1e-14
"""Derived constants that follow from masses, sizes and poses at qpos0, relative to the largest of a field: 1e-15 is seen."""

DERIVED_INERTIA = 1e-11
"""Those that take the inverse of M, whose condition multiplies the last digits: inverse weights, each to its own size."""

DERIVED_SINGLE = 1e-3
"""Derived constants in single precision: seven digits, times the condition of M."""

LANES = 1e-10
"""A step of a world on lanes, with parameters of its own, against the step of a model with these: the same kernels."""

LANES_SOLVED = 1e-6
"""The same behind a solve with M or with constraints: on lanes rows of other worlds stand between, and another number of
iterations may be made before the solver is content."""

SINGLE = {"time": 1e-6, "qpos": 1e-6, "qvel": 1e-5, "act": 1e-5, "qfrc_smooth": 1e-4, "qacc": 2e-2}
"""A whole step in single precision against double, in contact, relative to the largest number: rounding of 1e-7, times what
cancels in bias forces, and for accelerations times the condition of M and of the rows."""

TRANSITION = 1e-6
"""Exact derivatives of a step against MuJoCo's central differences, relative to the largest: 1e-8 is typical."""

MASS = 1e-12
"""Mass properties against closed forms, other programs and round trips: sums of a few products, relative to the mass, to the
distances and to mass times distance squared."""

MASS_GRADIENT = 1e-6
"""Exact derivatives of mass properties against central differences, which lose half the digits or more."""
STABLE_PD = 1e-10
"""Three solvers of one system, and MuJoCo's matrices in a fourth: gains make it better conditioned than M alone."""

STABLE_PD_SINGLE = 2e-4
"""Torques and accelerations of stable PD in single precision against double, relative to the largest: 3e-5 is the worst of 16
random worlds of a tree with balls, at torque limits, by Cholesky."""

SYMBOLS = 1e-12
"""The same kernels traced with symbols: terms are summed in another order, and products of unit quaternions are not made units
again. Relative to the largest entry; of a solution with M each entry to the sum of what it is made of, all counted positive."""

SYMBOLS_GRADIENT = 1e-6
"""Derivatives of traced kernels against differences of the compiled ones, which lose half the digits or more."""

REGRESSOR = 1e-10
"""The regressor times its parameters against the recursion: tensors about the origins of bodies cancel against mass times
distance squared."""

C_CODE = 1e-13
"""A function as C against the same in CasADi's own evaluation: compilers fuse multiplications with additions."""

BATCH = 1e-10
"""A hundred smooth steps of a batch against single worlds, relative to the largest number of qpos."""

BATCH_SOLVED = 1e-8
"""The same in contact, solved to a tight tolerance."""

BATCH_SINGLE = {
    "all": 1e-5,
    "tests/models/convex.xml": 3e-3,
    "dm_control/locomotion/walkers/assets/humanoid_CMU_V2019.xml": 1e-4,
    "dm_control/locomotion/walkers/assets/humanoid_CMU_V2020.xml": 1e-4,
    "dm_control/locomotion/walkers/assets/fruitfly_v2/floor.xml": 5e-4,
    "dm_control/locomotion/walkers/assets/fruitfly_v2/fruitfly.xml": 5e-4,
    "dm_control/mjcf/test_assets/robot_arm.xml": 5e-4,
}
"""Three steps of a batch in single precision against double, relative to the largest number of qpos. In models that are named
shapes overlap deeply in the initial state, and stiff contacts make much of a rounding of their depth."""
