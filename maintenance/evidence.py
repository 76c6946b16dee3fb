"""What rules about words cost, measured on SGD: ``sgdx_tools/evidence.json`` and docs/check.md.

    python -m maintenance.evidence edits SOURCE FOLDER
    sgdx evaluate --model MODEL --split S --variant bare=FOLDER/bare.json ... --output RUN
    python -m maintenance.evidence measure FOLDER CHOSEN_ON JUDGED_ON --name WHAT

``edits`` writes the words of all services, changed so that one rule applies to every slot; a run
under them measures the rule. What the first run gives is expected, what the second gives is told.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from sgdx_dataset import open_release
from sgdx_dataset.schema import Service, Slot
from sgdx_eval.inputs import Inputs
from sgdx_eval.options import TurnOptions
from sgdx_eval.prediction_files import read_header
from sgdx_eval.score import read_given
from sgdx_eval.tasks import task_of
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.variants import ORIGINAL
from sgdx_tools.check import RULES, AllEvidence, Evidence, Ranking

_EVIDENCE = Path(__file__).parents[1] / "sgdx_tools" / "evidence.json"
_RESAMPLES, _SEED = 1000, 0
_FEWEST_FRAMES = 5  # of a slot, as the loss of fewer says little
Words = dict[str, str]


def _abbreviated(name: str) -> str:
    return "_".join(word[0] + re.sub("[aeiou]", "", word[1:]) for word in name.split("_"))


# The new words of a slot, by the rule that then applies to it.
EDITS: Mapping[str, Callable[[Service, int, Slot], Words]] = {
    "adds_nothing": lambda _, i, slot: {"description": slot.name.replace("_", " ").capitalize()},
    "is_numbered": lambda _, i, slot: {"name": f"arg{i}"},
    "is_abbreviated": lambda _, i, slot: {"name": _abbreviated(slot.name)},
    "is_short": lambda _, i, slot: {"description": " ".join(slot.description.split()[:2])},
    "is_alike": lambda service, i, slot: {
        "description": f"{service.description}: {slot.name.replace('_', ' ')}"
    },
    "is_missing": lambda _, i, slot: {"description": ""},
    "is_prefixed": lambda service, i, slot: {
        "name": f"{re.sub(r'_[0-9]+$', '', service.service_name).lower()}_{slot.name}"
    },
}


def write_edits(source: str, folder: Path) -> None:
    """Write a file of new words for each rule, for ``--variant``."""
    release, folder = open_release(source), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for rule, edit in EDITS.items():
        words = {
            service.service_name: {
                "slots": {
                    slot.name: new
                    for i, slot in enumerate(service.slots, 1)
                    if (new := edit(service, i, slot))
                    and any(getattr(slot, key) != text for key, text in new.items())
                }
            }
            for split in release.schema_splits("original")
            for service in release.schema(split, "original")
        }
        (folder / f"{rule}.json").write_text(json.dumps(words))


class Loss(NamedTuple):
    """What a slot that has a value in a frame loses under an edit, in points."""

    rule: str
    dialogue: str
    service: str
    position: int  # of the slot in the schema
    points: float


def read_losses(predictions: Path, source: str, edits: Path) -> list[Loss]:
    """What predictions lose under the edits, slot by slot of every frame or call."""
    split = read_header(predictions / f"{ORIGINAL}.jsonl").split or "test"
    own = {rule: str(edits / f"{rule}.json") for rule in EDITS}
    inputs = Inputs(predictions, split, source, own_variants=own)
    task = task_of(inputs, TurnOptions())
    items = task.items(read_given(task, inputs))
    schemas = {
        service.service_name: service for service in open_release(source).schema(split, ORIGINAL)
    }
    found = []
    for place, item in enumerate(items.ids):
        dialogue, service = item.split("/")[0], item.rpartition("/")[2]
        scores = {
            name: {
                line.position: line.score or 0.0
                for line in items.lines(place, name)
                if 0 <= line.position < len(schemas[service].slots) and line.reference
            }
            for name in items.variants
        }
        for rule in (name for name in items.variants if name != ORIGINAL):
            for position, before in scores[ORIGINAL].items():
                points = 100 * (before - scores[rule][position])
                found.append(Loss(rule, dialogue, service, position, points))
    return found


def losses(found: Sequence[Loss]) -> dict[str, Evidence]:
    """What slots with a value lose under each edit, in points, drawn over dialogues."""
    evidence = {}
    for rule in dict.fromkeys(loss.rule for loss in found):
        of_rule = [loss for loss in found if loss.rule == rule]
        dialogue = np.unique([loss.dialogue for loss in of_rule], return_inverse=True)[1]
        evidence[rule] = Evidence(*_interval(np.array([loss.points for loss in of_rule]), dialogue))
    return evidence


def _interval(values: Floats, cluster: Ints) -> tuple[float, float, float]:
    sums, counts = np.bincount(cluster, values), np.bincount(cluster)
    draws = np.random.default_rng(_SEED).integers(len(sums), size=(_RESAMPLES, len(sums)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return round(float(values.mean()), 2), round(float(low), 2), round(float(high), 2)


def of_elements(found: Sequence[Loss]) -> list[tuple[str, str, float]]:
    """What each slot loses under each edit: its service, the edit, and points."""
    points: dict[tuple[str, str, int], list[float]] = {}
    for loss in found:
        points.setdefault((loss.service, loss.rule, loss.position), []).append(loss.points)
    return [
        (service, rule, sum(of) / len(of))
        for (service, rule, _), of in points.items()
        if len(of) >= _FEWEST_FRAMES
    ]


def ranking(rows: list[tuple[str, str, float]], expected: Mapping[str, float]) -> Ranking:
    """How expected losses of rules rank slots by their own: Spearman's correlation.

    The interval is drawn over services.
    """
    services = sorted({service for service, _, _ in rows})
    of = {s: np.array([(expected[w], x) for t, w, x in rows if t == s]) for s in services}
    whole = _spearman(np.concatenate([of[s] for s in services]))
    rng = np.random.default_rng(_SEED)
    draws = rng.integers(len(services), size=(_RESAMPLES, len(services)))
    drawn = [_spearman(np.concatenate([of[services[i]] for i in draw])) for draw in draws]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Ranking(round(whole, 2), round(float(low), 2), round(float(high), 2))


def _spearman(pairs: Floats) -> float:
    ranks = [_ranks(column) for column in pairs.T]
    correlations: Floats = np.corrcoef(ranks)
    return float(correlations[0, 1])


def _ranks(values: Floats) -> Floats:
    """Ranks, with the mean rank where values are equal."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]


def measure(source: str, edits: Path, chosen_on: Path, judged_on: Path, name: str) -> None:
    """Write evidence.json of the second run, and print what both give."""
    folders = chosen_on / "predictions", judged_on / "predictions"
    first, second = (read_losses(folder, source, edits) for folder in folders)
    expected = {rule: found.loss for rule, found in losses(first).items()}
    rules = losses(second)
    for rule, found in rules.items():
        print(f"{rule}: {expected[rule]} at first, then {found}")
    seen = {service for service, _, _ in of_elements(first)}
    rows = [row for row in of_elements(second) if row[0] not in seen]
    rank = ranking(rows, expected)
    print(f"{len(rows)} slots and edits of {len({row[0] for row in rows})} services: {rank}")
    kept = {rule: found for rule, found in rules.items() if rule in RULES and found.low > 0}
    evidence = AllEvidence(kept, rank, name)
    _EVIDENCE.write_bytes(msgspec.json.format(msgspec.json.encode(evidence), indent=1) + b"\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    edits = commands.add_parser("edits")
    measured, called = commands.add_parser("measure"), commands.add_parser("calls")
    for command in (edits, measured, called):
        command.add_argument("source")
        command.add_argument("folder", type=Path, help="of the edits")
    measured.add_argument("chosen_on", type=Path)
    measured.add_argument("judged_on", type=Path)
    measured.add_argument("--name", required=True, help="what the second run is, for readers")
    called.add_argument("predictions", type=Path)
    given = parser.parse_args()
    if given.command == "edits":
        write_edits(given.source, given.folder)
    elif given.command == "calls":
        found = read_losses(given.predictions, given.source, given.folder)
        for rule, evidence in losses(found).items():
            count = sum(loss.rule == rule for loss in found)
            print(f"{rule}: {count} parameters of calls, {evidence}")
    else:
        measure(given.source, given.folder, given.chosen_on, given.judged_on, given.name)


if __name__ == "__main__":
    main()
