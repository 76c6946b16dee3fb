"""Predict and score the sample corpus that comes with the project: ``sgdx demo``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from sgdx_dataset.io.errors import SgdxError
from sgdx_eval.options import Details, Quiet

_NEXT = """
These are {count} {unit}s of the project's own sample corpus: the figures show how
the table reads, not how good a system is. Predictions and scores are in
{output}.

Next, on SGD itself (PATH: a directory or archive of the release, or the word
download; later commands remember it). Then load_dataset("sgdx", "v3") works:

  sgdx prepare --source PATH
  {commands}
"""
_GENERATION = """sgdx copies --system derived --output outputs/derived
  sgdx responses score --predictions outputs/derived --output outputs/derived.json \\
      --nli FacebookAI/roberta-large-mnli"""
# The figures of generation, by their keys.
_FIGURES = {
    "bleu_orig": "BLEU orig",
    "bleu_v1-5": "BLEU v1-5",
    "ser_orig": "SER orig",
    "sgsacc_orig": "SGSAcc orig",
    "sgsacc_v1-5": "SGSAcc v1-5",
    "sgsacc_flips": "flips",
}
_HALF_A_MINUTE = 8  # dialogues, which take onepass so long on two cores


def demo(
    *,
    task: Literal["tracking", "generation"] = "tracking",
    tracker: Literal["lexical", "onepass"] = "lexical",
    output: Path | None = None,
    limit: Annotated[int | None, Parameter(metavar="N", validator=Number(gte=1))] = None,
    explain: Details = False,
    quiet: Quiet = False,
) -> None:
    """Predict and score the sample corpus that comes with the project.

    A tracker predicts the sample's test split under the original schemas and their five rewordings.
    The predictions are scored, and the scores are printed. In the task generation, three systems
    answer for the system of the dialogue: what the corpus says, sentences made from the schema's
    descriptions, and silence.

    Parameters
    ----------
    task
        Track what the user wants, or generate what the system says.
    tracker
        Use this tracker in the task tracking: lexical learns nothing and needs no torch; onepass is
        the trained model of models/onepass, which comes with a clone of the repository.
    output
        Write predictions and scores into this folder. Default: outputs/demo; for onepass,
        outputs/demo-onepass.
    limit
        Take only the first N dialogues. Default: all; for onepass, 8, which takes half a minute.
    """
    name = "demo-onepass" if tracker == "onepass" else "demo"
    folder = output or Path("outputs") / name
    if task == "generation":
        if tracker == "onepass" or limit is not None or explain:
            raise SgdxError(
                "--task generation: expected no --tracker, --limit or --explain, which it has not"
            )
        _generate(folder, quiet)
    else:
        _track(tracker, folder, limit, quiet, explain)


def _track(tracker: str, output: Path, limit: int | None, quiet: bool, explain: bool) -> None:
    """Track the sample, score the predictions, and say what comes next."""
    from sgdx_eval.data_options import DataOptions

    from .evaluate import evaluate
    from .predict import SystemOptions
    from .use import SHIPPED_MODEL

    model = str(SHIPPED_MODEL) if tracker == "onepass" else tracker
    if tracker == "onepass":
        limit = limit or _HALF_A_MINUTE
        if not SHIPPED_MODEL.is_dir():
            raise SgdxError(
                f"{model}: not there, expected the model that comes with a clone of the repository"
            )
    system = SystemOptions(tracker=tracker, model=model if model != tracker else None)
    data = DataOptions(source="sample", limit=limit)
    evaluate(system, data, output=output, explain=explain, quiet=quiet)
    if not quiet:
        with (output / "predictions" / "original.jsonl").open("rb") as file:
            frames = sum(1 for _ in file) - 1
        which = f"--{'tracker' if model == tracker else 'model'} {shlex.quote(model)}"
        command = f"sgdx evaluate {which} --output outputs/{tracker}"
        print(_NEXT.format(count=frames, unit="frame", output=output, commands=command))


def _generate(output: Path, quiet: bool) -> None:
    """Let three systems that learn nothing answer for the system, and score what they say."""
    from sgdx_eval.requested import DEFAULT_CONFIGS, RequestedData
    from sgdx_eval.score import score
    from sgdx_eval.tables import format_figure, print_line, table, terminal, to_terminal
    from sgdx_eval.task import Inputs
    from sgdx_eval.tasks.turns import Turns

    from .copies import copy_system, generate

    data, scores = RequestedData("sample", "test"), {}
    for name in ("gold", "derived", "empty"):
        generate(copy_system(name), data, DEFAULT_CONFIGS, output / name)
        inputs = Inputs(output / name, source="sample")
        scores[name] = score(Turns(nli="lexical"), inputs, output / f"{name}.json")
    if quiet:
        print(*(output / f"{name}.json" for name in scores), sep="\n")
        return
    rows = [
        [name, *(format_figure(key, of_system[key]) for key in _FIGURES)]
        for name, of_system in scores.items()
    ]
    console = terminal()
    headers = ["system", *_FIGURES.values()]
    to_terminal(table("All turns, in % but for BLEU", headers, rows), console)
    print_line("Entailment is judged by comparing words.", console)
    count = scores["gold"].counts["turns"]
    print(_NEXT.format(count=count, unit="turn", output=output, commands=_GENERATION))
