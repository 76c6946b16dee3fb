"""The options of commands that ask or run a system: which dialogues, under which variants."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import Dialogues, Split, VariantOptions

if TYPE_CHECKING:
    from .requested import RequestedData


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DataOptions(VariantOptions):
    """Which dialogues are read, and under which variants."""

    split: Split = "test"
    """Take this split."""

    dialogues: Dialogues = None

    limit: Annotated[int | None, Parameter(metavar="N")] = None
    """Take only the first N dialogues of the split."""

    def __post_init__(self) -> None:
        """Refuse unknown names before anything is read."""
        super().__post_init__()
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
        return data, self.chosen(data.release.scored_variants())
