"""The SGD baseline (Rastogi et al. 2020, arXiv 1909.05855): one encoder pass for each turn."""
