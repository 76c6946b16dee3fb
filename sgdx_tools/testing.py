"""``sgdx tools test``: all that one file asks for, from the tools to a verdict.

The folder ``sgdx-run`` beside the file keeps what was done: ``tools`` with the cases and wordings,
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

import msgspec
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import read_input, write_bytes
from sgdx_dataset.io.yaml import parse_yaml
from sgdx_eval.files import write_scores
from sgdx_eval.tables import table, to_markdown
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_eval.verdict import Verdict
from sgdx_llm.options import ProviderName, SendingOptions, ServerOptions
from sgdx_metric.core import RIGHT

from .asking import run_plan
from .data import Rule, Source, Tool
from .folder import TOOLS, WORDINGS, read_cases, read_tool_set, write_tool_set
from .importing.collection import Collection
from .options import AskOptions, RewordOptions
from .predictions import drop_other_wordings, read_predictions
from .report import write_report
from .rewording import reword
from .scoring import score_files, verdict
from .tables import headline, short_words

FILE, RUN = "sgdx.yaml", "sgdx-run"
_MADE = "made"  # a digest of what the wordings were made of
_MOST_ELEMENTS = 5


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

    def server(self) -> dict[str, Any]:
        """The fields of ``ServerOptions``."""
        fields = tuple(f"{key}={json.dumps(value)}" for key, value in self.set.items())
        options = {"provider": self.provider, "base_url": self.base_url, "set": fields}
        return {**options, "omit": self.omit, "price": self.price}


class NewWordings(Server, frozen=True, forbid_unknown_fields=True, kw_only=True):
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
            raise SgdxError(f"{FILE}: wordings: found {len(given)}, expected one of {ways}")
        ((way, value),) = given
        words = {"review": Path(value)} if way == "review" else {"by": f"{way}:{value}"}
        return {**words, "count": self.count, "keep_names": self.keep_names}


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a test fails."""

    max_drop: float


class TestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``sgdx.yaml`` says; its paths are relative to its folder."""

    # A folder of tools, or one form with its file, such as ``{mcp: "npx my-server"}``; of live
    # servers several.
    tools: str | dict[Literal["mcp", "openai", "anthropic", "openapi"], str | tuple[str, ...]]
    cases: str
    models: tuple[Server, ...]
    wordings: NewWordings
    gate: Gate | None = None
    rules: Rule = "exact"


class Result(NamedTuple):
    """What became of a model."""

    name: str
    content: Mapping[str, Any]
    verdict: Verdict | None


def test(
    path: Path,
    base: Path | None,
    limit: int | None,
    junit: Path | None,
    summary: Path | None,
    sending: SendingOptions,
) -> int:
    """Do all that is not done yet; the exit status is that of the worst verdict.

    With a base, cases, models and gate are those of that file: other words are those that the tools
    of the first file have.
    """
    file, new = parse_yaml(read_input(path), TestFile, str(path)), None
    junit, summary = junit and junit.absolute(), summary and summary.absolute()
    run = path.parent.absolute() / RUN
    if base is not None:
        with contextlib.chdir(path.parent):
            new, _ = _collect(file)
        path, file = base, parse_yaml(read_input(base), TestFile, str(base))
    names = _names(file.models, path)
    with contextlib.chdir(path.parent):
        run = Path(os.path.relpath(run))
        folder, runs = run / "tools", [run / "runs" / name for name in names]
        if _make_folder(file, folder, new, sending):
            return 1
        results = []
        for name, server, output in zip(names, file.models, runs):
            asked = AskOptions(
                **server.server(), model=server.model, command=server.command, limit=limit
            )
            tool_set = read_tool_set(folder).first(limit)
            drop_other_wordings(output, tool_set)
            if run_plan(folder, asked, sending, output):
                return 1
            files = read_predictions(output, tool_set)
            content, scores = score_files(tool_set, files, file.rules)
            write_scores(content, output / "scores.json")
            gate = file.gate
            found = verdict(tool_set, files, content, scores, gate.max_drop) if gate else None
            results.append(Result(name, content, found))
        write_report(folder, runs, file.rules, limit, run / "report.html")
        if junit:
            write_bytes(junit, junit_xml(results))
        if summary:
            write_bytes(summary, summary_text(results).encode())
        print(run / "report.html")
    for result in results:
        if result.verdict:
            print(escape_controls(f"{result.name}: {result.verdict.end}: {result.verdict.why}"))
        print(escape_controls(f"sgdx: {result.name}: {headline(result.content)}"))
    statuses = [result.verdict.status for result in results if result.verdict]
    return 1 if 1 in statuses else max(statuses, default=0)


def _names(models: Sequence[Server], path: Path) -> list[str]:
    """A name for each model, which is a folder's."""
    names = []
    for i, server in enumerate(models, 1):
        if bool(server.model) == bool(server.command):
            raise SgdxError(f"{path}: models[{i}]: expected one of model and command")
        name = server.name or server.model or Path((server.command or "").split()[-1]).stem
        names.append(re.sub(r"[^A-Za-z0-9_.+-]+", "-", name).strip(".-") or f"model-{i}")
    if len({*names}) < len(names) or not names:
        raise SgdxError(f"{path}: models: found {names}, expected some with distinct names")
    return names


def _collect(file: TestFile) -> tuple[Mapping[str, Tool], Source]:
    """The tools that the file names."""
    if isinstance(file.tools, str):
        tool_set = read_tool_set(Path(file.tools))
        return tool_set.tools, tool_set.source
    if len(file.tools) != 1:
        raise SgdxError(f"{FILE}: tools: found {', '.join(file.tools)}, expected one form")
    ((form, value),) = file.tools.items()
    collection = _import(form, value)
    return collection.tools, collection.source()


def _import(form: str, value: str | Sequence[str]) -> Collection:
    if form == "mcp" and (not isinstance(value, str) or not Path(value).is_file()):
        from .importing.mcp_servers import import_servers

        return import_servers([value] if isinstance(value, str) else value)
    if not isinstance(value, str):
        raise SgdxError(f"{FILE}: tools: {form}: found {len(value)} files, expected one")
    if form == "openapi":
        from .importing.openapi import import_openapi

        return import_openapi(Path(value))
    from .importing.tool_lists import import_list

    return import_list(form, Path(value))


def _make_folder(
    file: TestFile, folder: Path, new: Mapping[str, Tool] | None, sending: SendingOptions
) -> int:
    """Make the folder of tools anew, and its wordings where they are of other tools or words.

    The exit status is 1 where answers of the model that rewords are missing still.
    """
    tools, source = _collect(file)
    cases = read_cases(Path(file.cases), tools, file.rules)
    other = folder.with_name("new")
    for made in (folder, other):
        shutil.rmtree(made, ignore_errors=True)
    write_tool_set(folder, tools.values(), cases, replace(source, rules=file.rules))
    wordings = file.wordings
    if new is not None:
        write_tool_set(other, new.values())
        wordings = NewWordings(tools=str(other / TOOLS))
    options = wordings.options()
    words = folder.with_name("words")
    given = (wordings.pool, wordings.file, wordings.tools, wordings.review)
    read = [read_input(Path(name)) for name in given if name]
    encoded = msgspec.json.encode([wordings, list(tools.values()), read], order="deterministic")
    digest = hashlib.sha256(encoded).hexdigest().encode()
    if not (words / _MADE).exists() or (words / _MADE).read_bytes() != digest:
        for wording in words.glob("*.json"):
            wording.unlink()
        # A model that is asked too is asked for words at the same server.
        same = [s for s in file.models if s.model == wordings.model and wordings.base_url is None]
        server = ServerOptions(**(same[0] if wordings.model and same else wordings).server())
        if status := reword(folder, RewordOptions(**options, output=words), server, sending):
            return status
        write_bytes(words / _MADE, digest)
    for wording in words.glob("*.json"):
        write_bytes(folder / WORDINGS / wording.name, wording.read_bytes())
    return 0


def summary_text(results: Sequence[Result]) -> str:
    """What a pull request is told, in Markdown."""

    def shown(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        return to_markdown(table(title, headers, rows, headers)) + "\n" if rows else ""

    rows = [
        [result.name, headline(result.content), *(result.verdict or ("", ""))] for result in results
    ]
    parts = [shown("Tools under other words", ["model", "in %", "verdict", "why"], rows)]
    for result in results:
        rows = [
            [
                f"{element['tool']} {element['path']}".rstrip(),
                *(short_words(element[key]) for key in ("original", "reworded")),
                f"{element['lost']} of {element['cases']}",
            ]
            for element in result.content["elements"][:_MOST_ELEMENTS]
            if element["net"] > 0
        ]
        title = f"Words that cost {result.name} the most cases"
        parts.append(shown(title, ["words of", "before", "after", "lost"], rows))
    left_out = [[case, why] for case, why in results[0].content.get("left_out", {}).items()]
    parts.append(shown("Left out, since they cannot be right", ["case", "why"], left_out))
    return "\n".join(filter(None, parts))


def junit_xml(results: Sequence[Result]) -> bytes:
    """A suite for each model, in which a case fails that is wrong under some wording."""
    suites = ElementTree.Element("testsuites", name="sgdx")
    for result in results:
        paired = result.content["paired"]
        suite = ElementTree.SubElement(suites, "testsuite", name=result.name)
        failures = 0
        for i, case in enumerate(paired["case_id"]):
            element = ElementTree.SubElement(suite, "testcase", classname=result.name, name=case)
            of_metrics = [paired[metric] for metric in (CALL, NO_CALL) if metric in paired]
            scores = next(
                of_case
                for of_case in ({n: rows[i] for n, rows in of.items()} for of in of_metrics)
                if None not in of_case.values()
            )
            wrong = [name for name, score in scores.items() if score < RIGHT]
            if wrong:
                failures += 1
                ElementTree.SubElement(element, "failure", message=f"wrong: {', '.join(wrong)}")
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(failures))
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml
