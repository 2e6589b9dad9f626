"""Mass properties against AeroSandbox's: one sum of two bodies, and ten thousand components added up.

AeroSandbox adds its components one by one; kinetree takes them as one NumPy batch. Both are compared first. What a
change of mass in a running simulation costs, from the sum to the constants of the model, is shown besides.
"""

from __future__ import annotations

import numpy as np
from common import Candidate, Report, Target, main, measure

import kinetree as kt

COMPONENTS = 10_000
MP = kt.MassProperties


def random_bodies(count: int) -> kt.MassProperties:
    """A batch of boxes at random places, turned."""
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    q *= np.sign(np.linalg.det(q))[:, None, None]
    boxes = MP.solid_box(rng.uniform(0.1, 5, count), *rng.uniform(0.1, 2, (3, count)))
    return boxes.rotated(q).translated(rng.normal(size=(count, 3)))


def of_aerosandbox(bodies: list[kt.MassProperties]) -> list:
    """The same bodies; its components come in the order xx, yy, zz, xy, yz, xz."""
    import aerosandbox as asb

    out = []
    for b in bodies:
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = b.inertia.tolist()
        out.append(asb.MassProperties(b.mass, *b.cg.tolist(), xx, yy, zz, xy, yz, xz))
    return out


def run(quick: bool) -> Report:
    """Sums of two and of many, then the way into a model."""
    report = Report("mass properties")
    batch = random_bodies(COMPONENTS)
    bodies = list(batch)
    scope = {"a": bodies[0], "b": bodies[1], "batch": batch, "bodies": bodies, "aggregate": kt.aggregate}
    two = [Candidate("a + b, kinetree", "a + b", scope)]
    many = [Candidate(f"{COMPONENTS} components, kinetree, one batch", "aggregate(batch)", scope)]
    many += [Candidate(f"{COMPONENTS} components, kinetree, one by one", "sum(bodies)", scope)]
    try:
        theirs = of_aerosandbox(bodies)
    except ImportError:
        theirs = []
        report.notes.append("AeroSandbox is not installed (pip install aerosandbox)")
    if theirs:
        total, ours = sum(theirs), kt.aggregate(batch)
        assert MP(total.mass, total.xyz_cg, total.inertia_tensor).isclose(ours, 1e-10), "AeroSandbox's total differs"
        peer = {"a": theirs[0], "b": theirs[1], "bodies": theirs}
        two.append(Candidate("a + b, AeroSandbox", "a + b", peer))
        many.append(Candidate(f"{COMPONENTS} components, AeroSandbox, one by one", "sum(bodies)", peer))
    report.times |= measure(two, 10 if quick else 200, 0.001 if quick else 0.005)
    report.times |= measure(many, 2 if quick else 20, 0.001)
    report.times |= measure([_in_a_simulation()], 5 if quick else 50, 0.001)
    value = report.ratio(f"{COMPONENTS} components, one by one / one batch", many[1].name, many[0].name)
    report.targets.append(Target(f"{COMPONENTS} components: batch faster than one by one", value, ">=", 20.0, "x"))
    if theirs:
        value = report.ratio("a + b, kinetree / AeroSandbox", two[0].name, two[1].name)
        report.targets.append(Target("a + b: kinetree / AeroSandbox", value, "<=", 2.0, "x"))
        value = report.ratio(f"{COMPONENTS} components, AeroSandbox / kinetree, one batch", many[2].name, many[0].name)
        report.targets.append(Target(f"{COMPONENTS} components: batch faster than AeroSandbox", value, ">=", 20.0, "x"))
    return report


def _in_a_simulation() -> Candidate:
    """A humanoid whose torso loses mass: sum of components, mass of the body, constants of the model."""
    model = kt.load("humanoid")
    torso = MP.from_body(model, "torso")
    burning = kt.MassAggregator(
        {"torso": torso, "fuel": lambda t: MP.solid_box(1 - t, 0.1, 0.1, 0.1 * (1 - t))}, "torso"
    )
    model = burning.prepare(model)
    scope = {"apply": burning.apply, "model": model, "times": iter(np.linspace(0, 0.5, 10**6).tolist())}
    return Candidate("MassAggregator.apply, humanoid", "apply(model, next(times))", scope)


if __name__ == "__main__":
    main(run, __doc__)
