"""Attacks on the project that can be repeated: ``python -m tools.attack --help``."""
