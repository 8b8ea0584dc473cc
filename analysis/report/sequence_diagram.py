"""The sequence diagram of an interaction: parties as columns, messages as arrows from top to bottom.

Drawn only from the workload's tables: the labels of an arrow are the values of its row.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from analysis.report.svg import WIDTH, Anchor, Tone, box, head, line, lines, svg, text, width_of
from workloads.messaging import DestinationKind
from workloads.supply_chain.characterization import by_interaction
from workloads.supply_chain.interactions import DeliveryOptions, MessageType, Participant, Role
from workloads.supply_chain.topology import Topology

#: The parties' columns are between the trigger of each message on the left and its delivery options on the right.
_LEFT, _RIGHT = 190.0, 700.0
_HEAD, _ROW = 58.0, 50.0
_LOOP = 30.0

_NAMES = {
    Participant.SM: ("supermarket", "one of {SM}"),
    Participant.DC: ("distribution centre", "one of {DC}"),
    Participant.SP: ("supplier", "the one chosen"),
    Participant.HQ: ("headquarters", "one of {HQ}"),
    Participant.SUPPLIERS: ("suppliers", "all of the family"),
    Participant.SUPERMARKETS: ("supermarkets", "all {SM}"),
}


def flow(topology: Topology, number: int) -> str:
    """An `<svg>` element of one interaction of the topology."""
    interaction = topology.interactions[number]
    steps = interaction.script.steps
    parties = list(dict.fromkeys(party for step in steps for party in (step.sender, step.receiver)))
    centers = {party: _center(column, len(parties)) for column, party in enumerate(parties)}
    bottom = _HEAD + _ROW * len(steps)
    elements = [
        text(0, 18, "triggered by", size=12, tone=Tone.SOFT),
        text(_RIGHT + 24, 18, "delivered by", size=12, tone=Tone.SOFT),
    ]
    counts = {role.value: topology.locations[role] for role in Role}
    for party, x in centers.items():
        elements += _column(party, x, bottom, counts, _spacing(len(parties)))
    received = {row.step.message: row.volume for row in by_interaction(topology)}
    for index, step in enumerate(steps):
        volume = received[step.message]
        copies = float(volume.received_per_s / volume.sent_per_s)
        started = float(topology.started_per_s(number)) if step.after is None else None
        elements += _row(step, index + 1, _HEAD + _ROW * (index + 0.5), centers, copies, started)
    said = "; ".join(_said(step) for step in steps)
    return svg(f"Interaction {number}, {interaction.script.title}: {said}.", bottom + 8, elements)


def _spacing(parties: int) -> float:
    return (_RIGHT - _LEFT) / parties


def _center(column: int, parties: int) -> float:
    return _LEFT + _spacing(parties) * (column + 0.5)


def _column(party: Participant, x: float, bottom: float, counts: dict[str, int], spacing: float) -> Iterator[str]:
    name, which = _NAMES[party]
    width = min(spacing - 8, 150)
    yield line([(x, _HEAD - 8), (x, bottom)], Tone.RULE, width=1.5)
    yield box(x - width / 2, 4, width, _HEAD - 12, fill=Tone.SHADE)
    size = min(13, 13 * (width - 8) / width_of(name, 13))
    yield text(x, 24, name, size=size, anchor=Anchor.MIDDLE, bold=True)
    yield text(x, 42, which.format(**counts), size=11.5, anchor=Anchor.MIDDLE, tone=Tone.SOFT)


def _row(
    step: MessageType,
    number: int,
    y: float,
    centers: dict[Participant, float],
    copies: float,
    started_per_s: float | None,
) -> Iterator[str]:
    tone = Tone.FIRST if step.mode.persistent else Tone.SECOND
    begin, end = centers[step.sender], centers[step.receiver]
    yield line([(0, y + _ROW / 2), (WIDTH, y + _ROW / 2)], Tone.RULE, width=0.6)
    yield text(0, y + 4, str(number), size=12, tone=Tone.SOFT)
    trigger = (
        wrap(_trigger(step), 23) if started_per_s is None else ["a driver's clock,", f"{started_per_s:.4g}/s in all"]
    )
    yield lines(22, y + 4 - 7.5 * (len(trigger) - 1), trigger)
    yield lines(_RIGHT + 24, y - 3.5, _delivery(step, copies))
    if begin == end:
        yield line(
            [(begin, y - 9), (begin + _LOOP, y - 9), (begin + _LOOP, y + 9), (begin + 4, y + 9)],
            tone, width=1.6, dashed=not step.mode.transacted,
        )  # fmt: skip
        yield head(begin, y + 9, tone, to_the_left=True)
        yield text(begin + _LOOP + 8, y + 4, step.message, bold=True)
        return
    to_the_left = end < begin
    back = 4 if to_the_left else -4
    yield line([(begin, y + 6), (end + back, y + 6)], tone, width=1.6, dashed=not step.mode.transacted)
    for tip in (0, 9) if step.kind is DestinationKind.TOPIC else (0,):
        yield head(end + (tip if to_the_left else -tip), y + 6, tone, to_the_left=to_the_left)
    middle = (begin + end) / 2
    width = width_of(step.message, 13.5) + 6
    # Filled with the page's background, so that the line of a column does not cross the name.
    yield f'<rect x="{middle - width / 2:g}" y="{y - 13:g}" width="{width:g}" height="16" style="fill: {Tone.PAGE}"/>'
    yield text(middle, y - 1, step.message, anchor=Anchor.MIDDLE, bold=True)


def _trigger(step: MessageType) -> str:
    chosen = f" of the {_NAMES[step.after_from][0]} chosen" if step.after_from is not None else ""
    return f"the receipt of {step.after}{chosen}"


def _delivery(step: MessageType, copies: float) -> tuple[str, str]:
    """Two lines: the kind of destination with the copies per message, and the delivery options."""
    kind = "queue" if step.kind is DestinationKind.QUEUE else f"topic, {copies:.3g} copies"
    return kind + (", durable" if step.mode.durable else ""), mode(step.mode)


def mode(one: DeliveryOptions) -> str:
    """The delivery options as text."""
    persistent = "persistent" if one.persistent else "not persistent"
    return f"{persistent}, {'transacted' if one.transacted else 'not transacted'}"


def _said(step: MessageType) -> str:
    return f"{step.message} from {_NAMES[step.sender][0]} to {_NAMES[step.receiver][0]}"
