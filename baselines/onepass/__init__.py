"""The one-pass tracker: one pass of an encoder per frame reads a turn and a whole schema."""
