"""The demonstration of generation: copies of the sample corpus, scored under every wording."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sgdx_eval.requested import DEFAULT_CONFIGS, RequestedData
from sgdx_eval.tables import format_figure, print_line, table, to_terminal
from sgdx_eval.tasks.turns import Turns, read_turns, turns_of
from sgdx_eval.turn_tables import bleu_table
from sgsacc_metric import score_files

from .systems import copy_system, generate

SYSTEMS = ("gold", "derived", "empty")
# The figures of each table, by key.
_TABLES = {
    "What rewording does: BLEU, from 0 to 100, and in % slot error rate and text": {
        "bleu_orig": "BLEU orig",
        "bleu_v1-5": "BLEU v1-5",
        "ser_orig": "SER orig",
        "ser_v1-5": "SER v1-5",
        "changed": "changed",
    },
    "What rewording does: SGSAcc, in %": {
        "sgsacc_orig": "SGSAcc orig",
        "sgsacc_v1-5": "SGSAcc v1-5",
        "ss_sgsacc": "SS_SGSAcc",
        "flips": "flips",
    },
}
_NEXT = """
These are {turns} turns of the project's own sample corpus, answered without
learning. Entailment is judged by comparing words: the figures show how the
table reads, not how good anything is. Responses and scores are in {output}.

Next, on SGD itself (PATH: a directory or archive of the release, or the word
download; later commands remember it):

  sgdx prepare --source PATH
  sgdx copies --system derived --output outputs/derived
  sgdx score --predictions outputs/derived --output outputs/derived.json
  sgdx score --predictions outputs/derived --output outputs/derived.json \\
      --nli FacebookAI/roberta-large-mnli
"""


def demo(output: Path, quiet: bool = False) -> None:
    """Generate, score and print."""
    data = RequestedData("sample", "test")
    references = turns_of(data.release, data.split)
    turns = read_turns(references, "original")
    scores = {}
    for name in SYSTEMS:
        generate(copy_system(name), data, DEFAULT_CONFIGS, output / name)
        scores[name] = score_files(
            output / name, source="sample", nli="lexical", output=output / f"{name}.json"
        )
    if quiet:
        print(*(output / f"{name}.json" for name in SYSTEMS), sep="\n")
        return
    console = Console(width=80)
    for title, figures in _TABLES.items():
        rows = [
            [system, name.replace("_", " "), str(group["turns"])]
            + [format_figure(key, group.get(key)) for key in figures]
            for system, content in scores.items()
            for name, group in Turns().groups_of(content).items()
            if group["turns"]
        ]
        to_terminal(
            table(title, ["system", "turns of", "number", *figures.values()], rows), console
        )
    bleu = table("BLEU of all turns under the original schemas", *bleu_table(scores))
    to_terminal(bleu, console)
    print_line(scores["gold"]["signature"], console)
    print_line(_NEXT.format(turns=len(turns), output=output), console)
