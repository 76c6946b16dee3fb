"""The generator of the sample corpus: ``python -m maintenance.sample_corpus [--output DIR]``."""
