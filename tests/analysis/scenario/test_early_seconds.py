"""The backlog of a load whose first messages left before its first period was said to have begun."""

from analysis.scenario.timeline import seconds


def sent(second, copies):
    return {"second": second, "n": copies, "copies": copies}


def heard(second, copies):
    return {"second": second, "n": 0, "copies": copies, "of_members": 0}


def test_what_was_sent_early_is_in_the_backlog():
    """Copies under way when the clock of the periods starts are missing in no second: it never goes below 0."""
    found = seconds([sent(-1, 5), sent(0, 10), sent(1, 10)], [heard(0, 12), heard(1, 13)], {})

    assert [(at.second, at.sent, at.backlog) for at in found] == [(0, 10, 3), (1, 10, 0)]
