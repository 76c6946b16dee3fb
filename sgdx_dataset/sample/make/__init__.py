"""Write the sample corpus: ``python -m sgdx_dataset.sample.make [--output DIR]``."""
