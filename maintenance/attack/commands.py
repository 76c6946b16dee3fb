"""The commands that are attacked, on the sample corpus, and running them in forked processes.

A fork starts with all libraries imported, so that a signal at a random moment meets work rather
than an import.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import torch

from baselines import predict, train
from sgdx_dataset import __main__ as dataset
from sgdx_metric import __main__ as metric

Main = Callable[[], int]
_NUMBERS = itertools.count()

# A training of seconds: three checkpoints and two evaluations of a small random T5.
RECIPE = {
    "tracker": "t5dst",
    "model": "tiny",
    "format": "t5dst",
    "max_input": 96,
    "max_target": 6,
    "steps": 6,
    "batch_size": 4,
    "token_budget": 512,
    "optimizer": "adafactor",
    "learning_rate": 0.01,
    "precision": "fp32",
    "train_dialogues": 6,
    "log_every": 2,
    "save_every": 2,
    "evaluate_every": 3,
    "evaluate_frames": 2,
}


@dataclass(frozen=True)
class Command:
    """A command with an output.

    Attributes:
        main: Runs it, with the words in ``sys.argv``; gives the exit status.
        words: Its words, but for the output.
        option: The option that names the output.
        output: The output's name in a folder.
        resume: What is added where the output holds a run that was begun.
    """

    main: Main
    words: tuple[str, ...]
    option: str = "--output"
    output: str = "output"
    resume: tuple[str, ...] = ()

    def arguments(self, folder: Path) -> list[str]:
        """Its words, for an output in a folder."""
        output = folder / self.output
        resume = self.resume if (output / "run.json").exists() else ()
        return [*self.words, self.option, str(output), *resume]


def commands(folder: Path) -> dict[str, Command]:
    """The commands by name; what they read is written to a folder."""
    torch.set_num_threads(1)
    recipe = folder / "recipe.yaml"
    recipe.write_bytes(msgspec.yaml.encode(RECIPE))
    lexical = ("--tracker", "lexical", "--source", "sample", "--config", "original", "v1")
    made = {
        "prepare": Command(dataset.main, ("prepare", "--source", "sample"), "--cache-dir"),
        "build": Command(dataset.main, ("build", "--source", "sample")),
        "frames": Command(dataset.main, ("frames", "--source", "sample", "--split", "test")),
        "predict": Command(predict.main, lexical),
        "score": Command(
            metric.main,
            ("score", "--source", "sample", "--predictions", str(folder / "predicted" / "output")),
            output="scores.json",
        ),
        "train": Command(
            train.main, ("--config", str(recipe), "--source", "sample"), resume=("--resume",)
        ),
    }
    ended = start(made["predict"], folder / "predicted").wait()
    if ended.status:
        raise RuntimeError(ended.errors)
    return made


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status, negative for a signal, and its standard error."""

    status: int
    errors: str


@dataclass
class Process:
    """A forked process that runs a command."""

    number: int
    errors: Path
    _ended: Ended | None = field(default=None)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process is still there."""
        if self._ended is None:
            os.kill(self.number, number)

    def wait(self) -> Ended:
        """Wait for its end."""
        if self._ended is None:
            status = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
            self._ended = Ended(status, self.errors.read_text("utf-8", "replace"))
        return self._ended


def start(command: Command, folder: Path, before: Callable[[], None] = lambda: None) -> Process:
    """Run a command in a forked process, with a folder for temporary files of its own.

    Args:
        command: The command.
        folder: Where its output and its temporary files (``tmp``) go.
        before: Called in the new process, before the command.
    """
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    errors = folder.parent / f"errors-{next(_NUMBERS)}"
    errors.touch()
    arguments = command.arguments(folder)
    sys.stdout.flush()
    if number := os.fork():
        return Process(number, errors)
    status = 70
    try:
        for descriptor, file in ((0, os.devnull), (1, os.devnull), (2, str(errors))):
            os.dup2(os.open(file, os.O_RDWR), descriptor)
        tempfile.tempdir = str(folder / "tmp")
        sys.argv = ["command", *arguments]
        before()
        status = command.main()
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


# What says when or how fast something was done, and so is never the same twice.
_OF_TIME = {"log.jsonl"}


def content(folder: Path) -> dict[str, str]:
    """The SHA-256 of all files in a folder by path, but for locks and for times."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".lock" and path.name != ".lock":
            data = path.read_bytes()
            if path.name in _OF_TIME:
                data = b"\n".join(_without_times(line) for line in data.splitlines())
            digests[path.relative_to(folder).as_posix()] = hashlib.sha256(data).hexdigest()
    return digests


def _without_times(line: bytes) -> bytes:
    fields = {k: v for k, v in json.loads(line).items() if "second" not in k}
    return json.dumps(fields, sort_keys=True).encode()
