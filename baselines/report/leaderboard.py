"""The leaderboard: published and own rows in files that are checked, and the page made of them."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_metric.cli.paired_results import UNVERIFIED, provenance
from sgdx_metric.cli.results import GroupScores
from sgdx_metric.signature import signature_parts
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from ..llm.requests import DEFAULT_PARAMETERS
from .cells import NO_VALUE, markdown
from .runs import TrackerRun, data_caveats, name_of_path, system_caveats
from .submission import FILE as SUBMISSION
from .submission import Submission, read_submission
from .systems import TrackerSystem

HEAD = """\
# Rows of docs/leaderboard.md that were measured with this project, in percent. To add one, give
#   python -m baselines.report --leaderboard RUN
# and send both files as a pull request.
"""
# A cell of a table, and a line of code; neither may have characters that end it.
Text = Annotated[str, msgspec.Meta(max_length=400, pattern=r"^[^\x00-\x1f\x7f<>|]+$")]
Code = Annotated[str, msgspec.Meta(max_length=1000, pattern=r"^[^\x00-\x1f\x7f`]+$")]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
# The coefficient of variation of five scores is at most the square root of 5.
Sensitivity = Annotated[float, msgspec.Meta(ge=0, le=223.7)]
Limit = Annotated[float, msgspec.Meta(ge=-100, le=223.7)]  # an end of an interval


_KEYS = {"jga_v1_5": "jga_v1-5", "change_v1_5": "change_v1-5"}


class Headline(msgspec.Struct, rename=_KEYS, forbid_unknown_fields=True, kw_only=True):
    """Headline scores of some services, in percent; None where there is none."""

    jga_orig: Percent | None = None
    jga_v1_5: Percent | None = None
    relative_difference: Annotated[float, msgspec.Meta(ge=-100)] | None = None
    ss_jga: Sensitivity | None = None
    jga_worst: Percent | None = None
    flips: Percent | None = None
    change_v1_5: Percent | None = None

    def cells(self) -> list[str]:
        """The scores that papers give too, as the text of cells, in their order."""
        return [_cell(getattr(self, key)) for key in _OF_PAPERS]


# The scores that papers give too, in the order of their columns; and those that they do not.
_OF_PAPERS = ("jga_orig", "jga_v1_5", "relative_difference", "ss_jga")
_OWN = (*_OF_PAPERS, "jga_worst", "flips", "change_v1_5")


def _cell(score: float | None, interval: Sequence[float] | None = None) -> str:
    if score is None:
        return NO_VALUE
    ends = " ({:.1f} to {:.1f})".format(*interval) if interval else ""
    return f"{round(score, 1) + 0.0:.1f}{ends}"


Figures = TypeVar("Figures")


class LeaderboardRow(msgspec.Struct, Generic[Figures], forbid_unknown_fields=True, kw_only=True):
    """A row of the leaderboard.

    Attributes:
        system: The tracker, or what calls.
        oracle: Whether it was trained on v1 to v5.
        all, seen, unseen: Its scores, of all services and of the seen and the unseen ones.
    """

    system: Text
    oracle: bool = False
    all: Figures
    seen: Figures | None = None
    unseen: Figures | None = None


class PublishedRow(LeaderboardRow[Headline], kw_only=True):
    """A row out of a paper.

    Attributes:
        augmentation: The reworded schemas that it was trained on too; empty for none.
        source, table: The paper, and where in it the scores stand.
        data: What they were measured on.
        not_comparable: Why they must not be set against ours; empty where they may.
    """

    augmentation: str = ""
    source: Text
    table: str = ""
    data: Text
    not_comparable: str = ""

    @property
    def name(self) -> str:
        """The tracker, and what it was trained on too."""
        return f"{self.system} + {self.augmentation}" if self.augmentation else self.system

    @property
    def where(self) -> str:
        """The paper, and where in it the scores stand."""
        return ", ".join(filter(None, (self.source, self.table)))


class MeasuredRow(LeaderboardRow[Figures], Generic[Figures], kw_only=True):
    """A row that was measured with this project.

    The name of its system says what it was trained on besides the original schemas.

    Attributes:
        signature: The line that the metric gave with the scores.
        command: The command that gave them.
        asked: Of a model that was asked, how, and at what cost; else empty.
        trained_on: What it was trained on; None where it is not recorded.
        intervals: 95 % intervals over dialogues of the scores of all services, by the scores'
            names, in percent; None for the mean of several seeds.
        random_weights: Whether training began with random weights.
        scores: The digests of the scores.json that the row was made from, one a seed; none where
            it is not known what those were made from.
        sha256: The digest of the row's other fields, by which a change is noticed. Rows that an
            earlier version wrote have neither digest.
    """

    signature: Code
    command: Code
    asked: Annotated[str, msgspec.Meta(max_length=400, pattern=r"^[^\x00-\x1f\x7f<>|`]*$")] = ""
    trained_on: Text | None = None
    intervals: dict[str, tuple[Limit, Limit]] | None = None
    random_weights: bool = False
    scores: list[Code] = []
    sha256: str = ""

    @property
    def provenance(self) -> str:
        """How far it is known what the scores were made from."""
        has_digests = bool(self.scores and self.sha256)
        return provenance(has_digests, signature_parts(self.signature, self.system))

    @property
    def data_caveats(self) -> list[str]:
        """What must stand beside every score on the data that the row was measured on."""
        parts = signature_parts(self.signature, self.system)
        unit = "calls" if "task" in parts else "frames"
        return data_caveats(parts, int(parts["frames"]), unit)

    @property
    def caveats(self) -> list[str]:
        """What must stand beside the scores of the system."""
        return system_caveats(self.oracle, self.random_weights, self.provenance)


class OwnRow(MeasuredRow[Headline], kw_only=True):
    """A row of a tracker that was measured with this project."""


AnyRow = TypeVar("AnyRow", bound=msgspec.Struct)
AnyMeasuredRow = TypeVar("AnyMeasuredRow", bound=MeasuredRow[Any])


def read_published() -> list[PublishedRow]:
    """The published rows that come with the report."""
    file = resources.files(__package__) / "published.toml"
    return parse_rows(file.read_bytes(), PublishedRow, "published.toml")


def read_own(path: Path) -> list[OwnRow]:
    """Read the rows that were measured with this project.

    Args:
        path: The TOML file, a table ``[[row]]`` for each row.

    Raises:
        SgdxError: The file cannot be read, or a row is not one; the message names it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror}") from None
    return parse_own(data, str(path))


def parse_own(data: bytes, path: str) -> list[OwnRow]:
    """The own rows in a file's content, if each is one and none appears twice."""
    return parse_measured(data, path, OwnRow, check_row)


def parse_measured(
    data: bytes,
    path: str,
    kind: type[AnyMeasuredRow],
    check: Callable[[AnyMeasuredRow, str], None],
) -> list[AnyMeasuredRow]:
    """The rows of a kind in a file's content.

    Args:
        data: The content.
        path: The file, for error messages.
        kind: What the rows are.
        check: Refuses a row that has a fault, given the row and what a message begins with.

    Raises:
        ScoreError, SgdxError: A row is none, has a fault, or appears twice.
    """
    rows = parse_rows(data, kind, path)
    keys: set[tuple[str, str]] = set()
    digests: set[str] = set()
    for number, row in enumerate(rows, 1):
        where = f"{path}: row {number} ({row.system})"
        check(row, where)
        if (key := (row.system, row.signature)) in keys:
            raise SgdxError(f"{where}: appears twice, expected one row for it")
        if digests & set(row.scores):
            raise SgdxError(f"{where}: has the scores of another row, expected those of its own")
        keys.add(key)
        digests |= {*row.scores}
    return rows


def parse_rows(data: bytes, kind: type[AnyRow], path: str) -> list[AnyRow]:
    """The rows of a kind in a TOML file, a table ``[[row]]`` for each.

    Raises:
        SgdxError: The file's content is no such table.
    """
    try:
        tables = msgspec.toml.decode(data, type=dict[str, list[kind]])  # type: ignore[valid-type]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SgdxError(f"{path}: not a leaderboard of [[row]]: {error}") from None
    if unknown := set(tables) - {"row"}:
        raise SgdxError(f"{path}: found [[{min(unknown)}]], expected only [[row]]")
    return tables.get("row", [])


def check_row(row: OwnRow, where: str) -> None:
    """Refuse a row of a tracker that has a fault.

    Raises:
        ScoreError, SgdxError: `check_measured` refuses it, a score is missing, or the worst case is
            above a mean.
    """
    check_measured(row, where, None)
    for scores in (row.all, row.seen, row.unseen):
        if scores:
            for mean in (scores.jga_orig, scores.jga_v1_5):
                check_worst(scores.jga_worst, mean, "jga_worst", where)
    if None in (row.all.jga_orig, row.all.jga_v1_5, row.all.ss_jga):
        raise SgdxError(f"{where}: all: expected jga_orig, jga_v1-5 and ss_jga")


def check_measured(row: MeasuredRow[Any], where: str, task: str | None) -> None:
    """Refuse a row whose signature is not that of a whole evaluation by the usual rules.

    Args:
        row: The row.
        where: What an error message begins with.
        task: The part `task` that the signature must have; None for states, which have none.

    Raises:
        ScoreError, SgdxError: The signature is none of this metric, or a part of it is missing or
            not as expected, or the row was changed after it was written.
    """
    parts = signature_parts(row.signature, where)
    if row.sha256:
        check_unchanged(row, row.sha256, where)
    expected = {
        "split": "test", "match": "fuzzy-token-sort", "joint": "frame", "zero-mean": "0",
        "variants": "+".join((ORIGINAL, *PAPER_VARIANTS)),
        "task": task,
    }  # fmt: skip
    check_parts(parts, row.oracle, expected, where)
    if not re.fullmatch("[0-9]{1,12}", parts.get("frames", "")):
        raise SgdxError(f"{where}: found no number of frames in the signature, expected one")
    release = parts.get("release", "")
    if release.startswith("partial:") and not re.fullmatch("partial:[0-9]+/[0-9]+", release):
        raise SgdxError(f"{where}: found release:{release}, expected one as in partial:768/4201")


def check_unchanged(row: msgspec.Struct, sha256: str, where: str) -> None:
    """Raise SgdxError, which begins with ``where``, unless a row has the digest of its content."""
    if sha256 != (digest := row_digest(row)):
        raise SgdxError(
            f"{where}: was changed after it was added: sha256 is {sha256:.16}, expected "
            f"{digest:.16} of its content; add the run again"
        )


def check_parts(
    parts: Mapping[str, str], oracle: bool, expected: Mapping[str, str | None], where: str
) -> None:
    """Refuse a row whose signature says otherwise than the row, or than a row has to.

    Args:
        parts: The parts of the row's signature by name.
        oracle: Whether the row says that it is of an oracle.
        expected: What parts have to be; None for a part that may not be there.
        where: What an error message begins with.

    Raises:
        SgdxError: The signature is of an oracle and the row is not, or a part is not as expected.
    """
    if parts.get("oracle") == "yes" and not oracle:
        raise SgdxError(f"{where}: oracle is yes in the signature, expected oracle = true")
    for name, value in expected.items():
        if parts.get(name) != value:
            raise SgdxError(
                f"{where}: {name} is '{parts.get(name, 'not there')}' in the signature, expected "
                f"'{value or 'not there'}'"
            )


def check_worst(worst: float | None, mean: float | None, name: str, where: str) -> None:
    """Refuse a worst case that is above a mean, whose frames it is a part of."""
    if worst is not None and mean is not None and worst > mean + 0.001:  # Rows give four decimals.
        raise SgdxError(f"{where}: {name} is {worst}, expected at most {mean}")


def own_row(system: TrackerSystem) -> OwnRow:
    """The row of a system; of several seeds their mean.

    Raises:
        SgdxError: Its scores are not of the test split under all six wordings by the usual rules.
    """
    scores = [run.results.scores for run in system.runs]
    submission = _submission(system.first)
    name = submission.name if submission else system.name
    row = OwnRow(
        system=name + (f", mean of {len(scores)} seeds" if len(scores) > 1 else ""),
        oracle=system.first.oracle,
        all=_mean([s.sgdx for s in scores]),
        seen=_mean([s.sgdx.seen for s in scores]),
        unseen=_mean([s.sgdx.unseen for s in scores]),
        signature=scores[0].signature,
        command=prediction_command(system.first),
        asked=_asked(submission) if submission else "",
        trained_on=system.first.training_data or None,
        intervals=_intervals(scores[0].sgdx) if len(scores) == 1 else None,
        random_weights=system.first.random_weights,
        scores=_digests(system),
    )
    row = msgspec.structs.replace(row, sha256=row_digest(row))
    check_row(row, str(system.first.path))
    return row


def _submission(run: TrackerRun) -> Submission | None:
    """What the run's folder says of how a model was asked; None where it says nothing."""
    path = (run.path if run.path.is_dir() else run.path.parent) / SUBMISSION
    return read_submission(path) if path.is_file() else None


def _asked(submission: Submission) -> str:
    """How a model was asked, and at what cost."""
    invalid = 100 * submission.invalid / submission.requests
    facts = [submission.kind, f"answers as {submission.answer}", f"prompt {submission.prompt[:8]}"]
    facts += [submission.quantisation] if submission.quantisation else []
    facts.append(f"{invalid:.1f} % invalid of {submission.requests:,} answers")
    facts.append(f"{submission.tokens.sent:,} tokens in, {submission.tokens.made:,} out")
    if submission.seconds_per_answer is not None:
        facts.append(f"{submission.seconds_per_answer:.1f} seconds an answer")
    facts += [f"{submission.cost:.2f} dollars"] if submission.cost is not None else []
    return "; ".join([*facts, submission.dates[0][:10]])


def _digests(system: TrackerSystem) -> list[str]:
    """The digests of a system's scores; none unless it is known what all runs were made from."""
    origins = {run.provenance for run in system.runs}
    if len(origins) > 1 or UNVERIFIED in origins:
        return []
    return [run.results.scores.sha256 for run in system.runs]


def row_digest(row: msgspec.Struct) -> str:
    """The SHA-256, in hexadecimal, of what a row says but for `sha256` itself."""
    stated = {name: value for name, value in _stated(row).items() if name != "sha256"}
    return hashlib.sha256(msgspec.json.encode(stated, order="deterministic")).hexdigest()


def _stated(row: msgspec.Struct) -> dict[str, Any]:
    """The fields of a row that say something, as JSON values."""
    fields: dict[str, Any] = msgspec.to_builtins(row)
    for name, value in fields.items():
        if isinstance(value, dict):
            fields[name] = {key: score for key, score in value.items() if score is not None}
    return {name: value for name, value in fields.items() if value not in ("", False, None, [])}


def _mean(scores: Sequence[GroupScores]) -> Headline:
    """The mean of each score over runs; None where one of them lacks it."""

    def mean(values: Sequence[float | None]) -> float | None:
        defined = [100 * value for value in values if value is not None]
        return round(sum(defined) / len(defined), 4) if len(defined) == len(values) else None

    return Headline(
        jga_orig=mean([s.jga_orig for s in scores]),
        jga_v1_5=mean([s.jga_v1_5 for s in scores]),
        relative_difference=mean([s.relative_difference for s in scores]),
        ss_jga=mean([s.ss_jga for s in scores]),
        jga_worst=mean([s.jga_worst for s in scores]),
        flips=mean([s.flips for s in scores]),
        change_v1_5=mean([s.change_v1_5 for s in scores]),
    )


def _intervals(scores: GroupScores) -> dict[str, tuple[float, float]]:
    """The intervals of the headline scores that have one, in percent."""
    names = (_KEYS.get(name, name) for name in Headline.__struct_fields__)
    return {
        name: (round(100 * ends[0], 4), round(100 * ends[1], 4))
        for name in names
        if (ends := scores.confidence.get(name))
    }


def prediction_command(run: TrackerRun) -> str:
    """The command that made a run's predictions, with words in capitals for what is not known."""
    metadata = run.record.metadata
    tracker, model = metadata.get("tracker", "TRACKER"), metadata.get("model")
    if tracker == "llm":
        words = ["baselines.llm", "predict", "--model", str(model), *request_options(metadata)]
    elif model in (None, tracker):
        words = ["baselines.evaluate", "--tracker", tracker]
    else:
        # A path from the root says more of a user's machine than a leaderboard needs.
        shown = Path(model).name if Path(model).is_absolute() else model
        words = ["baselines.evaluate", "--model", shown]
    words += ["--source", "sample" if run.signature_parts.get("release") == "sample" else "PATH"]
    words += ["--dialogues", "FILE"] if "dialogues" in run.signature_parts else []
    return shlex.join(["python", "-m", *words, "--output", f"outputs/{name_of_path(run.path)}"])


def request_options(metadata: Mapping[str, Any]) -> list[str]:
    """The options of ``baselines.llm`` that made requests what predictions say they were."""
    words = ["--answer", metadata["answer"]] if metadata.get("answer", "tool") != "tool" else []
    words += ["--provider", metadata["provider"]] if "provider" in metadata else []
    for name, value in (metadata.get("parameters") or {}).items():
        if DEFAULT_PARAMETERS.get(name) != value:
            words += ["--set", f"{name}={msgspec.json.encode(value).decode()}"]
    return [*words, "--base-url", "URL"]


def write_own(
    path: Path,
    rows: Sequence[msgspec.Struct],
    head: str = HEAD,
    parse: Callable[[bytes, str], Any] = parse_own,
) -> None:
    """Add rows to a file of own rows, which is made where it lacks; what is there stays.

    Args:
        path: The file.
        rows: The rows.
        head: How a new file begins.
        parse: Reads the content of the file named by its second argument, and refuses what is none.

    Raises:
        SgdxError: A row is there already, or the file cannot be written.
    """
    before = path.read_text(encoding="utf-8") if path.is_file() else head
    data = (before + "".join(map(_toml, rows))).encode()
    parse(data, str(path))
    with staged(path) as staging:
        staging.write_bytes(data)


def _toml(row: msgspec.Struct) -> str:
    """A row as the text of a table; JSON's strings, numbers and booleans are TOML's too."""
    lines = ["", "[[row]]"]
    for name, value in _stated(row).items():
        if isinstance(value, dict):
            inner = ", ".join(f"{key} = {_number_or_pair(of)}" for key, of in value.items())
            lines.append(f"{name} = {{ {inner} }}")
        else:
            lines.append(f"{name} = {msgspec.json.encode(value).decode()}")
    return "\n".join(lines) + "\n"


def _number_or_pair(value: float | Sequence[float]) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, Sequence) else str(value)


def render_leaderboard(own: Sequence[OwnRow], published: Sequence[PublishedRow]) -> str:
    """The page of the leaderboard in Markdown, its rows by JGA_v1-5 and then by JGA_orig."""
    comparable = [row for row in published if not row.not_comparable]
    others = [row for row in published if row.not_comparable]
    sections = [_INTRODUCTION, *sections_by_data(sorted(own, key=_rank), _own_table)]
    if not own:
        sections.append("No row yet.")
    sections += [
        f"## Published\n\n{_PUBLISHED}\n\n{_published_table(comparable)}",
        f"### Not comparable\n\n{_published_table(others)}",
    ]
    return "\n\n".join(sections) + "\n"


def sections_by_data(
    rows: Sequence[AnyMeasuredRow], table: Callable[[Sequence[AnyMeasuredRow]], str]
) -> list[str]:
    """A section with a table for the rows of each data, as rows of other data do not compare."""
    by_data: dict[str, list[AnyMeasuredRow]] = {}
    for row in rows:
        caveats = "; ".join(row.data_caveats) or "the whole test split"
        by_data.setdefault(caveats, []).append(row)
    return [f"### On {caveats}\n\n{table(of_data)}" for caveats, of_data in by_data.items()]


_INTRODUCTION = """\
# Leaderboard of trackers, calls and generators

This page compares dialogue state trackers on SGD and SGD-X. The rows are sorted by JGA_v1-5. All
figures are in percent; 95 % intervals over dialogues are in brackets.

| column | what it is | better |
|---|---|---|
| JGA_orig | joint goal accuracy under the original schemas | higher |
| JGA_v1-5 | mean joint goal accuracy under the rewordings v1 to v5 | higher |
| Diff_rel | (JGA_v1-5 - JGA_orig) / JGA_orig | nearer to 0 |
| SS_JGA | schema sensitivity: how much the score of a frame varies over v1 to v5 | lower |
| JGA_worst | mean score of each frame under its worst wording, of the original and v1 to v5 | higher |
| flips | share of frames that are right under one of these six wordings and wrong under another | lower |
| change | mean change accuracy under v1 to v5: the share of frames whose change since the service's previous frame is right | higher |
| seen, unseen | JGA_v1-5 of services that the train split has, and of services that it does not have | higher |
| trained on | the schemas of the training, and how many dialogues and frames of the train split it had | |

**What the remarks mean.** Rows on partial data or a small sample are no results on the benchmark.
Neither are rows of an oracle or of random weights. *Unverified*: an earlier version of this project
made the scores, and it did not record what they were made from. *Made elsewhere*: the predictions
state nothing about themselves.

**To add a row**, evaluate a tracker on the test split under all six wordings. Then run

```bash
python -m baselines.report --leaderboard outputs/my_run
```

The command adds the run to [`leaderboard.toml`](leaderboard.toml), checks that file and writes this
page from it and from the published rows of the report. Send both files as a pull request, and do not
edit this page by hand. A row has a signature by the official rules, the command that made it, and
digests of its scores and of itself, so a changed row is refused. If a model was asked over an
interface or by a program, its row comes [with a submission](submit.md), which says how it was asked
and what it cost.

## Measured with this project"""  # noqa: E501

_PUBLISHED = (
    "These figures are from the papers' tables. The authors measured them with their own code on "
    "the whole test split. Rows of a partial copy or of the sample cannot be compared with them."
)


def _rank(row: LeaderboardRow[Headline]) -> tuple[float, float]:
    return -(row.all.jga_v1_5 or -1), -(row.all.jga_orig or -1)


def _own_table(rows: Sequence[OwnRow]) -> str:
    table = [
        "| system | JGA_orig | JGA_v1-5 | Diff_rel | SS_JGA | JGA_worst | flips | change | "
        "seen JGA_v1-5 | unseen JGA_v1-5 | trained on | remarks |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    for number, row in enumerate(rows, 1):
        groups = [_cell(scores.jga_v1_5 if scores else None) for scores in (row.seen, row.unseen)]
        name, caveats = f"{markdown(row.system)} ({number})", "; ".join(row.caveats)
        intervals = row.intervals or {}
        scores = [_cell(getattr(row.all, key), intervals.get(_KEYS.get(key, key))) for key in _OWN]
        trained_on = row.trained_on or NO_VALUE
        table.append(f"| {' | '.join([name, *scores, *groups, trained_on, caveats])} |")
        asked = f"  \n   Asked: {row.asked}." if row.asked else ""
        notes.append(f"{number}. `{row.command}`  \n   `{row.signature}`{asked}")
    return with_notes(table, notes)


def with_notes(table: Sequence[str], notes: Sequence[str]) -> str:
    """A table and its numbered notes as Markdown, in which the notes are folded.

    Args:
        table: The lines of the table.
        notes: For each of its rows, the command that gave it and the signature.
    """
    begin = "<details><summary>Commands and signatures</summary>"
    return "\n".join([*table, "", begin, "", *notes, "", "</details>"])


def _published_table(rows: Sequence[PublishedRow]) -> str:
    table = [
        "| system | JGA_orig | JGA_v1-5 | Diff_rel | SS_JGA | data | source | remarks |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=_rank):
        cells = [row.name, *row.all.cells(), row.data, row.where, row.not_comparable]
        table.append(f"| {' | '.join(cells)} |")
    return "\n".join(table)
