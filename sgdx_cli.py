"""The command ``sgdx``: which commands there are, and how one is run.

A command is a function of its room's ``commands.py``; its options are the function's parameters. A
room is imported only when one of its commands is called.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter

from sgdx_dataset.io.console import is_first, run
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import check_output, note_named
from sgdx_metric.errors import ScoreError

_DATA, _EVAL = "sgdx_dataset.commands", "sgdx_eval.commands"
# Where each command is, under the headings of the help.
_COMMANDS = {
    "Begin": {"demo": "baselines.demo"},
    "Scores": {
        "score": _EVAL,
        "compare": _EVAL,
        "summarise": _EVAL,
        "explain": _EVAL,
        "report": _EVAL,
        "leaderboard": _EVAL,
        "share": _EVAL,
        "responses": _EVAL,
        "install": _EVAL,
        "push-metric": _EVAL,
    },
    "Your own models and tools": {
        "tools": "sgdx_tools.commands",
        "ask": "sgdx_llm.commands",
    },
    "Trackers and generators": {
        "train": "baselines.train",
        "predict": "baselines.predict",
        "evaluate": "baselines.evaluate",
        "track": "baselines.track",
        "publish": "baselines.publish",
        "copies": "baselines.commands",
    },
    "Data": {
        "prepare": _DATA,
        "show": _DATA,
        "stats": _DATA,
        "subset": _DATA,
        "export": _DATA,
        "push": _DATA,
        "cache": _DATA,
        "reword": _DATA,
    },
}
# What options that name files to write are called; all others name what is read.
_OUTPUTS = ("output", "json", "html", "junit", "summary", "sarif")
_WITHOUT_PANDAS = (["score"], ["compare"], ["summarise"], ["explain"])


def _shown_default(value: Any) -> str | None:
    """A default as help shows it; what is left out or off by default is not worth a word."""
    return None if value in (None, False, (), "") else str(value)


def _version() -> str:
    from sgdx_metric.version import __version__

    return __version__


def program() -> App:
    """The command with all its commands, of which none is imported yet."""
    app = App(
        name="sgdx",
        help="Does a dialogue model still work when somebody else words the API's schema?",
        help_format="markdown",
        version=_version,
        suppress_keyboard_interrupt=False,  # which ends in a line of ours
        default_parameter=Parameter(
            negative=(), consume_multiple=True, show_default=_shown_default
        ),
    )
    app["--help"].show = app["--version"].show = False
    for position, (heading, commands) in enumerate(_COMMANDS.items()):
        group = Group(heading, sort_key=position)
        for place, (name, module) in enumerate(commands.items()):
            function = name.replace("-", "_")
            app.command(f"{module}:{function}", name=name, group=group, sort_key=place)
    return app


class _NoPandas:
    """A finder of modules by which there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise the error of a missing module for pandas; other finders look for all others."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _leave_pandas_out() -> None:
    """Have pyarrow do without pandas, whose import takes as long as all else together.

    pyarrow looks for it when the first list becomes an array, and then never again. What imports
    pandas itself still can.
    """
    import pyarrow as pa

    finder: Any = _NoPandas()
    sys.meta_path.insert(0, finder)
    pa.array([])
    sys.meta_path.remove(finder)


def _check_files(options: Mapping[str, Any], tokens: list[str]) -> None:
    """Refuse outputs that cannot be written, or that other options name, before any work."""
    outputs = {option: options[option] for option in _OUTPUTS if option in options}
    for option, value in options.items():
        if is_dataclass(value):
            fields = vars(value)
            outputs |= {name: fields[name] for name in _OUTPUTS if name in fields}
            value = {name: part for name, part in fields.items() if name not in _OUTPUTS}
        if option not in outputs:
            note_named(value)
    taken = list[Path]()
    for option, output in outputs.items():
        if isinstance(output, Path):
            said = [before for before, word in pairwise(tokens) if Path(word) == output]
            name = f"--{option}" if f"--{option}" in said or not said else said[-1]
            destination = check_output(output, name, is_file=option != "output")
            if destination in taken:
                raise SgdxError(f"{name} {output}: found this name twice, expected two")
            taken.append(destination)


def _check_paths(tokens: list[str]) -> None:
    """Refuse a value that is empty, or that no file system takes as a path, as after its ``=``."""
    option = ""
    for token in tokens:
        values = [token]
        if token.startswith("--"):
            option, equals, value = token.partition("=")
            values = [value] if equals else []
        for value in values:
            if not value:
                raise SgdxError(f"{option or 'argument'}: found an empty value, expected one")
            if re.search("[\0\ud800-\udfff]", value):
                raise SgdxError(f"{option} {value!a}: found a NUL or no UTF-8, expected a text")
            for path in filter(_is_loop, (value, value.partition("=")[2])):
                found = "found a link that leads to itself, expected a file or folder"
                raise SgdxError(f"{option} {path}: {found}")


def _is_loop(path: str) -> bool:
    """Whether a path is a link that leads to itself."""
    try:
        Path(path).stat()
    except (OSError, UnicodeError) as error:
        return isinstance(error, OSError) and error.errno == errno.ELOOP
    return False


def main(arguments: list[str] | None = None) -> int:
    """Run a command; without arguments, with those of this process.

    The exit status is the command's own, most often 0; 1 where a gate fails or answers are missing;
    2 after one line on standard error that says what was found and what was expected; 130 after
    Ctrl-C.
    """
    tokens = sys.argv[1:] if arguments is None else arguments
    if arguments is None and tokens[:1] in _WITHOUT_PANDAS and "--help" not in tokens:
        # Products of matrices are small here: threads for them wait longer than they work.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        _leave_pandas_out()

    def command() -> int | None:
        app = program()
        _check_paths(tokens)
        if tokens in ([], ["--help"], ["-h"]):  # which shows a line of every command's own help
            for name in app:
                app[name]
        called, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
        _check_files(bound.arguments, tokens)
        status = called(*bound.args, **bound.kwargs)
        if tokens[:1] in (["predict"], ["evaluate"]) and {"--help", "-h"} & {*tokens}:
            from baselines.predict import print_tracker_options

            print_tracker_options(tokens)
        return status if isinstance(status, int) else None

    return run("sgdx", command, (SgdxError, ScoreError, CycloptsError), is_first())


def main_of_tpus() -> None:
    """The command, for torch-xla's launcher, which sets no RANK and looks at no status."""
    from torch_xla import runtime

    os.environ["RANK"] = str(runtime.global_ordinal())
    os.environ["WORLD_SIZE"] = str(runtime.global_device_count())
    if status := main(sys.argv[1:]):
        sys.exit(status)


if __name__ == "__main__":
    sys.exit(main())
