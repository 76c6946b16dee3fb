"""What comes of an attack, in words that are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

# An error in one line that names the file; the data as they were; data that ``Release.version``
# calls unverified; a value that a file of this kind may have; what an undisturbed run writes.
ERROR, RIGHT, UNVERIFIED, ACCEPTED = "error", "right data", "unverified", "accepted"
SAME = "the same bytes"
SURVIVED = {ERROR, RIGHT, UNVERIFIED, ACCEPTED, SAME}
# What begins the outcome of what this machine cannot try, which counts as neither.
NOT_TRIED = "not tried: "

# The outcomes of each attack; one that is not in SURVIVED says what should not have happened.
Counts = dict[str, Counter[str]]


def outcome_of(attempt: Callable[[], str], names: str, faults: tuple[type[Exception], ...]) -> str:
    """What an attempt gives: its own outcome, or ``ERROR`` where it is refused as it should be.

    Args:
        attempt: Does something with hostile input, and says what came of it.
        names: What a message has to begin with, such as the file's path.
        faults: The errors that command lines print in one line.
    """
    try:
        return attempt()
    except faults as error:
        text = str(error)
        fine = text.startswith(names) and "\n" not in text
        return ERROR if fine else f"names no file: {text[:80]}"
    except Exception as error:  # which is what attacks look for
        return f"traceback: {type(error).__name__}: {error}"[:100]


def table(counts: Counts) -> str:
    """A Markdown table: what was tried how often, how often it survived, and what came of it."""
    lines = ["| attack | tried | survived | outcomes |", "|---|---|---|---|"]
    for what, outcomes in counts.items():
        tried = sum(n for outcome, n in outcomes.items() if not outcome.startswith(NOT_TRIED))
        survived = sum(n for outcome, n in outcomes.items() if outcome in SURVIVED)
        text = ", ".join(f"{outcome} {n}" for outcome, n in outcomes.most_common())
        lines.append(f"| {what} | {tried} | {survived} | {text.replace('|', '/')} |")
    return "\n".join(lines)


def all_survived(counts: Counts) -> bool:
    """Whether something was tried, and no outcome is one that should not have been."""
    outcomes = [outcome for of_attack in counts.values() for outcome in of_attack]
    tried = [outcome for outcome in outcomes if not outcome.startswith(NOT_TRIED)]
    return bool(tried) and all(outcome in SURVIVED for outcome in tried)


def write_into(page: Path, attack: str, command: str, counts: Counts) -> None:
    """Put the table of an attack into a Markdown page, with its command and the date.

    It stands between ``<!-- attack NAME -->`` and ``<!-- end NAME -->``; what was there before is
    replaced.

    Raises:
        ValueError: The page has no such place.
    """
    begin, end = f"<!-- attack {attack} -->\n", f"<!-- end {attack} -->"
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise ValueError(f"{page}: has no place for the attack {attack}, expected {begin.strip()}")
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    today = datetime.now(UTC).date().isoformat()
    made = f"`{command}`, {today}:\n\n{table(counts)}\n"
    page.write_text(f"{before}{begin}\n{made}\n{end}{after}", encoding="utf-8")
