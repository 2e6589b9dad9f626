"""Enumerations with MuJoCo's names and values, less the prefix: mjJNT_HINGE is `JointType.HINGE`."""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag


class DisableBit(IntFlag):
    """Features that are on unless disabled (`opt.disableflags`)."""

    CONSTRAINT = 1 << 0
    EQUALITY = 1 << 1
    FRICTIONLOSS = 1 << 2
    LIMIT = 1 << 3
    CONTACT = 1 << 4
    SPRING = 1 << 5
    DAMPER = 1 << 6
    GRAVITY = 1 << 7
    CLAMPCTRL = 1 << 8
    WARMSTART = 1 << 9
    FILTERPARENT = 1 << 10
    ACTUATION = 1 << 11
    REFSAFE = 1 << 12
    SENSOR = 1 << 13
    MIDPHASE = 1 << 14
    EULERDAMP = 1 << 15
    AUTORESET = 1 << 16
    NATIVECCD = 1 << 17
    ISLAND = 1 << 18
    MULTICCD = 1 << 19


class EnableBit(IntFlag):
    """Features that are off unless enabled (`opt.enableflags`)."""

    OVERRIDE = 1 << 0
    ENERGY = 1 << 1
    FWDINV = 1 << 2
    INVDISCRETE = 1 << 3
    SLEEP = 1 << 4
    DIAGEXACT = 1 << 5
    IPC = 1 << 6
    SPECULATIVE = 1 << 7


class JointType(IntEnum):
    """Joints; a free joint has 7 numbers in qpos, a ball 4, slides and hinges 1."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3


class GeomType(IntEnum):
    """Shapes; those from ARROW on never occur in a model."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8
    ARROW = 100
    ARROW1 = 101
    ARROW2 = 102
    LINE = 103
    LINEBOX = 104
    FLEX = 105
    SKIN = 106
    LABEL = 107
    TRIANGLE = 108
    NONE = 1001


class Projection(IntEnum):
    """Camera projections."""

    PERSPECTIVE = 0
    ORTHOGRAPHIC = 1


class CamLight(IntEnum):
    """How a camera or light follows bodies."""

    FIXED = 0
    TRACK = 1
    TRACKCOM = 2
    TARGETBODY = 3
    TARGETBODYCOM = 4


class LightType(IntEnum):
    """Lights."""

    SPOT = 0
    DIRECTIONAL = 1
    POINT = 2
    IMAGE = 3


class Integrator(IntEnum):
    """How time advances."""

    EULER = 0
    RK4 = 1
    IMPLICIT = 2
    IMPLICITFAST = 3
    DISCRETE = 4


class Cone(IntEnum):
    """Friction cones."""

    PYRAMIDAL = 0
    ELLIPTIC = 1


class Jacobian(IntEnum):
    """Storage of the constraint Jacobian."""

    DENSE = 0
    SPARSE = 1
    AUTO = 2


class Solver(IntEnum):
    """Constraint solvers."""

    PGS = 0
    CG = 1
    NEWTON = 2


class EqType(IntEnum):
    """Equality constraints."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3
    FLEX = 4
    FLEXVERT = 5
    FLEXSTRAIN = 6
    DISTANCE = 7


class TendonType(IntEnum):
    """Tendons: a sum of joint positions, or a path through space."""

    FIXED = 0
    SPATIAL = 1


class WrapType(IntEnum):
    """Objects on a tendon path."""

    NONE = 0
    JOINT = 1
    PULLEY = 2
    SITE = 3
    SPHERE = 4
    CYLINDER = 5


class TrnType(IntEnum):
    """Actuator transmissions: what a force acts on."""

    JOINT = 0
    JOINTINPARENT = 1
    SLIDERCRANK = 2
    TENDON = 3
    SITE = 4
    BODY = 5
    SO3 = 6
    UNDEFINED = 1000


class DynType(IntEnum):
    """Actuator dynamics: how an activation follows the control."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTEREXACT = 3
    MUSCLE = 4
    DCMOTOR = 5
    PID = 6
    USER = 7


class GainType(IntEnum):
    """Actuator gains: the factor from control or activation to force."""

    FIXED = 0
    AFFINE = 1
    MUSCLE = 2
    DCMOTOR = 3
    SO3 = 4
    PID = 5
    USER = 6


class BiasType(IntEnum):
    """Actuator biases: the force without control."""

    NONE = 0
    AFFINE = 1
    MUSCLE = 2
    DCMOTOR = 3
    SO3 = 4
    USER = 5


class CtrlChart(IntEnum):
    """How the controls of an SO3 servo describe an orientation."""

    EXPMAP = 1
    QUAT = 2


class CtrlInput(IntFlag):
    """Which controls an actuator takes."""

    POS = 1 << 0
    VEL = 1 << 1
    FF = 1 << 2
    VOLTAGE = 1 << 3
    NONE = 1 << 4
    PRESSURE = 1 << 5


class ObjType(IntEnum):
    """Kinds of named object."""

    UNKNOWN = 0
    BODY = 1
    XBODY = 2
    JOINT = 3
    DOF = 4
    GEOM = 5
    SITE = 6
    CAMERA = 7
    LIGHT = 8
    FLEX = 9
    MESH = 10
    SKIN = 11
    HFIELD = 12
    TEXTURE = 13
    MATERIAL = 14
    PAIR = 15
    EXCLUDE = 16
    EQUALITY = 17
    TENDON = 18
    ACTUATOR = 19
    SENSOR = 20
    NUMERIC = 21
    TEXT = 22
    TUPLE = 23
    KEY = 24
    PLUGIN = 25
    FRAME = 100
    DEFAULT = 101
    MODEL = 102


class SensorType(IntEnum):
    """Sensors."""

    TOUCH = 0
    ACCELEROMETER = 1
    VELOCIMETER = 2
    GYRO = 3
    FORCE = 4
    TORQUE = 5
    MAGNETOMETER = 6
    RANGEFINDER = 7
    CAMPROJECTION = 8
    JOINTPOS = 9
    JOINTVEL = 10
    TENDONPOS = 11
    TENDONVEL = 12
    ACTUATORPOS = 13
    ACTUATORVEL = 14
    ACTUATORFRC = 15
    JOINTACTFRC = 16
    TENDONACTFRC = 17
    BALLQUAT = 18
    BALLANGVEL = 19
    JOINTLIMITPOS = 20
    JOINTLIMITVEL = 21
    JOINTLIMITFRC = 22
    TENDONLIMITPOS = 23
    TENDONLIMITVEL = 24
    TENDONLIMITFRC = 25
    FRAMEPOS = 26
    FRAMEQUAT = 27
    FRAMEXAXIS = 28
    FRAMEYAXIS = 29
    FRAMEZAXIS = 30
    FRAMELINVEL = 31
    FRAMEANGVEL = 32
    FRAMELINACC = 33
    FRAMEANGACC = 34
    SUBTREECOM = 35
    SUBTREELINVEL = 36
    SUBTREEANGMOM = 37
    INSIDESITE = 38
    GEOMDIST = 39
    GEOMNORMAL = 40
    GEOMFROMTO = 41
    CONTACT = 42
    E_POTENTIAL = 43
    E_KINETIC = 44
    CLOCK = 45
    TACTILE = 46
    PLUGIN = 47
    USER = 48


class Stage(IntEnum):
    """Stages of the computation, as sensors need them."""

    NONE = 0
    POS = 1
    VEL = 2
    ACC = 3


class DataType(IntEnum):
    """What kind of numbers a sensor gives."""

    REAL = 0
    POSITIVE = 1
    AXIS = 2
    QUATERNION = 3


class ConDataField(IntEnum):
    """What a contact sensor reports, in the order of its numbers."""

    FOUND = 0
    FORCE = 1
    TORQUE = 2
    DIST = 3
    POS = 4
    NORMAL = 5
    TANGENT = 6
    LINVEL = 7
    ANGVEL = 8


class RayDataField(IntEnum):
    """What a rangefinder reports, in the order of its numbers."""

    DIST = 0
    DIR = 1
    ORIGIN = 2
    POINT = 3
    NORMAL = 4
    DEPTH = 5


class CamOutBit(IntFlag):
    """Images that a camera delivers."""

    RGB = 1 << 0
    DEPTH = 1 << 1
    DIST = 1 << 2
    NORMAL = 1 << 3
    SEG = 1 << 4


class SameFrame(IntEnum):
    """How the frame of an element coincides with its body's frames."""

    NONE = 0
    BODY = 1
    INERTIA = 2
    BODYROT = 3
    INERTIAROT = 4


class SleepPolicy(IntEnum):
    """Whether a kinematic tree may sleep, and who decided it."""

    AUTO = 0
    AUTO_NEVER = 1
    AUTO_ALLOWED = 2
    NEVER = 3
    ALLOWED = 4
    INIT = 5


class State(IntFlag):
    """Parts of the state, and the usual unions of them."""

    TIME = 1 << 0
    QPOS = 1 << 1
    QVEL = 1 << 2
    ACT = 1 << 3
    HISTORY = 1 << 4
    WARMSTART = 1 << 5
    CTRL = 1 << 6
    QFRC_APPLIED = 1 << 7
    XFRC_APPLIED = 1 << 8
    EQ_ACTIVE = 1 << 9
    MOCAP_POS = 1 << 10
    MOCAP_QUAT = 1 << 11
    USERDATA = 1 << 12
    PLUGIN = 1 << 13
    PLASTIC = 1 << 14
    PHYSICS = QPOS | QVEL | ACT | HISTORY | PLASTIC
    FULLPHYSICS = TIME | PHYSICS | PLUGIN
    USER = CTRL | QFRC_APPLIED | XFRC_APPLIED | EQ_ACTIVE | MOCAP_POS | MOCAP_QUAT | USERDATA
    INTEGRATION = FULLPHYSICS | USER | WARMSTART


class Constraint(IntEnum):
    """Kinds of constraint row."""

    EQUALITY = 0
    FRICTION_DOF = 1
    FRICTION_TENDON = 2
    LIMIT_JOINT = 3
    LIMIT_TENDON = 4
    CONTACT_FRICTIONLESS = 5
    CONTACT_PYRAMIDAL = 6
    CONTACT_ELLIPTIC = 7


class ConstraintState(IntEnum):
    """Which piece of its cost function a constraint row is on."""

    SATISFIED = 0
    QUADRATIC = 1
    LINEARNEG = 2
    LINEARPOS = 3
    CONE = 4


class WarningType(IntEnum):
    """What can go wrong in a simulation without stopping it."""

    INERTIA = 0
    CONTACTFULL = 1
    CNSTRFULL = 2
    BADQPOS = 3
    BADQVEL = 4
    BADQACC = 5
    BADCTRL = 6


class SleepState(IntEnum):
    """Sleep state of a body."""

    STATIC = -1
    ASLEEP = 0
    AWAKE = 1


# The MuJoCo enumeration that each class mirrors.
MUJOCO_ENUMS: dict[type[Enum], str] = {
    DisableBit: "mjtDisableBit",
    EnableBit: "mjtEnableBit",
    JointType: "mjtJoint",
    GeomType: "mjtGeom",
    Projection: "mjtProjection",
    CamLight: "mjtCamLight",
    LightType: "mjtLightType",
    Integrator: "mjtIntegrator",
    Cone: "mjtCone",
    Jacobian: "mjtJacobian",
    Solver: "mjtSolver",
    EqType: "mjtEq",
    TendonType: "mjtTendon",
    WrapType: "mjtWrap",
    TrnType: "mjtTrn",
    DynType: "mjtDyn",
    GainType: "mjtGain",
    BiasType: "mjtBias",
    CtrlChart: "mjtCtrlChart",
    CtrlInput: "mjtCtrlInput",
    ObjType: "mjtObj",
    SensorType: "mjtSensor",
    Stage: "mjtStage",
    DataType: "mjtDataType",
    ConDataField: "mjtConDataField",
    RayDataField: "mjtRayDataField",
    CamOutBit: "mjtCamOutBit",
    SameFrame: "mjtSameFrame",
    SleepPolicy: "mjtSleepPolicy",
    State: "mjtState",
    Constraint: "mjtConstraint",
    ConstraintState: "mjtConstraintState",
    WarningType: "mjtWarning",
    SleepState: "mjtSleepState",
}
