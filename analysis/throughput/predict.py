"""What a fitted broker would do: capacity, utilisation and waiting at a number of filters and a replication grade.

A prediction is a fit transformed and nothing more: the ends of B's interval become those of everything else. It
describes a mean over messages; nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.errors import DataError
from analysis.intervals import around
from analysis.results import JSON_SCHEMA, FitResult, Interval, RunResult, worst
from analysis.throughput.console import SCOPES
from analysis.throughput.fit import processing_time_s
from analysis.throughput.linear_model import regressors
from analysis.throughput.queueing import mean_waiting_s
from workloads.limits import EXTRAPOLATION
from workloads.status import VerdictKind


@dataclass(frozen=True, slots=True)
class Question:
    """n_fltr filters, r copies per message, messages/s that arrive (None: capacity only); extrapolate: far as well."""

    n_fltr: float
    replication: float
    rate_per_s: float | None = None
    extrapolate: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """One fit's answer. Intervals are the fit's own; without an upper end where the data exclude none.

    at_cap: whether the cap on transmission decides B · far: why it is an extrapolation, empty where it is none ·
    processing_s: B · received_per_s: the capacity 1 / B · overall_per_s: (r + 1) / B · utilisation, waiting_s: at the
    rate asked for, None without one.
    """

    fit: FitResult
    question: Question
    at_cap: bool
    far: str
    processing_s: Interval
    received_per_s: Interval
    overall_per_s: Interval
    utilisation: Interval | None
    waiting_s: Interval | None


@dataclass(frozen=True, slots=True)
class RunPredictions:
    """One prediction per fit of a run, and why there are no others."""

    predicted: tuple[Prediction, ...]
    refused: tuple[str, ...]
    verdict: VerdictKind


def predict(fit: FitResult, question: Question) -> Prediction:
    """The fit at this point.

    B is t_rcv + n_fltr t_fltr + r t_tx with the t interval of the fit's covariance, or r t_sat where the fit found
    a cap that lies above it. The waiting time takes the broker for one server in first-come order, Poisson
    arrivals, and B for the service time of every message, as n_fltr and r are constant (M/D/1). Raises DataError
    far outside the cells that were measured, about filters where there were none, without a B above 0, and at a rate
    that is not below the capacity.
    """
    place = f"{fit.experiment} on {fit.broker} ({fit.run})"
    if question.n_fltr and "t_fltr" not in fit.parameters:
        raise DataError(
            f"{place}: there were no filters in this experiment, so that it knows nothing of n_fltr "
            f"{question.n_fltr:g}; ask with --n-fltr 0, or of an experiment with filters"
        )
    far = _far(fit, question)
    if far and not question.extrapolate:
        raise DataError(f"{place}: {far}; measure a larger --grid, or ask with --extrapolate")
    processing, at_cap = _processing(fit, question)
    if processing.estimate <= 0:
        raise DataError(
            f"{place}: the model gives B = {processing.estimate * 1e6:.4g} us at n_fltr {question.n_fltr:g} and "
            f"r {question.replication:g}, and no time is below 0; ask for a point nearer to the cells of the fit"
        )
    rate = question.rate_per_s
    if rate is not None and rate * processing.estimate >= 1:
        raise DataError(
            f"{place}: {rate:g} messages/s are not below the capacity of {1 / processing.estimate:.0f} messages/s at "
            f"n_fltr {question.n_fltr:g} and r {question.replication:g}: the queue "
            "grows without end; give a lower --rate"
        )
    return Prediction(
        fit=fit,
        question=question,
        at_cap=at_cap,
        far=far,
        processing_s=processing,
        received_per_s=_rate(processing, 1),
        overall_per_s=_rate(processing, question.replication + 1),
        utilisation=None if rate is None else _scaled(processing, rate),
        waiting_s=None if rate is None else _waiting(processing, rate),
    )


def predictions(results: Sequence[RunResult], question: Question) -> tuple[RunPredictions, ...]:
    """A prediction per fit of each run. Raises DataError, with the reasons, where there is none at all."""
    answers = tuple(_of_run(result, question) for result in results)
    if not any(answer.predicted for answer in answers):
        raise DataError("; ".join(reason for answer in answers for reason in answer.refused))
    return answers


def text(answers: Sequence[RunPredictions]) -> str:
    """For a terminal: a block per fit."""
    return "\n\n".join(
        block
        for answer in answers
        for block in (
            *("\n".join(_lines(one)) for one in answer.predicted),
            *(f"no prediction: {reason}" for reason in answer.refused),
        )
    )


def predict_json(answers: Sequence[RunPredictions]) -> dict[str, Any]:
    """`predict`: one entry per fit that predicts, and the reasons of the others."""
    return {
        "schema": JSON_SCHEMA,
        "predictions": [_record(one) for answer in answers for one in answer.predicted],
        "refused": [reason for answer in answers for reason in answer.refused],
        "verdict": worst(answer.verdict for answer in answers),
    }


def _of_run(result: RunResult, question: Question) -> RunPredictions:
    predicted: list[Prediction] = []
    refused = list(result.refused) or ([] if result.fits else [f"{result.path} has no model to predict from"])
    for fit in result.fits:
        try:
            predicted.append(predict(fit, question))
        except DataError as error:
            refused.append(str(error))
    return RunPredictions(tuple(predicted), tuple(refused), worst(fit.verdict for fit in result.fits))


def _far(fit: FitResult, question: Question) -> str:
    """Why this point is far outside the cells that the fit describes, at the cap or not; empty where it is not."""
    at_cap = fit.roofline.points if fit.roofline is not None and fit.roofline.preferred else ()
    measured = [*fit.points, *at_cap]
    reach = {
        "n_fltr": (question.n_fltr, max(point.n_fltr for point in measured)),
        "r": (question.replication, max(point.replication for point in measured)),
    }
    return " and ".join(
        f"{name} {asked:g} is more than {EXTRAPOLATION.limit:g} times the {most:g} that this fit saw at most"
        for name, (asked, most) in reach.items()
        if asked > EXTRAPOLATION.limit * most
    )


def _processing(fit: FitResult, question: Question) -> tuple[Interval, bool]:
    """B at this point, and whether it is that of the cap."""
    estimate = processing_time_s(
        {name: interval.estimate for name, interval in fit.parameters.items()}, question.n_fltr, question.replication
    )
    roofline = fit.roofline
    if roofline is not None and roofline.preferred and question.replication * roofline.t_sat_s.estimate > estimate:
        return _scaled(roofline.t_sat_s, question.replication), True
    if fit.covariance is None:
        return Interval(estimate), False
    x = np.array(regressors(fit.parameters, question.n_fltr, question.replication))
    return around(estimate, float(np.sqrt(x @ np.array(fit.covariance) @ x)), fit.degrees), False


def _scaled(interval: Interval, factor: float) -> Interval:
    low, high = (None if end is None else end * factor for end in (interval.low, interval.high))
    return Interval(interval.estimate * factor, low, high)


def _rate(processing: Interval, messages: float) -> Interval:
    """messages / B: the ends change places. Where B may be 0, no rate is excluded."""
    if processing.low is None or processing.high is None:
        return Interval(messages / processing.estimate)
    highest = messages / processing.low if processing.low > 0 else None
    return Interval(messages / processing.estimate, messages / processing.high, highest)


def _waiting(processing: Interval, rate_per_s: float) -> Interval:
    """It grows with B; open below where B may be 0, and above where the rate may be beyond the capacity."""
    low, high = processing.low, processing.high
    if low is None or high is None:
        return Interval(_waits(rate_per_s, processing.estimate))
    return Interval(
        _waits(rate_per_s, processing.estimate),
        _waits(rate_per_s, low) if low > 0 else None,
        _waits(rate_per_s, high) if rate_per_s * high < 1 else None,
    )


def _waits(rate_per_s: float, service_s: float) -> float:
    return mean_waiting_s(rate_per_s, service_s, service_s**2)


def _lines(one: Prediction) -> Iterator[str]:
    fit, question = one.fit, one.question
    yield (
        f"{fit.experiment} on {fit.broker}, profile {fit.profile} (run {fit.run}), "
        f"n_fltr {question.n_fltr:g}, r {question.replication:g}; 95 % intervals {SCOPES[fit.scope]}"
    )
    yield f"capacity: {_range(one.received_per_s, '.0f')} messages/s in, {_range(one.overall_per_s, '.0f')} overall"
    yield f"B: {_range(_scaled(one.processing_s, 1e6))} us per message" + (", by the cap" if one.at_cap else "")
    if one.utilisation is not None and one.waiting_s is not None:
        yield f"at {question.rate_per_s:g} messages/s: utilisation {_range(_scaled(one.utilisation, 100), '.1f')} %"
        yield (
            f"mean waiting time there: {_range(_scaled(one.waiting_s, 1e6))} us before service begins, if arrivals are "
            "Poisson and the broker is one server that takes B for every message, first come first served (M/D/1)"
        )
    if one.far:
        yield f"extrapolated: {one.far}; nothing shows that the model holds there"
    yield f"verdict of the model: {fit.verdict}"


def _range(interval: Interval, digits: str = ".4g") -> str:
    """Estimate and ends; an end that the data do not give is said to be open."""
    if interval.low is None and interval.high is None:
        return format(interval.estimate, digits)
    low, high = ("open" if end is None else format(end, digits) for end in (interval.low, interval.high))
    return f"{interval.estimate:{digits}} ({low} to {high})"


def _record(one: Prediction) -> dict[str, Any]:
    return {
        "run": one.fit.run,
        "broker": one.fit.broker,
        "experiment": one.fit.experiment,
        "profile": one.fit.profile,
        "scope": one.fit.scope,
        "n_fltr": one.question.n_fltr,
        "replication": one.question.replication,
        "rate_per_s": one.question.rate_per_s,
        "at_cap": one.at_cap,
        "extrapolated": one.far,
        "processing": _value(one.processing_s, "_s"),
        "received_per_s": _value(one.received_per_s),
        "overall_per_s": _value(one.overall_per_s),
        "utilisation": one.utilisation and _value(one.utilisation),
        "waiting": one.waiting_s and _value(one.waiting_s, "_s"),
        "verdict": one.fit.verdict,
    }


def _value(interval: Interval, unit: str = "") -> dict[str, Any]:
    """As elsewhere `estimate` and `ci95`; an open end is null inside the pair."""
    ends = None if interval.low is None and interval.high is None else [interval.low, interval.high]
    return {f"estimate{unit}": interval.estimate, f"ci95{unit}": ends}
