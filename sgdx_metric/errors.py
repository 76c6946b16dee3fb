"""The error of both metrics."""


class ScoreError(ValueError):
    """The input cannot be scored; the message says where, what was found and what was expected."""

    def __init__(self, message: str) -> None:
        """Keep the message in one line, whatever ids it has."""
        super().__init__("\\n".join(message.splitlines()))
