"""The two ways in which the study filters for a message's id, and messages that carry the id in both places.

With these, all series of an experiment send identical messages, so that they differ only in the filter.
"""

from collections.abc import Mapping

from workloads.throughput.flow import CORRELATION_ID, Template

#: The value of the factor `filter` -> the name by which the selector sees the id.
FILTERS: Mapping[str, str] = {"correlation": CORRELATION_ID, "property": "ID"}


def message(name: str) -> Template:
    """A message with this id, as correlation id and as application property."""
    return Template(((FILTERS["property"], name),), correlation_id=name)
