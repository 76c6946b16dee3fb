"""The options of commands that ask or run a system: which dialogues, under which variants."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sgdx_dataset.configs import CONFIGS
from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import Dialogues, SourceOptions, Split

if TYPE_CHECKING:
    from .requested import RequestedData


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DataOptions(SourceOptions):
    """Which dialogues are read, and under which variants."""

    config: Sequence[str] = ()
    """Take these variants: any of original, v1 to v5, or a NAME of --variant. Default: original,
    those of v1 to v5 that the source has, and each NAME."""

    split: Split = "test"
    """Take this split."""

    dialogues: Dialogues = None

    limit: Annotated[int | None, Parameter(metavar="N")] = None
    """Take only the first N dialogues of the split."""

    def __post_init__(self) -> None:
        """Refuse unknown names before anything is read."""
        known = [*CONFIGS, *self.own_variants]
        for config in self.config:
            if config not in known:
                raise SgdxError(f"unknown config {config!r}, expected one of {', '.join(known)}")
        if self.limit is not None and self.limit < 1:
            raise SgdxError(f"--limit {self.limit}: expected 1 or more")

    def read(self) -> "tuple[RequestedData, list[str]]":
        """The data to predict and the variants, without repetition."""
        from sgdx_dataset.configs import split_name

        from .requested import RequestedData

        split, variants = split_name(self.split), self.own_variants
        data = RequestedData(self.named(), split, variants, self.dialogues, self.limit)
        if is_first() and (gaps := data.release.gaps()):
            print(f"note: {gaps}", file=sys.stderr)
        return data, list(dict.fromkeys(self.config or data.release.scored_variants()))
