"""What only trackers of dialogue states have: what they do slot by slot, and what breaks it."""
