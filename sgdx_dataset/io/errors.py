"""The error that is raised for input that cannot be used."""


class SgdxError(ValueError):
    """Input cannot be used: one line of file, record, what was found and what was expected."""
