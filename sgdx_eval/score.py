"""Score prediction files: what `score_files` and the commands `score` and `calls` share."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import pyarrow as pa

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.bootstrap import DIALOGUES
from sgdx_metric.calls import CALL_METRICS, CALL_REFERENCE, report_calls, score_calls
from sgdx_metric.columns import column
from sgdx_metric.report import empty_state_jga, paired, report
from sgdx_metric.rows import REFERENCE
from sgdx_metric.scoring import score_frames
from sgdx_metric.signature import OFFICIAL, Rules, Setup
from sgdx_metric.subset import Subset, dialogue_ids_of, only_dialogues, only_services, subset_of
from sgdx_metric.variants import own_wordings

from .errata import Errata, check_is_sgd, leave_out, read_errata
from .files import (
    PER_FRAME,
    check_apart,
    check_folder,
    check_output,
    write_per_frame,
    write_scores,
)
from .headers import (
    Header,
    check_data,
    check_one_system,
    is_oracle,
    system_acts,
    unread_answers,
)
from .inputs import Inputs, stated_dialogues
from .predictions import Predictions, note_lacking, read_calls, read_predictions, with_frame_ids
from .references import References
from .tables import terminal
from .terminal import print_calls, print_scores, print_unread

_Scores = TypeVar("_Scores")


@dataclass(frozen=True)
class Task(Generic[_Scores]):
    """What is predicted, and how that is read and scored.

    Attributes:
        read: Reads a prediction file, given its path, the split and the variant.
        columns: The columns of the references that scoring needs.
        score: Scores one variant's predictions, given references, predictions, the variant's name
            and the rules.
    """

    read: Callable[[Path, str, str], Predictions[pa.Table]]
    columns: pa.Schema
    score: Callable[[pa.Table, pa.Table, str, Rules], _Scores]


STATES = Task(read_predictions, REFERENCE, score_frames)
CALLS = Task(read_calls, CALL_REFERENCE, score_calls)


@dataclass(frozen=True)
class Scored(Generic[_Scores]):
    """The scores of one system.

    Attributes:
        variants: The scores by variant.
        setup: Which data was scored and how.
        dialogues: How many dialogues were scored under each variant.
        headers: What the predictions say of themselves, by variant.
    """

    variants: dict[str, _Scores]
    setup: Setup
    dialogues: int
    headers: dict[str, Header]


@dataclass(frozen=True)
class Outputs:
    """The files that scoring writes; None for those that it does not.

    Attributes:
        scores: A scores.json.
        per_frame: The scores of every frame, as Parquet or JSON Lines.
        plots: A folder of pictures.
    """

    scores: Path | None
    per_frame: Path | None = None
    plots: Path | None = None

    def check(self, inputs: Inputs) -> None:
        """Refuse what could not be written, or would replace what is read, before any work is done.

        Raises:
            SgdxError: An output cannot be written, or is one of the inputs.
        """
        if self.scores:
            check_output("--output", self.scores)
        if self.per_frame:
            check_output("--per-frame", self.per_frame, PER_FRAME)
        if self.plots:
            check_folder("--plots", self.plots)
            from . import plots  # noqa: F401  It asks for matplotlib, which is an extra.
        check_apart({"--output": self.scores, "--per-frame": self.per_frame}, inputs.files())


def score_states(
    inputs: Inputs,
    rules: Rules,
    acts: str | None,
    outputs: Outputs,
    verbose: bool,
    over: str = DIALOGUES,
) -> dict[str, Any]:
    """Score dialogue states, and write and print what was asked for.

    Args:
        inputs: What is scored against what.
        rules: How frames are scored.
        acts: Whether the tracker was given the system's dialogue acts: "yes", "no", or None where
            that is unknown.
        outputs: The files to write.
        verbose: Whether to print tables and warnings, after the files are written.
        over: What the intervals are over: "dialogues", "wordings" or "both".

    Returns:
        The content of scores.json.

    Raises:
        ScoreError, SgdxError: An input is malformed or cannot be scored, or an output cannot be
            written.
    """
    outputs.check(inputs)
    scored = score_variants(STATES, inputs, rules, acts)
    scores = report(scored.variants, replace(scored.setup, over=over))
    scores["predictions"] = {
        name: msgspec.to_builtins(scored.headers[name]) for name in scores["variants"]
    }
    scores["paired"] = paired(scored.variants)
    if outputs.per_frame:
        write_per_frame(scored.variants, outputs.per_frame)
    if outputs.plots:
        from .plots import write_plots

        write_plots(scores, scored.variants, rules, outputs.plots)
    if outputs.scores:
        write_scores(scores, outputs.scores)
    if verbose:
        stated = any(header.dialogues for header in scored.headers.values())
        if scored.setup.subset and stated and not (inputs.dialogues or inputs.services):
            note_subset(scored.setup.subset)
        note_lacking(inputs.predictions, scored.variants)
        _warn(scores, scored.setup.oracle)
        print_scores(scores, terminal())
        unread = unread_answers(scored.headers)
        print_unread(unread, empty_state_jga(scored.variants), terminal())
    return scores


def score_api_calls(
    inputs: Inputs, rules: Rules, output: Path | None, over: str = DIALOGUES
) -> None:
    """Score API calls, write the scores where there is an output, and print a table.

    Args:
        inputs: What is scored against what.
        rules: How arguments are scored.
        output: The file to write; None for none.
        over: What the intervals are over: "dialogues", "wordings" or "both".

    Raises:
        ScoreError, SgdxError: As `score_states` does.
    """
    Outputs(output).check(inputs)
    scored = score_variants(CALLS, inputs, rules)
    scores = report_calls(scored.variants, scored.dialogues, replace(scored.setup, over=over))
    scores["predictions"] = msgspec.to_builtins(scored.headers)
    scores["paired"] = paired(scored.variants, CALL_METRICS)
    if output:
        write_scores(scores, output)
    note_lacking(inputs.predictions, scored.variants)
    print_calls(scores, terminal())


def score_variants(
    task: Task[_Scores], inputs: Inputs, rules: Rules, acts: str | None = None
) -> Scored[_Scores]:
    """Score the predictions of each variant against its references.

    All predictions are read first, so that a bad file is refused before any data is opened.

    Args:
        task: What is predicted.
        inputs: What is scored against what.
        rules: How frames are scored.
        acts: What `--system-acts` was given.

    Raises:
        ScoreError, SgdxError: A file is malformed, the predictions are of different systems, or
            they are not those of the references' frames.
    """
    named_ids = inputs.named_dialogues()
    predictions = inputs.read(task.read)
    chosen_ids = named_ids or stated_dialogues(predictions, dialogue_ids_of)
    check_one_system({name: variant.header for name, variant in predictions.items()})
    references = inputs.open_references(predictions, task.columns)
    return score_against(references, task, predictions, chosen_ids, inputs, rules, acts)


def score_against(
    references: References,
    task: Task[_Scores],
    predictions: Mapping[str, Predictions[pa.Table]],
    chosen_ids: Sequence[str],
    inputs: Inputs,
    rules: Rules = OFFICIAL,
    acts: str | None = None,
) -> Scored[_Scores]:
    """Score predictions that have been read against references that have been opened.

    Args:
        references: What they are scored against.
        task: What is predicted.
        predictions: The predictions by variant; `check_one_system` has let them pass.
        chosen_ids: The ids of the dialogues to score; none for all.
        inputs: The split, the services, and where `chosen_ids` are from.
        rules: How frames are scored.
        acts: What `--system-acts` was given.

    Raises:
        ScoreError, SgdxError: The predictions are not those of the references' frames.
    """
    headers = {name: variant.header for name, variant in predictions.items()}
    errata = _errata(inputs, references) if inputs.without_errata else None
    acts = system_acts(headers, acts)
    scores: dict[str, _Scores] = {}
    wordings: dict[str, str] = {}
    subset: Subset | None = None
    dialogues = left_out = 0
    for name, variant in predictions.items():
        frames = references.frames(name)
        rows = with_frame_ids(variant, frames)
        if own_wordings([name]):
            wordings[name] = references.fingerprint(name, frames)
        check_data(variant.header, name, references.data(name), wordings.get(name))
        if chosen_ids:
            subset = subset_of(
                frames, chosen_ids, str(inputs.dialogues or f"predictions for {name}")
            )
            frames, rows = only_dialogues(frames, subset), only_dialogues(rows, subset)
        elif references.available is not None:
            subset = Subset(dialogue_ids_of(frames), references.available)
        if subset and references.available is not None:
            subset = replace(subset, available=references.available)
        if inputs.services:
            check_services(inputs.services, frames)
            available = subset.available if subset else len(dialogue_ids_of(frames))
            frames, rows = (only_services(table, inputs.services) for table in (frames, rows))
            subset = Subset(dialogue_ids_of(frames), available)
        if errata:
            frames, rows, left_out = leave_out(frames, rows, errata)
        scores[name] = task.score(frames, rows, name, rules)
        dialogues = len(dialogue_ids_of(frames))
    if errata:
        print(
            f"note: {left_out} slots of frames under each variant are left out, because SGD "
            "contradicts itself there",
            file=sys.stderr,
        )
    setup = Setup(
        split=inputs.split,
        release=references.release,
        rules=rules,
        system_acts=acts,
        oracle=is_oracle(headers),
        made_elsewhere=any(header.data is None for header in headers.values()),
        wordings=wordings,
        subset=subset,
        services=inputs.services,
        errata=errata.mark if errata else "",
    )
    return Scored(scores, setup, dialogues, headers)


def _errata(inputs: Inputs, references: References) -> Errata:
    """What is left out of the references; SgdxError unless they are of SGD."""
    check_is_sgd(references.release)
    return read_errata(inputs.split)


def check_services(services: Sequence[str], frames: pa.Table) -> None:
    """Check that there are frames of each of some services.

    Raises:
        SgdxError: There are none of a service.
    """
    frame_ids = column(frames, "frame_id").to_pylist()
    known = sorted({frame_id.rpartition("/")[2] for frame_id in frame_ids})
    if lacking := sorted(set(services) - set(known)):
        raise SgdxError(
            f"--service {lacking[0]}: found no frame of it, expected one of {', '.join(known)}"
        )


def note_subset(subset: Subset) -> None:
    """Say on standard error that only the dialogues that the predictions name are looked at."""
    print(
        f"note: only the {len(set(subset.dialogue_ids))} of {subset.available} dialogues that the "
        "predictions name are used; to choose others, give --dialogues FILE",
        file=sys.stderr,
    )


def warn_of_oracle() -> None:
    """Say on standard error that the predictions are of an oracle."""
    print(
        "warning: the predictions are of an oracle: the model was trained on schemas that it "
        "is evaluated on",
        file=sys.stderr,
    )


def _warn(scores: Mapping[str, Any], oracle: bool) -> None:
    """Warn where a score is not what it looks like.

    It may be the score of an oracle, or of predictions of which so many slots are unknown that they
    seem to be for another variant.
    """
    if oracle:
        warn_of_oracle()
    for name, count in scores["ignored_slots"].items():
        predicted = scores["predicted_slots"][name]
        if count > predicted / 3:
            print(
                f"warning: {escape_controls(name)}: {100 * count / predicted:.0f} % of the "
                "predicted slots are not in its schemas; are these the predictions for another "
                "variant?",
                file=sys.stderr,
            )
