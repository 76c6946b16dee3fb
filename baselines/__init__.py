"""Dialogue state trackers, which read frame rows and write prediction rows, and their commands."""
