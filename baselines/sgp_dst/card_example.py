"""The example of use on the model card of SGP-DST."""

from __future__ import annotations


def example(repository: str) -> str:
    """Python code that applies one submodel with transformers only, and the command to predict."""
    return f"""
from transformers import AutoModel, AutoTokenizer

# The four encoders are joined by rules: sgdx predict --model {repository}
code = {{"trust_remote_code": True}}
tokenizer = AutoTokenizer.from_pretrained({repository!r}, subfolder="copy", **code)
model = AutoModel.from_pretrained({repository!r}, subfolder="copy", **code)
turn = "sys : Shall I book a table at Mario's? usr : Yes, please."
inputs = tokenizer(f"api: Tables in restaurants [SEP] {{turn}} [SEP] Name", return_tensors="pt")
inputs["features"] = 0 * inputs["input_ids"] + 1  # the system gave the slot
print(model(**inputs).logits.softmax(-1)[0, 1].item())  # probability that the value is copied
"""
