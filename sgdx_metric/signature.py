"""One line that says how a score came about, as sacreBLEU's (Post 2018, arXiv 1804.08771)."""

from .bootstrap import RESAMPLES, SEED
from .rows import ScoreError
from .rules import Rules
from .version import __version__

NAME = "sgdx_metric"
# Dialogues of the whole release.
_DIALOGUES = {"train": 16142, "validation": 2482, "test": 4201}


def signature(
    variants: list[str],
    frames: int,
    dialogues: int,
    rules: Rules,
    split: str | None = None,
    release: str | None = None,
    system_acts: str = "unknown",
) -> str:
    """`sgdx_metric|key:value|...`.

    Args:
        variants: in the order of the report.
        frames, dialogues: how many were scored, under each variant.
        split: "train", "validation", "test" or a name of one's own; None is unknown.
        release: commit of the data, or a name of other data; None is unknown. With fewer dialogues
            than the split has it becomes `partial:<found>/<whole>`.
        system_acts: whether the predictions used the system's dialogue acts: "yes", "no", "mixed"
            or "unknown".
    """
    parts = {
        "variants": "+".join(variants),
        "split": split or "unknown",
        "release": _release(split, dialogues, release),
        "frames": frames,
        "match": "fuzzy-token-sort" if rules.use_fuzzy_match else "exact",
        "joint": "turn" if rules.joint_acc_across_turn else "frame",
        "zero-mean": rules.zero_mean,
        "sd": "sample",
        "system-acts": system_acts,
        "ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}",
        "version": __version__,
    }
    return "|".join([NAME, *(f"{key}:{value}" for key, value in parts.items())])


def _release(split: str | None, dialogues: int, release: str | None) -> str:
    whole = _DIALOGUES.get(split or "", 0)
    if release != "sample" and dialogues < whole:
        return f"partial:{dialogues}/{whole}"
    return release or "unknown"


def signature_parts(line: str, where: str) -> dict[str, str]:
    """The parts of a signature, by key.

    Raises:
        ScoreError: not a signature of this metric; beginning with `where`.
    """
    name, *parts = line.split("|")
    if name != NAME or not all(":" in part for part in parts):
        raise ScoreError(f"{where}: signature is '{line[:60]}', expected '{NAME}|key:value|...'")
    return dict(part.split(":", 1) for part in parts)


def rules_of(parts: dict[str, str]) -> Rules:
    """The rules that a signature tells of."""
    return Rules(
        use_fuzzy_match=parts.get("match") != "exact",
        joint_acc_across_turn=parts.get("joint") == "turn",
        zero_mean=parts.get("zero-mean", "0"),
    )
