"""Exceptions. The names are TensorFlow's, the bases are Python's own.

Wrong Python types raise ``TypeError`` and a lack of memory raises ``MemoryError``.
"""


class InvalidArgumentError(ValueError):
    """An argument is illegal. The message names it, says what was given and what is legal."""

    __module__ = "dgrad"


class UnimplementedError(NotImplementedError):
    """The arguments have a meaning in TensorFlow, but no implementation computes it."""

    __module__ = "dgrad"


class CancelledError(RuntimeError):
    """The computation was cancelled before its end; the result is unspecified."""

    __module__ = "dgrad"
