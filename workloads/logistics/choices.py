"""What the paper leaves open or contradicts itself about, and what is done here; printed with every description.

Source of the questions: Appel, Sachs, sections 4.3 to 4.6, Tables 1 to 3.
"""

from __future__ import annotations

from typing import NamedTuple


class OpenQuestion(NamedTuple):
    """Something that the paper leaves open, and the choice here."""

    question: str
    choice: str


CHOICES: tuple[OpenQuestion, ...] = (
    OpenQuestion(
        "25152 subscriptions to positions (Table 3), or one more as a shipment enters a vehicle (section 4.3)",
        "tracking for the whole life of a shipment, as in Table 3: a vehicle is heard half of the time, so that it "
        "reports every 6 minutes, evenly",
    ),
    OpenQuestion(
        "each customer sends a single order, and 1000 customers send 8384",
        "8.384 orders per session of a customer; 8.43 parallel publishers then are sessions of 12 minutes",
    ),
    OpenQuestion(
        "rates of environment data, and publishers that join (Table 3)",
        "profile corrected: vehicles report as often as positions, hubs from two zones every 6 minutes; sensors do not "
        "join, in a run of either profile, as vehicles are static in every other row",
    ),
    OpenQuestion(
        "proof of delivery: from the recipient to the headquarters (Table 1), or from vehicles to both (Table 3)",
        "as in Table 3",
    ),
    OpenQuestion(
        "queue or topic, persistence, transactions, acknowledgement",
        "orders and pickup orders on queues, the others on topics; all but positions persistent; no transactions: the "
        "headquarters confirm an order, send its pickup order, and then acknowledge it, which is at least once; "
        "strict consumption acknowledges each persistent message, relaxed consumption none",
    ),
    OpenQuestion(
        "reliable delivery to customers",
        "persistent messages for connected subscribers; the two topic subscriptions of the headquarters are durable",
    ),
    OpenQuestion(
        "all shipments within a vehicle belong to different customers",
        "true with 53 vehicles per hub; below, a customer may get several copies, one for each subscription",
    ),
    OpenQuestion(
        "arrivals",
        "at constant rates, with the drivers of equal entities staggered; never random, as the stages of a shipment "
        "follow its begin",
    ),
    OpenQuestion(
        "form of selectors",
        "equality of texts that begin with a letter, so that no broker reads them as numbers",
    ),
    OpenQuestion(
        "hubs of a shipment, where there are several",
        "a hub and the next one; vehicle and zone are those of its first hub, for its whole life",
    ),
    OpenQuestion(
        "sizes of messages",
        "bytes: order 500, confirmation 128, pickup 300, scan 64, proof 200, position 64, environment 64 and 8 for "
        "each shipment that is monitored there",
    ),
    OpenQuestion(
        "when a shipment's subscriptions begin and end",
        "2 s by the clock after its order, and 2 s after its proof of delivery, at planned instants",
    ),
    OpenQuestion(
        "connections of customers",
        "subscriptions of several customers share one; a session has one of its own",
    ),
)
