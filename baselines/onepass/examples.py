"""Training examples, which become batches with labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sgdx_dataset.schema import Service

from ..training.batching import Ints
from .batches import Item, Tensors, label_batch, make_batch
from .labels import Labels, labels_of
from .layout import Vocabulary, Wording, element_text, sequences, wording_of, words
from .oracle import Example


class SchemaNoise(NamedTuple):
    """Random changes of the schemas in training examples, against reliance on their words.

    Attributes:
        shuffle: Whether the elements stand in random order.
        drop_names: Fraction of the elements whose name is left out, in [0, 1].
        drop_descriptions: Fraction of the elements whose description is left out, in [0, 1].
    """

    shuffle: bool = False
    drop_names: float = 0.0
    drop_descriptions: float = 0.0

    def wording(self, schema: Service, rng: np.random.Generator) -> Wording | None:
        """The changed texts of a schema in their order; None if nothing is changed."""
        if self == SchemaNoise():
            return None
        intents, slots = wording_of(schema, partial(self._text, rng))
        return Wording(*(self._ordered(texts, rng) for texts in (intents, slots)))

    def _text(self, rng: np.random.Generator, name: str, description: str) -> str:
        """The text of an element, perhaps without its name or its description."""
        drawn = rng.random() - self.drop_names
        if drawn < 0 and description:
            return description
        return (
            words(name) if 0 <= drawn < self.drop_descriptions else element_text(name, description)
        )

    def _ordered(self, texts: dict[str, str], rng: np.random.Generator) -> dict[str, str]:
        names = list(texts)
        order = rng.permutation(len(names)) if self.shuffle else range(len(names))
        return {names[place]: texts[names[place]] for place in order}


class Examples:
    """Training examples: the sequences of frames with gold annotations.

    A frame whose schema is too long for one sequence gives several examples.

    Attributes:
        frames: The frames.
        parts: Frame and number of its part for each example [examples, 2].
        lengths: Number of tokens of each example [examples].
        counts: Numbers of tracked slots, and of those that no path leads to, for the run's record.
    """

    def __init__(
        self,
        frames: Sequence[Example],
        vocabulary: Vocabulary,
        limit: int,
        noise: SchemaNoise,
        seed: int,
    ) -> None:
        self.frames, self.vocabulary, self.limit = frames, vocabulary, limit
        self.noise, self.seed = noise, seed
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
        """Make a batch with labels from the indices of examples.

        What is changed depends only on the seed and the indices, so that a resumed training goes on
        as if it had not been interrupted.
        """
        rng = np.random.default_rng([self.seed, *indices.tolist()])
        items: list[Item] = []
        labels: list[Labels] = []
        for index, number in self.parts[indices].tolist():
            frame, gold = self.frames[index]
            wording = self.noise.wording(frame.schema, rng)
            parts = sequences(frame, self.vocabulary, self.limit, wording)
            items.append(Item(frame, parts[number]))
            labels.append(labels_of(frame, gold))
        batch = make_batch(items, self.vocabulary.tokenizer.pad_token_id)
        return batch | label_batch(items, labels, batch)
