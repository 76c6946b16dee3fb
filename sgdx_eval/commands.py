"""The commands about scores, of every task. What each needs is imported inside it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import EACH, Dialogues, Turns, UploadOptions

from .options import (
    Details,
    Evaluator,
    Format,
    FrameOptions,
    Json,
    MatchOptions,
    NliOptions,
    NoValidation,
    PredictionOptions,
    Quiet,
    ReferenceOptions,
    ScoreOptions,
    Scores,
    TurnOptions,
)

TURNS, REFERENCES, NLI = TurnOptions(), ReferenceOptions(), NliOptions()
FRAMES, MATCH, SCORES = FrameOptions(), MatchOptions(), ScoreOptions()
PUBLIC = UploadOptions()


def score(
    given: PredictionOptions,
    frames: FrameOptions = FRAMES,
    made: ScoreOptions = SCORES,
) -> None:
    """Score predictions of states or generated turns.

    They are of one system, under one or more variants of the schemas. Of turns these are BLEU and
    slot error rates; 'sgdx responses score' asks a model of entailment too.
    """
    from sgdx_metric.signature import Rules

    from .score import score as score_task
    from .tasks import task_of

    rules = Rules(not frames.no_fuzzy_match, frames.joint_acc_across_turn)
    inputs = given.inputs(rules=rules)
    task = task_of(inputs.paths, frames)
    score_task(task, inputs, made.output, not made.quiet, made.explain, made.format)
    _print_files(made.quiet, made.output)


def summarise(
    scores: Scores,
    /,
    *,
    output: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    explain: Details = False,
    quiet: Quiet = False,
    format: Format = "text",
) -> None:
    """Average the scores of several runs, such as of seeds.

    Parameters
    ----------
    scores
        Give the folder or the scores.json of each run. Their signatures must be the same in every
        part.
    output
        Also write the means and deviations to this JSON file.
    """
    from sgdx_dataset.io.files import write_json

    from .compare import summarise
    from .show import print_summary
    from .tables import terminal

    result = summarise(scores)
    if output:
        write_json(output, result)
    if not quiet:
        print_summary(result, list(map(str, scores)), explain, terminal(format))
    _print_files(quiet, output)


def compare(
    scores: Scores = (),
    /,
    *,
    first: Scores = (),
    second: Scores = (),
    dialogues: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    json: Json = None,
    details: Details = False,
    quiet: Quiet = False,
    format: Format = "text",
) -> None:
    """Say whether the scores of two systems differ.

    Parameters
    ----------
    scores
        Give the folder or the scores.json of one system, and then that of another system. Or give
        logs of Inspect (.json, .eval), or of lm-eval (samples_TASK_DATE.jsonl), of any task.
    first
        Instead, give the folder or the scores.json of each run of one system, such as those of
        several seeds.
    second
        Instead, give the folder or the scores.json of each run of the other system, such as those
        of several seeds.
    dialogues
        Take only the dialogues of this file: a file of 'sgdx subset', a JSON list of dialogue ids,
        or a text file with one id per line. Default: all; if the two files have different
        dialogues, those of the file with fewer dialogues.
    """
    if len(scores) == 2 and not (first or second):
        first, second = scores[:1], scores[1:]
    elif scores or not (first and second):
        raise SgdxError(
            "compare: expected either two scores.json, or --first and --second with the "
            "scores.json of each run of each system"
        )
    from sgdx_dataset.io.files import write_json

    from .compare import compare
    from .logs import compare_logs, is_log
    from .show import print_comparison
    from .tables import terminal

    if not any(map(is_log, (*first, *second))):
        result = compare(first, second, dialogues)
    elif dialogues:
        raise SgdxError("--dialogues: found logs of samples, expected scores")
    else:
        result = compare_logs(first, second)
    if json:
        write_json(json, result)
    if not quiet:
        print_comparison(result, details, terminal(format))
    _print_files(quiet, json)


def explain(
    item: str | None = None,
    /,
    *,
    given: PredictionOptions,
    match: MatchOptions = MATCH,
    nli: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    changed: Annotated[tuple[str, str] | None, Parameter(metavar="FIRST SECOND")] = None,
    flips: bool = False,
    format: Format = "text",
) -> None:
    """Show what one frame or turn scores, or what broke.

    Parameters
    ----------
    item
        Show this frame: DIALOGUE/TURN/SERVICE, with the service's original name, as in
        1_00000/4/Cabs_1. Of generated turns, DIALOGUE/TURN.
    nli
        Judge generated turns with this model, as 'sgdx responses score' does.
    changed
        List the frames that score less under SECOND than under FIRST, as in --changed original v5.
    flips
        List the frames that are right under one variant and wrong under another, with the slots
        that changed.
    """
    from sgdx_metric.signature import Rules

    from .score import explain
    from .tables import terminal
    from .tasks import task_of

    inputs = given.inputs(rules=Rules(not match.no_fuzzy_match))
    task = task_of(inputs.paths, match, *([NliOptions(nli=nli)] if nli else []))
    explain(task, inputs, item, changed, flips, terminal(format))


def report(
    runs: Annotated[tuple[Path, ...], Parameter(metavar="RUN")],
    /,
    *,
    output: Annotated[Path, Parameter(metavar="DIR")],
    source: Annotated[str | None, Parameter(metavar="PATH")] = None,
    references: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    dialogues: Dialogues = None,
    service: Annotated[tuple[str, ...], EACH, Parameter(metavar="NAME")] = (),
    quiet: Quiet = False,
) -> None:
    """Make a page of tables, figures and errors of runs.

    The output folder then holds index.html, and report.md with its pictures in figures/. index.html
    needs no other file and no network. Trackers, generators and calls have separate sections in the
    report. Runs of one system with different seeds become one row. The predictions may be beside a
    run, as predictions/VARIANT.jsonl or VARIANT.jsonl.

    Parameters
    ----------
    runs
        Give folders of 'sgdx evaluate', files scores.json of any task, or the file that 'sgdx
        responses validate --json' writes.
    output
        Write the report into this folder.
    source
        Read the references from this source: a release directory or archive, 'sample' or
        'download'. Default: the source that each run names.
    references
        Read the references from this folder instead. It has the VARIANT.parquet files that 'sgdx
        frames' writes.
    service
        Take only what is of this service, by its original name. The option may be given several
        times. Default: all.
    """
    if references and source:
        raise SgdxError(f"--references {references}: found --source too, expected one of them")
    from .report.page import build_page, write_page

    words = sys.argv[1:] if sys.argv[1:2] == ["report"] else ["report", *sys.argv[1:]]
    command = shlex.join(["sgdx", *words])
    page = build_page(runs, command, source, references, dialogues, service)
    if not quiet:
        for note in (*page["left_out"], *page["not_analysed"]):
            print(f"note: {note}", file=sys.stderr)
    for path in write_page(page, output):
        print(path)


def leaderboard(
    folders: Annotated[tuple[Path, ...], Parameter(metavar="FOLDER", show_default=False)] = (
        Path("results"),
        Path("models"),
    ),
    /,
    *,
    output: Annotated[Path, Parameter(metavar="FILE")] = Path("docs/leaderboard.md"),
) -> None:
    """Write the leaderboard from runs and published figures.

    Every folder with a scores.json in the folders that are given is a row. Figures that papers give
    stand beside the rows of trackers.

    Parameters
    ----------
    folders
        Take the runs in these folders. Default: results models.
    output
        Write the page into this file.
    """
    from sgdx_dataset.io.files import staged

    from .leaderboard import render

    page = render(folders, output.parent)
    with staged(output) as staging:
        staging.write_text(page, "utf-8")
    print(output)


def share(
    scores: Annotated[Path, Parameter(metavar="SCORES")],
    /,
    *,
    model: Annotated[str, Parameter(metavar="DEVELOPER/NAME")],
    organization: Annotated[str, Parameter(metavar="NAME")],
    relationship: Literal["first_party", "third_party", "collaborative", "other"],
    output: Annotated[Path, Parameter(metavar="DIR")],
) -> None:
    """Write scores in the form of Every Eval Ever.

    That is a shared database of results. The record has every figure with its interval, and says
    which part of the data was scored.

    Parameters
    ----------
    scores
        Give the folder or the scores.json of a run, of any task.
    model
        Name the model by this id, which is that of the Hub if it is there.
    organization
        Name the one who measured it.
    relationship
        Say what the organization is to the model's developer.
    output
        Write the record into this folder, as data/sgdx/DEVELOPER/NAME/ID.json. That is its place in
        the database.
    """
    from sgdx_dataset.io.files import write_json

    from .share import make_record, place

    record = make_record(scores, model, organization, relationship)
    file = output / place(record)
    write_json(file, record)
    print(file)


def install() -> None:
    """Make evaluate.load("sgdx_metric") work anywhere.

    It does so for both metrics, sgdx_metric and sgsacc_metric.
    """
    from .install import METRICS, install

    print(*map(install, METRICS), sep="\n")


def push_metric(repo_id: str, /, upload: UploadOptions = PUBLIC) -> None:
    """Publish a metric as a Space of the Hub.

    Then evaluate.load("YOU/sgdx_metric") works for everybody. The commit gets a tag for the version
    of this package. The Space has a page that scores files, if pip has installed this package from
    an address that the Space can install it from too.

    Parameters
    ----------
    repo_id
        Push to this Space: YOU/sgdx_metric or YOU/sgsacc_metric.
    """
    from .install import push

    print(push(repo_id, upload))


# ---- what only generated turns have

responses = App(name="responses", help="Judge generated responses by a model of entailment.")
responses.command("baselines.commands:rerank", name="rerank")


@responses.command(name="score")
def score_responses(
    given: PredictionOptions, turns: TurnOptions = TURNS, made: ScoreOptions = SCORES
) -> None:
    """Score generated turns, also by a model of entailment."""
    from .score import score
    from .tasks import task_of

    inputs = given.inputs()
    task = task_of(inputs.paths, turns)
    score(task, inputs, made.output, not made.quiet, made.explain, made.format)
    _print_files(made.quiet, made.output)


@responses.command
def references(
    data: ReferenceOptions = REFERENCES,
    nli: NliOptions = NLI,
    *,
    output: Annotated[Path, Parameter(metavar="FILE")],
    evaluator: Evaluator = "original",
    no_validation: NoValidation = False,
) -> None:
    """Write what each turn has to entail, for 'sgdx responses score --gold'.

    The file also says which turns are valid.

    Parameters
    ----------
    output
        Write the JSONL file here.
    """
    from .entailment import write_references
    from .tasks.turns import turn_task

    task = turn_task(nli, no_validation=no_validation, evaluator=evaluator)
    write_references(task, data.inputs(predictions={}), output)


@responses.command
def validate(
    data: ReferenceOptions = REFERENCES,
    nli: NliOptions = NLI,
    *,
    evaluators: tuple[str, ...] = (),
    json: Json = None,
    dialogues: Dialogues = None,
    turns: Turns = None,
) -> None:
    """Test the model of entailment on the gold responses.

    The published figures are printed beside it.

    Parameters
    ----------
    evaluators
        Make the sentences that have to be entailed from the words of these variants, one variant
        after the other. Default: original and v1 to v5.
    """
    from .entailment import validate
    from .tasks.turns import turn_task

    inputs = data.inputs(predictions={}, dialogues=dialogues)
    validate(turn_task(nli, turns=turns), inputs, evaluators, json)


# ---- what the commands share


def _print_files(quiet: bool, *files: Path | None) -> None:
    """Under --quiet the paths of what was written are all that is printed."""
    for file in filter(None, files if quiet else ()):
        print(file)
