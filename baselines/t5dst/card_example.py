"""The example of use on the model card of a T5 tracker."""

from __future__ import annotations

from sgdx_dataset.schema import Intent, Service, Slot

from .formats import get_format

_SCHEMA = Service(
    "Cabs_9",
    "Rides through town",
    [
        Slot("destination", "Where the ride goes to", False, []),
        Slot("passengers", "Number of people", True, ["1", "2", "3"]),
    ],
    [Intent("OrderCab", "Call a cab", False, [], {}, [])],
)
_HISTORY = [
    {"speaker": "USER", "utterance": "I need a cab for two."},
    {"speaker": "SYSTEM", "utterance": "Where to?"},
]
_UTTERANCE = "To the Botanical Garden, please."


def example(repository: str, format_name: str, max_target: int) -> str:
    """Python code that tracks one turn of a dialogue and imports only transformers."""
    prompt = get_format(format_name)
    dialogue, parts = prompt.history(_HISTORY, _UTTERANCE), prompt.parts(_SCHEMA)
    pairs = [(dialogue, part) if prompt.HISTORY_FIRST else (part, dialogue) for part in parts]
    prompts = "".join(f"    {' '.join(pair)!r},\n" for pair in pairs)
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
