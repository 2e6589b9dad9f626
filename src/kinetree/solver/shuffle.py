"""The order in which the dual solver visits its blocks: MuJoCo's, from a generator that starts alike in every step.

MuJoCo: pcg32_next, shuffle_int in engine_solver.c. Reference: O'Neill 2014, "PCG: a family of simple fast space-efficient
statistically good algorithms for random number generation"; Fisher and Yates' shuffle.
The 64 bits of the state are kept in two halves, so that no product needs more than 63 bits or a sign.
"""

from ..kernel import kernel

LOW32 = 0xFFFFFFFF
MULTIPLIER_HIGH, MULTIPLIER_LOW = 6364136223846793005 >> 32, 6364136223846793005 & LOW32
INCREMENT = 1
FIRST = (0, INCREMENT)  # state after the first number, which is thrown away: 0 * multiplier + increment


@kernel
def next_state(high, low):
    """The state after this one: times the multiplier plus the increment, modulo 2^64."""
    upper = low * (MULTIPLIER_LOW >> 16)
    total = low * (MULTIPLIER_LOW & 0xFFFF) + ((upper & 0xFFFF) << 16) + INCREMENT
    carry = (upper >> 16) + (total >> 32)
    return (carry + ((low * MULTIPLIER_HIGH) & LOW32) + ((high * MULTIPLIER_LOW) & LOW32)) & LOW32, total & LOW32


@kernel
def number(high, low):
    """32 bits out of a state s: (s ^ s >> 18) >> 27, rotated to the right by s >> 59."""
    mixed_high, mixed_low = high ^ (high >> 18), low ^ (((high & 0x3FFFF) << 14) | (low >> 18))
    bits = ((mixed_high << 5) | (mixed_low >> 27)) & LOW32
    turn = high >> 27
    return ((bits >> turn) | (bits << ((32 - turn) & 31))) & LOW32


@kernel
def shuffle(blocks, n, high, low):
    """Shuffle n integers in place; the state of the generator afterwards."""
    for i in range(n - 1, 0, -1):
        j = number(high, low) % (i + 1)
        high, low = next_state(high, low)
        kept = blocks[i]
        blocks[i] = blocks[j]
        blocks[j] = kept
    return high, low
