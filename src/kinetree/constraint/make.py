"""All rows of constraints in MuJoCo's order: equalities, friction losses, limits, contacts.

MuJoCo: mj_makeConstraint, mj_island. Reads: positions (kinematics, com_pos, tendon), contacts. Writes: ne, nf, nl, nefc,
nJ and the fields of `rows`, `contact_rows`, `impedance` and `island`.
"""

from ..geometry.contact_list import forget_rows
from ..kernel import kernel, stage
from ..types import DisableBit, Integrator
from .contact_rows import add_contacts, forget_addresses
from .equality import equality_rows
from .friction import add_frictions
from .impedance import make_impedance
from .island import find_islands
from .limit import add_limits
from .rows import count_supernodes


@kernel
def add_rows(m, d):
    """Rows of every kind that is not switched off."""
    if m.opt_disableflags & DisableBit.EQUALITY == 0 and m.neq > 0:
        equality_rows(m, d)
    d.ne[0] = d.nefc[0]
    if m.opt_disableflags & DisableBit.FRICTIONLOSS == 0:
        add_frictions(m, d)
    d.nf[0] = d.nefc[0] - d.ne[0]
    if m.opt_disableflags & DisableBit.LIMIT == 0:
        add_limits(m, d)
    d.nl[0] = d.nefc[0] - d.ne[0] - d.nf[0]
    if m.opt_disableflags & DisableBit.CONTACT == 0:
        add_contacts(m, d)


@kernel
def keep_diagonal(d):
    """Keep the diagonal of the bare inertia, from which impedances are made anew in a metric or under a controller."""
    for r in range(d.nefc[0]):
        d.efc_bare[r] = d.efc_diagA[r]


@stage
def make_constraint(m, d):
    """Rows of all constraints that hold: Jacobian, violation, impedance, islands. MuJoCo's mj_makeConstraint, mj_island.

    With the discrete integrator impedances wait for the metric, by which they go (`effective_metric`).
    Where there was no room, for contacts or for rows, there are none: this pass will run again.
    """
    forget_rows(d)
    if d.overflow[0] == 0:
        forget_addresses(d)
        if m.opt_disableflags & DisableBit.CONSTRAINT == 0 and m.nv > 0:
            add_rows(m, d)
        if d.overflow[0] == 0:
            count_supernodes(d)
            keep_diagonal(d)
            if m.opt_integrator != Integrator.DISCRETE:
                make_impedance(m, d, False)
        else:
            forget_rows(d)
            forget_addresses(d)
    d.nrow[0], d.nentry[0] = d.nefc[0], d.nJ[0]
    find_islands(m, d)
