"""Runs with calls: the scores of ``sgdx_tools``, and of ``python -m sgdx_metric calls``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_eval.headers import Header, unread_answers

from ..runs import data_caveats, system_caveats
from ..stored import Decision, MetricScores

SIGNATURE = "sgdx_tools"  # what the signature of such scores begins with


class ElementScore(msgspec.Struct):
    """A reworded name or description, and the cases that it cost or won."""

    wording: str
    tool: str
    path: str
    original: dict[str, str]
    reworded: dict[str, str]
    cases: int
    lost: int
    won: int
    net: int


class Noise(msgspec.Struct):
    """What changes from run to run under one wording."""

    repeats: int
    flips: float | None
    sensitivity: float | None


class ToolScores(msgspec.Struct):
    """What the report reads of such a scores.json.

    Attributes:
        cases: How many cases of somebody's own tools there are; empty for calls of SGD.
        frames, dialogues: How many calls of SGD there are, and in how many dialogues.
        decision: How well it is decided whether to call, by wording; None where only turns were
            predicted that a call follows.
    """

    signature: str
    calls: dict[str, MetricScores]
    cases: dict[str, int] = {}
    frames: dict[str, int] = {}
    dialogues: int = 0
    decision: dict[str, Decision | None] = {}
    elements: list[ElementScore] = []
    noise: dict[str, Noise] = {}
    invalid: dict[str, int] = {}
    predictions: dict[str, Header] = {}


@dataclass(frozen=True)
class ToolRun:
    """A run.

    Attributes:
        path: What the user gave.
        scores: Its scores.
    """

    path: Path
    scores: ToolScores

    @property
    def name(self) -> str:
        """The model, or the program without its path, that was asked; or else the folder."""
        system = next((header.system for header in self.scores.predictions.values()), {})
        program, *arguments = str(system.get("model") or self.path.resolve().name).split(" ")
        is_path = Path(program).is_absolute()
        return " ".join([Path(program).name if is_path else program, *arguments])

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the signature, by key."""
        return dict(part.split(":", 1) for part in self.scores.signature.split("|")[1:])

    @property
    def is_oracle(self) -> bool:
        """Whether what was asked was trained on the schemas that it is judged on."""
        return self.parts.get("oracle") == "yes"

    @property
    def caveats(self) -> list[str]:
        """What must stand beside every number."""
        invalid = {name: count for name, count in self.scores.invalid.items() if count}
        words = self.parts.get("reworded-by", "")
        by_model = [f"reworded by {words}"] if words and words != "unknown" else []
        if not self.scores.frames:
            return [*by_model, *_unread(invalid)]
        unread = unread_answers(self.scores.predictions)
        invalid = {name: count for name, (count, _) in unread.items() if count}
        of_data = data_caveats(self.parts, self.scores.frames.get("all", 0), "calls")
        return [*system_caveats(self.is_oracle, False), *of_data, *_unread(invalid)]

    @property
    def counts(self) -> str:
        """How many cases or calls there are, in words."""
        scores = self.scores
        if scores.cases:
            every, call, none = (scores.cases[key] for key in ("all", "call", "no_call"))
            return f"{every} cases: {call} expect calls, {none} none."
        return f"{scores.frames.get('all', 0)} calls of SGD in {scores.dialogues} dialogues."


def _unread(invalid: Mapping[str, int]) -> list[str]:
    """What is said of answers that could not be read, given how many there are by wording."""
    counts = ", ".join(f"{count} under {name}" for name, count in invalid.items())
    return [f"answers that could not be read: {counts}"] if counts else []


def read_tool_run(path: Path, file: Path) -> ToolRun:
    """Read a run.

    Args:
        path: What the user gave.
        file: The scores.json.

    Raises:
        SgdxError: The file is malformed, or has no metric.
    """
    scores = parse_json(read_file(file), ToolScores, str(file), "scores of sgdx_tools")
    if not scores.calls:
        raise SgdxError(f"{file}: found no metric, expected one at least")
    return ToolRun(path, scores)
