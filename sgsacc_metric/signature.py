"""The one line beside every score that says how it was computed.

The line is modelled on sacreBLEU's signature (Post 2018, arXiv 1804.08771).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sgdx_metric.bootstrap import RESAMPLES, SEED
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name
from sgdx_metric.variants import short_digest
from sgdx_metric.version import __version__

from .bleu import bleu_signature
from .gold import GoldTurn, Options

NAME = "sgsacc_metric"
# How many dialogues each split of the whole release has.
_DIALOGUES = {"train": 16142, "validation": 2482, "test": 4201}


@dataclass(frozen=True)
class Data:
    """Which turns are scored, as far as it is known.

    Attributes:
        split: "train", "validation", "test" or a name of one's own; None where it is unknown.
        release: The commit of the data, or a name of other data; None where it is unknown.
        available: How many dialogues of the split the data has; None for as many as are scored.
        whole: How many turns the dialogues that are scored have; None for as many as are scored.
        wordings: The fingerprints of one's own wordings, by variant.
    """

    split: str | None = None
    release: str | None = None
    available: int | None = None
    whole: int | None = None
    wordings: tuple[tuple[str, str], ...] = ()


def signature(
    variants: Sequence[str],
    evaluators: Sequence[str],
    turn_ids: Collection[str],
    data: Data,
    nli: str = "none",
    gold: Sequence[GoldTurn] = (),
    options: Options | None = None,
) -> str:
    """Write the line `sgsacc_metric|key:value|...`.

    Args:
        variants: The wordings that the generator was given.
        evaluators: The wordings that the references of SGSAcc are made of.
        turn_ids: The turns that were scored under each variant.
        data: Which turns these are. Where the data has fewer dialogues than the split,
            `release` is `partial:<found>/<whole>`; where fewer are scored than the data has, there
            is a part `dialogues` with their number and a digest of their ids; where fewer turns are
            scored than these dialogues have, `turns` has a digest of the turns' ids.
        nli: The name of the model of entailment; "none" leaves out all parts of SGSAcc.
        gold: The gold side of the turns; none for several evaluators.
        options: How SGSAcc was computed.
    """
    known = dict(data.wordings)

    def marked(names: Sequence[str]) -> str:
        return "+".join(f"{name}@{known[name]}" if name in known else name for name in names)

    split = split_name(data.split or "unknown")
    found = sorted({turn_id.rpartition("/")[0] for turn_id in turn_ids})
    available = data.available or len(found)
    release = data.release or "unknown"
    known_data = release != "sample" and not release.startswith("unverified:")
    partial = known_data and available < _DIALOGUES.get(split, 0)
    parts: dict[str, object] = {
        "generator": marked(variants),
        "evaluator": marked(evaluators),
        "split": split,
        "release": f"partial:{available}/{_DIALOGUES[split]}" if partial else release,
    }
    if len(found) < available:
        parts["dialogues"] = f"{len(found)}@{short_digest(found)}"
    chosen = len(turn_ids) < (data.whole or 0)
    turns = f"{len(turn_ids)}@{short_digest(sorted(turn_ids))}" if chosen else len(turn_ids)
    parts |= {"turns": turns, "bleu": _bleu(), "ser": "t2g2", "nli": nli}
    if nli != "none":
        options = options or Options()
        parts |= {"rules": options.rules, "context": "yes" if options.context else "no"}
        if options.validate and gold:
            parts["validated"] = f"{sum(turn.valid for turn in gold)}/{len(gold)}"
        if options.validate:
            parts["negatives-seed"] = options.seed
    parts |= {"ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}", "version": __version__}
    return "|".join([NAME, *(f"{key}:{value}" for key, value in parts.items())])


def _bleu() -> str:
    """sacreBLEU's signature of the headline convention, in one part: `tok-13a,case-mixed,...`."""
    return bleu_signature().replace(":", "-").replace("|", ",").replace("version", "sacrebleu")


def signature_parts(line: str, where: str) -> dict[str, str]:
    """Read the parts of a signature, by key.

    Args:
        line: The signature.
        where: What an error message begins with, such as the file's name.

    Raises:
        ScoreError: The line is not a signature of this metric.
    """
    name, *parts = line.split("|")
    if name != NAME or not all(":" in part for part in parts):
        raise ScoreError(f"{where}: signature is '{line[:60]}', expected '{NAME}|key:value|...'")
    return dict(part.split(":", 1) for part in parts)
