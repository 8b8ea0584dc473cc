"""Configurations from TOML: which table wins, and how a mistake is refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.jms2009ps.configurations import configurations
from workloads.errors import WorkloadError
from workloads.jms2009ps.configuration import NONDURABLE, read
from workloads.jms2009ps.parameters import MESSAGES, PARAMETERS, SubscriptionType, TargetDestination
from workloads.jms2009ps.scenarios import SCENARIOS

#: What the documentation shows.
EXAMPLE = """
scenario = 2
topology = "horizontal"

[all]
durable = false

[interaction_1]
target_destination = "Interaction"

[message.callForOffers]
subscription_type = "OR"
"""


@pytest.mark.parametrize("number", SCENARIOS)
def test_a_scenario_alone(number):
    """A text that names a scenario and nothing else is that scenario; without a name it is the first."""
    found = read(f"scenario = {number}", "own.toml")

    assert found == replace(SCENARIOS[number], name="own.toml")
    assert read("", "own.toml").parameters == SCENARIOS[1].parameters
    nondurable = {name: replace(values, durable=False) for name, values in SCENARIOS[2].parameters.items()}
    assert read(NONDURABLE.read_text(encoding="utf-8"), NONDURABLE.name).parameters == nondurable


def test_the_example():
    """What is for all messages, for an interaction, and for one message."""
    found, second = read(EXAMPLE, "own.toml"), SCENARIOS[2].parameters

    assert found.topology == "horizontal"
    for message, values in found.parameters.items():
        changes = {"durable": False}
        if MESSAGES[message].interaction == 1:
            changes["target_destination"] = TargetDestination.INTERACTION
        if message == "callForOffers":
            changes["subscription_type"] = SubscriptionType.OR
        assert values == replace(second[message], **changes)


def test_the_more_specific_table_wins():
    """A message before its interaction, the interaction before all."""
    text = """
    scenario = 3
    [message.order]
    persistent = true
    [interaction_1]
    persistent = false
    [all]
    persistent = true
    """
    found = read(text, "own.toml").parameters

    persistent = {message for message, values in found.items() if values.persistent}
    first = {message for message, step in MESSAGES.items() if step.interaction == 1}
    assert persistent == MESSAGES.keys() - first | {"order"}


@given(configuration=configurations())
def test_any_configuration_can_be_written(configuration):
    """Every value of every message can be set; what has no effect is not written, and keeps its default."""
    lines = [f'topology = "{configuration.topology}"', f"handlers_per_queue = {configuration.handlers_per_queue}"]
    for message, values in configuration.parameters.items():
        lines.append(f"[message.{message}]")
        for name, parameter in PARAMETERS.items():
            value = getattr(values, name)
            if value is not None and parameter.heeded(values):
                lines.append(f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value.value)}")
    found = read("\n".join(lines), "any")

    assert found.at(7) == configuration.at(7)
    for message, values in configuration.parameters.items():
        for name, parameter in PARAMETERS.items():
            if parameter.heeded(values):
                assert getattr(found.parameters[message], name) == getattr(values, name)


#: A text, and how it is refused.
REFUSED = {
    "scenario = ": r"own.toml: not TOML: ",
    "scenario = 4": r"own.toml: scenario: expected 1, 2 or 3, got 4$",
    "scenario = true": r"own.toml: scenario: expected 1, 2 or 3, got True$",
    'scenario = "2"': r"own.toml: scenario: expected 1, 2 or 3, got '2'$",
    "scenario = [2]": r"own.toml: scenario: expected 1, 2 or 3, got \[2\]$",
    'topology = "freeform"': r"own.toml: topology: expected 'horizontal' or 'vertical', got 'freeform'$",
    "handlers_per_queue = 0": r"own.toml: handlers_per_queue: expected a whole number from 1 on, got 0$",
    "handlers_per_queue = 1.5": r"own.toml: handlers_per_queue: expected a whole number from 1 on, got 1.5$",
    "handlers_per_queue = true": r"own.toml: handlers_per_queue: expected a whole number from 1 on, got True$",
    "scenario = 2\nhandlers_per_queue = 2": (
        r"own.toml: handlers_per_queue: expected 1, as no message has a queue that several could share, got 2$"
    ),
    "durable = true": r"own.toml: unknown key 'durable'; expected scenario, topology, handlers_per_queue, all, ",
    "[interaction_8]": r"own.toml: unknown key 'interaction_8'; expected .*interaction_7, message$",
    "all = 3": r"own.toml: all: expected a table, got 3$",
    "[message]\norder = 3": r"own.toml: \[message\]: order: expected a table, got 3$",
    "[message.orders]\nqueue = true": r"own.toml: \[message\]: unknown key 'orders'; expected order, orderConf, ",
    "[all]\ntransacted = true": r"own.toml: \[all\]: unknown key 'transacted'; expected transactional, persistent, ",
    "[all]\npersistent = 1": r"own.toml: \[all\]: persistent: expected true or false, got 1$",
    '[message.order]\nqueue = "true"': r"own.toml: \[message.order\]: queue: expected true or false, got 'true'$",
    '[interaction_1]\ntarget_destination = "central"': (
        r'own.toml: \[interaction_1\]: target_destination: expected "LocationID-MessageType", "MessageType", '
        r'"Interaction", "LocationType", "LocationID" or "Central", got \'central\'$'
    ),
    "[all]\ntarget_destination = []": r"own.toml: \[all\]: target_destination: expected .*, got \[\]$",
    '[message.callForOffers]\nsubscription_type = "in"': (
        r'own.toml: \[message.callForOffers\]: subscription_type: expected "IN", "OR", "SET" or "TOPIC", got \'in\'$'
    ),
    **{
        f"[message.{message}]\nqueue = true": (
            rf"own.toml: \[message.{message}\]: queue: expected no value, as {message} has several consumers, "
            r"and so always a topic, got True$"
        )
        for message in ("callForOffers", "priceUpdate", "productAnnouncement", "creditCardHL")
    },
    '[message.order]\nsubscription_type = "IN"': (
        r"own.toml: \[message.order\]: subscription_type: expected no value, as order has no product family to "
        r"subscribe to, got 'IN'$"
    ),
    "[interaction_3]\nqueue = false": (
        r"own.toml: \[interaction_3\]: queue: expected no value, as priceUpdate has several consumers"
    ),
    '[interaction_1]\nsubscription_type = "SET"': (
        r"own.toml: \[interaction_1\]: subscription_type: expected no value, as each of order, .* has no product family"
    ),
    "[message.order]\ndurable = false": (
        r"own.toml: \[message.order\]: durable: expected no value, as on a queue it has no effect, got False$"
    ),
    '[message.order]\ntarget_destination = "Central"': (
        r"own.toml: \[message.order\]: target_destination: expected no value, as on a queue it has no effect, "
        r"got 'Central'$"
    ),
    "[interaction_1]\ndurable = true": (
        r"own.toml: \[interaction_1\]: durable: expected no value, as on a queue it has no effect, got True$"
    ),
    "scenario = 2\n[interaction_4]\nqueue = true\ndurable = true": r"own.toml: \[interaction_4\]: durable: expected no",
    "[interaction_3]\npersistent = true\n[message.priceUpdate]\npersistent = false": (
        r"own.toml: \[interaction_3\]: persistent: expected no value, as more specific tables set it for every "
        r"message, got True$"
    ),
    '[all]\ntarget_destination = "Central"': (
        r'own.toml: \[all\]: target_destination: expected "LocationID-MessageType" for callForOffers, whose '
        r'subscription_type is "TOPIC" in scenario 1 \(or set its subscription_type to "IN", "OR" or "SET" as well\), '
        r"got 'Central'$"
    ),
    'scenario = 2\n[message.callForOffers]\nsubscription_type = "TOPIC"': (
        r'own.toml: \[message.callForOffers\]: subscription_type: expected "IN", "OR" or "SET" with target_destination '
        r'"MessageType" of callForOffers, got \'TOPIC\'$'
    ),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: " ".join(text.split()) or "empty")
def test_a_mistake_is_refused(text):
    """With the name of the text, the table, the key, the value, and what was expected; the line is tested elsewhere."""
    with pytest.raises(WorkloadError) as refused:
        read(text, "own.toml")
    assert re.match(REFUSED[text], re.sub(r"(?<=toml), line \d+", "", str(refused.value)))


def test_a_topology_that_is_asked_for_twice():
    """It is taken from wherever it stands, and must be the same where it stands twice."""
    assert read("", "own.toml", "horizontal").topology == "horizontal"
    assert read('topology = "vertical"', "own.toml", "vertical").topology == "vertical"
    with pytest.raises(
        WorkloadError,
        match=r"own.toml, line 1: topology: expected 'horizontal', as asked for with --topology, got",
    ):
        read('topology = "vertical"', "own.toml", "horizontal")


@given(values=st.dictionaries(st.sampled_from(list(PARAMETERS)), st.integers() | st.text(max_size=5), min_size=1))
def test_values_of_a_wrong_type_are_refused(values):
    """No number and no other text passes for a value, whichever parameter it is given for."""
    lines = [f"{name} = {value}" if isinstance(value, int) else f"{name} = 'x'" for name, value in values.items()]

    with pytest.raises(WorkloadError, match=r"own.toml, line \d: \[all\]: "):
        read("\n".join(["[all]", *lines]), "own.toml")
