"""The names of configs and splits."""

from .io.errors import SgdxError

# Names of the splits as in Hugging Face datasets, and of the release's folders.
SPLITS = {"train": "train", "validation": "dev", "test": "test"}
VARIANTS = ("v1", "v2", "v3", "v4", "v5")
# The config that has the train split once per pivot language, under back-translated schemas.
BACKTRANS = "backtrans"
CONFIGS = ("original", *VARIANTS, BACKTRANS)
# Variants that mean what the original does, by what ``--variant`` calls them: trivial edits of its
# descriptions, and its own words for predictions that were made again.
CONTROLS = ("control1", "control2", "control3", "control4", "control5")
REPEATS = ("repeat2", "repeat3", "repeat4", "repeat5", "repeat6")
SAME_WORDS = {"control": CONTROLS, "repeat": REPEATS}


def split_name(split: str) -> str:
    """The name of a split in Hugging Face's words, in which the release's ``dev`` is validation."""
    name = "validation" if split == "dev" else split
    if name not in SPLITS:
        raise SgdxError(f"unknown split {split!r}, expected one of {', '.join(SPLITS)}")
    return name
