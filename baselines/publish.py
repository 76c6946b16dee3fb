"""Write the model card of a trained tracker or generator, and optionally push it to the Hub."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgdx_dataset import SgdxError

from .command_line import run_command
from .model_card import push, write_card
from .tracker import get_trainable, tracker_of
from .training.run_folder import read_run


def publish(output: Path, repository: str | None) -> str | None:
    """Write the model card of a run and, if a repository is given, push the model to it.

    Args:
        output: The run folder of a training.
        repository: Name of the repository on the Hub, as YOU/NAME; None to push nothing.

    Returns:
        URL of the commit on the Hub; None without a repository.

    Raises:
        SgdxError: The folder does not hold a training, pushing to the Hub failed, or the model is a
            prefix for a model that is not on the Hub, where nobody could use it.
    """
    run = read_run(output)
    settings = run["record"]["settings"]
    if repository and settings.get("prefix") and not run.get("pretrained_commit"):
        raise SgdxError(
            f"{output}: holds a prefix for the model {settings['model']}, expected one for a model "
            "on the Hub: whoever loads a prefix from the Hub needs that model too"
        )
    kind = get_trainable(tracker_of(str(output)))
    place = repository or str(output)
    write_card(output, place, kind.example(place, settings))
    return push(output, repository, kind.TASKS) if repository else None


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.publish", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the run folder of a training")
    parser.add_argument("--push-to-hub", metavar="REPO", help="push to this repository, YOU/NAME")
    options = parser.parse_args()

    def run() -> None:
        print(publish(options.model, options.push_to_hub) or options.model / "README.md")

    return run_command("baselines.publish", run)


if __name__ == "__main__":
    sys.exit(main())
