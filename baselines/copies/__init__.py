"""Generators that learn nothing: the floor of a generator, and controls of the metrics."""
