"""A linter with evidence: what in the words of tools is known to cost, without asking a model.

Every rule has the loss that was measured for it, in ``evidence.json``: words of all services of SGD
were edited so that the rule applies to every slot, and a tracker read them. Rules that cost nothing
there are not told; docs/check.md has them too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from rapidfuzz.fuzz import ratio

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.io.yaml import parse_yaml_document
from sgdx_eval.tables import print_line, table, terminal, to_terminal
from sgdx_metric.version import __version__

from .data import Project
from .folder import TOOLS
from .importing import import_source, skill_pattern
from .json_schema import Element
from .project import load_tools

SARIF_MARK = b'"name": "sgdx tools check"'
_EVIDENCE = Path(__file__).parent / "evidence.json"
_STOP_WORDS = frozenset(
    "a an the this that of for to in on at by with from as is are be was if whether or and it its "
    "user users your you what which who when where how".split()
)
_SHORT = 3  # letters of a word that is looked at whole
_UNITS = frozenset("ms px pt km cm mm kg hz kb mb gb tb kbps mbps".split())  # no abbreviations
_FEW_WORDS = 2  # a description of so many words or fewer
_MOST_SIBLINGS = 500  # parameters that are compared, each with each
_ALIKE = 85  # the least similarity, of 100, of descriptions that are alike


class Evidence(msgspec.Struct, frozen=True):
    """What a rule costs: the accuracy of slots lost, in points, with its 95 % interval."""

    loss: float
    low: float
    high: float


class Ranking(msgspec.Struct, frozen=True):
    """How well the rules rank elements by their loss: Spearman's correlation, with its interval."""

    rho: float
    low: float
    high: float


class AllEvidence(msgspec.Struct, frozen=True):
    """What was measured, and on what."""

    rules: Mapping[str, Evidence]
    # On services that nothing was chosen on.
    ranking: Ranking
    measured_on: str


class Finding(NamedTuple):
    """An element that a rule applies to."""

    tool: str
    path: str
    rule: str
    text: str


def words(text: str) -> set[str]:
    """The words of a name or description that are not in every other one, without plural."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", text)
    found = {part.lower() for part in parts} - _STOP_WORDS
    return {w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] != "s" else w for w in found}


Siblings = Mapping[str, Element]  # all parameters of the tool, by path


def adds_nothing(element: Element, _: Siblings) -> str:
    """The description is missing, or says no word that the name does not say."""
    if not element.description:
        return "has no description"
    added = words(element.description) - words(element.name)
    return "" if added else "its description says only what its name says"


def is_numbered(element: Element, _: Siblings) -> str:
    """The name is a letter, or a word for any parameter with a number."""
    pattern = r"[A-Za-z]|(?:arg|argument|param|parameter|field|input|value)_?\d+"
    return f"its name {element.name!r} says nothing" if re.fullmatch(pattern, element.name) else ""


def is_abbreviated(element: Element, _: Siblings) -> str:
    """Half of the name's words, or more, have no vowel."""
    found = re.findall(r"[A-Za-z]{2,}", element.name)
    parts = [part.removesuffix("s") for part in found if part.lower() not in _UNITS]  # as in "urls"
    # The first letter of an abbreviation stays, as in "arrvl"; "id" is a word.
    ends = [part[1:] if len(part) > _SHORT else part for part in parts]
    bare = [end for end in ends if not re.search("[aeiouy]", end.lower())]
    is_bare = bare and 2 * len(bare) >= len(parts)
    return f"its name {element.name!r} is abbreviated" if is_bare else ""


def is_alike(element: Element, siblings: Siblings) -> str:
    """Its description is nearly that of another parameter, if these are not too many."""
    if len(siblings) > _MOST_SIBLINGS:
        return ""
    nearest = max(
        (
            (ratio(element.description, other.description), other.name)
            for other in siblings.values()
            if other is not element and other.description
        ),
        default=(0.0, ""),
    )
    likeness, name = nearest
    text = f"its description is that of {name} but for {100 - likeness:.0f} % of its letters"
    return text if element.description and likeness >= _ALIKE else ""


def is_short(element: Element, _: Siblings) -> str:
    """The description has two words or fewer."""
    count = len(element.description.split())
    return f"its description has {count} words" if 0 < count <= _FEW_WORDS else ""


# By what evidence.json calls them. Of several that apply to an element, the costliest is told.
RULES: Mapping[str, Callable[[Element, Siblings], str]] = {
    "adds_nothing": adds_nothing,
    "is_numbered": is_numbered,
    "is_abbreviated": is_abbreviated,
    "is_short": is_short,
    "is_alike": is_alike,
}


@cache
def evidence() -> AllEvidence:
    """What was measured for the rules."""
    return decode_json(_EVIDENCE.read_bytes(), AllEvidence, str(_EVIDENCE), "evidence")


def find(project: Project) -> list[Finding]:
    """What is known to cost, the costliest first."""
    measured = evidence().rules
    rules = sorted((key for key in RULES if key in measured), key=lambda k: -measured[k].loss)
    findings: dict[str, list[Finding]] = {key: [] for key in rules}
    for i, tool in project.tools.items():
        parameters = {path: e for path, e in tool.elements.items() if path and e.name}
        for path, element in parameters.items():
            texts = ((key, RULES[key](element, parameters)) for key in rules)
            key, text = next(((k, t) for k, t in texts if t), ("", ""))
            if text:
                findings[key].append(Finding(i, path, key, text))
    return [finding for of_rule in findings.values() for finding in of_rule]


def rivals(project: Project) -> list[tuple[str, str, float]]:
    """Of each tool that cases expect, the tool whose words are nearest to what is said there.

    The margin is the share of the right tool's words that is said, minus the rival's, a mean over
    the cases. What a small margin costs was not measured.
    """
    own = {
        i: set().union(*(words(f"{e.name} {e.description}") for e in tool.elements.values()))
        for i, tool in project.tools.items()
    }
    margins: dict[str, dict[str, list[float]]] = {}
    for case in project.cases:
        texts = [m["content"] for m in case.messages if isinstance(m.get("content"), str)]
        said = words(" ".join(texts[-2:]))
        share = {i: len(of & said) / max(1, len(of)) for i, of in own.items()}
        right = {call.name for call in case.expect or ()}
        others = [i for i in case.tools or own if i not in right]
        for i in right:
            for other in others:
                margins.setdefault(i, {}).setdefault(other, []).append(share[i] - share[other])
    nearest = []
    for i, of in margins.items():
        mean = {other: sum(found) / len(found) for other, found in of.items()}
        other = min(mean, key=lambda key: mean[key])
        nearest.append((i, other, mean[other]))
    return sorted(nearest, key=lambda pair: pair[2])


def read_any_tools(source: str) -> Project:
    """The tools of a project, or of any source that `import` knows; a server's have no file."""
    path = Path(source)
    document = None
    if path.suffix in (".yaml", ".yml") and path.is_file():
        document = parse_yaml_document(read_input(path), source)
    is_file = isinstance(document, dict) and isinstance(document.get("tools"), str | dict)
    if is_file or (path / TOOLS).exists():
        return load_tools(path)
    kind, collection = import_source([source])
    collection.report_losses(None)
    return Project("" if kind == "server" else skill_pattern(source), collection.tools)


def show_check(project: Project, findings: Sequence[Finding]) -> None:
    """Print the findings with their evidence."""
    known, console = evidence(), terminal()
    count = sum(len(tool.elements) for tool in project.tools.values())
    print_line(f"{len(findings)} findings in the words of {count} tools and parameters\n", console)
    if count == len(project.tools):
        print_line("The rules are about parameters, and these tools have none.", console)
    rows = []
    for found in findings:
        cost = known.rules[found.rule]
        loss = f"-{cost.loss:.1f} ({-cost.high:.1f} to {-cost.low:.1f})"
        rows.append([f"{found.tool} {found.path}", found.text, loss])
    if rows:
        heads = ["words of", "finding", "measured"]
        rank = known.ranking
        note = (
            f"Measured: what such words cost, in points, {known.measured_on}. On services left out "
            f"the rules rank parameters with a correlation of {rank.rho:.2f} ({rank.low:.2f} to "
            f"{rank.high:.2f}); how people word them otherwise, no rule ranks (docs/check.md)."
        )
        to_terminal(table("", heads, rows, heads, note=note), console)
    if near := [pair for pair in rivals(project) if pair[2] <= 0]:
        print_line("In their cases these tools' words are said less than a rival's:", console)
        for tool, other, margin in near:
            print_line(escape_controls(f"  {tool}: {other} ({100 * margin:+.0f} %)"), console)
        print_line("What this costs was not measured.", console)


def as_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The findings as records, each with what its rule was measured to cost."""
    measured = evidence().rules
    return [
        finding._asdict() | {"measured": msgspec.to_builtins(measured[finding.rule])}
        for finding in findings
    ]


def as_sarif(project: Project, findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings in SARIF 2.1.0 (OASIS), as code scanning reads them.

    A finding stands at the first line of its file that has the tool's name.
    """
    # Tools of a server stand in no file: code scanning shows them at the file that names it.
    path = Path(project.path or "sgdx.yaml")
    file = path / TOOLS if path.is_dir() else path
    lines = read_input(file).decode(errors="replace").splitlines() if file.is_file() else []
    if findings and not project.path and not lines:
        note = "found no sgdx.yaml here: code scanning shows no findings about a server's tools"
        print(f"note: {note}", file=sys.stderr)
    known = evidence()
    results = []
    for found in findings:
        at = (i for i, line in enumerate(lines, 1) if found.tool in line)
        uri = quote(file.as_posix())
        place = {"artifactLocation": {"uri": uri}, "region": {"startLine": next(at, 1)}}
        logical = [{"fullyQualifiedName": f"{found.tool} {found.path}"}]
        location: dict[str, Any] = {"logicalLocations": logical}
        location |= {"physicalLocation": place} if project.path or lines else {}
        name = f"{found.tool} {found.path}"
        results.append(
            {
                "ruleId": found.rule,
                "level": "warning",
                "message": {"text": f"{name}: {found.text}"},
                "locations": [location],
            }
        )
    rules = [
        {
            "id": key,
            "shortDescription": {"text": (RULES[key].__doc__ or "").partition("\n")[0]},
            "help": {"text": f"measured loss {cost.loss:.2f} points, {known.measured_on}"},
        }
        for key, cost in known.rules.items()
        if key in RULES
    ]
    driver = {"name": "sgdx tools check", "version": __version__, "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    run = {"tool": {"driver": driver}, "results": results}
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}
