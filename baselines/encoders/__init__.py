"""BERT-like text encoders: loading them, making tiny ones for trials, and spans of tokens."""
