"""Frame rows in, prediction files out: the only place that decides what a tracker may read."""
