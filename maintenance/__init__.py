"""Programs that make what the repository ships; they are run from a checkout."""
