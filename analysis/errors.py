"""The error of this layer."""


class DataError(Exception):
    """The data cannot support the requested analysis; the message says what is missing and which command to run."""
