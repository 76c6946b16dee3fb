"""A deterministic tracker without training, which serves as a lower bound for the others."""
