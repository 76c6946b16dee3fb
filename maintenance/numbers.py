"""Write every number of the pages of results from the file that has it, and list both.

``python -m maintenance.numbers`` writes the pages; with ``--list`` it prints each number with its
file. A number stands behind a mark, a comment that no reader sees, which is SOURCE:FIGURE, with
:GROUP and /FLAGS behind it: ``<!--shipped:jga_worst/d-->59.5 (56.0 to 63.2)``.

- SOURCE: a folder or file of ``results``, ``shipped`` for the model of ``models/onepass``, ``A~B``
  for A less B, paired, or ``facts`` for what was noted by hand in ``results/facts.json``.
- FIGURE: a name of ``docs/figures.md``, also over any variants that were scored, such as
  ``jga_flips(original+v1)``; ``@NAME``, a setting of the training; ``#dialogues``, ``#items`` or
  ``#unread`` (in percent).
- FLAGS: ``d`` with the interval over dialogues, ``s`` over services, ``n`` with the sign turned, a
  digit for decimals (1).

A line ``<!--table FIGURE FIGURE-->`` above a table fills the last cells of each row that begins
with ``<!--SOURCE-->``; ``A&B`` puts two figures into a cell, ``.`` leaves it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sgdx_dataset.io.console import run
from sgdx_dataset.io.errors import SgdxError
from sgdx_eval.result import Scored, read_result, with_common_metrics
from sgdx_eval.tasks import TASKS
from sgdx_metric.figures import figures, sampled
from sgdx_metric.result import ALL, SETS, Result
from sgdx_metric.statistics import intervals

ROOT = Path(__file__).parents[1]
PAGES = sorted([
    ROOT / "README.md", ROOT / "models" / "README.md", *(ROOT / "docs").glob("results*.md"),
    *(ROOT / "docs" / name for name in ("many.md", "flips.md")),
])  # fmt: skip
LEADERBOARD = ROOT / "docs" / "leaderboard.md"
_MARK = re.compile(r"<!--([\w./~-]+:[^>]+?)-->(-?\d[\d,.]*(?<![,.]))?( \([^()]*\))?")
_TABLE = re.compile(r"<!--table (.*)-->")
_ROW = re.compile(r"\| <!--(.*?)-->")
# Numerals that measure nothing: in code, addresses, names, dates, versions and licences.
_NO_NUMBERS = re.compile(
    r"```.*?```|`[^`]*`|\]\([^)]*\)|<[^>]*>|^---\n.*?\n---\n|^\d+\. |"
    r"\b95 %|\d{4}-\d\d-\d\d|\b(19|20)\d\d\b|"
    r"arXiv:? ?\d{4}\.\d+|\b(Python|torch|transformers|xgrammar|BY|BY-SA|Apache) [\d.]+|"
    r"[^\s`]*[A-Za-z_@]-?\.?\d[\w.-]*|\d+[A-Za-z-]+\w*|\bTables? \d",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,.]*(?<![,.])")


class Number(NamedTuple):
    """A number of a page, and the file that it is of; empty where nothing holds it."""

    page: Path
    line: int
    text: str
    file: str


def path_of(source: str) -> Path:
    """The file of scores of a source."""
    if source == "shipped":
        return ROOT / "models" / "onepass" / "scores.json"
    path = ROOT / "results" / source
    return path / "scores.json" if path.is_dir() else path.with_name(path.name + ".json")


@cache
def scored(source: str) -> Scored:
    """The scores of a source."""
    return read_result(path_of(source))


@cache
def difference(source: str) -> Result:
    """By how much the first of two sources is above the second, as `compare` says."""
    second, first = map(scored, source.split("~")[::-1])
    sides = with_common_metrics([second, first])
    of, task, rules = sides[0].items, TASKS[first.task], first.rules
    if not of.ids.equals(sides[1].items.ids):
        raise SgdxError(f"{source}: found two choices of items, expected one")
    headlines = [metric for metric in task.metrics if metric.headline]
    groups = {name: members for name, members in of.groups().items() if name in SETS}
    found = figures(sides[:1], task.metrics, rules, groups, others=sides[1:])
    drawn = [sampled(side, headlines, rules, by_service=True) for side in sides]
    ends = dict(zip(drawn[0][0], intervals([drawn[0][1]], [drawn[1][1]])))
    for figure in found:
        key = figure.metric, figure.figure, tuple(figure.variants)
        if figure.group == ALL and (of_services := ends.get(key)):
            figure.low_services, figure.high_services = of_services
    return Result(task=task.name, signature="", figures=found)


@cache
def over(source: str, variants: str) -> Result:
    """The figures of a source over some of its variants."""
    of, names = scored(source), variants.split("+")
    places = [of.scores.variants.index(name) for name in names]
    rows = {name: rows[places] for name, rows in of.scores.metrics.items()}
    scores = replace(of.scores, variants=names, metrics=rows)
    headlines = [metric for metric in TASKS[of.task].metrics if metric.headline]
    groups = {ALL: np.arange(len(scores.items.ids))}
    found = figures(scores, headlines, of.rules, groups)
    return Result(task=of.task, signature=of.signature, figures=found)


@cache
def facts() -> dict[str, dict[str, str | float]]:
    """What was noted by hand: each with its value and its source."""
    content: dict[str, dict[str, str | float]]
    content = json.loads((ROOT / "results" / "facts.json").read_text(encoding="utf-8"))
    return content


def value_of(source: str, figure: str) -> str:
    """A number as a page has it."""
    name, _, flags = figure.partition("/")
    name, _, group = name.partition(":")
    if source == "facts":
        value = facts()[name]["value"]
        return value if isinstance(value, str) else f"{value:,}"
    if name[0] == "@":
        record = json.loads(path_of(source).with_name("run.json").read_text(encoding="utf-8"))
        return f"{record['record']['settings'][name[1:]]:,}"
    result = difference(source) if "~" in source else scored(source).result
    if name == "#unread":
        counts = [header["counts"] for header in result.systems.values()]
        return f"{100 * sum(c['unread'] for c in counts) / sum(c['requests'] for c in counts):.1f}"
    if name[0] == "#":
        count = max(result.figures, key=lambda f: f.items)
        return f"{count.clusters if name == '#dialogues' else count.items:,}"
    if chosen := re.fullmatch(r"(.*)_(\w+)\((.*)\)", name):
        key = chosen[1], chosen[2], group or ALL
        every = {(f.metric, f.figure, f.group): f for f in over(source, chosen[3]).figures}
        found = every.get(key)
    else:
        found = result.figure(name, group or ALL)
    if found is None or found.value is None:
        raise SgdxError(f"{source}:{figure}: found no such figure")
    scale = (1 if found.metric == "bleu" else 100) * (-1 if "n" in flags else 1)
    digits = int(next(filter(str.isdigit, flags), "1"))

    def shown(value: float | None) -> str:
        return f"{round(scale * (value or 0.0), digits) + 0.0:.{digits}f}"

    kinds = {"d": (found.low, found.high), "s": (found.low_services, found.high_services)}
    parts = []
    for flag, ends in kinds.items():
        if flag in flags and None in ends:
            raise SgdxError(f"{source}:{figure}: found no such interval")
        if flag in flags:
            low, high = ends[::-1] if scale < 0 else ends
            by = "services " if flag == "s" and "d" in flags else ""
            parts.append(f"{by}{shown(low)} to {shown(high)}")
    return shown(found.value) + (f" ({'; '.join(parts)})" if parts else "")


def written(page: str) -> str:
    """A page with the numbers that its files have."""
    lines, columns = [], list[str]()
    for line in page.split("\n"):
        if table := _TABLE.fullmatch(line):
            columns = table[1].split()
        elif (row := _ROW.match(line)) and columns:
            cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            for place, column in enumerate(columns, len(cells) - len(columns)):
                if column != ".":
                    cells[place] = ", ".join(value_of(row[1], of) for of in column.split("&"))
            line = f"| {' | '.join(cells)} |".replace("|  |", "| |")
        elif columns and line and not line.startswith("|"):
            columns = []
        lines.append(_MARK.sub(_filled, line))
    return "\n".join(lines)


def _filled(mark: re.Match[str]) -> str:
    """A mark with its number; what stands in brackets is replaced if it is an interval of it."""
    spec, _, behind = mark.groups()
    source, _, figure = spec.partition(":")
    has_interval = {"d", "s"} & {*figure.partition("/")[2]}
    return f"<!--{spec}-->{value_of(source, figure)}{'' if has_interval else behind or ''}"


def numbers(path: Path) -> Iterator[Number]:
    """The numbers of a page, each with its file."""
    page = path.read_text(encoding="utf-8")
    blank = _NO_NUMBERS.sub(lambda of: re.sub(r"[^\n]", " ", of[0]), _MARK.sub(_hidden, page))
    columns = 0
    for number, (line, rest) in enumerate(zip(page.split("\n"), blank.split("\n")), 1):
        table, row = _TABLE.fullmatch(line), _ROW.match(line)
        columns = len(table[1].split()) if table else columns if line[:1] in ("|", "") else 0
        for mark in _MARK.finditer(line):
            source = mark[1].partition(":")[0]
            yield Number(path, number, mark[2] + (mark[3] or ""), _files(source))
        if path == LEADERBOARD and line[:2] == "| ":  # made by `sgdx leaderboard` of these
            link = re.match(r"\| \[.*?\]\(\.\./(.*?)\)", line)
            file = f"{link[1]}/scores.json" if link else "sgdx_eval/published.toml"
            yield Number(path, number, " ".join(_NUMBER.findall(line)), file)
            continue
        if path == LEADERBOARD and line[:1] == "#":
            continue  # as the signatures of its rows say
        if row and columns:
            cells = [cell.strip() for cell in line.split("|")[1:-1]][-columns:]
            yield Number(path, number, "; ".join(cells), _files(row[1]))
            rest = "|".join(rest.split("|")[: -columns - 1])
        for found in _NUMBER.findall(rest):
            yield Number(path, number, found, "")


def _hidden(mark: re.Match[str]) -> str:
    """Blanks in place of a mark and of its number; an interval goes too, but no other brackets."""
    spec, _, behind = mark.groups()
    kept = "" if {"d", "s"} & {*spec.partition("/")[2]} else behind or ""
    return " " * (len(mark[0]) - len(kept)) + kept


def _files(source: str) -> str:
    """The files of a source, as paths in the repository."""
    if source == "facts":
        return "results/facts.json"
    return ", ".join(str(path_of(of).relative_to(ROOT)) for of in source.split("~"))


def main() -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser("python -m maintenance.numbers", description=__doc__)
    parser.add_argument("--list", action="store_true", help="Print each number with its file.")
    return run("maintenance.numbers", lambda: _write(parser.parse_args().list))


def _write(listed: bool) -> None:
    for path in PAGES:
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in [*PAGES, LEADERBOARD] if listed else []:
        for of in numbers(path):
            print(f"{path.relative_to(ROOT)}:{of.line}\t{of.text}\t{of.file or 'no file'}")


if __name__ == "__main__":
    sys.exit(main())
