"""A supply chain of supermarkets, derived from the published SPECjms2007 papers: seven interactions as pure tables.

What an engine needs, and where it stands:

* `topology`: `horizontal(base)`, `vertical(base)`; `freeform.read(text, base)` for a user's own; `.only(2)` for one
  interaction alone.
* `agents.agents(topology)`: for each location its event handlers (what they consume, in a transaction or not, and what
  they answer) and its drivers (what they send, at which planned instants).
* `executions.cast(topology, execution)`: who takes part in an execution, from its id alone; `column` for its sizes.

**A handler's answer is a table look-up.** A driver casts an execution once and writes the cast into header fields of
the message; every answer copies them from the message that it answers:

    interaction, origin, number     the execution's id
    column                          0, 1 or 2: which of the step's three body sizes
    one field per party in the cast an index: of a location, of the product family ("suppliers")
    sender                          the index of the location that sent this message; the only field not copied

An answer then goes to `answer.destinations[<field answer.step.receiver>]` with a body of `body_bytes[column]` bytes,
where `answer.only_from` is not given, or that field equals `sender`: a distribution centre gets an offer from each
supplier, and orders upon the one from the supplier that is cast. Handlers keep no state, so that any number of them may
share a queue; casts repeat after `executions.cast_period`, so that all frames can be built beforehand. The audit casts
the execution again from its id, and knows every message that it should have had (`executions.counts`).

`characterization` says what the tables amount to, before anything runs: rates and bytes by step, interaction, location
and group. `python -m workloads.specjms2007 --topology vertical --base 5` prints it.
"""

from __future__ import annotations

#: All destinations are below it: brokers are set up so that nothing there makes a handler's connection wait.
DESTINATIONS = "bench.specjms2007"

#: Of our own figure; it is never called by the name of a SPEC metric.
FIGURE = "supply-chain BASE ({topology})"

#: Stands before every result. The run and reporting rules ask for text to this effect (section 2.2.2).
DISCLAIMER = (
    "This workload is derived from the published SPECjms2007 papers; it is not the SPECjms2007 benchmark, and its "
    "figures are not SPEC metrics. SPECjms2007 is a trademark of the Standard Performance Evaluation Corporation "
    "(SPEC). These results or findings have not been reviewed or accepted by SPEC: they may not be compared with any "
    "published SPEC result, and no performance relative to one may be inferred. The official web site of SPECjms2007 "
    "is http://www.spec.org/osg/jms2007."
)
