"""Scores, comparisons and explanations as tables on the terminal, which fit into 80 columns."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.text import Text

from sgdx_dataset.io.console import escape_controls
from sgdx_metric.bootstrap import BOTH, DIALOGUES
from sgdx_metric.signature import signature_parts

from .explain import Flip, Line
from .tables import (
    NO_VALUE,
    difference_cells,
    interval,
    legend,
    number,
    percent,
    print_line,
    print_table,
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
    """Print joint goal accuracy and schema sensitivity in percent, their intervals and signature.

    Figures that the variants do not give have no column.

    Args:
        result: What `report` returned.
        console: Where to print.
    """
    sgdx = result["sgdx"]
    names = {key: figure_title(key) for key in (*_TITLES, *_wider(sgdx["confidence"]))}
    names = {
        key: name for key, name in names.items() if sgdx[key] is not None and key not in _LINES
    }
    rows = []
    for group in _GROUPS:
        figures = sgdx if group == "all" else sgdx[group]
        cells = (percent(figures[key]) for key in names)
        rows.append([group, str(result["frames"][group]), *cells])
    chosen = signature_parts(result["signature"], "signature").get("services", "")
    of_services = f" of {chosen.replace('+', ', ')}" if chosen else ""
    title = f"Joint goal accuracy and schema sensitivity{of_services}, in %"
    print_table(title, ["services", "frames", *names.values()], rows, console)
    for key, ends in sgdx["confidence"].items():
        if ends and key == "drop":
            drop = f"JGA_v1-5 - JGA_orig: {percent(sgdx[key])}"
            print_line(f"{drop}, 95 % interval {interval(ends)}", console)
        elif ends and key in names:
            print_line(f"{names[key]}: 95 % interval {interval(ends)}", console)
        elif ends:
            figure = f"{figure_title(key)}: {percent(sgdx[key])}"
            print_line(f"{figure}, 95 % interval {interval(ends)}", console)
    print_line("", console)
    _print_variants(result, console)
    print_line(f"{_score_legend(sgdx)}\n", console)
    for name, count in result["ignored_slots"].items():
        if count:
            share = 100 * count / result["predicted_slots"][name]
            print_line(
                f"{name}: ignored {count} predicted slots ({share:.1f} %) that the schema lacks",
                console,
            )
    print_line(result["signature"], console)


def _score_legend(sgdx: Mapping[str, Any]) -> str:
    """What the figures that the variants give are, in lines of at most 80 characters."""
    terms = figure_terms([key for key, figure in sgdx.items() if isinstance(figure, float)])
    if sgdx["differences"]:
        terms += ["difference: JGA less that of original.", P_TERM]
    terms.append("seen: services that the original train split has; unseen: all others.")
    return legend(terms)


def figure_terms(keys: Collection[str]) -> list[str]:
    """What figures of states are, and whether a higher or a lower one is better.

    Args:
        keys: The keys of the figures, such as "jga_orig"; what has no term is skipped.

    Returns:
        A term for each figure, and one for what is better; [] for no figure.
    """
    terms = [text for key, text in _TERMS.items() if _has(key, keys)]
    higher = [name for key, name in _HIGHER.items() if _has(key, keys)]
    lower = [name for key, name in _LOWER.items() if _has(key, keys)]
    better = [f"higher {listed(higher)}"] if higher else []
    better += [f"lower {listed(lower)}"] if lower else []
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
    """Print how many answers could not be read, which the scores count as the empty state.

    Args:
        unread: How many of how many answers, by variant. If it is empty, nothing is printed.
        empty_state_jga: The joint goal accuracy of the empty state in all frames.
        console: Where to print.
    """
    for name, (invalid, requests) in unread.items():
        share = percent(invalid / requests if requests else None)
        print_line(f"{name}: {invalid} of {requests} answers invalid ({share} %)", console)
    if unread:
        jga = percent(empty_state_jga)
        print_line(f"An invalid answer counts as the empty state, whose JGA is {jga} %.", console)


def _print_variants(result: dict[str, Any], console: Console) -> None:
    """Print the joint goal accuracy under each variant, and its difference to the original's.

    Where there is no variant to compare with the original, the differences have no column.
    """
    differences = result["sgdx"]["differences"]
    headers = ["variant", *_GROUPS]
    if differences:
        headers += ["difference", "95 % interval", "p"]
    rows = []
    for name, groups in result["variants"].items():
        means = (groups.get(key, {}).get("joint_goal_accuracy") for key in _GROUPS.values())
        change = differences.get(name, {})
        ends = None if change.get("low") is None else [change["low"], change["high"]]
        cells = difference_cells(change.get("difference"), ends, change.get("p"))
        rows.append([name, *map(percent, means), *(cells if differences else [])])
    print_table("Joint goal accuracy by variant, in %", headers, rows, console)


def print_calls(result: dict[str, Any], console: Console) -> None:
    """Print the accuracies of calls, what they say over wordings, in percent, and the signature.

    Args:
        result: What `report_calls` returned.
        console: Where to print.
    """
    drops, across = [], []
    for metric, of_all in result["calls"].items():
        for group in _GROUPS:
            figures = of_all if group == "all" else of_all[group]
            name = f"{CALL_TITLES[metric]}, {group}"
            drop = difference_cells(figures["drop"], figures["confidence"]["drop"], figures["p"])
            drops.append([name, percent(figures["original"]), percent(figures["reworded"]), *drop])
            if metric in ("call_accuracy", "task_success"):
                cells = (percent(figures[key]) for key in ("worst", "flips", "sensitivity"))
                across.append([name, *cells])
    headers = ["accuracy of", "original", "reworded", "drop", "95 % interval", "p"]
    calls = ", ".join(f"{result['frames'][group]} {group}" for group in _GROUPS)
    title = f"Accuracy of calls ({calls}; {result['dialogues']} dialogues), in %"
    print_table(title, headers, drops, console)
    headers = ["accuracy of", "worst", "flips", "SS"]
    print_table("The same over all wordings, in %", headers, across, console)
    _print_calls_by_variant(result, console)
    over = signature_parts(result["signature"], "signature").get("over", DIALOGUES)
    drawn = "dialogues and wordings" if over == BOTH else over
    terms = [*CALL_TERMS, f"{P_TERM} Intervals and p are over {drawn}."]
    terms.append("prec., recall: precision and recall of the decision to call.")
    print_line(f"{legend(terms)}\n", console)
    print_line(result["signature"], console)


def _print_calls_by_variant(result: dict[str, Any], console: Console) -> None:
    """Print the accuracy of whole calls under each wording, and of the decision to call."""
    headers = ["wording", "call", "difference", "95 % interval", "p", "task"]
    is_decided = any(result["decision"].values())
    headers += ["prec.", "recall"] if is_decided else []
    rows = []
    for name, accuracy in result["calls"]["call_accuracy"]["by_variant"].items():
        change = result["differences"].get(name, {})
        ends = None if change.get("low") is None else [change["low"], change["high"]]
        cells = difference_cells(change.get("difference"), ends, change.get("p"))
        success = percent(result["calls"]["task_success"]["by_variant"][name])
        decision = result["decision"].get(name) or {}
        decided = [percent(decision.get(key)) for key in ("precision", "recall")]
        rows.append([name, percent(accuracy), *cells, success, *(decided if is_decided else [])])
    print_table("Whole calls, and tasks, by wording, in %", headers, rows, console)


def print_explanation(
    frame_id: str, dialogue: Sequence[tuple[str, str]], lines: list[Line], console: Console
) -> None:
    """Print the dialogue up to a frame, and what each slot of it scores under each variant.

    Args:
        frame_id: The frame.
        dialogue: Speaker and utterance of each turn, the last of which is the frame's own.
        lines: What `explain` returned.
        console: Where to print.
    """
    print_line(frame_id, console)
    for speaker, utterance in dialogue:
        console.print(Text(escape_controls(f"{speaker.lower():>6}: {utterance}")))
    rows = []
    for line in lines:
        values = " | ".join(line.reference), " | ".join(line.predicted)
        score = number(line.score)
        rows.append([line.variant, line.slot or line.aspect, *values, score, line.why])
    breaks = [i for i, (one, two) in enumerate(pairwise(lines)) if one.aspect != two.aspect]
    headers = ["variant", "slot", "reference", "prediction", "score", "why"]
    texts = ("slot", "reference", "prediction", "why")
    print_table("", headers, rows, console, texts, breaks)


def print_broken(
    frames: list[tuple[str, float, float]],
    count: int,
    unit: str,
    variants: Sequence[str],
    console: Console,
) -> None:
    """List the frames that score less under a second variant than under a first.

    Args:
        frames: What `broken_frames` returned.
        count: How many frames there are in all.
        unit: What they are, "frame" or "call".
        variants: The names of the first and the second variant.
        console: Where to print.
    """
    first, second = variants
    rows = [[name, percent(before), percent(after)] for name, before, after in frames]
    accuracy = "Joint goal accuracy of frames" if unit == "frame" else "Accuracy of calls"
    print_table(f"{accuracy}, in %", [unit, first, second], rows, console)
    print_line(
        f"{len(frames)} of {count} {unit}s score less under {second} than under {first}", console
    )


def print_flips(flips: Sequence[Flip], right: int, count: int, unit: str, console: Console) -> None:
    """List the frames that are right under one wording and wrong under another.

    Args:
        flips: What `find_flips` returned.
        right: How many frames are right under every wording.
        count: How many frames there are in all.
        unit: What they are, "frame" or "call".
        console: Where to print.
    """
    rows = []
    for flip in flips:
        changed = "; ".join(
            f"{line.slot or line.aspect}: {_values(before.predicted)} -> {_values(line.predicted)}"
            f" ({line.why})"
            for before, line in flip.changes
        )
        rows.append([flip.frame_id, " ".join(flip.right), " ".join(flip.wrong), changed])
    title = f"{unit.capitalize()}s that are right under one wording and wrong under another"
    texts = ("right under", "wrong under", "what changed")
    print_table(title, [unit, *texts], rows, console, texts)
    if flips:
        print_line(f"{legend(_FLIPS_TERMS)}\n", console)
    share = percent(len(flips) / count if count else None)
    print_line(
        f"{len(flips)} of {count} {unit}s ({share} %) flip; {right} are right under every wording "
        f"({percent(right / count if count else None)} %)",
        console,
    )


def _values(values: Sequence[str]) -> str:
    """A slot's values as text; a dash for none."""
    return " | ".join(values) or NO_VALUE


def _wider(keys: dict[str, Any]) -> list[str]:
    """The keys of sensitivities over a wider set of variants than the paper's."""
    return [key for key in keys if key.startswith("ss_jga(")]


def figure_title(key: str) -> str:
    """The title of a figure's column: `SS(v1..v5+mine)` for the key `ss_jga(v1..v5+mine)`."""
    wider = key.replace("ss_jga", "SS").replace("jga_worst", "JGA_worst")
    wider = wider.replace("change(", "Change(").replace("canonical(", "Canonical(")
    return _TITLES.get(key, wider)
