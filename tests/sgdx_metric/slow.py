"""The official scoring rules written down directly, a frame at a time, with fuzzywuzzy itself."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from fuzzywuzzy import fuzz

Row = dict[str, Any]
State = dict[str, list[str]]


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
    scores |= goals(categorical, state(reference), state(prediction), use_fuzzy_match)
    return scores | canonical(categorical, reference, prediction, use_fuzzy_match)


def canonical(
    categorical: dict[str, bool], reference: Row, prediction: Row, use_fuzzy_match: bool
) -> dict[str, float]:
    """`joint_canonical_accuracy`: a slot that is predicted as its canonical value is right too."""
    if reference.get("canonical_values") is None or not categorical:
        return {}
    stands_for = {item["slot"]: item["values"] for item in reference["canonical_values"]}
    predicted = state(prediction)
    rest = {
        slot: kind
        for slot, kind in categorical.items()
        if slot not in predicted or predicted[slot][0] not in stands_for.get(slot, [])
    }
    scores = goals(rest, state(reference), predicted, use_fuzzy_match)
    return {"joint_canonical_accuracy": scores.get("joint_goal_accuracy", 1.0)}


def state(row: Row) -> State:
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
    categorical: dict[str, bool], true: State, predicted: State, use_fuzzy_match: bool
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


def change(
    categorical: dict[str, bool], true: list[State], predicted: list[State], use_fuzzy_match: bool
) -> float:
    """The product of the scores of the slots that change in the last of a service's states."""
    score = 1.0
    for slot, is_categorical in categorical.items():
        values = [state[-1].get(slot, []) for state in (true, predicted)]
        before = [state[-2].get(slot, []) if len(state) > 1 else [] for state in (true, predicted)]
        values[1], before[1] = values[1][:1], before[1][:1]
        stays = [set(a) & set(b) or not (a or b) for a, b in zip(values, before)]
        if not all(stays):
            kind = {slot: is_categorical}
            scores = goals(kind, true[-1], predicted[-1], use_fuzzy_match)
            score *= scores["joint_goal_accuracy"]
    return score


def group_means(
    references: list[Row],
    predictions: list[Row],
    use_fuzzy_match: bool,
    joint_acc_across_turn: bool,
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
    changes = change_scores(references, by_id, use_fuzzy_match)
    values: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for reference in references:
        service, frame = reference["service"], reference["frame_id"]
        seen = "#SEEN_SERVICES" if reference["seen"] else "#UNSEEN_SERVICES"
        scores = frame_scores(reference, by_id[frame], use_fuzzy_match) | changes[frame]
        for group in {"#ALL_SERVICES", seen, service, service.split("_")[0]}:
            for metric, score in scores.items():
                across = joint_acc_across_turn and metric.startswith("joint")
                unit = frame.rpartition("/")[0] if across else frame
                units = values[group][metric]
                units[unit] = units.get(unit, 1.0) * score
    return values


def change_scores(
    references: list[Row], by_id: dict[str, Row], use_fuzzy_match: bool
) -> dict[str, dict[str, float]]:
    """`joint_change_accuracy` of each frame whose schema has slots, by its id."""
    series: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in references:
        dialogue, _, service = row["frame_id"].rsplit("/", 2)
        series[dialogue, service].append(row)
    scores: dict[str, dict[str, float]] = {}
    for rows in series.values():
        rows.sort(key=lambda row: int(row["frame_id"].split("/")[-2]))
        true = [state(row) for row in rows]
        predicted = [state(by_id[row["frame_id"]]) for row in rows]
        for i, row in enumerate(rows, 1):
            slots = {slot["name"]: slot["is_categorical"] for slot in row["schema_slots"]}
            score = change(slots, true[:i], predicted[:i], use_fuzzy_match)
            scores[row["frame_id"]] = {"joint_change_accuracy": score} if slots else {}
    return scores
