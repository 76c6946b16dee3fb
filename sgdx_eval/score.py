"""Score prediction files of any task: read, check, score, write, print."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import JSON_MARK, check_output
from sgdx_metric.robustness import cautions, paired_scores

from .explain import asked_variants, print_broken, print_flips
from .files import write_scores
from .inputs import Inputs, note_subset
from .prediction_files import Header, check_data, check_one_system
from .predictions import note_unscored, read_predictions
from .references import References, open_references
from .show import print_scores, result_line
from .tables import legend, print_line, terminal
from .task import Given, Scored, Task


def score(
    task: Task,
    inputs: Inputs,
    output: Path | None = None,
    per_item: Path | None = None,
    verbose: bool = False,
    details: bool = False,
) -> dict[str, Any]:
    """Score prediction files, and write a scores.json and a file of single items if asked for.

    If verbose, print the scores, all with details. All predictions are read first, so that a bad
    file is refused before any data is opened.
    """
    of_items = f"--per-{task.kind[:-1]}"
    if output:
        check_output(output, "--output", mark=JSON_MARK)
    if per_item and per_item.suffix not in task.item_endings:
        endings = " or ".join(task.item_endings)
        raise SgdxError(f"{of_items} {per_item}: expected a name ending in {endings}")
    given = read_given(task, inputs)
    scored = score_against(task, given)
    content = scored.content | {
        "predictions": {
            name: msgspec.to_builtins(header) for name, header in given.headers().items()
        },
        "paired": paired_scores(scored.raw, task.item_id),
    }
    for caution in cautions(content):
        if verbose:
            print(f"warning: {escape_controls(caution)}", file=sys.stderr)
        else:
            warnings.warn(caution, stacklevel=3)
    if per_item:
        task.write_items(scored, per_item)
    if output:
        write_scores(content, output)
    if verbose:
        if scored.chosen:
            note_subset(*scored.chosen)
        scores, console = task.derived(scored.raw, inputs.rules), terminal()
        print_line(f"{legend([result_line(task, scores, content)])}\n", console)
        print_scores(task, scores, content, console, task.notes(content, scored), details)
    return content


def explain(task: Task, inputs: Inputs, item: str | None, changed: Sequence[str] | None) -> None:
    """Print why an item scores what it does, or list those that changed; without both, flips."""
    given = read_given(task, inputs)
    for name, header in given.headers().items():
        check_data(header, name, given.references.data(name), None)
    if item is not None:
        task.explain_item(item, given)
    else:
        names = asked_variants(changed, given.predictions)
        of_names = {name: given.predictions[name] for name in names}
        items = task.items(given._replace(predictions=of_names))
        (print_broken if changed else print_flips)(items, terminal())


def read_given(task: Task, inputs: Inputs) -> Given:
    """Read the predictions of one system, and open the references."""
    paths = inputs.prediction_paths()
    note_unscored(inputs.predictions, inputs.variants())
    predictions = {
        name: read_predictions(path, inputs.split, name, task.Prediction, task.predicted)
        for name, path in paths.items()
    }
    headers = {name: of_variant.header for name, of_variant in predictions.items()}
    check_one_system(headers)
    return Given(references_for(task, inputs, headers), predictions, inputs)


def references_for(
    task: Task, inputs: Inputs, headers: Mapping[str, Header], variants: Sequence[str] = ()
) -> References:
    """Open the references of some variants, or of those predicted, which may name a source."""
    if inputs.references:
        from .reference_folder import FolderReferences  # Parquet takes a while to import.

        names = variants or task.variants_read([*headers])
        return FolderReferences(inputs.references, inputs.split, names, task.references, task.kind)
    stated = {name: (header.source, header.data) for name, header in headers.items()}
    own = inputs.own_variants or {}
    return open_references(
        inputs.source, inputs.split, own, task.references.names, task.kind, stated
    )


def score_against(task: Task, given: Given) -> Scored:
    """Score predictions that have been read, if they say that they are of these references."""
    marks = given.references.marks([*given.predictions])
    for name, header in given.headers().items():
        check_data(header, name, given.references.data(name), marks.get(name))
    return task.score(given)
