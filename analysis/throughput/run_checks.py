"""Run-quality checks: idle CPU, warm-up, disturbed rounds, stolen time, carry-over, compiler, scheduling, swap.

Nothing here changes a number; each doubt becomes a finding with what was measured, the limit and what to do. A
disturbed host is reported, and makes intervals wider; the run is unverified only where undisturbed rounds may not be
told apart from disturbed ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median

import numpy as np
from scipy.special import fdtrc

from analysis.formats import percent
from analysis.results import CellKey, Finding
from analysis.run_directory import shared_cpus
from analysis.throughput.reader import Life, ThroughputRecord, counted
from analysis.throughput.results import HostUse, RoundLevel
from analysis.throughput.rotation import RoundKey, StartEstimate
from workloads.limits import (
    CARRY_OVER,
    DISTURBED,
    DISTURBED_LEVEL,
    IDLE_CPU,
    LAYOUTS,
    STOLEN,
    WARM_COMPILER,
    WARM_CONTRASTS,
)
from workloads.manifest import BrokerRecord, StudyStart
from workloads.schema import Window
from workloads.status import VerdictKind

#: Significance level of the tests for a change and for carry-over.
SIGNIFICANCE = 0.01

#: Smallest number of cells whose contrasts are compared: with fewer, it is undecidable which cell changed.
FEWEST_CELLS = 3


@dataclass(frozen=True, slots=True)
class Trend:
    """Change of the cells' contrasts (ln B less the level of its round) from the first to the second half of a start's
    layouts."""

    #: rms over the cells of the change of their means, less what the scatter of the layouts within the halves explains
    change: float
    #: of the F test that there is no change
    p: float

    @property
    def shown(self) -> bool:
        """The change is significant, and exceeds that of a warm broker."""
        return self.p < SIGNIFICANCE and self.change > WARM_CONTRASTS.limit


def findings(
    run: ThroughputRecord,
    windows: Mapping[CellKey, Sequence[Window]],
    estimates: Mapping[Life, StartEstimate],
    levels: Sequence[RoundLevel],
    host: Sequence[HostUse],
) -> Iterator[Finding]:
    """Doubts about the run as a whole; estimates and levels are those of `aggregate`."""
    slices = {
        life: {key: counted(of_cell) for key, of_cell in windows.items() if (key.broker, key.start) == life}
        for life in estimates
    }
    for start in run.manifest.starts:
        life = start.broker, start.start
        yield from _idle(run, start)
        if life in estimates:
            yield from _warmth(start, trend(slices[life], estimates[life].levels))
            yield from _compiler(start, [level for level in levels if (level.broker, level.start) == life])
            yield from _carried(start, estimates[life])
    for broker in run.manifest.brokers:
        of_broker = [level for level in levels if level.broker == broker]
        yield from _disturbed(broker, of_broker)
        stolen = {(level.start, level.layout, level.block): level.stolen_share for level in of_broker}
        yield from stolen_time(broker, stolen.values())
    yield from scheduled_apart(run.manifest.brokers)
    yield from shared_cpus(run.manifest)
    yield from _swap(host)


def scheduled_apart(brokers: Mapping[str, BrokerRecord]) -> Iterator[Finding]:
    """Brokers whose threads interrupt each other, beside others whose threads do not: a difference that is not theirs.

    brokers: of a run, by label or role
    """
    policies = {name: broker.scheduling for name, broker in brokers.items() if broker.scheduling is not None}
    if len(set(policies.values())) > 1:
        yield Finding(
            what="the threads of the brokers are scheduled by different policies",
            measured=", ".join(f"{name} {policy}" for name, policy in policies.items()),
            limit="the same policy, without which the costs of copies and filters may differ",
            advice="start a broker that is named by its URL with `chrt --batch 0`",
        )


def trend(slices: Mapping[CellKey, Sequence[Window]], levels: Mapping[RoundKey, float]) -> Trend | None:
    """The trend of a start's cells; None where there are too few layouts or cells.

    A cell's contrast in a layout is the median over its rounds. With an odd number of layouts the middle one is in
    neither half. Open loops are left out: their B is given by the plan.
    """
    contrasts: dict[CellKey, dict[int, list[float]]] = {}
    for key, of_cell in slices.items():
        for window in of_cell:
            level = levels.get((window.layout, window.block, window.round))
            if level is not None and window.messages and window.planned_per_s is None:
                value = float(np.log(window.processing_s / (1 + level)))
                contrasts.setdefault(key, {}).setdefault(window.layout, []).append(value)
    layouts = sorted({layout for of_cell in contrasts.values() for layout in of_cell})
    half = len(layouts) // 2
    if len(layouts) < LAYOUTS.limit:
        return None
    halves = layouts[:half], layouts[-half:]
    means = np.array(
        [
            [[median(of_cell[layout]) for layout in part] for part in halves]
            for of_cell in contrasts.values()
            if all(layout in of_cell for part in halves for layout in part)
        ]
    )
    if len(means) < FEWEST_CELLS:
        return None
    # remove the rest of each layout's level that the rounds' levels leave in all cells
    means -= means.mean(axis=0)
    changes = means[:, 1].mean(axis=1) - means[:, 0].mean(axis=1)
    degrees = len(means) - 1
    between = float(changes @ changes) / degrees
    within = float(((means - means.mean(axis=2, keepdims=True)) ** 2).sum()) / (degrees * 2 * (half - 1))
    explained = within * 2 / half
    p = float(fdtrc(degrees, degrees * 2 * (half - 1), between / explained)) if explained else float(between == 0)
    return Trend(sqrt(max(0.0, between - explained)), p)


def _idle(run: ThroughputRecord, start: StudyStart) -> Iterator[Finding]:
    if start.idle_cpu is None:
        if run.manifest.brokers[start.broker].cpu_count is not None:
            yield Finding(
                what=f"idle CPU of {start.broker} was not measured (start {start.start})",
                measured="no CPU reading before the load",
                limit=f"{IDLE_CPU.limit:.0%} {IDLE_CPU.unit}",
                advice="measure again",
                consequence=VerdictKind.UNVERIFIED,
                broker=start.broker,
            )
    elif start.idle_cpu > IDLE_CPU.limit:
        yield Finding(
            what=f"{start.broker} was busy before the load (start {start.start})",
            measured=f"{start.idle_cpu:.1%} of its CPU set",
            limit=f"{IDLE_CPU.limit:.0%} {IDLE_CPU.unit}",
            advice="stop other programs that use the broker or its CPUs, and measure again",
            broker=start.broker,
        )


def _warmth(start: StudyStart, seen: Trend | None) -> Iterator[Finding]:
    """Two sources: the warm-up, and a trend over the measured layouts. The run is unverified where the warm-up was not
    sufficient and the layouts show a trend, or are too few to show one."""
    trends = seen is not None and seen.shown
    if not start.warm:
        doubtful = trends or seen is None
        yield Finding(
            what=f"the warm-up of {start.broker} ended before it was warm (start {start.start})",
            measured=f"contrasts changed by {percent(start.contrast_change, unknown='unknown')}, compiler "
            f"{percent(start.compiler_share, unknown='unknown')} of the broker's CPU, after {start.warm_up_s:.0f} s",
            limit=f"contrasts {WARM_CONTRASTS.limit:.0%}, compiler {WARM_COMPILER.limit:.0%}",
            advice="a longer warm-up (--warmup-seconds)" if doubtful else "nothing: the measured layouts show no trend",
            consequence=VerdictKind.UNVERIFIED if doubtful else VerdictKind.VALID,
            broker=start.broker,
            open_point="cells still change from layout to layout" if doubtful else "",
        )
    if seen is not None and trends:
        yield Finding(
            what=f"cells of {start.broker} changed from layout to layout (start {start.start})",
            measured=f"{seen.change:.1%} between the first and the second half of the layouts, p {seen.p:.2g}",
            limit=f"{WARM_CONTRASTS.limit:.0%} beyond what the scatter of the layouts explains",
            advice="a longer warm-up (--warmup-seconds), or more layouts (--layouts), which show whether it continues",
            broker=start.broker,
        )


def _compiler(start: StudyStart, levels: Iterable[RoundLevel]) -> Iterator[Finding]:
    shares = [level.compiler_share for level in levels if level.compiler_share is not None]
    if shares and median(shares) > WARM_COMPILER.limit:
        yield Finding(
            what=f"the compiler of {start.broker} was active during the measurement (start {start.start})",
            measured=f"{median(shares):.1%} of the broker's CPU in the median of the rounds, {max(shares):.1%} at most",
            limit=f"{WARM_COMPILER.limit:.0%}",
            advice="a longer warm-up (--warmup-seconds)",
            broker=start.broker,
        )


def _carried(start: StudyStart, estimate: StartEstimate) -> Iterator[Finding]:
    found = estimate.carry_over
    if found is not None and found.p < SIGNIFICANCE and found.deviation > CARRY_OVER.limit:
        yield Finding(
            what=f"slices on {start.broker} depend on the cell before them (start {start.start})",
            measured=f"{found.deviation:.1%} of B, p {found.p:.2g}",
            limit=f"{CARRY_OVER.limit:.0%} {CARRY_OVER.unit}",
            advice="the ramp was too short; longer slices (--slice-seconds) make it small",
            broker=start.broker,
        )


def _disturbed(broker: str, levels: Sequence[RoundLevel]) -> Iterator[Finding]:
    """Over all starts, so that further starts do not make a finding more likely."""
    disturbed = [level for level in levels if level.disturbed]
    if disturbed:
        share = sum(level.slices for level in disturbed) / sum(level.slices for level in levels)
        beyond = share > DISTURBED.limit
        yield Finding(
            what=f"the host was disturbed while {broker} was measured",
            measured=f"{share:.0%} of the slices lie in rounds that were {DISTURBED_LEVEL.limit:.0%} or more slower "
            f"than the median undisturbed round, the worst by {max(level.level for level in disturbed):.0%}",
            limit=f"{DISTURBED.limit:.0%} of the slices",
            advice="undisturbed rounds may not be told apart from disturbed ones: measure again at a quieter time"
            if beyond
            else "nothing: times are those of the median undisturbed round, and the intervals include the disturbance",
            consequence=VerdictKind.UNVERIFIED if beyond else VerdictKind.VALID,
            broker=broker,
            open_point=f"{share:.0%} of the slices disturbed (limit {DISTURBED.limit:.0%})" if beyond else "",
        )


def stolen_time(broker: str, shares: Iterable[float | None]) -> Iterator[Finding]:
    """A remark where the hypervisor gave much of a broker's CPU to other machines.

    shares: of the time of its CPUs, of layouts of about equal length
    """
    known = [share for share in shares if share is not None]
    if known and fmean(known) >= STOLEN.limit:
        yield Finding(
            what=f"the host gave part of the CPU time of {broker} to other machines",
            measured=f"{fmean(known):.1%} of the time of its CPUs was stolen, in the worst layout {max(known):.0%}",
            limit=f"{STOLEN.limit:.0%}, {STOLEN.unit}",
            advice="nothing: times are those in which the broker had its CPUs; a host with CPUs of its own is quieter",
            broker=broker,
        )


def _swap(host: Sequence[HostUse]) -> Iterator[Finding]:
    for use in host:
        if use.swap_growth_bytes > 0:
            yield Finding(
                what=f"the host swapped while {use.broker} was loaded (start {use.start})",
                measured=f"{use.swap_growth_bytes / 2**20:.1f} MiB more swap in use",
                limit="0",
                advice="give the broker less memory, or the host more",
                broker=use.broker,
            )
