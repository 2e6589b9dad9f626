"""What follows from what in a model: real numbers that set_const derives, and those that it derives them from.

MuJoCo: MJSETCONST_ARRAYS in mjxmacro.h, whose groups these are, without flexes. A test compares the two. Integers that
set_const derives are the same in all worlds: see `shared.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

FIXED, POSE, INERTIA = 1, 2, 4  # sums and bounds; what poses at qpos0 give; what the inertia matrix there gives
ALL_GROUPS = FIXED | POSE | INERTIA

# Real fields that are derived, and in which group. Parts of five, PARTLY, are given all the same: boxes and balls around
# meshes, sizes of geoms but height fields, the coefficients in geom_fluid, and eq_data but for second anchors of connects and
# poses that welds keep.
PARTLY = ("geom_size", "geom_aabb", "geom_rbound", "geom_fluid", "eq_data")
DERIVED: dict[str, int] = {
    "body_subtreemass": FIXED,
    "body_margin": FIXED,
    "bvh_aabb": FIXED,
    "geom_size": FIXED,
    "geom_aabb": FIXED,
    "geom_rbound": FIXED,
    "geom_fluid": FIXED,
    "dof_length": POSE,
    "cam_poscom0": POSE,
    "cam_pos0": POSE,
    "cam_mat0": POSE,
    "light_poscom0": POSE,
    "light_pos0": POSE,
    "light_dir0": POSE,
    "eq_data": POSE,
    "tendon_length0": POSE,
    "actuator_length0": POSE,
    "body_invweight0": INERTIA,
    "dof_invweight0": INERTIA,
    "dof_M0": INERTIA,
    "tendon_invweight0": INERTIA,
    "actuator_acc0": INERTIA,
}

# Real fields from which some are derived, and the groups to compute anew after an edit. No other field needs any of it.
SOURCES: dict[str, int] = {
    "qpos0": POSE | INERTIA,
    "body_pos": POSE | INERTIA,
    "body_quat": POSE | INERTIA,
    "body_ipos": ALL_GROUPS,
    "body_iquat": ALL_GROUPS,
    "body_mass": ALL_GROUPS,
    "body_inertia": INERTIA,
    "jnt_pos": POSE | INERTIA,
    "jnt_axis": POSE | INERTIA,
    "dof_armature": INERTIA,
    "geom_size": ALL_GROUPS,
    "geom_aabb": FIXED | POSE,
    "geom_pos": ALL_GROUPS,
    "geom_quat": ALL_GROUPS,
    "geom_margin": FIXED,
    "geom_gap": FIXED,
    "geom_fluid": FIXED,
    "site_pos": POSE | INERTIA,
    "site_quat": POSE | INERTIA,
    "cam_pos": POSE,
    "cam_quat": POSE,
    "light_pos": POSE,
    "light_dir": POSE,
    "hfield_size": FIXED | POSE,
    "eq_data": POSE,
    "tendon_armature": INERTIA,
    "wrap_prm": POSE | INERTIA,
    "actuator_cranklength": POSE | INERTIA,
    "actuator_gear": POSE | INERTIA,
    "actuator_armature": INERTIA,
}


def groups_of(names: Iterable[str]) -> int:
    """The groups to compute anew after edits of these fields; what is derived is computed anew itself, and what follows it."""
    out = 0
    for name in names:
        out |= SOURCES.get(name, 0) | (ALL_GROUPS if name in DERIVED else 0)
    return out
