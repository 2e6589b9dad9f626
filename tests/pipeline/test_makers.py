"""What makers of fields depend on, as their texts tell: held against the physics, against runs, and against the functions."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.data_fields import DATA_FIELDS
from kinetree.fields import REAL
from kinetree.kernel.reads import access
from kinetree.makers import MAKERS, after, ancestry, chain, makers_of, makers_read
from kinetree.prerequisites import PREREQUISITES
from kinetree.staleness import LAZY
from tests.corpora import entries

KNOWN = {  # what the physics says: maker -> some of what it depends on
    "com_pos": "kinematics", "camlight": "com_pos", "tendon": "com_pos", "crb": "com_pos", "make_m": "crb tendon",
    "factor_m": "make_m", "transmission": "com_pos tendon", "fwd_velocity": "transmission tendon", "com_vel": "com_pos",
    "passive": "com_vel fwd_velocity tendon", "rne": "com_vel", "fwd_actuation": "fwd_velocity passive",
    "fwd_acceleration": "fwd_actuation factor_m passive rne", "collision": "kinematics",
    "make_constraint": "collision com_pos tendon", "reference_constraint": "make_constraint com_vel",
    "fwd_constraint": "fwd_actuation reference_constraint passive",
    "inverse": "passive make_m rne reference_constraint", "aba": "com_vel", "implicit": "fwd_actuation com_vel",
    "compare_fwd_inv": "fwd_actuation make_constraint", "damping": "fwd_actuation", "damping_diagonal": "fwd_actuation",
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_what_the_physics_says_is_found_in_the_text(name):
    assert set(KNOWN.get(name, "").split()) <= ancestry(name)
    assert name not in after(name) and name in ancestry(name)


def test_every_result_has_a_maker_or_another_way_to_be_stale():
    by_other_means = {"user", "step", "driver", "sensor", "sleep", "update_sleep"}
    by_other_means.add("effective_metric")  # notes of the discrete integrator, which a pass makes before it reads them
    by_other_means |= {lazy.run.__name__ for passes in LAZY.values() for lazy in passes}
    assert {name for field in DATA_FIELDS for name in makers_of(field)} - by_other_means <= set(MAKERS)


WRITES_ANEW = {  # makers of fields that a stage sets before it reads them
    "damping": {"implicit"},
    "damping_diagonal": {"implicit"},
    "compare_fwd_inv": {"implicit", "reference_constraint"},  # in discrete time
    # A world's own rows of couplings; those of all worlds are put back.
    "fwd_acceleration": {"make_constraint", "reference_constraint", "fwd_constraint"},
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_read_and_written_is_its_own(name):
    """Fields that a text writes do not count as read: those of others that this leaves out are known."""
    maker = MAKERS[name]
    found = [access(text) for text in (*reached(maker.stage), *maker.beside)]
    both = frozenset().union(*(each.reads for each in found)) & frozenset().union(*(each.writes for each in found))
    makers = [makers_of(field) for field in both & set(DATA_FIELDS)]
    others = {each[0] for each in makers if len(each) == 1} & set(MAKERS)
    assert others - ancestry(name) - {*maker.unless, *maker.passes} == WRITES_ANEW.get(name, set())


@pytest.mark.parametrize("name", MAKERS)
def test_exceptions_are_exceptions(name):
    """A maker does without nothing that it would not depend on, or that does not write the same fields."""
    maker = MAKERS[name]
    read = makers_read(maker.stage, *maker.beside)
    read |= {each for passed in maker.passes for each in after(passed)}
    for each in {*maker.unless, *maker.passes} - read:
        written = access(MAKERS[each].stage).writes & set(DATA_FIELDS)
        assert any(name in makers_of(field) for field in written), f"{name} does not read {each}"


MODELS = {entry.name: entry.source for entry in entries() if entry.name.startswith("tests/models/")}


@functools.cache
def forwarded(name):
    """A model after a forward pass in a state of its own."""
    model = kt.load(MODELS[name]())
    data, rng = kt.Data(model), np.random.default_rng(3)
    model.opt.enableflags &= ~kt.EnableBit.SLEEP
    data.qvel[:] = rng.normal(size=model.nv)
    data.ctrl[:] = rng.uniform(-0.5, 0.5, model.nu)
    kt.step(model, data, 5)
    kt.forward(model, data)
    return model, data


@pytest.mark.parametrize("model_name", MODELS)
@pytest.mark.parametrize("name", MAKERS)
def test_nothing_else_changes_the_result(name, model_name):
    """A run of the stage gives the same, to the last bit, whatever stands in fields that its text does not read."""
    model, data = forwarded(model_name)
    maker, rng = MAKERS[name], np.random.default_rng(4)
    read = makers_read(*reached(maker.stage), *maker.beside)
    written = {f for stage in reached(maker.stage) for f in access(stage).writes}
    results = []
    for spoil in (False, True):
        world = data.copy()
        for field, declared in DATA_FIELDS.items():
            other = len(makers_of(field)) == 1 and makers_of(field)[0] in set(MAKERS) - read - {name}
            if spoil and other and field not in written and declared.dtype == REAL:
                array = world._arrays[field]
                array[...] = rng.normal(size=array.shape)
        maker.stage(model, world)
        results.append({f: world._arrays[f].copy() for f in DATA_FIELDS if f in written and name in makers_of(f)})
    assert results[0].keys() == results[1].keys()
    for field, value in results[0].items():
        np.testing.assert_array_equal(results[1][field], value, err_msg=field)


def reached(stage):
    """A stage and those that it calls, and so on."""
    out = {stage}
    for called in access(stage).calls:
        out |= reached(called)
    return out


@pytest.mark.parametrize(
    "lazy", dict.fromkeys(lazy for passes in LAZY.values() for lazy in passes), ids=lambda each: each.flag
)
def test_passes_on_demand_read_what_comes_before_them(lazy):
    before = frozenset().union(*(ancestry(name) for name in lazy.after))
    assert makers_read(lazy.run) <= before
    reads = {field for stage in reached(lazy.run) for field in access(stage).reads} & set(DATA_FIELDS)
    assert set(lazy.after) <= {name for field in reads for name in makers_of(field)}


HANDS_ON = {"jac_body": kt.jac, "jac_body_com": kt.jac, "jac_site": kt.jac, "jac_geom": kt.jac}  # to another function


@pytest.mark.parametrize("name", [name for name, wanted in PREREQUISITES.items() if wanted.runs])
def test_functions_run_what_their_texts_read(name):
    """Neither less nor more than that, with all that comes before it."""
    if hasattr(pipeline, name):
        read = makers_read(getattr(pipeline, name))
    else:
        texts = [inspect.unwrap(getattr(kt, name)), *([HANDS_ON[name]] if name in HANDS_ON else [])]
        read = makers_read(*texts, handle="data")
    assert chain(read - {name}) == chain(PREREQUISITES[name].runs)


def test_a_later_run_of_what_a_field_depends_on_makes_it_stale():
    model, data = kt.load("humanoid"), None
    for stage, stale, fresh in (
        (kt.crb, "M qLD qacc_smooth", "cvel qfrc_bias actuator_force"),
        (kt.rne_bias, "qfrc_smooth qacc_smooth", "qLD qfrc_passive efc_aref"),
        (kt.transmission, "actuator_velocity qfrc_actuator qacc", "M cvel qfrc_bias efc_J"),
        (kt.reference_constraint, "qacc efc_force", "qacc_smooth efc_J"),
        (kt.collision, "nefc efc_aref qacc", "M qLD qfrc_bias"),
    ):
        data = kt.Data(model)
        kt.step(model, data)
        assert not [name for name in (stale + " " + fresh).split() if data.is_stale(name)]
        stage(model, data)
        assert [name for name in (stale + " " + fresh).split() if data.is_stale(name)] == stale.split(), stage.__name__


def test_the_inertia_that_a_function_makes_after_stable_pd_leaves_its_acceleration_fresh():
    """The linear-time solver makes no M: `full_m` does, of the same positions."""
    model = kt.load("arm")
    model.opt.disableflags |= kt.DisableBit.CONSTRAINT
    data, controller = kt.Data(model), kt.StablePD(model, 10.0, 1.0, solver="maba")
    controller.step(data)
    assert data.is_stale("M") and not data.is_stale("qacc")
    kt.full_m(model, data)
    assert not data.is_stale("M") and not data.is_stale("qacc")
