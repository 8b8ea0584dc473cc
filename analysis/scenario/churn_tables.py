"""The tables about subscriptions that come and go; the terminal and the report render the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.formats import NOTHING, number, ranged, share_of
from analysis.scenario.results import ChurnResult, CopyCounts, FlowResult, PopulationResult, SubscriptionMemory
from analysis.scenario.tables import TIMES, times
from analysis.table import Table, TableColumn, TableRow
from workloads.scenario.published_views import PublishedFlows


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
    columns = (
        TableColumn("population", number=False),
        TableColumn("period", number=False),
        TableColumn("standing", "on average"),
        TableColumn("of planned"),
        TableColumn("joins"),
        TableColumn("of planned"),
        TableColumn("leaves"),
        TableColumn("of planned"),
        TableColumn("late"),
    )
    return Table(
        "Subscriptions of populations; late: joins and leaves more than one mean gap after their planned instants",
        columns,
        tuple(
            TableRow(
                (
                    of.label,
                    str(of.period),
                    number(of.standing),
                    f"{number(of.planned_standing)} ({share_of(of.standing, of.planned_standing)})",
                    f"{of.joins:,}",
                    f"{of.planned_joins:,}",
                    f"{of.leaves:,}",
                    f"{of.planned_leaves:,}",
                    f"{of.late:,} ({share_of(of.late, of.due)})",
                )
            )
            for of in churn.populations
        ),
        keys=2,
    )


#: Durations of a population, by their words.
_DURATIONS: tuple[tuple[str, str], ...] = (
    ("SUBSCRIBE to receipt", "join"),
    ("planned join to receipt", "join_planned"),
    ("SUBSCRIBE to last message not got", "effect_after"),
    ("SUBSCRIBE to receipt of first message got", "effect_before"),
    ("UNSUBSCRIBE to receipt", "leave"),
)


def _latencies(churn: ChurnResult) -> Table:
    columns = (
        TableColumn("population", number=False),
        TableColumn("period", number=False),
        TableColumn("from ... to", number=False),
        TableColumn("count"),
        *TIMES,
    )

    def rows(of: PopulationResult) -> Iterator[TableRow]:
        for words, name in _DURATIONS:
            found = getattr(of, name)
            if found.count:
                yield TableRow((of.label, str(of.period), words, f"{found.count:,}", *times(found)))

    return Table(
        "Latency of joins and leaves; a join took effect between the last message not got and the first that was, a "
        "bracket as wide as the gap between messages",
        columns,
        tuple(row for of in churn.populations for row in rows(of)),
        keys=3,
    )


def _sessions(churn: ChurnResult) -> Table:
    columns = (
        TableColumn("sessions", number=False),
        TableColumn("planned"),
        TableColumn("failed"),
        TableColumn("connect, p50", "ms"),
        TableColumn("p90", "ms"),
        TableColumn("until subscribed, p50", "ms"),
        TableColumn("p90", "ms"),
        TableColumn("leave, p50", "ms"),
        TableColumn("p90", "ms"),
    )
    return Table(
        "Sessions, each on a connection of its own, in the whole run",
        columns,
        tuple(
            TableRow(
                (
                    of.label,
                    f"{of.planned:,}",
                    f"{of.failed:,}",
                    *(
                        number(value)
                        for found in (of.connect, of.join, of.leave)
                        for value in (found.p50_ms, found.p90_ms)
                    ),
                ),
                "invalid" if of.failed else "",
            )
            for of in churn.sessions
        ),
    )


#: Titles of the columns of counts, and what they count.
_COUNTS: tuple[tuple[str, Callable[[CopyCounts], int]], ...] = (
    ("sent", lambda of: of.sent),
    ("must come", lambda of: of.must),
    ("came", lambda of: of.must_received),
    ("may come", lambda of: of.may),
    ("came", lambda of: of.may_received),
    ("must not come, and came", lambda of: of.must_not),
    ("while leaving", lambda of: of.closing),
    ("behind the receipt", lambda of: of.behind),
)


def _copies(churn: ChurnResult) -> Table:
    return Table(
        "Copies in the whole run, by the receipts of SUBSCRIBE, UNSUBSCRIBE and SEND; of those that may come, some came "
        "while the receipt of UNSUBSCRIBE was awaited, or behind it",
        (TableColumn("message", number=False), *(TableColumn(title) for title, _ in _COUNTS)),
        tuple(TableRow((of.message, *(f"{count(of):,}" for _, count in _COUNTS))) for of in churn.copies),
    )


def _ranks(churn: ChurnResult) -> Table:
    columns = (
        TableColumn("message", number=False),
        TableColumn("period", number=False),
        TableColumn("copy", number=False),
        TableColumn("messages"),
        *TIMES,
    )
    return Table(
        "Delivery times by the rank of a copy among those of its message",
        columns,
        tuple(
            TableRow((of.message, str(of.period), of.place, f"{of.delivery.count:,}", *times(of.delivery)))
            for of in churn.ranks
        ),
        keys=3,
    )


def _memory(churn: ChurnResult) -> Table:
    columns = (
        TableColumn("set-up", "s"),
        TableColumn("subscriptions"),
        TableColumn("subscriptions", "per s"),
        TableColumn("of a subscription", "bytes"),
        TableColumn("departed"),
        TableColumn("left by each, over time", "bytes"),
        TableColumn("left by each, at the end", "bytes"),
        TableColumn("source", number=False),
    )
    setup, memory = churn.setup, churn.memory
    values = (
        *(
            (NOTHING, NOTHING, NOTHING)
            if setup is None
            else (number(setup.seconds), f"{setup.subscriptions:,}", number(setup.per_s))
        ),
        _bytes(memory.bytes_per_subscription),
        f"{memory.departed:,}",
        ranged(memory.bytes_per_departed),
        _bytes(memory.left_per_departed),
        memory.source,
    )
    return Table(
        "Subscribing before the load, and the memory of the broker; over time: slope of the lower envelope, 95 % "
        "interval" + _not_judged(memory),
        columns,
        (TableRow(values),),
    )


def _bytes(value: float | None) -> str:
    return "not available" if value is None else number(value)


def _not_judged(memory: SubscriptionMemory) -> str:
    return f", not judged: {memory.not_judged}" if memory.not_judged else ""


#: Titles of pairs of columns: the model's value, and the measured one.
_FLOWS: tuple[tuple[str, Callable[[FlowResult], tuple[float, float | None]]], ...] = (
    ("messages", lambda of: (float(of.published.published), of.sent)),
    ("subscriptions", lambda of: (float(of.published.subscriptions), of.subscriptions)),
    ("publishers", lambda of: (float(of.published.publishers), of.publishers)),
    ("joins", lambda of: (float(of.published.joins), of.joins)),
    ("publisher joins", lambda of: (float(of.published.publisher_joins), of.publisher_joins)),
    ("factor", lambda of: (float(of.published.factor), of.factor)),
)


def _flows(churn: ChurnResult, published: PublishedFlows) -> Table:
    return Table(
        f"{published.title}, measured beside the model; messages and joins per {published.unit}, factor: copies per "
        "message",
        (
            TableColumn("driver", number=False),
            TableColumn("from -> to", number=False),
            *(column for title, _ in _FLOWS for column in (TableColumn(title, "model"), TableColumn("", "measured"))),
            TableColumn("leaves", "measured"),
        ),
        tuple(
            TableRow(
                (
                    of.published.name,
                    of.published.parties,
                    *(number(value) for _, pair in _FLOWS for value in pair(of)),
                    number(of.leaves),
                )
            )
            for of in churn.flows
        ),
    )
