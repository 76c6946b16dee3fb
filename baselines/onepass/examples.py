"""Training examples, which become batches with labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..training.batching import Ints
from .batches import Item, Tensors, label_batch, make_batch
from .labels import Labels, labels_of
from .layout import Vocabulary, sequences
from .oracle import Example


class Examples:
    """Training examples: the sequences of frames with gold annotations.

    A frame whose schema is too long for one sequence gives several examples.

    Attributes:
        frames: The frames.
        parts: Frame and number of its part for each example [examples, 2].
        lengths: Number of tokens of each example [examples].
        counts: Numbers of tracked slots, and of those that no path leads to, for the run's record.
    """

    def __init__(self, frames: Sequence[Example], vocabulary: Vocabulary, limit: int) -> None:
        self.frames, self.vocabulary, self.limit = frames, vocabulary, limit
        vocabulary.learn(u.text for example in frames for u in example.frame.utterances)
        parts, lengths = [], []
        self.counts = {"slots": 0, "without_path": 0}
        for index, (frame, gold) in enumerate(frames):
            for number, sequence in enumerate(sequences(frame, vocabulary, limit)):
                parts.append((index, number))
                lengths.append(len(sequence.ids))
            paths = labels_of(frame, gold).paths
            self.counts["slots"] += len(paths)
            self.counts["without_path"] += sum(not each for each in paths.values())
        self.parts: Ints = np.array(parts, np.int64).reshape(-1, 2)
        self.lengths: Ints = np.array(lengths, np.int64)

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch with labels from the indices of examples."""
        items: list[Item] = []
        labels: list[Labels] = []
        for index, number in self.parts[indices].tolist():
            frame, gold = self.frames[index]
            items.append(Item(frame, sequences(frame, self.vocabulary, self.limit)[number]))
            labels.append(labels_of(frame, gold))
        batch = make_batch(items, self.vocabulary.tokenizer.pad_token_id)
        return batch | label_batch(items, labels, batch)
