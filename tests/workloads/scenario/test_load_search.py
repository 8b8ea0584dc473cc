"""The search for the highest load that passes, without anything that is measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.scenario.load_search import Ended, LoadSearch, Trial

SEARCHES = st.builds(
    lambda first, more, *others: LoadSearch(first, first + more, *others),
    st.integers(10, 500),
    st.integers(0, 5000),
    st.floats(0, 0.5),
    st.integers(1, 40),
    st.sampled_from((1, 3, 10)),
)


def searched(search: LoadSearch, passes: Callable[[int], bool]) -> LoadSearch:
    while (value := search.next_value) is not None:
        assert value % search.step == 0
        search = search.answered(value, passed=passes(value))
        assert len(search.probes) <= search.most_probes
    return search


def test_doubling_then_bisection():
    """From the first BASE it doubles until one fails, then halves what lies between: within 5 %."""
    found = searched(LoadSearch(first=10), lambda base: base <= 137)

    assert found.probes == (
        *(Trial(10, True), Trial(20, True), Trial(40, True), Trial(80, True), Trial(160, False)),
        *(Trial(120, True), Trial(140, False), Trial(130, True), Trial(135, True)),
    )
    assert (found.best, found.failing, found.ended) == (135, 140, Ended.FOUND)


FOUND, NOTHING, EVERYTHING, OUT = Ended

#: Limits, the highest value that passes, the values tried, and what is found: best, lowest that failed, why it ended.
SEARCHED = [
    # a first BASE that fails is halved
    ({"first": 100, "resolution": 0}, 13, [100, 50, 25, 12, 18, 15, 13, 14], (13, 14, FOUND)),
    # multiples of the step, also the first and the highest; two that are a step apart end the search
    ({"first": 725, "most": 4325, "step": 10}, 4000, [720, 1440, 2880, 4320, 3600, 3960, 4140], (3960, 4140, FOUND)),
    ({"first": 25, "step": 10, "resolution": 0}, 15, [20, 10], (10, 20, FOUND)),
    ({"first": 5}, 0, [5, 2, 1], (None, 1, NOTHING)),
    ({"first": 5, "most": 33}, 33, [5, 10, 20, 33], (33, None, EVERYTHING)),
    ({"first": 1, "most_probes": 4}, 1000, [1, 2, 4, 8], (8, None, OUT)),
]


@pytest.mark.parametrize(("limits", "threshold", "values", "result"), SEARCHED)
def test_searches(limits, threshold, values, result):
    """Which values are tried, and how the search ends."""
    found = searched(LoadSearch(**limits), lambda base: base <= threshold)

    assert [probe.value for probe in found.probes] == values
    assert (found.best, found.failing, found.ended) == result


@given(search=SEARCHES, threshold=st.integers(0, 6000))
def test_any_threshold_is_found_within_the_resolution(search, threshold):
    """Where all BASEs up to one pass and none above: that one lies from the best to below the lowest that failed."""
    found = searched(search, lambda base: base <= threshold)

    assert found.best is None or found.best <= threshold
    assert found.failing is None or found.failing > threshold
    match found.ended:
        case Ended.FOUND:
            assert found.failing - found.best <= max(found.step, found.resolution * found.best)
        case Ended.NOTHING_PASSES:
            assert threshold < found.step
        case Ended.EVERYTHING_PASSES:
            assert found.most - found.step < found.best <= found.most
        case Ended.OUT_OF_PROBES:
            assert len(found.probes) == found.most_probes


@given(search=SEARCHES, failing=st.sets(st.integers(1, 6000), max_size=200), odd=st.booleans())
def test_a_broker_that_wavers_is_not_tried_for_ever(search, failing, odd):
    """Whatever passes and fails, no BASE is tried twice, none beyond the limits, and the best has no failure below."""
    found = searched(search, lambda base: (base in failing) != (odd and base % 2 == 1))

    bases = [probe.value for probe in found.probes]
    assert len(bases) == len(set(bases)) <= found.most_probes
    assert all(1 <= base <= found.most for base in bases)
    assert found.ended is not None
    if found.best is not None:
        assert Trial(found.best, passed=True) in found.probes
        assert all(probe.value > found.best for probe in found.probes if not probe.passed)


@given(search=SEARCHES, threshold=st.integers(1, 6000), longer=st.integers(0, 6000))
def test_a_confirmation_may_take_a_pass_back(search, threshold, longer):
    """The search goes on below what failed the longer run, until one stands or there is none or no probe left."""
    search = searched(search, lambda base: base <= threshold)
    runs = 0
    while search.best is not None and len(search.probes) < search.most_probes:
        confirmed = search.best
        search = search.answered(confirmed, passed=confirmed <= longer)
        if confirmed <= longer:
            break
        assert search.best is None or search.best < confirmed
        search = searched(search, lambda base: base <= threshold)
        runs += 1
        assert runs <= search.most_probes
    if search.best is not None and len(search.probes) < search.most_probes:
        assert search.best <= longer


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"first": 0}, "first value of the search: expected 1 to 100000, got 0"),
        ({"first": 9, "step": 10}, "first value of the search: expected 10 to 100000, got 9"),
        ({"first": 5, "most": 4}, "expected 1 to 4, got 5"),
        ({"resolution": 1.0}, "resolution of the search: expected a share from 0 to below 1, got 1.0"),
        ({"most_probes": 0}, "probes of the search: expected at least 1, got 0"),
    ],
)
def test_a_search_of_nothing_is_refused(limits, words):
    """Limits that leave nothing to search."""
    with pytest.raises(WorkloadError, match=words):
        LoadSearch(**limits)
