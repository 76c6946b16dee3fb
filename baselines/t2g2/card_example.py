"""The example of use on the model card of a generator."""

from __future__ import annotations

_INPUTS = {
    "derived": "SYSTEM | Where the ride goes to is Botanical Garden. Number of people is 2.",
    "t2g2": "SYSTEM | Please confirm the following details: You go to Botanical Garden.",
    "naive": "SYSTEM | service_name=Cabs_9 | confirm,destination, values = Botanical Garden",
    "schema": "SYSTEM | service_name=Cabs_9,description=Rides through town | confirm,"
    "name=destination,description=Where the ride goes to, values = Botanical Garden",
}


def example(repository: str, input_name: str, is_prefix: bool) -> str:
    """Python code of five lines that says what one input asks for."""
    text = _INPUTS[input_name]
    if is_prefix:
        return f"""
from baselines.t2g2.model import load_generator
model, tokenizer = load_generator({repository!r})
inputs = tokenizer([{text!r}], return_tensors="pt")
outputs = model.generate(**inputs)
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
"""
    return f"""
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({repository!r})
model = AutoModelForSeq2SeqLM.from_pretrained({repository!r})
outputs = model.generate(**tokenizer([{text!r}], return_tensors="pt"))
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
"""
