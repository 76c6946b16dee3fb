"""The Python door: score rows, and have the result that scores.json holds."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sgdx_metric.api import origin_of
from sgdx_metric.errors import ScoreError
from sgdx_metric.result import Result
from sgdx_metric.signature import Setup
from sgdx_metric.variants import ORIGINAL, fingerprint, own_variants

from .gold import PAPER, Options
from .nli import Nli, open_nli
from .rows import Prediction, Turn, read_prediction_rows, read_turn_rows
from .system import SystemScores, score_system


def score(
    predictions: Any,
    references: Any,
    *,
    split: str | None = None,
    release: str | None = None,
    evaluator: str = ORIGINAL,
    nli: str | Nli | None = None,
    options: Options = PAPER,
) -> Result:
    """Score the responses of one generator under one or more schema variants.

    Rows are a list of dicts, a `datasets.Dataset`, an Arrow table or a pandas data frame. They are
    matched by `turn_id`; their order does not matter, and keys or columns beyond those named here
    are passed over.

    Args:
        predictions: Rows with `turn_id`, `variant` (the one that the generator was given) and
            `utterance`.
        references: Turn rows, as `sgdx_dataset.turns` makes them, of the variant `evaluator`. Rows
            of other variants serve only to mark a variant of the user's own in the signature.
        split, release: The names of the split and of the data (a commit), for the signature. A
            `Dataset` of references knows them, and another name is refused.
        evaluator: The variant whose words the sentences that have to be entailed are made of.
        nli: The model of entailment: "lexical" for a comparison of words, the name or folder of a
            checkpoint, or a function from n pairs (premise, hypothesis) to an array [n, 3] of the
            probabilities of entailment, neutral and contradiction. None for BLEU and slot error
            rates alone.
        options: How SGSAcc is computed.

    Returns:
        A `Result`: `figures` are rows of metric, figure, variants, group, value, interval and
        counts, and `result["sgsacc_v1-5"]` is the value of one by its name. BLEU is from 0 to 100;
        all else are fractions, None where undefined.

    Raises:
        ScoreError: A row is malformed; a turn is missing, there twice or unknown; or the model
            cannot be loaded. The message names which, what was found and what was expected.

    Examples:

        >>> from sgsacc_metric import score
        >>> city = {"name": "city", "description": "City of the hotel", "is_categorical": False,
        ...         "possible_values": []}
        >>> schema = {"service_name": "Hotels_1", "description": "Hotels", "slots": [city],
        ...           "intents": []}
        >>> confirm = {"service": "Hotels_1", "act": "CONFIRM", "slot": "city", "values": ["Rome"]}
        >>> turn = {"turn_id": "1_00000/1", "variant": "original", "service": "Hotels_1",
        ...         "seen": True, "seen_domain": True, "actions": [confirm], "schemas": [schema],
        ...         "prompt": "Find me a hotel.", "utterance": "A hotel in Rome?"}
        >>> response = {"turn_id": "1_00000/1", "variant": "v1", "utterance": "A hotel in Paris?"}
        >>> scores = score([response], [turn], split="test", nli="lexical")
        >>> scores["ser_v1"], scores["sgsacc_v1"]
        (1.0, 0.0)
    """
    said, turns = read_prediction_rows(predictions), read_turn_rows(references)
    origin = origin_of(references).stated(split, release)
    return score_structs(said, turns, origin, evaluator, nli, options).result


def score_structs(
    predictions: Sequence[Prediction],
    references: Sequence[Turn],
    origin: tuple[str | None, str | None, list[str]],
    evaluator: str,
    nli: str | Nli | None,
    options: Options,
) -> SystemScores:
    """Score rows that have been read; `origin` is as `Origin.stated` returns it."""
    turns = sorted((t for t in references if t.variant == evaluator), key=lambda t: t.turn_id)
    if not turns:
        raise ScoreError(
            f"references: found no rows of variant '{evaluator}', whose words the evaluator takes"
        )
    for turn, following in pairwise(turns):
        if turn.turn_id == following.turn_id:
            raise ScoreError(f"references: turn {turn.turn_id} appears twice, expected once")
    digests: dict[str, set[str]] = {}  # of the user's own variants
    for row in references:
        if row.words is not None and own_variants([row.variant]):
            digests.setdefault(row.variant, set()).update(row.words.split("+"))
    variants = {name: fingerprint(of_variant) for name, of_variant in digests.items()}
    setup = Setup(*origin, made_elsewhere=True, variants=variants)
    model = open_nli(nli) if isinstance(nli, str) else nli
    return score_system(turns, turns, predictions, setup=setup, nli=model, options=options)
