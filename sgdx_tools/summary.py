"""What a test says to others: Markdown for a pull request, and JUnit's XML for a CI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from sgdx_dataset.io.console import escape_controls
from sgdx_eval.tables import printable
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_metric.statistics import RIGHT
from sgdx_metric.variants import ORIGINAL

from .tables import headline, short_words
from .verdict import Verdict

_MOST_ELEMENTS, _MOST_CASES = 5, 20


class Result(NamedTuple):
    """What became of a model."""

    name: str
    # The content of its scores.json; None where the run did not end.
    content: Mapping[str, Any] | None
    # None where there is no limit to judge by.
    verdict: Verdict | None


def summary_text(results: Sequence[Result]) -> str:
    """What a pull request is told, in Markdown."""
    rows = [
        [
            _code(result.name),
            headline(result.content) if result.content else "",
            result.verdict.end if result.verdict else "",
            _code(result.verdict.why) if result.verdict else "",
        ]
        for result in results
    ]
    headers = ["model", "cases right, in %", "verdict", "why"]
    parts = ["### Tools under other words", _table(headers, rows)]
    for result in results:
        content = result.content or {"elements": ()}
        rows = [
            [
                _code(f"{element['tool']} {element['path']}".rstrip()),
                *(_code(short_words(element[key])) for key in ("original", "reworded")),
                f"{element['lost']} of {element['cases']}",
            ]
            for element in content["elements"][:_MOST_ELEMENTS]
            if element["net"] > 0
        ]
        if rows:
            parts.append(f"### Words that cost {_code(result.name)} the most cases")
            parts.append(_table(["words of", "before", "after", "lost"], rows))
    content = next((result.content for result in results if result.content), {})
    if left_out := content.get("left_out", {}):
        everything = content["cases"]["all"] + len(left_out)
        listed = list(left_out.items())[:_MOST_CASES]
        parts.append(f"### {len(left_out)} of {everything} cases are left out")
        parts.append("They cannot be right any more under the new tools.")
        parts.append(_table(["case", "why"], [[_code(case), _code(why)] for case, why in listed]))
        if len(left_out) > len(listed):
            parts.append(f"And {len(left_out) - len(listed)} more.")
    return "\n\n".join(parts) + "\n"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: str) -> str:
    """A text of others in a table: as code, in which nobody is mentioned and nothing is a link."""
    text = " ".join(printable(text).split()).replace("|", "\\|")
    if not text:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    blank = " " if "`" in (text[0], text[-1]) else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def junit_xml(results: Sequence[Result]) -> bytes:
    """A suite for each model, which has failures if, and only if, the verdict is failed.

    Of a failed model a case is a failure that is right under the original words and wrong under
    others. If it cannot be told, all cases are skipped. Without a limit, lost cases are failures.
    """
    suites = ElementTree.Element("testsuites", name="sgdx")
    for result in results:
        name = _xml_text(result.name)
        suite = ElementTree.SubElement(suites, "testsuite", name=name)
        counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
        end = result.verdict.end if result.verdict else ""
        why = _xml_text(result.verdict.why) if result.verdict else ""
        if result.verdict:
            properties = ElementTree.SubElement(suite, "properties")
            ElementTree.SubElement(properties, "property", name="verdict", value=end)
            ElementTree.SubElement(properties, "property", name="why", value=why)
        if result.content is None:
            case = ElementTree.SubElement(suite, "testcase", classname=name, name="run")
            ElementTree.SubElement(case, "error", message=why)
            counts |= {"tests": 1, "errors": 1}
        for case_id, wrong in _wrong(result.content).items() if result.content else ():
            shown = _xml_text(case_id)
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=shown)
            counts["tests"] += 1
            said = f"wrong under {_xml_text(', '.join(wrong))}"
            if end == "cannot tell":
                ElementTree.SubElement(case, "skipped", message=why)
                counts["skipped"] += 1
            elif wrong and ORIGINAL not in wrong and end != "passed":
                ElementTree.SubElement(case, "failure", message=said)
                counts["failures"] += 1
            elif wrong:
                ElementTree.SubElement(case, "system-out").text = said
        for key, count in counts.items():
            suite.set(key, str(count))
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml


def _wrong(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """The variants under which each case is wrong."""
    paired = content["paired"]
    wrong = {}
    for i, case in enumerate(paired["case_id"]):
        for metric in (CALL, NO_CALL):  # one of which every case has
            scores = {name: rows[i] for name, rows in paired.get(metric, {}).items()}
            if scores and None not in scores.values():
                wrong[case] = [name for name, score in scores.items() if score < RIGHT]
    return wrong


def _xml_text(text: str) -> str:
    """A text that XML can hold: control characters are shown escaped."""
    return re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", escape_controls(text))
