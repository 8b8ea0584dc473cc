"""The classes of messages and copies: whatever happened to each, it is counted once, and in its own class."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.faults.accounting import Account, Accounting, Fate, Promise, broken
from workloads.schema import FaultCopyRow, FaultMessageRow, FaultTransactionRow

#: What copies may be: marked, at the wrong subscription, read after the end of the drain.
PLAIN, MARKED, ASTRAY, LATE = frozenset(), frozenset({"marked"}), frozenset({"astray"}), frozenset({"late"})
END = 10**6
#: What may happen to a message: its fate, its copies, and what that counts as.
COUNTS = {
    (Fate.CONFIRMED, (PLAIN,)): {"confirmed": 1, "delivered": 1},
    (Fate.CONFIRMED, ()): {"confirmed": 1, "lost": 1},
    (Fate.CONFIRMED, (MARKED,)): {"confirmed": 1, "delivered": 1},
    (Fate.CONFIRMED, (PLAIN, MARKED)): {"confirmed": 1, "delivered": 1, "twice_marked": 1},
    (Fate.CONFIRMED, (PLAIN, PLAIN)): {"confirmed": 1, "delivered": 1, "twice_unmarked": 1},
    (Fate.CONFIRMED, (ASTRAY,)): {"confirmed": 1, "lost": 1, "misdelivered": 1},
    (Fate.CONFIRMED, (ASTRAY, MARKED)): {"confirmed": 1, "delivered": 1, "misdelivered": 1},
    (Fate.CONFIRMED, (LATE,)): {"confirmed": 1, "kept": 1},
    (Fate.CONFIRMED, (PLAIN, LATE | MARKED)): {"confirmed": 1, "delivered": 1, "twice_marked": 1},
    (Fate.CONFIRMED, (LATE, LATE)): {"confirmed": 1, "kept": 1, "twice_unmarked": 1},
    (Fate.CONFIRMED, (LATE | ASTRAY,)): {"confirmed": 1, "lost": 1, "misdelivered": 1},
    (Fate.UNKNOWN, (PLAIN,)): {"unknown": 1, "recovered": 1, "delivered": 1},
    (Fate.UNKNOWN, (LATE | MARKED,)): {"unknown": 1, "recovered": 1, "kept": 1},
    (Fate.UNKNOWN, ()): {"unknown": 1},
    (Fate.UNSENT, ()): {},
    (Fate.UNSENT, (PLAIN, MARKED)): {"unexpected": 2},
    (Fate.UNSENT, (LATE,)): {"unexpected": 1},
    (Fate.REFUSED_FINAL, ()): {"refused": 1},
    (Fate.REFUSED_FINAL, (PLAIN, MARKED)): {"refused": 1, "refused_delivered": 1, "unexpected": 2},
    (Fate.REFUSED_UNCERTAIN, ()): {"refused": 1},
    (Fate.REFUSED_UNCERTAIN, (PLAIN,)): {"refused": 1, "refused_delivered": 1, "delivered": 1},
    (Fate.REFUSED_UNCERTAIN, (LATE, LATE | MARKED)): {
        "refused": 1,
        "refused_delivered": 1,
        "kept": 1,
        "twice_marked": 1,
    },
    (Fate.REFUSED_UNCERTAIN, (ASTRAY,)): {"refused": 1, "misdelivered": 1},
}
LANES = 3


def message(lane, seq, fate):
    instant = seq * 10
    written = None if fate is Fate.UNSENT else instant + 1
    return FaultMessageRow(lane, seq, instant, written, instant + 2 if fate is Fate.CONFIRMED else None, fate.value)


def copy(lane, seq, *, marked=False, at=None, subscription=None):
    at = seq * 10 + 3 if at is None else at
    return FaultCopyRow(lane if subscription is None else subscription, lane, seq, at, int(marked))


@given(st.lists(st.lists(st.sampled_from(list(COUNTS))), min_size=LANES, max_size=LANES), st.randoms())
def test_each_message_is_in_its_class(lanes, random):
    """Lanes of messages with any fates and copies; those of different lanes arrive in any order."""
    messages, queues, expected = [], [], {}
    for lane, happened in enumerate(lanes):
        queue = []
        for seq, (fate, copies) in enumerate(happened):
            messages.append(message(lane, seq, fate))
            for flags in copies:
                at, where = seq * 10 + 3 + END * ("late" in flags), lane + ("astray" in flags)
                queue.append(copy(lane, seq, marked="marked" in flags, at=at, subscription=where % LANES))
            for name, count in COUNTS[fate, copies].items():
                expected[name] = expected.get(name, 0) + count
        queues.append(queue)
    copies = []
    while any(queues):
        copies.append(random.choice([queue for queue in queues if queue]).pop(0))
    found = Accounting.of(messages, copies, [{lane} for lane in range(LANES)], END)

    sent = sum(expected.get(name, 0) for name in ("confirmed", "unknown", "refused"))
    assert found.account == Account(sent=sent, **expected)
    for name, some in found.named.items():
        assert len(some) == min(5, getattr(found.account, name))


@given(st.permutations(range(8)))
def test_reordered_copies_are_those_behind_a_later_one(order):
    """Of a lane at one subscription, marks apart; another subscription of a queue has an order of its own."""
    messages = [message(0, seq, Fate.CONFIRMED) for seq in range(8)]
    late = sum(any(before > seq for before in order[:at]) for at, seq in enumerate(order))
    here = [copy(0, seq, at=at) for at, seq in enumerate(order)]

    assert Accounting.of(messages, here, [{0}]).account.reordered == late
    marked = [copy(0, seq, at=at, marked=True) for at, seq in enumerate(order)]
    assert Accounting.of(messages, marked, [{0}]).account.reordered == 0
    dealt = [copy(0, seq, at=at, subscription=seq) for at, seq in enumerate(order)]
    assert Accounting.of(messages, dealt, [set(range(8))]).account.reordered == 0


def test_what_was_never_sent_is_unexpected():
    """A number that the load has not used, such as another run's."""
    found = Accounting.of([message(0, 0, Fate.CONFIRMED)], [copy(0, 0), copy(0, 7, at=2_000_000_000)], [{0}])

    assert found.account.unexpected == 1
    assert found.explained("unexpected", 500_000_000) == (
        "1 delivered though refused, or never sent or committed: lane 0 number 7 at +1.500 s"
    )


@pytest.mark.parametrize(
    ("consumed", "answers", "partial"),
    [(1, (1, 1), 0), (2, (0, 0), 0), (1, (1, 0), 1), (2, (1, 1), 1), (1, (0, 0), 1), (2, (2, 0), 1)],
)
def test_a_transaction_takes_effect_as_a_whole(consumed, answers, partial):
    """What it consumed comes again exactly where its answers do not come."""
    copies = [copy(0, 0)] * consumed + [copy(lane, 0) for lane, number in enumerate(answers, 1) for _ in range(number)]
    messages = [message(0, 0, Fate.CONFIRMED), *(message(lane, 0, Fate.UNKNOWN) for lane in (1, 2))]
    doubtful = [FaultTransactionRow(7, lane, 0, int(not lane), 0) for lane in (0, 1, 2)]
    receivers = [{0}, {1}, {2}]

    assert Accounting.of(messages, copies, receivers, doubtful=doubtful).account.partial == partial


def test_promises_are_broken_by_what_they_are_about():
    """Without a promise losses and unmarked copies break nothing; what was not committed must never come."""
    account = Account(lost=1, twice_unmarked=1, reordered=1, twice_marked=1)

    assert list(broken(account, Promise(stored=True, marked=True))) == ["lost", "twice_unmarked"]
    assert list(broken(account, Promise(stored=False, marked=False))) == []
    assert list(broken(Account(partial=1), Promise(stored=False, marked=False))) == ["partial"]
    assert list(broken(Account(partial=1), Promise(stored=False, marked=False, whole=False))) == []
    assert list(broken(Account(unexpected=1, misdelivered=1), Promise(stored=False, marked=False))) == [
        "unexpected",
        "misdelivered",
    ]


def test_accounts_add_up():
    assert Account(sent=1, lost=2) + Account(sent=3, unexpected=4) == Account(sent=4, lost=2, unexpected=4)
