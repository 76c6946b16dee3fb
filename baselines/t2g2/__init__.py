"""Generators with an encoder-decoder: T5 fine-tuned or prefix-tuned to say a turn's actions."""
