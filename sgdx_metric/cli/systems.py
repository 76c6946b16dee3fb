"""What prediction files say of the system that made them, and whether it is one system."""

from collections.abc import Mapping
from typing import Any

import msgspec

from sgdx_dataset.io.errors import SgdxError

from ..variants import own_wordings

# By the first of these that two files both state, they are of one system or of two: a digest of the
# model's weights counts more than the name of the model.
_IDENTITY = ("weights", "model", "tracker", "seed")
# What else makes two files of different systems, where both state it.
_SETTINGS = (
    "train", "augment", "schemas", "overlaps", "task", "answer", "strict", "prompt", "parameters",
    "omitted", "mapping", "host", "provider", "program", "retry_invalid", "tool_choice",
    "distractors", "services", "precision", "format", "input", "templates", "parts", "beams",
    "acts", "utterances", "keep_bias", "shuffle", "max_tokens", "max_turn", "max_input",
    "max_target", "length_penalty",
)  # fmt: skip
# What a file states about its rows.
_OF_DATA = ("split", "variant", "of_variant", "dialogues")


class Metadata(msgspec.Struct, omit_defaults=True):
    """What a prediction file may state about itself in its first line.

    Attributes:
        split, variant: What the predictions are for.
        of_variant: The variant, where the file is one of several that repeat it.
        dialogues: The number and digest of the dialogues, as a signature has them, where the
            predictions are of some dialogues of the split alone.
        model: The model's name, such as a folder or a repository.
        tracker: The name of the tracker.
        weights: A digest of the model's weights.
        seed: The random seed of the training.
        train, augment, schemas, overlaps: What the model was trained on, as its training recorded
            it.
        oracle: Whether the model was trained on schemas that it is evaluated on.
        system_acts: Whether the tracker was given the system's dialogue acts.
        source, data: The source that the predictions were made from, and a digest of its data.
        wording: The fingerprint of the wording, where it is the user's own.
        task, answer, strict, prompt, parameters, omitted, mapping, host, provider, retry_invalid,
            tool_choice, distractors, services, precision, format, input, templates, parts, beams,
            acts, utterances, keep_bias, shuffle, max_tokens, max_turn, max_input, max_target,
            length_penalty: How the system was asked or run.
        program: A digest of the system's code.
        counts: What was counted while predicting, such as how many answers of a language model were
            ``invalid``, out of how many ``requests``.
    """

    split: str | None = None
    variant: str | None = None
    of_variant: Any = None
    dialogues: str | None = None
    model: Any = None
    tracker: Any = None
    weights: Any = None
    seed: Any = None
    train: Any = None
    augment: Any = None
    schemas: Any = None
    overlaps: Any = None
    oracle: bool | None = None
    system_acts: bool | None = None
    source: str | None = None
    data: str | None = None
    wording: str | None = None
    task: Any = None
    answer: Any = None
    strict: Any = None
    prompt: Any = None
    parameters: Any = None
    omitted: Any = None
    mapping: Any = None
    host: Any = None
    provider: Any = None
    program: Any = None
    retry_invalid: Any = None
    tool_choice: Any = None
    distractors: Any = 0  # none: headers leave that out
    services: Any = None
    precision: Any = None
    format: Any = None
    input: Any = None
    templates: Any = None
    parts: Any = None
    beams: Any = None
    acts: Any = None
    utterances: Any = None
    keep_bias: Any = None
    shuffle: Any = None
    max_tokens: Any = None
    max_turn: Any = None
    max_input: Any = None
    max_target: Any = None
    length_penalty: Any = None
    counts: Any = None


def about_system(metadata: Metadata) -> dict[str, Any]:
    """What a prediction file states about its system, for scores.json; the rest is left out."""
    facts: dict[str, Any] = msgspec.to_builtins(metadata)
    return {key: value for key, value in facts.items() if key not in _OF_DATA}


def check_one_system(metadata: Mapping[str, Metadata]) -> None:
    """Refuse predictions that say of themselves that they are of different systems.

    Args:
        metadata: What the predictions of each variant say. What they do not say is taken to be the
            same.

    Raises:
        SgdxError: Two variants' predictions are of different models, or one is of an oracle and
            another one is not.
    """
    names = list(metadata)
    for i, name in enumerate(names):
        for other in names[:i]:
            if key := _apart(metadata[other], metadata[name]):
                raise SgdxError(
                    f"predictions for {name}: {key} is {_shown(metadata[name], key)}, and "
                    f"{_shown(metadata[other], key)} in those for {other}: expected the "
                    "predictions of one system"
                )


def _apart(first: Metadata, second: Metadata) -> str:
    """The key by which two files are of different systems; empty if they may be of one."""
    if None not in (first.oracle, second.oracle) and first.oracle != second.oracle:
        return "oracle"
    for key in _IDENTITY:
        left, right = getattr(first, key), getattr(second, key)
        if left is not None and right is not None:
            if left != right:
                return key
            break
    for key in _SETTINGS:
        left, right = getattr(first, key), getattr(second, key)
        if left is not None and right is not None and left != right:
            return key
    return ""


def check_data(metadata: Metadata, name: str, data: str | None, wording: str | None) -> None:
    """Refuse predictions that say of themselves that they were made from other data.

    Where the digests of the data agree, so do the wordings: the digest is of their words too.

    Args:
        metadata: What the predictions of a variant say.
        name: The variant.
        data: The digest of the references' data; None where it is unknown.
        wording: The fingerprint of the variant's wording; None where it is unknown, or the release
            has it.

    Raises:
        SgdxError: They were made from other dialogues or schemas, or under another wording.
    """
    if metadata.wording is not None and not own_wordings([name]):
        raise SgdxError(
            f"predictions for {name}: wording is {metadata.wording}, expected none, as {name} is no"
            " wording of one's own; give the wording another name with --variant"
        )
    if metadata.data is not None and metadata.data == data:
        return
    if None not in (metadata.wording, wording) and metadata.wording != wording:
        raise SgdxError(
            f"predictions for {name}: wording is {metadata.wording}, and the references' is "
            f"{wording}: expected the wording that was predicted; give it with --variant"
        )
    if None not in (metadata.data, data) and metadata.data != data:
        raise SgdxError(
            f"predictions for {name}: were made from data {metadata.data} (source "
            f"{metadata.source}), and the references are {data}: expected the same dialogues and "
            "schemas; give their --source, or predict again"
        )


def _shown(metadata: Metadata, key: str) -> str:
    text = msgspec.json.encode(getattr(metadata, key)).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."


def is_oracle(metadata: Mapping[str, Metadata]) -> bool:
    """Whether any variant's predictions say that they are of an oracle."""
    return any(variant.oracle for variant in metadata.values())


def unread_answers(metadata: Mapping[str, Metadata]) -> dict[str, tuple[int, int]]:
    """How many answers could not be read, and of how many, by variant; only where that is said."""
    unread = {}
    for name, variant in metadata.items():
        counts = variant.counts if isinstance(variant.counts, dict) else {}
        invalid, requests = counts.get("invalid"), counts.get("requests")
        if type(invalid) is int and type(requests) is int:
            unread[name] = (invalid, requests)
    return unread


def system_acts(metadata: Mapping[str, Metadata], option: str | None) -> str:
    """Whether the predictions used the system's dialogue acts, for the signature.

    Args:
        metadata: What the predictions of each variant say.
        option: "yes" or "no" for those that do not say; None where that is unknown.

    Returns:
        "yes", "no", "unknown", or "mixed" where the variants differ.

    Raises:
        SgdxError: The predictions say otherwise than what was chosen.
    """
    words = {True: "yes", False: "no", None: option or "unknown"}
    answers = {name: words[variant.system_acts] for name, variant in metadata.items()}
    for name, answer in answers.items():
        if option and answer != option:
            raise SgdxError(
                f"--system-acts {option}: the predictions for {name} say '{answer}' themselves, "
                f"expected '{option}' or nothing"
            )
    distinct = set(answers.values())
    return distinct.pop() if len(distinct) == 1 else "mixed"
