"""Benchmarks of speed, each beside a stated peer; run as modules from a checkout."""
