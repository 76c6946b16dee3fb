"""The demonstration of generation: copies of the sample corpus, scored under every wording."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sgsacc_metric.cli.commands import score
from sgsacc_metric.cli.files import write_scores
from sgsacc_metric.cli.predictions import read_predictions
from sgsacc_metric.cli.references import open_references
from sgsacc_metric.cli.tables import bleu_table, robustness_table
from sgsacc_metric.cli.terminal import print_line, print_table
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.units import units_of

from .systems import DEFAULT_CONFIGS, copy_system, generate

SYSTEMS = ("gold", "derived", "empty")
_TABLES = {
    "What rewording does: BLEU, from 0 to 100, and in % slot error rate and text": (
        "BLEU orig", "BLEU v1-5", "SER orig", "SER v1-5", "changed"
    ),
    "What rewording does: SGSAcc, in %": ("SGSAcc orig", "SGSAcc v1-5", "SS_SGSAcc", "flips"),
}  # fmt: skip
_NEXT = """
These are {turns} turns of the project's own sample corpus, answered without learning. Entailment is
judged by comparing words: the figures show how the table reads, not how good anything is.
Next, on SGD itself (PATH: a directory or archive of the release, or the word download; later
commands remember it):

  python -m sgdx_dataset prepare --source PATH
  python -m baselines.copies --system derived --output outputs/derived
  python -m sgsacc_metric score --predictions outputs/derived --output outputs/derived.json
  python -m sgsacc_metric score --predictions outputs/derived --output outputs/derived.json \\
      --nli FacebookAI/roberta-large-mnli
"""


def demo(output: Path) -> None:
    """Generate, score and print.

    Args:
        output: Folder for `SYSTEM/VARIANT.jsonl` and `SYSTEM.json`, the scores.

    Raises:
        ScoreError, SgdxError: A file cannot be written.
    """
    references = open_references("sample", None, "test", {})
    turns = references.turns("original")
    results = {}
    for name in SYSTEMS:
        paths = generate(copy_system(name), references, DEFAULT_CONFIGS, output / name)
        predictions = [
            row for path in paths for row in read_predictions(path, "test", path.stem)[0]
        ]
        scored = score(references, turns, turns, predictions, LexicalNli())
        write_scores(scored.result, units_of(turns, scored.scores), output / f"{name}.json")
        results[name] = scored.result
    console = Console(width=80)
    headers, rows = robustness_table(results)
    for title, figures in _TABLES.items():
        columns = [0, 1, 2, *map(headers.index, figures)]
        cells = [[row[i] for i in columns] for row in rows]
        print_table(title, [headers[i] for i in columns], cells, console)
    print_table("BLEU of all turns under the original schemas", *bleu_table(results), console)
    print_line(results["gold"]["signature"], console)
    print_line(_NEXT.format(turns=len(turns)), console)
