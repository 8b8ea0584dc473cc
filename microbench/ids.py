"""The two ways in which the study filters for a message's id, and messages that carry it in both places.

All series of one experiment send equal messages in this way, so that only the filter differs between them.
"""

from collections.abc import Mapping

from workloads.throughput.flow import CORRELATION_ID, Template

#: The value of the factor `filter` -> the name by which the selector sees the id.
FILTERS: Mapping[str, str] = {"correlation": CORRELATION_ID, "property": "ID"}


def message(name: str) -> Template:
    """A message with this id, as correlation id and as application property."""
    return Template(((FILTERS["property"], name),), correlation_id=name)
