"""The error of both metrics."""


class ScoreError(ValueError):
    """The input cannot be scored; the message says where, what was found and what was expected."""
