"""The sequence diagram of an interaction: parties as columns, messages as arrows from top to bottom.

Drawn only from the tables of the business, so that it is the same for every workload, a user's file included: the
labels of an arrow are the values of its row. Names may be as long as a file allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from textwrap import wrap

from analysis.formats import span
from analysis.report.svg import LEADING, LETTER, WIDTH, Tone, box, head, line, lines, svg, text, width_of
from workloads.messaging import DestinationKind
from workloads.scenario.business import Business, BusinessMessage, Party
from workloads.scenario.business_model import BusinessModel

#: The parties' columns are between the trigger of each message on the left and its delivery options on the right.
_LEFT, _RIGHT = 190.0, 700.0
_ROW = 50.0
_LOOP = 30.0

#: Font sizes: of small text, of the names of parties, and of messages at most and at least.
_SMALL, _PARTY, _MESSAGE, _LEAST = 12, 13, 13.5, 9

#: Letters in a line of a trigger, and of what is said of delivery.
_TRIGGER, _DELIVERY = 23, 34


@dataclass(frozen=True, slots=True)
class _Column:
    """A party, or several that are the same places."""

    title: str
    which: str


@dataclass(frozen=True, slots=True)
class _MessageRow:
    """A message with the texts beside it."""

    message: BusinessMessage
    trigger: tuple[str, ...]
    delivery: tuple[str, ...]

    @property
    def height(self) -> float:
        return max(_ROW, max(len(self.trigger), len(self.delivery)) * _SMALL * LEADING + 12)


def flow(model: BusinessModel, number: int) -> str:
    """An `<svg>` element of one interaction of the model."""
    business, interaction = model.business, model.business.interactions[number]
    columns = {name: _column(business, business.parties[name]) for name in business.parties}
    drawn = dict.fromkeys(columns[party] for each in interaction.messages for party in (each.sender, each.receiver))
    centers = {column: _LEFT + _spacing(len(drawn)) * (index + 0.5) for index, column in enumerate(drawn)}
    rows = [_MessageRow(each, _trigger(model, number, each), _delivery(model, each)) for each in interaction.messages]
    top = _head(list(drawn))
    bottom = top + sum(row.height for row in rows)
    elements = [
        text(0, 18, "triggered by", size=_SMALL, tone=Tone.SOFT),
        text(_RIGHT + 24, 18, "delivered by", size=_SMALL, tone=Tone.SOFT),
    ]
    for column, x in centers.items():
        elements += _drawn_column(column, x, top, bottom, _spacing(len(drawn)))
    y = top
    for index, row in enumerate(rows, 1):
        ends = centers[columns[row.message.sender]], centers[columns[row.message.receiver]]
        elements += _drawn_row(row, index, y, *ends)
        y += row.height
    said = "; ".join(_said(row.message, columns) for row in rows)
    return svg(f"Interaction {number}, {interaction.title}: {said}.", bottom + 8, elements)


def _column(business: Business, party: Party) -> _Column:
    role = business.roles[party.role]
    numbers = {len(places) for places in party.places}
    if not role.handlers:
        which = "come and go"
    elif party.several:
        least, most = min(numbers, default=0), max(numbers, default=0)
        which = f"all {most}" if least == role.places else f"{span((least, most))} of {role.places}"
    else:
        which = "the only one" if role.places == 1 else f"one of {role.places}"
    return _Column(role.title or role.name, which)


def _spacing(parties: int) -> float:
    return (_RIGHT - _LEFT) / parties


def _wrapped(words: str, width: float, size: float) -> list[str]:
    return wrap(words, max(1, int(width / (size * LETTER))))


def _head(columns: list[_Column]) -> float:
    """The height of the boxes with the names of the parties, and the distance to the first row."""
    width = _box_width(_spacing(len(columns))) - 8
    texts = (len(_wrapped(each.title, width, _PARTY)) + len(_wrapped(each.which, width, _SMALL)) for each in columns)
    return 22 + max(texts) * _PARTY * LEADING


def _box_width(spacing: float) -> float:
    return min(spacing - 8, 150)


def _drawn_column(column: _Column, x: float, top: float, bottom: float, spacing: float) -> Iterator[str]:
    width = _box_width(spacing)
    yield line([(x, top - 8), (x, bottom)], Tone.RULE, width=1.5)
    yield box(x - width / 2, 4, width, top - 12)
    y = 4 + _PARTY * LEADING
    for words in _wrapped(column.title, width - 8, _PARTY):
        yield text(x, y, words, size=_PARTY, middle=True, bold=True)
        y += _PARTY * LEADING
    yield lines(x, y, _wrapped(column.which, width - 8, _SMALL), size=_SMALL, middle=True, tone=Tone.SOFT)


def _drawn_row(row: _MessageRow, number: int, top: float, begin: float, end: float) -> Iterator[str]:
    message, y = row.message, top + row.height / 2
    tone = Tone.FIRST if message.persistent else Tone.SECOND
    yield line([(0, top + row.height), (WIDTH, top + row.height)], Tone.RULE, width=0.6)
    yield text(0, y + 4, str(number), size=_SMALL, tone=Tone.SOFT)
    for x, words in ((22, row.trigger), (_RIGHT + 24, row.delivery)):
        yield lines(x, y + 4 - _SMALL * LEADING / 2 * (len(words) - 1), words, size=_SMALL)
    size = _name_size(message.name)
    width = width_of(message.name, size)
    if begin == end:
        yield line(
            [(begin, y - 9), (begin + _LOOP, y - 9), (begin + _LOOP, y + 9), (begin + 4, y + 9)],
            tone, width=1.6, dashed=not message.transacted,
        )  # fmt: skip
        yield head(begin, y + 9, tone, to_the_left=True)
        beside = begin + _LOOP + 8
        fits = beside + width <= _RIGHT
        yield from _name(message.name, beside + width / 2 if fits else begin - 8 - width / 2, y + 4, size)
        return
    to_the_left = end < begin
    back = 4 if to_the_left else -4
    yield line([(begin, y + 6), (end + back, y + 6)], tone, width=1.6, dashed=not message.transacted)
    for tip in (0, 9) if message.kind is DestinationKind.TOPIC else (0,):
        yield head(end + (tip if to_the_left else -tip), y + 6, tone, to_the_left=to_the_left)
    middle = min(max((begin + end) / 2, _LEFT + width / 2), _RIGHT - width / 2)
    yield from _name(message.name, middle, y - 1, size)


def _name_size(name: str) -> float:
    """The largest size at which the name of a message fits."""
    return max(_LEAST, min(_MESSAGE, (_RIGHT - _LEFT) / (2 * len(name) * LETTER)))


def _name(name: str, middle: float, y: float, size: float) -> Iterator[str]:
    """A name, filled with the page's background, so that the line of a column does not cross it."""
    width = width_of(name, size) + 6
    yield f'<rect x="{middle - width / 2:g}" y="{y - 12:g}" width="{width:g}" height="16" style="fill: {Tone.PAGE}"/>'
    yield text(middle, y, name, size=size, middle=True, bold=True)


def _trigger(model: BusinessModel, number: int, message: BusinessMessage) -> tuple[str, ...]:
    business = model.business
    if message.after is None:
        rate = f"{float(business.interactions[number].started_per_s):.4g}/s in all"
        return ("a driver's clock,", rate)
    words = f"the receipt of {message.after}"
    if message.after_from is not None:
        words += f" of the {_column(business, business.parties[message.after_from]).title} chosen"
    if message.every > 1:
        words += f", in one of {message.every} executions"
    return tuple(wrap(words, _TRIGGER))


def _delivery(model: BusinessModel, message: BusinessMessage) -> tuple[str, ...]:
    """The kind of destination with who gets a message, and the delivery options."""
    handlers = model.business.roles[model.business.parties[message.receiver].role].handlers
    if message.kind is DestinationKind.QUEUE:
        kind = "queue" if handlers == 1 else f"queue, {handlers} handlers compete"
    else:
        copies = model.copies(message)
        kind = f"topic, {_number(copies)} {'copy' if copies == 1 else 'copies'}"
        kind += ", durable" if message.durable else ""
    persistent = "persistent" if message.persistent else "not persistent"
    options = f"{persistent}, {'transacted' if message.transacted else 'not transacted'}"
    return (kind, *wrap(_selected(message), _DELIVERY), options)


def _selected(message: BusinessMessage) -> str:
    """How those who get a message tell it from the others on its topic; empty if there are no others."""
    if message.key is not None:
        by = "a topic of their key" if message.key.header is None else message.key.header
        return f"{_number(message.members)} to members, by {by}"
    return "" if message.selected_by is None else f"selected by {message.selected_by}"


def _number(copies: Fraction) -> str:
    return f"{float(copies):,.0f}" if copies >= 100 else f"{float(copies):.3g}"


def _said(message: BusinessMessage, columns: Mapping[str, _Column]) -> str:
    return f"{message.name} from {columns[message.sender].title} to {columns[message.receiver].title}"
