"""The options of several commands of ``sgdx tools``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.secrets import split_command
from sgdx_llm.options import ServerOptions

Tools: TypeAlias = Annotated[
    Path,
    Parameter(
        name="FOLDER",
        help="Read the tools from this folder. It has tools.json, and cases.jsonl and variants/ if "
        "the command needs them.",
    ),
]
Predictions: TypeAlias = Annotated[
    Path,
    Parameter(
        name="--predictions",
        help="Read the VARIANT.jsonl files of this folder. Their lines have id, variant and calls.",
    ),
]
Limit: TypeAlias = Annotated[
    int | None,
    Parameter(
        name="--limit",
        metavar="N",
        validator=Number(gte=1),
        help="Take only the first N cases. Default: all.",
    ),
]
Rules: TypeAlias = Annotated[
    Literal["exact", "fuzzy"] | None,
    Parameter(
        name="--rules",
        help="Choose how values are compared: exact (equal as JSON), or fuzzy (free text by its "
        "similarity). Default: what source.json says, else exact.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskOptions(ServerOptions):
    """What is asked of whom."""

    model: str | None = None
    """Ask this model, by its name at the server. Not needed with --command."""

    command: str | None = None
    """Ask this program instead of a server. It reads lines with custom_id, case (id, messages,
    tools as worded) and body. It writes lines with custom_id and calls (a list of name and
    arguments), or with a chat completion as response."""

    variant: Sequence[str] = ()
    """Ask under these variants. Default: original and all in variants/."""

    distractors: int = 0
    """Show this number of other tools of tools.json beside those of each case."""

    limit: Limit = None

    text_calls: bool = False
    """Take a call that stands in the text of an answer for one, in whichever form models write it.
    Without it a text is no call, as most clients do nothing with it, and the run says how many look
    like calls."""

    repeats: int = 1
    """Ask everything this number of times. How far the answers vary under one variant is noise,
    which no rewording makes."""

    def __post_init__(self) -> None:
        """Read the command too."""
        super().__post_init__()
        if self.command is not None:
            split_command(self.command)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RewordOptions:
    """Where other words come from, and which variants are made of them."""

    by: Annotated[str | None, Parameter(name="--with", metavar="WAY:WHAT")] = None
    """Say where the words come from. model:NAME asks a model; temperature is then 1 and max_tokens
    8192, unless --set says otherwise. pool:FILE takes paraphrases, as in {"book": {"name":
    ["reserve"], "description": [...], "parameters": {"size": {...}}}}.
    backtranslate:FORWARD,BACKWARD takes two translation models, or programs as command:LINE.
    file:FILE takes a finished variant. tools:FILE takes another version of tools.json, and makes
    the variant 'new' of it. rivals:KIND shows a competitor beside each tool: near, a copy that does
    nothing; assertive, one that praises itself; misleading, another tool described as this one;
    same-name, another tool called as this one, in another spelling. control edits all descriptions
    in five trivial ways, which shows what words cost that mean the same."""

    review: Path | None = None
    """Instead of --with, compose the variants again from the lines that are left in this table
    review.tsv."""

    count: int = 5
    """Make this number of variants, 1 to 9."""

    keep_names: bool = False
    """Reword only descriptions."""

    keep_mentions: bool = False
    """Keep the old names in descriptions, system messages and cases that speak of them."""

    one_at_a_time: bool = False
    """Make a separate variant for each reworded element, to measure what each costs."""

    output: Path
    """Write the variants, and the table to review, into this folder, usually FOLDER/variants."""

    languages: tuple[str, str] | None = None
    """Give the two language codes for translation models that know several languages."""

    def __post_init__(self) -> None:
        """Refuse what cannot be made, before anything is read."""
        if (self.by is None) == (self.review is None):
            raise SgdxError("reword: expected one of --with and --review")
        if not 1 <= self.count <= 9:
            raise SgdxError(f"--count {self.count}: expected 1 to 9")
