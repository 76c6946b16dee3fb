"""The Python door: score rows, or files, and have the content of scores.json as a dict."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import Setup, split_name
from sgdx_metric.variants import ORIGINAL, fingerprint, own_variants

from .gold import PAPER, Options
from .models import open_nli
from .nli import Nli
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
) -> dict[str, Any]:
    """Score the responses of one generator under one or more schema variants.

    Rows are a list of dicts, a `datasets.Dataset`, an Arrow table or a pandas data frame. They are
    matched by `turn_id`; their order does not matter, and keys or columns beyond those named here
    are passed over.

    Args:
        predictions: Rows with `turn_id`, `variant` (the one that the generator was given) and
            `utterance`.
        references: Turn rows, as `sgdx_dataset.turns` makes them, of the variant `evaluator`. Rows
            of other variants serve only to mark a variant of the user's own in the signature.
        split, release: The names of the split and of the data (a commit), for the signature.
        evaluator: The variant whose words the sentences that have to be entailed are made of.
        nli: The model of entailment: "lexical" for a comparison of words, the name or folder of a
            checkpoint, or a function from n pairs (premise, hypothesis) to an array [n, 3] of the
            probabilities of entailment, neutral and contradiction. None for BLEU and slot error
            rates alone.
        options: How SGSAcc is computed.

    Returns:
        The content of scores.json, as `score_files` returns it.

    Raises:
        ScoreError: A row is malformed; a turn is missing, there twice or unknown; or the rows
            cannot be scored for another reason, which the message names.

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
        >>> metrics = scores["variants"]["v1"]["#ALL_SERVICES"]
        >>> metrics["ser"], metrics["sgsacc"]
        (1.0, 0.0)
    """
    return score_structs(
        read_prediction_rows(predictions),
        read_turn_rows(references),
        split=split,
        release=release,
        evaluator=evaluator,
        nli=nli,
        options=options,
    ).scores_json()


def score_structs(
    predictions: Sequence[Prediction],
    references: Sequence[Turn],
    *,
    split: str | None,
    release: str | None,
    evaluator: str,
    nli: str | Nli | None,
    options: Options,
) -> SystemScores:
    """Score rows that have been read; the arguments are those of `score`."""
    turns = _turns_of(references, evaluator)
    setup = Setup(split, release, made_elsewhere=True, variants=_fingerprints(references))
    model = open_nli(nli) if isinstance(nli, str) else nli
    return score_system(turns, turns, predictions, setup=setup, nli=model, options=options)


def score_files(
    predictions: Mapping[str, str | Path] | str | Path,
    *,
    source: str | None = None,
    references: str | Path | None = None,
    split: str = "test",
    own_variants: Mapping[str, str | Path] | None = None,
    dialogues: str | Path | None = None,
    turns: str | Path | None = None,
    evaluator: str = ORIGINAL,
    nli: str | Nli | None = None,
    dtype: str = "float32",
    device: str | None = None,
    options: Options = PAPER,
    gold: str | Path | None = None,
    output: str | Path | None = None,
    per_turn: str | Path | None = None,
    verbose: bool = False,
) -> dict[str, Any]:
    """Score files of responses as `sgdx score` does.

    Args:
        predictions: A folder that holds `VARIANT.jsonl` for each variant; or JSONL files by
            variant.
        source: Where the references come from: the SGD release as a directory or an archive, or
            "sample"; None for `$SGDX_SOURCE` and, where that is unset, what `sgdx_dataset prepare`
            was given.
        references: Instead of a source, a folder of `VARIANT.parquet`, as `python -m sgdx_dataset
            turns` writes them.
        split: The split that was generated: "train", "validation" (or "dev") or "test".
        own_variants: Schema variants of the user's own, as paths by name.
        dialogues: A file with the ids of the dialogues to score; None for those that the files say
            they are of, or all where they do not say.
        turns: A file with the ids of the turns to score; None for all turns of the dialogues.
        evaluator: The variant whose words the sentences that have to be entailed are made of.
        nli: The model of entailment, as for `score`.
        dtype, device: How a checkpoint is run, as for `sgsacc_metric.models.open_nli`.
        options: How SGSAcc and BLEU are computed.
        gold: The file that the command `references` wrote, to be read instead of making the gold
            side again.
        output: The scores.json to write.
        per_turn: A `.jsonl` file to write the scores of every turn to.
        verbose: Whether to print the tables that the command prints.

    Returns:
        The content of scores.json: `variants`, `sgdx`, `signature`, `counts`, `predictions`
        and `paired`. The card (README.md) says what each holds. BLEU is from
        0 to 100; all else are fractions, None where undefined.

    Raises:
        ScoreError, sgdx_dataset.SgdxError: A file or an argument cannot be used; the message names
            it, what was found and what was expected. Nothing has been written then.

    Examples:

        >>> import json, tempfile
        >>> from pathlib import Path
        >>> from sgdx_dataset import open_release, turn_tables
        >>> from sgsacc_metric import score_files
        >>> keys = ["turn_id", "variant", "utterance"]
        >>> rows = turn_tables(open_release("sample"), "test", "v1", keys).to_pylist()
        >>> folder = Path(tempfile.mkdtemp())
        >>> characters = (folder / "v1.jsonl").write_text("\\n".join(map(json.dumps, rows)))
        >>> scores = score_files(folder, source="sample", output=folder / "scores.json")
        >>> scores["variants"]["v1"]["#ALL_SERVICES"]["ser"]
        0.0
        >>> scores == json.loads((folder / "scores.json").read_text())
        True
    """
    # Rows need no code of the command line.
    from sgdx_eval.inputs import Inputs
    from sgdx_eval.score import score as score_task
    from sgdx_eval.tasks.turns import Turns

    inputs = Inputs(
        predictions=(
            {name: Path(path) for name, path in predictions.items()}
            if isinstance(predictions, Mapping)
            else Path(predictions)
        ),
        split=split_name(split),
        source=source,
        references=_path(references),
        own_variants={name: str(path) for name, path in (own_variants or {}).items()},
        dialogues=_path(dialogues),
    )
    task = Turns(
        evaluator=evaluator,
        nli=nli,
        dtype=dtype,
        device=device,
        options=options,
        turns=_path(turns),
        gold=_path(gold),
    )
    return score_task(task, inputs, _path(output), _path(per_turn), verbose)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _turns_of(rows: Sequence[Turn], evaluator: str) -> list[Turn]:
    """The rows of the evaluator's variant, sorted by their ids."""
    turns = sorted((row for row in rows if row.variant == evaluator), key=lambda row: row.turn_id)
    if not turns:
        raise ScoreError(
            f"references: found no rows of variant '{evaluator}', whose words the evaluator takes"
        )
    for turn, following in pairwise(turns):
        if turn.turn_id == following.turn_id:
            raise ScoreError(f"references: turn {turn.turn_id} appears twice, expected once")
    return turns


def _fingerprints(rows: Sequence[Turn]) -> dict[str, str]:
    """The fingerprints of the user's own variants among the references, by variant."""
    variants = own_variants(sorted({row.variant for row in rows}))
    digests: dict[str, set[str]] = {variant: set() for variant in variants}
    for row in rows:
        if row.words is not None and row.variant in digests:
            digests[row.variant].update(row.words.split("+"))
    return {variant: fingerprint(of_variant) for variant, of_variant in digests.items()}
