"""The order of the stages stands in `pipeline.py` alone: runs have it, and what reads what agrees with it."""

from __future__ import annotations

import pytest

import kinetree as kt
from kinetree import pipeline
from kinetree.control.forward import controlled_forward, torque_forward
from kinetree.kernel.order import order_of
from kinetree.makers import MAKERS, after, chain
from kinetree.prerequisites import PREREQUISITES
from kinetree.symbols import trace
from tests.corpora import entries

ORDER = [each for each in order_of(pipeline.forward) if hasattr(each, "stage_index")]
NAMES = [stage.__name__ for stage in ORDER]
ON_DEMAND = {"energy_pos", "energy_vel"}  # sensors ask for them too, before their place has come
CORPUS = {entry.name: entry.source for entry in entries()}


def ran(data: kt.Data, since: int = 0) -> list[str]:
    """The stages of a forward pass in the order in which they ran last, after a time by the clock of stages."""
    when = {stage.__name__: int(data.stage_order[stage.stage_index]) for stage in ORDER}
    return sorted((name for name in when if when[name] > since and name not in ON_DEMAND), key=when.__getitem__)


def has_the_order(found: list[str]) -> bool:
    """Whether stages are in the order of the text; a good part of it must have run."""
    return found == [name for name in NAMES if name in found] and len(found) > 8


@pytest.mark.parametrize("name", CORPUS)
def test_runs_have_the_order_of_the_text(name):
    model = kt.load(CORPUS[name]())
    data = kt.Data(model)
    since = int(data.stage_clock)  # some models fall asleep in the reset, which is a pass as well
    kt.forward(model, data)
    assert has_the_order(ran(data, since))
    if model.nv:
        data, controller = kt.Data(model), kt.StablePD(model, 10.0, 1.0)
        controller.step(data)
        assert has_the_order(ran(data, since))
        controller.torque(data)
        assert has_the_order(ran(controller._work, since))


@pytest.mark.parametrize("text", [controlled_forward, torque_forward], ids=["step", "torque"])
def test_a_controller_adds_no_stages_to_the_text(text):
    found = [stage for stage in order_of(text) if stage in ORDER]
    assert found == [stage for stage in ORDER if stage in found] and len(found) > 5


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_field_depends_on_comes_before_it(name):
    maker = MAKERS[name]
    if maker.stage in ORDER:
        places = {each: ORDER.index(MAKERS[each].stage) for each in (*after(name), *maker.unless) if each != "crb"}
        late = [each for each, place in places.items() if place >= ORDER.index(maker.stage)]
        assert not late, f"{name} depends on {late}, which the pipeline runs later"


@pytest.mark.parametrize("name", PREREQUISITES)
def test_what_functions_run_first_is_in_the_order_of_the_text(name):
    runs = [stage.__name__ for stage in chain(PREREQUISITES[name].runs)]
    assert runs == [each for each in NAMES if each in runs] and set(PREREQUISITES[name].runs) <= set(runs)


def test_what_symbols_trace_has_a_place_in_the_text():
    asked = trace.INERTIA | trace.BIAS | trace.PASSIVE
    assert not [each.__name__ for each in asked if each not in trace.ORDER]
