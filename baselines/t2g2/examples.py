"""Turn rows as texts, and texts as tokens, from which batches are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import torch
from datasets import Dataset
from datasets.utils import tqdm
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgsacc_metric.rows import Action, Service, Turn

from ..t5dst.inputs import padded, special_tokens, with_targets
from ..training.batching import Ints

Row = dict[str, Any]


def read_turns(rows: Dataset, original: bool) -> Iterator[Turn]:
    """The turns of turn rows, with no more than a generator may read of them."""
    # The schemas of a service are decoded once for each wording.
    schemas: dict[tuple[str, ...], list[Service]] = {}
    lean = rows.remove_columns("schemas")
    shown = tqdm(lean, desc="Reading turns", unit=" turns", delay=2, disable=None)
    for index, row in enumerate(shown):
        services = dict.fromkeys([row["service"], *(act["service"] for act in row["actions"])])
        wording = (row["variant"], *services)
        if wording not in schemas:
            schemas[wording] = msgspec.convert(rows[index]["schemas"], list[Service])
        actions, intent = row["actions"], row["intent"]
        if original:
            actions, intent = row["original_actions"], row["original_intent"]
            if actions is None:
                raise SgdxError(
                    f"turn {row['turn_id']}: found it under {row['variant']} only, expected it "
                    "under original too, as templates are found by the original names"
                )
        yield Turn(
            row["turn_id"],
            row["variant"],
            row["service"],
            False,
            False,
            msgspec.convert(actions, list[Action]),
            "",
            schemas[wording],
            intent,
        )


class UtteranceExamples:
    """The tokens of inputs and, for training, of the utterances to generate."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        limits: tuple[int, int],
        inputs: Sequence[str],
        utterances: Sequence[str] = (),
    ) -> None:
        self.pad: int = tokenizer.pad_token_id
        self.limits = limits  # of tokens of an input and of an utterance, end tokens included
        distinct = {text: index for index, text in enumerate(dict.fromkeys(inputs))}
        # Of each example the index of its input among the distinct ones [examples].
        self.input_numbers: Ints = np.array([distinct[text] for text in inputs], np.int64)
        self.inputs, long = _tokens(tokenizer, list(distinct), limits[0])
        self.targets, long_targets = _tokens(tokenizer, utterances, limits[1])
        lengths = np.array([len(ids) for ids in self.inputs], np.int64)
        self.lengths: Ints = lengths[self.input_numbers]  # [examples]
        self.cut = {"of": len(inputs), "inputs": int(long[self.input_numbers].sum())}
        self.cut |= {"utterances": int(long_targets.sum())} if utterances else {}

    def batch(self, distinct: Ints, width: int | None = None) -> dict[str, torch.Tensor]:
        """``input_ids`` and ``attention_mask`` of distinct inputs [inputs, tokens]."""
        rows = [self.inputs[index] for index in distinct.tolist()]
        ids = padded(rows, self.pad, width)
        lengths = torch.tensor([len(row) for row in rows])
        return {
            "input_ids": ids,
            "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long(),
        }

    def training_batch(self, indices: Ints, static: bool = False) -> dict[str, torch.Tensor]:
        """A batch with the utterances as ``labels`` [inputs, tokens] and their number of tokens."""
        targets = [self.targets[index] for index in indices.tolist()]
        widths = self.limits if static else (None, None)
        batch = self.batch(self.input_numbers[indices], widths[0])
        return with_targets(batch, targets, widths[1])


def _tokens(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], limit: int
) -> tuple[list[Ints], Any]:
    """The tokens of each text, at most ``limit``, and which texts have more [texts]."""
    if not texts:
        return [], np.zeros(0, bool)
    token_ids = tokenizer(list(texts), verbose=False)["input_ids"]
    long = np.array([len(ids) > limit for ids in token_ids])
    _, end = special_tokens(tokenizer)
    for index in np.flatnonzero(long).tolist():
        token_ids[index] = [*token_ids[index][: limit - len(end)], *end]
    return [np.array(ids, np.int32) for ids in token_ids], long
