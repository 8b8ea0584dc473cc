"""The one error of this layer."""


class DataError(Exception):
    """The data cannot support what was asked of them; the message says what is missing and which command comes next."""
