"""Commands that are killed or stopped at random, started twice, or read while they write."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .commands import Command, Process, commands, content, start
from .outcomes import ERROR, RIGHT, SAME, Counts
from .right import fault_in, utterances

_SAID = {
    signal.SIGINT: (130, "interrupted"),
    signal.SIGTERM: (143, "terminated"),
}
# What ``load_dataset`` says for the moment in which neither source's rows are there.
_NONE_IS_THERE = (
    "Couldn't reach 'sgdx'",
    "Cache directory for sgdx doesn't exist",
    "in the cache",
    "FileNotFoundError",
)


def kill(folder: Path, names: list[str], times: int, seed: int) -> Counts:
    """Send commands a signal at random moments, run them again, and compare what they write.

    Args:
        folder: An empty folder to work in.
        names: The commands, of ``commands``.
        times: How often each command gets each signal.
        seed: Random seed of the moments.
    """
    chance = random.Random(seed)  # noqa: S311  # it is no secret
    counts: Counts = {}
    all_commands = commands(folder)
    for name in names:
        command = all_commands[name]
        output = folder / "attacked"  # one for all runs, as cards name their folder
        expected, seconds = _undisturbed(command, output)
        counts[f"{name}: undisturbed"] = Counter([fault_in(output) or RIGHT])
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            outcomes = counts.setdefault(f"{name}: {number.name}, then run again", Counter())
            for _ in range(times):
                moment = chance.uniform(0, seconds)
                outcomes[_signalled(command, output, number, moment, expected)] += 1
        outcomes = counts.setdefault(f"{name}: two at once", Counter())
        for _ in range(max(1, times // 2)):
            outcomes[_two(command, output, chance.uniform(0, seconds / 2), expected)] += 1
    return counts


def _undisturbed(command: Command, folder: Path) -> tuple[dict[str, str], float]:
    """What a command writes, and how many seconds it takes."""
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.monotonic()
    ended = start(command, folder).wait()
    if ended.status:
        raise RuntimeError(ended.errors)
    return content(folder), time.monotonic() - begin


def _signalled(
    command: Command, folder: Path, number: signal.Signals, moment: float, expected: dict[str, str]
) -> str:
    """What comes of a command that gets a signal after some seconds and is then run again."""
    shutil.rmtree(folder, ignore_errors=True)
    process = start(command, folder)
    time.sleep(moment)
    process.send(number)
    ended = process.wait()
    if ended.status == 0:  # it had ended before, or was about to
        return _compared(content(folder), expected)
    if number != signal.SIGKILL:
        status, word = _SAID[number]
        if ended.status == -number and not ended.errors:
            pass  # it came before the command had begun
        elif ended.status != status or not _is_one_line(ended.errors, word):
            return f"{number.name}: status {ended.status}, said {ended.errors.strip()[-90:]!r}"
        if left := _half_made(folder):
            return f"{number.name}: left {left}"
    again = start(command, folder).wait()
    if again.status:
        return f"again: {again.errors.strip()[-90:]}"
    return _compared(content(folder), expected)


def _is_one_line(errors: str, word: str) -> bool:
    lines = [line for line in errors.splitlines() if not line.startswith("note: ")]
    return len(lines) == 1 and f": {word}" in lines[0]


def _half_made(folder: Path) -> str:
    """The first file or folder whose name says that it is not whole; empty if there is none."""
    # PyTorch keeps what it has compiled in a folder there.
    temporary = [path for path in (folder / "tmp").iterdir() if "torchinductor" not in path.name]
    hidden = [
        path for path in folder.rglob("*") if path.name.startswith(".") and path.name != ".lock"
    ]
    return next((path.relative_to(folder).as_posix() for path in (*temporary, *hidden)), "")


def _compared(digests: dict[str, str], expected: dict[str, str]) -> str:
    for file in sorted(digests.keys() | expected.keys()):
        if digests.get(file) != expected.get(file):
            what = {False: "lacks", True: "has"}[file in digests]
            return f"other bytes: {file}" if digests.keys() == expected.keys() else f"{what} {file}"
    return SAME


def _two(command: Command, folder: Path, apart: float, expected: dict[str, str]) -> str:
    """What comes of a command that is started twice on one output, some seconds apart."""
    shutil.rmtree(folder, ignore_errors=True)
    first = start(command, folder)
    time.sleep(apart)
    second = start(command, folder)
    ends = [first.wait(), second.wait()]
    for ended in ends:
        if ended.status not in (0, 2) or "Traceback" in ended.errors:
            return f"two: status {ended.status}, said {ended.errors.strip()[-90:]!r}"
    if all(ended.status for ended in ends):
        return f"two: neither, {ends[0].errors.strip()[-90:]}"
    return _compared(content(folder), expected)


def read_while_preparing(folder: Path, seconds: float) -> Counts:
    """Load a config again and again while two sources take turns in its cache.

    ``load_dataset`` may give either source's rows, or say that there are none. ``load`` with a
    source has to give that source's rows, always.
    """
    from sgdx_dataset import prepare

    from .archives import files_of, zip_of

    other = folder / "other.zip"
    files = dict(files_of("sample"))
    lacking = json.loads(files.pop("test/dialogues_002.json"))
    other.write_bytes(zip_of(files))
    whole = _last_utterances()
    lack_ids = {dialogue["dialogue_id"] for dialogue in lacking}
    rest = {name: text for name, text in whole.items() if name not in lack_ids}
    cache = Path(os.environ["HF_HOME"]) / "datasets"
    prepare("sample", ["original", "v3"], cache)
    readers = [
        _fork_reader(lambda: _loaded(cache), [whole, rest], folder / "loaded", seconds),
        _fork_reader(lambda: _loaded_from("sample"), [whole], folder / "sample", seconds),
        _fork_reader(lambda: _loaded_from(str(other)), [rest], folder / "other", seconds),
    ]
    end = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < end:
        turn += 1
        prepare(("sample", str(other))[turn % 2], ["original", "v3"], cache)
    counts: Counts = {}
    for what, reader in zip(
        ("load_dataset", "load, of the sample", "load, of an archive"), readers
    ):
        os.waitpid(reader.number, 0)
        outcomes = Counter(json.loads(reader.errors.read_text()))
        if what != "load_dataset" and ERROR in outcomes:
            outcomes["refused"] = outcomes.pop(ERROR)
        if not outcomes[RIGHT]:
            outcomes["never loaded"] = 1
        counts[f"{what}, while two sources are prepared in turn"] = +outcomes
    contents = [(zip_of(dict(files_of("sample"))), whole), (zip_of(files), rest)]
    counts["load, of an archive that is another one than before"] = _replaced(other, contents)
    return counts


def _replaced(archive: Path, contents: list[tuple[bytes, dict[str, str]]]) -> Counter[str]:
    """What ``load`` gives of an archive whose content is replaced from one call to the next."""
    outcomes: Counter[str] = Counter()
    for data, expected in 2 * contents:
        archive.write_bytes(data)
        outcomes[RIGHT if _loaded_from(str(archive)) == expected else "other data"] += 1
    return outcomes


def _last_utterances() -> dict[str, str]:
    return {dialogue: texts[-1] for dialogue, texts in utterances().items()}


def _loaded(cache: Path) -> dict[str, str]:
    """The last utterance of each dialogue of a split, as ``load_dataset`` gives them."""
    from datasets import load_dataset

    return _last_of(load_dataset("sgdx", "v3", cache_dir=str(cache), split="test"))


def _loaded_from(source: str) -> dict[str, str]:
    """The same, as ``load`` gives them of a source."""
    from sgdx_dataset import load

    return _last_of(load("v3", "test", source))


def _last_of(rows: Iterable[Any]) -> dict[str, str]:
    return {row["dialogue_id"]: row["turns"][-1]["utterance"] for row in rows}


def _fork_reader(
    read: Callable[[], dict[str, str]],
    contents: list[dict[str, str]],
    results: Path,
    seconds: float,
) -> Process:
    if number := os.fork():
        return Process(number, results)
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            outcomes[RIGHT if read() in contents else "other data"] += 1
        except Exception as error:  # of which one kind alone should be
            text = f"{type(error).__name__}: {error}"[:100]
            outcomes[ERROR if any(words in text for words in _NONE_IS_THERE) else text] += 1
    results.write_text(json.dumps(outcomes))
    os._exit(0)
