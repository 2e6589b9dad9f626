"""The line search against MuJoCo's cost along random steps."""

from __future__ import annotations

import numpy as np
import pytest

from kinetree.kernel import stage
from kinetree.solver.linesearch import along, quadratic_part, search
from kinetree.solver.primal import prepare_step
from kinetree.types import Cone
from tests.constraint.paired_rows import our_jacobian
from tests.dynamics.paired import same
from tests.solver.solved import cost_of_rows, inertia, ready, scene

NAMES = ["contacts", "limits", "equalities", "dm_control/suite/humanoid.xml"]


@stage
def searched(m, d):
    """Length, decrease and slope left of a search to the last digit along sol_step."""
    prepare_step(m, d, 0)
    result = search(m, d, 0, 1e-14, d.time[0] == d.time[0])
    d.solver_improvement[0], d.solver_improvement[1], d.solver_improvement[2] = result[0], result[1], result[2]


@stage
def evaluated(m, d):
    """Change of cost, slope and curvature at the length in solver_fwdinv."""
    prepare_step(m, d, 0)
    slope, bend, _ = quadratic_part(m, d, 0)
    result = along(d, 0, d.solver_fwdinv[0], slope, bend)
    d.solver_improvement[0], d.solver_improvement[1], d.solver_improvement[2] = result[0], result[1], result[2]


class Line:
    """A random point and a random step from it, and the cost along it as MuJoCo has it."""

    def __init__(self, pair, seed):
        rng, nv = np.random.default_rng(seed), pair.model.nv
        self.pair, self.arrays = pair, pair.ours._arrays
        self.mass, self.jacobian = inertia(pair), our_jacobian(pair.ours)
        self.start = pair.ours.qacc_smooth + 10.0 * rng.normal(size=nv)
        self.step = rng.normal(size=nv)
        self.arrays["qacc"][:], self.arrays["sol_step"][:] = self.start, self.step
        self.arrays["sol_Ma"][:] = self.mass @ self.start
        self.arrays["efc_jar"][: pair.ours.nefc] = self.jacobian @ self.start - pair.ours.efc_aref

    def cost(self, a):
        qacc = self.start + a * self.step
        off = qacc - self.pair.ours.qacc_smooth
        return 0.5 * off @ self.mass @ off + cost_of_rows(self.pair, self.jacobian @ qacc - self.pair.ours.efc_aref)[0]

    def slope(self, a):
        qacc = self.start + a * self.step
        force = cost_of_rows(self.pair, self.jacobian @ qacc - self.pair.ours.efc_aref)[1]
        return self.step @ (self.mass @ qacc - self.pair.ours.qfrc_smooth - self.jacobian.T @ force)

    def run(self, stage, length=0.0):
        self.arrays["solver_fwdinv"][0] = length
        stage(self.pair.model, self.pair.ours)
        return self.arrays["solver_improvement"][:3].copy()


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", NAMES)
def test_cost_along_a_step(name, cone):
    pair = ready(scene(name, cone=cone))
    for seed in range(5):
        line = Line(pair, seed)
        size = abs(line.cost(0.0)) + abs(line.cost(1.0))
        for a in (0.0, 1e-3, 0.1, 1.0, -2.0):
            change, slope, bend = line.run(evaluated, a)
            assert abs(change - (line.cost(a) - line.cost(0.0))) < 1e-11 * size, (name, a)
            assert abs(slope - line.slope(a)) < 1e-10 * max(1.0, abs(line.slope(0.0)), abs(line.slope(1.0))), (name, a)
            numeric = (line.slope(a + 1e-7) - line.slope(a - 1e-7)) / 2e-7
            assert abs(bend - numeric) < 1e-3 * max(1.0, abs(numeric)), (name, a)


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", NAMES)
def test_finds_the_minimum(name, cone):
    """Where the slope changes its sign, found by bisection on MuJoCo's forces."""
    pair = ready(scene(name, cone=cone))
    for seed in range(5):
        line = Line(pair, seed)
        sign = -np.sign(line.slope(0.0))
        low, high = 0.0, sign
        while line.slope(high) * sign < 0.0:
            high *= 2.0
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if line.slope(middle) * sign < 0.0 else (low, middle)
        length, decrease, left = line.run(searched)
        same(length, low, 1e-9, f"{name} {seed} length")
        same(decrease, line.cost(0.0) - line.cost(low), 1e-9, f"{name} {seed} decrease")
        assert 0.0 <= left < 1e-9 * abs(line.slope(0.0))


def test_no_step_from_the_minimum_or_without_a_direction():
    pair = ready(scene("equalities"))
    line = Line(pair, 0)
    line.arrays["sol_step"][:] = 0.0
    assert (line.run(searched)[:2] == 0.0).all()


@pytest.mark.parametrize("cone", list(Cone))
@pytest.mark.parametrize("name", NAMES)
def test_small_changes_do_not_drown_in_rounding(name, cone):
    """For a tiny length the cost changes by length times slope, however large it is: this is what CG stops by."""
    pair = ready(scene(name, cone=cone))
    for seed in range(5):
        line = Line(pair, seed)
        slope = line.run(evaluated, 0.0)[1]
        for a in (1e-11, -1e-13):
            change = line.run(evaluated, a)[0]
            assert abs(change - a * slope) <= 1e-8 * abs(a * slope), (name, seed, a, change, a * slope)
