"""``python -m baselines.t5dst.publish``: write a trained model's card anew, and push it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..card import push, write_card
from ..launch import publish_options, run_command
from ..run import read_json
from .formats import get_format

_SCHEMA = {
    "service_name": "Cabs_9",
    "description": "Rides through town",
    "slots": [
        {
            "name": "destination",
            "description": "Where the ride goes to",
            "is_categorical": False,
            "possible_values": [],
        },
        {
            "name": "passengers",
            "description": "Number of people",
            "is_categorical": True,
            "possible_values": ["1", "2", "3"],
        },
    ],
    "intents": [{"name": "OrderCab", "description": "Call a cab"}],
}
_HISTORY = [
    {"speaker": "USER", "utterance": "I need a cab for two."},
    {"speaker": "SYSTEM", "utterance": "Where to?"},
]
_UTTERANCE = "To the Botanical Garden, please."


def example(repository: str, format_name: str, max_target: int) -> str:
    """Python that tracks one dialogue with nothing but transformers: ten lines and the prompts."""
    prompt = get_format(format_name)
    said, parts = prompt.history(_HISTORY, _UTTERANCE), prompt.parts(_SCHEMA)
    asked = [f"{said} {part}" if prompt.HISTORY_FIRST else f"{part} {said}" for part in parts]
    prompts = "".join(f"    {text!r},\n" for text in asked)
    return f"""
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({repository!r})
model = AutoModelForSeq2SeqLM.from_pretrained({repository!r})
prompts = [
{prompts}]
inputs = tokenizer(prompts, return_tensors="pt", padding=True)
outputs = model.generate(**inputs, max_new_tokens={max_target})
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
"""


def publish(output: Path, repository: str | None) -> str | None:
    """Write the card; with a repository, push the model and return where it is.

    Raises:
        SgdxError: The folder is not of a training, or the Hub does not take it.
    """
    settings = read_json(output / "run.json")["record"]["settings"]
    text = example(repository or str(output), settings["format"], settings["max_target"])
    write_card(output, text)
    return push(output, repository) if repository else None


def run(options: argparse.Namespace) -> None:
    """Publish, and say where it is."""
    print(publish(options.model, options.push_to_hub) or options.model / "README.md")


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    return run_command("t5dst", run, publish_options("baselines.t5dst.publish", __doc__))


if __name__ == "__main__":
    sys.exit(main())
