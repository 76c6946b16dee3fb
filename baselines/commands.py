"""The commands that train systems and let them predict. What each needs is imported inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import (
    EACH,
    Dialogues,
    Source,
    SourceOptions,
    Split,
    Turns,
    split_pairs,
)
from sgdx_eval.data_options import DataOptions
from sgdx_eval.options import Details, Quiet

from .training.settings import Precision

ALL, ANY, WORDS = DataOptions(), Source(), SourceOptions()


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
        from .demo import generation_demo

        generation_demo(folder, quiet)
    else:
        from .demo import tracking_demo

        tracking_demo(tracker, folder, limit, quiet, explain)


def train(
    data: Source = ANY,
    *,
    config: Annotated[str, Parameter(metavar="RECIPE")],
    output: Path | None = None,
    seed: Annotated[int | None, Parameter(validator=Number(gte=0, lt=2**32))] = None,
    resume: bool = False,
    task: Sequence[str] = (),
    augment: Annotated[str | None, Parameter(metavar="SCHEMAS")] = None,
    oracle: bool = False,
    push_to_hub: Annotated[str | None, Parameter(metavar="REPO")] = None,
) -> None:
    """Train a tracker or a generator from a recipe.

    Ctrl-C keeps a checkpoint, from which --resume goes on. To train with several processes:
    accelerate launch -m baselines.train --config RECIPE.

    Parameters
    ----------
    config
        Train with this recipe: a YAML file, or TRACKER/NAME for a recipe of this package, as in
        onepass/smoke.
    output
        Write the model into this folder. Default: outputs/TRACKER-RECIPE.
    seed
        Set the random seed, 0 or more. Default: the recipe's.
    resume
        Continue the run in --output from its last checkpoint. If the recipe has more steps now, the
        run becomes longer.
    task
        For a tracker of several models, such as sgp_dst: train only these. Default: all.
    augment
        Also train on reworded schemas: backtrans (back-translations), corrupt (words changed at
        random), a folder of your own variants, or oracle (v1 to v5, with --oracle).
    oracle
        Allow training on schemas that trackers are evaluated on, as an upper bound. All files of
        the run say so.
    push_to_hub
        At the end, push the model with the best score on dev to this repository, YOU/NAME.
    """
    from .train import train

    train(data.named(), config, output, seed, resume, task, augment, oracle, push_to_hub)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """Which system predicts, and how."""

    model: str | None = None
    """Use this trained model: a folder of 'sgdx train', or a name on the Hub."""

    tracker: Annotated[str | None, Parameter(metavar="NAME")] = None
    """Use this tracker, which is not trained, instead of --model: lexical, or MODULE:CLASS for your
    own class. Together with --model: name the tracker of a model that does not state it."""

    precision: Precision | None = None
    """Set the number format of a trained tracker's arithmetic. auto means bf16 if the device
    supports it natively, else fp32. Default: the format that the model was trained in, or fp32 if
    the device does not support that natively."""


NONE = SystemOptions()


def predict(
    system: SystemOptions = NONE,
    data: DataOptions = ALL,
    *,
    output: Path,
    quiet: bool = False,
    **tracker_options: str,
) -> None:
    """Predict states, or what the system says, under every variant.

    The output folder then holds CONFIG.jsonl for each variant. Existing files are kept if model and
    data are the same. To resume a run that was killed, give the same command again. To predict with
    several processes: accelerate launch -m baselines.predict.

    Parameters
    ----------
    output
        Write CONFIG.jsonl for each variant into this folder.
    quiet
        Do not print the paths of the files.
    tracker_options
        An option of the tracker's own. With --model or --tracker, --help shows which there are.
    """
    from .predict import make_request, predict

    request = make_request(system, data, tracker_options, quiet)
    if predict(request, output) and not quiet:
        print(*(output / f"{config}.jsonl" for config in request.configs), sep="\n")


def evaluate(
    system: SystemOptions = NONE,
    data: DataOptions = ALL,
    *,
    output: Path,
    explain: Details = False,
    quiet: Quiet = False,
    **tracker_options: str,
) -> None:
    """Predict under every variant, and score the result.

    The output folder then holds predictions/CONFIG.jsonl for each variant, scores.json and
    run.json. It may be the folder of a training. In that case 'sgdx publish' shows the scores on
    the model's card. To resume a run that was killed, give the same command again. To predict with
    several processes: accelerate launch -m baselines.evaluate.

    The responses of a generator are scored by BLEU and slot error rate. SGSAcc needs a model of
    entailment: score the predictions again with 'sgdx score --nli MODEL'.

    Parameters
    ----------
    output
        Write predictions, scores.json and run.json into this folder.
    tracker_options
        An option of the tracker's own. With --model or --tracker, --help shows which there are.
    """
    from .evaluate import evaluate
    from .predict import make_request

    request = make_request(system, data, tracker_options, quiet)
    evaluate(request, output, quiet, explain)


def print_tracker_options(words: Sequence[str]) -> None:
    """Print the options of the tracker that a command line names, if it names one."""
    named = dict(pairwise(words)) | {
        name: value for name, equals, value in (word.partition("=") for word in words) if equals
    }
    model, tracker = named.get("--model"), named.get("--tracker")
    if tracker or model:
        from .system import option_help, recorded_name

        print(option_help(tracker or recorded_name(str(model))))


def publish(
    *,
    model: Annotated[Path | None, Parameter(metavar="RUN")] = None,
    report: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    push_to_hub: Annotated[str | None, Parameter(metavar="REPO")] = None,
    benchmark: Annotated[str | None, Parameter(metavar="REPO")] = None,
) -> None:
    """Write a model's card, or push a model or a report to the Hub.

    The card is RUN/README.md: how to use the model, its scores, and how it was trained. The scores
    are those of RUN/scores.json, which 'sgdx evaluate --model RUN --output RUN' writes.

    A tracker is pushed with its scores in .eval_results/sgdx.yaml; the Hub puts them on the
    leaderboards of a dataset (--benchmark). A report is pushed as a Space that shows its page.
    Pushing needs an access token, from 'hf auth login' or in $HF_TOKEN.

    Parameters
    ----------
    model
        Write the card of the model in this folder of 'sgdx train'.
    report
        Push this folder of 'sgdx report'.
    push_to_hub
        Push to this repository, YOU/NAME. It is created if it does not exist.
    benchmark
        Put the scores of a pushed tracker on the leaderboards of this dataset repository, which
        'sgdx push' makes. Default: sgdx of the owner of --push-to-hub.
    """
    if (model is None) == (report is None):
        raise SgdxError("found neither --model nor --report or both, expected one of them")
    if report and not push_to_hub:
        raise SgdxError("--report: found no --push-to-hub, expected YOU/NAME to push it to")
    from .publish import publish, publish_report

    if model:
        print(publish(model, push_to_hub, benchmark) or model / "README.md")
    elif report and push_to_hub:
        print(publish_report(report, push_to_hub))


def copies(
    data: DataOptions = ALL,
    *,
    system: Literal["gold", "derived", "templates", "empty"],
    output: Path,
    turns: Turns = None,
    templates: Annotated[Path | None, Parameter(metavar="DIR")] = None,
) -> None:
    """Generate responses without learning, as controls.

    They show what the metrics of generation make of copies, templates and silence.

    Parameters
    ----------
    system
        Say this: gold (what the corpus says), derived (sentences made from the schemas'
        descriptions), templates (hand-written ones, of --templates), or empty (nothing).
    output
        Write CONFIG.jsonl for each variant into this folder.
    templates
        Read the templates for --system templates from this folder. It has <Service>.tsv files in
        T2G2's format.
    """
    from .copies.systems import copy_system, generate

    print(*generate(copy_system(system, templates), *data.read(), output, turns), sep="\n")


def rerank(
    data: SourceOptions = SourceOptions(),  # frozen
    *,
    predictions: Annotated[Sequence[str], EACH, Parameter(metavar="NAME=DIR")],
    nli: Annotated[str, Parameter(metavar="MODEL")],
    second_nli: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    device: str | None = None,
    split: Split = "test",
    evaluator: Annotated[str, Parameter(metavar="VARIANT")] = "original",
    dialogues: Dialogues = None,
    turns: Turns = None,
    rules: Literal["appendix-b", "extended"] = "appendix-b",
    output: Path,
) -> None:
    """Choose, in every turn, the response of several generators that words most of the actions.

    This is the ensemble of Chen, Lin and Byrne 2023 (arXiv 2301.12568). Each generator's best beam
    gets a fidelity: the number of the turn's actions that it words, as a model of entailment judges
    without the gold response. The response with the highest fidelity wins. Of several such
    responses, the likeliest wins, by its own generator's mean log-likelihood per token, including
    the end token; this is score in the generator's file. A response without a score comes last,
    such as one of a generator without a model. Of equally likely responses, that of the generator
    named first wins.

    A model of entailment that chooses and then scores is biased towards its own choice. The table
    therefore also has figures by a second model, and the figures of the best possible choice.

    Parameters
    ----------
    predictions
        Give a generator's name, and its folder with VARIANT.jsonl for each variant. Give the option
        once for each generator. The generator named first wins the last ties.
    nli
        Choose with this model of entailment: a folder with safetensors, a name on the Hub, which
        may end in @REVISION, or 'lexical' for a comparison of words, which needs no model.
    second_nli
        Also score the choice with this second model.
    device
        Run the models on this device, as in cpu or cuda:1. Default: a GPU if there is one.
    split
        Take this split.
    evaluator
        Make the sentences that have to be entailed from the words of this variant, whatever the
        generator read.
    rules
        Choose how sentences are made from actions: as in the paper's appendix B, or with more forms
        of our own.
    output
        Write VARIANT.jsonl with the chosen responses, and rerank.json with the table, into this
        folder.
    """
    folders = split_pairs("--predictions", predictions, "NAME=DIR, as in ft=outputs/ft")
    names = [name for name, _ in folders]
    if len(set(names)) < max(2, len(names)):
        raise SgdxError(
            f"--predictions: found {', '.join(names)}, expected two generators of different names"
        )
    from .t2g2.rerank import rerank_files

    rerank_files(
        data.open(),
        {name: Path(folder) for name, folder in folders},
        output,
        models=[name for name in (nli, second_nli) if name],
        device=device,
        split=split,
        evaluator=evaluator,
        dialogues=dialogues,
        chosen=turns,
        rules=rules,
    )
