"""SGP-DST: four BERTs that answer questions, and rules. Ruan et al. 2020 (arXiv 2002.00181).

In: of each frame the service's schema, the user's utterance, the system's before it and its
dialogue acts (``questions``: a prompt for each question, with binary features of what is known).
Learnt from gold states: ``intent``, a softmax over intents; ``combine``, a slot's span, value and
request; ``copy`` and ``cross``, whether a value of the system or of another service is taken
(``data``: the examples, ``modeling``: heads and losses, ``training``: epochs and the score on dev).
Out: nine rules make a state of the answers and of the service's last predicted state (``rules``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
from datasets import Dataset
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from torch import nn

from sgdx_dataset import SgdxError

from ..checkpoint import weights_digest
from ..data.dialogues import prediction_rows, read_dialogues
from ..settings import Provenance
from ..system import Row, System
from . import settings as own
from .questions import Question
from .rules import Answer, track_dialogues
from .settings import PARTS, Part
from .training import READS, SUBMODELS, SgpPart

# What a header says of all submodels together: which words they were trained on.
_WORDS = ("train", "augment", "schemas", "overlaps", "oracle")


class SgpTracker(System, nn.Module):
    """Predicts states with four submodels and rules."""

    NAME: ClassVar[str] = "sgp_dst"
    READS: ClassVar[tuple[str, ...]] = READS
    Options: ClassVar[type[own.Options]] = own.Options
    Settings: ClassVar[type[own.Settings]] = own.Settings
    PARTS: ClassVar[dict[Part, type[SgpPart]]] = SUBMODELS
    # All submodels start from one encoder, and each takes its own of all dev rows.
    tiny, dev, example = SgpPart.tiny, SgpPart.dev, SgpPart.example

    def __init__(self, parts: dict[Part, SgpPart], options: own.Options) -> None:
        super().__init__()
        self.parts: Any = nn.ModuleDict(parts)  # type: ignore[arg-type]  # of fewer names
        self.options = options

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Self:
        """Load the four submodels from the subfolders of a run folder or a repository."""
        folder = Path(name)
        if not folder.is_dir():
            try:
                folder = Path(snapshot_download(str(name)))
            except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
                raise SgdxError(f"{name}: no such folder or repository: {error!s}") from None
        parts = {p: of.from_pretrained(folder / p, **options) for p, of in SUBMODELS.items()}
        return cls(parts, own.Options(**options))

    def describe(self) -> Row:
        """The digest and provenance of the submodels, of each one and of all together."""
        provenances = {part: self.parts[part].seen for part in PARTS}
        together: Provenance = provenances[PARTS[0]]
        for provenance in provenances.values():
            together = provenance.continued_from(together)
        facts = msgspec.to_builtins(together)
        return {
            "weights": self._weights,
            **{name: facts[name] for name in _WORDS},
            "parts": msgspec.to_builtins(provenances),
        }

    @cached_property  # four encoders are hashed, and the header and the chunks need it
    def _weights(self) -> str:
        digests = [weights_digest(self.parts[part]) for part in PARTS]
        return hashlib.sha256(" ".join(digests).encode()).hexdigest()

    def track(self, rows: Dataset) -> list[Row]:
        """Predict turn by turn, for all dialogues together."""
        dialogues = list(read_dialogues(rows))
        pairs = zip(dialogues, track_dialogues(self.ask, dialogues), strict=True)
        return [row for pair in pairs for row in prediction_rows(*pair)]

    def ask(self, part: Part, questions: Sequence[Sequence[Question]]) -> list[list[Answer]]:
        """Answer several lists of questions with a submodel; returns the answers to each list."""
        answers = iter(self.parts[part].answers(list(chain.from_iterable(questions))))
        return [list(islice(answers, len(of_frame))) for of_frame in questions]
