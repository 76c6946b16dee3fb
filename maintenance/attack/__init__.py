"""Attacks on the project that can be repeated: ``python -m maintenance.attack --help``."""
