"""A configuration from a TOML text: one of the scenarios, and what is different from it.

    scenario = 2                        # start from 1, 2 or 3 (1)
    topology = "vertical"               # or "horizontal" ("vertical")
    handlers_per_queue = 1              # event handlers that compete for each queue (1)

    [all]                               # for every message that has the parameter
    durable = false                     # also: transactional, persistent, queue, target_destination, subscription_type

    [interaction_1]                     # for the messages of an interaction; wins over [all]
    target_destination = "Interaction"

    [message.callForOffers]             # for one message; wins over [interaction_2]
    subscription_type = "OR"

A value without an effect is refused, since who writes it expects one: a durability or a target destination where the
message is on a queue, or a value that other tables replace for every message that it could hold for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.errors import WorkloadError
from workloads.jms2009ps.parameters import (
    MESSAGES,
    PARAMETERS,
    SUBSCRIPTION_TYPES_WITH_SELECTORS,
    Configuration,
    MessageParameters,
    ParameterValue,
    has,
    topic_contradicts,
)
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.topology import CONTROLLED
from workloads.toml_table import TomlTable, parse_toml

#: The second scenario without durable subscriptions.
NONDURABLE = Path(__file__).with_name("nondurable.toml")


@dataclass(frozen=True, slots=True)
class _Setting:
    """A table of values, and the messages that it is for."""

    table: TomlTable
    messages: tuple[str, ...]
    values: Mapping[str, ParameterValue]


def read(text: str, source: str, topology: str | None = None) -> Configuration:
    """The configuration that a TOML text describes; `source` is the name of the text in messages.

    `topology` is the name of a topology that is asked for elsewhere: it is used if the text does not name one.

    Raises WorkloadError with text, table, key, value and what was expected for unknown keys, for values of a wrong type
    or spelling or without an effect, for a parameter that a message does not have, for values that contradict each
    other, and for a topology other than the one asked for.
    """
    known = ("scenario", "topology", "handlers_per_queue", "all", *_INTERACTIONS, "message")
    root = TomlTable(source, "", parse_toml(text, source), known, text=text)
    scenario = _chosen(root, "scenario", tuple(SCENARIOS), 1)
    settings = tuple(_settings(root))
    merged = {
        message: {name: getattr(row, name) for name in PARAMETERS}
        for message, row in SCENARIOS[scenario].parameters.items()
    }
    origins: dict[tuple[str, str], _Setting] = {}
    for setting in settings:
        for name, value in setting.values.items():
            for message in setting.messages:
                if has(message, name):
                    merged[message][name] = value
                    origins[message, name] = setting
    for message, values in merged.items():
        _refuse_contradiction(message, values, origins, f"scenario {scenario}")
    parameters = {message: MessageParameters(**values) for message, values in merged.items()}
    for setting in settings:
        _refuse_idle(setting, parameters, origins)
    return Configuration(source, parameters, _topology(root, topology), _handlers_per_queue(root, parameters))


_INTERACTIONS: Mapping[str, int] = {f"interaction_{number}": number for number in INTERACTIONS}


def _settings(root: TomlTable) -> Iterator[_Setting]:
    """The tables of values, the more specific ones last."""
    yield _setting(root.table("all", *PARAMETERS), tuple(MESSAGES))
    for key, number in _INTERACTIONS.items():
        steps = INTERACTIONS[number].steps
        yield _setting(root.table(key, *PARAMETERS), tuple(step.message for step in steps))
    messages = root.table("message", *MESSAGES)
    for message in MESSAGES:
        yield _setting(messages.table(message, *PARAMETERS), (message,))


def _setting(table: TomlTable, messages: tuple[str, ...]) -> _Setting:
    values: dict[str, ParameterValue] = {}
    for name, given in table.values.items():
        parameter = PARAMETERS[name]
        value = parameter.value(given)
        if value is None:
            raise table.refusal(name, parameter.expected, given)
        if not any(has(message, name) for message in messages):
            whose = " and ".join(messages) if len(messages) == 1 else f"each of {', '.join(messages)}"
            raise table.refusal(name, f"no value, as {whose} {parameter.absence}", given)
        values[name] = value
    return _Setting(table, messages, values)


def _refuse_contradiction(
    message: str, values: Mapping[str, Any], origins: Mapping[tuple[str, str], _Setting], scenario: str
) -> None:
    target, subscription_type = values["target_destination"], values["subscription_type"]
    if not topic_contradicts(target, subscription_type):
        return
    if (origin := origins.get((message, "subscription_type"))) is not None:
        raise origin.table.refusal(
            "subscription_type",
            f'{SUBSCRIPTION_TYPES_WITH_SELECTORS} with target_destination "{target}" of {message}',
            str(subscription_type),
        )
    raise origins[message, "target_destination"].table.refusal(
        "target_destination",
        f'"LocationID-MessageType" for {message}, whose subscription_type is "{subscription_type}" in {scenario} '
        f"(or set its subscription_type to {SUBSCRIPTION_TYPES_WITH_SELECTORS} as well)",
        str(target),
    )


def _refuse_idle(
    setting: _Setting, parameters: Mapping[str, MessageParameters], origins: Mapping[tuple[str, str], _Setting]
) -> None:
    """Refuses a value that has no effect on any message."""
    for name, value in setting.values.items():
        decided = [message for message in setting.messages if origins.get((message, name)) is setting]
        if any(PARAMETERS[name].heeded(parameters[message]) for message in decided):
            continue
        why = "on a queue it has no effect" if decided else "more specific tables set it for every message"
        given = value if isinstance(value, bool) else str(value)
        raise setting.table.refusal(name, f"no value, as {why}", given)


def _chosen(table: TomlTable, key: str, choices: tuple[Any, ...], default: Any) -> Any:
    value = table.values.get(key, default)
    if isinstance(value, bool) or value not in choices:
        *others, last = map(repr, choices)
        raise table.refusal(key, f"{', '.join(others)} or {last}", value)
    return value


def _topology(root: TomlTable, asked: str | None) -> str:
    name: str = _chosen(root, "topology", tuple(CONTROLLED), asked or SCENARIOS[1].topology)
    if asked not in {None, name}:
        raise WorkloadError(
            f"{root.label('topology')}: topology: expected {asked!r}, as asked for with --topology, got {name!r}"
        )
    return name


def _handlers_per_queue(root: TomlTable, parameters: Mapping[str, MessageParameters]) -> int:
    number = root.values.get("handlers_per_queue", 1)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise root.refusal("handlers_per_queue", "a whole number from 1 on", number)
    if number > 1 and not any(row.queue for row in parameters.values()):
        raise root.refusal("handlers_per_queue", "1, as no message has a queue that several could share", number)
    return number
