"""The cells of the experiments: what holds for the ids and plans of all of them, and the paper's own numbers.

What a grid has beyond that is its file's business: a test that repeated it would change with it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.brokers import activemq
from fixtures.brokers import registry as brokers
from fixtures.session.throughput_start import PlannedCell, lay_out
from tests.support.experiments import EXPERIMENTS
from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Capabilities
from workloads.errors import WorkloadError
from workloads.messaging import MOST_BODY_BYTES, AckMode, DestinationKind
from workloads.selectors import And, Between, Equals, In, IsNull, Like, Or
from workloads.throughput.applicability import missing_capability
from workloads.throughput.blocks import compose
from workloads.throughput.flow import CORRELATION_ID, PROFILES, factorial
from workloads.throughput.load_shape import ShareOfCapacity, SyncPublishers
from workloads.throughput.presets import PRESETS as LENGTHS
from workloads.throughput.presets import estimate_s

TODAY, PAPER = PROFILES["today"], PROFILES["paper"]
LEVELS = ("smoke", "quick", "today", "paper")
#: The grids whose ids appear in tables: the cells of a gate as well.
WITH_IDS = (*LEVELS, "gate")
REPLICATION = EXPERIMENTS["replication"]
DIFFERENT_FILTERS = EXPERIMENTS["different_filters"]
CORRELATION_FILTERS = EXPERIMENTS["correlation_filters"]
AND_FILTERS = EXPERIMENTS["and_filters"]
OR_FILTERS = EXPERIMENTS["or_filters"]
FILTER_ACTIVATION = EXPERIMENTS["filter_activation"]
PUBLISHERS_SUBSCRIBERS = EXPERIMENTS["publishers_subscribers"]
COPIES = EXPERIMENTS["copies"]
ROUTING = EXPERIMENTS["routing"]
WILDCARDS = EXPERIMENTS["wildcards"]
#: Those that ActiveMQ Classic cannot run over STOMP, since nothing is routed or retained there.
ROUTED = {"routing", "wildcards"}
BEYOND = {*ROUTED, "retained"}
MODELLED = [experiment for experiment in EXPERIMENTS.values() if experiment.fits_model]

ALL = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)


def factors(experiment, grid):
    """The set of (first, second, ...) factor values of a grid."""
    return {tuple(cell.factors.values()) for cell in experiment.cells(grid)}


def plans(experiment, grid="paper"):
    """(factors, plan) of every cell."""
    return [(study.cell.factors, study.plan) for study in studies(experiment.name, grid)]


@cache
def studies(name, grid):
    """The cells of an experiment with their plans."""
    return [PlannedCell(EXPERIMENTS[name], cell, TODAY) for cell in EXPERIMENTS[name].cells(grid)]


def plan_of(experiment, **factor):
    """The plan of the cell with these factors, whether a grid has it or not."""
    (cell,) = experiment.grid_of({name: [value] for name, value in factor.items()})
    return experiment.plan(cell, TODAY)


# --- all experiments -------------------------------------------------------------------------------------------


@ALL
def test_every_experiment_has_all_grids(experiment):
    """`--grid` means the same for every experiment, and -k its name, whether the file or the function matches. A gate
    compares no open loops."""
    assert [grid for grid in LENGTHS if not experiment.cells(grid)] == ["gate"] * (experiment.name == "latency")
    assert EXPERIMENTS[experiment.name] is experiment


def test_grids_follow_from_one_another():
    """An experiment may leave out those that have the cells of another: `gate` those of `quick`, and so on."""
    smoke, quick = (factorial("c{number}", number=(number,)) for number in (1, 2))
    experiment = replace(REPLICATION, grids={"smoke": smoke, "quick": quick})

    assert [experiment.cells(grid) for grid in LENGTHS] == [smoke, quick, quick, quick, quick]
    with pytest.raises(WorkloadError, match="experiment replication has no grid 'quick'; it has smoke"):
        replace(experiment, grids={"smoke": smoke}).cells("paper")


def test_each_experiment_and_each_cell_can_be_selected_alone():
    """-k matches substrings: no name of an experiment is in another's or in an id; no id in one of its grid, or in one
    of another experiment, so that it is one cell per broker and start."""
    names = [f"test_{name}" for name in EXPERIMENTS]
    ids = {
        (cell.id, name)
        for name, experiment in EXPERIMENTS.items()
        for grid in WITH_IDS
        for cell in experiment.cells(grid)
    }

    assert not [(part, whole) for part, whole in product(EXPERIMENTS, names) if part in whole != f"test_{part}"]
    assert not [(part, whole) for part, (whole, _) in product(EXPERIMENTS, ids) if part in whole]
    assert not [(part, whole) for (part, of), (whole, other) in product(ids, ids) if of != other and part in whole]
    for experiment, grid in product(EXPERIMENTS.values(), WITH_IDS):
        of_grid = [cell.id for cell in experiment.cells(grid)]
        assert not [(part, whole) for part, whole in permutations(of_grid, 2) if part in whole]


@ALL
def test_ids_say_their_factors_and_mean_one_cell(experiment):
    """f0160-r020, or-property-n020: the levels of the factors in their order, of no other characters, with as many
    digits in all grids, and the same id for the same factors: grids compare."""
    cells = [cell for grid in WITH_IDS for cell in experiment.cells(grid)]

    assert len({tuple(map(len, re.findall(r"\d+", cell.id))) for cell in cells}) == 1
    assert len({cell.id for cell in cells}) == len({tuple(cell.factors.items()) for cell in cells})
    for cell in cells:
        levels = list(cell.factors.values())
        words = [level for level in levels if isinstance(level, str)]
        assert re.fullmatch(r"[a-z0-9-]+", cell.id)
        assert [int(number) for number in re.findall(r"\d+", cell.id)] == [each for each in levels if type(each) is int]
        assert re.search(r"(^|-){}".format(".*-".join(words)), cell.id)


@ALL
def test_every_cell_has_a_plan(experiment):
    """On one destination of the cell's own, a topic but where that is the question. From about ten publishers on their
    number does not matter (section 4.1): 20 wherever they are not the question. `smoke` has few connections."""
    for grid in LEVELS:
        made = plans(experiment, grid)
        destinations = {lane.destination for _, plan in made for lane in plan.lanes}
        assert len(destinations) == len(made)
        if experiment.name not in {"queue_topic", *ROUTED}:
            assert {destination.kind for destination in destinations} == {DestinationKind.TOPIC}
        assert all(plan.publishers == factor.get("publishers", 20) for factor, plan in made)
        if grid == "smoke" and experiment.name != "subscriptions_per_connection":
            assert all(plan.connections <= 20 + 25 for _, plan in made)


CLASSIC = activemq.PRODUCT.capabilities(brokers.parse("activemq")).subscriptions_per_block


def estimated_s(names, grid):
    """What the cells of these experiments take in one start of ActiveMQ Classic, but those that it cannot run."""
    cells, _ = lay_out([study for name in names for study in studies(name, grid)])
    return estimate_s(compose(cells, CLASSIC, TODAY), LENGTHS[grid], 1)


@pytest.mark.parametrize(
    ("grid", "alone_s", "all_s"), [("smoke", (7, 20), 60), ("quick", (60, 480), 1800), ("today", (100, 1800), 7800)]
)
def test_how_long_a_level_takes(grid, alone_s, all_s):
    """Each experiment in minutes, of which the warm-up is one; all of them together are less than their sum."""
    names = [name for name in EXPERIMENTS if name not in BEYOND]
    alone = {name: estimated_s([name], grid) for name in names}

    assert all(alone_s[0] <= seconds <= alone_s[1] for seconds in alone.values()), alone
    together = estimated_s(names, grid)
    assert max(alone.values()) < together < sum(alone.values())
    assert together < all_s, f"all experiments together take {together:.0f} s in {grid}: make some of them shorter"
    if grid == "quick":  # `make bench`: 12 cells in one block, where its first look is enough
        assert 120 <= alone["replication"] <= 240


@ALL
def test_only_its_own_question_changes_a_profile_or_a_pace(experiment):
    """Two experiments leave the closed loop, for synchronous publishers (section 4.1) and for latency; four change
    what of the profile they are about."""
    may_change = {
        "publishers_subscribers": {"receipts"},
        "delivery_mode": {"persistent", "receipts"},
        "acknowledgement": {"ack"},
        "qos": {"persistent", "receipts", "ack"},
    }
    for cell, profile in product(experiment.cells("paper"), (TODAY, PAPER)):
        used = experiment.profile(cell, profile)
        changed = {
            name for name in ("name", "persistent", "receipts", "ack") if getattr(used, name) != getattr(profile, name)
        }
        assert changed <= may_change.get(experiment.name, set())
    pace = {"publishers_subscribers": SyncPublishers, "latency": ShareOfCapacity}.get(experiment.name, type(None))
    assert {type(experiment.pace(cell)) for grid in LEVELS for cell in experiment.cells(grid)} == {pace}


# --- replication and its variants (section 4.5) ----------------------------------------------------------------


def test_the_cells_of_the_paper_are_measured():
    """Its 42 of replication, which stop at 200 filters; every length of an AND filter in three series; where it saw
    its maximum of publishers. Today's grid goes to 5000 filters, so that t_fltr shows; the smoke grid shows every
    behaviour: one copy and several, with filters that do not match and without."""
    assert factors(REPLICATION, "paper") == set(product((5, 10, 20, 40, 60, 80, 160), (1, 2, 5, 10, 20, 40)))
    assert max(plan.n_fltr for _, plan in plans(REPLICATION, "today")) == 5000
    shown = {(further > 0, replication > 1) for further, replication in factors(REPLICATION, "smoke")}
    assert shown == set(product((False, True), repeat=2))
    assert factors(AND_FILTERS, "paper") == set(product((1, 2, 3), range(1, 26)))
    assert (16, 10) in factors(PUBLISHERS_SUBSCRIBERS, "paper")


@given(further=st.integers(0, 200), replication=st.integers(1, 40))
def test_a_replication_plan_is_that_of_the_paper(further, replication):
    """20 publishers, one kind of message; r subscribers match and get every one, the further ones get none."""
    plan = plan_of(REPLICATION, further=further, replication=replication)

    assert plan.publishers == len(plan.lanes) == 20
    assert plan.n_fltr == len(plan.subscriptions) == further + replication
    assert plan.replication == replication
    assert len({lane.receivers for lane in plan.lanes}) == 1


@pytest.mark.parametrize("experiment", MODELLED, ids=lambda experiment: experiment.name)
def test_the_modelled_cells_tell_the_parameters_apart(experiment):
    """t_rcv, t_fltr and t_tx are fitted on these cells, the two without t_fltr on copies alone; and can be still, with
    a degree of freedom left, when any one of them is left out."""
    for grid in ("gate", "quick", "today", "paper"):
        cells = {plan.cell: (plan.n_fltr, plan.replication) for _, plan in plans(experiment, grid)}
        for left in (None, *cells):
            rest = [row for cell, row in cells.items() if cell != left]
            why = why_not_apart(rest, filtered=any(n_fltr for n_fltr, _ in cells.values()))
            assert not why, f"grid {grid}{f' without {left}' if left else ''}: {why}"


def why_not_apart(rows, *, filtered):
    """Why cells with these n_fltr and r do not tell their costs apart, with one cell more than costs; else nothing."""
    factors = (("n_fltr", "t_fltr"), ("r", "t_tx"))
    for (name, cost), levels in list(zip(factors, zip(*rows, strict=True), strict=True))[not filtered :]:
        if len(set(levels)) == 1:
            return f"{name} is {levels[0]:g} in all cells, so {cost} cannot be told from t_rcv"
    costs = 3 if filtered else 2
    if np.linalg.matrix_rank([(1, *row) for row in rows]) < costs:
        return "n_fltr and r vary only together, so t_fltr cannot be told from t_tx: cross their levels"
    return "" if len(rows) > costs else f"{len(rows)} cells for {costs} costs: at least one more is needed"


@pytest.mark.parametrize("grid", LEVELS)
@pytest.mark.parametrize(
    "variant", [DIFFERENT_FILTERS, CORRELATION_FILTERS, COPIES], ids=lambda experiment: experiment.name
)
def test_a_variant_compares_with_cells_of_replication(variant, grid):
    """Each cell has its counterpart at the same level, with the same factors, connections, n_fltr and r. That of copies
    has matching filters only, which copies have not, and the same messages."""
    for factor, plan in plans(variant, grid):
        twin = plan_of(REPLICATION, **{"further": 0, **factor})
        assert (plan.connections, plan.replication) == (twin.connections, twin.replication)
        assert [lane.receivers for lane in plan.lanes] == [lane.receivers for lane in twin.lanes]
        assert plan.n_fltr == (0 if variant is COPIES else twin.n_fltr)
        assert variant is not COPIES or [each.template for each in plan.lanes] == [each.template for each in twin.lanes]
    if variant is COPIES:
        assert {grade for (grade,) in factors(COPIES, grid)} == {grade for _, grade in factors(REPLICATION, grid)}
    else:
        assert factors(variant, grid) <= factors(REPLICATION, grid)


@pytest.mark.parametrize(
    ("experiment", "name", "kinds"),
    [(REPLICATION, "ID", 1), (DIFFERENT_FILTERS, "ID", 160), (CORRELATION_FILTERS, CORRELATION_ID, 1)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_filters_that_do_not_match(experiment, name, kinds):
    """160 further filters are 160 times #1, or #1 to #160; they ask for the property or for the correlation id."""
    plan = plan_of(experiment, further=160, replication=5)
    asked = Counter(subscription.selector for _, subscription in plan.subscriptions)

    assert asked.pop(Equals(name, "#0")) == 5
    assert set(asked) == {Equals(name, f"#{number}") for number in range(1, kinds + 1)}
    assert sum(asked.values()) == 160


# --- copies and routes without filters -------------------------------------------------------------------------


def routed(experiment):
    """The factors and selectors of cells in which r subscriptions get every message and the further ones none, each of
    these with its own binding, without a filter; messages are equal."""
    for grid in LEVELS:
        assert len({lane.template for _, plan in plans(experiment, grid) for lane in plan.lanes}) == 1
        for factor, plan in plans(experiment, grid):
            r, further = factor["replication"], factor["further"]
            selectors = [subscription.selector for _, subscription in plan.subscriptions]
            kind = DestinationKind.HEADERS if factor.get("by") == "headers" else DestinationKind.KEY

            assert {lane.receivers for lane in plan.lanes} == {tuple(range(r))}
            assert len(set(selectors[:r])) == 1
            assert len(set(selectors[r:])) == len(selectors[r:]) == further
            assert plan.n_fltr == 0
            assert {destination.kind for destination, _ in plan.subscriptions} == {kind}
            yield factor, selectors


def test_routing_varies_the_bindings_alone():
    """By key, by wildcard and by headers."""
    for factor, selectors in routed(ROUTING):
        assert {type(selector) for selector in selectors} == {Like if factor["by"] == "wildcard" else Equals}


def test_a_replay_has_each_retained_message_of_its_connection():
    """No filter; every connection asks for the replays of its own messages, and nobody else gets any of them."""
    for factor, plan in plans(EXPERIMENTS["retained"]):
        assert (plan.n_fltr, plan.replication) == (0, factor["number"])
        assert plan.replayed
        assert plan.connections == len(plan.lanes) == 20
        assert [lane.receivers for lane in plan.lanes] == [tuple(session) for session in plan.sessions]


#: Kind of a filter -> keys that it covers beside that of the messages, and keys that it does not.
COVERED = {
    "literal": ([], ["works.north.p0.motor.heat.x", "works.north.p0.motor.cold", "works.south.p0.motor.heat"]),
    "last": (["works.north.p0.motor.cold"], ["works.south.p0.motor.heat", "works.north.p0.pump.heat"]),
    "inside": (["works.south.p0.motor.heat"], ["works.north.p0.motor.cold", "works.north.p0.pump.heat"]),
    "rest": (["works.north.p0.pump.cold", "works.north.p0.pump"], ["works.south.p0.motor.heat", "works.north.p00"]),
}


def test_wildcards_vary_the_kind_of_filter_alone():
    """What a kind covers beside the key shows where its wildcard is."""
    assert {factor["filter"] for factor, _ in plans(WILDCARDS, "smoke")} == set(COVERED)
    for factor, selectors in routed(WILDCARDS):
        others, strangers = COVERED[factor["filter"]]
        assert [selectors[0].matches({"PLACE": key}) for key in others + strangers] == [
            *[True] * len(others),
            *[False] * len(strangers),
        ]


# --- publishers, subscribers and filters (sections 4.1 to 4.3) -------------------------------------------------


@pytest.mark.parametrize("profile", [TODAY, PAPER], ids=lambda profile: profile.name)
def test_publishers_are_synchronous(profile):
    """No filters, so that r is the number of subscribers; each publisher waits for the receipt of its one message."""
    for cell in PUBLISHERS_SUBSCRIBERS.cells("paper"):
        plan = PUBLISHERS_SUBSCRIBERS.plan(cell, profile)
        assert plan.profile.receipts
        assert PUBLISHERS_SUBSCRIBERS.pace(cell) == SyncPublishers(1)
        assert plan.n_fltr == 0
        assert plan.replication == len(plan.sessions) == cell.factors["subscribers"]


def test_all_subscribers_get_all_messages_with_and_without_a_filter():
    """r = m in all three series of filter activation, to the paper's 500, of equal messages; n_fltr is 0 or m."""
    made = plans(FILTER_ACTIVATION)
    assert max(factor["subscribers"] for factor, _ in made) == 500
    for factor, plan in made:
        subscribers = factor["subscribers"]
        assert plan.replication == subscribers
        assert plan.n_fltr == (0 if factor["filter"] == "none" else subscribers)
        (template,) = {lane.template for lane in plan.lanes}
        assert template.selectable == {"ID": "#0", CORRELATION_ID: "#0"}
        (selector,) = {subscription.selector for _, subscription in plan.subscriptions}
        asked = {"none": None, "property": Equals("ID", "#0"), "correlation": Equals(CORRELATION_ID, "#0")}
        assert selector == asked[factor["filter"]]


@given(
    kind=st.sampled_from(("simple", "or")), by=st.sampled_from(("correlation", "property")), fifth=st.integers(1, 40)
)
def test_every_id_reaches_exactly_one_subscriber(kind, by, fifth):
    """Ids #1 to #n, sent in turn by 20 publishers: r = 1 for each of them, and each subscriber has n / n_fltr ids."""
    plan = plan_of(OR_FILTERS, kind=kind, filter=by, ids=5 * fifth)

    assert {lane.template.selectable[CORRELATION_ID] for lane in plan.lanes} == {
        f"#{i}" for i in range(1, 5 * fifth + 1)
    }
    assert {len(lane.receivers) for lane in plan.lanes} == {1}
    assert plan.replication == 1
    assert plan.n_fltr == (5 if kind == "or" else 5 * fifth)
    share = Counter(receiver for lane in plan.lanes for receiver in lane.receivers)
    assert set(share.values()) == {20 * 5 * fifth // plan.n_fltr}


def test_the_ids_of_an_or_filter():
    """Subscriber j asks for #(j n/5 + i), i from 1 to n/5, in their order; for n = 5 that is one simple filter. With n
    no multiple of five the last ids would reach nobody, and r would not be 1."""
    ten, five = (plan_of(OR_FILTERS, kind="or", filter="property", ids=ids).subscriptions for ids in (10, 5))

    assert [str(wanted.selector) for _, wanted in ten] == [
        f"ID = '#{2 * j + 1}' OR ID = '#{2 * j + 2}'" for j in range(5)
    ]
    assert five[0][1].selector == Equals("ID", "#1")
    for ids in (0, 4, 12):
        with pytest.raises(WorkloadError, match="multiple of 5"):
            plan_of(OR_FILTERS, kind="or", filter="property", ids=ids)


# --- AND filters (section 4.4) ---------------------------------------------------------------------------------


def components(selector):
    return selector.terms if isinstance(selector, And) else (selector,)


def rejected_at(selector, message):
    """The component, from 1, at which a broker that reads from left to right rejects a message; 0 if at none."""
    verdicts = [term.matches(message) for term in components(selector)]
    return verdicts.index(False) + 1 if False in verdicts else 0


def rejections(plan):
    """How many (subscription, kind of message) pairs are rejected at each component."""
    (flow,) = plan.flows
    return Counter(
        rejected_at(subscription.selector, dict(template.properties))
        for subscription in flow.subscriptions
        for template in flow.templates
    )


@pytest.mark.parametrize("series", [1, 2, 3])
def test_an_and_filter_rejects_where_its_series_says(series):
    """20 publishers, 10 subscribers with filters of n of the 25 properties that every message has, and r = 1: of the
    100 pairs 10 match; series 1 rejects at the first component, 3 at the last, 2 half way.

    Half of an even n is not one place: with the condition j <= m / 2 (the paper prints n / 2), 70 of the 90
    pairs are rejected at n / 2 and 20 at n / 2 + 1.
    """
    for length in range(1, 26):
        plan = plan_of(AND_FILTERS, series=series, length=length)
        half = {(length + 1) // 2: 90} if length % 2 else {length // 2: 70, length // 2 + 1: 20}

        assert plan.n_fltr == len(plan.subscriptions) == 10
        assert {len(components(subscription.selector)) for _, subscription in plan.subscriptions} == {length}
        assert {tuple(name for name, _ in lane.template.properties) for lane in plan.lanes} == {
            tuple(f"P{number}" for number in range(1, 26))
        }
        assert {len(lane.receivers) for lane in plan.lanes} == {1}
        assert Counter(receiver for lane in plan.lanes for receiver in lane.receivers) == dict.fromkeys(range(10), 20)
        assert rejections(plan) == {0: 10, **{1: {1: 90}, 2: half, 3: {length: 90}}[series]}


# --- beyond the paper ------------------------------------------------------------------------------------------


def test_bodies_from_nothing_to_64_kib():
    """The largest is what the load can carry; one copy per message, no filter."""
    for factor, plan in plans(EXPERIMENTS["body_size"]):
        assert {lane.template.body_bytes for lane in plan.lanes} == {factor["body_bytes"]}
        assert (plan.replication, plan.n_fltr) == (1, 0)
    for grid in LEVELS:
        assert {0, MOST_BODY_BYTES} <= {size for (size,) in factors(EXPERIMENTS["body_size"], grid)}


#: By mode: whether messages are persistent, and subscribers durable.
MODES = {"transient": (False, False), "persistent": (True, False), "durable": (True, True)}


def test_delivery_modes_and_ways_to_acknowledge():
    """Receipts go with persistence; durable subscribers get persistent messages; each way to acknowledge is measured.
    Else the run's profile holds."""
    modes, acks = EXPERIMENTS["delivery_mode"], EXPERIMENTS["acknowledgement"]
    for cell, profile in product(modes.cells("paper"), (TODAY, PAPER)):
        plan, (persistent, durable) = modes.plan(cell, profile), MODES[cell.factors["mode"]]
        assert (plan.profile.persistent, plan.profile.receipts) == (persistent, persistent)
        assert {subscription.durable for _, subscription in plan.subscriptions} == {durable}
        assert plan.replication == cell.factors["replication"]
    assert {(factor["ack"], plan.profile.ack) for factor, plan in plans(acks)} == {(mode, mode) for mode in AckMode}


#: By level: whether messages are persistent and confirmed, and the acknowledgement of copies.
QUALITIES = {
    "at-most-once": (False, AckMode.AUTO),
    "at-least-once": (True, AckMode.CLIENT_INDIVIDUAL),
    "exactly-once": (True, AckMode.EXACTLY_ONCE),
}


@pytest.mark.parametrize("profile", [TODAY, PAPER], ids=lambda profile: profile.name)
def test_levels_of_delivery_hold_on_the_whole_way(profile):
    """Whatever the run's profile is; what a broker lacks of a level is said, and only of that level."""
    experiment = EXPERIMENTS["qos"]
    stomp = Capabilities(frozenset(DestinationKind))
    for cell in experiment.cells("paper"):
        plan, (kept, ack) = experiment.plan(cell, profile), QUALITIES[cell.factors["level"]]
        assert (plan.profile.persistent, plan.profile.receipts, plan.profile.ack) == (kept, kept, ack)
        assert (plan.n_fltr, plan.replication) == (0, cell.factors["replication"])
        assert missing_capability(plan, stomp) == (
            "no acknowledgement mode exactly-once" if ack is AckMode.EXACTLY_ONCE else ""
        )


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("equals", {Equals}),
        ("in", {In}),
        ("like", {Like}),
        ("between", {Between}),
        ("null", {IsNull}),
        ("nested", {And, Or, Equals, Like, Between}),
    ],
)
def test_selector_kinds_differ_in_nothing_but_the_kind(kind, parts):
    """One subscriber gets every message, the further ones none; equal messages and numbers of filters in all kinds."""
    made = {factor["further"]: plan for factor, plan in plans(EXPERIMENTS["selector_kinds"]) if factor["kind"] == kind}

    assert set(made) == {further for _, further in factors(EXPERIMENTS["selector_kinds"], "paper")}
    for further, plan in made.items():
        assert (plan.replication, plan.n_fltr) == (1, further + 1)
        assert {lane.receivers for lane in plan.lanes} == {(0,)}
        assert len({lane.template for lane in plan.lanes}) == 1
        for _, subscription in plan.subscriptions:
            assert set(parts_of(subscription.selector)) == parts


def parts_of(selector):
    yield type(selector)
    for term in getattr(selector, "terms", ()):
        yield from parts_of(term)


def test_a_hundred_subscriptions_on_one_to_a_hundred_connections():
    """r = 10 and n_fltr = 100 throughout; as long as there are ten connections, each has as many matching filters."""
    for factor, plan in plans(EXPERIMENTS["subscriptions_per_connection"]):
        assert (plan.replication, plan.n_fltr) == (10, 100)
        assert len(plan.sessions) == 100 / factor["per_connection"]
        matching = set(plan.lanes[0].receivers)
        shares = {len(matching & set(session)) for session in plan.sessions}
        assert max(shares) - min(shares) <= (1 if factor["per_connection"] % 10 else 0)
    assert {(1,), (100,)} <= factors(EXPERIMENTS["subscriptions_per_connection"], "quick")


def test_a_queue_and_a_topic_divide_the_same_messages():
    """Equal messages and connections, one copy each. The consumers of the queue compete, those of the topic filter."""
    made = {(factor["kind"], factor["consumers"]): plan for factor, plan in plans(EXPERIMENTS["queue_topic"])}

    for number in {number for _, number in made}:
        topic, queue = made["topic", number], made["queue", number]
        assert topic.replication == queue.replication == 1
        assert (topic.n_fltr, queue.n_fltr) == (number, 0)
        assert topic.connections == queue.connections
        assert [lane.template for lane in topic.lanes] == [lane.template for lane in queue.lanes]
        assert set(Counter(lane.receivers for lane in topic.lanes).values()) == {20}
        assert all(lane.shared and lane.receivers == tuple(range(number)) for lane in queue.lanes)


def test_latency_is_measured_at_shares_of_the_capacity():
    """Below all of it, of constant and Poisson arrivals; in a flow that every broker can run: a copy, no filter."""
    experiment = EXPERIMENTS["latency"]
    for cell in experiment.cells("paper"):
        plan, percent = experiment.plan(cell, TODAY), cell.factors["percent"]
        assert 0 < percent < 100
        assert experiment.pace(cell) == ShareOfCapacity(percent, ArrivalProcess(cell.factors["arrivals"]))
        assert (plan.n_fltr, plan.replication, len(plan.subscriptions)) == (0, 1, 1)
