"""The one error that bad input raises."""


class SgdxError(ValueError):
    """Input that cannot be used; the message is one line: file, record, found, expected."""
