"""A business from a TOML text: a workload of the user's own.

    name = "shop"                       # letters, digits, _ and -

    [roles]                             # kinds of places, and how many places there are
    shop = { per_base = 1 }             # this many times BASE, rounded up; or a number
    warehouse = { places = 2, handlers = 3, chosen = "in turn" }

    [messages.order]                    # a message with a rate starts an interaction
    from = "shop"
    to = "warehouse"                    # over a queue; or to_all, over a topic
    rate_per_s = 10                     # per sending place; or { per_base = number }
    bytes = [800, 2000]                 # or one size
    probabilities = [0.9, 0.1]          # of the sizes, drawn once per execution for all its messages
    persistent = true                   # (false)

    [messages.confirmation]             # any other message is an answer
    from = "warehouse"
    to = "shop"                         # the shop that takes part: here the one that ordered
    after = "order"
    bytes = 200

Of a role: `handlers` event handlers at each of its places compete for the messages of a queue (1). Which place of it
takes part in an execution is `chosen`: "own", the one that the starting place always deals with (the default), or "in
turn". Of a message: `transacted` (false); with `to_all`, `durable` (false), and `groups = number` if each message goes
to one of so many groups, to which the places are dealt out, in turn; a group has a topic of its own, unless `selector =
"header"` names the header by which the groups select theirs on one topic. Of an answer: `every = n` if it is sent in
every n-th execution only, and `after_from = "role"` if several places send what it answers: it is sent once, in answer
to the place of that role that takes part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil, isclose
from typing import Any

from workloads.errors import WorkloadError
from workloads.messaging import MOST_BODY_BYTES, DestinationKind
from workloads.scenario.business import (
    Business,
    BusinessInteraction,
    BusinessMessage,
    BusinessRole,
    Party,
    in_turn,
    own,
)
from workloads.scenario.execution import MOST_INTERACTION
from workloads.scenario.message import MOST_FIELD
from workloads.selectors import Equals
from workloads.toml_table import ScaledTable, grows, parse_toml

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_NAME_RULE = "a letter, then up to 39 letters, digits, _ and -"

_LAWS = {"own": own, "in turn": in_turn}

_OF_ROLE = ("places", "per_base", "handlers", "chosen")
_OF_MESSAGE = (
    *("from", "to", "to_all", "rate_per_s", "after", "after_from", "every", "bytes", "probabilities"),
    *("persistent", "transacted", "durable", "groups", "selector"),
)


@dataclass(frozen=True, slots=True)
class _FileMessage:
    """A message of the text."""

    table: ScaledTable
    name: str
    #: Name of the message that it answers; None if it has a rate.
    after: str | None


def business_name(text: str, source: str) -> str:
    """The name that the text gives. Raises WorkloadError."""
    return _name(_root(text, source, 1))


def read_business(text: str, source: str, base: int) -> Business:
    """The business that a TOML text describes at a BASE; `source` is the name of the text in messages.

    Raises WorkloadError with line, table and key for unknown keys and names, invalid values, and messages that can
    never be sent; and for a BASE above 1 if no value in the text is per BASE.
    """
    if base < 1:
        raise WorkloadError(f"BASE: expected a whole number from 1 on, got {base}")
    root = _root(text, source, base)
    name = _name(root)
    tables = root.table_of_names("roles")
    roles = {key: _role(tables, key) for key in tables.values}
    parties = {key: _party(tables, role) for key, role in roles.items()}
    rows = list(_rows(root.table_of_names("messages")))
    interactions: dict[int, BusinessInteraction] = {}
    for start in (row for row in rows if row.after is None):
        if len(interactions) == MOST_INTERACTION:
            raise start.table.refusal(
                "rate_per_s", f"at most {MOST_INTERACTION} messages with a rate, and answers after them", start.name
            )
        interactions[len(interactions) + 1] = _interaction(_sent_after(start, rows), roles, parties)
    if base > 1 and not grows(root.values):
        raise WorkloadError(f"{source}: BASE {base}, but nothing grows with it; expected a {{ per_base = number }}")
    try:
        return Business(name, base, roles, parties, interactions)
    except WorkloadError as error:
        raise WorkloadError(f"{source}: {error}") from None


def _root(text: str, source: str, base: int) -> ScaledTable:
    return ScaledTable(source, "", parse_toml(text, source), ("name", "roles", "messages"), base, text=text)


def _name(root: ScaledTable) -> str:
    if "name" not in root.values:
        raise root.missing("name", "the workload's name")
    return _checked(root, "name", root.values["name"])


def _checked(table: ScaledTable, key: str, name: Any) -> str:
    """A name. Raises WorkloadError if it is none."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise table.refusal(key, f"{_NAME_RULE}, as a name", name)
    return name


def _role(tables: ScaledTable, key: str) -> BusinessRole:
    """A role of table `roles`; its number of places alone says the same as a table with it."""
    _checked(tables, key, key)
    if not isinstance(tables.values[key], Mapping):
        return BusinessRole(key, _places(tables, key, tables.count(key)))
    table = tables.table(key, *_OF_ROLE)
    given = [name for name in ("places", "per_base") if name in table.values]
    if len(given) != 1:
        raise table.refusal(key, "either places or per_base", " and ".join(given) or "neither")
    places = ceil(table.fraction("per_base", table.values["per_base"]) * table.base) if given == ["per_base"] else None
    handlers = table.count("handlers", 1)
    if handlers < 1:
        raise table.refusal("handlers", "a whole number from 1 on", handlers)
    return BusinessRole(key, _places(table, given[0], table.count("places") if places is None else places), handlers)


def _places(table: ScaledTable, key: str, number: int) -> int:
    if not 1 <= number < MOST_FIELD:
        raise table.refusal(key, f"1 to {MOST_FIELD - 1} places", number)
    return number


def _party(tables: ScaledTable, role: BusinessRole) -> Party:
    """The place of a role that takes part in an execution."""
    if not isinstance(tables.values[role.name], Mapping):
        return Party.one(role)
    table = tables.table(role.name, *_OF_ROLE)
    chosen = table.values.get("chosen", "own")
    if not isinstance(chosen, str) or chosen not in _LAWS:
        raise table.refusal("chosen", " or ".join(map(repr, _LAWS)), chosen)
    return Party.one(role, _LAWS[chosen])


def _rows(messages: ScaledTable) -> Iterator[_FileMessage]:
    """The messages, each with what it is sent after, which is a message of the text."""
    for name in messages.values:
        _checked(messages, name, name)
        table = messages.table(name, *_OF_MESSAGE)
        if ("rate_per_s" in table.values) is ("after" in table.values):
            raise _not_one_of(table, "rate_per_s", "after", "it starts an interaction, or answers a message")
        after = table.values.get("after")
        if after is not None and after not in messages.values:
            raise table.refusal("after", f"a message: {', '.join(messages.values)}", after)
        yield _FileMessage(table, name, after)
    _refuse_circles(messages)


def _refuse_circles(messages: ScaledTable) -> None:
    """Raises WorkloadError for a message that is sent after itself."""
    answered = {name: table.get("after") for name, table in messages.values.items()}
    for name, first in answered.items():
        passed, at = {name}, first
        while at is not None:
            if at in passed:
                raise messages.table(name, *_OF_MESSAGE).refusal("after", "a message that is sent without it", first)
            passed.add(at)
            at = answered[at]


def _sent_after(start: _FileMessage, rows: list[_FileMessage]) -> list[_FileMessage]:
    """A message and all answers that follow, each after what it answers, otherwise in the order of the text."""
    found = [start]
    for row in found:
        found += [answer for answer in rows if answer.after == row.name]
    return found


def _interaction(
    rows: list[_FileMessage], roles: Mapping[str, BusinessRole], parties: dict[str, Party]
) -> BusinessInteraction:
    """An interaction; parties of several places, which its messages need, are added to `parties`."""
    start = rows[0]
    rate_per_s = start.table.number("rate_per_s")
    if rate_per_s <= 0:
        raise start.table.refusal("rate_per_s", "more than 0", float(rate_per_s))
    messages: dict[str, BusinessMessage] = {}
    classes = _probabilities(start.table)
    for row in rows:
        messages[row.name] = _message(row, roles, parties, messages, len(classes))
    places = roles[parties[messages[start.name].sender].role].places
    bounds = tuple(ceil(share * 2**64) for share in accumulate(classes[:-1]))
    return BusinessInteraction(start.name, tuple(messages.values()), rate_per_s * places, bounds)


def _message(
    row: _FileMessage,
    roles: Mapping[str, BusinessRole],
    parties: dict[str, Party],
    before: Mapping[str, BusinessMessage],
    classes: int,
) -> BusinessMessage:
    table, answered = row.table, None if row.after is None else before[row.after]
    sender = _role_named(table, "from", roles).name
    if answered is not None:  # whoever received that message
        receiving = parties[answered.receiver].role
        if receiving != sender:
            raise table.refusal("from", f"{receiving!r}, which receives {answered.name!r}", sender)
        sender = answered.receiver
    to_all = "to_all" in table.values
    if to_all is ("to" in table.values):
        raise _not_one_of(table, "to", "to_all", "it goes to one place, or to several")
    role = _role_named(table, "to_all" if to_all else "to", roles)
    receiver = _receivers(row, role) if to_all else parties[role.name]
    parties.setdefault(receiver.name, receiver)
    if row.after is None and {"every", "after_from"} & table.values.keys():
        key = next(key for key in ("every", "after_from") if key in table.values)
        raise table.refusal(key, "none, as only an answer has one", table.values[key])
    if not to_all and (unused := [key for key in ("durable", "groups") if key in table.values]):
        raise table.refusal(unused[0], "none, as only a message with to_all has it", table.values[unused[0]])
    after_from = _role_named(table, "after_from", roles).name if "after_from" in table.values else None
    every = table.count("every", 1)
    if every < 1:
        raise table.refusal("every", "a whole number from 1 on", every)
    return BusinessMessage(
        row.name,
        sender,
        receiver.name,
        _sizes(table, classes),
        DestinationKind.TOPIC if to_all else DestinationKind.QUEUE,
        table.boolean("persistent", False),
        table.boolean("transacted", False),
        table.boolean("durable", False),
        row.after,
        after_from,
        every,
        _selector(table),
    )


def _not_one_of(table: ScaledTable, first: str, second: str, why: str) -> WorkloadError:
    """The error for a message that has both keys, or neither."""
    found = "both" if first in table.values else "neither"
    return WorkloadError(f"{table.label(second)}: expected either {first} or {second}, as {why}; it has {found}")


def _role_named(table: ScaledTable, key: str, roles: Mapping[str, BusinessRole]) -> BusinessRole:
    if key not in table.values:
        raise table.missing(key, f"a role: {', '.join(roles)}")
    name = table.values[key]
    if not isinstance(name, str) or name not in roles:
        raise table.refusal(key, f"a role: {', '.join(roles)}", name)
    return roles[name]


def _receivers(row: _FileMessage, role: BusinessRole) -> Party:
    if "groups" not in row.table.values:
        return Party.everyone(role)
    number = row.table.count("groups")
    if not 1 <= number <= role.places:
        raise row.table.refusal("groups", f"1 to {role.places}, the number of places of {role.name}", number)
    return Party.groups(role, number)


def _selector(table: ScaledTable) -> str | None:
    """The name of the header by which groups select their messages."""
    if "selector" not in table.values:
        return None
    header = table.values["selector"]
    if "groups" not in table.values:
        raise table.refusal("selector", "none, as only a message with groups has it", header)
    try:
        return Equals(header, "").name
    except (WorkloadError, TypeError) as error:
        raise table.refusal("selector", f"the name of a header ({error})", header) from None


def _sizes(table: ScaledTable, classes: int) -> tuple[int, ...]:
    """The sizes of a message by size class; one size is that of all classes."""
    if "bytes" not in table.values:
        raise table.missing("bytes", "a number of bytes, or a list of them")
    given = table.values["bytes"]
    sizes = given if isinstance(given, list) else [given] * classes
    if len(sizes) != classes:
        raise table.refusal("bytes", f"one size, or {classes}, as the interaction has probabilities", given)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_BODY_BYTES:
            raise table.refusal("bytes", f"whole numbers from 0 to {MOST_BODY_BYTES}", given)
    return tuple(sizes)


def _probabilities(table: ScaledTable) -> tuple[Fraction, ...]:
    """The probabilities of the size classes of an interaction, which its first message states."""
    given = table.values.get("probabilities", [1])
    if not isinstance(given, list) or not given:
        raise table.refusal("probabilities", "a list of numbers with the sum 1", given)
    found = tuple(table.fraction("probabilities", each) for each in given)
    if not isclose(sum(found), 1, abs_tol=1e-9) or min(found) <= 0:
        raise table.refusal("probabilities", "numbers above 0 with the sum 1", given)
    return found
