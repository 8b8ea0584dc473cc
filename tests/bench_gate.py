"""Simulated gates: false alarms without a difference, power with one. Run by `make bench-fit`.

Two brokers of known costs are loaded in adjacent slices of 0.25 s. The host has phases (30 % slower in spells of 7 s
with gaps of 28 s, both exponential), a slice scatters by itself, and every start of a broker has a level of its own,
common to all cells and of each cell. What is simulated is what a run records: counted slices, judged by the functions
that judge a run.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp

import numpy as np

from analysis.gate.paired import Key, cell_ratios, metric_rows
from analysis.gate.verdict import GateVerdict, Judgement, judge
from tests.support.gates import window
from workloads.gate import ALL_CELLS, CONFIRMING_PAIRS, LOOKS, GateRole, GateRules, Policy
from workloads.schedule import pair_orders
from workloads.schema import Window
from workloads.throughput.families import COSTS

#: (n_fltr, replication grade) of the cells of the gate's grid.
CELLS: Mapping[Key, tuple[float, float]] = {
    ("replication", f"f{further:04d}-r{copies:03d}"): (further + copies, copies)
    for further in (0, 1280)
    for copies in (1, 2, 10)
}

#: Costs of the baseline, s.
BASELINE = {"t_rcv": 12e-6, "t_fltr": 25e-9, "t_tx": 10e-6}

LAYOUTS, ROUNDS = 2, 6
SLICE_S, BETWEEN_S = 0.2, 0.28
SPELL_S, GAP_S, SLOWER = 7.0, 28.0, 1.3


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative standard deviations."""

    #: Of a slice, by itself.
    slices: float
    #: Of a start of a broker, common to all cells.
    starts: float
    #: Of a cell in a start, beyond that.
    cells: float


#: A quiet broker, and a JVM as measured.
QUIET = Noise(0.01, 0.001, 0.001)
JVM = Noise(0.07, 0.015, 0.015)


def pair(
    generator: np.random.Generator, noise: Noise, change: Mapping[str, float], number: int, order_effect: float
) -> dict[GateRole, dict[Key, list[Window]]]:
    """The counted slices of a pair of lives."""
    costs = {
        GateRole.BASELINE: BASELINE,
        GateRole.CANDIDATE: {name: BASELINE[name] * change.get(name, 1) for name in BASELINE},
    }
    level = {role: exp(generator.normal(0, noise.starts)) for role in GateRole}
    of_cell = {(role, key): exp(generator.normal(0, noise.cells)) for role in GateRole for key in CELLS}
    found: dict[GateRole, dict[Key, list[Window]]] = {role: {key: [] for key in CELLS} for role in GateRole}
    orders = pair_orders(len(CELLS), f"{number} {generator.integers(1 << 30)}")
    at_s = 0.0
    spells = _spells(generator)
    slow_from, slow_to = next(spells)
    for layout in range(1, LAYOUTS + 1):
        for round_number in range(1, ROUNDS + 1):
            reversals = next(orders)
            position = 0
            for index in generator.permutation(len(CELLS)):
                key = list(CELLS)[index]
                n_fltr, copies = CELLS[key]
                for place, role in enumerate(list(GateRole)[:: -1 if reversals[index] else 1]):
                    cost = costs[role]
                    b = cost["t_rcv"] + n_fltr * cost["t_fltr"] + copies * cost["t_tx"]
                    b *= level[role] * of_cell[role, key] * exp(generator.normal(0, noise.slices))
                    b *= exp(order_effect * place)
                    while at_s > slow_to:
                        slow_from, slow_to = next(spells)
                    b *= SLOWER if at_s >= slow_from else 1.0
                    found[role][key].append(_window(layout, round_number, position, at_s, b))
                    position += 1
                    at_s += BETWEEN_S
    return found


def _window(layout: int, round_number: int, position: int, begin_s: float, b: float) -> Window:
    """A slice of a broker without a JVM that takes `b` seconds per message."""
    begin_ns, received = round(begin_s * 1e9), round(SLICE_S / b)
    unknown = ("gc_pause_ns", "gc_pauses", "full_gc_pause_ns", "stolen_ns", "idle_broker_cpu_ns")
    return window(
        round_number,
        position,
        b,
        layout=layout,
        begin_ns=begin_ns,
        end_ns=begin_ns + round(received * b * 1e9),
        **dict.fromkeys(("received", "expected", "dispatched"), received),
        **dict.fromkeys(unknown),
    )


def _spells(generator: np.random.Generator) -> Iterator[tuple[float, float]]:
    end = 0.0
    while True:
        begin = end + generator.exponential(GAP_S)
        end = begin + generator.exponential(SPELL_S)
        yield begin, end


def gate(
    seed: int,
    noise: Noise,
    margin: float,
    change: Mapping[str, float],
    *,
    order_effect: float = 0.0,
    bad_pair: float = 0.0,
) -> tuple[Judgement, int]:
    """A gate to its end; returns its judgement and the number of pairs.

    bad_pair: relative change of the candidate in the second pair of lives only
    """
    generator = np.random.default_rng(seed)
    rules = GateRules(margin, Policy.BLAME, LOOKS, CONFIRMING_PAIRS)
    ratios = []
    needed = LOOKS[0]
    number = 0
    while True:
        for _ in range(needed):
            number += 1
            changed = dict.fromkeys(BASELINE, 1 + bad_pair) if bad_pair and number == 2 else change
            ratios += cell_ratios(pair(generator, noise, changed, number, order_effect), number)
        judgement = judge(metric_rows(ratios, CELLS, (*COSTS, ALL_CELLS)), rules)
        needed = judgement.more_pairs
        if not needed:
            return judgement, number


def _row(name: str, runs: int, noise: Noise, margin: float, change: Mapping[str, float], **more: float) -> str:
    verdicts: Counter[GateVerdict] = Counter()
    named: Counter[str] = Counter()
    pairs = []
    for seed in range(runs):
        judgement, number = gate(seed, noise, margin, change, **more)
        verdicts[judgement.verdict] += 1
        named.update(f.family for f in judgement.families if f.verdict is GateVerdict.REGRESSED)
        pairs.append(number)
    said = ", ".join(f"{verdict} {count / runs:.1%}" for verdict, count in verdicts.most_common())
    families = ", ".join(f"{family} {count / runs:.1%}" for family, count in named.most_common())
    return f"{name:44} {runs:5} runs, {np.mean(pairs):4.1f} pairs: {said}; regressed: {families or 'none'}"


def main(runs: int = 1000) -> None:
    few = max(20, runs // 5)
    rows = [
        ("A/A, quiet broker, margin 5 %", runs, QUIET, 0.05, {}),
        ("A/A, JVM, margin 5 %", runs, JVM, 0.05, {}),
        *((f"{name} +5 %, quiet broker, margin 2.5 %", few, QUIET, 0.025, {name: 1.05}) for name in COSTS),
        *((f"{name} +10 %, quiet broker, margin 5 %", few, QUIET, 0.05, {name: 1.10}) for name in COSTS),
        *((f"{name} +10 %, JVM, margin 5 %", few, JVM, 0.05, {name: 1.10}) for name in COSTS),
        ("all costs +10 %, JVM, margin 5 %", few, JVM, 0.05, dict.fromkeys(COSTS, 1.10)),
        ("all costs +10 % less, JVM, margin 5 %", few, JVM, 0.05, dict.fromkeys(COSTS, 0.9)),
    ]
    for name, *parts in rows:
        print(_row(name, *parts), flush=True)
    print(_row("order effect 10 %, JVM, margin 5 %", few, JVM, 0.05, {}, order_effect=0.10), flush=True)
    print(_row("one bad pair of lives +30 %, JVM, margin 5 %", few, JVM, 0.05, {}, bad_pair=0.30), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
