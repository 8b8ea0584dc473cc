"""What a disclosure of this workload omits: no run rules are published for it."""

from __future__ import annotations

#: (section, required item, why the disclosure omits it)
NOT_APPLICABLE: tuple[tuple[str, str, str], ...] = (
    ("all", "what is required of a submission", "there are no run rules for this workload, and no submissions"),
    ("4.1", "a JMS provider", "no JMS client; messages are bodies of bytes, whatever their type in the tables"),
)
