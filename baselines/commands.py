"""Commands that make responses without training. What each needs is imported inside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import (
    EACH,
    Dialogues,
    SourceOptions,
    Split,
    Turns,
    split_pairs,
)
from sgdx_eval.data_options import DataOptions

ALL, WORDS = DataOptions(), SourceOptions()


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
        Write VARIANT.jsonl for each variant into this folder.
    templates
        Read the templates for --system templates from this folder. It has <Service>.tsv files in
        T2G2's format.
    """
    from .copies import copy_system, generate

    print(*generate(copy_system(system, templates), *data.read(), output, turns), sep="\n")


def rerank(
    data: SourceOptions = WORDS,
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
    from sgdx_dataset.configs import split_name
    from sgdx_eval.tasks.turns import turns_of

    from .t2g2.rerank import rerank_files

    rerank_files(
        turns_of(data.open(), split_name(split)),
        {name: Path(folder) for name, folder in folders},
        output,
        models=[name for name in (nli, second_nli) if name],
        device=device,
        evaluator=evaluator,
        dialogues=dialogues,
        chosen=turns,
        rules=rules,
    )
