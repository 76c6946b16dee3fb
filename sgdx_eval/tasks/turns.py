"""Generated turns: a turn is right where it says all that it should."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from rich.console import Console

from sgdx_dataset.io.files import read_input
from sgdx_dataset.release import Release
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.errors import ScoreError
from sgdx_metric.result import Metric
from sgdx_metric.signature import Setup, Subset
from sgdx_metric.variants import ORIGINAL, short_digest
from sgsacc_metric.figures import TURN_METRICS, turn_accuracy
from sgsacc_metric.gold import PAPER, GoldTurn, Options
from sgsacc_metric.nli import Nli, nli_name, open_nli
from sgsacc_metric.rows import Prediction, Turn, read_turn
from sgsacc_metric.system import UNSTATED, SystemScores, score_system

from ..explain import ItemTable, Line
from ..gold import Gold, ReleaseGold, Rows
from ..gold_files import GoldHeader, read_gold
from ..options import NliOptions
from ..predictions import located
from ..tables import print_line
from ..task import Given, ScoredItems, Task, check_services
from ..turn_tables import coverage_lines, explain_turn

# What is read of a turn row, beside the schemas.
_COLUMNS = [name for name in Turn.__struct_fields__ if name not in ("schemas", "words")]
_TURN_ID = re.compile(r".+/\d+")


REFERENCES = pa.schema([(name, pa.string()) for name in (*_COLUMNS, "schemas")])
PREDICTED = pa.schema([(name, pa.string()) for name in ("turn_id", "variant", "utterance")])


@dataclass(frozen=True, kw_only=True)
class Turns(Task):
    """What generators say, and how it is judged."""

    name: str = "turns"
    item: str = "turn"
    metrics: Sequence[Metric] = TURN_METRICS
    # The variant whose words the sentences that have to be entailed are made of.
    evaluator: str = ORIGINAL
    # The model of entailment, or its name, and how it is run; None for BLEU and SER alone.
    nli: str | Nli | None = None
    dtype: str = "float32"
    device: str | None = None
    options: Options = PAPER
    # Files with the turns to score and with the gold side; None for all, and to make it.
    turns: Path | None = None
    gold: Path | None = None

    def __post_init__(self) -> None:
        """Whatever the generator read, what it has to say is the evaluator's."""
        rows = Rows(Prediction, PREDICTED, REFERENCES, "turns", [self.evaluator])
        object.__setattr__(self, "rows", rows)

    def open_nli(self) -> Nli | None:
        """The model of entailment."""
        if isinstance(self.nli, str):
            return open_nli(self.nli, self.dtype, self.device)
        return self.nli

    def require_nli(self) -> Nli:
        """The model of entailment, where a command cannot do without."""
        nli = self.open_nli()
        if nli is None:
            raise ScoreError("--nli: found no model, expected the name of one")
        return nli

    def gold_header(self, references: Gold, nli: Nli | None) -> GoldHeader:
        """How the gold side is made; a gold file must have been made in the same way."""
        evaluator = "@".join([self.evaluator, *references.marks([self.evaluator]).values()])
        options = (self.options.validate, self.options.context, self.options.rules)
        return GoldHeader(nli_name(nli), evaluator, references.split, *options, self.options.seed)

    def score(self, given: Given) -> ScoredItems:
        """Score the turns of each variant, or those that were chosen."""
        system = self.score_turns(given, *self._chosen_turns(given))
        result = system.result
        return ScoredItems(system.items, result.signature, result.counts, coverage_lines(result))

    def _chosen_turns(self, given: Given) -> tuple[list[Turn], list[Turn]]:
        """All turns, and those of them to score."""
        every = read_turns(given.gold, self.evaluator)
        where = str(given.inputs.dialogues or "predictions")
        turns = select_turns(every, given.ids, where, self.turns)
        if services := given.inputs.services:
            check_services(services, [turn.service for turn in turns])
            turns = [turn for turn in turns if turn.service in services]
        return every, turns

    def score_turns(self, given: Given, every: Sequence[Turn], turns: list[Turn]) -> SystemScores:
        """Score files of one system, with what they say of themselves in the signature."""
        references, predictions = given.gold, given.predictions
        rows = [
            msgspec.convert(row, Prediction)
            for of_variant in predictions.values()
            for row in of_variant.rows.to_pylist()
        ]
        nli = self.open_nli()
        header = self.gold_header(references, nli)
        gold = None if self.gold is None else read_gold(self.gold, header, turns)
        with located(predictions, references):
            of = references, every, turns, rows, nli, self.options, gold
            return score_rows(*of, given.setup())

    def items(self, given: Given) -> ItemTable:
        """The turns, each with a line of what is said."""
        every, turns = self._chosen_turns(given)
        scores = self.score_turns(given, every, turns).turn_scores
        names = list(given.predictions)
        accuracy = turn_accuracy(scores, names)
        why = "not all is said" if self.nli is None else "not faithful"

        def lines(place: int, name: str) -> list[Line]:
            score = float(accuracy[names.index(name), place])
            said = [scores[name].utterances[place]]
            return [Line(0, "utterance", name, "", [], said, score, why)]

        ids = [turn.turn_id for turn in turns]
        title = "SER" if self.nli is None else "SGSAcc"
        return ItemTable("turn", title, names, ids, accuracy, lines)

    def why(self, item: str, given: Given, console: Console) -> None:
        """Print the utterances before and in one turn, and how each action is judged."""
        every = read_turns(given.gold, self.evaluator)
        turns = [turn for turn in every if turn.turn_id == item]
        if not turns:
            raise ScoreError(
                f"TURN_ID {item}: found no such turn among {len(every)}, expected one "
                f"such as {every[0].turn_id}"
            )
        system = self.score_turns(given, every, turns)
        scores = system.turn_scores
        utterances = {name: of_variant.utterances[0] for name, of_variant in scores.items()}
        verdicts = {name: of.verdicts[0] for name, of in scores.items() if system.gold}
        print_line(turns[0].turn_id, console)
        by_speaker = {"user": turns[0].prompt, "gold": turns[0].utterance, **utterances}
        for speaker, utterance in by_speaker.items():
            print_line(f"{speaker:>8}: {utterance}", console, fold=True)
        print_line("", console)
        gold = system.gold[0] if system.gold else None
        for line in explain_turn(turns[0], utterances, gold, verdicts):
            print_line(line, console)


def score_rows(
    references: Gold,
    every: Sequence[Turn],
    turns: Sequence[Turn],
    predictions: Sequence[Prediction],
    nli: Nli | None = None,
    options: Options = PAPER,
    gold: list[GoldTurn] | None = None,
    made: Setup = UNSTATED,
) -> SystemScores:
    """Score one system's predictions, with a signature that names where the turns come from."""
    setup = setup_of(references, [turns[0].variant, *{row.variant for row in predictions}], made)
    return score_system(every, turns, predictions, setup=setup, nli=nli, options=options, gold=gold)


def setup_of(references: Gold, variants: Collection[str], made: Setup = UNSTATED) -> Setup:
    """Where turns come from, and what the predictions say of how they were made."""
    available = references.available
    return replace(
        made,
        split=references.split,
        release=references.release,
        variants=references.marks(sorted({*variants})),
        subset=None if available is None else Subset((), available),
    )


def turns_of(release: Release, split: str) -> ReleaseGold:
    """The turns of an open release as references."""
    return ReleaseGold(release, split, REFERENCES.names, "turns")


def read_turns(references: Gold, variant: str) -> list[Turn]:
    """All turns of the split under a variant's variant, sorted by their ids."""
    turns: list[Turn] = []
    table = references.rows(variant)
    try:
        if isinstance(references, ReleaseGold):
            # The joined schemas of every row would take longer than all else.
            schemas = {
                service.service_name: service
                for service in references.opened.schema(references.split, variant)
            }
            for row in table.to_pylist():
                turn = msgspec.convert({**row, "schemas": []}, Turn)
                services = [turn.service, *(action.service for action in turn.actions)]
                of_turn = [schemas[name] for name in dict.fromkeys(services)]
                turns.append(msgspec.structs.replace(turn, schemas=of_turn))
        else:
            rows = (row for batch in table.to_batches(1000) for row in batch.to_pylist())
            turns = [read_turn(row, f"{references.name}: {variant}") for row in rows]
    except msgspec.ValidationError as error:
        raise ScoreError(f"{references.name}: {variant}: {error}, expected turn rows") from None
    return sorted(turns, key=lambda turn: turn.turn_id)


def select_turns(
    turns: Sequence[Turn], ids: Sequence[str], where: str, single: Path | None = None
) -> list[Turn]:
    """The turns of some dialogues, or of all, and of these only those that a file lists."""
    selected = list(turns)
    if ids:
        _check("dialogues", ids, {turn.dialogue_id for turn in turns}, where)
        selected = [turn for turn in selected if turn.dialogue_id in {*ids}]
    if single is not None:
        chosen = read_turn_ids(single)
        _check("turns", chosen, {turn.turn_id for turn in turns}, str(single))
        selected = [turn for turn in selected if turn.turn_id in {*chosen}]
    if not selected:
        raise ScoreError(f"{single}: none of these turns is of the dialogues of {where}")
    return selected


def chosen_turns(
    turns: Sequence[Turn], split: str, dialogues: Path | None, single: Path | None
) -> list[Turn]:
    """The turns that files of dialogues and of turns choose."""
    ids = read_dialogue_ids(dialogues, split) if dialogues else []
    return select_turns(turns, ids, str(dialogues), single)


def read_turn_ids(path: Path) -> list[str]:
    """Read a list of turns, a JSON list of their ids or one id a line; each id once."""
    try:
        text = read_input(path).decode()
        is_json = text.lstrip().startswith("[")
        ids = msgspec.json.decode(text, type=list[str]) if is_json else text.split()
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ScoreError(f"{path}: cannot be read as a list of turn ids: {error}") from None
    malformed = [turn_id for turn_id in ids if not _TURN_ID.fullmatch(turn_id)]
    if malformed or not ids:
        fault = f"'{malformed[0]}'" if malformed else "no turn id"
        raise ScoreError(f"{path}: found {fault}, expected DIALOGUE/TURN, as in 1_00000/5")
    return list(dict.fromkeys(ids))


def turns_mark(turns: Sequence[Turn]) -> str:
    """What tells chosen turns from others, as signatures have it: their number and a digest."""
    ids = sorted(turn.turn_id for turn in turns)
    return f"{len(ids)}@{short_digest(ids)}"


def _check(what: str, ids: Sequence[str], available: Collection[str], where: str) -> None:
    if missing := [id_ for id_ in ids if id_ not in available]:
        raise ScoreError(
            f"{where}: {len(missing)} of {len(ids)} {what} are not in the references, the first is"
            f" {missing[0]}, expected those of the same source and split"
        )


def turn_task(asked: NliOptions, **others: Any) -> Turns:
    """The task of generated turns with the options of a command."""
    given = {**vars(asked), **others}
    options = Options(
        validate=not given.get("no_validation", False),
        context=not given["no_context"],
        **{
            name: given[name]
            for name in ("rules", "seed", "tokenize", "lowercase")
            if name in given
        },
    )
    names = ("nli", "dtype", "device", "evaluator", "turns", "gold")
    return Turns(options=options, **{name: given[name] for name in names if name in given})
