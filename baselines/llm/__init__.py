"""The room of `python -m baselines.llm`, which is `sgdx ask`."""
