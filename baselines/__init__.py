"""Trackers of the dialogue state, run from a checkout: frame rows in, prediction rows out."""
