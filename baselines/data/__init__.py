"""Frame rows and prediction files; the only place that decides what a tracker may read."""
