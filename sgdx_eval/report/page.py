"""The page: what stands where, as HTML and as Markdown, and how its files are written."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import msgspec

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import staged
from sgdx_dataset.io.progress import advance, progress
from sgdx_metric.version import __version__

from ..tables import (
    NO_VALUE,
    Cell,
    Table,
    interval,
    markdown,
    printable,
    table,
    to_html,
    to_markdown,
)
from . import figures, tables
from .plots import Picture, draw_pictures
from .runs import Group, group_runs, read_runs
from .slots import (
    Analysis,
    Error,
    analyse_group,
    choose_mistakes,
    error_classes,
)

# What each task's systems are called, one and several, and what a page of them is about.
_NAMES = {
    "state": ("tracker", "Trackers", "dialogue state trackers"),
    "turns": ("generator", "Generators", "response generators"),
    "calls": ("caller", "Calls", "calls of tools"),
    "tools": ("caller", "Tools", "calls of tools"),
}
_OTHER = "system", "Systems", "systems"
# How many rewordings and errors are shown at first, and how many errors at most.
_FIRST_REWORDINGS, _FIRST_ERRORS, _MOST_ERRORS = 10, 20, 200
_LEAD = (
    "what it costs when somebody else words the same services or tools, where it breaks, and which "
    "words cause it."
)
_NOT_ALIKE = (
    "Runs that were scored in the same way on the same data are in one group. Compare figures only "
    "within a group; --dialogues FILE scores all runs on the same dialogues."
)
_REWORDINGS = (
    "A frame is lost if the slot is right under the original words and wrong under the new ones. "
    "It is won in the opposite case. Net is lost minus won, with its 95 % interval over dialogues. "
    "An error counts again in every later turn whose state still has it. With several seeds, the "
    "figures are means over them."
)


@dataclass(frozen=True)
class Part:
    """All about systems that compare, or about a model of entailment."""

    title: str
    tables: Sequence[Table]
    group: Group | None = None
    verdict: figures.Verdict | None = None
    pictures: Sequence[Picture] = ()
    # By the name of a system its costliest rewordings.
    rewordings: Mapping[str, Table] | None = None
    classes: Sequence[Table] = ()
    # Each by variant and turn; and how many there are, of which these are some.
    mistakes: Sequence[Sequence[Sequence[Error]]] = ()
    number_of_mistakes: int = 0
    # All errors, for errors.jsonl.
    errors: Sequence[Error] = ()

    def run_paths(self) -> list[tuple[str, str]]:
        """The paths of each system's runs, with the model that they began with."""
        listed = []
        for system in self.group.systems if self.group else ():
            model = f" ({system.first.base_model})" if system.first.base_model else ""
            listed.append((system.name, ", ".join(str(run.path) for run in system.runs) + model))
        return listed


@dataclass(frozen=True)
class Page:
    """What is shown."""

    title: str
    lead: str
    parts: Sequence[Part]
    meanings: Sequence[str]
    # Why numbers of different parts do not compare; empty where they may.
    warning: str
    # Why a run is not there, and of which systems no errors are shown; a sentence each.
    left_out: Sequence[str]
    not_analysed: Sequence[str]
    # The command that makes the page again.
    command: str
    # Scores out of papers.
    published: Sequence[Table]


def build_page(
    paths: Sequence[Path],
    command: str,
    source: str | None = None,
    references: Path | None = None,
    dialogues: Path | None = None,
    services: Sequence[str] = (),
) -> Page:
    """Read runs and put together what is shown of them.

    Args:
        paths: Folders of runs, files of scores, and tests of models of entailment.
        command: What makes the page again.
        source, references: Where SGD is, or a folder of its frames; by default what runs name.
        dialogues, services: A file of those that are shown, and original names; by default all.
    """
    runs, validations, left_out = read_runs(paths, dialogues, services)
    groups, parts = group_runs(runs), list[Part]()
    counts: dict[str, int] = {}  # of systems, by task
    reasons: dict[str, list[str]] = {}  # why systems are not analysed, with their names
    with progress("Reporting", len(groups), " groups"):
        for group in groups:
            task = group.task.name
            counts[task] = counts.get(task, 0) + len(group.systems)
            analyses: dict[str, Analysis] = {}
            if task == "state":
                analyses, without = analyse_group(group, source, references)
                for name, reason in without.items():
                    reasons.setdefault(printable(" ".join(reason.split())), []).append(name)
            parts.append(_part(group, analyses))
            advance()
    published = [tables.published_trackers()] if "state" in counts else []
    if validations or "turns" in counts:
        published.append(tables.published_generators())
    if validations:
        title = "Models of entailment, tested on gold responses"
        parts.append(Part(title, [tables.entailment(test) for test in validations]))
    if len(parts) == 1:
        parts = [replace(parts[0], title="")]
    names = {task: _NAMES.get(task, _OTHER) for task in counts}
    counted = [f"{n} {names[task][0]}{'' if n == 1 else 's'}" for task, n in counts.items()]
    subject = " and ".join(dict.fromkeys(of[2] for of in names.values())) or "models of entailment"
    return Page(
        title=f"{subject} under reworded schemas".capitalize(),
        lead=f"{' and '.join(counted)}: {_LEAD}" if counted else "",
        parts=parts,
        meanings=tables.meanings(groups),
        warning=_NOT_ALIKE if any(group.number for group in groups) else "",
        left_out=left_out,
        not_analysed=[
            f"no slots and no errors of {'; '.join(of)}: {why}" for why, of in reasons.items()
        ],
        command=command,
        published=published,
    )


def _part(group: Group, analyses: Mapping[str, Analysis]) -> Part:
    """What is shown of a group."""
    number = "" if group.number is None else f", group {group.number}"
    kind = _NAMES.get(group.task.name, _OTHER)[1]
    errors = [error for of_system in analyses.values() for error in of_system.errors]
    mistakes, number_of_mistakes = choose_mistakes(errors, _MOST_ERRORS)
    return Part(
        title=f"{kind}{number}: {'; '.join(group.caveats) or 'the whole split'}",
        tables=[
            *tables.comparison(group),
            *tables.variant_table(group),
            *tables.augmentation(group),
            *tables.service_table(group),
            *tables.task_tables(group),
        ],
        group=group,
        verdict=figures.verdict(group, analyses),
        pictures=draw_pictures(group),
        rewordings={name: made for name, of in analyses.items() if (made := _rewordings(name, of))},
        classes=error_classes(analyses),
        mistakes=mistakes,
        number_of_mistakes=number_of_mistakes,
        errors=errors,
    )


def _rewordings(name: str, analysis: Analysis) -> Table | None:
    """All rewordings that cost a tracker frames, the costliest first."""
    rows: list[list[str | Cell]] = [
        [
            str(place),
            of.service,
            of.variant,
            Cell(*msgspec.structs.astuple(of.before)),
            Cell(*msgspec.structs.astuple(of.after)),
            figures.count(of.lost),
            figures.count(of.won),
            Cell(figures.count(of.lost - of.won), interval(of.interval, "{:,.0f}".format)),
        ]
        for place, of in enumerate(analysis.rewordings, 1)
    ]
    texts = ["service", "variant", "original words", "new words"]
    title = f"{name}: {len(rows)} rewordings of slots cost frames"
    heads = ["rank", *texts, "lost", "won", "net"]
    return table(title, heads, rows, texts) if rows else None


# ---- HTML


def render_html(page: Page) -> str:
    """The page, in which all that comes from runs and data is escaped, and cut where it is long."""
    jinja2, markup = require("jinja2"), require("markupsafe").Markup
    escape = require("markupsafe").escape
    script, style = _asset("page.js"), _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters |= {
        # Texts of the project's own are never cut.
        "whole": lambda text: escape(printable(text, len(text))),
        "sentence": lambda text: text[:1].upper() + text[1:] + ".",
        "html": lambda shown: markup(to_html(shown)),
        "data": lambda svg: f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}",
    }
    made: str = environment.from_string(_asset("page.html")).render(
        page=page,
        version=__version__,
        first_rewordings=_FIRST_REWORDINGS,
        first_errors=_FIRST_ERRORS,
        about_rewordings=_REWORDINGS,
        no_value=NO_VALUE,
        script=markup(script),
        style=markup(style),
        script_hash=f"sha256-{digest}",
    )
    return made


def _asset(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


# ---- Markdown


def render_markdown(page: Page) -> str:
    """The same as Markdown, with the pictures as files beside it and shorter lists."""
    blocks = [f"# {_text(page.title)}", *_bullets("**Left out**", page.left_out)]
    for part in page.parts:
        if part.verdict:
            title = f"**{_text(part.title)}**\n\n" if part.title else ""
            sentences = [
                f"{of.text} (95 % interval {of.detail})." if of.detail else f"{of.text}."
                for of in part.verdict.sentences
            ]
            blocks += _bullets(f"{title}## Verdict", sentences)
            words = [
                f"{a} became {b} ({where}): {cost}" for where, a, b, cost in part.verdict.costly
            ]
            blocks += _bullets(_text(part.verdict.costly_title), words)
            if part.group and part.group.caveats:
                blocks.append(f"**{_text('; '.join(part.group.caveats))}**")
    if page.warning:
        blocks.append(f"**Not all of these runs can be compared.** {_text(page.warning)}")
    for part in page.parts:
        blocks.append(f"## {_text(part.title or 'What rewording costs')}")
        blocks += _markdown_tables(part.tables)
        for picture in part.pictures:
            blocks.append(f"![{picture.title}](figures/{picture.name}.svg)")
            blocks.append(f"*{picture.title}.* {markdown(picture.note)}")
        for of_system in (part.rewordings or {}).values():
            blocks += _markdown_tables(
                [replace(of_system, rows=of_system.rows[:_FIRST_REWORDINGS])]
            )
        blocks += _markdown_tables(part.classes)
        if part.errors:
            blocks.append("All errors are in `errors.jsonl`, and some on the page, index.html.")
        for signature, names in part.group.signatures().items() if part.group else ():
            blocks.append(f"{_text(names)}{': ' if names else ''}{_code(signature)}")
    blocks += _bullets("## What the figures mean", page.meanings)
    blocks += _markdown_tables(page.published)
    blocks += _bullets("## Not shown", [f"{reason}." for reason in page.not_analysed])
    runs = [f"{name}: {paths}" for part in page.parts for name, paths in part.run_paths()]
    blocks += [
        *_bullets("## Runs", runs),
        f"Made by sgdx {__version__} with {_code(page.command)}.",
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _text(text: str) -> str:
    return markdown(printable(text, 1500))


def _code(text: str) -> str:
    return f"`{' '.join(printable(text, len(text)).replace('`', ' ').split())}`"


def _bullets(heading: str, texts: Sequence[str]) -> list[str]:
    lines = "\n".join(f"- {_text(text)}" for text in texts)
    return [heading, lines] if texts else []


def _markdown_tables(shown: Sequence[Table]) -> Iterator[str]:
    for made in shown:
        yield to_markdown(made)
        yield f"**{_text('; '.join(made.caveats))}**" if made.caveats else ""
        yield from map(_code, made.signatures)


# ---- files


def write_page(page: Page, folder: Path) -> list[Path]:
    """Write `index.html`, `report.md`, `figures/` and, where any is known, the errors.

    Every file appears whole or not at all; those of an earlier report are replaced.
    """
    files = {
        "index.html": render_html(page).encode(),
        "report.md": render_markdown(page).encode(),
    }
    if errors := [error for part in page.parts for error in part.errors]:
        files["errors.jsonl"] = msgspec.json.Encoder().encode_lines(errors)
    for picture in (picture for part in page.parts for picture in part.pictures):
        files[f"figures/{picture.name}.svg"] = picture.svg
        files[f"figures/{picture.name}.png"] = picture.png
    for name, content in files.items():
        with staged(folder / name) as staging:
            staging.write_bytes(content)
    return [folder / name for name in files]
