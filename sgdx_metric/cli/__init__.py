"""The command line of the metric; `evaluate` needs nothing of this folder."""
