"""The metric's version, as it stands in every signature."""

__version__ = "0.2.0"
