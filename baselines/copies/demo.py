"""The demonstration of generation: copies of the sample corpus, scored under every wording."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sgdx_eval.tables import print_line, table, to_terminal
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgdx_eval.turns.tables import bleu_table, robustness_table
from sgsacc_metric import score_files

from ..data.requested import DEFAULT_CONFIGS, RequestedData
from .systems import copy_system, generate

SYSTEMS = ("gold", "derived", "empty")
_TABLES = {
    "What rewording does: BLEU, from 0 to 100, and in % slot error rate and text": (
        "BLEU orig", "BLEU v1-5", "SER orig", "SER v1-5", "changed"
    ),
    "What rewording does: SGSAcc, in %": ("SGSAcc orig", "SGSAcc v1-5", "SS_SGSAcc", "flips"),
}  # fmt: skip
_NEXT = """
These are {turns} turns of the project's own sample corpus, answered without
learning. Entailment is judged by comparing words: the figures show how the
table reads, not how good anything is. Responses and scores are in {output}.

Next, on SGD itself (PATH: a directory or archive of the release, or the word
download; later commands remember it):

  python -m sgdx_dataset prepare --source PATH
  python -m baselines.copies --system derived --output outputs/derived
  python -m sgsacc_metric score --predictions outputs/derived \\
      --output outputs/derived.json
  python -m sgsacc_metric score --predictions outputs/derived \\
      --output outputs/derived.json --nli FacebookAI/roberta-large-mnli
"""


def demo(output: Path) -> None:
    """Generate, score and print.

    Args:
        output: Folder for `SYSTEM/VARIANT.jsonl` and `SYSTEM.json`, the scores.

    Raises:
        ScoreError, SgdxError: A file cannot be written.
    """
    data = RequestedData("sample", "test")
    references = turns_of(data.release, data.split)
    turns = read_turns(references, "original")
    scores = {}
    for name in SYSTEMS:
        generate(copy_system(name), data, DEFAULT_CONFIGS, output / name)
        scores[name] = score_files(
            output / name, source="sample", nli="lexical", output=output / f"{name}.json"
        )
    console = Console(width=80)
    headers, rows = robustness_table(scores)
    for title, figures in _TABLES.items():
        shown = [0, 1, 2, *map(headers.index, figures)]
        of_title = [[row[i] for i in shown] for row in rows]
        to_terminal(table(title, [headers[i] for i in shown], of_title), console)
    bleu = table("BLEU of all turns under the original schemas", *bleu_table(scores))
    to_terminal(bleu, console)
    print_line(scores["gold"]["signature"], console)
    print_line(_NEXT.format(turns=len(turns), output=output), console)
