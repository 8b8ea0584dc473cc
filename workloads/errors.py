"""The error of this layer: the description is wrong, and was refused before anything ran."""


class WorkloadError(ValueError):
    """A plan, grid or option describes something that cannot be run; the message says what was expected."""
