"""Schema embeddings: what is embedded, where it stands, and that it is computed once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from baselines.sgd_baseline.elements import ElementTable, embed, embeddings
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
VANS = CABS | {"service_name": "Vans_1", "intents": CABS["intents"][:1]}


@pytest.fixture
def calls(tracker: SgdTracker) -> Any:
    """How many texts the frozen encoder read, a number per call."""
    sizes: list[int] = []

    def note(module: Any, given: Any, named: Any, output: Any) -> None:
        sizes.append(len(named["input_ids"]))

    hook = tracker.model.schema_encoder.register_forward_hook(note, with_kwargs=True)
    yield sizes
    hook.remove()


def test_embedded_once_and_kept(tracker: SgdTracker, calls: list[int], tmp_path: Path) -> None:
    table = ElementTable([CABS])
    first = embeddings(table, tracker.model, tracker.tokenizer, tmp_path)
    assert sum(calls) == 6
    for pair, vector in zip(table.pairs, first):
        inputs = tracker.tokenizer(*pair, return_tensors="pt")
        alone = tracker.model.schema_encoder(**inputs).last_hidden_state[0, 0]
        torch.testing.assert_close(vector, alone, rtol=1e-4, atol=1e-5)
    calls.clear()
    (file,) = tmp_path.rglob("*.safetensors")
    assert torch.equal(embeddings(table, tracker.model, tracker.tokenizer, tmp_path), first)
    assert not calls
    embeddings(ElementTable([CABS, VANS]), tracker.model, tracker.tokenizer, tmp_path)
    assert calls == [5]  # the other service alone
    calls.clear()
    file.write_bytes(file.read_bytes()[:100])
    assert torch.equal(embeddings(table, tracker.model, tracker.tokenizer, tmp_path), first)
    assert calls == [6]


def test_other_words_and_other_weights_are_embedded_anew(
    tracker: SgdTracker, calls: list[int], tmp_path: Path
) -> None:
    embeddings(ElementTable([CABS]), tracker.model, tracker.tokenizer, tmp_path)
    reworded = CABS | {"description": "Journeys"}
    embeddings(ElementTable([reworded]), tracker.model, tracker.tokenizer, tmp_path)
    assert sum(calls) == 12
    weight = tracker.model.schema_encoder.get_input_embeddings().weight
    before = weight.clone()
    weight.add_(0.5)
    embeddings(ElementTable([CABS]), tracker.model, tracker.tokenizer, tmp_path)
    weight.copy_(before)
    assert sum(calls) == 18
    assert len(list(tmp_path.rglob("*.safetensors"))) == 3


def test_a_long_pair_is_cut_to_80_tokens(tracker: SgdTracker) -> None:
    """Where it is cut is the released code's choice: the longer of the two loses its end."""
    short, long = "where to", " ".join(["where"] * 200)
    read: list[int] = []
    hook = tracker.model.schema_encoder.register_forward_hook(
        lambda module, given, named, output: read.extend(named["attention_mask"].sum(1).tolist()),
        with_kwargs=True,
    )
    whole, other = embed([(short, long), (short, long + " to")], tracker.model, tracker.tokenizer)
    hook.remove()
    assert read == [80, 80]
    assert torch.equal(whole, other)
