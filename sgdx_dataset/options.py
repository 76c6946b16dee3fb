"""The options that commands of several rooms share, each said once.

A class here is taken by a command as a parameter: its fields are options of the command. Nothing
is imported that takes long, since a command's help reads this.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from cyclopts import Parameter

from .configs import CONFIGS, SAME_WORDS
from .io.console import is_first
from .io.errors import SgdxError, one_of

if TYPE_CHECKING:
    from .release import Release

# An option that takes one value at a time and may be given several times.
EACH = Parameter(consume_multiple=False)
Split: TypeAlias = Literal["train", "validation", "dev", "test"]


def split_pairs(
    option: str, arguments: Iterable[str], form: str = "NAME=PATH", may_be_key: bool = False
) -> list[tuple[str, str]]:
    """Split each argument of an option at its first equals sign; no error says what may be a key.

    >>> split_pairs("--variant", ["mine=variants/mine.json"])
    [('mine', 'variants/mine.json')]
    """
    pairs = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if not (name and value):
            found = "found no = with text around it" if may_be_key else argument
            raise SgdxError(f"{option} {found}: expected {form}")
        pairs.append((name, value))
    return pairs


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Source:
    """Where dialogues come from."""

    source: Annotated[str | None, Parameter(metavar="PATH")] = None
    """Read this release: a directory, an archive (.zip), 'sample' or 'many' for a corpus of this
    package, or 'download' to fetch SGD once. Default: $SGDX_SOURCE, else what 'sgdx prepare' was
    given last."""

    def named(self) -> str:
        """The source; the first process says on standard error which it is, if none is given."""
        from .source import resolve_source

        return resolve_source(self.source, announce=is_first())

    @property
    def own_variants(self) -> dict[str, str]:
        """The paths of the user's own variants, by name: none."""
        return {}

    def open(self) -> "Release":
        """Open the source; a note on standard error says which it is, and what it lacks."""
        from .release import open_release

        release = open_release(self.named(), self.own_variants)
        if gaps := release.gaps():
            print(f"note: {gaps}", file=sys.stderr)
        return release


_OWN = (
    "NAME=PATH adds a variant of your own: a .json file of new words, as in "
    '{"Cabs_1": {"slots": {"destination": "goal"}}}, or a folder with test/schema.json. '
    "'control' adds control1 to control5, trivial edits, and 'repeat' repeat2 to repeat6, the "
    "original words again."
)
_CHOSEN = "Take these variants: original, v1 to v5. Default: all that the source has. "


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SourceOptions(Source):
    """Where dialogues and schemas come from."""

    variant: Annotated[tuple[str, ...], Parameter(metavar="NAME=PATH", help=_OWN)] = ()
    names: ClassVar[Sequence[str]] = ()  # of variants that are chosen

    @property
    def own_variants(self) -> dict[str, str]:
        """The paths of ``--variant``, by name."""
        paths = {name: of for of in self.variant for name in SAME_WORDS.get(of, ())}
        own = [of for of in self.variant if of not in (*SAME_WORDS, *self.names)]
        for name, path in split_pairs("--variant", own, "NAME=PATH, control or repeat"):
            if name in paths:
                found = f"found {name} twice, as {paths[name]} before"
                raise SgdxError(f"--variant {name}={path}: {found}, expected each name once")
            paths[name] = path
        return paths


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VariantOptions(SourceOptions):
    """Which variants of which dialogues."""

    variant: Annotated[tuple[str, ...], Parameter(metavar="NAME", help=_CHOSEN + _OWN)] = ()

    def __post_init__(self) -> None:
        """Refuse unknown names before anything is read."""
        known = [*CONFIGS, *self.own_variants]
        for name in self.names:
            if name not in known:
                expected = f"{one_of(name, known)}, control, repeat or NAME=PATH"
                raise SgdxError(f"--variant {name}: {expected}")

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        """The variants that are chosen by their names, without repetition."""
        alone = [of for of in self.variant if "=" not in of and of not in SAME_WORDS]
        return list(dict.fromkeys(alone))

    def chosen(self, default: Sequence[str]) -> list[str]:
        """The variants that are meant: those that are named and those of the user's own."""
        return list(dict.fromkeys([*self.names, *self.own_variants] if self.names else default))


Dialogues: TypeAlias = Annotated[
    Path | None,
    Parameter(
        name="--dialogues",
        help="Take only these dialogues: a file of 'sgdx subset', a JSON list of ids, or a text "
        "file with one id per line. Default: all.",
    ),
]
Turns: TypeAlias = Annotated[
    Path | None,
    Parameter(
        name="--turns",
        help="Take only the turns of this file: a JSON list of DIALOGUE/TURN, as in 1_00000/5, or "
        "a text file with one per line.",
    ),
]
NewFolder: TypeAlias = Annotated[
    Path,
    Parameter(
        name="--output",
        help="Write into this folder. It must not exist yet, and appears only when it is complete.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class UploadOptions:
    """How something is published on the Hub."""

    private: bool = False
    """Create a private repository."""

    pull_request: bool = False
    """Open a pull request in a repository that is there, and change nothing else."""

    tag: str | None = None
    """Put this tag on the commit. A tag that stands on other content is refused."""

    output: Annotated[Path | None, Parameter(metavar="DIR")] = None
    """Write what would be pushed into this new folder, and push nothing."""
