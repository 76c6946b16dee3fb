"""Commands in surroundings that they do not hope for: no room, no rights, no home; secrets."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .outcomes import ERROR, NOT_TRIED, RIGHT, Counts
from .right import digests, fault_in

ROOT = Path(__file__).parents[2]
# What must be found nowhere. The names are those that libraries of this field read tokens from.
SECRET = "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"  # noqa: S105  # it opens nothing
SECRETS = dict.fromkeys(
    (
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "WANDB_API_KEY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
    ),
    SECRET,
)
# One that nobody's name or the address of nobody is; root minds no file's rights.
_NOBODY = 65534


@dataclass(frozen=True)
class Surroundings:
    """What is different from a usual machine.

    Attributes:
        variables: Environment variables to set; None unsets one.
        before: Called in the new process, before Python starts.
        python: Options of Python.
        folder: Name of the folder that the command writes to.
        may_fail: Whether the command may end in a line that says why it cannot work.
        unwritable: Whether the folder may not be written to.
    """

    variables: Mapping[str, str | None] = field(default_factory=dict)
    before: Callable[[], None] | None = None
    python: tuple[str, ...] = ()
    folder: str = "work"
    may_fail: bool = False
    unwritable: bool = False


def _limit(which: int, most: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(which, (most, most))

    return limit


def _as_nobody() -> None:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)


_USUAL = "as usual"
ALL = {
    _USUAL: Surroundings(),
    "no HOME, no TMPDIR": Surroundings({"HOME": None, "TMPDIR": None, "HF_HOME": None}),
    "a HOME that is not there": Surroundings(
        {"HOME": "/dev/null/home", "HF_HOME": None, "TMPDIR": "/dev/null/folder"}, may_fail=True
    ),
    "64 file descriptors": Surroundings(before=_limit(resource.RLIMIT_NOFILE, 64)),
    "files of 20 kB, as on a full disk": Surroundings(
        before=_limit(resource.RLIMIT_FSIZE, 20_000), may_fail=True
    ),
    "1.2 GB of addresses": Surroundings(
        before=_limit(resource.RLIMIT_AS, 1_200_000_000), may_fail=True
    ),
    "C locale": Surroundings({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "Turkish locale": Surroundings({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}),
    "python -O": Surroundings(python=("-O",)),
    "spaces and unicode in paths": Surroundings(folder="a b\n'\u00e4\u0301 \U0001f600 %s {x}"),
    "a long path": Surroundings(folder="/".join(["d" * 200] * 8)),
    "a name of 250 characters": Surroundings(folder="n" * 250),
    "no right to write": Surroundings(before=_as_nobody, may_fail=True, unwritable=True),
    "secrets in the environment": Surroundings(dict(SECRETS)),
}

Words = dict[str, list[str]]


def words_of(folder: str, source: str = "sample") -> Words:
    """The command lines to run in a folder, by name; each makes what the next ones read."""
    lexical = ["--tracker", "lexical", "--source", source, "--config", "v1"]
    return {
        "prepare": ["sgdx_dataset", "prepare", "--source", source, "--cache-dir", f"{folder}/c"],
        "frames": ["sgdx_dataset", "frames", "--source", source, "--split", "test",
                   "--config", "v1", "--output", f"{folder}/frames"],
        "stats": ["sgdx_dataset", "stats", "--source", source, "--json", f"{folder}/stats.json"],
        "predict": ["baselines.predict", *lexical, "--output", f"{folder}/p"],
        "score": ["sgdx_metric", "score", "--source", source, "--predictions", f"{folder}/p",
                  "--output", f"{folder}/scores.json"],
    }  # fmt: skip


# What each of the commands writes.
_OUTPUTS = {
    "prepare": "c",
    "frames": "frames",
    "stats": "stats.json",
    "predict": "p",
    "score": "scores.json",
}


def surround(folder: Path, names: list[str], commands: list[str]) -> Counts:
    """Run commands in each of the surroundings; count what came of them.

    What is written has to be, byte for byte, what is written in usual surroundings, which is held
    against what is known of the corpus.

    Args:
        folder: An empty folder to work in, which anybody may read.
        names: Keys of ``ALL``.
        commands: Keys of ``words_of``.
    """
    folder.chmod(0o755)
    usual = folder / "usual"
    usual.mkdir()
    outcomes = Counter(run(words_of(str(usual))[c], ALL[_USUAL], usual) for c in commands)
    outcomes.update(filter(None, [fault_in(usual)]))
    counts: Counts = {_USUAL: outcomes}
    for index, name in enumerate(name for name in names if name != _USUAL):
        around = ALL[name]
        if reason := _cannot_be_tried(around):
            counts[name] = Counter([NOT_TRIED + reason])
            continue
        work = folder / str(index) / around.folder
        work.mkdir(parents=True)
        outcomes = counts.setdefault(name, Counter())
        for command in commands:
            outcome = run(words_of(str(work))[command], around, work)
            output = _OUTPUTS[command]
            left = digests(work / output)
            if outcome == RIGHT and left != digests(usual / output):
                outcome = "other bytes than in usual surroundings"
            elif outcome == ERROR and not left.items() <= digests(usual / output).items():
                outcome = "left a file that is not whole"
            outcomes[outcome if outcome in (RIGHT, ERROR) else f"{command}: {outcome}"] += 1
        if SECRET.encode() in b"".join(p.read_bytes() for p in work.rglob("*") if p.is_file()):
            outcomes["the secret is in a file"] += 1
    return counts


def _cannot_be_tried(around: Surroundings) -> str:
    """Why this machine has no such surroundings; empty where it has."""
    code = "import locale; locale.setlocale(locale.LC_ALL, '')"
    variables = {**os.environ, **around.variables}
    environment = {name: value for name, value in variables.items() if value is not None}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            preexec_fn=around.before,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.SubprocessError) as error:  # no right to become nobody, or to run
        return f"Python cannot be started so: {type(error).__name__}"
    if "locale.Error" in done.stderr:
        return "the locale is not installed"
    if "Permission" in done.stderr or "prefix" in done.stderr:
        return "Python lies where nobody else may read"
    return ""


def run(words: list[str], around: Surroundings, work: Path) -> str:
    """What comes of a command line in surroundings: ``RIGHT``, ``ERROR``, or what was wrong."""
    usual = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HOME": str(work / "hf"),
        "HF_HUB_OFFLINE": "1",
    }
    environment = {
        name: value for name, value in {**usual, **around.variables}.items() if value is not None
    }
    done = subprocess.run(
        [sys.executable, *around.python, "-m", *words],
        cwd=work,
        env=environment,
        preexec_fn=around.before,  # there are no threads that it could meet
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
    )
    text = done.stdout + done.stderr
    if SECRET in text:
        return "the secret is said"
    if "Traceback" in text:
        return f"traceback: {text.strip().splitlines()[-1][:90]}"
    if done.returncode == 0:
        return RIGHT
    errors = [line for line in done.stderr.splitlines() if re.match(r"[\w.-]+: error: ", line)]
    if done.returncode != 2 or len(errors) != 1:
        return f"status {done.returncode}: {done.stderr.strip()[-90:]}"
    if _half_made(work):
        return f"left {_half_made(work)}"
    return ERROR if around.may_fail else f"refused: {errors[0][:120]}"


def _half_made(work: Path) -> str:
    return next((str(p.relative_to(work)) for p in work.rglob(".*incomplete*")), "")
