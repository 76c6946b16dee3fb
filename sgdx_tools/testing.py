"""``sgdx tools test``: all that one file asks for, from the tools to a verdict.

The folder ``sgdx-run`` beside the file keeps what was done: ``tools`` with the cases and variants,
the answers of each model in ``runs/NAME``, and ``report.html``. Words that still fit are not made
again, and a run that did not end is continued; otherwise models are asked anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import (
    check_output,
    note_read,
    read_input,
    remove,
    run_folder,
    write_bytes,
)
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.io.secrets import addresses_in, origin, split_command
from sgdx_eval.result import write_result
from sgdx_llm.answer_file import keep_answers

from .asking import ask_cases
from .data import Case, Source, Tool, ToolSet, Variant
from .folder import (
    SOURCE,
    check_variant,
    read_cases,
    read_tool_set,
    read_variant,
    tool_set_of,
    write_tool_set,
    write_variant,
)
from .importing import import_source
from .predictions import ANSWERS
from .project import FILE, ImportedTools, Server, TestFile, note_inputs, read_file
from .report import write_report
from .rewording import control_variants, new_variants
from .scoring import score_files
from .summary import JUNIT_MARK, SUMMARY_MARK, Result, junit_xml, summary_text
from .tables import headline
from .verdict import Gate, Verdict, cannot_tell, judge, judge_loss, power, status_of
from .versions import is_same, variant_between

_MADE = "made.json"  # beside the variants


class _Made(msgspec.Struct, frozen=True):
    """Which words were made."""

    digest: str = ""  # of what they were made of
    variants: list[str] = []  # their names


def test(
    path: Path,
    base: Path | None,
    limit: int | None,
    junit: Path | None,
    summary: Path | None,
    max_cost: float | None,
    own_cases: bool = False,
) -> tuple[int, dict[str, Verdict]]:
    """Do all that is asked for; the status is 1 if a model fails, 2 if it cannot be told.

    Also the verdict on each model, where there is a gate.
    With a base, cases, models, gate and keys of servers are those of that file: other words are
    those that the tools of the first file have. Whatever ends the test, summary and JUnit say what
    became of it, and nothing that an earlier test wrote is left for one that died.
    """
    outputs = (
        ("--junit", junit and junit.absolute(), JUNIT_MARK, junit_xml),
        ("--summary", summary and summary.absolute(), SUMMARY_MARK, summary_text),
    )
    run = path.parent.absolute() / run_name(path)
    report = run / "report.html"

    def check() -> None:
        for option, place, mark, _ in outputs:
            if place:
                check_output(place, option, mark=mark)

    def tell(results: Sequence[Result]) -> None:
        for _, place, mark, written in outputs:
            if place:
                write_bytes(place, written(results), mark=mark)

    def untold(why: str) -> list[Result]:
        return [Result("test", None, cannot_tell(f"the test did not end: {why}"))]

    if run.is_symlink():
        raise SgdxError(f"{run}: found a link, expected a folder")
    with run_folder(run):
        check()
        try:
            file = read_file(base or path)
            if base and own_cases:
                file = _with_own_cases(file, path)
            if max_cost is not None:
                capped = tuple(replace(model, max_cost=max_cost) for model in file.models)
                file = replace(file, models=capped)
            note_read(path)
            note_inputs(file, (base or path).parent)
            if base:
                note_inputs(read_file(path), path.parent)
            check()
            tell(untold("it was killed"))  # which another result replaces, unless it is true
            results = _results(path, base, file, run, limit, own_cases)
        except SgdxError as error:
            with contextlib.suppress(SgdxError):  # of an output that is refused, as the error says
                tell(untold(str(error)))
            remove(report)
            raise
        tell(results)
        if not any(result.scored for result in results):
            remove(report)  # of an earlier test
    if report.exists():
        print(os.path.relpath(report))
    for name, scored, verdict in results:
        if verdict:
            print(escape_controls(f"{name}: {verdict}"))
        if scored:
            print(escape_controls(f"sgdx: {name}: {headline(scored.result)}"))
    verdicts = {result.name: result.verdict for result in results if result.verdict}
    return status_of(verdicts.values()), verdicts


def read_for_search(path: Path) -> tuple[ToolSet, Gate]:
    """The tools, cases and variants of a file, and the gate for a search.

    Words that are not made yet are made, and kept for a test.
    """
    file = read_file(path)
    run = Path(run_name(path))
    if (path.parent / run).is_symlink():
        raise SgdxError(f"{path.parent / run}: found a link, expected a folder")
    with contextlib.chdir(path.parent), run_folder(run):
        tools, source = _collect(file.tools, run / "tools" / SOURCE)
        source = _source(file, source)
        tool_set = _tool_set(file, tools, source, run, None)
    if tool_set is None:
        raise SgdxError(f"{path}: the model that rewords has not answered everything; try again")
    return tool_set, file.gate or Gate()


def _results(
    path: Path,
    base: Path | None,
    file: TestFile,
    run: Path,
    limit: int | None,
    own_cases: bool,
) -> list[Result]:
    """Ask every model, and judge each that has answered everything; write the report of these."""
    new, live = None, set[str]()
    if base is not None:
        head = read_file(path)
        if isinstance(head.tools, ImportedTools):  # a pull request may not ask for keys
            kept = file.tools if isinstance(file.tools, ImportedTools) else ImportedTools()
            of_head = replace(head.tools, env=kept.env, headers=kept.headers)
            head = replace(head, tools=of_head)
        with contextlib.chdir(path.parent):
            new, _ = _collect(head.tools, None)
            live = _live(head.tools)
    own, path = path.parent.absolute(), base or path
    names = _names(file.models, path, own if own_cases else path.parent)

    def untold(why: str) -> list[Result]:
        return [Result(name, None, cannot_tell(why)) for name in names]

    with contextlib.chdir(path.parent):
        run = Path(os.path.relpath(run))
        tools, source = _collect(file.tools, run / "tools" / SOURCE)
        live &= _live(file.tools)
        if new is not None and live and is_same(tools, new):
            where = ", ".join(sorted(map(origin, live)))
            why = f"both versions were asked at {where}, and are the same"
            return untold(f"{why}; tools: start in {FILE} says how the server of each is started")
        tool_set = _tool_set(file, tools, _source(file, source), run, new)
        if tool_set is None:
            return untold("the run did not end: the model that rewords has not answered everything")
        tool_set = tool_set.first(limit)
        gate = file.gate or Gate()
        if gate.max_drop is not None:
            print(f"note: {power(tool_set, gate.max_drop)}", file=sys.stderr)
        results, models = _searched(tool_set, gate), {}
        for name, server in zip(names, file.models):
            output = run / "runs" / name
            output = output.absolute() if own_cases and server.command else output
            asked, sending = server.options(file.repeats)
            oldest = _begin_run(output, server)
            with (
                contextlib.chdir(own) if own_cases and server.command else contextlib.nullcontext()
            ):
                files = ask_cases(tool_set, asked, sending, output)
            if files is None:
                verdict = cannot_tell("the run did not end: answers are missing")
                results.append(Result(name, None, verdict))
                continue
            scored = score_files(tool_set, files)
            write_result(scored.result, scored.items, output / "scores.json")
            told = None
            if gate.max_drop is not None:
                told = judge(tool_set, files, scored.result, gate)
                if oldest is not None:
                    age = f"answers are kept for {server.keep:g} days, the oldest is of"
                    told = told._replace(why=f"{told.why}; {age} {oldest:%Y-%m-%d}")
            if told and own_cases:
                why = f"{told.why}; cases and programs are those of the pull request"
                told = told._replace(why=why)
            models[name] = scored, told
            results.append(Result(name, scored, told))
        if models:
            write_report(tool_set, models, run / "report.html")
    return results


def _with_own_cases(file: TestFile, path: Path) -> TestFile:
    """A base's file with the cases and programs of another; servers stay, as they get keys."""
    own = read_file(path)
    servers = [model for model in file.models if not model.command]
    programs = [model for model in own.models if model.command]
    cases = str((path.parent / own.cases).absolute())
    return replace(file, cases=cases, models=(*servers, *programs))


def _searched(tool_set: ToolSet, gate: Gate) -> list[Result]:
    """The verdicts on a search for the tools by words, where the gate has one."""
    if not gate.search:
        return []
    from .search import bm25, search

    result = search(tool_set, bm25, "bm25-lucene").result
    return [
        Result(f"search {metric}", None, judge_loss(metric, result, limit, gate.strict))
        for metric, limit in gate.search.items()
    ]


def _source(file: TestFile, source: Source) -> Source:
    """Where tools come from, with how the file says that cases are scored."""
    leaves_out = bool(file.gate and file.gate.left_out == "allow")
    return replace(source, rules=file.rules, leaves_out=leaves_out)


def _begin_run(folder: Path, server: Server) -> datetime | None:
    """Drop the answers that this test may not use; returns when the oldest one kept was given.

    Both sides of a verdict are asked in one run, so each test asks anew. What a run has left that
    did not end is used for a day, as its cases are asked under all variants one after the other;
    of a program nothing is, since it may have changed. ``keep`` is for models that do not change.
    """
    has_ended = (folder / "scores.json").exists()
    days = 0.0 if has_ended or server.command else 1.0
    oldest = keep_answers(folder / ANSWERS, days if server.keep is None else server.keep)
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != ANSWERS:
            remove(path)
    remove(folder / "scores.json")  # last, so that a test that is killed here begins anew again
    return None if server.keep is None else oldest


def run_name(path: Path) -> str:
    """The folder beside a file that keeps what was done."""
    return f"{path.stem}-run"


def _names(models: Sequence[Server], path: Path, programs: Path) -> list[str]:
    """A name for each model, which is a folder's; a program's is that of its file."""
    names = []
    for i, server in enumerate(models, 1):
        if bool(server.model) == bool(server.command):
            raise SgdxError(f"{path}: models[{i}]: expected one of model and command")
        name = server.name or server.model
        if server.command:  # whose other words may be keys, or private folders
            program, *words = split_command(server.command)
            scripts = [word for word in words if (programs / word).is_file()]
            name = server.name or Path((scripts or [program])[0]).stem
        names.append(re.sub(r"[^A-Za-z0-9_.+-]+", "-", name or "").strip(".-") or f"model-{i}")
    if len({*names}) < len(names) or not names:
        raise SgdxError(f"{path}: models: found {names}, expected some with distinct names")
    return names


def _live(tools: str | ImportedTools) -> set[str]:
    """The addresses of servers that run already, whoever asks them."""
    if isinstance(tools, str) or tools.start:
        return set()
    # A program may only hand on to an address, as `npx mcp-remote https://...` does.
    return {address for server in tools.servers() for address in addresses_in(server)}


def _collect(tools: str | ImportedTools, listed: Path | None) -> tuple[Mapping[str, Tool], Source]:
    """The tools, and where they come from; what is lost is said, and stands in a file `listed`."""
    if isinstance(tools, str):
        tool_set = read_tool_set(Path(tools))
        return tool_set.tools, tool_set.source
    (form, files), servers = tools.form(), tools.servers()
    only = (tools.only,) if isinstance(tools.only, str) else tools.only
    for key in ("start", "env", "headers"):
        if getattr(tools, key) and not servers:
            raise SgdxError(f"{FILE}: tools: {key}: expected servers under mcp beside it")
    if tools.as_ and form != "skills":
        raise SgdxError(f"{FILE}: tools: as: expected skills beside it")
    if servers:
        from .importing.mcp_servers import Access, import_servers, started

        programs = [tools.start] if tools.start else []
        access = Access.of(tools.env, tools.headers, [*servers, *programs])
        with started(tools.start, servers, access) if programs else contextlib.nullcontext():
            collection = import_servers(servers, only, access)
    else:
        _, collection = import_source(files, only, as_tools=tools.as_ == "tools")
    collection.report_losses(listed)
    return collection.tools, collection.source()


def _tool_set(
    file: TestFile,
    tools: Mapping[str, Tool],
    source: Source,
    run: Path,
    new: Mapping[str, Tool] | None,
) -> ToolSet | None:
    """Tools, cases and variants, which are made where they are of other tools or words.

    All is written into the folder ``tools``. None where answers of the model that rewords are
    missing still.
    """
    folder = run / "tools"
    cases = read_cases(Path(file.cases), tools)
    write_tool_set(folder, tools.values(), cases, source, is_new=False)
    if new is not None:
        variant, notes = variant_between(tools, new)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        check_variant(variant, tools, cases, "the other version")
        variants = [variant]
    elif (made := _words(file, tools, cases, source, run)) is not None:
        variants = made
    else:
        return None
    if file.variants.control:
        made_already = {variant.name for variant in variants}
        variants += [of for of in control_variants(tools) if of.name not in made_already]
    write_tool_set(folder, tools.values(), cases, source, variants, is_new=False)
    return tool_set_of(folder, tools, cases, variants, source)


def _words(
    file: TestFile,
    tools: Mapping[str, Tool],
    cases: Sequence[Case],
    source: Source,
    run: Path,
) -> list[Variant] | None:
    """The other words that a file asks for; they are made where those that are there do not fit."""
    asked, words = file.variants, run / "words"
    options = asked.rewording(words)
    given = [name for name in (asked.pool, asked.file, asked.tools, asked.review) if name]
    read = [read_input(Path(name)) for name in given]
    content = msgspec.json.encode([asked, list(tools.values()), read], order="deterministic")
    digest, made = hashlib.sha256(content).hexdigest(), words / _MADE
    before = _Made()
    if made.exists():
        before = decode_json(made.read_bytes(), _Made, str(made), "a list of variants")
    if before.digest == digest:
        return [read_variant(words / f"{name}.json", tools, cases) for name in before.variants]
    # A model that is asked too is asked for words at the same server.
    same = [s for s in file.models if s.model == asked.model and asked.base_url is None]
    server, sending = (same[0] if asked.model and same else asked).options()
    tool_set = tool_set_of(run / "tools", tools, cases, (), source)
    found = new_variants(tool_set, options, server, sending)
    if found is None:
        return None
    variants, pool, made_by = found
    names = [variant.name for variant in variants]
    for name in names:  # before anything is replaced
        check_output(words / f"{name}.json")
    remove(made)  # whose words these are not any more
    if pool and options.review is None:
        from .review import write_review

        print(*write_review(words, tools, pool, made_by), sep="\n")
    for variant in variants:
        print(write_variant(words / f"{variant.name}.json", variant))
    for name in before.variants:
        if name not in names:
            remove(words / f"{name}.json")
    write_bytes(made, msgspec.json.encode(_Made(digest, names)))
    return variants
