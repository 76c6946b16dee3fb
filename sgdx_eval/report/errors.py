"""Errors as a reader sees them: by dialogue, each once, with every wording that makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sgdx_eval.tables import Cell
from sgdx_metric.variants import ORIGINAL

from .analysis import Analysis
from .breakage import INTENT, Breakage, element_at
from .systems import TrackerSystem


class WrongWording(NamedTuple):
    """A wording under which an error is made.

    Attributes:
        variant: The variant.
        kind: One of ``CLASSES``.
        words: The name and description of the slot or intent under the variant.
        predicted: What is predicted in the first turn that is wrong; empty for nothing.
        elsewhere: For a wrong slot, the name of the other slot under the variant.
        turns: In how many turns of the dialogue it is wrong.
    """

    variant: str
    kind: str
    words: Cell
    predicted: str
    elsewhere: str
    turns: int


class Error(NamedTuple):
    """A slot or intent of a dialogue that is right under the original words and wrong under others.

    Attributes:
        system: The name of the system whose error it is.
        dialogue_id: The dialogue.
        service: The original name of the service.
        seen: Whether the service is ``seen`` or ``unseen``.
        turn: The index of the first turn that is wrong under any of the wordings.
        system_utterance, user_utterance: The user's turn and the system's turn before it; empty
            where they are not at hand.
        words: The name and description under the original.
        reference: What is right, in the original words; empty for nothing.
        wordings: The wordings that are wrong, at least one.
    """

    system: str
    dialogue_id: str
    service: str
    seen: str
    turn: int
    system_utterance: str
    user_utterance: str
    words: Cell
    reference: str
    wordings: Sequence[WrongWording]

    @property
    def is_intent(self) -> bool:
        """Whether it is about the active intent, which joint goal accuracy does not count."""
        return self.wordings[0].kind == INTENT


def system_errors(system: TrackerSystem, analysis: Analysis) -> list[Error]:
    """The errors of a system's first run, in the order of dialogues and turns."""
    by_element: dict[tuple[str, str, int, bool], list[tuple[int, Breakage]]] = {}
    frame_ids = system.first.results.frame_ids.to_pylist()
    for breakage in analysis.breakages:
        dialogue_id, turn, service = frame_ids[breakage.frame].rsplit("/", 2)
        key = dialogue_id, service, breakage.position, breakage.kind == INTENT
        by_element.setdefault(key, []).append((int(turn), breakage))
    errors = [
        _error(system, analysis, dialogue_id, service, breakages)
        for (dialogue_id, service, _, _), breakages in by_element.items()
    ]
    return sorted(errors, key=lambda error: (error.dialogue_id, error.turn))


def _error(
    system: TrackerSystem,
    analysis: Analysis,
    dialogue_id: str,
    service: str,
    breakages: Sequence[tuple[int, Breakage]],
) -> Error:
    turn, first = min(breakages, key=lambda pair: pair[0])
    by_variant: dict[str, list[tuple[int, Breakage]]] = {}
    for pair in breakages:
        by_variant.setdefault(pair[1].variant, []).append(pair)
    wordings = []
    for variant, of_variant in by_variant.items():
        wrong = min(of_variant, key=lambda pair: pair[0])[1]
        words = _words(analysis, variant, service, wrong)
        wordings.append(
            WrongWording(
                variant, wrong.kind, words, wrong.predicted, wrong.elsewhere, len(of_variant)
            )
        )
    utterances = _utterances(analysis, dialogue_id, turn)
    words = _words(analysis, ORIGINAL, service, first)
    reference = words.text if first.kind == INTENT else first.reference
    is_seen = system.first.results.frame_index.seen[first.frame]
    seen = "seen" if is_seen else "unseen"
    return Error(
        system.name, dialogue_id, service, seen, turn, *utterances, words, reference, wordings
    )  # fmt: skip


def _utterances(analysis: Analysis, dialogue_id: str, turn: int) -> tuple[str, str]:
    """The system's turn before a user's turn, and that turn; empty where not at hand."""
    texts = dict(enumerate(text for _, text in analysis.data.turns.get(dialogue_id, [])))
    return texts.get(turn - 1, ""), texts.get(turn, "")


def _words(analysis: Analysis, variant: str, service: str, breakage: Breakage) -> Cell:
    """The name and description of the slot or intent that breaks, under a variant."""
    if breakage.position < 0:
        return Cell("NONE", "no intent is active")
    schema = analysis.schemas[variant][service]
    element = element_at(schema, breakage.position, breakage.kind == INTENT)
    return Cell(element.name, element.description)


def choose_errors(errors: Sequence[Error], count: int) -> list[Error]:
    """Choose errors so that systems, classes and services have their share, most of all the first.

    Args:
        errors: The errors of all systems.
        count: How many to choose at most.

    Returns:
        The errors, dialogue by dialogue; the dialogues by the error that was chosen first.
    """
    waiting: dict[tuple[str, str, str, str], list[Error]] = {}
    for error in sorted(errors, key=lambda error: -sum(w.turns for w in error.wordings)):
        key = error.system, error.wordings[0].kind, error.service, error.words.text
        waiting.setdefault(key, []).append(error)
    shown: Counter[tuple[str, ...]] = Counter()

    def rank(key: tuple[str, str, str, str]) -> tuple[int, ...]:
        system, kind, service, _ = key
        parts = (system,), (system, kind), (system, kind, service), key
        return (*(shown[part] for part in parts), -len(waiting[key]))

    by_dialogue: dict[str, list[Error]] = {}
    for _ in range(min(count, len(errors))):
        key = min(waiting, key=rank)
        system, kind, service, _ = key
        shown.update(((system,), (system, kind), (system, kind, service), key))
        error = waiting[key].pop(0)
        if not waiting[key]:
            del waiting[key]
        by_dialogue.setdefault(error.dialogue_id, []).append(error)
    return [
        error
        for of_dialogue in by_dialogue.values()
        for error in sorted(of_dialogue, key=lambda error: error.turn)
    ]


def error_lines(system: TrackerSystem, analysis: Analysis) -> Iterator[dict[str, Any]]:
    """Every error of a system's first run, one for each frame and wording, as ``errors.jsonl``."""
    results = system.first.results
    frame_ids = results.frame_ids.to_pylist()
    for breakage in analysis.breakages:
        dialogue_id, turn, service = frame_ids[breakage.frame].rsplit("/", 2)
        before, after = (
            _words(analysis, variant, service, breakage) for variant in (ORIGINAL, breakage.variant)
        )
        utterances = _utterances(analysis, dialogue_id, int(turn))
        yield {
            "system": system.name,
            "frame_id": frame_ids[breakage.frame],
            "seen": bool(results.frame_index.seen[breakage.frame]),
            "variant": breakage.variant,
            "class": breakage.kind,
            "counts_in_jga": breakage.kind != INTENT,
            "original": {"name": before.text, "description": before.detail},
            "reworded": {"name": after.text, "description": after.detail},
            "reference": breakage.reference,
            "predicted": breakage.predicted,
            "other_slot": breakage.elsewhere,
            "system_utterance": utterances[0],
            "user_utterance": utterances[1],
        }
