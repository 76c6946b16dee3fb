"""The example of use on the model card of an SGD baseline."""

from __future__ import annotations


def example(repository: str) -> str:
    """Python code that predicts for one turn and imports only torch and transformers."""
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
inputs = {{  # elements count from 1; 0 is the intent NONE
    "turn": [0], "intents": [[0, 1]],
    "categorical": [2], "categorical_frame": [0], "values": [[4, 5]],
    "free": [3], "free_frame": [0], "span": [0],
}}
turn = read([("Where to?", "To the Botanical Garden, please.")])
with torch.no_grad():
    inputs = {{name: torch.tensor(column) for name, column in inputs.items()}}
    logits = model(**turn, elements=elements, **inputs).logits
print({{name: scores.argmax(-1).tolist() for name, scores in logits.items()}})
"""
