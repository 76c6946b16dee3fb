"""Requests as OpenAI batch files, and the files of answers to them.

Several providers take such files at half the price, and vLLM answers them without a server.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_dataset.io.json import parse_text

from .answer_file import AnswerFile
from .endpoint import why_no_answer
from .functions import Json
from .plan import Plan

# The maximum of a batch file. OpenAI takes 50,000 lines and 200 MB; these leave room.
MOST_LINES, MOST_BYTES = 25_000, 150_000_000
_KEY_DIGITS = 12


def write_requests(plan: Plan, answers: AnswerFile, folder: Path) -> tuple[list[Path], int]:
    """Write the requests that have no answer yet; earlier files in the folder are replaced."""
    if folder.exists():
        other_files = [file for file in folder.iterdir() if not file.match("requests-*.jsonl")]
        if other_files or not folder.is_dir():
            raise SgdxError(
                f"{folder}: found {other_files[0].name}, expected only files of requests"
            )
        shutil.rmtree(folder)
    names: list[str] = []
    count = 0
    with staged(folder) as staging:
        staging.mkdir()
        for lines in _file_contents(_lines(plan, answers)):
            names.append(f"requests-{len(names) + 1:03d}.jsonl")
            (staging / names[-1]).write_bytes(b"".join(lines))
            count += len(lines)
    return [folder / name for name in names], count


def _lines(plan: Plan, answers: AnswerFile) -> Iterator[bytes]:
    asked = set()
    for request in plan.requests():
        attempt = plan.missing(request, answers)
        if attempt is None or request.keys[attempt] in asked:
            continue
        asked.add(request.keys[attempt])
        line = {
            # With the key, answers to requests of other settings are not taken for these.
            "custom_id": f"{request.custom_id}|{request.keys[attempt][:_KEY_DIGITS]}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": request.bodies[attempt],
        }
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _file_contents(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines, divided so that each part is within the limits of a batch file."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        if part and (len(part) == MOST_LINES or size + len(line) > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield part


def collect(plan: Plan, answers: AnswerFile, files: Iterable[Path]) -> Counter[str]:
    """Keep the answers in files, whose order does not matter."""
    keys: dict[str, list[str]] = {r.custom_id: list(r.keys) for r in plan.requests()}
    counts: Counter[str] = Counter()
    for file in files:
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        counts[_keep(line, keys, answers, f"{file}:{number}")] += 1
        except OSError as error:
            raise SgdxError(f"{file}: cannot be read: {error.strerror}") from None
    return counts


def _keep(line: bytes, keys: dict[str, list[str]], answers: AnswerFile, where: str) -> str:
    """Keep the answer in a line; returns the kind of the line, as ``collect`` counts it."""
    name, body = read_answer_line(line)
    if not isinstance(name, str):
        return "unreadable"
    name, _, key = name.rpartition("|")
    if name not in keys:
        return "unknown"
    if not any(request_key.startswith(key) for request_key in keys[name]):
        raise SgdxError(
            f"{where}: answers {name} as another run asked it, expected this run's model, host, "
            "form of answer, parameters and variants; give collect the options of requests"
        )
    if body is None:
        return "failed"
    asked = [request_key for request_key in keys[name] if request_key.startswith(key)]
    free = [request_key for request_key in asked if request_key not in answers]
    if not free:
        return "repeated"
    answers.add(free[0], name, body)
    return "answered"


def read_answer_line(line: bytes) -> tuple[Any, Json | None]:
    """The ``custom_id`` in a line of answers, and the answer as it is kept; None for what lacks."""
    try:
        answer: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(answer, dict):
        return None, None
    body = _body_in(answer)
    try:
        parse_text(line)
    except ValueError as error:  # such as a key that is there twice
        body = {"unread": str(error)} if body is not None else None
    return answer.get("custom_id"), body


def _body_in(line: Json) -> Json | None:
    """The answer in a line; None if the line has none or tells of an error."""
    for key, kind in (("state", dict), ("calls", list)):
        if isinstance(line.get(key), kind):
            return {key: line[key]}
    result = line.get("result")
    if isinstance(result, dict) and isinstance(result.get("message"), dict):  # of Anthropic's
        return result["message"] if not why_no_answer(result["message"]) else None
    response = line.get("response")
    if not isinstance(response, dict) or response.get("status_code", 200) != 200:
        return None
    body = response.get("body")
    return None if why_no_answer(body) else body
