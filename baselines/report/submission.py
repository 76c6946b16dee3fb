"""What a submission to the leaderboard says of a system that was asked: ``submission.json``.

Such a system is a language model behind a server, or any program. Its weights are not at hand, so
that its row says instead which model was asked, how, when, and at what cost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json

from ..llm.program import HOST

FILE = "submission.json"
# The SHA-256 of the instructions that have asked for states, by the number of the mapping from
# schemas to functions: for answers in a call, and for answers in text.
STANDARD_PROMPTS = {
    3: (
        "3849a9d5fc24844020e392652134cb8bd94ae3d14a716e3a4f9b68e5baa781e4",
        "37e00e73871acb7f611a7e93165e33bde81da7f78f712fe0e590b48d7b07606a",
    ),
}
Kind = Literal["standard", "custom"]
Text = Annotated[str, msgspec.Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f<>|`]+$")]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, msgspec.Meta(ge=0)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
# A date such as 2024-08-06, 20240806 or the 0613 of gpt-4-0613, or a revision or digest after @.
_DATED = re.compile(r"20[0-9]{2}-?[01][0-9](-?[0-3][0-9])?\b|-[01][0-9][0-3][0-9]\b|@[0-9a-f]{7,}")


class Tokens(msgspec.Struct, rename={"sent": "in", "made": "out"}, forbid_unknown_fields=True):
    """Numbers of tokens, as answers report them.

    Attributes:
        sent: Tokens of requests.
        cached: How many of those the server had cached.
        made: Tokens of answers.
        reasoning: How many of those were the model's reasoning.
    """

    sent: Count = 0
    cached: Count = 0
    made: Count = 0
    reasoning: Count = 0


class Submission(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The content of ``submission.json``, beside which ``scores.json`` lies.

    Attributes:
        name: The model's name with its date, or with ``@`` and its revision or digest.
        kind: ``standard`` if the model was asked as a version of the project asks for states, else
            ``custom``.
        quantisation: The form of the model's weights, such as Q4_1; empty where it is not known.
        signature: The line that says how it was scored.
        scores: The headline figures of scores.json, as fractions; None where undefined.
        scores_sha256: The digest that scores.json has of itself.
        model: The name under which the model was asked for.
        served_models, fingerprints: What the server called it, with the numbers of answers.
        answer: Where answers had to be: ``tool``, ``json_schema`` or ``text``.
        prompt: The SHA-256 of the instruction.
        mapping: The number of the mapping from schemas to functions.
        parameters: The fields of requests, such as the temperature.
        requests, invalid: How many requests there were, and how many answers could not be read.
        tokens: Their tokens.
        seconds_per_answer: How long an answer took; None where it is not known.
        cost: What the answers cost, in US dollars; None where no price was given.
        dates: When the first and the last answer came.
        answers_sha256: The SHA-256 of the file of answers, which its owner keeps.
        predictions: The SHA-256 of each prediction file, by variant.
    """

    name: Text
    kind: Kind
    quantisation: str = ""
    signature: str
    scores: dict[str, float | None]
    scores_sha256: Digest
    model: str
    served_models: dict[str, Count] = {}
    fingerprints: dict[str, Count] = {}
    answer: str
    prompt: Digest
    mapping: int
    parameters: dict[str, Any] = {}
    requests: Annotated[int, msgspec.Meta(ge=1)]
    invalid: Count
    tokens: Tokens
    seconds_per_answer: Amount | None = None
    cost: Amount | None = None
    dates: list[str]
    answers_sha256: Digest
    predictions: Annotated[dict[str, Digest], msgspec.Meta(min_length=1)]


def read_submission(path: Path) -> Submission:
    """Read a ``submission.json``.

    Raises:
        SgdxError: It cannot be read, is none, or its model has no date.
    """
    submission = parse_json(read_file(path), Submission, str(path), "a submission.json")
    check_name(submission.name, str(path))
    return submission


def check_name(name: str, where: str) -> None:
    """Refuse a model's name without a date or revision: one name has meant different models.

    Raises:
        SgdxError: There is none; the message begins with ``where``.
    """
    if not _DATED.search(name):
        raise SgdxError(
            f"{where}: the name is '{name}', expected one with a date, as in gpt-4o-2024-08-06, or "
            "with @ and a revision or digest, as in SmolLM2-135M-Instruct@12fd25f"
        )


def kind_of(facts: Mapping[str, Any]) -> Kind:
    """Whether a system was asked in the project's own way.

    Args:
        facts: What the header of a prediction file says, or ``predictions`` of scores.json.
    """
    is_standard = (
        facts.get("task") == "state"
        and facts.get("prompt") in STANDARD_PROMPTS.get(facts.get("mapping", 0), ())
        and not facts.get("retry_invalid")
        and not str(facts.get("host", "")).startswith(HOST)
    )
    return "standard" if is_standard else "custom"
