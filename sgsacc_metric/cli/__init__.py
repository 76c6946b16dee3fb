"""The command line of the metric; `evaluate` does not need it."""
