"""Tracking: each different turn is encoded once, for all services and all schema variants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset

from ..batching import Ints, cut
from ..checkpoint import weights_digest
from ..predictions import run_shards
from .decode import best_spans, read_changes
from .embeddings import embeddings
from .examples import Asked, Examples, Tensors
from .frames import by_text, read_frames
from .labels import ACTIVE
from .model import Tracker
from .modeling import ENCODER_INPUTS, SgdBaselineModel
from .schemas import Table
from .states import Change, accumulate
from .turns import Turns

Row = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Of a batch in turns and in padded tokens, and of a shard in turns."""

    batch: int = 128
    tokens: int = 8192
    shard: int = 1024


def read_inputs(tracker: Tracker, rows: Dataset, cache: Path, accelerator: Accelerator) -> Examples:
    """What there is to track in frame rows, of one or several variants, and their embeddings."""
    frames = read_frames(rows)
    turns = Turns(frames.texts, tracker.tokenizer, tracker.about.max_turn)
    table = Table(frames.schemas)
    with accelerator.main_process_first():
        vectors = embeddings(table, tracker.model, tracker.tokenizer, cache)
    return Examples(frames, by_text(frames), turns, table, vectors)


def track(
    model: SgdBaselineModel,
    examples: Examples,
    accelerator: Accelerator,
    folder: Path,
    sizes: Sizes,
) -> list[Row]:
    """Prediction rows for ``read_inputs``' frames, in every process.

    Args:
        model: In evaluation mode, on the accelerator's device.
        folder: Finished shards are kept in a folder of it, which this very work goes on from.
        sizes: What fits; small differences of floats apart, they do not change what comes out.
    """
    count = len(examples.groups)
    order = np.argsort(-examples.lengths, kind="stable")  # what does not fit shows at once
    shards = [order[i : i + sizes.shard] for i in range(0, count, sizes.shard)]

    def work(shard: Ints) -> list[list[Change]]:
        found: list[list[Change]] = []
        for batch in cut(shard, examples.lengths, sizes.batch, sizes.tokens):
            with accelerator.autocast():
                found += read_batch(model, examples, batch)
        return found

    name = fingerprint(model, examples, sizes)[:16]
    results = run_shards(accelerator, shards, work, folder / name)
    changes: dict[int, Change] = {}
    for group, found in zip(examples.groups, results):
        changes |= zip(group.tolist(), msgspec.convert(found, list[Change]))
    return list(
        prediction_rows(examples, [changes[index] for index in range(len(examples.frames))])
    )


@torch.inference_mode()
def read_batch(model: SgdBaselineModel, examples: Examples, indices: Ints) -> list[list[Change]]:
    """The changes of some examples' frames."""
    on_cpu, asked = examples.batch(indices.tolist())
    batch = {name: tensor.to(model.device) for name, tensor in on_cpu.items()}
    pooled, tokens = model.encode(**{n: batch[n] for n in ENCODER_INPUTS if n in batch})
    logits = {name: each.cpu() for name, each in model.judge(pooled, batch).items()}
    spans = _spans(model, examples, indices, tokens, batch, logits, asked)
    changes = iter(read_changes(examples, asked, logits, spans))
    return [[next(changes) for _ in examples.groups[index]] for index in indices.tolist()]


def _spans(
    model: SgdBaselineModel,
    examples: Examples,
    indices: Ints,
    tokens: torch.Tensor,
    batch: Tensors,
    logits: Tensors,
    asked: Asked,
) -> list[tuple[int, int, int]]:
    """The spans of the slots that are active, which alone are asked for them."""
    active = (logits["free_status"].argmax(-1) == ACTIVE).nonzero()[:, 0]
    asked_too = batch | {"span": active.to(tokens.device)}
    found = model.spans(tokens, batch["attention_mask"], asked_too)
    sides = examples.turns.batch_sides(examples.texts[indices].tolist(), tokens.shape[1])
    turn = batch["turn"].cpu()[torch.from_numpy(asked.free_frame)[active]]
    first, last = best_spans(found["start"].cpu(), found["end"].cpu(), sides[turn])
    return list(zip(active.tolist(), first.tolist(), last.tolist()))


def fingerprint(model: SgdBaselineModel, examples: Examples, sizes: Sizes) -> str:
    """A digest of all that decides the shards: weights, inputs and sizes."""
    frames = examples.frames
    said = (weights_digest(model), sizes, frames.ids, frames.variants, frames.texts, frames.schemas)
    digest = hashlib.sha256(repr((*said, examples.lengths.tolist())).encode())
    return digest.hexdigest()


def prediction_rows(examples: Examples, changes: list[Change]) -> Iterator[Row]:
    """Prediction rows of each frame's change, with the states that they add up to."""
    frames = examples.frames
    groups = map(frames.group, range(len(frames)))
    for index, values in enumerate(accumulate(groups, changes)):
        yield {
            "frame_id": frames.ids[index],
            "variant": frames.variants[index],
            "active_intent": changes[index].active_intent,
            "requested_slots": sorted(changes[index].requested_slots),
            "slot_values": [{"slot": s, "values": [v]} for s, v in sorted(values.items())],
        }
