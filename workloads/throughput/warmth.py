"""When a broker is warm: the cells' contrasts are stable, and its JVM has compiled the code that the load runs.

Contrasts are used, not rates: a disturbance of the host that slows a whole round says nothing about the broker. Pure
arithmetic on the times of the rounds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median

from workloads.limits import WARM_COMPILER, WARM_CONTRASTS

#: What a broker that is not warm lacks.
STABLE, COMPILED = "cells that repeat themselves", "the JVM's compiler"

#: Number of last rounds whose contrasts are compared with those of as many preceding rounds.
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Warmth:
    """Whether a broker is warm, and what that was decided from."""

    #: the broker may be measured
    warm: bool
    #: rms change of the cells' contrasts between the last ROUNDS rounds and the ROUNDS before, less what their scatter
    #: explains; None while there are too few rounds
    contrast_change: float | None
    #: share of the broker's CPU time used by the JVM's compiler, the larger of the last two rounds; None without a JVM
    compiler_share: float | None
    #: what is missing until it is warm, in words; empty where nothing is
    missing: str


def judge(rounds: Sequence[Mapping[Hashable, float]], compiler_shares: Sequence[float | None]) -> Warmth:
    """Decides from the rounds so far.

    A cell's contrast is its ln B less the median of its round. The change of a cell's mean contrast has a variance
    of 2/3 of that of a contrast, which is pooled over the cells and both groups of rounds.

    rounds: per round, ln B by cell
    compiler_shares: per round, the compiler's share of the broker's CPU time; None where unknown
    """
    change = _change(rounds[-2 * ROUNDS :]) if len(rounds) >= 2 * ROUNDS else None
    known = [share for share in compiler_shares if share is not None]
    share = max(known[-2:]) if len(known) >= 2 else None
    missing = []
    if change is None or change > WARM_CONTRASTS.limit:
        missing.append(STABLE)
    if known and (share is None or share >= WARM_COMPILER.limit):
        missing.append(COMPILED)
    return Warmth(not missing, change, share, " and ".join(missing))


def _change(rounds: Sequence[Mapping[Hashable, float]]) -> float | None:
    contrasts = [_contrasts(of_round) for of_round in rounds]
    cells = set.intersection(*(set(of_round) for of_round in contrasts))
    if not cells:
        return None
    squares = scatter = 0.0
    for cell in cells:
        before, after = ([of_round[cell] for of_round in part] for part in (contrasts[:ROUNDS], contrasts[ROUNDS:]))
        squares += (fmean(after) - fmean(before)) ** 2
        scatter += sum((value - fmean(group)) ** 2 for group in (before, after) for value in group)
    variance = scatter / (len(cells) * 2 * (ROUNDS - 1))
    return sqrt(max(0.0, squares / len(cells) - 2 / ROUNDS * variance))


def _contrasts(of_round: Mapping[Hashable, float]) -> dict[Hashable, float]:
    level = median(of_round.values()) if of_round else 0.0
    return {cell: value - level for cell, value in of_round.items()}
