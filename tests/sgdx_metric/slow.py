"""The official scoring rules written down directly, a frame at a time, with fuzzywuzzy itself."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from fuzzywuzzy import fuzz

Row = dict[str, Any]


def frame_scores(reference: Row, prediction: Row, use_fuzzy_match: bool = True) -> dict[str, float]:
    """Every metric that is defined for the frame."""
    scores = {
        "active_intent_accuracy": float(reference["active_intent"] == prediction["active_intent"])
    }
    scores |= f1("requested_slots", reference["requested_slots"], prediction["requested_slots"])
    categorical = {slot["name"]: slot["is_categorical"] for slot in reference["schema_slots"]}
    if prediction.get("slots") is not None:
        text = reference["utterance"]
        tagged = [
            [
                (span["slot"], text[span["start"] : span["exclusive_end"]])
                for span in row["slots"]
                if categorical.get(span["slot"]) is False
            ]
            for row in (reference, prediction)
        ]
        scores |= f1("slot_tagging", *tagged)
    return scores | goals(categorical, state(reference), state(prediction), use_fuzzy_match)


def state(row: Row) -> dict[str, list[str]]:
    return {item["slot"]: item["values"] for item in row["slot_values"]}


def f1(prefix: str, true: list[Any], predicted: list[Any]) -> dict[str, float]:
    hits = (Counter(true) & Counter(predicted)).total()
    precision = hits / len(predicted) if predicted else 1.0
    recall = hits / len(true) if true else 1.0
    both = precision + recall
    return {
        f"{prefix}_f1": 2 * precision * recall / both if both else 0.0,
        f"{prefix}_precision": precision,
        f"{prefix}_recall": recall,
    }


def goals(
    categorical: dict[str, bool],
    true: dict[str, list[str]],
    predicted: dict[str, list[str]],
    use_fuzzy_match: bool,
) -> dict[str, float]:
    def score(slot: str) -> float:
        if slot not in true or slot not in predicted:
            return float(slot not in true and slot not in predicted)
        value = predicted[slot][0]
        if categorical[slot]:
            return float(true[slot][0] == value)
        if not use_fuzzy_match:
            return max(float(spoken == value) for spoken in true[slot])
        return float(max(fuzz.token_sort_ratio(spoken, value) for spoken in true[slot])) / 100

    scores = {}
    for kind, wanted in (("goal", (True, False)), ("cat", (True,)), ("noncat", (False,))):
        slots = [slot for slot, is_categorical in categorical.items() if is_categorical in wanted]
        active = [score(slot) for slot in slots if slot in true]
        if active:
            scores[f"average_{kind}_accuracy"] = sum(active) / len(active)
        if slots:
            scores[f"joint_{kind}_accuracy"] = math.prod(map(score, slots))
    return scores


def group_means(
    references: list[Row],
    predictions: list[Row],
    use_fuzzy_match: bool = True,
    joint_acc_across_turn: bool = False,
) -> dict[str, dict[str, float]]:
    """Means over #ALL, #SEEN, #UNSEEN, services and domains, for rows of one variant."""
    values = unit_scores(references, predictions, use_fuzzy_match, joint_acc_across_turn)
    return {
        group: {metric: sum(units.values()) / len(units) for metric, units in metrics.items()}
        for group, metrics in values.items()
    }


def unit_scores(
    references: list[Row],
    predictions: list[Row],
    use_fuzzy_match: bool,
    joint_acc_across_turn: bool,
) -> dict[str, dict[str, dict[str, float]]]:
    """By group and metric the score of each frame, or for joint accuracies of each turn."""
    by_id = {row["frame_id"]: row for row in predictions}
    values: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for reference in references:
        service, frame = reference["service"], reference["frame_id"]
        seen = "#SEEN_SERVICES" if reference["seen"] else "#UNSEEN_SERVICES"
        scores = frame_scores(reference, by_id[frame], use_fuzzy_match)
        for group in {"#ALL_SERVICES", seen, service, service.split("_")[0]}:
            for metric, score in scores.items():
                across = joint_acc_across_turn and metric.startswith("joint")
                unit = frame.rpartition("/")[0] if across else frame
                units = values[group][metric]
                units[unit] = units.get(unit, 1.0) * score
    return values


def sensitivity(scores: list[list[float]], drop: bool = False) -> float | None:
    """Schema sensitivity of per-frame scores, one list a variant, by the paper's equation; with
    `drop`, of the frames that are not wrong under all variants."""
    found = []
    for frame in zip(*scores):
        mean = sum(frame) / len(frame)
        variance = sum((score - mean) ** 2 for score in frame) / (len(frame) - 1)
        if mean or not drop:
            found.append(math.sqrt(variance) / mean if mean else 0.0)
    return sum(found) / len(found) if found else None


def worst(frames: list[tuple[float, ...]]) -> float:
    """The mean of each frame's least score; a frame is its scores under the wordings."""
    return sum(min(frame) for frame in frames) / len(frames)


def flips(frames: list[tuple[float, ...]]) -> float:
    """The share of frames with a score of at least a half and one of less."""
    sides = [{score >= 0.5 for score in frame} for frame in frames]
    return sum(len(of_frame) == 2 for of_frame in sides) / len(frames)
