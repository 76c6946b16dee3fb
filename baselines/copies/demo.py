"""The demonstration of generation: copies of the sample corpus, scored under every wording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sgsacc_metric.cli.commands import score
from sgsacc_metric.cli.files import write_scores
from sgsacc_metric.cli.predictions import read_predictions
from sgsacc_metric.cli.references import open_references
from sgsacc_metric.cli.tables import bleu_table, robustness_table
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.units import units_of

from .__main__ import DEFAULT_CONFIGS, copy_system, generate

SYSTEMS = ("gold", "derived", "empty")
_NEXT = """
These are {turns} turns of the project's own sample corpus, answered without learning. What entails
what is judged by comparing words: the figures show how the table reads, not how good anything is.
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
    console = Console(width=140)
    title = "What rewording does (BLEU from 0 to 100, all else in %)"
    _print_table(title, *robustness_table(results), console)
    title = "BLEU under the original schemas, by convention"
    _print_table(title, *bleu_table(results), console)
    _print_line(results["gold"]["signature"], console)
    _print_line(_NEXT.format(turns=len(turns)), console)


def _print_table(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], console: Console
) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, header in enumerate(headers):
        table.add_column(header.replace("|", " "), justify="right" if i > 1 else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    _print_line(title, console)
    console.print(table, crop=False)
    _print_line("", console)


def _print_line(text: str, console: Console) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)
