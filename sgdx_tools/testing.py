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
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import read_input, write_bytes
from sgdx_dataset.io.yaml import parse_yaml
from sgdx_eval.files import check_outputs, write_scores
from sgdx_llm.options import SendingOptions, ServerOptions
from sgdx_llm.program import split_command
from sgdx_llm.providers import ProviderName

from .asking import run_plan
from .data import Rule, Source, Tool
from .folder import SOURCE, TOOLS, VARIANTS, read_cases, read_tool_set, write_tool_set
from .importing.collection import Collection
from .options import AskOptions, RewordOptions
from .predictions import drop_other_variants, read_predictions
from .report import write_report
from .rewording import reword
from .scoring import score_files
from .summary import Result, junit_xml, summary_text
from .tables import headline
from .verdict import Verdict, check_limit, judge
from .versions import is_same

FILE, RUN = "sgdx.yaml", "sgdx-run"
_MADE = "made"  # a digest of what the variants were made of


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

    def server(self) -> dict[str, Any]:
        """The fields of ``ServerOptions``."""
        fields = tuple(f"{key}={json.dumps(value)}" for key, value in self.set.items())
        options = {"provider": self.provider, "base_url": self.base_url, "set": fields}
        return {**options, "omit": self.omit, "price": self.price}


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

    def options(self) -> dict[str, Any]:
        """The fields of ``RewordOptions``, but for the folder."""
        ways = ("model", "pool", "file", "tools", "rivals", "review")
        given = [(way, value) for way in ways if (value := getattr(self, way))]
        if len(given) != 1:
            raise SgdxError(f"{FILE}: variants: found {len(given)}, expected one of {ways}")
        ((way, value),) = given
        words = {"review": Path(value)} if way == "review" else {"by": f"{way}:{value}"}
        return {**words, "count": self.count, "keep_names": self.keep_names}


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a test fails."""

    max_drop: float


class ImportedTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where tools come from: one form with its file, or live servers."""

    # Commands or addresses of servers, or a file of their answer.
    mcp: str | tuple[str, ...] = ()
    openai: str = ""
    anthropic: str = ""
    openapi: str = ""
    # The command that starts the servers, where they have addresses.
    start: str = ""
    # Variables of the environment of programs, and headers of requests to addresses. ``${NAME}`` is
    # taken from the environment.
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    # Patterns: a tool is taken if one fits its name, its path or a tag of it.
    only: str | tuple[str, ...] = ()

    def form(self) -> tuple[str, str | tuple[str, ...]]:
        """The form that is given, and its file or servers."""
        names = ("mcp", "openai", "anthropic", "openapi")
        given = [(name, value) for name in names if (value := getattr(self, name))]
        if len(given) != 1:
            found = ", ".join(name for name, _ in given) or "none"
            raise SgdxError(f"{FILE}: tools: found {found}, expected one of {', '.join(names)}")
        return given[0]

    def servers(self) -> tuple[str, ...]:
        """The commands and addresses of live servers."""
        listed = (self.mcp,) if isinstance(self.mcp, str) else self.mcp
        return () if len(listed) == 1 and Path(listed[0]).is_file() else listed


class TestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``sgdx.yaml`` says; its paths are relative to its folder."""

    # A folder of tools, or such as ``{mcp: "npx my-server"}``.
    tools: str | ImportedTools
    cases: str
    models: tuple[Server, ...]
    variants: NewVariants
    gate: Gate | None = None
    rules: Rule = "exact"


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
    junit, summary = junit and junit.absolute(), summary and summary.absolute()
    run = path.parent.absolute() / RUN
    report = run / "report.html"
    file = _read(base or path)
    check_outputs({"--junit": junit, "--summary": summary}, [path, *_inputs(file, base or path)])
    for old in filter(None, (junit, summary, report)):
        old.unlink(missing_ok=True)
    try:
        results = _results(path, base, file, run, limit, sending)
    except SgdxError as error:
        died = Verdict("cannot tell", f"the test did not end: {error}")
        _tell([Result("test", None, died)], junit, summary)
        raise
    _tell(results, junit, summary)
    if report.exists():
        print(os.path.relpath(report))
    for result in results:
        if result.verdict:
            print(escape_controls(f"{result.name}: {result.verdict}"))
        if result.content:
            print(escape_controls(f"sgdx: {result.name}: {headline(result.content)}"))
    statuses = {result.verdict.status for result in results if result.verdict}
    return 1 if 1 in statuses else max(statuses, default=0)


def _read(path: Path) -> TestFile:
    file = parse_yaml(read_input(path), TestFile, str(path))
    if file.gate:
        check_limit(file.gate.max_drop, f"{path}: gate: max_drop")
    return file


def _inputs(file: TestFile, path: Path) -> Iterable[Path]:
    """The files that a test reads."""
    forms = [file.tools if isinstance(file.tools, str) else file.tools.form()[1]]
    words = file.variants
    named = [file.cases, words.pool, words.file, words.tools, words.review]
    yield path
    for value in (*forms, *filter(None, named)):
        for name in [value] if isinstance(value, str) else value:
            with contextlib.suppress(OSError):  # such as of a command that is too long for a name
                if (place := path.parent / name).exists():
                    yield place


def _tell(results: Sequence[Result], junit: Path | None, summary: Path | None) -> None:
    if junit:
        write_bytes(junit, junit_xml(results))
    if summary:
        write_bytes(summary, summary_text(results).encode())


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
            new, _ = _collect(head, None)
        live = _live(head) & _live(file)
    path = base or path
    names = _names(file.models, path)
    results = []
    with contextlib.chdir(path.parent):
        run = Path(os.path.relpath(run))
        folder = run / "tools"
        tools, source = _collect(file, folder / SOURCE)
        if new is not None and live and is_same(tools, new):
            asked = f"both versions were asked at {', '.join(sorted(live))}, and are the same"
            why = f"{asked}; tools: start in {FILE} says how the server of each is started"
            return [Result(name, None, Verdict("cannot tell", why)) for name in names]
        if _make_folder(file, tools, source, folder, new, sending):
            why = "the run did not end: the model that rewords has not answered everything"
            return [Result(name, None, Verdict("cannot tell", why)) for name in names]
        for name, server in zip(names, file.models):
            output = run / "runs" / name
            options = AskOptions(
                **server.server(),
                model=server.model,
                command=server.command,
                text_calls=server.text_calls,
                limit=limit,
            )
            tool_set = read_tool_set(folder).first(limit)
            drop_other_variants(output, tool_set)
            if run_plan(folder, options, sending, output):
                why = "the run did not end: answers are missing"
                results.append(Result(name, None, Verdict("cannot tell", why)))
                continue
            files = read_predictions(output, tool_set)
            content, _ = score_files(tool_set, files, file.rules)
            write_scores(content, output / "scores.json")
            gate = file.gate
            verdict = judge(tool_set, files, content, gate.max_drop) if gate else None
            results.append(Result(name, content, verdict))
        if ended := [run / "runs" / result.name for result in results if result.content]:
            max_drop = file.gate.max_drop if file.gate else None
            write_report(folder, ended, file.rules, limit, run / "report.html", max_drop)
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


def _live(file: TestFile) -> set[str]:
    """The addresses of servers that run already, whoever asks them."""
    if isinstance(file.tools, str) or file.tools.start:
        return set()
    # A program may only hand on to an address, as `npx mcp-remote https://...` does.
    words = [word for server in file.tools.servers() for word in server.split()]
    return {word for word in words if "://" in word}


def _collect(file: TestFile, source: Path | None) -> tuple[Mapping[str, Tool], Source]:
    """The tools that the file names; what is lost is said, and stands in a file of that name."""
    if isinstance(file.tools, str):
        tool_set = read_tool_set(Path(file.tools))
        return tool_set.tools, tool_set.source
    collection = _import(file.tools)
    collection.report_losses(source)
    return collection.tools, collection.source()


def _import(tools: ImportedTools) -> Collection:
    form, value = tools.form()
    only = (tools.only,) if isinstance(tools.only, str) else tools.only
    servers = tools.servers()
    for key in ("start", "env", "headers"):
        if getattr(tools, key) and not servers:
            raise SgdxError(f"{FILE}: tools: {key}: expected servers under mcp beside it")
    if servers:
        from .importing.mcp_servers import Access, import_servers, started

        programs = [tools.start] if tools.start else []
        access = Access.of(tools.env, tools.headers, [*servers, *programs])
        with started(tools.start, servers, access) if programs else contextlib.nullcontext():
            return import_servers(servers, only, access)
    (file,) = value if isinstance(value, tuple) else (value,)
    if form == "openapi":
        from .importing.openapi import import_openapi

        return import_openapi(Path(file), only=only)
    from .importing.tool_lists import import_list

    return import_list(form, Path(file), only)


def _make_folder(
    file: TestFile,
    tools: Mapping[str, Tool],
    source: Source,
    folder: Path,
    new: Mapping[str, Tool] | None,
    sending: SendingOptions,
) -> int:
    """Make the folder of tools anew, and its variants where they are of other tools or words.

    The exit status is 1 where answers of the model that rewords are missing still.
    """
    cases = read_cases(Path(file.cases), tools, file.rules)
    other = folder.with_name("new")
    for made in (folder, other):
        shutil.rmtree(made, ignore_errors=True)
    write_tool_set(folder, tools.values(), cases, replace(source, rules=file.rules))
    variants = file.variants
    if new is not None:
        write_tool_set(other, new.values())
        variants = NewVariants(tools=str(other / TOOLS))
    options = variants.options()
    words = folder.with_name("words")
    given = (variants.pool, variants.file, variants.tools, variants.review)
    read = [read_input(Path(name)) for name in given if name]
    encoded = msgspec.json.encode([variants, list(tools.values()), read], order="deterministic")
    digest = hashlib.sha256(encoded).hexdigest().encode()
    if not (words / _MADE).exists() or (words / _MADE).read_bytes() != digest:
        for variant in words.glob("*.json"):
            variant.unlink()
        # A model that is asked too is asked for words at the same server.
        same = [s for s in file.models if s.model == variants.model and variants.base_url is None]
        server = ServerOptions(**(same[0] if variants.model and same else variants).server())
        if status := reword(folder, RewordOptions(**options, output=words), server, sending):
            return status
        write_bytes(words / _MADE, digest)
    for variant in words.glob("*.json"):
        write_bytes(folder / VARIANTS / variant.name, variant.read_bytes())
    return 0
