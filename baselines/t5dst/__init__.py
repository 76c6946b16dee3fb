"""Trackers with an encoder-decoder: T5DST (one pass per slot) and D3ST (one pass per frame)."""
