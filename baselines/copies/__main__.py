"""Generate responses without learning: the gold ones, derived ones, templates, or none at all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sgdx_dataset import VARIANTS, SgdxError
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.release.schema import split_name
from sgdx_metric.rows import ScoreError
from sgsacc_metric.cli.chosen import choose
from sgsacc_metric.cli.references import References, open_references, own_variants
from sgsacc_metric.rows import Turn

from ..command_line import add_source, run_command
from .derived import derived
from .templates import from_templates, read_templates

Say = Callable[[Turn], str]
SYSTEMS = ("gold", "derived", "templates", "empty")
DEFAULT_CONFIGS = ("original", *VARIANTS)


@dataclass(frozen=True)
class CopySystem:
    """A generator that learns nothing.

    Attributes:
        name: One of SYSTEMS.
        say: What it says in a turn.
        wording: The wording of the turn that it is given; None for each variant's own.
    """

    name: str
    say: Say
    wording: str | None = None


def copy_system(name: str, templates: Path | None = None) -> CopySystem:
    """Make a generator that learns nothing.

    Args:
        name: `gold` (what the corpus says), `derived` (sentences made of the descriptions),
            `templates` (hand-written ones) or `empty`.
        templates: The folder of templates, for `templates` alone.

    Raises:
        SgdxError: There is no such system, the templates cannot be read, or they are given to
            another system, or not to this one.
    """
    if name not in SYSTEMS:
        raise SgdxError(f"--system {name}: expected one of {', '.join(SYSTEMS)}")
    if (templates is None) == (name == "templates"):
        raise SgdxError(
            f"--system {name}: found {'no' if templates is None else 'a'} --templates DIR, expected"
            " it with the system templates and with no other"
        )
    if templates is not None:
        read = read_templates(templates)
        return CopySystem(name, lambda turn: from_templates(turn, read), "original")
    say: dict[str, Say] = {
        "gold": lambda turn: turn.utterance,
        "derived": derived,
        "empty": lambda turn: "",
    }
    return CopySystem(name, say[name])


def generate(
    system: CopySystem,
    references: References,
    configs: Sequence[str],
    output: Path,
    dialogues: Path | None = None,
    single: Path | None = None,
) -> list[Path]:
    """Write what a system says in every turn as `CONFIG.jsonl` for each config.

    Args:
        system: The system.
        references: Where the turns come from.
        configs: The wordings to generate under.
        output: The folder for the files, each of which appears whole or not at all.
        dialogues: A file of the dialogues to generate; None for all of the split.
        single: A file of the turns to generate; None for all turns of the dialogues.

    Raises:
        SgdxError, ScoreError: The release, a config or a file of ids cannot be used, or the system
            has nothing to say.
    """
    paths = []
    for config in configs:
        turns = choose(references.turns(system.wording or config), dialogues, single)
        rows = [
            {"turn_id": turn.turn_id, "variant": config, "utterance": system.say(turn)}
            for turn in turns
        ]
        header = {"split": references.split, "variant": config, "model": f"copy of {system.name}"}
        lines = [{"metadata": header | {"input": system.name}}, *rows]
        write_bytes(output / f"{config}.jsonl", msgspec.json.Encoder().encode_lines(lines))
        paths.append(output / f"{config}.jsonl")
    return paths


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.copies", description=__doc__)
    text = "what to say: " + ", ".join(SYSTEMS)
    parser.add_argument("--system", required=True, choices=SYSTEMS, help=text)
    add_source(parser)
    text = "a schema variant of your own, as for sgdx_dataset; may be repeated"
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=PATH", help=text)
    text = "wordings to generate under; default: original and v1 to v5"
    parser.add_argument("--config", nargs="+", default=DEFAULT_CONFIGS, help=text)
    parser.add_argument("--split", default="test", help="the split; default: test")
    text = "generate these dialogues only: a file with their ids"
    parser.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    text = "generate these turns only: a file with DIALOGUE/TURN, as in 1_00000/5, for each"
    parser.add_argument("--turns", type=Path, metavar="FILE", help=text)
    text = "folder of <Service>.tsv templates in T2G2's format, for the system templates"
    parser.add_argument("--templates", type=Path, metavar="DIR", help=text)
    text = "folder for CONFIG.jsonl files"
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    options = parser.parse_args()

    def command() -> None:
        system = copy_system(options.system, options.templates)
        try:
            split, own = split_name(options.split), own_variants(options.variant)
            references = open_references(options.source, None, split, own)
            chosen = options.dialogues, options.turns
            paths = generate(system, references, options.config, options.output, *chosen)
            print(*paths, sep="\n")
        except ScoreError as error:
            raise SgdxError(str(error)) from None

    return run_command("baselines.copies", command)


if __name__ == "__main__":
    sys.exit(main())
