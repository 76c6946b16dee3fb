"""``sgdx tools test``: all that one file asks for, from the tools to a verdict.

The folder ``sgdx-run`` beside the file keeps what was done: ``tools`` with the cases and variants,
the answers of each model in ``runs/NAME``, and ``report.html``. What stands there and still fits is
not done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import (
    check_output,
    note_named,
    note_read,
    read_input,
    remove,
    run_folder,
    write_bytes,
)
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.io.secrets import addresses_in, origin
from sgdx_dataset.io.yaml import parse_yaml
from sgdx_eval.result import write_result
from sgdx_llm.options import SendingOptions
from sgdx_llm.program import split_command
from sgdx_llm.providers import ProviderName

from .asking import ask_cases
from .data import Case, Rule, Source, Tool, ToolSet, Variant
from .folder import (
    SOURCE,
    TOOLS,
    check_variant,
    read_cases,
    read_tool_set,
    read_variant,
    tool_set_of,
    write_tool_set,
    write_variant,
)
from .importing import import_source, kind_of, skill_pattern
from .options import AskOptions, RewordOptions
from .predictions import drop_other_variants
from .report import write_report
from .rewording import new_variants
from .scoring import score_files
from .summary import JUNIT_MARK, SUMMARY_MARK, Result, junit_xml, summary_text
from .tables import headline
from .verdict import Verdict, check_limit, judge, power
from .versions import is_same, variant_between

FILE, RUN = "sgdx.yaml", "sgdx-run"
_MADE = "made.json"  # beside the variants


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model at a server, or a program."""

    model: str | None = None
    command: str | None = None
    # What its figures are called; the model's or program's name unless it is given.
    name: str = ""
    provider: ProviderName = "openai"
    base_url: str | None = None
    # Fields of its requests, and those that the server refuses.
    set: dict[str, Any] = {}
    omit: tuple[str, ...] = ()
    price: str | None = None
    # Whether a call that stands in the text of an answer is one.
    text_calls: bool = False

    def asked(self, repeats: int = 1) -> AskOptions:
        """The same as options."""
        names = ("model", "command", "provider", "base_url", "omit", "price", "text_calls")
        fields = tuple(f"{key}={json.dumps(value)}" for key, value in self.set.items())
        given = {name: getattr(self, name) for name in names}
        return AskOptions(set=fields, repeats=repeats, **given)


class NewVariants(Server, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where other words come from: one of these."""

    pool: str | None = None
    file: str | None = None
    tools: str | None = None
    rivals: str | None = None
    # The table of new words that a person has reviewed.
    review: str | None = None
    count: int = 5
    keep_names: bool = False
    # Whether names are also changed in the texts that speak of them.
    mentions: bool = True

    def options(self, output: Path) -> RewordOptions:
        """The same as options."""
        ways = ("model", "pool", "file", "tools", "rivals", "review")
        given = [(way, value) for way in ways if (value := getattr(self, way))]
        if len(given) != 1:
            raise SgdxError(f"{FILE}: variants: found {len(given)}, expected one of {ways}")
        ((way, value),) = given
        by, review = (None, Path(value)) if way == "review" else (f"{way}:{value}", None)
        return RewordOptions(
            by=by,
            review=review,
            output=output,
            count=self.count,
            keep_names=self.keep_names,
            keep_mentions=not self.mentions,
        )


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a test fail, and what a search for tools; in points."""

    max_drop: float | msgspec.UnsetType = msgspec.UNSET
    # Of the depths that `sgdx tools search` judges, the loss that is too much.
    search: dict[Literal["recall@1", "recall@3", "recall@5", "recall@10"], float] = {}


class ImportedTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where tools come from: one form with its file, or live servers."""

    # Commands or addresses of servers, or a file of their answer.
    mcp: str | tuple[str, ...] = ()
    openai: str = ""
    anthropic: str = ""
    openapi: str = ""
    # Patterns of files SKILL.md, and whether each is shown as a tool of its own.
    skills: str | tuple[str, ...] = ()
    as_: Literal["tools", ""] = msgspec.field(name="as", default="")
    # The command that starts the servers, where they have addresses.
    start: str = ""
    # Variables of the environment of programs, and headers of requests to addresses. ``${NAME}`` is
    # taken from the environment.
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    # Patterns: a tool is taken if one fits its name, its path or a tag of it.
    only: str | tuple[str, ...] = ()

    def form(self) -> tuple[str, tuple[str, ...]]:
        """The form that is given, and its file or servers."""
        names = ("mcp", "openai", "anthropic", "openapi", "skills")
        given = [(name, value) for name in names if (value := getattr(self, name))]
        if len(given) != 1:
            found = ", ".join(name for name, _ in given) or "none"
            raise SgdxError(f"{FILE}: tools: found {found}, expected one of {', '.join(names)}")
        ((name, value),) = given
        return name, (value,) if isinstance(value, str) else value

    def servers(self) -> tuple[str, ...]:
        """The commands and addresses of live servers."""
        form, listed = self.form()
        is_file = len(listed) == 1 and Path(listed[0]).is_file()
        return () if form != "mcp" or is_file else listed


class TestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``sgdx.yaml`` says; its paths are relative to its folder."""

    # A folder of tools, another source of some, or such as ``{mcp: "npx my-server"}``.
    tools: str | ImportedTools
    cases: str
    variants: NewVariants
    # A search for tools needs none.
    models: tuple[Server, ...] = ()
    # When a test fails; never without it.
    gate: Gate | None = None
    rules: Rule = "exact"
    # How many times each case is asked under each variant.
    repeats: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


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
    sending: SendingOptions,
) -> int:
    """Do all that is not done yet; the exit status is 1 if a model fails, 2 if it cannot be told.

    With a base, cases, models, gate and keys of servers are those of that file: other words are
    those that the tools of the first file have. Whatever ends the test, summary and JUnit say what
    became of it, and nothing that an earlier test wrote is left for one that died.
    """
    outputs = (
        ("--junit", junit and junit.absolute(), JUNIT_MARK, junit_xml),
        ("--summary", summary and summary.absolute(), SUMMARY_MARK, summary_text),
    )
    run = path.parent.absolute() / RUN
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
        return [Result("test", None, Verdict("cannot tell", f"the test did not end: {why}"))]

    if run.is_symlink():
        raise SgdxError(f"{run}: found a link, expected a folder")
    with run_folder(run):
        check()
        try:
            file = _read(base or path)
            note_read(path)
            _note_inputs(file, (base or path).parent)
            if base:
                _note_inputs(_read(path), path.parent)
            check()
            tell(untold("it was killed"))  # which another result replaces, unless it is true
            results = _results(path, base, file, run, limit, sending)
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
    statuses = {result.verdict.status for result in results if result.verdict}
    return 1 if 1 in statuses else max(statuses, default=0)


def read_for_search(path: Path) -> tuple[ToolSet, Mapping[str, float]]:
    """The tools, cases and variants of a file, and the losses that are too much for a search.

    Words that are not made yet are made, and kept for a test.
    """
    file = _read(path)
    run = Path(RUN)
    if (path.parent / run).is_symlink():
        raise SgdxError(f"{path.parent / run}: found a link, expected a folder")
    with contextlib.chdir(path.parent), run_folder(run):
        tools, source = _collect(file.tools, run / "tools" / SOURCE)
        source = replace(source, rules=file.rules)
        tool_set = _tool_set(file, tools, source, run, None, SendingOptions())
    if tool_set is None:
        raise SgdxError(f"{path}: the model that rewords has not answered everything; try again")
    return tool_set, dict[str, float](file.gate.search.items() if file.gate else ())


def _read(path: Path) -> TestFile:
    file = parse_yaml(read_input(path), TestFile, str(path))
    if isinstance(file.tools, str) and not (path.parent / file.tools / TOOLS).exists():
        with contextlib.chdir(path.parent):  # a source, and no folder of tools
            kind, pattern = kind_of(file.tools), skill_pattern(file.tools)
        imported = ImportedTools(openai=file.tools)
        imported = ImportedTools(skills=pattern) if kind == "skills" else imported
        imported = ImportedTools(mcp=file.tools) if kind == "server" else imported
        file = replace(file, tools=imported)
    if file.gate:
        limits = dict[str, float](file.gate.search.items())
        if file.gate.max_drop is not msgspec.UNSET:
            limits["max_drop"] = file.gate.max_drop
        if not limits:
            raise SgdxError(f"{path}: gate: found nothing, expected max_drop or search")
        for key, limit in limits.items():
            check_limit(limit, f"{path}: gate: {key}")
    return file


def _note_inputs(file: TestFile, folder: Path) -> None:
    """Keep whatever a file names from being written over: tools, cases, words, programs."""
    tools, words = file.tools, file.variants
    live = tools if isinstance(tools, str) else [*tools.form()[1], tools.start]
    named = [words.pool, words.file, words.tools, words.review, words.command]
    note_named([file.cases, live, named, [model.command for model in file.models]], folder)


def _results(
    path: Path,
    base: Path | None,
    file: TestFile,
    run: Path,
    limit: int | None,
    sending: SendingOptions,
) -> list[Result]:
    """Ask every model, and judge each that has answered everything; write the report of these."""
    new, live = None, set[str]()
    if base is not None:
        head = _read(path)
        if isinstance(head.tools, ImportedTools):  # a pull request may not ask for keys
            kept = file.tools if isinstance(file.tools, ImportedTools) else ImportedTools()
            of_head = replace(head.tools, env=kept.env, headers=kept.headers)
            head = replace(head, tools=of_head)
        with contextlib.chdir(path.parent):
            new, _ = _collect(head.tools, None)
            live = _live(head.tools)
    path = base or path
    names = _names(file.models, path)

    def untold(why: str) -> list[Result]:
        return [Result(name, None, Verdict("cannot tell", why)) for name in names]

    with contextlib.chdir(path.parent):
        run = Path(os.path.relpath(run))
        tools, source = _collect(file.tools, run / "tools" / SOURCE)
        live &= _live(file.tools)
        if new is not None and live and is_same(tools, new):
            where = ", ".join(sorted(map(origin, live)))
            asked = f"both versions were asked at {where}, and are the same"
            return untold(f"{asked}; tools: start in {FILE} says how the server of each is started")
        tool_set = _tool_set(file, tools, replace(source, rules=file.rules), run, new, sending)
        if tool_set is None:
            return untold("the run did not end: the model that rewords has not answered everything")
        tool_set = tool_set.first(limit)
        max_drop = file.gate.max_drop if file.gate else msgspec.UNSET
        if max_drop is not msgspec.UNSET:
            print(f"note: {power(tool_set, max_drop)}", file=sys.stderr)
        results, models = [], {}
        for name, server in zip(names, file.models):
            output = run / "runs" / name
            drop_other_variants(output, tool_set)
            files = ask_cases(tool_set, server.asked(file.repeats), sending, output)
            if files is None:
                verdict = Verdict("cannot tell", "the run did not end: answers are missing")
                results.append(Result(name, None, verdict))
                continue
            scored = score_files(tool_set, files)
            write_result(scored.result, scored.items, output / "scores.json")
            told = None
            if max_drop is not msgspec.UNSET:
                told = judge(tool_set, files, scored.result, max_drop)
            models[name] = scored, told
            results.append(Result(name, scored, told))
        if models:
            write_report(tool_set, models, run / "report.html")
    return results


def _names(models: Sequence[Server], path: Path) -> list[str]:
    """A name for each model, which is a folder's; a program's is that of its file."""
    names = []
    for i, server in enumerate(models, 1):
        if bool(server.model) == bool(server.command):
            raise SgdxError(f"{path}: models[{i}]: expected one of model and command")
        name = server.name or server.model
        if server.command:  # whose other words may be keys, or private folders
            program, *words = split_command(server.command)
            scripts = [word for word in words if (path.parent / word).is_file()]
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
    sending: SendingOptions,
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
    elif (made := _words(file, tools, cases, source, run, sending)) is not None:
        variants = made
    else:
        return None
    write_tool_set(folder, tools.values(), cases, source, variants, is_new=False)
    return tool_set_of(folder, tools, cases, variants, source)


def _words(
    file: TestFile,
    tools: Mapping[str, Tool],
    cases: Sequence[Case],
    source: Source,
    run: Path,
    sending: SendingOptions,
) -> list[Variant] | None:
    """The other words that a file asks for; they are made where those that are there do not fit."""
    asked, words = file.variants, run / "words"
    options = asked.options(words)
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
    server = (same[0] if asked.model and same else asked).asked()
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
