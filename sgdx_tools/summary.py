"""What a test says to others: Markdown for a pull request, and JUnit's XML for a CI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import check_output, write_bytes
from sgdx_eval.tables import Cell, table, to_markdown
from sgdx_metric.variants import ORIGINAL

from .scoring import Scored
from .tables import headline, noise_text, short_words
from .verdict import End, Verdict, cannot_tell, qualifiers

_MOST_ELEMENTS, _MOST_CASES = 5, 20
_TITLE = "Tools under other words"
# What each of our files has near its beginning.
SUMMARY_MARK, JUNIT_MARK = _TITLE.encode(), b'<testsuites name="sgdx"'


class Result(NamedTuple):
    """What became of a model."""

    name: str
    # None where the run did not end.
    scored: Scored | None
    # None where there is no limit to judge by.
    verdict: Verdict | None


class Outputs(NamedTuple):
    """The files that say what became of a test, by the options that name them."""

    places: dict[str, Path]

    @classmethod
    def of(cls, junit: Path | None, summary: Path | None) -> Outputs:
        """Those of the two that are given, wherever the test works."""
        given = {"--junit": junit, "--summary": summary}
        return cls({option: place.absolute() for option, place in given.items() if place})

    def check(self) -> None:
        """Refuse a place where something else is."""
        for option, place in self.places.items():
            check_output(place, option, mark=_FORMS[option][0])

    def tell(self, results: Sequence[Result] | str) -> None:
        """Write what became of each model, or why nothing did."""
        if isinstance(results, str):
            verdict = cannot_tell(f"the test did not end: {results}")
            results = [Result("test", None, verdict)]
        for option, place in self.places.items():
            mark, write = _FORMS[option]
            write_bytes(place, write(results), mark=mark)


def summary_text(results: Sequence[Result]) -> bytes:
    """What a pull request is told, in Markdown; texts of others are code."""

    def shown(title: str, heads: Sequence[str], rows: list[list[Cell]], note: str = "") -> str:
        return to_markdown(table(title, heads, rows, heads, note=note))

    rows = []
    for name, scored, verdict in results:
        figures = headline(scored.result) if scored else ""
        end, why = _told(scored, verdict)
        rows.append([Cell(name, code=True), Cell(figures), Cell(end), Cell(why, code=True)])
    heads = ["model", "cases right, in %", "verdict", "why"]
    parts = [shown(_TITLE, heads, rows)]
    rows = []
    for name, scored, _ in results:
        for variant, noise in scored.result.counts["noise"].items() if scored else ():
            rows.append([Cell(name, code=True), Cell(variant, code=True), Cell(noise_text(noise))])
    if rows:
        parts.append(
            shown("Cases that were asked several times, in %", ["model", "variant", ""], rows)
        )
    for name, scored, _ in results:
        costly = [e for e in scored.result.counts["elements"] if e["net"] > 0] if scored else []
        rows = []
        for element in costly[:_MOST_ELEMENTS]:
            of = f"{element['tool']} {element['path']}".rstrip()
            words = [short_words(element[key]) for key in ("original", "reworded")]
            lost = Cell(f"{element['lost']} of {element['cases']}")
            rows.append([*(Cell(text, code=True) for text in (of, *words)), lost])
        if rows:
            title = f"Words that cost {name} the most cases"
            parts.append(shown(title, ["words of", "before", "after", "lost"], rows))
    content = next((result.scored.result.counts for result in results if result.scored), {})
    left_out, gone = content.get("left_out", {}), content.get("gone", {})
    if left_out or gone:
        everything = content["cases"]["all"] + len(left_out)
        rows = [
            [Cell(case, code=True), Cell(why, code=True)]
            for case, why in (left_out or gone).items()
        ]
        more = len(rows) - _MOST_CASES
        note = "They cannot be right any more under the new tools."
        note += f" There are {more} more." if more > 0 else ""
        what = "are left out" if left_out else "count as wrong"
        title = f"{len(rows)} of {everything} cases {what}"
        parts.append(shown(title, ["case", "why"], rows[:_MOST_CASES], note))
    return "\n\n".join(parts).encode() + b"\n"


def _told(scored: Scored | None, verdict: Verdict | None) -> tuple[str, str]:
    """The end of a verdict and why; without one, what qualifies the figures."""
    if verdict:
        return verdict.end, verdict.why
    return "", "; ".join(qualifiers(scored.result)) if scored else ""


def junit_xml(results: Sequence[Result]) -> bytes:
    """A suite for each model, which has failures if, and only if, the verdict is failed.

    Of a failed model a case is a failure that is right under the original words and wrong under
    others. If it cannot be told, all cases are skipped.
    """
    suites = ElementTree.Element("testsuites", name="sgdx", time="0")
    for result in results:
        name = _xml_text(result.name)
        suite = ElementTree.SubElement(suites, "testsuite", name=name, time="0")
        counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
        end, why = map(_xml_text, _told(result.scored, result.verdict))
        if end or why:
            properties = ElementTree.SubElement(suite, "properties")
            for key, value in {"verdict": end, "why": why}.items() if end else [("why", why)]:
                ElementTree.SubElement(properties, "property", name=key, value=value)
        if result.scored is None:
            case = ElementTree.SubElement(suite, "testcase", classname=name, name="run", time="0")
            kinds = {End.FAILED: ("failure", "failures"), End.CANNOT_TELL: ("error", "errors")}
            counts["tests"] = 1
            if end in kinds:
                kind, count = kinds[End(end)]
                ElementTree.SubElement(case, kind, message=why)
                counts[count] = 1
        outcomes = result.scored.outcomes if result.scored else {}
        ids = result.scored.items.items.ids.to_pylist() if result.scored else ()
        for i, case_id in enumerate(ids):
            wrong = [variant for variant, of in outcomes.items() if not of[i].is_right]
            shown = _xml_text(case_id)
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=shown, time="0")
            counts["tests"] += 1
            said = f"wrong under {_xml_text(', '.join(wrong))}"
            if end == End.CANNOT_TELL:
                ElementTree.SubElement(case, "skipped", message=why)
                counts["skipped"] += 1
            elif wrong and ORIGINAL not in wrong and end == End.FAILED:
                ElementTree.SubElement(case, "failure", message=said)
                counts["failures"] += 1
            elif wrong:
                ElementTree.SubElement(case, "system-out").text = said
        for key, number in counts.items():
            suite.set(key, str(number))
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml


def _xml_text(text: str) -> str:
    """A text that XML can hold: control characters are shown escaped."""
    return re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", escape_controls(text))


# By option, the mark that a file of ours has, and what makes its content.
_FORMS = {"--junit": (JUNIT_MARK, junit_xml), "--summary": (SUMMARY_MARK, summary_text)}
