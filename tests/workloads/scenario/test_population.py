"""Populations and keys: which members there are, how their subscriptions are numbered, what a scenario refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.toy_populations import BUYERS, READERS, toy_scenario
from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.scenario import population as population_module
from workloads.scenario.message import KeySpace, MessageSpec
from workloads.scenario.population import Member, Order, Population, PopulationSubscription, enrolments

SPACE = KeySpace(((0, "V"), (7, "Z")))
TOY = toy_scenario()


@dataclass(frozen=True)
class EvenLaw:
    """Member k joins every so many ns; it has the subscriptions whose place is in its turn of `had`."""

    initial: int
    gap_ns: int
    had: tuple[tuple[bool, ...], ...]

    def member(self, number: int) -> Member:
        joins_ns = (number - self.initial) * self.gap_ns + self.gap_ns // 2
        keys = tuple((number % 10,) if has else () for has in self.had[number % len(self.had)])
        return Member(number, joins_ns, joins_ns + 1000, 0, keys)

    def orders(self, number: int) -> tuple[Order, ...]:
        return ()


SUBSCRIPTIONS = (PopulationSubscription((0,), 0, "K", SPACE),) * 3
LAWS = st.builds(
    EvenLaw,
    initial=st.integers(0, 5),
    gap_ns=st.integers(1, 50),
    had=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=3).map(tuple),
)


@given(laws=st.lists(LAWS, min_size=1, max_size=3))
def test_members_are_enrolled_in_the_order_of_their_joins(laws):
    """Initial members first; numbers of subscriptions follow each other without a gap, and no member is left out."""
    populations = [Population("p", SUBSCRIPTIONS, 1, law) for law in laws]
    found = list(islice(enrolments(populations), 60))
    initial = sum(law.initial for law in laws)

    assert [each.population for each in found[:initial]] == [
        number for number, law in enumerate(laws) for _ in range(law.initial)
    ]
    joins = [(each.member.joins_ns, each.population) for each in found[initial:]]
    assert joins == sorted(joins)
    assert all(joins_ns >= 0 for joins_ns, _ in joins)
    for number in range(len(laws)):
        members = [each.member.number for each in found if each.population == number]
        assert members == list(range(len(members)))
    numbers = [number for each in found for number, _, _ in each.numbered()]
    assert numbers == list(range(len(numbers)))
    for each in found:
        assert [keys for _, _, keys in each.numbered()] == [keys for keys in each.member.keys if keys]
        assert all(each.member.keys[place] == keys for _, place, keys in each.numbered())
    assert all(earlier.first + earlier.member.subscriptions == later.first for earlier, later in pairwise(found))


def test_more_subscriptions_than_ids_are_refused(monkeypatch):
    """Six digits number them."""
    monkeypatch.setattr(population_module, "MOST_SUBSCRIPTIONS", 10)
    law = EvenLaw(2, 10, ((True, True, True),))
    with pytest.raises(WorkloadError, match="more than 10 subscriptions of members"):
        list(enrolments([Population("p", SUBSCRIPTIONS, 1, law)]))


@given(key=st.integers(0, 99_999))
def test_the_text_of_a_key(key):
    """A letter by its range, and five digits: texts are as different as keys."""
    text = SPACE.text(key)

    assert text == f"{'V' if key < 7 else 'Z'}{key:05d}"


def test_selectors_compare_texts():
    """With one key or with two; none where the key is in the name of the destination."""
    subscription = PopulationSubscription((0,), 0, "Place", SPACE)

    assert subscription.selector((6,)) == "Place = 'V00006'"
    assert subscription.selector((6, 7)) == "Place IN ('V00006', 'Z00007')"
    assert replace(subscription, header=None).selector((6,)) is None


def with_population(number, **changed):
    populations = list(TOY.populations)
    populations[number] = replace(populations[number], **changed)
    return replace(TOY, populations=tuple(populations))


def subscribed(**changed):
    population = TOY.populations[READERS]
    return with_population(
        READERS, subscriptions=(replace(population.subscriptions[0], **changed), *population.subscriptions[1:])
    )


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: SPACE.text(100_000), "key 100000"),
        (lambda: SPACE.text(-1), "key -1"),
        (lambda: KeySpace(()), "expected 0 and larger"),
        (lambda: KeySpace(((1, "A"),)), "expected 0 and larger"),
        (lambda: KeySpace(((0, "A"), (0, "B"))), "expected 0 and larger"),
        (lambda: KeySpace(((0, "7"),)), "expected a letter"),
        (lambda: MessageSpec(1, 0, (0,), (1,), persistent=True, transacted=True, receipt=True), "step 1 is sent"),
        (lambda: with_population(READERS, outgoing=TOY.populations[BUYERS].outgoing), "sessions begin before the load"),
        (
            lambda: with_population(BUYERS, outgoing=replace(TOY.populations[BUYERS].outgoing, transacted=True)),
            "sessions send in transactions",
        ),
        (lambda: replace(TOY, populations=(TOY.populations[BUYERS],) * 2), "several populations have sessions"),
        (lambda: subscribed(destination=0), "members subscribe to queue"),
        (lambda: subscribed(header=None), "a key either in its name or in a header"),
        (
            lambda: replace(
                TOY,
                destinations=(
                    *TOY.destinations[:2],
                    Destination(DestinationKind.TOPIC, "a.{key}"),
                    *TOY.destinations[3:],
                ),
            ),
            "a key either in its name or in a header",
        ),
    ],
)
def test_what_cannot_be_is_refused(made, words):
    """With what is wrong and what is expected."""
    with pytest.raises(WorkloadError, match=words):
        made()


def test_what_a_scenario_says_of_its_populations():
    """Connections and subscriptions include those of members; copies of an address are those of handlers only."""
    assert TOY.connections == 4 + 3 + 4
    assert TOY.initial_subscriptions == 30
    assert TOY.subscriptions == 2 + 30
    assert TOY.first_session == 4
    assert TOY.chain_fields == 4
    assert TOY.filtered
    assert not toy_scenario(by_topic=True).filtered
    assert TOY.fan_out == (1, 0, 0, 0, 1)
    assert set(TOY.messages) == set(range(5))
