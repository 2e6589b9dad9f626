"""Simple shapes against MuJoCo's geoms, against integrals over slices, and as differences and limits of one another."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import MASS
from tests.mass.bodies import assert_same

MP = kt.MassProperties
CG = (0.3, -0.2, 0.5)

GEOMS = {
    "sphere": (lambda m: MP.solid_sphere(m, 0.3, CG), "sphere", "0.3"),
    "ellipsoid": (lambda m: MP.solid_ellipsoid(m, 0.1, 0.2, 0.3, CG), "ellipsoid", "0.1 0.2 0.3"),
    "cylinder": (lambda m: MP.solid_cylinder(m, 0.2, 0.9, CG), "cylinder", "0.2 0.45"),
    "box": (lambda m: MP.solid_box(m, 0.2, 0.4, 0.6, CG), "box", "0.1 0.2 0.3"),
    "capsule": (lambda m: MP.solid_capsule(m, 0.2, 0.9, CG), "capsule", "0.2 0.45"),
    "thin_sphere": (lambda m: MP.thin_sphere(m, 0.3, CG), "sphere", "0.3"),
    "thin_box": (lambda m: MP.thin_box(m, 0.2, 0.4, 0.6, CG), "box", "0.1 0.2 0.3"),
}


@pytest.mark.parametrize("name", GEOMS)
def test_equals_mujocos_geom(name):
    make, kind, size = GEOMS[name]
    shell = ' shellinertia="true"' if name.startswith("thin") else ""
    pos = " ".join(map(str, CG))
    geom = f'<geom type="{kind}" size="{size}" pos="{pos}" mass="2.5"{shell}/>'
    xml = f"<mujoco><worldbody><body>{geom}</body></worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    body = make(2.5)
    np.testing.assert_allclose(body.principal_moments(), np.sort(model.body_inertia[1]), rtol=1e-12)
    assert_same(MP.from_body(kt.load(xml), 1), body)


def slices(radius, height, thin=False):
    """A body of revolution along z from 0 to a height, as discs (or rings) under Gauss's rule: exact for polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total = []
    for node, weight in zip(nodes, weights, strict=True):
        z = height * (node + 1) / 2
        r = radius(z)
        area = (2 * np.pi * r if thin else np.pi * r * r) * weight * height / 2
        across = r * r / 2 if thin else r * r / 4
        total.append(MP.diagonal(area, (0, 0, z), area * across, area * across, area * 2 * across))
    return kt.aggregate(total)


def test_cones_by_slices():
    cone = slices(lambda z: 0.4 * (1 - z / 1.5), 1.5)
    assert_same(MP.solid_cone(density=1.0, radius=0.4, height=1.5, cg=(0, 0, 1.5 / 4)), cone)
    wall = slices(lambda z: 0.4 * (1 - z / 1.5), 1.5, thin=True) * (np.hypot(0.4, 1.5) / 1.5)
    assert_same(MP.thin_cone(density=1.0, radius=0.4, height=1.5, cg=(0, 0, 0.5)), wall)


def test_cylinder_by_slices():
    assert_same(MP.solid_cylinder(density=7.0, radius=0.4, length=1.5, cg=(0, 0, 0.75)), 7 * slices(lambda z: 0.4, 1.5))


def test_hollow_bodies_are_differences():
    assert_same(
        MP.hollow_sphere(density=3, inner_radius=0.2, outer_radius=0.5),
        MP.solid_sphere(density=3, radius=0.5) - MP.solid_sphere(density=3, radius=0.2),
    )
    assert_same(
        MP.tube(density=3, inner_radius=0.2, outer_radius=0.5, length=2),
        MP.solid_cylinder(density=3, radius=0.5, length=2) - MP.solid_cylinder(density=3, radius=0.2, length=2),
    )


@pytest.mark.parametrize("thin, thick", [
    (MP.thin_sphere(2, 0.5), MP.hollow_sphere(2, 0.5, 0.5)),
    (MP.thin_cylinder(2, 0.5, 1.5), MP.tube(2, 0.5, 0.5, 1.5)),
    (MP.rod(2, 1.5), MP.solid_cylinder(2, 0, 1.5)),
    (MP.rod(2, 1.5), MP.solid_capsule(2, 0, 1.5)),
    (MP.disc(2, 0.5), MP.solid_cylinder(2, 0.5, 0)),
    (MP.plate(2, 0.5, 0.7), MP.solid_box(2, 0.5, 0.7, 0)),
    (MP.plate(2, 0.5, 0.7), MP.thin_box(2, 0.5, 0.7, 0)),
    (MP.solid_sphere(2, 0.5), MP.solid_capsule(2, 0.5, 0)),
    (MP.solid_sphere(2, 0.5), MP.hollow_sphere(2, 0, 0.5)),
    (MP.solid_sphere(2, 0.5), MP.solid_ellipsoid(2, 0.5, 0.5, 0.5)),
    (MP.point_mass(2, 0), MP.hollow_sphere(2, 0, 0)),
    (MP.point_mass(2, 0), MP.solid_capsule(2, 0, 0)),
    (MP.point_mass(2, 0), MP.thin_box(2, 0, 0, 0)),
])  # fmt: skip
def test_limits(thin, thick):
    assert_same(thin, thick)


def test_thin_box_is_six_plates():
    a, b, c = 0.3, 0.5, 0.9
    walls = []
    for edges, normal in (((a, b, c), 2), ((b, c, a), 0), ((c, a, b), 1)):
        plate = MP.plate(density=2.0, dx=edges[0], dy=edges[1])
        turn = np.roll(np.eye(3), normal + 1, axis=0)
        for side in (-1, 1):
            walls.append(plate.translated((0, 0, side * edges[2] / 2)).rotated(turn))
    assert_same(MP.thin_box(density=2.0, dx=a, dy=b, dz=c), kt.aggregate(walls))


DENSITIES = {
    "solid_sphere": ((2.0,), 4 / 3 * np.pi * 8), "solid_ellipsoid": ((1.0, 2.0, 3.0), 8 * np.pi),
    "solid_cylinder": ((2.0, 3.0), 12 * np.pi), "solid_box": ((1.0, 2.0, 3.0), 6.0),
    "solid_capsule": ((1.0, 3.0), 3 * np.pi + 4 / 3 * np.pi), "solid_cone": ((2.0, 3.0), 4 * np.pi),
    "hollow_sphere": ((1.0, 2.0), 4 / 3 * np.pi * 7), "tube": ((1.0, 2.0, 3.0), 9 * np.pi),
    "thin_sphere": ((2.0,), 16 * np.pi), "thin_cylinder": ((2.0, 3.0), 12 * np.pi), "thin_cone": ((3.0, 4.0), 15 * np.pi),
    "thin_box": ((1.0, 2.0, 3.0), 22.0), "rod": ((2.0,), 2.0), "disc": ((2.0,), 4 * np.pi), "plate": ((2.0, 3.0), 6.0),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSITIES)
def test_density_gives_the_mass_of_the_shape(name):
    lengths, extent = DENSITIES[name]
    make = getattr(MP, name)
    by_density = make(None, *lengths, cg=CG, density=0.7)
    assert by_density.mass == pytest.approx(0.7 * extent, rel=1e-14)
    assert_same(by_density, make(by_density.mass, *lengths, CG))
    assert by_density.is_physically_valid() and by_density.cg.tolist() == list(CG)
    for arguments, options in (((None, *lengths), {}), ((1.0, *lengths), {"density": 1.0})):
        with pytest.raises(TypeError, match="either the mass or the density"):
            make(*arguments, **options)
    with pytest.raises(TypeError, match="missing"):
        make(1.0)
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="must be finite and not negative"):
            make(1.0, *lengths[:-1], wrong)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, np.array([1.0, -1.0])])
def test_densities_are_not_negative(wrong):
    for make in (lambda d: MP.solid_sphere(radius=1, density=d), lambda d: MP.plate(dx=1, dy=1, density=d)):
        with pytest.raises(ValueError, match="density must be finite and not negative"):
            make(wrong)


def test_radii_of_gyration():
    body = MP.from_radii_of_gyration(2, 1, 2, 2, cg=CG)
    np.testing.assert_allclose(body.inertia, np.diag((2, 8, 8)), atol=MASS)
    sphere = MP.solid_sphere(2, 0.5)
    k = np.sqrt(0.4) * 0.5
    assert_same(MP.from_radii_of_gyration(2, k, k, k), sphere)


def test_rings_must_be_rings():
    with pytest.raises(ValueError, match="inner_radius 2 is larger than outer_radius 1"):
        MP.tube(1, 2, 1, 1)
