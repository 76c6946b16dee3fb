"""The example of use on the model card of onepass."""

from __future__ import annotations


def example(repository: str) -> str:
    """Python code that reads one frame and imports only torch and transformers."""
    return f"""
# One frame by hand, with torch and transformers alone.
import torch
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({repository!r}, trust_remote_code=True)
model = AutoModel.from_pretrained({repository!r}, trust_remote_code=True).eval()
turn = "[CLS] [SYS] Where to? [USR] To the Botanical Garden, please. [SEP]"
parts = [  # the turn with the service, and the elements of the schema with their blocks
    (0, turn + " [SERVICE] Rides through town"),
    (1, "[INTENT] order cab : Call a cab [NOW]"), (2, "[INTENT] none"),
    (3, "[SLOT] destination : Where the ride goes to [ASK]"),
    (4, "[SLOT] shared : Whether to share the cab"),  # categorical, with two values
    (4, "[VALUE] True"), (4, "[VALUE] False"), (0, "[SEP]"),
]
ids, blocks, positions, ranges = [], [], [], []
for block, text in parts:
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    if not blocks:
        first = 0
    elif blocks[-1] == block:  # a value goes on where its slot ends
        first = positions[-1] + 1
    else:  # all elements begin where the service ends
        first = ranges[0][1]
    ranges.append([len(ids), len(ids) + len(tokens)])
    positions += range(first, first + len(tokens))
    blocks += [block] * len(tokens)
    ids += tokens
markers = tokenizer.convert_tokens_to_ids(["[USR]", "[SERVICE]"])
first_of_user, service = ids.index(markers[0]) + 1, ids.index(markers[1])
user = range(first_of_user, service - 1)  # up to [SEP]
batch = {{
    "input_ids": [ids], "attention_mask": [[1] * len(ids)], "blocks": [blocks],
    "token_type_ids": [[int(n >= service) for n in range(len(ids))]], "positions": [positions],
    "intents": [ranges[1:3]], "slots": ranges[3:5], "frame": [0, 0],
    "values": [[[0, 0], [0, 0]], ranges[5:7]], "known": [[[0, 0]]],
    # keep, say, dontcare, given by the system, from another service
    "status_mask": [[True, True, True, False, False]] * 2, "copy_mask": [[False]] * 2,
    "text": [list(user)], "utterance": [[1] * len(user)],
}}
with torch.no_grad():
    logits = model(**{{name: torch.tensor(column) for name, column in batch.items()}}).logits
begin, further = divmod(logits["span"][0].argmax().item(), logits["span"].shape[-1])
print({{
    "intent": logits["intent"].argmax(-1).tolist(),
    "requested": logits["requested"].sigmoid().tolist(),
    "status": logits["status"].argmax(-1).tolist(),
    "destination": tokenizer.decode(ids[user[begin] : user[begin] + further + 1]),
    "shared": logits["value"][1].argmax().item(),
}})
"""
