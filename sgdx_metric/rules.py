"""The choices that change a score; every one of them stands in the signature."""

from dataclasses import dataclass

from .rows import ScoreError

ZERO_MEAN = ("0", "drop")


@dataclass(frozen=True)
class Rules:
    """How frames are scored and summed up; the defaults are the official scorer's and the paper's.

    use_fuzzy_match: a free-form value scores its similarity; else 1 if it equals one of the
        reference's spoken variants, and 0.
    joint_acc_across_turn: the three joint accuracies are of whole turns, the product over a turn's
        frames, and so is their sensitivity; else of frames. Both as the official scorer's flags of
        these names, which MultiWOZ-style evaluation sets to false and true.
    zero_mean: what schema sensitivity makes of a frame that scores 0 under all variants: "0" counts
        it as 0, as the paper's equation over all turns does, "drop" leaves it out.

    Raises:
        ScoreError: another `zero_mean`.
    """

    use_fuzzy_match: bool = True
    joint_acc_across_turn: bool = False
    zero_mean: str = "0"

    def __post_init__(self) -> None:
        if self.zero_mean not in ZERO_MEAN:
            raise ScoreError(f"zero_mean is {self.zero_mean!r}, expected '0' or 'drop'")


OFFICIAL = Rules()
