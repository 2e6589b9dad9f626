"""Histories: rings of past samples with their times, from which delayed values are read.

MuJoCo: mju_historyRead, mju_historyInsert. A ring of n samples of `size` numbers each lies in a field from `a` on: a number
of its owner's, the place of the newest sample, n times, n times `size` values; the times rise round the ring.
The newest sample may be elsewhere in every world, so no sample is addressed by a value: all are looked at and `where` picks.
"""

from ..kernel import kernel
from ..kernel.ops import absolute, any_, maximum, minimum, needs, not_, where, zero
from ..math.constants import MIN_VALUE, coarse

HOLD, LINEAR = 0, 1  # order of interpolation; beyond, cubic


@kernel
def earliest(ring, a, n):
    """Time of the oldest sample."""
    out = ring[a + 2]
    for p in range(1, n):
        out = minimum(out, ring[a + 2 + p])
    return out


@kernel
def latest(ring, a, n):
    """Time of the newest sample."""
    out = ring[a + 2]
    for p in range(1, n):
        out = maximum(out, ring[a + 2 + p])
    return out


@kernel
def last_before(ring, a, n, t, start):
    """Latest time of a sample before t, or `start`, the oldest time."""
    for p in range(n):
        s = ring[a + 2 + p]
        start = where(s < t, maximum(s, start), start)
    return start


@kernel
def same_time(t):
    """Times that are less than this apart are one: MuJoCo's smallest number, or what single precision leaves of a sum."""
    least = zero(t) + MIN_VALUE
    if any_(coarse(t) > 0.0):
        least = maximum(least, 4.0 * coarse(t) * (absolute(t) + 1.0))
    return least


@kernel
def first_after(ring, a, n, t, end):
    """Earliest time of a sample after t, or `end`, the newest time."""
    for p in range(n):
        s = ring[a + 2 + p]
        end = where(s > t, minimum(s, end), end)
    return end


@kernel
def sample(ring, a, n, size, i, t):
    """Number i of the sample taken at time t."""
    out = zero(ring[a])
    for p in range(n):
        out = where(ring[a + 2 + p] == t, ring[a + 2 + n + p * size + i], out)
    return out


@kernel
def read(ring, a, n, size, i, t, order):
    """Number i at time t: held from the sample before, linear, or by a cubic through it; constant beyond the ends."""
    oldest, newest = earliest(ring, a, n), latest(ring, a, n)
    least = same_time(newest)
    t = where(t <= oldest + least, oldest, where(t >= newest - least, newest, t))
    high = first_after(ring, a, n, t - least, newest)
    low = last_before(ring, a, n, high, oldest)
    at_high = sample(ring, a, n, size, i, high)
    at_low = sample(ring, a, n, size, i, low)
    met = high - t < least
    if order == HOLD:
        return where(met, at_high, at_low)
    step = where(met, 1.0, high - low)
    x = (t - low) / step
    if order == LINEAR:
        return where(met, at_high, at_low + x * (at_high - at_low))
    before = last_before(ring, a, n, low, oldest)
    after = first_after(ring, a, n, high, newest)
    at_before, at_after = sample(ring, a, n, size, i, before), sample(ring, a, n, size, i, after)
    slope_low = where(before < low, (at_high - at_before) / maximum(MIN_VALUE, high - before), 0.0)
    slope_high = where(after > high, (at_after - at_low) / maximum(MIN_VALUE, after - low), 0.0)
    xx, xxx = x * x, x * x * x
    cubic = (
        (2.0 * xxx - 3.0 * xx + 1.0) * at_low + (3.0 * xx - 2.0 * xxx) * at_high
        + (xxx - 2.0 * xx + x) * step * slope_low + (xxx - xx) * step * slope_high
    )  # fmt: skip
    return where(met, at_high, cubic)


@kernel
def insert_between(ring, a, n, size, t, source, s, between):
    """Where `between` holds: samples before t move one place back, over the oldest, and the new one takes the gap."""
    for i in range(size + 1):  # the values one by one, then the times, which decide
        base, stride, value = a + 2 + n + i, size, t
        if i < size:
            value = source[s + i]
        else:
            base, stride = a + 2, 1
        first_time, first = ring[a + 2], ring[base]
        for p in range(n):
            q = (p + 1) % n
            own, own_time = ring[base + p * stride], ring[a + 2 + p]
            next_time = first_time if q == 0 else ring[a + 2 + q]
            following = first if q == 0 else ring[base + q * stride]
            moved = where(own_time < t, where(next_time < t, following, value), own)
            moved = where(ring[a + 1] == p, own, moved)  # the newest has none to follow
            ring[base + p * stride] = where(between, moved, own)


@kernel
def insert(ring, a, n, size, t, source, s, active):
    """Store `size` numbers of a source from s on as the sample of time t: over one of that time, or over the oldest.

    Worlds that are not active keep their ring as it is.
    """
    newest = ring[a + 1]
    oldest = where(newest + 1.0 >= n, 0.0, newest + 1.0)
    nearest = absolute(t - ring[a + 2])
    for p in range(1, n):
        nearest = minimum(nearest, absolute(t - ring[a + 2 + p]))
    known = active & (nearest < same_time(t))
    late = active & not_(known) & (t > latest(ring, a, n))
    between = active & not_(known) & (t > earliest(ring, a, n)) & not_(late)
    still = between | not_(active)
    for p in range(n):
        time, same = ring[a + 2 + p], absolute(t - ring[a + 2 + p]) < same_time(t)
        for i in range(size):
            at = a + 2 + n + p * size + i
            fresh = where(still, ring[at], where(oldest == p, source[s + i], ring[at]))
            ring[at] = where(known, where(same, source[s + i], ring[at]), fresh)
        fresh = where(still, time, where(oldest == p, t, time))
        ring[a + 2 + p] = where(known, time, fresh)
    if needs(between):
        insert_between(ring, a, n, size, t, source, s, between)
    ring[a + 1] = where(late, oldest, newest)
