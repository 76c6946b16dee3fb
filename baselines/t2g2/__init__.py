"""A generator with an encoder-decoder: T5 fine-tuned to say a turn's actions."""
