"""Score prediction files of any task: read, check, score, write, print."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import JSON_MARK, PARQUET_MARK, check_output
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.scoring import cautions

from .explain import asked_variants, print_broken, print_flips
from .inputs import Inputs, note_subset
from .prediction_files import Header, check_data, check_one_system
from .predictions import note_unscored, read_predictions
from .references import References, open_references
from .result import items_file, write_result
from .show import print_result
from .tables import terminal
from .task import Given, ScoredItems, Task


def score(
    task: Task,
    inputs: Inputs,
    output: Path | None = None,
    verbose: bool = False,
    details: bool = False,
) -> Result:
    """Score prediction files, and write a scores.json with its items if asked for.

    If verbose, print the scores, all with details. All predictions are read first, so that a bad
    file is refused before any data is opened.
    """
    if output:
        check_output(output, "--output", mark=JSON_MARK)
        check_output(items_file(output), "items of --output", mark=PARQUET_MARK)
    given = read_given(task, inputs)
    scored = score_against(task, given)
    result = result_of(task, scored, given)
    for caution in cautions(result.signature, result.counts):
        if verbose:
            print(f"warning: {escape_controls(caution)}", file=sys.stderr)
        else:
            warnings.warn(caution, stacklevel=3)
    if output:
        write_result(result, scored.scores, output)
    if verbose:
        if scored.chosen:
            note_subset(*scored.chosen)
        print_result(result, terminal(), scored.notes, details)
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


def explain(task: Task, inputs: Inputs, item: str | None, changed: Sequence[str] | None) -> None:
    """Print why an item scores what it does, or list those that changed; without both, flips."""
    given = read_given(task, inputs)
    for name, header in given.headers().items():
        check_data(header, name, given.references.data(name), None)
    if item is not None:
        task.why(item, given)
    else:
        names = asked_variants(changed, given.predictions)
        of_names = {name: given.predictions[name] for name in names}
        items = task.items(given._replace(predictions=of_names))
        (print_broken if changed else print_flips)(items, terminal())


def read_given(task: Task, inputs: Inputs) -> Given:
    """Read the predictions of one system, and open the references."""
    paths = inputs.prediction_paths()
    note_unscored(inputs.predictions, inputs.variants())
    of_rows = task.rows.prediction, task.rows.predicted
    predictions = {
        name: read_predictions(path, inputs.split, name, *of_rows) for name, path in paths.items()
    }
    headers = {name: of_variant.header for name, of_variant in predictions.items()}
    check_one_system(headers)
    return Given(references_for(task, inputs, headers), predictions, inputs)


def references_for(
    task: Task, inputs: Inputs, headers: Mapping[str, Header], variants: Sequence[str] = ()
) -> References:
    """Open the references of some variants, or of those predicted, which may name a source."""
    columns, kind = task.rows.references, task.rows.kind
    if inputs.references:
        from .reference_folder import FolderReferences  # Parquet takes a while to import.

        names = variants or task.rows.variants or [*headers]
        return FolderReferences(inputs.references, inputs.split, names, columns, kind)
    stated = {name: (header.source, header.data) for name, header in headers.items()}
    own = inputs.own_variants or {}
    return open_references(inputs.source, inputs.split, own, columns.names, kind, stated)


def score_against(task: Task, given: Given) -> ScoredItems:
    """Score predictions that have been read, if they say that they are of these references."""
    marks = given.references.marks([*given.predictions])
    for name, header in given.headers().items():
        check_data(header, name, given.references.data(name), marks.get(name))
    return task.score(given)
