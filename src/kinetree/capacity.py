"""Room for contacts and constraints, whose number each step decides: what kernels know of it.

Fields whose first size is one of `CAPACITIES` live in memory that can be replaced (`memory.py`). A kernel asks `fits` before it
writes; where there is no room it notes how much it needs and goes on counting. The driver sees the note, makes room, and
runs the stage again (`until_it_fits`): nothing is dropped.
"""

from .kernel import kernel
from .kernel.ops import minimum
from .memory import CAPACITIES

# Places in `capacity` and `needed`.
MAXCON, MAXEFC, MAXJ, MAXA, MAXH, MAXLINK, MAXPAIR, MAXHULL, MAXFACE, MAXMETRIC, MAXSLOT, MAXPANEL, MAXSQUARE = (
    CAPACITIES.index(name)
    for name in (
        *("maxcon", "maxefc", "maxJ", "maxA", "maxH", "maxlink", "maxpair", "maxhull", "maxface", "maxmetric"),
        *("maxslot", "maxpanel", "maxsquare"),
    )
)
MOST = 2**31 - 1  # as `needed` has 32 bits; far more than there can be room for


@kernel
def fits(d, which, n):
    """Whether there is room for n entries; if not, it is noted how many are needed, and the stage will run again."""
    if n <= d.capacity[which]:
        return True
    if n > d.needed[which]:
        d.needed[which] = minimum(n, MOST)
    d.overflow[0] = 1
    return False
