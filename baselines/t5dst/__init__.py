"""Sequence-to-sequence trackers: T5DST (one pass per slot) and D3ST (one pass per frame)."""
