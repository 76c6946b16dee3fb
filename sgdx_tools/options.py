"""The options of several commands of ``sgdx tools``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.secrets import split_command
from sgdx_dataset.options import EACH, split_pairs
from sgdx_llm.options import ServerOptions

ProjectPath: TypeAlias = Annotated[
    Path,
    Parameter(
        name="PROJECT",
        help="Read this file sgdx.yaml, or this folder, which has tools.json, and cases.jsonl and "
        "variants/ if the command needs them.",
    ),
]
Predictions: TypeAlias = Annotated[
    Sequence[Path],
    Parameter(
        name="--predictions",
        consume_multiple=True,
        help="Read the VARIANT.jsonl files of this folder, whose lines have id, variant and calls. "
        "Several folders are several models, each called by its folder's name. Default: what 'sgdx "
        "tools test' has kept for the models of sgdx.yaml.",
    ),
]
MaxDrop: TypeAlias = Annotated[
    float | None,
    Parameter(
        name="--max-drop",
        validator=Number(gte=0, lte=100),
        help="Judge the loss by this number of points, in place of the gate of sgdx.yaml. If the "
        "whole 95 % interval is above it, the verdict is failed, and the exit status 1. If all of "
        "it is at most this number, it is passed, and 0. Else it is unclear, and 0. If nothing can "
        "be compared, it is cannot tell, and 2.",
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """What servers of tools get, to let us in."""

    env: Annotated[tuple[str, ...], EACH, Parameter(metavar="NAME=VALUE")] = ()
    """Give a server's command this variable, such as 'TOKEN=${TOKEN}'. Each ${NAME} is taken from
    the environment, and what it stands for is written nowhere."""

    header: Annotated[tuple[str, ...], EACH, Parameter(metavar="NAME=VALUE")] = ()
    """Send this header to a server's URL, such as 'Authorization=Bearer ${TOKEN}'."""

    @property
    def variables(self) -> dict[str, str]:
        """The variables, by name."""
        return dict(split_pairs("--env", self.env, "NAME=VALUE", may_be_key=True))

    @property
    def headers(self) -> dict[str, str]:
        """The headers, by name."""
        return dict(split_pairs("--header", self.header, "NAME=VALUE", may_be_key=True))


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
    """Ask under these variants. Default: original and all others."""

    text_calls: bool = False
    """Take a call that stands in the text of an answer for one, in whichever form models write it.
    Without it a text is no call, as most clients do nothing with it, and the run says how many look
    like calls."""

    repeats: int = 1
    """Ask everything this number of times. How far the answers vary under one variant is noise,
    which no rewording makes."""

    def __post_init__(self) -> None:
        """Read the command and numbers too."""
        super().__post_init__()
        if not 1 <= self.repeats <= 100:
            raise SgdxError(f"--repeats {self.repeats}: expected 1 to 100")
        if self.command is not None:
            split_command(self.command)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """With what a test compares, and where it stops."""

    base: Path | None = None
    """Measure what FILE changes in the tools, as a pull request does. This file says how the tools
    were before, and has the cases, models and gate."""

    own_cases: bool = False
    """With --base: take the cases and the programs of FILE."""

    locked: bool = False
    """Measure what has changed in the tools since 'sgdx tools lock', as in servers of others."""

    max_cost: Annotated[float | None, Parameter(validator=Number(gt=0))] = None
    """Stop before the requests of a model cost more than this, by its price in the file."""

    def __post_init__(self) -> None:
        """Refuse what cannot stand together."""
        if self.own_cases and self.base is None:
            raise SgdxError("--own-cases: expected --base beside it")
        if self.locked and self.base is not None:
            raise SgdxError("--locked: found --base too, expected one of them")
