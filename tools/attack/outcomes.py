"""What comes of an attack, in words that are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

# An error in one line that names the file; the data as they were; data that ``Release.version``
# calls unverified; a value that a file of this kind may have; what an undisturbed run writes.
ERROR, RIGHT, UNVERIFIED, ACCEPTED = "error", "right data", "unverified", "accepted"
SAME = "the same bytes"
SURVIVED = {ERROR, RIGHT, UNVERIFIED, ACCEPTED, SAME}

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
        survived = sum(n for outcome, n in outcomes.items() if outcome in SURVIVED)
        text = ", ".join(f"{outcome} {n}" for outcome, n in outcomes.most_common())
        lines.append(f"| {what} | {outcomes.total()} | {survived} | {text} |")
    return "\n".join(lines)


def all_survived(counts: Counts) -> bool:
    """Whether no outcome is one that should not have been."""
    return all(outcome in SURVIVED for outcomes in counts.values() for outcome in outcomes)
