"""What follows from a business: rates counted from its tables are those of the messages that its rows send."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from workloads.messaging import DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.file_model import FileRecord, file_model

ROLES = ("a", "b", "c")


@st.composite
def texts(draw):
    """A business with one interaction: up to six messages over queues and topics, in groups and in turn, seldom sent."""
    roles = {role: draw(st.integers(1, 4)) for role in ROLES}
    lines = ['name = "any"', "[roles]"]
    for role, places in roles.items():
        chosen, handlers = draw(st.sampled_from(("own", "in turn"))), draw(st.integers(1, 2))
        lines.append(f'{role} = {{ places = {places}, chosen = "{chosen}", handlers = {handlers} }}')
    sent = []  # name, role that receives it, whether one place sends it
    for number in range(draw(st.integers(1, 6))):
        before = draw(st.sampled_from([each for each in sent if each[2]])) if sent else None
        sender = before[1] if before else draw(st.sampled_from(ROLES))
        to = draw(st.sampled_from(ROLES))
        several = draw(st.booleans())
        lines += [
            f"[messages.m{number}]",
            f'from = "{sender}"',
            f'{"to_all" if several else "to"} = "{to}"',
            "bytes = 9",
        ]
        lines += (
            ["rate_per_s = 3"] if before is None else [f'after = "{before[0]}"', f"every = {draw(st.integers(1, 3))}"]
        )
        if several and draw(st.booleans()):
            lines.append(f"groups = {draw(st.integers(1, roles[to]))}")
            lines += ['selector = "g"'] * draw(st.booleans())
        # Whoever answers a message that several places get is several senders, whose messages have no answer here.
        alone = before is None or before[3] == 1
        sent.append((f"m{number}", to, alone, roles[to] if several else 1))
    return "\n".join(lines)


@given(texts())
def test_rates_are_those_of_the_messages_that_are_sent(text):
    """Counted from the parties' values, and by following each chain over the handlers' rows: the same."""
    model = file_model(FileRecord(1, "any.toml", text))
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
    scenario = file_model(FileRecord(1, "any.toml", text)).scenario
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
