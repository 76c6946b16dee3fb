"""The error that is raised for input that cannot be used."""


class SgdxError(ValueError):
    """Input cannot be used.

    The message is one line. It names the file and the record in it, says what was found there and
    what was expected.
    """
