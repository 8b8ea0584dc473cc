"""The tables about subscriptions that come and go; the terminal and the report render the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from analysis.formats import NOTHING, number, ranged, share_of
from analysis.scenario.results import ChurnResult, DeliveryTimes, FlowResult, PopulationResult
from analysis.scenario.tables import times
from analysis.table import Table, TableColumn
from workloads.scenario.published_flows import PublishedFlows


def churn_tables(churn: ChurnResult, published: PublishedFlows | None) -> Iterator[Table]:
    """Populations, copies, ranks, sessions, memory, and the published table of flows with the measurement beside it."""
    if churn.populations:
        yield _populations(churn)
        yield _latencies(churn)
    if churn.sessions:
        yield _sessions(churn)
    yield _copies(churn)
    if churn.ranks:
        yield _ranks(churn)
    yield _memory(churn)
    if churn.flows and published is not None:
        yield _flows(churn, published)


def _populations(churn: ChurnResult) -> Table:
    return Table.of(
        "Subscriptions of populations; late: joins and leaves more than one mean gap after their planned instants",
        churn.populations,
        TableColumn("population", lambda of: of.label, number=False),
        TableColumn("period", lambda of: of.period, number=False),
        TableColumn("standing", lambda of: number(of.standing), "on average"),
        TableColumn(
            "of planned", lambda of: f"{number(of.planned_standing)} ({share_of(of.standing, of.planned_standing)})"
        ),
        TableColumn("joins", lambda of: f"{of.joins:,}"),
        TableColumn("of planned", lambda of: f"{of.planned_joins:,}"),
        TableColumn("leaves", lambda of: f"{of.leaves:,}"),
        TableColumn("of planned", lambda of: f"{of.planned_leaves:,}"),
        TableColumn("late", lambda of: f"{of.late:,} ({share_of(of.late, of.due)})"),
        keys=2,
    )


#: Durations of a population, by their words.
_DURATIONS: tuple[tuple[str, Callable[[PopulationResult], DeliveryTimes]], ...] = (
    ("SUBSCRIBE to receipt", lambda of: of.join),
    ("planned join to receipt", lambda of: of.join_planned),
    ("SUBSCRIBE to last message not got", lambda of: of.effect_after),
    ("SUBSCRIBE to receipt of first message got", lambda of: of.effect_before),
    ("UNSUBSCRIBE to receipt", lambda of: of.leave),
)


def _latencies(churn: ChurnResult) -> Table:
    return Table.of(
        "Latency of joins and leaves; a join took effect between the last message not got and the first that was, a "
        "bracket as wide as the gap between messages",
        [
            (of, words, found)
            for of in churn.populations
            for words, duration in _DURATIONS
            if (found := duration(of)).count
        ],
        TableColumn("population", lambda row: row[0].label, number=False),
        TableColumn("period", lambda row: row[0].period, number=False),
        TableColumn("from ... to", lambda row: row[1], number=False),
        TableColumn("count", lambda row: f"{row[2].count:,}"),
        *times(lambda row: row[2]),
        keys=3,
    )


def _sessions(churn: ChurnResult) -> Table:
    return Table.of(
        "Sessions, each on a connection of its own, in the whole run",
        churn.sessions,
        TableColumn("sessions", lambda of: of.label, number=False),
        TableColumn("planned", lambda of: f"{of.planned:,}"),
        TableColumn("failed", lambda of: f"{of.failed:,}"),
        TableColumn("connect, p50", lambda of: number(of.connect.p50_ms), "ms"),
        TableColumn("p90", lambda of: number(of.connect.p90_ms), "ms"),
        TableColumn("until subscribed, p50", lambda of: number(of.join.p50_ms), "ms"),
        TableColumn("p90", lambda of: number(of.join.p90_ms), "ms"),
        TableColumn("leave, p50", lambda of: number(of.leave.p50_ms), "ms"),
        TableColumn("p90", lambda of: number(of.leave.p90_ms), "ms"),
        kind=lambda of: "invalid" if of.failed else "",
    )


def _copies(churn: ChurnResult) -> Table:
    return Table.of(
        "Copies in the whole run, by the receipts of SUBSCRIBE, UNSUBSCRIBE and SEND; some of those that may come came "
        "while the receipt of UNSUBSCRIBE was awaited, or behind it",
        churn.copies,
        TableColumn("message", lambda of: of.message, number=False),
        TableColumn("sent", lambda of: f"{of.sent:,}"),
        TableColumn("must come", lambda of: f"{of.must:,}"),
        TableColumn("came", lambda of: f"{of.must_received:,}"),
        TableColumn("may come", lambda of: f"{of.may:,}"),
        TableColumn("came", lambda of: f"{of.may_received:,}"),
        TableColumn("must not come, and came", lambda of: f"{of.must_not:,}"),
        TableColumn("while leaving", lambda of: f"{of.closing:,}"),
        TableColumn("behind the receipt", lambda of: f"{of.behind:,}"),
    )


def _ranks(churn: ChurnResult) -> Table:
    return Table.of(
        "Delivery times by the rank of a copy among those of its message",
        churn.ranks,
        TableColumn("message", lambda of: of.message, number=False),
        TableColumn("period", lambda of: of.period, number=False),
        TableColumn("copy", lambda of: of.place, number=False),
        TableColumn("messages", lambda of: f"{of.delivery.count:,}"),
        *times(lambda of: of.delivery),
        keys=3,
    )


def _memory(churn: ChurnResult) -> Table:
    judged = f", not judged: {churn.memory.not_judged}" if churn.memory.not_judged else ""
    return Table.of(
        f"Subscribing before the load, and the memory of the broker; over time: slope of the lower envelope, 95 % "
        f"interval{judged}",
        [(churn.setup, churn.memory)],
        TableColumn("set-up", lambda of: NOTHING if of[0] is None else number(of[0].seconds), "s"),
        TableColumn("subscriptions", lambda of: NOTHING if of[0] is None else f"{of[0].subscriptions:,}"),
        TableColumn("subscriptions", lambda of: NOTHING if of[0] is None else number(of[0].per_s), "per s"),
        TableColumn("of a subscription", lambda of: _bytes(of[1].bytes_per_subscription), "bytes"),
        TableColumn("departed", lambda of: f"{of[1].departed:,}"),
        TableColumn("left by each, over time", lambda of: ranged(of[1].bytes_per_departed), "bytes"),
        TableColumn("left by each, at the end", lambda of: _bytes(of[1].left_per_departed), "bytes"),
        TableColumn("source", lambda of: of[1].source, number=False),
    )


def _bytes(value: float | None) -> str:
    return "not available" if value is None else number(value)


def _flows(churn: ChurnResult, published: PublishedFlows) -> Table:
    return Table.of(
        f"{published.title}, measured beside the model; messages and joins per {published.unit}, factor: copies per "
        "message",
        churn.flows,
        TableColumn("driver", lambda of: of.published.name, number=False),
        TableColumn("from -> to", lambda of: of.published.parties, number=False),
        *_beside("messages", lambda of: (of.published.published, of.sent)),
        *_beside("subscriptions", lambda of: (of.published.subscriptions, of.subscriptions)),
        *_beside("publishers", lambda of: (of.published.publishers, of.publishers)),
        *_beside("joins", lambda of: (of.published.joins, of.joins)),
        *_beside("publisher joins", lambda of: (of.published.publisher_joins, of.publisher_joins)),
        *_beside("factor", lambda of: (of.published.factor, of.factor)),
        TableColumn("leaves", lambda of: number(of.leaves), "measured"),
    )


def _beside(
    title: str, pair: Callable[[FlowResult], tuple[Fraction, float | None]]
) -> tuple[TableColumn[FlowResult], TableColumn[FlowResult]]:
    """The columns of the model's value and of the measured one."""
    return (
        TableColumn(title, lambda of: number(float(pair(of)[0])), "model"),
        TableColumn("", lambda of: number(pair(of)[1]), "measured"),
    )
