"""What the paper's case study claims of its three scenarios.

Source: Sachs, Appel, Kounev, Buchmann 2010, sections 3 and 4.2, and the table of section 4.3: maximum BASE 720, 125 and
63; CPU per BASE 0.077, 0.168 and 0.147 % of a server of eight cores; average delivery time 123, 1587 and 3235 ms. Each
was taken at the scenario's own maximum load. CPU per BASE is a cost, which does not depend on the number of cores;
delivery times there are those of a saturated broker, so that only their direction can be expected at the same BASE.

The paper's sentence that selectors have no significant impact is about its own ratio 0.875: 25 % either way is alike.
"""

from __future__ import annotations

from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.ranges import LARGER, Range, published
from workloads.scenario.claims import CaseRatio, ComparedQuantity, PublishedClaim, PublishedClaims
from workloads.scenario.limits import RECEIVED, SENT

_FIRST, _SECOND, _THIRD = (SCENARIOS[number].name for number in (1, 2, 3))

#: Of a server of eight cores, in the order of the scenarios.
CPU_PERCENT_PER_BASE = (0.077, 0.168, 0.147)
DELIVERY_MS = (123, 1587, 3235)

#: Number of cores of the paper's server.
PAPER_CORES = 8

_CPU_TEXT = "0.077, 0.168 and 0.147 % of 8 cores per BASE"
_DELIVERY_TEXT = "123, 1587 and 3235 ms"

#: Counts that are the same; two whole numbers below 1000 that differ do so by more.
_EQUAL = Range(0.999, 1.001)


def _cpu(above: str, below: str, expected: Range) -> CaseRatio:
    return CaseRatio(ComparedQuantity.BROKER_CPU, above, below, expected)


def _delivery(above: str, below: str, expected: Range) -> CaseRatio:
    return CaseRatio(ComparedQuantity.DELIVERY, above, below, expected)


def _against_the_first(quantity: ComparedQuantity, expected: Range) -> tuple[CaseRatio, ...]:
    return tuple(CaseRatio(quantity, above, _FIRST, expected) for above in (_SECOND, _THIRD))


CLAIMS = PublishedClaims(
    "Sachs et al. 2010",
    (
        PublishedClaim(
            "4.3",
            "topics with selectors cost about twice the CPU of the first scenario",
            f"{_CPU_TEXT}: ratios 2.18 and 1.91",
            (
                _cpu(_SECOND, _FIRST, published(CPU_PERCENT_PER_BASE[1] / CPU_PERCENT_PER_BASE[0])),
                _cpu(_THIRD, _FIRST, published(CPU_PERCENT_PER_BASE[2] / CPU_PERCENT_PER_BASE[0])),
            ),
        ),
        PublishedClaim(
            "4.3",
            "topics with selectors cost more CPU than the first scenario",
            "the weaker form of the claim above",
            (_cpu(_SECOND, _FIRST, LARGER), _cpu(_THIRD, _FIRST, LARGER)),
        ),
        PublishedClaim(
            "4.3",
            "the complexity of selectors has no significant impact on the CPU",
            f"{_CPU_TEXT}: ratio 0.875",
            (_cpu(_THIRD, _SECOND, published(1)),),
        ),
        PublishedClaim(
            "4.3",
            "delivery takes longer from scenario to scenario",
            f"{_DELIVERY_TEXT}, each at its own maximum load",
            (_delivery(_SECOND, _FIRST, LARGER), _delivery(_THIRD, _SECOND, LARGER)),
        ),
        PublishedClaim(
            "4.3",
            "delivery takes 13 and 26 times as long as in the first scenario",
            f"{_DELIVERY_TEXT}: ratios 12.9 and 26.3",
            (
                _delivery(_SECOND, _FIRST, published(DELIVERY_MS[1] / DELIVERY_MS[0])),
                _delivery(_THIRD, _FIRST, published(DELIVERY_MS[2] / DELIVERY_MS[0])),
            ),
            "the published times are those of each scenario's own saturation, which depends on when a search stops; "
            "here the BASE is the same",
        ),
        PublishedClaim(
            "4.3",
            "the first scenario sustains the highest load",
            "BASE 720 against 125 and 63",
            (),
            "a maximum load is the result of a search and has no interval: --find-base shows one for each scenario",
        ),
        PublishedClaim(
            "4.3",
            "the others sustain a load 6 and 12 times lower",
            "ratios 5.76 and 11.4",
            (),
            f"needs as many broker CPUs as the paper ({PAPER_CORES}): its first scenario used 4.4 cores, its third "
            "less than one; with k CPUs the ratio is at most about k times that of the CPU costs",
        ),
        PublishedClaim(
            "4.3",
            "the third scenario sustains less than the second, since a single topic is limited by one core",
            "BASE 125 against 63; CPU 9.3 % of 8 cores, that is 0.74 of one",
            (),
            "needs a broker with several CPUs, and a version that sends to a topic under one lock: with one CPU the "
            "CPU costs alone order the scenarios",
        ),
        PublishedClaim(
            "4.2",
            "the messages sent and received are the same",
            "the same in all scenarios",
            (
                *_against_the_first(ComparedQuantity.SENT, Range(1 - SENT.limit, 1 + SENT.limit)),
                *_against_the_first(ComparedQuantity.RECEIVED, Range(1 - RECEIVED.limit, 1 + RECEIVED.limit)),
            ),
        ),
        PublishedClaim(
            "3",
            "the number of subscriptions is the same",
            "the same in all configurations",
            _against_the_first(ComparedQuantity.SUBSCRIPTIONS, _EQUAL),
        ),
        PublishedClaim(
            "3",
            "the number of event handlers is the same",
            "the same in all configurations",
            _against_the_first(ComparedQuantity.HANDLERS, _EQUAL),
        ),
    ),
)
