"""What a tracker made of the dialogues about own APIs, as ``sgdx own-apis`` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from sgdx_eval.tables import Table, print_line, table, terminal, to_terminal

from ..use import load_tracker
from .suite import Verdict, judge, read_suite


def show_verdicts(model: str, details: bool) -> None:
    """Track the dialogues, and print how many states are right."""
    verdicts = judge(load_tracker(model), read_suite())
    console = terminal()
    if details:
        for verdict in verdicts:
            print_line(_details(verdict), console)
    to_terminal(_table(verdicts), console)


def _table(verdicts: Sequence[Verdict]) -> Table:
    """A row for each API and one for all: the counts of dialogues, states and values."""
    rows = [
        [name, *_counts(list(group))]
        for name, group in groupby(verdicts, lambda v: str(v.dialogue.service["service_name"]))
    ]
    headers = ["API", "states right", "values right", "wrong", "missing", "invented"]
    return table("", headers, [*rows, ["all", *_counts(verdicts)]], breaks=[len(rows) - 1])


def _counts(verdicts: Sequence[Verdict]) -> list[str]:
    values = sum(len(verdict.dialogue.state) for verdict in verdicts)
    return [
        f"{sum(verdict.is_whole for verdict in verdicts)} of {len(verdicts)}",
        f"{sum(len(verdict.right) for verdict in verdicts)} of {values}",
        str(sum(len(verdict.wrong) for verdict in verdicts)),
        str(sum(len(verdict.missing) for verdict in verdicts)),
        str(sum(len(verdict.invented) for verdict in verdicts)),
    ]


def _details(verdict: Verdict) -> str:
    dialogue = verdict.dialogue
    lines = [f"{dialogue.dialogue_id}: {'right' if verdict.is_whole else 'not right'}"]
    for turn, utterance in enumerate(dialogue.utterances):
        lines.append(f"  {'SYSTEM' if turn % 2 else 'USER'}: {utterance}")
        if turn % 2 == 0:
            values = verdict.states[turn // 2]["slot_values"]
            lines.append("    " + ", ".join(f"{slot}={values[slot][0]}" for slot in sorted(values)))
    for fault in ("wrong", "missing"):
        lines += [
            f"  {fault}: {slot}, expected {' or '.join(dialogue.state[slot])}"
            for slot in getattr(verdict, fault)
        ]
    lines += [f"  invented: {slot}" for slot in verdict.invented]
    return "\n".join([*lines, ""])
