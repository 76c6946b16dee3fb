"""Scores, comparisons and explanations as tables on the terminal, which fit into 80 columns."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from rich.console import Console

from sgdx_metric.bootstrap import BOTH, DIALOGUES
from sgdx_metric.signature import signature_parts

from .explain import Flip, Line
from .tables import (
    CHANGE,
    NO_VALUE,
    change_cells,
    format_figure,
    interval,
    legend,
    number,
    percent,
    print_line,
    table,
    to_terminal,
)

_GROUPS = {"all": "#ALL_SERVICES", "seen": "#SEEN_SERVICES", "unseen": "#UNSEEN_SERVICES"}
_TITLES = {
    "jga_orig": "JGA_orig",
    "jga_v1-5": "JGA_v1-5",
    "relative_difference": "Diff_rel",
    "ss_jga": "SS_JGA",
    "jga_worst": "JGA_worst",
    "flips": "flips",
    "change_orig": "Change_orig",
    "change_v1-5": "Change_v1-5",
    "canonical_orig": "Canonical_orig",
    "canonical_v1-5": "Canonical_v1-5",
}
# Figures that have a line and no column, as the table of scores would be too wide.
_LINES = ("change_orig", "change_v1-5", "canonical_orig", "canonical_v1-5")
# What the figures of states are, by the beginning of their keys.
_TERMS = {
    "jga_": "JGA: joint goal accuracy; a frame is right if every slot of its state is.",
    "jga_orig": "JGA_orig: under the original schemas.",
    "jga_v1-5": "JGA_v1-5: the mean over the five rewordings.",
    "relative_difference": "Diff_rel: (JGA_v1-5 - JGA_orig) / JGA_orig.",
    "ss_jga": "SS: schema sensitivity, how far a frame's score varies over the rewordings.",
    "jga_worst": "JGA_worst: each frame under the wording that is worst for it.",
    "flips": "flips: frames right under one wording and wrong under another.",
    "change_": "Change: JGA of what changes since the turn before alone, so that an early mistake "
    "counts once.",
    "canonical_": "Canonical: JGA that also takes what a value is to the API, as in 2019-03-01.",
}
_HIGHER = {"jga_": "JGA", "change_": "Change", "canonical_": "Canonical"}
_LOWER = {"ss_jga": "SS", "flips": "flips"}
P_TERM = "p: how likely chance alone makes so large a difference."
CALL_TITLES = {
    "call_name_accuracy": "name",
    "call_argument_accuracy": "arguments",
    "call_accuracy": "call",
    "task_success": "task",
}
_FLIPS_TERMS = [
    "what changed: each slot that was lost, with the prediction under the first wording of "
    '"right under" -> the prediction under the first of "wrong under" (why it is wrong).',
    f"{NO_VALUE}: no value.",
]
CALL_TERMS = [
    "call: the right function with the right arguments.",
    "task: all calls of a dialogue are right.",
    "reworded: the mean over all wordings but the original.",
    "drop: reworded less original.",
    "worst: each call, or task, under the wording that is worst for it.",
    "flips: right under one wording and wrong under another.",
    "SS: how far a score varies over wordings.",
    "Better: lower SS and flips; of all else, higher.",
]


def print_scores(result: dict[str, Any], console: Console) -> None:
    """Print joint goal accuracy and schema sensitivity in percent, intervals and signature.

    Figures that the variants do not give have no column.
    """
    sgdx = result["sgdx"]
    # Sensitivities over a wider set of variants than the paper's have a column, too.
    wider = [key for key in sgdx["confidence"] if key.startswith("ss_jga(")]
    keys = [key for key in (*_TITLES, *wider) if sgdx[key] is not None and key not in _LINES]
    rows = [
        [name, str(result["frames"][name]), *(percent(figures[key]) for key in keys)]
        for name, figures in by_group(sgdx, _GROUPS).items()
    ]
    chosen = signature_parts(result["signature"], "signature").get("services", "")
    of_services = f" of {chosen.replace('+', ', ')}" if chosen else ""
    title = f"Joint goal accuracy and schema sensitivity{of_services}, in %"
    headers = ["services", "frames", *map(figure_title, keys)]
    to_terminal(table(title, headers, rows), console)
    print_intervals(sgdx, figure_title, console)
    _print_variants(result, console)
    terms = figure_terms([key for key, figure in sgdx.items() if isinstance(figure, float)])
    if sgdx["differences"]:
        terms += ["difference: JGA less that of original.", P_TERM]
    terms.append("seen: services that the original train split has; unseen: all others.")
    print_line(f"{legend(terms)}\n", console)
    for name, count in result["ignored_slots"].items():
        if count:
            share = percent(count / result["predicted_slots"][name], 1)
            ignored = f"{name}: ignored {count} predicted slots ({share} %) that the schema lacks"
            print_line(ignored, console)
    print_line(result["signature"], console)


def by_group(figures: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Figures by group, of which those of all stand beside the others."""
    return {name: figures if name == "all" else figures[name] for name in names}


def print_intervals(
    figures: Mapping[str, Any],
    title: Callable[[str], str],
    console: Console,
    text: Callable[[str, float | None], str] = format_figure,
) -> None:
    """Print each figure that has an interval, and a free line."""
    for key, ends in figures["confidence"].items():
        if ends:
            of_key = partial(text, key)
            value = f"{title(key)}: {of_key(figures[key])}"
            print_line(f"{value}, 95 % interval {interval(ends, of_key)}", console)
    print_line("", console)


def figure_terms(keys: Collection[str]) -> list[str]:
    """What figures of states are, and whether a higher or a lower one is better."""
    terms = [text for key, text in _TERMS.items() if _has(key, keys)]
    better = [
        f"{way} {listed(names)}"
        for way, titles in (("higher", _HIGHER), ("lower", _LOWER))
        if (names := [name for key, name in titles.items() if _has(key, keys)])
    ]
    return [*terms, f"Better: {'; '.join(better)}."] if better else terms


def _has(beginning: str, keys: Collection[str]) -> bool:
    """Whether one of the keys begins so."""
    return any(key.startswith(beginning) for key in keys)


def listed(words: Sequence[str]) -> str:
    """Words as English lists them: "dialogues, wordings and runs"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def print_unread(
    unread: Mapping[str, tuple[int, int]], empty_state_jga: float | None, console: Console
) -> None:
    """Print how many of how many answers could not be read, which count as the empty state."""
    for name, (invalid, requests) in unread.items():
        share = percent(invalid / requests if requests else None)
        print_line(f"{name}: {invalid} of {requests} answers invalid ({share} %)", console)
    if unread:
        jga = percent(empty_state_jga)
        print_line(f"An invalid answer counts as the empty state, whose JGA is {jga} %.", console)


def _print_variants(result: dict[str, Any], console: Console) -> None:
    """Print the joint goal accuracy under each variant, and its difference to the original's."""
    differences = result["sgdx"]["differences"]
    rows = []
    for name, groups in result["variants"].items():
        means = (groups.get(key, {}).get("joint_goal_accuracy") for key in _GROUPS.values())
        change = change_cells(differences.get(name, {})) if differences else []
        rows.append([name, *map(percent, means), *change])
    headers = ["variant", *_GROUPS, *(CHANGE if differences else ())]
    to_terminal(table("Joint goal accuracy by variant, in %", headers, rows), console)


def print_calls(result: dict[str, Any], console: Console) -> None:
    """Print the accuracies of calls, what they say over wordings, in percent, and the signature."""
    drops, across = [], []
    for metric, of_all in result["calls"].items():
        for group, figures in by_group(of_all, _GROUPS).items():
            name = f"{CALL_TITLES[metric]}, {group}"
            means = [percent(figures[key]) for key in ("original", "reworded")]
            drop = {"difference": figures["drop"], "interval": figures["confidence"]["drop"]}
            drops.append([name, *means, *change_cells(drop | {"p": figures["p"]})])
            if metric in ("call_accuracy", "task_success"):
                cells = [percent(figures[key]) for key in ("worst", "flips", "sensitivity")]
                across.append([name, *cells])
    headers = ["accuracy of", "original", "reworded", "drop", *CHANGE[1:]]
    calls = ", ".join(f"{result['frames'][group]} {group}" for group in _GROUPS)
    title = f"Accuracy of calls ({calls}; {result['dialogues']} dialogues), in %"
    to_terminal(table(title, headers, drops), console)
    headers = ["accuracy of", "worst", "flips", "SS"]
    to_terminal(table("The same over all wordings, in %", headers, across), console)
    _print_calls_by_variant(result, console)
    over = signature_parts(result["signature"], "signature").get("over", DIALOGUES)
    drawn = "dialogues and wordings" if over == BOTH else over
    terms = [*CALL_TERMS, f"{P_TERM} Intervals and p are over {drawn}."]
    terms.append("prec., recall: precision and recall of the decision to call.")
    print_line(f"{legend(terms)}\n\n{result['signature']}", console)


def _print_calls_by_variant(result: dict[str, Any], console: Console) -> None:
    """Print the accuracy of whole calls under each wording, and of the decision to call."""
    calls, decisions = result["calls"], result["decision"]
    decided = {"precision": "prec.", "recall": "recall"} if any(decisions.values()) else {}
    rows = []
    for name, accuracy in calls["call_accuracy"]["by_variant"].items():
        change = change_cells(result["differences"].get(name, {}))
        success = calls["task_success"]["by_variant"][name]
        of_decision = [(decisions.get(name) or {}).get(key) for key in decided]
        rows.append([name, percent(accuracy), *change, *map(percent, (success, *of_decision))])
    headers = ["wording", "call", *CHANGE, "task", *decided.values()]
    to_terminal(table("Whole calls, and tasks, by wording, in %", headers, rows), console)


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


def figure_title(key: str) -> str:
    """The title of a figure's column: `SS(v1..v5+mine)` for the key `ss_jga(v1..v5+mine)`."""
    wider = key.replace("ss_jga", "SS").replace("jga_worst", "JGA_worst")
    wider = wider.replace("change(", "Change(").replace("canonical(", "Canonical(")
    return "JGA_v1-5 - JGA_orig" if key == "drop" else _TITLES.get(key, wider)
