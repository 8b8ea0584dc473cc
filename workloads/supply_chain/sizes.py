"""Body sizes of messages: the formula of Table 2 with the three values of an interaction's sizing parameter.

Size = x (m1 + m2 y) + b, where x and y are the sizing parameters ("number of order lines"), y in interaction 5 only.
They take one of three pairs of values, a *column*, drawn once per execution: all messages of an execution share it,
because the parameter belongs to the interaction. (Draws per message would have the same means.)

Choices: a KByte is 1000 bytes (the papers do not define it; 1024 is as likely). The published sizes include the headers
of the product they were measured with; here the *body* has the computed size, so that messages are larger by their
headers. The papers do not print the values of x: for each interaction and column there is exactly one integer
(interactions 6 and 7: one up to rounding) that gives all sizes of Table 4. The sizes need not increase:
productAnnouncement has 1.21, 0.28 and 10.51. For statInfoSM only a range (4.7 to 24.78) and a mean (5.27) are
published: 5 cash desks and 2, 7 or 13 sales lines at 95, 4 and 1 % give both; the 7 is inferred from the mean.
priceUpdate has 0.231 from Table 2, which fits Table 5, unlike the 0.24 of Table 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TypeAlias

from workloads.errors import WorkloadError
from workloads.messaging import MOST_BODY_BYTES

BYTES_PER_KBYTE = 1000

#: By column: Table 4's "Size 1", "Size 2", "Size 3".
ThreeSizes: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Coefficients:
    """A row of Table 2, in bytes."""

    m1: Fraction
    m2: Fraction
    b: Fraction


def _row(m1: str, b: str, m2: str = "0") -> Coefficients:
    return Coefficients(*(Fraction(kbyte) * BYTES_PER_KBYTE for kbyte in (m1, m2, b)))


#: Table 2, by message; "na" is 0.
COEFFICIENTS: Mapping[str, Coefficients] = {
    "orderConf": _row("0.0565", "1.7374"),
    "statInfoOrderDC": _row("0.0153", "0.1463"),
    "shipInfo": _row("0.0787", "0.8912"),
    "shipDep": _row("0.0787", "0.7222"),
    "order": _row("0.0565", "1.4534"),
    "shipConf": _row("0.0202", "0.7140"),
    "callForOffers": _row("0.1785", "0.8094"),
    "offer": _row("0.2489", "0.9414"),
    "pOrder": _row("0.2498", "1.1076"),
    "pShipConf": _row("0.0827", "0.7612"),
    "statInfoShipDC": _row("0.0831", "0.7681"),
    "pOrderConf": _row("0.2410", "1.3494"),
    "invoice": _row("0.1942", "1.1211"),
    "pShipInfo": _row("0.0827", "0.7279"),
    "priceUpdate": _row("0", "0.2310"),
    "inventoryInfo": _row("0.0970", "0.5137"),
    "statInfoSM": _row("0.0139", "0.9813", m2="0.3650"),
    "productAnnouncement": _row("0.0103", "0.1754"),
    "creditCardHL": _row("0.0166", "0.1846"),
}

#: Probabilities of the columns, from the heading of Table 4.
PROBABILITIES = (Fraction(95, 100), Fraction(4, 100), Fraction(1, 100))


@dataclass(frozen=True, slots=True)
class SizeDistribution:
    """The values of an interaction's sizing parameters by column, and the probability of each column."""

    x: ThreeSizes = (1, 1, 1)
    y: ThreeSizes = (0, 0, 0)
    probabilities: tuple[Fraction, Fraction, Fraction] = PROBABILITIES

    def body_bytes(self, message: str) -> ThreeSizes:
        """Body sizes by column, in whole bytes. Raises WorkloadError if a body is larger than the load can send."""
        row = COEFFICIENTS[message]
        first, second, third = (
            int(x * (row.m1 + row.m2 * y) + row.b + Fraction(1, 2)) for x, y in zip(self.x, self.y, strict=True)
        )
        if max(first, second, third) > MOST_BODY_BYTES:
            raise WorkloadError(
                f"{message}: a body of {max(first, second, third)} bytes; expected at most {MOST_BODY_BYTES}, "
                "so choose smaller sizing parameters"
            )
        return first, second, third

    def mean_bytes(self, message: str) -> Fraction:
        """Expected size of a message."""
        sizes = zip(self.probabilities, self.body_bytes(message), strict=True)
        return sum((probability * size for probability, size in sizes), Fraction())

    @property
    def begins(self) -> tuple[int, int]:
        """The smallest draws, evenly distributed over 0 to 2**64 - 1, that fall in columns 1 and 2."""
        first, second, _ = self.probabilities
        return ceil(first * 2**64), ceil((first + second) * 2**64)


#: Table 2, column "Message Sizing Parameters".
SIZING_PARAMETERS: Mapping[int, str] = {
    1: "order lines sent to the distribution centre",
    2: "purchase order lines sent to the supplier",
    3: "none: fixed size",
    4: "registered items leaving the warehouse",
    5: "cash desks (x) and sales lines (y)",
    6: "new products announced",
    7: "credit cards in the hot list",
}

#: The values that result in the sizes of Table 4 (see above).
SIZE_DISTRIBUTIONS: Mapping[int, SizeDistribution] = {
    1: SizeDistribution(x=(5, 100, 700)),
    2: SizeDistribution(x=(3, 35, 200)),
    3: SizeDistribution(),
    4: SizeDistribution(x=(10, 100, 500)),
    5: SizeDistribution(x=(5, 5, 5), y=(2, 7, 13)),
    6: SizeDistribution(x=(100, 10, 1000)),
    7: SizeDistribution(x=(50, 500, 3000)),
}
