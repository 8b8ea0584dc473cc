"""What follows from a business: rates counted from its tables are those of the messages that its rows send."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from workloads.messaging import DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.file_model import file_model
from workloads.scenario.workload import CaseRequest, Text

ROLES = ("a", "b", "c")


@st.composite
def texts(draw):
    """A business with one interaction: up to six messages over queues and topics, in groups, in turn, seldom sent."""
    places = {role: draw(st.integers(1, 4)) for role in ROLES}
    lines = ['name = "any"', "[roles]"]
    for role, number in places.items():
        chosen, handlers = draw(st.sampled_from(("own", "in turn"))), draw(st.integers(1, 2))
        lines.append(f'{role} = {{ places = {number}, chosen = "{chosen}", handlers = {handlers} }}')
    to_several: set[str] = set()
    answerable: list[tuple[str, str]] = []  # messages that one place sends, and who receives them
    for number in range(draw(st.integers(1, 6))):
        if number and not answerable:
            break
        after, sender = draw(st.sampled_from(answerable)) if number else ("", draw(st.sampled_from(ROLES)))
        to, several = draw(st.sampled_from(ROLES)), draw(st.booleans())
        lines += [
            f"[messages.m{number}]",
            "bytes = 9",
            f'from = "{sender}"',
            f'{"to_all" if several else "to"} = "{to}"',
        ]
        lines += [f'after = "{after}"', f"every = {draw(st.integers(1, 3))}"] if number else ["rate_per_s = 3"]
        if several and draw(st.booleans()):
            lines.append(f"groups = {draw(st.integers(1, places[to]))}")
            lines += ['selector = "g"'] * draw(st.booleans())
        # What a message to several places is answered by comes from several: that has no answers here.
        if not number or after not in to_several:
            answerable.append((f"m{number}", to))
        if several:
            to_several.add(f"m{number}")
    return "\n".join(lines)


@given(texts())
def test_rates_are_those_of_the_messages_that_are_sent(text):
    """Counted from the parties' values, and by following each chain over the handlers' rows: the same."""
    model = file_model(CaseRequest(1, Text("any.toml", text)))
    (interaction,) = model.interactions.values()
    origins = range(len(model.scenario.drivers))
    messages = [
        message
        for origin in origins
        for number in range(interaction.period)
        for message in model.expected(Execution(1, origin, number))
    ]
    share = interaction.started_per_s / (interaction.period * len(origins))
    counted = Counter(message.address for message in messages)

    assert dict(zip(model.addresses, model.address_rates_per_s, strict=True)) == {
        address: counted[address] * share for address in model.addresses
    }
    copies = sum(len(model.audience(message.address)) for message in messages)
    executions = interaction.period * len(origins)
    assert (interaction.sent, interaction.received) == (
        Fraction(len(messages), executions),
        Fraction(copies, executions),
    )


@given(texts())
def test_each_copy_has_one_subscription_that_lets_it_pass(text):
    """Of each handler that is to get it, and of none other on the destination."""
    scenario = file_model(CaseRequest(1, Text("any.toml", text))).scenario
    for number, address in enumerate(scenario.addresses):
        passing = [
            handler.number
            for handler in scenario.handlers
            for each in handler.subscriptions
            if each.destination == address.destination
            and (each.selector is None or each.selector == "g = '{}'".format(dict(address.properties).get("g")))
        ]
        assert passing == [handler.number for handler in scenario.handlers if number in handler.addresses]
    for handler in scenario.handlers:
        kinds = {scenario.destinations[each.destination].kind for each in handler.subscriptions}
        assert kinds <= {DestinationKind.TOPIC} or not any(each.selector for each in handler.subscriptions)
