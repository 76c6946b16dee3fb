"""Scoring files: what `score_files` and the commands share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sgdx_eval.files import check_output, write_scores
from sgdx_eval.headers import check_data, check_one_system, is_oracle
from sgdx_eval.inputs import stated_dialogues
from sgdx_eval.predictions import (
    Predictions,
    note_lacking,
    note_unscored,
    prediction_paths,
)
from sgdx_eval.score import note_subset, warn_of_oracle
from sgdx_eval.tables import terminal
from sgdx_metric.rows import ScoreError
from sgdx_metric.subset import Subset
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.gold import PAPER, GoldTurn, Options
from sgsacc_metric.models import open_nli
from sgsacc_metric.nli import Nli, nli_name
from sgsacc_metric.rows import Prediction, Turn
from sgsacc_metric.signature import UNSTATED, Origin
from sgsacc_metric.system import SystemScores, score_system

from .files import write_per_turn
from .gold_files import GoldHeader, read_gold
from .predictions import dialogues_of, read_predictions
from .references import References, open_references
from .selection import select_turns
from .terminal import print_scores

ResponsesOfVariant = Predictions[list[Prediction]]


@dataclass(frozen=True)
class Inputs:
    """What responses are scored against, and how.

    Attributes:
        split: `train`, `validation` or `test`.
        source: Where the references come from, as `sgdx_dataset.open_release` takes it.
        references: Instead of a source, a folder of `VARIANT.parquet`; None for none.
        own_variants: Schema variants of the user's own, as paths by name.
        evaluator: The variant whose words the sentences that have to be entailed are made of.
        nli: The model of entailment, or its name; None for BLEU and slot error rates alone.
        dtype, device, cache: How a checkpoint is run, as for `open_nli`.
        options: How SGSAcc is computed.
        dialogues: A file of the dialogues to score; None for those that the predictions say they
            are of, or all where they do not say.
        turns: A file of the turns to score; None for all turns of the dialogues.
        gold: A file with the gold side; None to make it.
    """

    split: str
    source: str | None
    references: Path | None
    own_variants: Mapping[str, str]
    evaluator: str = ORIGINAL
    nli: str | Nli | None = None
    dtype: str = "float32"
    device: str | None = None
    cache: Path | None = None
    options: Options = PAPER
    dialogues: Path | None = None
    turns: Path | None = None
    gold: Path | None = None

    def read_predictions(
        self, predictions: Mapping[str, Path] | Path
    ) -> dict[str, ResponsesOfVariant]:
        """The predictions of one system by variant, from files by variant or from one folder."""
        variants = [ORIGINAL, *PAPER_VARIANTS, *self.own_variants]
        paths = prediction_paths(predictions, variants)
        note_unscored(predictions, variants)
        responses = {
            variant: read_predictions(path, self.split, variant) for variant, path in paths.items()
        }
        check_one_system({name: read.header for name, read in responses.items()})
        return responses

    def open_references(
        self, predictions: Mapping[str, ResponsesOfVariant] | None = None
    ) -> References:
        """Open what the turns come from."""
        stated = {
            name: (read.header.source, read.header.data)
            for name, read in (predictions or {}).items()
        }
        return open_references(self.source, self.references, self.split, self.own_variants, stated)

    def open_nli(self) -> Nli | None:
        """Open the model of entailment."""
        if isinstance(self.nli, str):
            return open_nli(self.nli, self.dtype, self.cache, self.device)
        return self.nli

    def require_nli(self) -> Nli:
        """Open the model of entailment of a command that cannot do without."""
        nli = self.open_nli()
        if nli is None:
            raise ScoreError("--nli: found no model, expected the name of one")
        return nli

    def select(self, split_turns: Sequence[Turn], stated: Sequence[str] = ()) -> list[Turn]:
        """Those turns of a split that are scored."""
        return select_turns(split_turns, self.split, self.dialogues, self.turns, stated)

    def gold_header(self, references: References, nli: Nli | None) -> GoldHeader:
        """How the gold side is made; a gold file must have been made in the same way."""
        marks = references.fingerprints([self.evaluator])
        evaluator = "@".join([self.evaluator, *marks.values()])
        return GoldHeader.from_options(nli_name(nli), evaluator, self.split, self.options)

    def read_gold(
        self, references: References, nli: Nli | None, turns: list[Turn]
    ) -> list[GoldTurn] | None:
        """The gold side of some turns, if there is a file of it."""
        if self.gold is None:
            return None
        return read_gold(self.gold, self.gold_header(references, nli), turns)


@dataclass(frozen=True)
class Outputs:
    """The files that scoring writes; None for those that it does not.

    Attributes:
        scores: A scores.json.
        per_turn: The scores of every turn, as JSON Lines.
    """

    scores: Path | None
    per_turn: Path | None = None

    def check(self) -> None:
        """Refuse what could not be written, before any work is done."""
        if self.scores:
            check_output("--output", self.scores)
        if self.per_turn:
            check_output("--per-turn", self.per_turn, (".jsonl",))


def score_inputs(
    predictions: Mapping[str, Path] | Path, inputs: Inputs, outputs: Outputs, verbose: bool
) -> dict[str, Any]:
    """Score prediction files, and write and print what was asked for.

    All predictions are read first, so that a bad file is refused before any data is opened.

    Returns:
        The content of scores.json.
    """
    outputs.check()
    responses = inputs.read_predictions(predictions)
    stated = [] if inputs.dialogues else stated_dialogues(responses, dialogues_of)
    references = inputs.open_references(responses)
    nli = inputs.open_nli()
    split_turns = references.turns(inputs.evaluator)
    turns = inputs.select(split_turns, stated)
    gold = inputs.read_gold(references, nli, turns)
    system = score_predictions(references, split_turns, turns, responses, nli, inputs.options, gold)
    scores = system.scores_json()
    if outputs.per_turn:
        write_per_turn(turns, system.turn_scores, system.gold, outputs.per_turn)
    if outputs.scores:
        write_scores(scores, outputs.scores)
    if verbose:
        if stated:
            note_subset(Subset(stated, len({turn.dialogue_id for turn in split_turns})))
        note_lacking(predictions, responses)
        if system.origin.oracle:
            warn_of_oracle()
        print_scores(scores, terminal())
    return scores


def score_predictions(
    references: References,
    split_turns: Sequence[Turn],
    turns: Sequence[Turn],
    predictions: Mapping[str, ResponsesOfVariant],
    nli: Nli | None = None,
    options: Options | None = None,
    gold: list[GoldTurn] | None = None,
) -> SystemScores:
    """Score files of one system, with what they say of themselves in the signature."""
    origin = origin_of(references, predictions)
    rows = [row for read in predictions.values() for row in read.rows]
    return score_rows(references, split_turns, turns, rows, nli, options, gold, origin)


def origin_of(references: References, predictions: Mapping[str, ResponsesOfVariant]) -> Origin:
    """What files of one system say of how they were made, if they fit the data."""
    marks = references.fingerprints(list(predictions))
    headers = {name: read.header for name, read in predictions.items()}
    for name, header in headers.items():
        check_data(header, name, references.data(name), marks.get(name))
    return Origin(
        oracle=is_oracle(headers),
        made_elsewhere=any(header.data is None for header in headers.values()),
        by_variant=msgspec.to_builtins(headers),
    )


def score_rows(
    references: References,
    split_turns: Sequence[Turn],
    turns: Sequence[Turn],
    predictions: Sequence[Prediction],
    nli: Nli | None = None,
    options: Options | None = None,
    gold: list[GoldTurn] | None = None,
    origin: Origin = UNSTATED,
) -> SystemScores:
    """Score one system's predictions, with a signature that names where the turns come from."""
    evaluator = turns[0].variant
    variants = {*(row.variant for row in predictions), evaluator}
    return score_system(
        split_turns,
        turns,
        predictions,
        split=references.split,
        release=references.version([evaluator]),
        wordings=references.fingerprints(sorted(variants)),
        available_dialogues=references.available(evaluator),
        origin=origin,
        nli=nli,
        options=options,
        gold=gold,
    )
