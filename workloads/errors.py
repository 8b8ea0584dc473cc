"""The error of this layer: a description is invalid, and is rejected before anything runs."""


class WorkloadError(ValueError):
    """A plan, grid or option describes something that cannot be run; the message says what was expected."""
