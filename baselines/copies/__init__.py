"""Generators that learn nothing: the baseline of a generator, and controls of the metrics."""
