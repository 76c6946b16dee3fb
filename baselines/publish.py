"""Write the card of a trained tracker anew, and push the tracker to the Hub if asked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .command_line import run_command
from .model_card import push, write_card
from .tracker import get_trainable, tracker_of
from .training.run_folder import read_run


def publish(output: Path, repository: str | None) -> str | None:
    """Write the card of a run; with a repository, push the tracker.

    Args:
        output: A run folder.
        repository: YOU/NAME on the Hub, or None.

    Returns:
        The commit's address on the Hub; None without a repository.

    Raises:
        SgdxError: The folder is not of a training, or the Hub does not take it.
    """
    settings = read_run(output)["record"]["settings"]
    kind = get_trainable(tracker_of(str(output)))
    write_card(output, kind.example(repository or str(output), settings))
    return push(output, repository, kind.TASKS) if repository else None


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    parser = argparse.ArgumentParser("python -m baselines.publish", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the run folder of a training")
    parser.add_argument("--push-to-hub", metavar="REPO", help="YOU/NAME: push it there")
    options = parser.parse_args()

    def run() -> None:
        print(publish(options.model, options.push_to_hub) or options.model / "README.md")

    return run_command("baselines.publish", run)


if __name__ == "__main__":
    sys.exit(main())
