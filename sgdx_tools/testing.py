"""``sgdx tools test``: all that one file asks for, from the tools to a verdict.

The folder ``sgdx-run`` beside the file keeps what was done: ``tools`` with the cases and wordings,
the answers of each model in ``runs/NAME``, and ``report``. What stands there and still fits is not
done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
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
from sgdx_eval.tables import interval, percent
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_eval.verdict import Verdict
from sgdx_llm.options import ProviderName, SendingOptions, ServerOptions
from sgdx_metric.core import RIGHT

from .asking import run_plan
from .data import Rule, Source, Tool
from .folder import WORDINGS, read_cases, read_tool_set, write_tool_set
from .importing.collection import Collection
from .options import AskOptions, RewordOptions
from .predictions import read_predictions
from .rewording import reword
from .scoring import score_files, verdict

FILE, RUN = "sgdx.yaml", "sgdx-run"
_MADE = "made"  # a digest of what the wordings were made


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

    def options(self) -> dict[str, Any]:
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
    count: int = 5
    keep_names: bool = False

    def way(self, path: str) -> str:
        """What ``reword --with`` says."""
        ways = ("model", "pool", "file", "tools", "rivals")
        given = [f"{way}:{value}" for way in ways if (value := getattr(self, way))]
        if len(given) != 1:
            raise SgdxError(f"{path}: wordings: found {len(given)}, expected one of {ways}")
        return given[0]


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a test fails."""

    max_drop: float


class TestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``sgdx.yaml`` says; its paths are relative to its folder."""

    # A folder of tools, or one form with its file, such as ``{mcp: "npx my-server"}``.
    tools: str | dict[Literal["mcp", "openai", "anthropic", "openapi"], str]
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


def test(path: Path, limit: int | None, junit: Path | None, sending: SendingOptions) -> int:
    """Do all that is not done yet; the exit status is that of the worst verdict."""
    file = parse_yaml(read_input(path), TestFile, str(path))
    names = _names(file.models, path)
    junit = junit and junit.resolve()
    with contextlib.chdir(path.parent):
        folder, run = Path(RUN) / "tools", Path(RUN)
        if _make_folder(file, folder, path, sending):
            return 1
        results = []
        for name, server in zip(names, file.models):
            output = run / "runs" / name
            asked = AskOptions(
                **server.options(), model=server.model, command=server.command, limit=limit
            )
            if run_plan(folder, asked, sending, output):
                return 1
            tool_set = read_tool_set(folder).first(limit)
            files = read_predictions(output, tool_set)
            content, scores = score_files(tool_set, files, file.rules)
            write_scores(content, output / "scores.json")
            gate = file.gate
            found = verdict(tool_set, files, content, scores, gate.max_drop) if gate else None
            results.append(Result(name, content, found))
        if junit:
            write_bytes(junit, junit_xml(results))
    for result in results:
        if result.verdict:
            print(escape_controls(f"{result.name}: {result.verdict.end}: {result.verdict.why}"))
        print(escape_controls(summary(result)))
    statuses = [result.verdict.status for result in results if result.verdict]
    return 1 if 1 in statuses else max(statuses, default=0)


def summary(result: Result) -> str:
    """The line that says how a model did."""
    calls = result.content["calls"]
    figures = calls[CALL if CALL in calls else NO_CALL]
    ends = figures["confidence"].get("original")
    within = f" ({interval(ends)})" if ends else ""
    return (
        f"sgdx: {result.name}: {percent(figures['original'])}{within} -> "
        f"{percent(figures['reworded'])} under other words, "
        f"right under all {percent(figures['worst'])}"
    )


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


def _import(form: str, value: str) -> Collection:
    if form == "openapi":
        from .importing.openapi import import_openapi

        return import_openapi(Path(value))
    if form == "mcp" and not Path(value).is_file():
        from .importing.mcp_servers import import_servers

        return import_servers([value])
    from .importing.tool_lists import import_list

    return import_list(form, Path(value))


def _make_folder(file: TestFile, folder: Path, path: Path, sending: SendingOptions) -> int:
    """Make the folder of tools anew, and its wordings where they are of other tools or words.

    The exit status is 1 where answers of the model that rewords are missing still.
    """
    by = file.wordings.way(str(path))
    tools, source = _collect(file)
    cases = read_cases(Path(file.cases), tools, file.rules)
    source = replace(source, rules=file.rules)
    if folder.exists():
        shutil.rmtree(folder)
    write_tool_set(folder, tools.values(), cases, source)
    words = folder.with_name("words")
    given = (file.wordings.pool, file.wordings.file, file.wordings.tools)
    read = [read_input(Path(name)) for name in given if name]
    made = [file.wordings, list(tools.values()), read]
    encoded = msgspec.json.encode(made, order="deterministic")
    digest = hashlib.sha256(encoded).hexdigest().encode()
    if not (words / _MADE).exists() or (words / _MADE).read_bytes() != digest:
        for wording in words.glob("*.json"):
            wording.unlink()
        options = RewordOptions(
            by=by,
            count=file.wordings.count,
            keep_names=file.wordings.keep_names,
            output=words,
        )
        if status := reword(folder, options, ServerOptions(**file.wordings.options()), sending):
            return status
        write_bytes(words / _MADE, digest)
    for wording in words.glob("*.json"):
        write_bytes(folder / WORDINGS / wording.name, wording.read_bytes())
    return 0


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
