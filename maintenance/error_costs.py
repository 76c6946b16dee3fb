"""Print what each kind of errors costs a tracker.

Joint goal accuracy counts a wrong value again in each turn to which the state carries it. A run of
turns in which a slot stays wrong in the same way therefore gets the kind of its first turn. Rules
decide the kind from what was said and shown until then. All slots of one kind are then replaced by
the right values, and the metric scores the predictions again. The gain is what this kind costs. The
costs do not add up to 100, because a frame may be wrong in several ways.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset import open_release
from sgdx_dataset.io.progress import advance, progress
from sgdx_dataset.release.dialogue import Frame, read_dialogues
from sgdx_dataset.release.release import Release
from sgdx_metric.api import score_files
from sgdx_metric.fuzzy import fuzzy_score

from .errata import UserFrame, user_frames

MISSED = "missed"
INVENTED = "invented"
WRONG = "wrong"
_ALIKE = 0.95  # Values whose fuzzy score is above this are taken for the same.


class SlotError(NamedTuple):
    """A slot that is wrong in a frame.

    Attributes:
        frame_id: The frame, ``<dialogue>/<turn>/<service>``.
        slot: The slot's original name.
        values: The right values; empty where the state has none.
        kind: What is wrong and where the value stands, of the turn in which the error began.
    """

    frame_id: str
    slot: str
    values: list[str]
    kind: str


def dialogue_errors(
    frames: Sequence[UserFrame], states: Mapping[str, Mapping[str, list[str]]], booleans: set[str]
) -> Iterator[SlotError]:
    """The wrong slots of a dialogue, each with its kind.

    Args:
        frames: The user's turns of the dialogue in order, a service at a time.
        states: The predicted states by frame id, with the slots' original names.
        booleans: The slots, as ``<service>/<slot>``, whose values are True and False.
    """
    known: dict[tuple[str, str], tuple[str, list[str], list[str]]] = {}
    shown: list[str] = []  # what the system has shown of any service, this turn's last
    gold_of: dict[str, Mapping[str, list[str]]] = {}
    turn = -1
    now: list[str] = []
    for frame in frames:
        if frame.turn != turn:
            turn, now = frame.turn, []
            for other in (other for other in frames if other.turn == turn):
                now += [
                    value for act in other.system for value in (*act.values, *act.canonical_values)
                ]
            shown += now
        frame_id = f"{frame.dialogue_id}/{frame.turn}/{frame.service}"
        gold, predicted = frame.state.slot_values, states[frame_id]
        others = [value for name, state in gold_of.items() if name != frame.service
                  for values in state.values() for value in values]  # fmt: skip
        for slot in sorted({*gold, *predicted}):
            right, guess = gold.get(slot, []), predicted.get(slot, [])
            if bool(right) == bool(guess) and (not right or _same(guess[0], right)):
                known.pop((frame.service, slot), None)
                continue
            kind, old_guess, old_right = known.get((frame.service, slot), ("", [], []))
            if not kind or guess[:1] != old_guess[:1] or not _overlap(right, old_right):
                boolean = f"{frame.service}/{slot}" in booleans
                kind = _kind(right, guess, boolean, frame.utterance, now, [*shown, *others])
            known[frame.service, slot] = kind, guess, right
            yield SlotError(frame_id, slot, right, kind)
        gold_of[frame.service] = gold


def _kind(
    right: Sequence[str], guess: Sequence[str], boolean: bool, utterance: str,
    now: Sequence[str], before: Sequence[str],
) -> str:  # fmt: skip
    """The kind of an error that begins in this turn: what is wrong, and where the value stands."""
    what = MISSED if not guess else INVENTED if not right else WRONG
    values = right or guess
    if "dontcare" in (*right, *guess):
        return f"{what}: dontcare"
    if boolean:
        return f"{what}: yes or no"
    if any(value.lower() in utterance.lower() for value in values):
        return f"{what}: said by the user in this turn"
    if any(_same(value, now) for value in values):
        return f"{what}: shown by the system in this turn"
    if any(_same(value, before) for value in values):
        return f"{what}: of an earlier turn or another service"
    return f"{what}: anything else"


def _same(value: str, others: Iterable[str]) -> bool:
    return any(fuzzy_score(value, other) >= _ALIKE for other in others)


def _overlap(left: Sequence[str], right: Sequence[str]) -> bool:
    return bool(set(left) & set(right)) or not (left or right)


def file_errors(
    release: Release, split: str, variant: str, rows: Sequence[dict[str, Any]]
) -> list[SlotError]:
    """The wrong slots of the predictions under one variant.

    Args:
        release: The release that was predicted.
        split, variant: Which part of it.
        rows: Predictions of whole dialogues, with the variant's slot names.
    """
    originals = slot_names(release, split, variant)
    states: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(dict)
    for row in rows:
        service = row["frame_id"].rpartition("/")[2]
        states[row["frame_id"].split("/")[0]][row["frame_id"]] = {
            originals[service, item["slot"]]: item["values"] for item in row["slot_values"]
        }
    booleans = {
        f"{service.service_name}/{slot.name}"
        for service in release.schema(split, "original").services
        for slot in service.slots
        if slot.is_boolean
    }
    return [
        error
        for file in release.dialogue_files(split)
        for dialogue in read_dialogues(release.read(file), file, Frame)
        if dialogue.dialogue_id in states
        for error in dialogue_errors(
            list(user_frames(split, dialogue)), states[dialogue.dialogue_id], booleans
        )
    ]


def slot_names(release: Release, split: str, variant: str) -> dict[tuple[str, str], str]:
    """The original names of a variant's slots, by service and name; slots line up by position."""
    return {
        (service.service_name, reworded_slot.name): slot.name
        for service, reworded in zip(
            release.schema(split, "original").services, release.schema(split, variant).services
        )
        for slot, reworded_slot in zip(service.slots, reworded.slots)
    }


def repair(
    row: dict[str, Any], errors: Sequence[SlotError], names: Mapping[str, str]
) -> dict[str, Any]:
    """A prediction whose wrong slots have the right values.

    Args:
        row: The prediction.
        errors: Its wrong slots that are to be repaired.
        names: The variant's slot names by ``<service>/<original name>``.
    """
    service = row["frame_id"].rpartition("/")[2]
    right = {names[f"{service}/{error.slot}"]: error.values for error in errors}
    kept = [item for item in row["slot_values"] if item["slot"] not in right]
    added = [{"slot": slot, "values": values[:1]} for slot, values in right.items() if values]
    return {**row, "slot_values": kept + added}


class Cost(NamedTuple):
    """What a kind of errors costs, over all files of predictions.

    Attributes:
        kind: The kind; empty for the predictions as they are.
        slots: How many wrong slots are of it, counted in every frame in which they stand.
        jga_orig, jga_v1_5, jga_worst: The figures once its slots have the right values, in [0, 1].
    """

    kind: str
    slots: int
    jga_orig: float
    jga_v1_5: float
    jga_worst: float


def costs(source: str, split: str, folder: Path) -> list[Cost]:
    """What each kind of errors costs, the most frequent kind first, after the figures as they are.

    Args:
        source: The release that was predicted, as a directory or an archive, or ``sample``.
        split: Its split.
        folder: Predictions of whole dialogues: ``original.jsonl`` and ``v1.jsonl`` to ``v5.jsonl``.
    """
    release = open_release(source)
    lines = {file.stem: file.read_text().splitlines() for file in sorted(folder.glob("*.jsonl"))}
    rows = {name: [msgspec.json.decode(line) for line in text[1:]] for name, text in lines.items()}
    errors = {name: file_errors(release, split, name, rows[name]) for name in rows}
    counts = Counter(error.kind for name in errors for error in errors[name])
    names = {
        name: {
            pair[0] + "/" + slot: pair[1] for pair, slot in slot_names(release, split, name).items()
        }
        for name in rows
    }
    table = []
    kinds = ["", *(kind for kind, _ in counts.most_common())]
    with progress("scoring", len(kinds), " kinds"):
        for kind in kinds:
            with tempfile.TemporaryDirectory() as repaired:
                for name, text in lines.items():
                    wrong = defaultdict(list)
                    for error in errors[name]:
                        if error.kind == kind:
                            wrong[error.frame_id].append(error)
                    mended = [
                        repair(row, wrong[row["frame_id"]], names[name]) for row in rows[name]
                    ]
                    content = [text[0], *(msgspec.json.encode(row).decode() for row in mended)]
                    (Path(repaired) / f"{name}.jsonl").write_text("\n".join(content))
                figures = score_files(repaired, source=source, split=split)["sgdx"]
            figure = (figures[key] for key in ("jga_orig", "jga_v1-5", "jga_worst"))
            table.append(Cost(kind, counts[kind], *figure))
            advance()
    return table


def main() -> None:
    """Print what each kind of errors costs as a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m maintenance.error_costs", description=__doc__)
    text = "Read this copy of the SGD release, a directory or an archive."
    parser.add_argument("source", metavar="SGD", help=text)
    text = "Read the predictions from this folder: original.jsonl, and v1.jsonl to v5.jsonl."
    parser.add_argument("predictions", metavar="PREDICTIONS", type=Path, help=text)
    parser.add_argument("--split", default="test", help="Take this split. Default: test.")
    options = parser.parse_args()
    whole, *kinds = costs(options.source, options.split, options.predictions)
    print(
        "| kind of error | wrong slots | JGA_orig | JGA_v1-5 | JGA_worst |\n|---|---|---|---|---|"
    )
    print(
        f"| none repaired | | {whole.jga_orig:.1%} | {whole.jga_v1_5:.1%} | {whole.jga_worst:.1%} |"
    )
    for cost in kinds:
        gains = [100 * (now - was) for now, was in zip(cost[2:], whole[2:])]
        print(f"| {cost.kind} | {cost.slots:,} | {' | '.join(f'{gain:+.1f}' for gain in gains)} |")


if __name__ == "__main__":
    main()
