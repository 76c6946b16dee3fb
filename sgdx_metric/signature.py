"""The choices that change a score, and the one line that states them all beside every score.

The line is modelled on sacreBLEU's signature (Post 2018, arXiv 1804.08771).
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .bootstrap import DIALOGUES, OVER, RESAMPLES, SEED
from .rows import ScoreError
from .subset import Subset
from .variants import ORIGINAL, PAPER_VARIANTS
from .version import __version__

NAME = "sgdx_metric"
ZERO_MEAN = ("0", "drop")
# How many dialogues each split of the whole release has.
_DIALOGUES = {"train": 16142, "validation": 2482, "test": 4201}
SYSTEM_ACTS = ("yes", "no", "mixed", "unknown")


@dataclass(frozen=True)
class Rules:
    """How frames are scored and summed up; the defaults are the official scorer's and the paper's.

    Attributes:
        use_fuzzy_match: If true, a free-form value scores its similarity to the reference; if
            false, it scores 1 where it equals one of the reference's spoken variants, and else 0.
        joint_acc_across_turn: If true, the three joint accuracies and their sensitivity are of
            whole turns, each the product over the turn's frames; if false, they are of frames.
            This flag and the one before are the official scorer's flags of these names;
            MultiWOZ-style evaluation sets them to true and false.
        zero_mean: What schema sensitivity makes of a frame that scores 0 under all variants: "0"
            counts it as 0, as the paper's equation over all turns does; "drop" leaves it out.

    Raises:
        ScoreError: A flag is neither true nor false, or `zero_mean` neither "0" nor "drop".
    """

    use_fuzzy_match: bool = True
    joint_acc_across_turn: bool = False
    zero_mean: str = "0"

    def __post_init__(self) -> None:
        check_flags(
            use_fuzzy_match=self.use_fuzzy_match, joint_acc_across_turn=self.joint_acc_across_turn
        )
        if self.zero_mean not in ZERO_MEAN:
            raise ScoreError(f"zero_mean is {self.zero_mean!r}, expected '0' or 'drop'")


def check_flags(**flags: object) -> None:
    """Refuse flags that are neither True nor False: the text "no" would count as true.

    Raises:
        ScoreError: A flag is something else; the message names it.
    """
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise ScoreError(f"{name} is {flag!r:.60}, expected True or False")


OFFICIAL = Rules()


def split_name(split: str) -> str:
    """The name of a split in this project: the release calls the validation split `dev`."""
    return "validation" if split == "dev" else split


@dataclass(frozen=True)
class Setup:
    """Which data was scored and how: what a signature states beside the variants and the counts.

    Attributes:
        split: "train", "validation", "test" or another name; None where it is unknown.
        release: The commit of the data, or a name of other data; None where it is unknown.
        rules: How the frames were scored.
        system_acts: Whether the predictions used the system's dialogue acts: "yes", "no", "mixed"
            or "unknown".
        oracle: Whether the predictions say that their model was trained on schemas that it is
            evaluated on.
        made_elsewhere: Whether some predictions say not what data they were made from.
        wordings: The fingerprint of each variant that is the user's own.
        subset: The dialogues that were chosen; None for all of the split.
        services: The original names of the services that were chosen; empty for all.
        errata: What was left out of the frames as its annotations contradict each other, with a
            digest of the list; empty for nothing.
        over: What the intervals are over: "dialogues", "wordings" or "both".
        canonical: Whether there are figures that also take canonical values.

    Raises:
        ScoreError: `system_acts` or `over` is none of these, or `split` or `release` is no text
            that a signature may have.
    """

    split: str | None = None
    release: str | None = None
    rules: Rules = OFFICIAL
    system_acts: str = "unknown"
    oracle: bool = False
    made_elsewhere: bool = False
    wordings: Mapping[str, str] = field(default_factory=dict)
    subset: Subset | None = None
    services: Collection[str] = ()
    errata: str = ""
    over: str = DIALOGUES
    canonical: bool = False

    def __post_init__(self) -> None:
        for name, value, expected in (
            ("over", self.over, OVER),
            ("system_acts", self.system_acts, SYSTEM_ACTS),
        ):
            if value not in expected:
                raise ScoreError(f"{name} is {value!r:.60}, expected one of {', '.join(expected)}")
        check_origin(self.split, self.release)


def check_origin(split: str | None, release: str | None) -> None:
    """Refuse what cannot be the name of a split or of data in a signature.

    Args:
        split, release: The names; None where one is unknown.

    Raises:
        ScoreError: `check_parts` refuses one of them, it is no text, or it has letters, or blanks
            around it, by which it looks like another name: as `Test` or full-width letters do.
    """
    check_parts({"split": split, "release": release})
    for key, name in (("split", split), ("release", release)):
        if not isinstance(name, str | None):
            raise ScoreError(f"{key} is {name!r:.60}, expected text")
        if name and (not name.isascii() or name != name.strip()):
            raise ScoreError(f"{key} is {name!a:.60}, expected ASCII without blanks around it")
    if split != (plain := str(split).lower()) and split_name(plain) in _DIALOGUES:
        raise ScoreError(f"split is {split!r}, expected {plain!r}")


def check_parts(parts: Mapping[str, object]) -> None:
    """Refuse what would end its part of a signature, or begin another one.

    Args:
        parts: The values of parts, by key; None for one that is left out.

    Raises:
        ScoreError: A value is empty, is no text or number, or has a `|` or a control character.
    """
    for name, value in parts.items():
        is_text = isinstance(value, str) and re.fullmatch(r"[^|\x00-\x1f\x7f-\x9f]+", value)
        if not (is_text or value is None or type(value) is int):
            raise ScoreError(
                f"{name} is {value!r:.60}, expected text for a signature, without '|' and without "
                "control characters"
            )


def check_variant_names(names: Iterable[str]) -> None:
    """Refuse names of variants that a reader would take for others, or that break a signature.

    Raises:
        ScoreError: A name has other characters than letters from a to z, digits, `_`, `-` and `.`,
            or is that of a variant of SGD-X in other letters, such as `V1`.
    """
    for name in names:
        taken = name.casefold() in (ORIGINAL, *PAPER_VARIANTS) and name != name.casefold()
        if taken or not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise ScoreError(
                f"variant is {name!r:.60}, expected a name of letters from a to z, digits, '_', '-'"
                " and '.', that is not the name of another variant in other letters"
            )


def signature(
    variants: Iterable[str], frames: int, dialogues: int, setup: Setup, task: str = "state"
) -> str:
    """Write the line `sgdx_metric|key:value|...`.

    Where there are fewer dialogues than the split has, the part `release` is
    `partial:<dialogues>/<whole split>`, unless the release's name begins with `unverified:`. A
    subset adds the part `dialogues`, and `release` then goes by the number of dialogues that the
    data has. Chosen services add the part `services`, and slots that are left out `errata`. Only
    the score of an oracle has the part `oracle`, only one of calls `task`, and only one of
    predictions of which some say not what data they were made from `predictions:made-elsewhere`.
    The part `over` is there where the intervals are not over dialogues alone, and `canonical` where
    there are figures that also take canonical values: those of a value that are said in the
    dialogue so far.

    Args:
        variants: The schema variants in the order of the report.
        frames, dialogues: How many were scored under each variant. Of calls, `frames` is the number
            of calls.
        setup: Which data was scored and how.
        task: What was predicted: "state", or "calls".

    Raises:
        ScoreError: A variant has a name that a reader would take for another, or a part has a
            character that would end it.
    """
    variants = list(variants)
    check_variant_names(variants)
    split = split_name(setup.split or "unknown")
    rules, subset, marks = setup.rules, setup.subset, setup.wordings
    available = subset.available if subset else dialogues
    parts = {
        **({"task": task} if task != "state" else {}),
        "variants": "+".join(f"{v}@{marks[v]}" if v in marks else v for v in variants),
        "split": split,
        "release": release_part(split, available, setup.release),
        **({"dialogues": subset.mark()} if subset else {}),
        **({"services": "+".join(sorted(set(setup.services)))} if setup.services else {}),
        **({"errata": setup.errata} if setup.errata else {}),
        "frames": frames,
        "match": "fuzzy-token-sort" if rules.use_fuzzy_match else "exact",
        "joint": "turn" if rules.joint_acc_across_turn else "frame",
        "zero-mean": rules.zero_mean,
        "sd": "sample",
        **({"canonical": "said-so-far"} if setup.canonical else {}),
        "system-acts": setup.system_acts,
        **({"oracle": "yes"} if setup.oracle else {}),
        **({"predictions": "made-elsewhere"} if setup.made_elsewhere else {}),
        **({"over": setup.over} if setup.over != DIALOGUES else {}),
        "ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}",
        "version": __version__,
    }
    check_parts(parts)
    return "|".join([NAME, *(f"{key}:{value}" for key, value in parts.items())])


def release_part(split: str, dialogues: int, release: str | None) -> str:
    """The part `release` of a signature.

    Args:
        split: The split's name.
        dialogues: How many dialogues of the split the data has.
        release: The commit of the data, or a name of other data; None where it is unknown.
    """
    whole = _DIALOGUES.get(split, 0)
    if release and release.startswith("unverified:"):  # other content than the release's
        return release
    if release != "sample" and dialogues < whole:
        return f"partial:{dialogues}/{whole}"
    return release or "unknown"


def signature_parts(line: str, where: str, metric: str = NAME) -> dict[str, str]:
    """Read the parts of a signature, by key.

    Args:
        line: The signature.
        where: What an error message begins with, such as the file's name.
        metric: The metric whose signature it must be.

    Raises:
        ScoreError: The line is not a signature of this metric, or has a part twice.
    """
    name, *parts = line.split("|")
    if name != metric or not all(":" in part for part in parts):
        raise ScoreError(f"{where}: signature is '{line[:60]}', expected '{metric}|key:value|...'")
    values = dict(part.split(":", 1) for part in parts)
    if len(values) < len(parts):
        keys = [part.split(":", 1)[0] for part in parts]
        key = next(key for key in keys if keys.count(key) > 1)
        raise ScoreError(f"{where}: signature has the part '{key:.60}' twice, expected it once")
    return values


def rules_of(parts: dict[str, str], where: str) -> Rules:
    """The rules that the parts of a signature state.

    Args:
        parts: What `signature_parts` returned.
        where: What an error message begins with, such as the file's name.

    Raises:
        ScoreError: A rule is unknown.
    """
    zero_mean = parts.get("zero-mean", "0")
    if zero_mean not in ZERO_MEAN:
        raise ScoreError(f"{where}: signature: zero-mean is '{zero_mean}', expected '0' or 'drop'")
    return Rules(
        use_fuzzy_match=parts.get("match") != "exact",
        joint_acc_across_turn=parts.get("joint") == "turn",
        zero_mean=zero_mean,
    )
