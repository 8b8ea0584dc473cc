"""When a broker is warm: its rounds repeat themselves, and its JVM has compiled what they run.

Contrasts, not rates: what a shared host does to a whole round says nothing about the broker. Pure arithmetic on what
each round took.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median

from workloads.limits import WARM_COMPILER, WARM_CONTRASTS

#: Rounds whose contrasts are compared with those of as many rounds before.
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Warmth:
    """warm: whether the broker may be measured · contrast_change: rms change of the cells' contrasts between the last
    ROUNDS rounds and those before, less what their scatter explains; None before there are as many · compiler_share:
    of the broker's CPU time, the larger of the last two rounds; None without a JVM."""

    warm: bool
    contrast_change: float | None
    compiler_share: float | None


def judge(rounds: Sequence[Mapping[Hashable, float]], compiler_shares: Sequence[float | None]) -> Warmth:
    """What the rounds so far say; per round ln B by cell, and the compiler's share of the broker's CPU time.

    A cell's contrast is its ln B less the median of its round. The change of a cell's mean contrast has a variance
    of 2/3 of that of a contrast, which is pooled over the cells and both groups of rounds.
    """
    change = _change(rounds[-2 * ROUNDS :]) if len(rounds) >= 2 * ROUNDS else None
    known = [share for share in compiler_shares if share is not None]
    share = max(known[-2:]) if len(known) >= 2 else None
    compiled = not known or (share is not None and share < WARM_COMPILER.limit)
    return Warmth(change is not None and change <= WARM_CONTRASTS.limit and compiled, change, share)


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
