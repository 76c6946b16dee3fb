"""The example of use on the model card of onepass."""

from __future__ import annotations


def example(repository: str) -> str:
    """Python code that reads one frame and imports only torch and transformers.

    Args:
        repository: Where the model is: a folder, or a name on the Hub.
    """
    return f"""
# python -m baselines.predict --model {repository}
"""
