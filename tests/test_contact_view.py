"""Contacts from Python: `data.contact`, forces of contacts and their Jacobians."""

from __future__ import annotations

import copy
import pickle

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.conformance.tolerances import CONSTRAINT_ROWS, SENSOR_CONSTRAINT
from kinetree.contact_view import MEMBERS
from tests.constraint.in_contact import CONES, along, start
from tests.constraint.paired_rows import our_jacobian
from tests.pipeline.both import close, quietly


@pytest.mark.parametrize("cone", CONES, ids=["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", ["humanoid", "quadruped", "contacts"])
def test_forces_equal_mujocos(name, cone):
    """Of every dimension, with adhesion, and zero in the gap."""
    pair = start(name, cone=cone)
    wanted, seen = np.zeros(6), set()
    for note in along(pair):
        for c in range(pair.theirs.ncon):
            mujoco.mj_contactForce(pair.mj, pair.theirs, c, wanted)
            close(kt.contact_force(pair.model, pair.ours, c), wanted, SENSOR_CONSTRAINT, f"{name} {note} contact {c}")
            seen.add((pair.ours.contact[c].dim, pair.ours.contact[c].exclude))
    assert len(seen) > 4 or name != "contacts", f"dimensions and exclusions {seen}"


@pytest.mark.parametrize("name", ["humanoid", "contacts"])
def test_jacobians_equal_mujocos(name):
    """The difference of both bodies' Jacobians at the contact, turned into its frame."""
    pair = start(name)
    mj, theirs = pair.mj, pair.theirs
    jacobians = [np.zeros((3, mj.nv)) for _ in range(4)]
    for note in along(pair, every=30):
        for c in range(theirs.ncon):
            contact = theirs.contact[c]
            for k in range(2):
                body = mj.geom_bodyid[contact.geom[k]]
                mujoco.mj_jac(mj, theirs, jacobians[2 * k], jacobians[2 * k + 1], contact.pos, body)
            frame = contact.frame.reshape(3, 3)
            jacp, jacr = kt.jac_contact(pair.model, pair.ours, c)
            close(
                jacp, frame @ (jacobians[2] - jacobians[0]), CONSTRAINT_ROWS, f"{name} {note} contact {c} translation"
            )
            close(jacr, frame @ (jacobians[3] - jacobians[1]), CONSTRAINT_ROWS, f"{name} {note} contact {c} rotation")


def test_jacobians_are_the_rows_of_elliptic_contacts():
    """Normal and tangents, then spin and rolls, as far as a contact has them; their forces are those of the rows."""
    pair = start("contacts", cone=CONES[1])
    for note in along(pair, every=30):
        rows, data = our_jacobian(pair.ours), pair.ours
        for c, contact in enumerate(data.contact):
            if contact.efc_address >= 0:
                own = slice(contact.efc_address, contact.efc_address + contact.dim)
                both = np.vstack(kt.jac_contact(pair.model, data, c))[: contact.dim]
                close(both, rows[own], 1e-12, f"{note} contact {c}")
                force = data.efc_force[own].copy()
                force[0] -= contact.adhesion
                close(kt.contact_force(pair.model, data, c)[: contact.dim], force, 1e-12, f"{note} contact {c} force")


def test_members_equal_mujocos():
    pair = start("contacts")
    mujoco.mj_step(pair.mj, pair.theirs, 20)
    for note in along(pair, steps=1, every=1):
        contacts, theirs = pair.ours.contact, pair.theirs.contact
        assert len(contacts) == len(theirs) == pair.ours.ncon
        for name in MEMBERS:
            if name != "H":  # of the solver's last iteration
                close(getattr(contacts, name), getattr(theirs, name), CONSTRAINT_ROWS, f"{note} {name}")
                for c, contact in enumerate(contacts):
                    close(getattr(contact, name), getattr(theirs[c], name), CONSTRAINT_ROWS, f"{note} {name} of {c}")
        assert {name for name in dir(theirs) if not name.startswith("_")} - set(MEMBERS) == {
            "elem", "flex", "geom1", "geom2", "vert",
        }  # fmt: skip


def box() -> tuple[kt.Model, kt.Data]:
    """A box on the floor: four contacts."""
    text = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .099"><freejoint/>
      <geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""
    model = kt.load(text)
    data = kt.Data(model)
    with quietly():
        kt.forward(model, data)
    return model, data


def test_contacts_are_a_sequence():
    _, data = box()
    assert len(data.contact) == 4 and len(list(data.contact)) == 4
    assert data.contact[-1].index == 3 and data.contact[np.int64(1)].index == 1
    assert data.contact[0].dist == data.contact.dist[0] == pytest.approx(-0.001)
    assert data.contact[2].geom.tolist() == [0, 1] and data.contact.frame.shape == (4, 9)
    assert "dist" in dir(data.contact) and "dist" in dir(data.contact[0])
    assert "4 contacts" in repr(data.contact) and "contact 1 of geoms 0 and 1" in repr(data.contact[1])
    with pytest.raises(IndexError, match="no contact 4: data has 4"):
        data.contact[4]
    with pytest.raises(TypeError, match="given by its number"):
        data.contact["floor"]
    with pytest.raises(AttributeError, match="did you mean 'dist'"):
        _ = data.contact.dis
    with pytest.raises(AttributeError, match="read-only"):
        data.contact[0].dist = 1.0
    with pytest.raises(AttributeError, match="read-only"):
        data.contact = None


def test_contacts_are_views_that_follow_the_data():
    model, data = box()
    first, last = data.contact[0], data.contact[3]
    data.contact.dist[0] = 7.0
    assert first.dist == 7.0 and data.contact_dist[0] == 7.0
    data.contact.adhesion = 2.0
    assert last.adhesion == 2.0
    for other in (data.copy(), copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert len(other.contact) == 4 and other.contact[0].dist == 7.0
    data.reset()
    assert len(data.contact) == 0 and data.contact.pos.shape == (0, 3)
    with pytest.raises(IndexError, match="no contact 3 any more"):
        _ = last.dist


@pytest.mark.parametrize("function", [kt.contact_force, kt.jac_contact])
def test_a_contact_that_does_not_exist(function):
    model, data = box()
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=f"there is no contact {wrong}"):
            function(model, data, wrong)
    for wrong in (1.5, "floor", True):
        with pytest.raises(TypeError, match="by its number"):
            function(model, data, wrong)


def test_contacts_can_be_copied_and_pickled():
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, data, 300)
    assert data.ncon > 0
    for again in (copy.copy(data.contact), pickle.loads(pickle.dumps(data.contact))):
        assert np.array_equal(again.dist, data.contact.dist)
    for again in (copy.deepcopy(data.contact[0]), pickle.loads(pickle.dumps(data.contact[0]))):
        assert again.dist == data.contact[0].dist and again.index == 0


def test_collision_alone_leaves_contacts_without_rows():
    """As in MuJoCo: forces of an earlier pass are not those of contacts just found."""
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, data, 300)
    kt.forward(model, data)
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qpos[:] = data.qpos
    mujoco.mj_forward(mj, theirs)
    mujoco.mj_collision(mj, theirs)
    kt.collision(model, data)
    assert data.ncon == theirs.ncon > 0
    assert data.contact.efc_address.tolist() == theirs.contact.efc_address.tolist() == [-1] * data.ncon
    assert not kt.contact_force(model, data, 0).any()


def lying() -> tuple[kt.Model, kt.Data]:
    """A humanoid on the floor."""
    model = kt.load("humanoid")
    data = kt.Data(model)
    kt.step(model, data, 300)
    kt.forward(model, data)
    return model, data


def test_forces_of_all_contacts_at_once():
    model, data = lying()
    mj = model.to_mujoco()
    theirs = mujoco.MjData(mj)
    theirs.qpos[:], theirs.qvel[:], theirs.qacc_warmstart[:] = data.qpos, data.qvel, data.qacc_warmstart
    mujoco.mj_forward(mj, theirs)
    forces, wanted = kt.contact_forces(model, data), np.zeros((theirs.ncon, 6))
    for i in range(theirs.ncon):
        mujoco.mj_contactForce(mj, theirs, i, wanted[i])
    close(forces, wanted, SENSOR_CONSTRAINT, "contact_forces")
    for i, contact in enumerate(data.contact):
        for name in (i, i - data.ncon, contact):
            assert np.array_equal(kt.contact_force(model, data, name), forces[i])
        assert [contact.geom1, contact.geom2] == contact.geom.tolist()
    assert np.array_equal(data.contact.geom1, theirs.contact.geom1)
    assert [contact.index for contact in data.contact[1:]] == list(range(1, data.ncon))


def test_forces_older_than_the_contacts_are_refused():
    model, data = lying()
    data.qpos[2] -= 0.02
    kt.fwd_position(model, data)
    for call in (lambda: kt.contact_force(model, data, 0), lambda: kt.contact_forces(model, data)):
        with pytest.raises(ValueError, match="newer than the forces: call kt.forward"):
            call()
    kt.inverse(model, data)
    assert kt.contact_forces(model, data).any()
