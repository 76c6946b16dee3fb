"""Requests as OpenAI batch files, and the files of answers to them.

Several providers take such files at half the price, and vLLM answers them without a server.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import is_written, open_input, remove, staged

from .answer_file import AnswerFile
from .asking import unanswered
from .calls import read_answer_line
from .plan import Plan

# The maximum of a batch file. OpenAI takes 50,000 lines and 200 MB; these leave room.
MOST_LINES, MOST_BYTES = 25_000, 150_000_000
# With them, answers to requests of other settings are not taken for these.
_KEY_DIGITS = 12


def write_requests(plan: Plan, answers: AnswerFile, folder: Path) -> tuple[list[Path], int]:
    """Write the requests that have no answer yet; earlier files in the folder are replaced.

    Returns the files, and how many requests are in them.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    before = sorted(folder.iterdir()) if folder.is_dir() else [folder] if folder.exists() else []
    if others := [file.name for file in before if not is_written(file)]:
        found = f"found {others[0]}, which is not what an earlier run wrote"
        raise SgdxError(f"{folder}: {found}, expected only files of requests")
    parts: list[Path] = []
    count = size = lines = 0
    with TemporaryDirectory(prefix=".", suffix=".incomplete", dir=folder.parent) as unfinished:
        staging = Path(unfinished)
        for request in unanswered(plan, answers, Counter(), lambda: None):
            line = {
                "custom_id": f"{request.custom_id}|{request.key[:_KEY_DIGITS]}",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": request.body,
            }
            written = json.dumps(line, ensure_ascii=False).encode() + b"\n"
            if not parts or lines == MOST_LINES or size + len(written) > MOST_BYTES:
                parts.append(staging / f"requests-{len(parts) + 1:03d}.jsonl")
                lines = size = 0
            with parts[-1].open("ab") as file:
                file.write(written)
            count, lines, size = count + 1, lines + 1, size + len(written)
        for part in parts:
            with staged(folder / part.name) as place:
                part.replace(place)
    written_now = [folder / part.name for part in parts]
    for old in before:
        if old not in written_now:
            remove(old)
    return written_now, count


def collect(plan: Plan, answers: AnswerFile, files: Iterable[Path]) -> Counter[str]:
    """Keep the answers in files, whose order does not matter; count the lines by their kind."""
    keys = {request.custom_id: request.key for request in plan.requests()}
    counts: Counter[str] = Counter()
    for path in files:
        with open_input(path) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                asked, body = read_answer_line(line)
                name, _, digits = asked.rpartition("|") if isinstance(asked, str) else ("", "", "")
                key = keys.get(name)
                if not isinstance(asked, str):
                    counts["unreadable"] += 1
                elif key is None:
                    counts["unknown"] += 1
                elif not key.startswith(digits):
                    raise SgdxError(
                        f"{path}:{number}: answers {name} as another run asked it, expected this "
                        "run's model, host, form of answer, parameters and variants"
                    )
                elif body is None:
                    counts["failed"] += 1
                elif key in answers:
                    counts["repeated"] += 1
                else:
                    answers.add(key, name, body)
                    counts["answered"] += 1
    return counts
