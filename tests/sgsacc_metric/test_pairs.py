"""Each pair is judged once: as few questions as the benchmark says, and the same verdicts."""

from __future__ import annotations

from baselines.copies.derived import derived
from sgdx_dataset import open_release
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgsacc_metric.lexical import LexicalNli

from .slow import VARIANTS, fast, plain


def test_a_fifth_of_the_pairs_of_the_plain_way() -> None:
    references = turns_of(open_release("sample"), "test")
    turns = read_turns(references, "original")
    said = {name: [derived(turn) for turn in read_turns(references, name)] for name in VARIANTS}
    ours, sent = fast(turns, said, LexicalNli())
    theirs, plainly = plain(turns, said, LexicalNli())
    assert ours == theirs
    assert plainly >= 5 * sent
