"""What holds for every model of every workload: it is the same in the load's scenario, the audit and the records."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import DataError
from tests.support.records import made_again
from tests.workloads.models import ANY, NAMED, Walker, orders_of, starts_of, text_of
from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind
from workloads.registry import WORKLOADS
from workloads.scenario.execution import Execution
from workloads.scenario.model import DESTINATION_PREFIX
from workloads.scenario.workload import Model


def check_numbers(model: Model) -> None:
    """What is known without the scenario is what the scenario has; an audience is who hears, a queue's together."""
    scenario = model.scenario
    hearing = defaultdict(list)
    for handler in scenario.handlers:
        for number in handler.addresses:
            hearing[number].append(handler.number)
    kinds = [scenario.destinations[address.destination].kind for address in scenario.addresses]

    assert [step.message for step in model.steps] == list(scenario.steps)
    assert (model.handlers, model.connections) == (len(scenario.handlers), scenario.connections)
    assert [f"{model.party(each)} {model.steps[each.step].message}" for each in model.addresses] == [
        address.label for address in scenario.addresses
    ]
    assert [model.audience(address) for address in model.addresses] == [
        (tuple(hearing[number]),) if kind is DestinationKind.QUEUE else tuple((each,) for each in hearing[number])
        for number, kind in enumerate(kinds)
    ]
    assert scenario.fan_out == tuple(len(model.audience(address)) for address in model.addresses)
    assert len(set(model.addresses)) == len(model.addresses)
    assert [model.steps[address.step].kind for address in model.addresses] == kinds
    assert all(destination.name.startswith(f"{DESTINATION_PREFIX}.") for destination in scenario.destinations)
    assert len(set(scenario.destinations)) == len(scenario.destinations)
    for number, message in scenario.messages.items():
        step = model.steps[number]
        assert (message.persistent, message.transacted, message.body_bytes) == (
            step.persistent,
            step.transacted,
            step.body_bytes,
        )
    for handler in scenario.handlers:
        step = model.steps[handler.step]
        assert (handler.transacted, handler.durable) == (step.transacted, step.durable)
        assert {model.addresses[number].step for number in handler.addresses} == {handler.step}
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def check_messages(model: Model) -> None:
    """What drivers and sessions send, and handlers in answer, is what the audit expects of the execution's id; but for
    the sizes it repeats after a period."""
    walker, interactions = Walker(model), model.interactions
    starts = [
        start
        for driver in model.scenario.drivers
        for start in starts_of(driver, (0, 1, 2, len(driver.fields), 10**9 + 7))
    ]
    for start in (*starts, *orders_of(model, 20)):
        execution, walked = start.execution, walker.walk(start)
        later = replace(execution, number=execution.number + interactions[execution.interaction].period)

        assert Counter(walked.sent) == Counter(model.expected(execution))
        assert [message[:2] for message in model.expected(execution)] == [
            message[:2] for message in model.expected(later)
        ]


def check_rates(model: Model) -> None:
    """Over the periods of all drivers each address gets its rate, and each execution has its number of messages."""
    walker, scenario = Walker(model), model.scenario
    drivers = Counter(Execution.of(driver.first_execution).interaction for driver in scenario.drivers)
    rates_per_s, received_per_s = Counter(), Counter()
    for number, interaction in model.interactions.items():
        started_per_s = 0.0
        periods = []
        for driver in scenario.drivers:
            if Execution.of(driver.first_execution).interaction == number:
                started_per_s += driver.rate_per_s
                starts = starts_of(driver, range(len(driver.fields)))
                periods.append((interaction.started_per_s / drivers[number] / len(driver.fields), starts))
        if not periods:
            started_per_s = float(interaction.started_per_s)
            periods = [(interaction.started_per_s / interaction.period, orders_of(model, interaction.period))]
        sent_per_s = 0
        for weight, starts in periods:
            for walked in map(walker.walk, starts):
                for message in walked.sent:
                    rates_per_s[message.address] += weight
                sent_per_s += weight * len(walked.sent)
                received_per_s[number] += weight * len(walked.received)
        assert started_per_s == pytest.approx(float(interaction.started_per_s))
        assert sent_per_s == interaction.sent * interaction.started_per_s
        if not scenario.populations:
            assert received_per_s[number] == interaction.received * interaction.started_per_s

    assert tuple(rates_per_s[address] for address in model.addresses) == model.address_rates_per_s
    assert model.sent_per_s == pytest.approx(float(sum(rates_per_s.values())))


def check_starts(model: Model) -> None:
    """The starts of an interaction at all its locations are evenly spaced, the first of them after half a gap."""
    for number, interaction in model.interactions.items():
        gap_s = float(1 / interaction.started_per_s)
        due_s = sorted(
            (start + driver.offset) / driver.rate_per_s
            for driver in model.scenario.drivers
            if Execution.of(driver.first_execution).interaction == number
            for start in range(3)
        )

        assert due_s[0] == pytest.approx(gap_s / 2)
        assert all(later - earlier == pytest.approx(gap_s) for earlier, later in pairwise(due_s))


@pytest.mark.parametrize("name", NAMED)
def test_a_case(name):
    """Scenario, audit and rates of a case are those of one model."""
    model = NAMED[name]

    check_numbers(model)
    check_messages(model)
    check_rates(model)


@settings(max_examples=15)
@given(ANY)
def test_any_model(model):
    """The same with any locations, rates, sizes, modes and destinations."""
    check_numbers(model)
    check_messages(model)
    check_rates(model)
    check_starts(model)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_whole(name):
    """Names agree; a search changes the quantity that the figure of merit is."""
    workload = WORKLOADS[name]
    quantity = workload.searched

    assert workload.name == name
    assert workload.disclaimer
    assert len(workload.digest()) == 64
    assert "vertical" in workload.figure_name("vertical")
    for key, case in workload.cases.items():
        assert (case.name, case.workload) == (key, name)
        if case.files is None:
            request = quantity.changed(workload.request(2, text_of(case)), 30)
            assert workload.figure_value(case.model(request)) == quantity.value(request) == 30


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_record_of_a_request_is_enough(name):
    """The model of a case is made again of what plan.json has."""
    workload = WORKLOADS[name]
    given = {"vehicles": 2, "addressing": "topic"} if workload.settings else {}
    for case in workload.cases.values():
        request = workload.request(2, text_of(case), given)
        assert made_again(workload, case, request) == case.model(request)


#: Of the first case of a workload: what is changed in the record of a request, and the refusal.
DAMAGED: list[tuple[str, dict[str, Any], str]] = [
    ("jms2009ps", {"base": 0}, "BASE: expected a whole number from 1 on, got 0"),
    ("jms2009ps", {"settings": {"vehicles": 2}}, "--vehicles is no setting of jms2009ps"),
    ("logistics", {"case": "printed"}, "case 'printed': expected one of corrected, as_printed"),
    ("logistics", {"settings": {"vehicles": 54}}, "--vehicles: expected a whole number from 1 to 53, got 54"),
    ("logistics", {"settings": {"vehicles": "2"}}, "--vehicles: expected a whole number from 1 to 53, got '2'"),
    ("logistics", {"settings": {"vehicles": 2.5}}, r'settings\["vehicles"\]: expected `int \| str`, got `float`'),
    ("logistics", {"settings": {"addressing": "key"}}, "--addressing: expected one of selector, topic, got 'key'"),
    ("own", {"own": {"source": "mine.toml", "text": "name ="}}, "mine.toml: "),
]


@pytest.mark.parametrize(("name", "changes", "why"), DAMAGED)
def test_a_damaged_record_is_refused(name, changes, why):
    """What this suite has not written is refused with its place."""
    workload = WORKLOADS[name]
    case = next(iter(workload.cases.values()))

    with pytest.raises((DataError, WorkloadError), match=why):
        made_again(workload, case, workload.request(2, text_of(case)), **changes)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["vehicles", "source", "text"]), inner),
    max_leaves=4,
)


@given(st.sampled_from(["logistics", "own"]), st.sampled_from(["base", "own", "settings", "case"]), VALUES)
def test_whatever_stands_there_gives_a_model_or_a_refusal(name, key, value):
    """A damaged file never ends in any other error."""
    workload = WORKLOADS[name]
    case = next(iter(workload.cases.values()))

    with suppress(DataError, WorkloadError):
        made_again(workload, case, workload.request(2, text_of(case)), **{key: value})
