"""Sums, differences and multiples against definitions, identities and AeroSandbox."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetree as kt
from kinetree.mass import aggregate_mass_properties, transform_mass_properties
from tests.mass.bodies import assert_same, bodies, naive_sum, numbers, random_body, rotation

MP = kt.MassProperties


# sums


def test_sum_is_what_the_definition_says():
    rng = np.random.default_rng(0)
    for _ in range(20):
        parts = [random_body(rng) for _ in range(5)]
        expected = naive_sum([p.mass for p in parts], [p.cg for p in parts], [p.inertia for p in parts])
        assert_same(kt.aggregate(parts), expected)
        assert_same(sum(parts), expected)
        total = parts[0]
        for part in parts[1:]:
            total += part
        assert_same(total, expected)


@given(bodies(), bodies())
def test_sum_is_commutative(a, b):
    assert_same(a + b, b + a)


@given(st.lists(bodies(), min_size=1, max_size=6))
def test_aggregate_equals_adding_one_by_one(parts):
    assert_same(kt.aggregate(parts), sum(parts))


def test_in_place_addition_rebinds():
    a = b = MP.solid_sphere(1, 1)
    a += MP.solid_sphere(1, 2)
    assert b == MP.solid_sphere(1, 1) and a.mass == 2


def test_the_empty_sum_is_nothing_and_valid():
    for empty in (kt.aggregate([]), kt.aggregate(MP.stack([])), MP.zero()):
        assert empty.mass == 0 and not empty.cg.any() and not empty.inertia.any()
        assert empty.is_physically_valid()
    body = MP.solid_box(3, 1, 2, 3, cg=(1, 2, 3))
    assert body + MP.zero() == body == MP.zero() + body


@given(bodies(), bodies())
def test_no_mass_gives_no_nan(a, b):
    b = b * (a.mass / b.mass)
    b = MP(a.mass, b.cg, b.inertia)
    gone = a - b
    assert gone.mass == 0 and not np.isnan(gone.inertia).any()
    np.testing.assert_allclose(gone.cg, (a.cg + b.cg) / 2, atol=1e-14)
    size = max(np.abs(body.inertia_about_point(0)).max() for body in (a, b))
    assert_same(kt.aggregate([a, -b]), gone, scale=size)
    nothing = MP.point_mass(0, a.cg) + MP.point_mass(0, b.cg)
    assert nothing.is_physically_valid() and nothing.is_point_mass()


def test_what_has_inertia_but_no_mass_is_not_possible():
    gone = MP.solid_sphere(2, 1) - MP.point_mass(2, (0, 0, 0))
    assert gone.mass == 0 and not gone.is_physically_valid()
    with pytest.raises(ValueError, match="inertia without mass: 0.8"):
        gone.validate()


def test_aggregate_is_right_where_masses_cancel_on_the_way():
    """A body and a hole of the same mass: adding one by one forgets the moment that they leave."""
    rng = np.random.default_rng(3)
    a, b, c = random_body(rng), random_body(rng), random_body(rng)
    hole = b * (a.mass / b.mass)
    hole = -MP(a.mass, hole.cg, hole.inertia)
    expected = naive_sum([a.mass, hole.mass, c.mass], [a.cg, hole.cg, c.cg], [a.inertia, hole.inertia, c.inertia])
    for order in ([a, hole, c], [c, a, hole], [hole, c, a]):
        assert_same(kt.aggregate(order), expected, scale=10.0)


def test_parts_in_one_place_stay_there():
    place = (0.1, 0.2, 0.7)
    parts = [MP.point_mass(m, place) for m in (0.1, 0.3, 1 / 3)]
    for total in (sum(parts), kt.aggregate(parts), kt.aggregate(MP.stack(parts)), kt.aggregate(parts[2:])):
        assert total.cg.tolist() == list(place) and total.is_point_mass()


# multiples


@given(bodies(), numbers(0.1, 10))
def test_multiples(a, k):
    assert_same(k * a, a * k)
    assert_same((k * a) / k, a)
    assert_same(a + a, 2 * a)
    assert (-a).mass == -a.mass and (-a).cg.tolist() == a.cg.tolist() and -1.0 * -a == a == +a
    assert_same(np.float64(k) * a, k * a)


def test_multiples_of_odd_kinds():
    a = MP.solid_sphere(3, 1)
    assert Fraction(1, 4) * a == a / 4.0 == a / 4
    for factor in (True, None, "2", [[1], [2, 3]], a):
        with pytest.raises((TypeError, ValueError)):
            factor * a
    with pytest.raises(ZeroDivisionError):
        a / 0
    with pytest.raises(ZeroDivisionError):
        a / np.array([1.0, 0.0])
    for wrong in (1, 2.0, None, "x"):
        with pytest.raises(TypeError):
            a + wrong
        with pytest.raises(TypeError):
            wrong - a
    with pytest.raises(TypeError, match="expected mass properties, got float"):
        kt.aggregate([a, 1.0])
    with pytest.raises(TypeError, match="several"):
        kt.aggregate(a)


def test_zero_is_nothing_on_either_side():
    a = MP.solid_sphere(3, 1)
    assert a + 0 is a and 0 + a is a
    for wrong in (0.0, False, 1):
        with pytest.raises(TypeError):
            a + wrong
        with pytest.raises(TypeError):
            wrong + a


def test_batches_that_do_not_fit_are_told():
    three, four = MP.solid_sphere(np.ones(3), 1), MP.solid_sphere(np.ones(4), 1)
    message = r"batches of different shapes: \(3,\), \(4,\)"
    for wrong in (lambda: three + four, lambda: three - four, lambda: kt.aggregate([three, MP.zero(), four])):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_aggregate_says_what_it_takes():
    with pytest.raises(TypeError, match=r"aggregate\(components.values\(\)\)"):
        kt.aggregate({"a": MP.zero()})
    with pytest.raises(TypeError, match="several mass properties or a batch, not float"):
        kt.aggregate(3.0)


# the value


def test_a_body_is_true():
    assert MP.solid_sphere(3, 1) and MP.zero() and MP.stack([MP.zero()]) and not MP.stack([])


def test_it_never_changes():
    a = MP.solid_sphere(3, 1)
    for name in ("mass", "cg", "inertia", "anything", "_scalars"):
        with pytest.raises(AttributeError, match="never change"):
            setattr(a, name, 1)
        with pytest.raises(AttributeError):
            delattr(a, name)
    batch = MP.solid_sphere(np.arange(1.0, 4), 1)
    for array in (a.cg, a.inertia, batch.mass, batch.cg, batch.inertia):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    assert a == MP.solid_sphere(3, 1)
    assert copy.copy(a) is a and copy.deepcopy(a) is a and pickle.loads(pickle.dumps(a)) == a


def test_equality_and_hash():
    a, b = MP.solid_sphere(3, 1), MP.solid_sphere(3.0, 1)
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != MP.solid_sphere(3, 1.0000001) and a != 3 and a != "sphere"
    assert MP.point_mass(1, (0.0, 0, 0)) == MP.point_mass(1, (-0.0, 0, 0))
    assert hash(MP.point_mass(1, (0.0, 0, 0))) == hash(MP.point_mass(1, (-0.0, 0, 0)))


def test_isclose():
    a = MP.solid_box(3, 1, 2, 3, cg=(1, 2, 3))
    assert a.isclose(a * (1 + 1e-10)) is True and a.isclose(a * (1 + 1e-8)) is False
    assert a.isclose(a * (1 + 1e-8), rtol=1e-7) and not a.isclose(a.translated((1e-6, 0, 0)))
    assert a.isclose(a.translated((1e-6, 0, 0)), rtol=0, atol=1e-5)
    with pytest.raises(TypeError):
        a.isclose(3)
    assert not a.isclose(MP.point_mass([np.nan], 0)[0]) and not a.isclose(MP.point_mass([np.inf], 0)[0])


def test_repr_can_be_read():
    text = repr(MP.solid_sphere(3, 1, cg=(1, -0.0, 1 / 3)))
    assert text == (
        "MassProperties(mass=3 kg, cg=(1, 0, 0.333333) m, inertia=[[1.2, 0, 0], [0, 1.2, 0], [0, 0, 1.2]] kg·m²)"
    )


def test_components_come_with_positive_products():
    """A cloud of points, its products of inertia by their definition; AeroSandbox would order xy, yz, xz."""
    rng = np.random.default_rng(1)
    points, masses = rng.normal(size=(8, 3)), rng.uniform(0.5, 2, 8)
    cloud = naive_sum(masses, points)
    x, y, z = (points - cloud.cg).T
    products = [(masses * a * b).sum() for a, b in ((x, y), (x, z), (y, z))]
    moments = [(masses * (a * a + b * b)).sum() for a, b in ((y, z), (x, z), (x, y))]
    assert_same(MP.from_components(cloud.mass, cloud.cg, *moments, *products), cloud)
    back = cloud.inertia_components_about_point(cloud.cg)
    np.testing.assert_allclose(back, [*moments, *(-p for p in products)], atol=1e-12)


def test_deprecated_spellings_work_and_warn():
    with pytest.warns(DeprecationWarning, match="point_mass"):
        assert MP.from_mass(3) == MP.point_mass(3, (0, 0, 0))
    with pytest.warns(DeprecationWarning, match="from_components"):
        assert MP.full(3, 1, 1, 1, 0.1, 0.2, 0.3) == MP.from_components(3, (0, 0, 0), 1, 1, 1, 0.1, 0.2, 0.3)
    a = MP.solid_sphere(3, 1, cg=(1, 2, 3))
    with pytest.warns(DeprecationWarning, match="cg"):
        assert a.cg_offset.tolist() == [1, 2, 3]
    with pytest.warns(DeprecationWarning, match="aggregate"):
        assert aggregate_mass_properties([a, a]) == kt.aggregate([a, a])
    turn = rotation(np.array((1.0, 2, 3, 4)))
    with pytest.warns(DeprecationWarning, match="transform"):
        assert transform_mass_properties(a, turn, (1, 1, 1)) == a.transform(turn, (1, 1, 1))


@pytest.mark.parametrize("arguments, error, message", [
    (("1", 0, np.eye(3)), TypeError, "mass: expected a number"),
    ((None, 0, np.eye(3)), TypeError, "mass: expected a number"),
    ((True, 0, np.eye(3)), TypeError, "mass: expected a number"),
    ((10**400, 0, np.eye(3)), ValueError, "too large"),
    ((1, (1, 2), np.eye(3)), ValueError, "cg: expected 3 numbers, got shape"),
    ((1, 5, np.eye(3)), TypeError, "cg: expected 3 numbers, got 5"),
    ((1, "abc", np.eye(3)), TypeError, "cg: expected 3 numbers"),
    ((1, (1, 2, "3"), np.eye(3)), TypeError, "cg: expected"),
    ((1, [[1, 2], [3]], np.eye(3)), ValueError, "cg: not a regular array"),
    ((1, 0, np.eye(2)), ValueError, "inertia: expected 3 x 3 numbers, got shape"),
    ((1, 0, 3.0), TypeError, "inertia: expected 3 x 3 numbers, got 3.0"),
    ((1, 0, (1, 2, 3)), ValueError, "inertia: expected 3 x 3 numbers"),
    ((np.ones(3), np.ones((4, 3)), np.eye(3)), ValueError, "batches of different shapes"),
    ((np.ones(3) * 1j, 0, np.eye(3)), TypeError, "mass: expected numbers"),
])  # fmt: skip
def test_bad_arguments_are_told(arguments, error, message):
    with pytest.raises(error, match=message):
        MP(*arguments)


@pytest.mark.parametrize("arguments, named, message", [
    ((), {}, "MassProperties takes mass, cg and inertia: mass and cg and inertia missing"),
    ((1, 0), {}, "MassProperties takes mass, cg and inertia: inertia missing"),
    ((1, 0, 1, 1, 1), {}, "MassProperties takes mass, cg and inertia, not 5 values: .*MassProperties.from_components"),
    ((), {"mass": 1, "x_cg": 2, "Ixx": 3}, "MassProperties .*, not x_cg, Ixx: .*MassProperties.from_components"),
    ((1,), {"centre": 0}, "MassProperties takes mass, cg and inertia, not centre$"),
    ((1, 0, np.eye(3)), {"cg": 0}, "MassProperties was given cg twice"),
    ((1,), {"cg": 0, "cg_offset": 0, "inertia": np.eye(3)}, "MassProperties takes .*, not cg_offset"),
])  # fmt: skip
def test_wrong_arguments_name_the_class(arguments, named, message):
    with pytest.raises(TypeError, match=message):
        MP(*arguments, **named)


def test_cg_offset_is_an_old_name_of_cg():
    with pytest.warns(DeprecationWarning, match="cg_offset= is deprecated: write cg=") as warned:
        assert MP(2, cg_offset=(1, 2, 3), inertia=np.eye(3)) == MP(2, cg=(1, 2, 3), inertia=np.eye(3))
        assert MP.diagonal(2, 1, 1, 1, cg_offset=(1, 2, 3)) == MP.diagonal(2, (1, 2, 3), 1, 1, 1)
    assert {w.filename for w in warned} == {__file__}, "the warning points to the caller"


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_mass_is_finite(wrong):
    for make in (
        lambda m: MP(m, 0, np.eye(3)), lambda m: MP.point_mass(m, 0), lambda m: MP.diagonal(m, 1, 1, 1),
        lambda m: MP.solid_sphere(m, 1), lambda m: MP.from_radii_of_gyration(np.float32(m), 1, 1, 1),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="mass must be finite, got"):
            make(wrong)
        assert make(-2.0).mass == -2, "a hole"


def test_arguments_by_name():
    body = MP.diagonal(3, (1, 2, 3), 4, 5, 6)
    assert MP.diagonal(mass=3, cg=(1, 2, 3), Ixx=4, Iyy=5, Izz=6) == body == MP.diagonal(3, 4, 5, 6, cg=(1, 2, 3))
    assert MP.diagonal(3, (1, 2, 3), 4, Iyy=5, Izz=6) == body
    assert MP.diagonal(3, Ixx=4, Iyy=5, Izz=6) == MP.diagonal(3, 4, 5, 6)
    for arguments, named in (
        ((1, 2), {}), ((1, 2, 3), {}), ((1, 0, 1, 2, 3, 4), {}), ((1, 0, 1, 2), {"Ixx": 3, "Iyy": 4}), ((1, 2, 3), {"Iyz": 3}),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="diagonal takes"):
            MP.diagonal(*arguments, **named)


# AeroSandbox


def test_agrees_with_aerosandbox():
    """Its components come in another order: xy, yz, xz."""
    asb = pytest.importorskip("aerosandbox")
    rng = np.random.default_rng(7)

    def theirs(p):
        i = p.inertia
        return asb.MassProperties(p.mass, *p.cg, i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[1, 2], i[0, 2])

    def ours(p):
        return MP(p.mass, p.xyz_cg, p.inertia_tensor)

    for _ in range(50):
        a, b = random_body(rng), random_body(rng)
        point = rng.normal(size=3)
        assert_same(ours(theirs(a) + theirs(b)), a + b)
        assert_same(ours(theirs(a) - theirs(b) / 7), a - b / 7, scale=10)
        assert_same(ours(theirs(a) * 3), a * 3)
        about = theirs(a).get_inertia_tensor_about_point(*point)
        np.testing.assert_allclose(a.inertia_about_point(point), about, rtol=1e-12, atol=1e-12)
