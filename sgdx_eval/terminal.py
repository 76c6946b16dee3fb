"""Explanations of frames as tables on the terminal, which fit into 80 columns."""

from collections.abc import Sequence
from itertools import pairwise

from rich.console import Console

from .explain import Flip, Line
from .tables import (
    NO_VALUE,
    legend,
    number,
    percent,
    print_line,
    table,
    to_terminal,
)

_FLIPS_TERMS = [
    "what changed: each slot that was lost, with the prediction under the first wording of "
    '"right under" -> the prediction under the first of "wrong under" (why it is wrong).',
    f"{NO_VALUE}: no value.",
]


def print_explanation(
    frame_id: str, dialogue: Sequence[tuple[str, str]], lines: list[Line], console: Console
) -> None:
    """Print the dialogue up to a frame, and what each slot of it scores under each variant."""
    print_line(frame_id, console)
    for speaker, utterance in dialogue:
        print_line(f"{speaker.lower():>6}: {utterance}", console, fold=True)
    rows = []
    for line in lines:
        values = " | ".join(line.reference), " | ".join(line.predicted)
        rows.append([line.variant, line.slot or line.aspect, *values, number(line.score), line.why])
    breaks = [i for i, (one, two) in enumerate(pairwise(lines)) if one.aspect != two.aspect]
    headers = ["variant", "slot", "reference", "prediction", "score", "why"]
    texts = {*headers} - {"score"}
    to_terminal(table("", headers, rows, texts, breaks), console)


def print_broken(
    frames: list[tuple[str, float, float]],
    count: int,
    unit: str,
    variants: Sequence[str],
    console: Console,
) -> None:
    """List the frames that score less under a second variant than under a first."""
    rows = [[name, percent(before), percent(after)] for name, before, after in frames]
    accuracy = "Joint goal accuracy of frames" if unit == "frame" else "Accuracy of calls"
    to_terminal(table(f"{accuracy}, in %", [unit, *variants], rows), console)
    less = f"score less under {variants[1]} than under {variants[0]}"
    print_line(f"{len(frames)} of {count} {unit}s {less}", console)


def print_flips(flips: Sequence[Flip], right: int, count: int, unit: str, console: Console) -> None:
    """List the frames that are right under one wording and wrong under another."""
    rows = []
    for flip in flips:
        changed = "; ".join(
            f"{line.slot or line.aspect}: {_values(before.predicted)} -> {_values(line.predicted)}"
            f" ({line.why})"
            for before, line in flip.changes
        )
        rows.append([flip.frame_id, " ".join(flip.right), " ".join(flip.wrong), changed])
    title = f"{unit.capitalize()}s that are right under one wording and wrong under another"
    headers = [unit, "right under", "wrong under", "what changed"]
    to_terminal(table(title, headers, rows, headers), console)
    if flips:
        print_line(f"{legend(_FLIPS_TERMS)}\n", console)
    share, stay = (percent(n / count if count else None) for n in (len(flips), right))
    summary = f"{len(flips)} of {count} {unit}s ({share} %) flip"
    print_line(f"{summary}; {right} are right under every wording ({stay} %)", console)


def _values(values: Sequence[str]) -> str:
    """A slot's values as text; a dash for none."""
    return " | ".join(values) or NO_VALUE
