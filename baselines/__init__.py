"""Dialogue state trackers, run from a checkout: they read frame rows and write prediction rows."""
