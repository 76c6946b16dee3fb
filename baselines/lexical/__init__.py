"""A deterministic floor that learns nothing: the schema's words, and what was said."""
