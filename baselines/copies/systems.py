"""The systems that learn nothing, and the files of what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_eval.prediction_files import Header, write_predictions
from sgdx_eval.requested import RequestedData
from sgdx_eval.tasks.turns import read_turns, select_turns, turns_of
from sgsacc_metric.rows import Turn

from .derived import derived
from .templates import from_templates, read_templates

Say = Callable[[Turn], str]


@dataclass(frozen=True)
class CopySystem:
    """A generator that learns nothing."""

    name: str
    say: Say  # returns its response to a turn
    # The schema variant of the turns that it gets; None for each variant's own.
    variant: str | None = None


def copy_system(name: str, templates: Path | None = None) -> CopySystem:
    """The generator ``gold``, ``derived``, ``templates`` or ``empty``."""
    if (templates is None) == (name == "templates"):
        raise SgdxError(
            f"--system {name}: found {'no' if templates is None else 'a'} --templates DIR, expected"
            " it with the system templates and with no other"
        )
    if templates is not None:
        by_service = read_templates(templates)
        return CopySystem(name, lambda turn: from_templates(turn, by_service), "original")
    say: dict[str, Say] = {
        "gold": lambda turn: turn.utterance,
        "derived": derived,
        "empty": lambda turn: "",
    }
    return CopySystem(name, say[name])


def generate(
    system: CopySystem,
    data: RequestedData,
    configs: Sequence[str],
    output: Path,
    single: Path | None = None,
) -> list[Path]:
    """Write a system's responses to all turns as `CONFIG.jsonl` for each config."""
    references = turns_of(data.release, data.split)
    paths = []
    for config in configs:
        turns = select_turns(
            read_turns(references, system.variant or config),
            data.ids or (),
            str(data.dialogues),
            single,
        )
        rows = [
            {"turn_id": turn.turn_id, "variant": config, "utterance": system.say(turn)}
            for turn in turns
        ]
        facts = {"model": f"copy of {system.name}", "input": system.name}
        header = Header(task="turns", variant=config, system=facts, **data.facts(config))
        paths.append(write_predictions(output / f"{config}.jsonl", header, rows))
    return paths
