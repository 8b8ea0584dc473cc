"""A made life of a broker with a fault: what the load would have recorded."""

from workloads.faults.accounting import Fate
from workloads.schema import FaultCopyRow, FaultLifeRow, FaultMessageRow

MS, S = 1_000_000, 1_000_000_000
#: Two lanes, each with a consumer of its own; 100 messages/s in all for 10 s, the fault after 5 s.
STEP, LANES, END, FAULT = 10 * MS, 2, 10 * S, 5 * S


def life_of(*, silent=(0, 0), halved=(0, 0), of_lane=None, first_broken_ns=None, overdue=""):
    """Messages, copies and the row of the life.

    silent: no confirmation and no copy in this time; they come at its end
    halved: every second message that is due in it comes at its end
    of_lane: the lane that this concerns; None for all
    """
    messages, copies = [], []
    for index in range(END // STEP):
        lane, seq = index % LANES, index // LANES
        planned = index * STEP
        at = planned + MS
        if of_lane in {None, lane}:
            if silent[0] <= at < silent[1]:
                at = silent[1]
            elif halved[0] <= at < halved[1] and seq % 2:
                at = halved[1]
        confirmed = at if at < 50 * S else None
        fate = Fate.UNKNOWN if confirmed is None else Fate.CONFIRMED
        messages.append(FaultMessageRow(lane, seq, planned, planned, confirmed, fate.value))
        if confirmed is not None:
            copies.append(FaultCopyRow(lane, lane, seq, at, 0))
    copies.sort(key=lambda copy: copy.at_ns)
    life = FaultLifeRow(
        place="durable",
        publishers=LANES,
        consumers=LANES,
        capacity_per_s=300.0,
        rate_per_s=100.0,
        begin_ns=0,
        fault_ns=FAULT,
        over_ns=FAULT,
        ready_ns=None,
        load_end_ns=END,
        end_ns=END + S,
        first_broken_ns=first_broken_ns,
        attempts=0,
        refusals=0,
        overdue=overdue,
    )
    return messages, copies, life
