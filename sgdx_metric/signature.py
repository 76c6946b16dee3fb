"""The choices that change a score, and the one line that states them all beside every score.

The line is modelled on sacreBLEU's signature (Post 2018, arXiv 1804.08771).
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .errors import ScoreError
from .statistics import RESAMPLES, SEED
from .variants import ORIGINAL, PAPER_VARIANTS, short_digest
from .version import __version__

NAME = "sgdx_metric"
ZERO_MEAN = ("0", "drop")
# How many dialogues each split of the whole release has.
_DIALOGUES = {"train": 16142, "validation": 2482, "test": 4201}
SPLITS = tuple(_DIALOGUES)
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
        flags = {"use_fuzzy_match": self.use_fuzzy_match}
        check_flags(**flags, joint_acc_across_turn=self.joint_acc_across_turn)
        check_choice("zero_mean", self.zero_mean, ZERO_MEAN)


def check_flags(**flags: object) -> None:
    """Refuse flags that are neither True nor False: the text "no" would count as true."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise ScoreError(f"{name} is {flag!r:.60}, expected True or False")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is none of some choices."""
    if value not in choices:
        raise ScoreError(f"{name} is {value!r:.60}, expected one of {', '.join(choices)}")


OFFICIAL = Rules()


def split_name(split: str) -> str:
    """The name of a split in this project: the release calls the validation split `dev`."""
    return "validation" if split == "dev" else split


@dataclass(frozen=True)
class Subset:
    """The dialogues of a split that are scored."""

    dialogue_ids: Collection[str]
    # How many dialogues of the split the data has.
    available: int


def dialogues_mark(dialogue_ids: Collection[str]) -> str:
    """The number of dialogues and the first 8 hex digits of a SHA-256 of their sorted ids."""
    ids = sorted(set(dialogue_ids))
    return f"{len(ids)}@{short_digest(ids)}"


@dataclass(frozen=True)
class Setup:
    """Which data was scored and how: what a signature states beside the variants and the counts.

    Attributes:
        split: "train", "validation", "test" or another name; None where it is unknown.
        release: The commit of the data, or a name of other data; None where it is unknown.
        as_stated: Which of the two a caller states, while the rows do not say it themselves.
        rules: How the frames were scored.
        system_acts: Whether the predictions used the system's dialogue acts: "yes", "no", "mixed"
            or "unknown".
        oracle: Whether the predictions say that their model was trained on schemas that it is
            evaluated on.
        made_elsewhere: Whether some predictions say not what data they were made from.
        variants: The fingerprint of each variant that is the user's own.
        subset: The dialogues that were chosen; None for all of the split.
        services: The original names of the services that were chosen; empty for all.
        canonical: Whether there are figures that also take canonical values.

    Raises:
        ScoreError: `system_acts` is none of these, or `split` or `release` is no text that a
            signature may have.
    """

    split: str | None = None
    release: str | None = None
    as_stated: Collection[str] = ()
    rules: Rules = OFFICIAL
    system_acts: str = "unknown"
    oracle: bool = False
    made_elsewhere: bool = False
    variants: Mapping[str, str] = field(default_factory=dict)
    subset: Subset | None = None
    services: Collection[str] = ()
    canonical: bool = False

    def __post_init__(self) -> None:
        check_choice("system_acts", self.system_acts, SYSTEM_ACTS)
        # Names that would end a signature, or that look like another name, are refused.
        signature_line(NAME, {"split": self.split, "release": self.release})
        for key, name in (("split", self.split), ("release", self.release)):
            if not isinstance(name, str | None):
                raise ScoreError(f"{key} is {name!r:.60}, expected text")
            if name and (not name.isascii() or name != name.strip()):
                raise ScoreError(f"{key} is {name!a:.60}, expected ASCII without blanks around it")
        plain = str(self.split).lower()
        if self.split != plain and split_name(plain) in _DIALOGUES:
            raise ScoreError(f"split is {self.split!r}, expected {plain!r}")


def signature_line(metric: str, parts: Mapping[str, object]) -> str:
    """Join the parts that are not None, and refuse what would end its part or begin another."""
    stated = {name: value for name, value in parts.items() if value is not None}
    for name, value in stated.items():
        is_text = isinstance(value, str) and re.fullmatch(r"[^|\x00-\x1f\x7f-\x9f]+", value)
        if not (is_text or type(value) is int):
            raise ScoreError(
                f"{name} is {value!r:.60}, expected text for a signature, without '|' and without "
                "control characters"
            )
    return "|".join([metric, *(f"{name}:{value}" for name, value in stated.items())])


def marked(variants: Iterable[str], marks: Mapping[str, str]) -> str:
    """The names of variants, those of the user's own with their fingerprints.

    Names that a reader would take for others, or that break a signature, are refused.
    """
    names = list[str]()
    for name in variants:
        taken = name.casefold() in (ORIGINAL, *PAPER_VARIANTS) and name != name.casefold()
        if taken or not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise ScoreError(
                f"variant is {name!r:.60}, expected a name of letters from a to z, digits, '_', '-'"
                " and '.', that is not the name of another variant in other letters"
            )
        names.append(f"{name}@{marks[name]}" if name in marks else name)
    return "+".join(names)


def signature(
    variants: Iterable[str], frames: int, dialogues: int, setup: Setup, task: str = "state"
) -> str:
    """Write the line `sgdx_metric|key:value|...`; parts that say nothing unusual are left out."""
    split = split_name(setup.split or "unknown")
    rules, subset = setup.rules, setup.subset
    available = subset.available if subset else dialogues
    parts = {
        "task": None if task == "state" else task,
        "variants": marked(variants, setup.variants),
        "split": split,
        "release": release_part(split, available, setup.release),
        "dialogues": dialogues_mark(subset.dialogue_ids) if subset else None,
        "services": "+".join(sorted(set(setup.services))) or None,
        "frames": frames,
        "match": "fuzzy-token-sort" if rules.use_fuzzy_match else "exact",
        "joint": "turn" if rules.joint_acc_across_turn else "frame",
        "zero-mean": rules.zero_mean,
        "sd": "sample",
        "canonical": "said-so-far" if setup.canonical else None,
        "system-acts": setup.system_acts,
        **made_parts(setup),
    }
    return signature_line(NAME, parts)


def made_parts(setup: Setup) -> dict[str, str | None]:
    """The parts that end every signature: how all was made, and what nobody confirms."""
    return {
        "oracle": "yes" if setup.oracle else None,
        "predictions": "made-elsewhere" if setup.made_elsewhere else None,
        "as-stated": "+".join(setup.as_stated) or None,
        "ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}",
        "version": __version__,
    }


def release_part(split: str, dialogues: int, release: str | None) -> str:
    """The part `release`: `partial:<dialogues>/<whole split>` where the data lacks some."""
    whole = _DIALOGUES.get(split, 0)
    if release and release.startswith("unverified:"):  # other content than the release's
        return release
    if release not in ("sample", "many") and dialogues < whole:
        return f"partial:{dialogues}/{whole}"
    return release or "unknown"


def signature_parts(line: str, where: str, metric: str = NAME) -> dict[str, str]:
    """Read the parts of a metric's signature, by key; a fault is of the file `where`."""
    name, *parts = line.split("|")
    if name != metric or not all(":" in part for part in parts):
        raise ScoreError(f"{where}: signature is '{line[:60]}', expected '{metric}|key:value|...'")
    return dict(part.split(":", 1) for part in parts)


def rules_of(parts: Mapping[str, str]) -> Rules:
    """The rules that the parts of a signature state."""
    return Rules(
        use_fuzzy_match=parts.get("match") != "exact",
        joint_acc_across_turn=parts.get("joint") == "turn",
        zero_mean="drop" if parts.get("zero-mean") == "drop" else "0",
    )
