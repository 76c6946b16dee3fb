"""Attack the project, and print the outcomes as a table in Markdown."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path

from .outcomes import Counts, all_survived, table, write_into


def main() -> int:
    """Run the attacks that the command line names; exit status 1 unless all were survived."""
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="sgdx-attack-") as folder:
        # The libraries look for their home when they are imported, which is why the attacks are
        # imported after this.
        os.environ |= {
            "HF_HOME": f"{folder}/home",
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "DATASETS_VERBOSITY": "error",
            "OMP_NUM_THREADS": "1",
            "SGDX_SOURCE": "sample",
        }
        work = Path(folder) / "work"
        work.mkdir()
        counts: Counts = options.run(options, work)
    print(table(counts))
    if options.into:
        command = f"python -m maintenance.attack {shlex.join(_without_into(sys.argv[1:]))}"
        write_into(options.into, options.attack, command, counts)
    return 0 if all_survived(counts) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m maintenance.attack", description=__doc__)
    text = "Put the table, with the command and the date, into its place in this Markdown page."
    parser.add_argument("--into", type=Path, metavar="FILE", help=text)
    commands = parser.add_subparsers(
        dest="attack", required=True, metavar="ATTACK", title="attacks"
    )

    command = commands.add_parser("archives", help="Flip bits of archives, and cut archives off.")
    text = "Read the release from here: a directory, an archive, or 'sample'. Default: sample."
    command.add_argument("--source", default="sample", help=text)
    text = "Read only the first N dialogue files of each split. Default: all."
    command.add_argument("--files", type=int, metavar="N", help=text)
    _add_number(command, "--flips", 200, "Flip this number of bits in each kind of archive.")
    _add_number(command, "--cuts", 50, "Cut each kind of archive off this number of times.")
    text = "Attack these kinds of archives, as in .zip .tar.gz. Default: all."
    command.add_argument("--kind", nargs="+", metavar="KIND", help=text)
    _add_number(command, "--seed", 0, "Set the random seed.")
    command.set_defaults(run=_damaged)

    command = commands.add_parser("hostile", help="Open archives that were made to do harm.")
    command.set_defaults(run=_hostile)

    command = commands.add_parser("files", help="Break each field, and the bytes, of JSON files.")
    _add_number(command, "--every", 1, "Try only every n-th field and value.")
    text = "Write down what is accepted. Check this list after a format has changed."
    command.add_argument("--write-accepted", action="store_true", help=text)
    command.set_defaults(run=_files)

    text = "Kill commands at random moments and run them again. Start two at once."
    command = commands.add_parser("kills", help=text)
    names = ("prepare", "build", "frames", "score", "predict", "train")
    command.add_argument("--command", nargs="+", choices=names, default=names)
    _add_number(command, "--times", 20, "Send each signal to each command this number of times.")
    _add_number(command, "--seed", 0, "Set the random seed of the moments.")
    command.set_defaults(run=_kills)

    text = "Load a config while two sources are prepared in turn in one cache."
    command = commands.add_parser("loading", help=text)
    _add_number(command, "--seconds", 60, "Do this for so many seconds.")
    command.set_defaults(run=_loading)

    text = "Run commands without disk space, rights, memory or a home folder, and with secrets."
    command = commands.add_parser("surroundings", help=text)
    command.add_argument(
        "--only", nargs="+", metavar="NAME", help="Try only these surroundings. Default: all."
    )
    command.set_defaults(run=_surroundings)
    return parser


def _without_into(words: list[str]) -> list[str]:
    """The command line without ``--into FILE``, which stands before the attack's name."""
    return words[2:] if words[0] == "--into" else words[1:] if words[0][:7] == "--into=" else words


def _add_number(command: argparse.ArgumentParser, name: str, default: int, text: str) -> None:
    text = f"{text} Default: {default}."
    command.add_argument(name, type=int, default=default, metavar="N", help=text)


def _damaged(options: argparse.Namespace, work: Path) -> Counts:
    from .archives import damaged, files_of

    files = files_of(options.source, options.files)
    return damaged(files, work, options.flips, options.cuts, options.seed, options.kind)


def _hostile(_: argparse.Namespace, work: Path) -> Counts:
    from .archives import files_of, hostile

    return hostile(files_of("sample"), work)


def _files(options: argparse.Namespace, _: Path) -> Counts:
    from .json_files import break_files, kinds, read_accepted, write_accepted

    if options.write_accepted:
        write_accepted()
    return break_files(kinds(), options.every, read_accepted())


def _kills(options: argparse.Namespace, work: Path) -> Counts:
    from .kills import kill

    return kill(work, options.command, options.times, options.seed)


def _loading(options: argparse.Namespace, work: Path) -> Counts:
    from .kills import read_while_preparing

    return read_while_preparing(work, options.seconds)


def _surroundings(options: argparse.Namespace, work: Path) -> Counts:
    from .surroundings import ALL, surround, words_of

    return surround(work, options.only or [*ALL], [*words_of("")])


if __name__ == "__main__":
    sys.exit(main())
