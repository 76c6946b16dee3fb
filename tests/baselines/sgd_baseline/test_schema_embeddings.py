"""Schema embeddings: what is embedded, where it stands, and that it is computed once."""

from __future__ import annotations

from typing import Any

import torch

from baselines.sgd_baseline.elements import ElementTable, embed
from baselines.sgd_baseline.system import SgdTracker

from ...conftest import intent, slot

CABS: dict[str, Any] = {
    "service_name": "Cabs_9",
    "description": "Rides",
    "intents": [
        intent("OrderCab", "Call a cab", [], []),
        intent("FindCab", "Look for one", [], []),
    ],
    "slots": [
        slot("to", "Where to") | {"possible_values": ["Galway"]},
        slot("seats", "How many", "1", "2"),
    ],
}


def test_embedded_once_and_alike_in_a_batch_and_alone(tracker: SgdTracker) -> None:
    read: list[int] = []
    hook = tracker.schema_encoder.register_forward_hook(
        lambda module, given, named, output: read.extend(named["attention_mask"].sum(1).tolist()),
        with_kwargs=True,
    )
    table = ElementTable([CABS])
    examples = [tracker._embeddings(table.pairs) for _ in range(2)]
    assert len(read) == 6 and torch.equal(*examples)
    for pair, vector in zip(table.pairs, examples[0]):
        inputs = tracker.tokenizer(*pair, return_tensors="pt")
        alone = tracker.schema_encoder(**inputs).last_hidden_state[0, 0]
        torch.testing.assert_close(vector, alone, rtol=1e-4, atol=1e-5)
    read.clear()
    tracker._embeddings(ElementTable([CABS, CABS | {"description": "Journeys"}]).pairs)
    assert len(read) == 4  # what is about the service alone
    read.clear()
    # Where a long pair is cut is the released code's choice: the longer of the two loses its end.
    short, long = "where to", " ".join(["where"] * 200)
    whole, other = embed([(short, long), (short, long + " to")], tracker, tracker.tokenizer)
    hook.remove()
    assert read == [80, 80] and torch.equal(whole, other)
