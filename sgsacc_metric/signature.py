"""The one line beside every score that says how it was computed.

The line is modelled on sacreBLEU's signature (Post 2018, arXiv 1804.08771).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sgdx_metric.bootstrap import DIALOGUES, RESAMPLES, SEED
from sgdx_metric.signature import (
    check_origin,
    check_parts,
    check_variant_names,
    release_part,
    split_name,
)
from sgdx_metric.variants import short_digest
from sgdx_metric.version import __version__

from .bleu import bleu_signature
from .candidates import REVISION
from .gold import GoldTurn, Options
from .rows import Turn

NAME = "sgsacc_metric"


@dataclass(frozen=True)
class Origin:
    """What the predictions say of how they were made.

    Attributes:
        oracle: Whether their model was trained on schemas that it is evaluated on.
        made_elsewhere: Whether some say not what data they were made from.
        by_variant: What scores.json repeats of each file, by variant.
        services: Those of which turns were chosen; empty for all.
    """

    oracle: bool = False
    made_elsewhere: bool = False
    by_variant: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    services: Collection[str] = ()


UNSTATED = Origin()


@dataclass(frozen=True)
class ScoredData:
    """Which turns are scored, as far as it is known.

    Attributes:
        turn_ids: The turns that are scored under each variant.
        split: "train", "validation", "test" or a name of one's own; None where it is unknown.
        release: The commit of the data, or a name of other data; None where it is unknown.
        available_dialogues: How many dialogues of the split the data has; None for as many as are
            scored.
        available_turns: How many turns the dialogues that are scored have; None for as many as are
            scored.
        wordings: The fingerprint of each variant that is the user's own.
        origin: What the predictions say of how they were made.
    """

    turn_ids: Collection[str]
    split: str | None = None
    release: str | None = None
    available_dialogues: int | None = None
    available_turns: int | None = None
    wordings: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = UNSTATED

    def __post_init__(self) -> None:
        check_origin(self.split, self.release)

    @classmethod
    def from_turns(
        cls,
        split_turns: Sequence[Turn],
        turns: Sequence[Turn],
        split: str | None,
        release: str | None,
        wordings: Mapping[str, str],
        available_dialogues: int | None = None,
        origin: Origin = UNSTATED,
    ) -> "ScoredData":
        """Count all turns of a split and those of them that are scored.

        `available_dialogues` is given where `split_turns` are those of some dialogues alone.
        """
        dialogues = {turn.dialogue_id for turn in turns}
        return cls(
            [turn.turn_id for turn in turns],
            split,
            release,
            available_dialogues=available_dialogues
            or len({turn.dialogue_id for turn in split_turns}),
            available_turns=sum(turn.dialogue_id in dialogues for turn in split_turns),
            wordings=wordings,
            origin=origin,
        )


def signature(
    variants: Sequence[str],
    evaluators: Sequence[str],
    data: ScoredData,
    nli: str = "none",
    gold: Sequence[GoldTurn] = (),
    options: Options | None = None,
    over: str = DIALOGUES,
) -> str:
    """Write the line `sgsacc_metric|key:value|...`.

    Where the data has fewer dialogues than the whole split, the part `release` is
    `partial:<available>/<whole split>`. Where fewer dialogues are scored than the data has, the
    part `dialogues` has their number and a digest of their ids. Where fewer turns are scored than
    these dialogues have, the part `turns` has a digest of the turns' ids. Only the score of an
    oracle has the part `oracle`, and only one of predictions of which some say not what data they
    were made from `predictions:made-elsewhere`.
    """
    check_variant_names([*variants, *evaluators])
    split = split_name(data.split or "unknown")
    dialogues = sorted({turn_id.rpartition("/")[0] for turn_id in data.turn_ids})
    available_dialogues = data.available_dialogues or len(dialogues)
    parts: dict[str, object] = {
        "generator": _marked(variants, data.wordings),
        "evaluator": _marked(evaluators, data.wordings),
        "split": split,
        "release": release_part(split, available_dialogues, data.release),
    }
    if len(dialogues) < available_dialogues:
        parts["dialogues"] = f"{len(dialogues)}@{short_digest(dialogues)}"
    if data.origin.services:
        parts["services"] = "+".join(sorted(set(data.origin.services)))
    parts["turns"] = str(len(data.turn_ids))
    if len(data.turn_ids) < (data.available_turns or 0):
        parts["turns"] = f"{len(data.turn_ids)}@{short_digest(sorted(data.turn_ids))}"
    parts |= {"bleu": _bleu_part(), "ser": "t2g2", "nli": nli}
    if nli != "none":
        options = options or Options()
        parts |= {"rules": options.rules, "references": REVISION}
        parts["context"] = "yes" if options.context else "no"
        if options.validate and gold:
            parts["validated"] = f"{sum(turn.valid for turn in gold)}/{len(gold)}"
        if options.validate:
            parts["negatives-seed"] = options.seed
    if data.origin.oracle:
        parts["oracle"] = "yes"
    if data.origin.made_elsewhere:
        parts["predictions"] = "made-elsewhere"
    if over != DIALOGUES:
        parts["over"] = over
    parts |= {"ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}", "version": __version__}
    check_parts(parts)
    return "|".join([NAME, *(f"{key}:{value}" for key, value in parts.items())])


def _marked(variants: Sequence[str], wordings: Mapping[str, str]) -> str:
    """The variants' names, those of the user's own with their fingerprints."""
    return "+".join(f"{name}@{wordings[name]}" if name in wordings else name for name in variants)


def _bleu_part() -> str:
    """sacreBLEU's signature of the headline convention, in one part: `tok-13a,case-mixed,...`."""
    return bleu_signature().replace(":", "-").replace("|", ",").replace("version", "sacrebleu")
