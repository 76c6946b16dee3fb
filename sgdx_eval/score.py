"""Score prediction files of any task: read, check, score, write, print."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import JSON_MARK, PARQUET_MARK, check_output
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.scoring import cautions

from .explain import asked_variants, print_broken, print_flips
from .result import items_file, write_result
from .show import print_result
from .tables import terminal
from .task import Given, Inputs, ScoredItems, Task, pair


def score(
    task: Task,
    inputs: Inputs,
    output: Path | None = None,
    verbose: bool = False,
    details: bool = False,
    form: str = "text",
) -> Result:
    """Score prediction files, and write a scores.json with its items if asked for.

    If verbose, print the scores, all with details, as text or LaTeX.
    """
    if output:
        check_output(output, "--output", mark=JSON_MARK)
        check_output(items_file(output), "items of --output", mark=PARQUET_MARK)
    given = pair(task, inputs)
    scored = task.score(given)
    result = result_of(task, scored, given)
    for caution in cautions(result.signature, result.counts):
        if verbose:
            print(f"warning: {escape_controls(caution)}", file=sys.stderr)
        else:
            warnings.warn(caution, stacklevel=3)
    if output:
        write_result(result, scored.scores, output)
    if verbose:
        print_result(result, terminal(form), scored.notes, details)
    return result


def result_of(task: Task, scored: ScoredItems, given: Given) -> Result:
    """The result of scored items: their figures, and what the predictions say of themselves."""
    headers = given.headers()
    return Result(
        task=task.name,
        signature=scored.signature,
        figures=figures(scored.scores, task.metrics, given.inputs.rules),
        systems={name: msgspec.to_builtins(headers[name]) for name in scored.scores.variants},
        counts=dict(scored.counts),
        notes=list(scored.notes),
    )


def explain(
    task: Task,
    inputs: Inputs,
    item: str | None,
    changed: Sequence[str] | None,
    flips: bool,
    console: Console,
) -> None:
    """Print why an item scores what it does, or list those that changed, or flips."""
    if sum((item is not None, changed is not None, flips)) != 1:
        raise SgdxError("explain: expected one of FRAME_ID, --changed FIRST SECOND and --flips")
    given = pair(task, inputs)
    if item is not None:
        task.why(item, given, console)
    else:
        names = asked_variants(changed, given.predictions)
        of_names = {name: given.predictions[name] for name in names}
        items = task.items(given._replace(predictions=of_names))
        (print_broken if changed else print_flips)(items, console)
