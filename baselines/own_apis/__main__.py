"""Track sixty dialogues about twelve APIs that are in no corpus, and say which states are right.

The dialogues and the APIs were written by hand for this project. The dialogues are text alone,
without dialogue acts. At the end of a dialogue, the state is right if every slot that the user
settled has its value and no other slot has one. The figures say how a tracker does on somebody's
own API. It must not be trained or tuned on these dialogues.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby

from sgdx_eval.tables import Table, print_line, table, terminal, to_terminal

from ..command_line import run_command
from ..use import load_tracker
from .suite import Verdict, judge, read_suite


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.own_apis", description=__doc__)
    parser.add_argument(
        "--model",
        required=True,
        help="Use this tracker: a run folder, a repository on the Hub, or lexical.",
    )
    parser.add_argument(
        "--details",
        action="store_true",
        help="Also print every dialogue: what is said, the state after each turn, and what is "
        "wrong.",
    )
    options = parser.parse_args()
    return run_command("baselines.own_apis", lambda: _print(options.model, options.details))


def _print(model: str, details: bool) -> None:
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


if __name__ == "__main__":
    sys.exit(main())
