"""The equation of the model: its parameters, what each is multiplied by, and the values of the paper.

Needs no library, since the verbs that answer from a stored analysis use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

#: Parameter -> what it is multiplied by, at n_fltr filters and replication grade r.
REGRESSORS: Mapping[str, Callable[[float, float], float]] = {
    "t_rcv": lambda _n_fltr, _r: 1.0,
    "t_fltr": lambda n_fltr, _r: n_fltr,
    "t_tx": lambda _n_fltr, r: r,
}

PARAMETERS = tuple(REGRESSORS)

#: ActiveMQ 4.0 on a 3.2 GHz CPU of its time, in s (Henjes et al. 2006, section 4.5).
PAPER: Mapping[str, float] = {"t_rcv": 4.9e-5, "t_fltr": 1.6e-7, "t_tx": 1.5e-5}


def regressors(parameters: Iterable[str], n_fltr: float, replication: float) -> list[float]:
    """The row of the design matrix for these parameters."""
    return [REGRESSORS[name](n_fltr, replication) for name in parameters]


def processing_time_s(parameters: Mapping[str, float], n_fltr: float, replication: float) -> float:
    """B: seconds per message received; 1 / B messages/s are received, the overall rate is (r + 1) / B."""
    return sum(value * REGRESSORS[name](n_fltr, replication) for name, value in parameters.items())
