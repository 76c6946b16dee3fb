"""Cases from what a system did: logs of requests and answers, and spans, as ``logs.py`` reads them.

A case of a trace expects the calls that were made, right or wrong, and is marked as unreviewed
until a person has looked at it: the table of ``review.py`` lists them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import locked, read_input, write_bytes
from sgdx_llm.calls import chat_completion
from sgdx_llm.messages import conversation_of

from .data import Case, ExpectedCall, Json, Project, digest
from .folder import check_case, read_cases
from .logs import ERRORS, Asked, read_records
from .predictions import beginning, read_calls
from .review import TSV, read_table, write_table
from .skills import SKILL, skill_called
from .tables import calls_text, message_text
from .values import as_expected

REVIEW = "review"  # the folder of the table
STRUCK = "struck.jsonl"  # beside it, what reviews have struck out
# The last says which cases the whole table had, by a digest of their ids, and what the line said.
_COLUMNS = ("id", "said", "expected", "table")
_TITLE = "Cases of traces and of models, for review"
_TEXT = """What was called in each conversation, or what the model that wrote it wants called. A
case expects these calls: are they right? Strike out the cases in which they are not, or mend them
in cases.jsonl. Give the saved table to sgdx tools cases, with --review review.tsv."""


def add_traces(project: Project, traces: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Add the cases of traces to a project's; the paths that are written, and notes.

    The notes say what became of every record. ``SgdxError`` says why there is no case at all.
    """
    counts, notes = Counter[str](), list[str]()
    tools = [{"function": {"name": name}} for name in project.tools]

    def found() -> Iterator[tuple[str, Case]]:
        for path in traces:
            for place, asked in read_records(path):
                try:
                    if asked is None:
                        counts["other records"] += 1
                    else:
                        yield place, _case(asked, place, tools)
                except SgdxError as error:
                    counts["left out"] += 1
                    notes.append(f"left out: {error}")

    return add_cases(project, found(), counts, notes, ", ".join(map(str, traces)))


def add_cases(
    project: Project,
    found: Iterable[tuple[str, Case]],
    counts: Counter[str],
    notes: list[str],
    whose: str,
) -> tuple[list[Path], list[str]]:
    """Add unreviewed cases, each with where it stands; the paths that are written, and notes.

    `counts` and `notes` say what was found besides, and `whose` where all of it is from.
    """
    folder = project.cases_file.parent
    with locked(folder):
        project = _with_cases(project)
        table = folder / REVIEW / TSV
        unreviewed = {case.id for case in project.all_cases if case.unreviewed}
        rows = [row for _, row in read_table(table, _COLUMNS)] if table.exists() else []
        if rows and _table(rows[0]) == digest(sorted(unreviewed)) and len(rows) < len(unreviewed):
            struck = f"found {len(unreviewed) - len(rows)} lines struck out, which would be lost"
            raise SgdxError(f"{table}: {struck}: expected that --review took it")
        cases = {case.id: case for case in project.all_cases}
        # What a person has reviewed stays as it is, whatever was called in the same conversation.
        reviewed = {_digest(case.messages) for case in cases.values() if not case.unreviewed}
        known = {_key(case) for case in cases.values()}
        numbers = Counter[str]()  # by a name that several cases have, the last one of them
        gone = {*_struck(folder).splitlines()}
        for place, case in found:
            try:
                check_case(case, project.tools, place)
            except SgdxError as error:
                counts["left out"] += 1
                notes.append(f"left out: {error}")
                continue
            if _key(case) in gone:
                counts["struck out before"] += 1
                continue
            if _key(case) in known or _digest(case.messages) in reviewed:
                counts["known already"] += 1
                continue
            counts["new cases"] += 1
            known.add(_key(case))
            name = case.id
            while case.id in cases:
                numbers[name] += 1
                case = msgspec.structs.replace(case, id=f"{name}-{numbers[name] + 1}")
            cases[case.id] = case
        said = ", ".join(f"{name} {number}" for name, number in counts.items() if number)
        if not counts["new cases"] + counts["known already"] + counts["struck out before"]:
            why = f"{said}; {notes[0]}" if notes else said or "the files are empty"
            raise SgdxError(f"{whose}: found no case: {why}")
        return _write(project.cases_file, list(cases.values())), [*notes, f"read: {said}"]


def _with_cases(project: Project) -> Project:
    """A project with the cases that its file has now."""
    path = project.cases_file
    cases = read_cases(path, project.tools) if path.exists() else ()
    return msgspec.structs.replace(project, cases=cases, all_cases=cases)


def review_cases(project: Project, table: Path) -> int:
    """Take the cases that are left in a table as reviewed, and drop those that are not."""
    folder = project.cases_file.parent
    with locked(folder):
        project = _with_cases(project)
        rows = [row for _, row in read_table(table, _COLUMNS)]
        left = {row[0] for row in rows}
        if unknown := sorted(left - {case.id for case in project.all_cases}):
            raise SgdxError(f"{table}: case {unknown[0]} is not in {project.cases_file}")
        unreviewed = sorted(case.id for case in project.all_cases if case.unreviewed)
        is_last = table.resolve() == (folder / REVIEW / TSV).resolve()
        if {*map(_table, rows)} != {digest(unreviewed)} and (rows or not is_last):
            expected = f"expected the last one, of {folder / REVIEW}"
            raise SgdxError(f"{table}: found a table of other cases, {expected}")
        for name, said, expected, mark in rows:  # what is mended there would be lost
            if mark != _mark(mark.partition(".")[0], said, expected):
                raise SgdxError(
                    f"{table}: case {name}: found {expected!r:.100} and other words than the table "
                    f"had, expected them unchanged; mend the case in {project.cases_file}"
                )
        kept, struck = list[Case](), _struck(folder)
        for case in project.all_cases:
            if not case.unreviewed or case.id in left:
                kept.append(msgspec.structs.replace(case, unreviewed=False))
            else:
                struck += _key(case) + b"\n"
        # First what was struck out, so that nothing of a review is lost in between.
        write_bytes(folder / REVIEW / STRUCK, struck, renews=True)
        write_bytes(project.cases_file, msgspec.json.Encoder().encode_lines(kept), renews=True)
    return len(kept)


def _write(path: Path, cases: Sequence[Case]) -> list[Path]:
    write_bytes(path, msgspec.json.Encoder().encode_lines(cases), renews=True)
    unreviewed = [case for case in cases if case.unreviewed]
    table = digest(sorted(case.id for case in unreviewed))
    lines = [_line(case, table) for case in unreviewed]
    heads, place = _COLUMNS[:3], path.parent / REVIEW
    written = write_table(place, _COLUMNS, lines, _TITLE, _TEXT, heads, lambda line: line[:3], True)
    return [path, *written]


def _line(case: Case, table: str) -> tuple[str, str, str, str]:
    """The line of a case in the table with a digest."""
    said = "\n".join(f"{m['role']}: {message_text(m)}" for m in case.messages)
    expected = calls_text([msgspec.structs.asdict(call) for call in case.expect or ()])
    return case.id, said, expected, _mark(table, said, expected)


def _mark(table: str, said: str, expected: str) -> str:
    """The last cell of a line: which table it is of, and a digest of its words."""
    return f"{table}.{digest([said.split(), expected.split()])}"


def _table(row: Sequence[str]) -> str:
    """The digest of the table that a line is of."""
    return row[3].partition(".")[0]


def _struck(folder: Path) -> bytes:
    """The keys of cases that a person has struck out, a line each, so that none comes back."""
    path = folder / REVIEW / STRUCK
    return read_input(path) if path.exists() else b""


def _key(case: Case) -> bytes:
    """What makes two cases one: the conversation, and what was called."""
    return msgspec.json.encode([case.messages, case.expect], order="deterministic")


def _case(asked: Asked | str, place: str, tools: Sequence[Json]) -> Case:
    """The case of a conversation and its answer; ``SgdxError`` says what was not understood."""
    try:
        if isinstance(asked, str):
            raise ValueError(asked)
        messages = conversation_of(asked.request)
        has_skills = all(tool["function"]["name"] != SKILL for tool in tools)
        if has_skills:  # which a client shows in one tool
            messages = [_with_skills(message) for message in messages]
        answer = chat_completion(asked.answer)
        calls, counts = read_calls(answer, tools=tools)
        if counts["unread"]:
            why = answer.get("unread") if isinstance(answer, dict) else None
            why = why or f"found {beginning(answer)!r:.200}"
            why = "it reached the limit of tokens" if counts["truncated"] else why
            raise ValueError(f"found an unread answer ({why})")
        if counts["text_calls"]:  # which a client may have carried out, or not
            raise ValueError(f"found a text that looks like a call: {beginning(answer)!r:.200}")
    except ERRORS as error:
        why = f"found no {error}" if isinstance(error, KeyError) else str(error)
        raise SgdxError(f"{place}: {why}; expected messages and a whole answer") from None
    expect = []
    for call in calls:
        skill = skill_called(call.name, call.arguments) if has_skills else call.name
        arguments = as_expected(call.arguments) if skill == call.name else {}
        expect.append(ExpectedCall(skill, arguments))
    name = asked.name or f"{Path(place.split(':')[0]).stem}-{_digest(messages)}"
    listed, dialogue = tuple(messages), asked.dialogue
    return Case(name, listed, tuple(expect) or None, dialogue=dialogue, unreviewed=True)


def _with_skills(message: Json) -> Json:
    """A message in which calls of the tool that shows skills are calls of the skills."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        skill = skill_called(function["name"], json.loads(function["arguments"]))
        is_skill = skill != function["name"]
        new = function | ({"name": skill, "arguments": "{}"} if is_skill else {})
        calls.append(call | {"function": new})
    return message | ({"tool_calls": calls} if calls else {})


def _digest(messages: Sequence[Json]) -> str:
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:8]
