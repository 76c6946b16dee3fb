"""``python -m baselines.sgd_baseline.publish``: write a trained model's card anew, and push it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..card import push, write_card
from ..launch import publish_options, run_command


def example(repository: str) -> str:
    """Python that judges one turn with nothing but transformers."""
    return f"""
import torch
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({repository!r}, trust_remote_code=True)
model = AutoModel.from_pretrained({repository!r}, trust_remote_code=True).eval()


def read(pairs):
    first, second = zip(*pairs)
    return tokenizer(list(first), list(second), padding=True, return_tensors="pt")


service = "Rides through town"
elements = model.embed(**read([
    (service, "OrderCab Call a cab"),
    (service, "shared Whether to share the cab"),  # categorical, with two values
    (service, "destination Where the ride goes to"),
    ("shared Whether to share the cab", "True"),
    ("shared Whether to share the cab", "False"),
]))
asked = {{  # elements count from 1; 0 is the intent NONE
    "turn": [0], "intents": [[0, 1]],
    "categorical": [2], "categorical_frame": [0], "values": [[4, 5]],
    "free": [3], "free_frame": [0], "span": [0],
}}
turn = read([("Where to?", "To the Botanical Garden, please.")])
with torch.no_grad():
    asked = {{name: torch.tensor(places) for name, places in asked.items()}}
    logits = model(**turn, elements=elements, **asked).logits
print({{name: scores.argmax(-1).tolist() for name, scores in logits.items()}})
"""


def publish(output: Path, repository: str | None) -> str | None:
    """Write the card; with a repository, push the model and return where it is.

    Raises:
        SgdxError: The folder is not of a training, or the Hub does not take it.
    """
    write_card(output, example(repository or str(output)))
    return push(output, repository) if repository else None


def run(options: argparse.Namespace) -> None:
    """Publish, and say where it is."""
    print(publish(options.model, options.push_to_hub) or options.model / "README.md")


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    return run_command(
        "sgd_baseline", run, publish_options("baselines.sgd_baseline.publish", __doc__)
    )


if __name__ == "__main__":
    sys.exit(main())
