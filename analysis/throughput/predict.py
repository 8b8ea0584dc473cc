"""Predictions of a fit: capacity, utilisation and waiting time at a number of filters and a replication grade.

A prediction is a transformation of the fit: the ends of all intervals follow from those of B. It describes a mean over
messages; nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.errors import DataError
from analysis.formats import number, ranged, us
from analysis.intervals import mapped
from analysis.results import JSON_SCHEMA, Interval, per, worst
from analysis.throughput.cost_model import processing_time_s, regressors
from analysis.throughput.queueing import mean_waiting_s
from analysis.throughput.results import FitResult, RunResult
from analysis.throughput.tables import SCOPES
from workloads.limits import EXTRAPOLATION
from workloads.status import VerdictKind


@dataclass(frozen=True, slots=True)
class Question:
    """The point to predict."""

    #: filters installed
    n_fltr: float
    #: copies per message
    replication: float
    #: messages/s that arrive; None for the capacity only
    rate_per_s: float | None = None
    #: predict far outside the measured cells as well
    extrapolate: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of a fit. Intervals follow from those of the fit; an upper end is None where it is unbounded."""

    fit: FitResult
    question: Question
    #: B is determined by the cap on transmission
    at_cap: bool
    #: why it is an extrapolation; empty where it is not
    far: str
    #: B
    processing_s: Interval
    #: the capacity 1 / B
    received_per_s: Interval
    #: (r + 1) / B
    overall_per_s: Interval
    #: at the rate asked for; None without a rate
    utilisation: Interval | None
    #: mean, at the rate asked for; None without a rate
    waiting_s: Interval | None


@dataclass(frozen=True, slots=True)
class RunPredictions:
    """The predictions of the fits of a run."""

    predicted: tuple[Prediction, ...]
    #: the reasons where a fit gives no prediction
    refused: tuple[str, ...]
    verdict: VerdictKind


def predict(fit: FitResult, question: Question) -> Prediction:
    """The prediction of a fit at this point.

    B is t_rcv + n_fltr t_fltr + r t_tx with the t interval from the fit's covariance, or r t_sat where the fit has a
    cap and r t_sat is larger. The waiting time assumes a single server, first come first served, with Poisson arrivals
    and the constant service time B, since n_fltr and r are constant (M/D/1). Raises DataError far outside the measured
    cells, for filters where the experiment had none, for B <= 0, and at a rate that is not below the capacity.
    """
    label = f"{fit.experiment} on {fit.broker} ({fit.run})"
    if question.n_fltr and "t_fltr" not in fit.parameters:
        raise DataError(
            f"{label}: there were no filters in this experiment, so that it cannot predict n_fltr "
            f"{question.n_fltr:g}; use --n-fltr 0, or an experiment with filters"
        )
    far = _far(fit, question)
    if far and not question.extrapolate:
        raise DataError(f"{label}: {far}; measure a larger --grid, or use --extrapolate")
    processing, at_cap = _processing(fit, question)
    if processing.estimate <= 0:
        raise DataError(
            f"{label}: the model gives B = {processing.estimate * 1e6:.4g} us at n_fltr {question.n_fltr:g} and "
            f"r {question.replication:g}, but a time must be positive; choose a point nearer to the cells of the fit"
        )
    rate = question.rate_per_s
    if rate is not None and rate * processing.estimate >= 1:
        raise DataError(
            f"{label}: {rate:g} messages/s are not below the capacity of {1 / processing.estimate:.0f} messages/s at "
            f"n_fltr {question.n_fltr:g} and r {question.replication:g}: the queue "
            "grows without bound; give a lower --rate"
        )
    return Prediction(
        fit=fit,
        question=question,
        at_cap=at_cap,
        far=far,
        processing_s=processing,
        received_per_s=per(1, processing),
        overall_per_s=per(question.replication + 1, processing),
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
    """Text for a terminal: a block per fit."""
    return "\n\n".join(
        block
        for answer in answers
        for block in (
            *("\n".join(_lines(prediction)) for prediction in answer.predicted),
            *(f"no prediction: {reason}" for reason in answer.refused),
        )
    )


def predict_json(answers: Sequence[RunPredictions]) -> dict[str, Any]:
    """`predict`: an entry per prediction, and the reasons where there is none."""
    return {
        "schema": JSON_SCHEMA,
        "predictions": [_record(prediction) for answer in answers for prediction in answer.predicted],
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
    verdict = worst(fit.verdict for fit in result.fits) if result.fits else result.verdict
    return RunPredictions(tuple(predicted), tuple(refused), verdict)


def _far(fit: FitResult, question: Question) -> str:
    """Why this point is far outside the cells of the fit, capped ones included; empty where it is not."""
    at_cap = fit.roofline.points if fit.roofline is not None and fit.roofline.preferred else ()
    measured = [*fit.points, *at_cap]
    reach = {
        "n_fltr": (question.n_fltr, max(point.n_fltr for point in measured)),
        "r": (question.replication, max(point.replication for point in measured)),
    }
    return " and ".join(
        f"{name} {asked:g} is more than {EXTRAPOLATION.limit:g} times the largest value of this fit, {most:g}"
        for name, (asked, most) in reach.items()
        if asked > EXTRAPOLATION.limit * most
    )


def _processing(fit: FitResult, question: Question) -> tuple[Interval, bool]:
    """B at this point, and whether it is determined by the cap."""
    estimate = processing_time_s(
        {name: interval.estimate for name, interval in fit.parameters.items()}, question.n_fltr, question.replication
    )
    roofline = fit.roofline
    if roofline is not None and roofline.preferred and question.replication * roofline.t_sat_s.estimate > estimate:
        return _scaled(roofline.t_sat_s, question.replication), True
    if fit.covariance is None or fit.t_quantile is None:
        return Interval(estimate), False
    x = np.array(regressors(fit.parameters, question.n_fltr, question.replication))
    half = fit.t_quantile * float(np.sqrt(x @ np.array(fit.covariance) @ x))
    return Interval(estimate, estimate - half, estimate + half), False


def _scaled(interval: Interval, factor: float) -> Interval:
    return mapped(interval, lambda value: value * factor)


def _waiting(processing: Interval, rate_per_s: float) -> Interval:
    """The mean waiting time, which increases with B.

    The lower end is None where B may be 0, the upper end where the rate may exceed the capacity.
    """
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


def _lines(prediction: Prediction) -> Iterator[str]:
    fit, question = prediction.fit, prediction.question
    yield (
        f"{fit.experiment} on {fit.broker}, profile {fit.profile} (run {fit.run}), "
        f"n_fltr {question.n_fltr:g}, r {question.replication:g}; 95 % intervals {SCOPES[fit.scope]}"
    )
    yield f"capacity: {ranged(prediction.received_per_s)} messages/s in, {ranged(prediction.overall_per_s)} overall"
    cap = ", by the cap" if prediction.at_cap else ""
    yield f"B: {ranged(prediction.processing_s, us)} us per message{cap}"
    if prediction.utilisation is not None and prediction.waiting_s is not None:
        utilisation = ranged(_scaled(prediction.utilisation, 100), number, 3)
        yield f"at {question.rate_per_s:g} messages/s: utilisation {utilisation} %"
        yield (
            f"mean waiting time there: {ranged(prediction.waiting_s, us)} us before service begins, assuming "
            "Poisson arrivals and a single server with the constant service time B, first come first served (M/D/1)"
        )
    if prediction.far:
        yield f"extrapolated: {prediction.far}; the model was not tested there"
    yield f"verdict of the model: {fit.verdict}"


def _record(prediction: Prediction) -> dict[str, Any]:
    fit, question = prediction.fit, prediction.question
    return {
        "run": fit.run,
        "broker": fit.broker,
        "experiment": fit.experiment,
        "profile": fit.profile,
        "scope": fit.scope,
        "n_fltr": question.n_fltr,
        "replication": question.replication,
        "rate_per_s": question.rate_per_s,
        "at_cap": prediction.at_cap,
        "extrapolated": prediction.far,
        "processing": _value(prediction.processing_s, "_s"),
        "received_per_s": _value(prediction.received_per_s),
        "overall_per_s": _value(prediction.overall_per_s),
        "utilisation": prediction.utilisation and _value(prediction.utilisation),
        "waiting": prediction.waiting_s and _value(prediction.waiting_s, "_s"),
        "verdict": fit.verdict,
    }


def _value(interval: Interval, unit: str = "") -> dict[str, Any]:
    """`estimate` and `ci95`, as elsewhere; an open end is null inside the pair."""
    ends = None if interval.low is None and interval.high is None else [interval.low, interval.high]
    return {f"estimate{unit}": interval.estimate, f"ci95{unit}": ends}
