"""The steady state is judged: noise does not fail it, and growth does not pass."""

import numpy as np
import pytest

from analysis.scenario import steady
from analysis.scenario.results import AuditVerdict
from workloads.scenario.periods import Period

MEASURED = Period.MEASUREMENT


def waves(rng, seconds, level, noise, memory=0.6):
    """A backlog that varies around a level, each second much like the one before."""
    values = [0.0]
    for _ in range(seconds):
        values.append(memory * values[-1] + noise * rng.standard_normal())
    return [max(0, round(level + value)) for value in values[1:]]


def test_a_backlog_that_only_varies_rarely_fails():
    """Of 200 steady minutes with long memory hardly any is called growing."""
    rng = np.random.default_rng(1)
    judged = [steady.backlog(waves(rng, 60, 50, 5), 500, MEASURED).verdict for _ in range(200)]

    assert judged.count(AuditVerdict.FAIL) == 0
    assert judged.count(AuditVerdict.PASS) >= 190


def test_a_trend_that_is_none_is_seldom_seen():
    """The interval is above 0 in about one of forty cases, also where every second is much like the one before."""
    rng = np.random.default_rng(4)
    seen = [steady.trend(waves(rng, 60, 500, 20)).low > 0 for _ in range(400)]

    assert sum(seen) / 400 <= 0.06


@pytest.mark.parametrize("noise", [0, 5])
def test_a_backlog_that_grows_by_five_percent_fails(noise):
    """A broker that takes 95 % of what is sent is found in a minute."""
    rng = np.random.default_rng(2)
    found = steady.backlog([value + 25 * at for at, value in enumerate(waves(rng, 60, 50, noise))], 500, MEASURED)

    assert found.verdict is AuditVerdict.FAIL
    assert found.observed == pytest.approx(0.05, abs=0.01)


def test_noise_that_hides_a_trend_is_not_judged():
    """Where the interval covers the limit, nothing is said."""
    rng = np.random.default_rng(3)
    found = steady.backlog(waves(rng, 30, 3000, 400), 500, MEASURED)

    assert found.verdict is AuditVerdict.NOT_JUDGED
    assert "too short to decide" in found.why


@pytest.mark.parametrize(("seconds", "verdict"), [(19, AuditVerdict.NOT_JUDGED), (20, AuditVerdict.PASS)])
def test_few_seconds_show_no_trend(seconds, verdict):
    """A limit on the number of seconds, fixed before."""
    assert steady.backlog([3] * seconds, 100, MEASURED).verdict is verdict


@pytest.mark.parametrize(
    ("before", "verdict"),
    [
        ([100] * 10, AuditVerdict.PASS),
        ([96] * 10, AuditVerdict.PASS),
        ([94] * 10, AuditVerdict.FAIL),
        ([106] * 10, AuditVerdict.FAIL),
        ([], AuditVerdict.NOT_JUDGED),
    ],
)
def test_the_end_of_the_warm_up_has_the_level_of_the_period(before, verdict):
    """Five percent either way; without a whole second nothing is said."""
    assert steady.level(before, 100.0, 0.5, MEASURED).verdict is verdict


def test_a_level_that_chance_could_decide_is_not_judged():
    """Few copies per second, or bursts of many, vary by more than the limit on their own."""
    found = steady.level([10] * 3, 10.0, steady.granularity({6: (0.5, 10.0)}, 3, poisson=False), MEASURED)

    assert found.verdict is AuditVerdict.NOT_JUDGED


def test_drawn_arrivals_vary_more_than_paced_ones():
    """A Poisson count has its mean as its variance, a paced one an execution more or less."""
    copies = {5: (100.0, 1.0)}

    assert steady.granularity(copies, 10, poisson=True) == pytest.approx(np.sqrt(1000) / 10)
    assert steady.granularity(copies, 10, poisson=False) == pytest.approx(0.05)


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("copies", [{1: (50.0, 2.0)}, {1: (2.0, 2.0)}, {1: (0.25, 10.0), 2: (30.0, 1.0)}])
def test_a_warm_up_that_suffices(copies, poisson):
    """The whole seconds of its last third are judged; half as many are not, or there are none."""
    received_per_s = sum(rate * each for rate, each in copies.values())
    seconds = steady.warm_up_s(copies, poisson=poisson) // 3 - 1

    def verdict(number):
        chance_per_s = steady.granularity(copies, number, poisson=poisson)
        return steady.level([received_per_s] * number, received_per_s, chance_per_s, MEASURED).verdict

    assert (verdict(seconds), verdict(seconds // 2)) == (AuditVerdict.PASS, AuditVerdict.NOT_JUDGED)
