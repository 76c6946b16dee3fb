"""The four sub-models as one: questions to them, in large batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from sgdx_dataset import SgdxError

from ..batching import Ints, by_length
from .decode import Found, decode
from .parts import PARTS, Part, SubModel, load_part
from .questions import Question
from .sequences import Questions, Sequences


@dataclass(frozen=True)
class Sizes:
    """The most sequences and padded tokens in a batch."""

    batch: int = 256
    tokens: int = 16384


@dataclass(frozen=True)
class Tracker:
    """A sub-model for each part."""

    parts: dict[Part, SubModel]
    sizes: Sizes = Sizes()

    def ask(self, part: Part, questions: Sequence[Question]) -> list[Found]:
        """The answers to questions, in large batches of like length."""
        sub = self.parts[part]
        sequences = Sequences(Questions(questions), sub.vocabulary, sub.about.max_tokens)
        found: list[Found | None] = [None] * len(questions)
        for batch in by_length(sequences.lengths, self.sizes.batch, self.sizes.tokens):
            for index, answer in zip(batch.tolist(), self._answer(sub, sequences, batch)):
                found[index] = answer
        return [answer for answer in found if answer is not None]

    @torch.inference_mode()
    def _answer(self, sub: SubModel, sequences: Sequences, batch: Ints) -> list[Found]:
        tensors = {n: t.to(sub.model.device) for n, t in sequences.batch(batch).items()}
        return decode(sub.model(**tensors), sequences, batch)

    def ask_each(self, part: Part, lists: Sequence[Sequence[Question]]) -> list[list[Found]]:
        """The same for lists of questions."""
        answers = iter(self.ask(part, list(chain.from_iterable(lists))))
        return [list(islice(answers, len(questions))) for questions in lists]


def load_tracker(name: str, device: torch.device | str = "cpu", sizes: Sizes = Sizes()) -> Tracker:
    """A trained tracker: a folder with one of each sub-model, or such a repository on the Hub.

    Raises:
        SgdxError: A sub-model is missing.
    """
    folder = Path(name)
    if not folder.is_dir():
        try:
            folder = Path(snapshot_download(name))
        except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
            raise SgdxError(f"{name}: no such folder or repository: {error!s}") from None
    parts = {part: load_part(folder / part) for part in PARTS}
    for sub in parts.values():
        sub.model.to(torch.device(device))  # type: ignore[arg-type]  # its decorator's fault
    return Tracker(parts, sizes)
