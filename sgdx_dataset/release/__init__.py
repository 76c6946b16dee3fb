"""A copy of the SGD release: opening it, its schemas, dialogues and overlays."""
