"""Text encoders of BERT's architecture: loading them, tiny ones to try, spans of tokens."""
