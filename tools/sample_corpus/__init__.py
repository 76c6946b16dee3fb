"""The generator of the sample corpus: ``python -m tools.sample_corpus [--output DIR]``."""
