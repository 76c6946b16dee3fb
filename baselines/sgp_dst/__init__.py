"""SGP-DST (Ruan et al. 2020, arXiv 2002.00181): four BERT submodels, joined by rules."""
