"""What a model is, as plain text: places, messages with their rates and sizes, and who sends what to whom.

Everything is read from what the load engine and the audit use, so that it is the same for every workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from textwrap import fill

from workloads.messaging import DestinationKind
from workloads.plain_text import alike, table
from workloads.scenario.model import Scenario
from workloads.scenario.workload import Model, Workload


def description(workload: Workload, model: Model) -> str:
    """The text of `python -m workloads describe`."""
    scenario = model.scenario
    size = (
        f"{model.name}, BASE {model.base}: {model.sent_per_s:,.2f} messages sent per second, "
        f"{model.connections} connections, {model.handlers} event handlers, {len(scenario.drivers)} drivers"
    )
    facts = [fill(f"{name}: {value}", 100) for name, value in model.facts]
    flow = ["who sends what to whom", *_flow(model)]
    parts = ("\n".join([size, *facts]), _messages(model), "\n".join(flow), fill(workload.disclaimer, 100))
    return "\n\n".join(parts)


def _messages(model: Model) -> str:
    destinations: list[set[int]] = [set() for _ in model.steps]
    rates_per_s = [Fraction() for _ in model.steps]
    addresses = zip(model.addresses, model.scenario.addresses, model.address_rates_per_s, strict=True)
    for key, address, rate_per_s in addresses:
        destinations[key.step].add(address.destination)
        rates_per_s[key.step] += rate_per_s
    rows = [
        (
            step.message,
            step.kind.value,
            len(destinations[number]),
            _kept(step.persistent, step.transacted, step.durable),
            _sizes(step.body_bytes, model.interactions[step.interaction].size_class_bounds),
            float(rates_per_s[number]),
        )
        for number, step in enumerate(model.steps)
    ]
    return table("messages", ("message", "over", "destinations", "delivery", "bytes", "sent/s"), rows)


def _sizes(body_bytes: tuple[int, ...], bounds: tuple[int, ...]) -> str:
    """The sizes, with how often each is sent if they differ."""
    if len(set(body_bytes)) == 1:
        return str(body_bytes[0])
    shares = [100 * (upper - lower) / 2**64 for lower, upper in pairwise((0, *bounds, 2**64))]
    return ", ".join(f"{size} ({share:.4g} %)" for size, share in zip(body_bytes, shares, strict=True))


def _kept(persistent: bool, transacted: bool, durable: bool) -> str:
    said = ("persistent" * persistent, "transacted" * transacted, "durable" * durable)
    return ", ".join(filter(None, said)) or "plain"


def _flow(model: Model) -> Iterator[str]:
    """A line for each message, below the one that it answers."""
    scenario = model.scenario
    answers: dict[int, list[int]] = {}
    for handler in scenario.handlers:
        answers.setdefault(handler.step, [each.outgoing.step for each in handler.answers])
    orders = [population.outgoing.step for population in scenario.populations if population.outgoing is not None]
    for step in sorted({*orders, *(driver.outgoing.step for driver in scenario.drivers)}):
        yield from _branch(scenario, step, answers, 1)


def _branch(scenario: Scenario, step: int, answers: dict[int, list[int]], depth: int) -> Iterator[str]:
    starting = [driver.place for driver in scenario.drivers if driver.outgoing.step == step]
    coming = [each.label for each in scenario.populations if each.outgoing is not None and each.outgoing.step == step]
    answering = [
        handler.place for handler in scenario.handlers if any(each.outgoing.step == step for each in handler.answers)
    ]
    senders = alike(list(dict.fromkeys([*starting, *coming, *answering])))
    sent = f"{senders} -- {scenario.steps[step]} --> {_receivers(scenario, step)}"
    yield "  " * depth + sent
    for answer in answers.get(step, ()):
        yield from _branch(scenario, answer, answers, depth + 1)


def _receivers(scenario: Scenario, step: int) -> str:
    """The places that get a message, and how many handlers compete for it at each; members of populations have none."""
    handlers = Counter(handler.place for handler in scenario.handlers if handler.step == step)
    if not handlers:
        return "those who subscribe"
    competing = max(handlers.values())
    each = f", {competing} handlers" if competing > 1 else ""
    first, *others = handlers
    if not others:
        return f"{first}{each}"
    to = scenario.messages[step].addresses
    queue = scenario.destinations[scenario.addresses[to[0]].destination].kind is DestinationKind.QUEUE
    whom = "one of" if queue else "all" if len(to) == 1 else "some of"
    return f"{whom} {len(handlers)} ({first}, ...){each}"
