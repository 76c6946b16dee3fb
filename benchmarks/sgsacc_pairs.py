"""How many pairs of sentences SGSAcc has judged, beside the plain way; the verdicts are the same.

The plain way goes wording by wording, turn by turn and action by action, and asks about every
sentence with the utterance alone and in its context. The metric asks about each pair once, about
context only where the utterance alone does not entail, and about the gold side once for all
wordings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from baselines.copies.derived import derived
from sgsacc_metric.cli.references import open_references
from sgsacc_metric.cli.selection import select_turns
from sgsacc_metric.lexical import LexicalNli
from tests.sgsacc_metric.slow import VARIANTS, fast, plain


def main() -> None:
    """Print both numbers of pairs for the derived copy of a source's test split."""
    parser = argparse.ArgumentParser("python -m benchmarks.sgsacc_pairs", description=__doc__)
    parser.add_argument("--source", default="sample", help="the release; default: sample")
    text = "take these dialogues only: a file that 'python -m sgdx_dataset subset' wrote"
    parser.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    options = parser.parse_args()
    references = open_references(options.source, None, "test", {})
    turns_of = {
        name: select_turns(references.turns(name), "test", options.dialogues, None)
        for name in VARIANTS
    }
    turns = turns_of["original"]
    utterances = {
        name: [derived(turn) for turn in of_variant] for name, of_variant in turns_of.items()
    }
    ours, sent = fast(turns, utterances, LexicalNli())
    theirs, plainly = plain(turns, utterances, LexicalNli())
    same = "the same verdicts" if ours == theirs else "OTHER VERDICTS"
    print(f"turns: {len(turns)}, wordings: {len(utterances)}, {same}")
    print(f"pairs sent: {sent}; the plain way: {plainly}, {plainly / sent:.1f} times as many")


if __name__ == "__main__":
    main()
