"""Drawing pairs of a system's responses and statements for people to judge."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sgdx_metric.cli.inputs import stated_dialogues
from sgdx_metric.rows import ScoreError

from ..annotation import draw_pairs
from ..gold import judge_gold
from ..negatives import ValuePool
from ..nli import Judge, nli_name
from ..scoring import utterances_by_variant
from ..signature import ScoredData, signature
from .annotation_files import Key
from .predictions import dialogues_of
from .score import Inputs, origin_of


def annotation_key(
    predictions: Mapping[str, Path] | Path, inputs: Inputs, numbers: Sequence[int]
) -> Key:
    """Draw pairs from prediction files of one system, and have the model judge them.

    Args:
        predictions: Prediction files by variant, or one folder that has them.
        inputs: What they are judged against, and how; with a model of entailment.
        numbers: How many pairs of each stratum are wanted, as for `draw_pairs`.

    Raises:
        ScoreError, SgdxError: An input is malformed, or there are no pairs to draw.
    """
    responses = inputs.read_predictions(predictions)
    stated = [] if inputs.dialogues else stated_dialogues(responses, dialogues_of)
    references = inputs.open_references(responses)
    origin = origin_of(references, responses)
    nli = inputs.require_nli()
    split_turns = references.turns(inputs.evaluator)
    turns = inputs.select(split_turns, stated)
    judge = Judge(nli)
    gold = inputs.read_gold(references, nli, turns) or judge_gold(
        turns, judge, inputs.options, ValuePool.from_turns(split_turns)
    )
    rows = [row for read in responses.values() for row in read.rows]
    utterances = utterances_by_variant(turns, rows, split_turns)
    pairs = draw_pairs(turns, gold, utterances, judge, inputs.options, numbers)
    if not pairs:
        raise ScoreError("--predictions: found no judged action to draw pairs from")
    data = ScoredData.from_turns(
        split_turns,
        turns,
        references.split,
        references.version([inputs.evaluator]),
        references.fingerprints(sorted({*utterances, inputs.evaluator})),
        references.available(inputs.evaluator),
        origin,
    )
    line = signature(
        list(utterances), [inputs.evaluator], data, nli_name(nli), gold, inputs.options
    )
    return Key(line, nli_name(nli), pairs)
