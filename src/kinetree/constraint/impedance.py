"""How stiff, damped and soft each row is. MuJoCo: getsolparam, getimpedance, mj_makeImpedance.

solref is (time constant, damping ratio), or if both are not positive (-stiffness, -damping). solimp is (least and largest
impedance, width, midpoint, power) of a function of the violation. The reference acceleration is -B v - K I (pos - margin),
and the regularisation R = (1 - I) / I times the diagonal of J M^-1 J'.

With the discrete integrator spring and damper act at the end of the step (`implicit`): the violation is then larger by
h (v + h a), the velocity v + h a. So the row asks for its reference with 1 + h B + h^2 K I times the weight. A spring that the
step cannot resolve, h^2 K I > 1, is made as stiff as it can, with the same damping ratio (refsafe).
Reads: efc_type, efc_id, efc_pos, efc_margin, efc_diagA, efc_D (> 0 where a row holds, 0 where it is neutral).
Writes: efc_KBIP, efc_R, efc_D, contact_mu, and efc_diagA so that it agrees with R.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, exp, log, maximum, minimum, needs, not_, sqrt, where, zero
from ..math.constants import MIN_VALUE
from ..types import Constraint, DisableBit
from .contact_rows import contact_width, touches
from .equality import equality_width

MIN_IMPEDANCE, MAX_IMPEDANCE = 0.0001, 0.9999
DEFAULT_SOLREF = (0.02, 1.0)


@kernel
def get_solref(field, i):
    """Row i of a field of references."""
    return field[i, 0], field[i, 1]


@kernel
def get_solimp(field, i):
    """Row i of a field of impedances, each number inside its bounds."""
    low = minimum(MAX_IMPEDANCE, maximum(MIN_IMPEDANCE, field[i, 0]))
    high = minimum(MAX_IMPEDANCE, maximum(MIN_IMPEDANCE, field[i, 1]))
    middle = minimum(MAX_IMPEDANCE, maximum(MIN_IMPEDANCE, field[i, 3]))
    return low, high, maximum(0.0, field[i, 2]), middle, maximum(1.0, field[i, 4])


@kernel
def safe_solref(m, ref, default, implicit):
    """A reference with the default for mixed signs, and a time constant that the time step can follow, unless implicit."""
    first, second = ref[0] > 0.0, ref[1] > 0.0
    mixed = (first & not_(second)) | (second & not_(first))
    time, ratio = where(mixed, default[0], ref[0]), where(mixed, default[1], ref[1])
    if not implicit and m.opt_disableflags & DisableBit.REFSAFE == 0:
        time = where(time > 0.0, maximum(time, 2.0 * m.opt_timestep), time)
    return time, ratio


@kernel
def stiffness(ref, high):
    """K of a reference and the largest impedance."""
    standard, square = ref[0] > 0.0, high * high
    size = where(standard, square * ref[0] * ref[0] * ref[1] * ref[1], square)
    return where(standard, 1.0, -ref[0]) / maximum(MIN_VALUE, size)


@kernel
def damping(ref, high):
    """B of a reference and the largest impedance."""
    standard = ref[1] > 0.0
    return where(standard, 2.0, -ref[1]) / maximum(MIN_VALUE, where(standard, high * ref[0], high))


@kernel
def power(x, p):
    """x to the power p, for x > 0."""
    out = where(p == 1.0, x, 1.0)
    general = (p != 0.0) & (p != 1.0)
    if needs(general):
        out = where(general, exp(p * log(x)), out)
    return out


@kernel
def impedance(solimp, violation):
    """Impedance I at a violation, its derivative, and I / (1 - I)."""
    low, high, width, middle, p = solimp
    flat = (low == high) | (width <= MIN_VALUE)
    size, span = absolute(violation), where(flat, 1.0, width)
    x = size / span
    inside = (x > 0.0) & (x < 1.0)
    x = where(inside, x, 0.5)
    lower = x <= middle
    rest, reach = where(lower, x, 1.0 - x), where(lower, zero(x) + middle, 1.0 - middle)
    slope = power(rest / reach, p - 1.0)
    y = where(lower, rest * slope, 1.0 - rest * slope)
    value = where(inside, low + y * (high - low), where(size >= span, zero(x) + high, low))
    value = where(flat, 0.5 * (low + high), value)
    rate = p * slope * (high - low) / span
    rate = where(inside & not_(flat), where(violation < 0.0, -rate, rate), 0.0)
    return value, rate, value / (1.0 - value)


@kernel
def regularisation(curve, diagonal):
    """R of an impedance, as `impedance` gives it, and a diagonal entry."""
    return maximum(MIN_VALUE, diagonal / curve[2])


@kernel
def resolve(m, ref, k, b, value):
    """Stiffness and damping that the time step can resolve: its end is then where the spring rests, and nothing rebounds."""
    h = m.opt_timestep
    size = h * h * k * value
    stiff = (ref[0] > 0.0) & (size > 1.0)
    bound = (1.0 - value) * MAX_IMPEDANCE / maximum(MIN_VALUE, value * (1.0 - MAX_IMPEDANCE)) - 2.0
    slower = minimum(b / sqrt(where(stiff, size, 1.0)), maximum(0.0, bound) / h)
    return where(stiff, 1.0 / (h * h * value), k), where(stiff, slower, b)


@kernel
def sharpness(m, k, b, value):
    """By how much a row weighs more whose spring and damper act at the end of the step: 1 + h B + h^2 K I."""
    h = m.opt_timestep
    return 1.0 + h * b + h * h * k * value


@kernel
def sharpened(m, k, b, curve, r, diagonal):
    """R of a row whose spring and damper act at the end of the step, but as if its impedance were at its bound at least."""
    least = maximum(MIN_VALUE, (1.0 - MAX_IMPEDANCE) * diagonal / MAX_IMPEDANCE)
    return maximum(r / sharpness(m, k, b, curve[0]), least)


@kernel
def set_row(d, row, k, b, curve, r, mass):
    """Write stiffness, damping, impedance, R and 1 / R of a row; where it is neutral it has no stiffness and no mass."""
    there, o = d.efc_D[row] > 0.0, zero(mass)
    r = where(there, r, 1.0)
    d.efc_KBIP[row, 0] = where(there, o + k, 0.0)
    d.efc_KBIP[row, 1] = where(there, o + b, 0.0)
    d.efc_KBIP[row, 2] = curve[0]
    d.efc_KBIP[row, 3] = where(there, curve[1], 0.0)
    d.efc_R[row] = r
    d.efc_D[row] = where(there, mass, 0.0)
    d.efc_diagA[row] = r * curve[2]


@kernel
def set_plain(m, d, row, rows, solref, solimp, violation, implicit):
    """Rows that share reference, impedance and violation, each with its own diagonal entry."""
    ref = safe_solref(m, solref, DEFAULT_SOLREF, implicit)
    curve = impedance(solimp, violation)
    k, b = stiffness(ref, solimp[1]), damping(ref, solimp[1])
    if implicit and d.efc_type[row] != Constraint.EQUALITY and m.opt_disableflags & DisableBit.REFSAFE == 0:
        k, b = resolve(m, ref, k, b, curve[0])
    for i in range(row, row + rows):
        r = regularisation(curve, d.efc_diagA[i])
        if implicit:
            r = sharpened(m, k, b, curve, r, d.efc_diagA[i])
        set_row(d, i, k, b, curve, r, 1.0 / r)


@kernel
def set_friction(m, d, row, solref, solimp, implicit):
    """A row of friction loss, which has no stiffness."""
    curve = impedance(solimp, zero(d.time[0]))
    b = damping(safe_solref(m, solref, DEFAULT_SOLREF, implicit), solimp[1])
    r = regularisation(curve, d.efc_diagA[row])
    if implicit:
        r = sharpened(m, zero(b), b, curve, r, d.efc_diagA[row])
    set_row(d, row, 0.0, b, curve, r, 1.0 / r)


@kernel
def set_equality(m, d, row, implicit):
    """The rows of an equality; connect and weld are judged by the length of their violation. Returns how many there are."""
    e = d.efc_id[row]
    rows = equality_width(m, e)
    violation = d.efc_pos[row]
    if rows > 1:
        square = zero(violation)
        for r in range(row, row + rows):
            square += d.efc_pos[r] * d.efc_pos[r]
        violation = sqrt(square)
    set_plain(m, d, row, rows, get_solref(m.eq_solref, e), get_solimp(m.eq_solimp, e), violation, implicit)
    return rows


@kernel
def set_contact(m, d, c, share, root, implicit):
    """The rows of a contact; share: of the normal's R that friction has, root: its square root.

    R of friction is such that the cone of forces is circular in the metric of R.
    """
    row, dim = d.contact_efc_address[c], d.contact_dim[c]
    kind = d.efc_type[row]
    solimp = get_solimp(d.contact_solimp, c)
    ref = safe_solref(m, get_solref(d.contact_solref, c), DEFAULT_SOLREF, implicit)
    curve = impedance(solimp, d.efc_pos[row] - d.efc_margin[row])
    k, b = stiffness(ref, solimp[1]), damping(ref, solimp[1])
    along = b  # along the tangents nothing is stiff
    r, f = regularisation(curve, d.efc_diagA[row]), d.contact_friction[c, 0]
    if implicit:
        if m.opt_disableflags & DisableBit.REFSAFE == 0:
            k, b = resolve(m, ref, k, b, curve[0])
        r = sharpened(m, k, b, curve, r, d.efc_diagA[row])
    if dim > 1:
        d.contact_mu[c] = f * root
    if kind == Constraint.CONTACT_PYRAMIDAL:
        edge = where(touches(d, c), 2.0 * f * f * share * r, r)
        mass = 1.0 / edge
        for i in range(row, row + contact_width(kind, dim)):
            set_row(d, i, k, b, curve, edge, mass)
    else:
        set_row(d, row, k, b, curve, r, 1.0 / r)
        if dim > 1:
            sliding = safe_solref(m, get_solref(d.contact_solreffriction, c), (0.0, 0.0), implicit)
            unset = (sliding[0] == 0.0) & (sliding[1] == 0.0)
            b = where(unset, along, damping(sliding, solimp[1]))
        for j in range(1, dim):
            g = d.contact_friction[c, j - 1]
            softness = r * share * f * f / (g * g)
            set_row(d, row + j, 0.0, b, curve, softness, 1.0 / softness)


@kernel
def set_loss_or_limit(m, d, row, implicit):
    """The row of a friction loss or limit."""
    kind, i = d.efc_type[row], d.efc_id[row]
    if kind == Constraint.FRICTION_DOF:
        set_friction(m, d, row, get_solref(m.dof_solref, i), get_solimp(m.dof_solimp, i), implicit)
    elif kind < Constraint.LIMIT_JOINT:
        set_friction(m, d, row, get_solref(m.tendon_solref_fri, i), get_solimp(m.tendon_solimp_fri, i), implicit)
    else:
        violation = d.efc_pos[row] - d.efc_margin[row]
        if kind == Constraint.LIMIT_JOINT:
            ref, solimp = get_solref(m.jnt_solref, i), get_solimp(m.jnt_solimp, i)
            set_plain(m, d, row, 1, ref, solimp, violation, implicit)
        else:
            ref, solimp = get_solref(m.tendon_solref_lim, i), get_solimp(m.tendon_solimp_lim, i)
            set_plain(m, d, row, 1, ref, solimp, violation, implicit)


@kernel
def make_impedance(m, d, implicit):
    """Stiffness, damping, impedance and regularisation of all rows; if implicit for the end of the step."""
    row = 0
    while row < d.ne[0]:
        row += set_equality(m, d, row, implicit)
    for row in range(d.ne[0], d.ne[0] + d.nf[0] + d.nl[0]):
        set_loss_or_limit(m, d, row, implicit)
    share = 1.0 / maximum(MIN_VALUE, m.opt_impratio)
    root = sqrt(share)
    for c in range(d.ncon[0]):
        if d.contact_efc_address[c] >= 0:
            set_contact(m, d, c, share, root, implicit)
