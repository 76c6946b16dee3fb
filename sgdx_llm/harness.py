"""What the tasks for other harnesses (``inspect_task``, ``lm_eval_task``) have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sgdx_dataset import frame_tables
from sgdx_eval.requested import RequestedData

from .plan import Plan
from .requests import RequestSettings

VARIANTS = "original,v1,v2,v3,v4,v5"


def task_plan(
    settings: RequestSettings,
    variants: str | list[str] = VARIANTS,
    dialogues: str | None = None,
    source: str | None = None,
    split: str = "test",
    **_: Any,
) -> Plan:
    """The requests of a task, which asks about all variants; paths are from the user's folder.

    Args:
        settings: What is asked; its model is the harness.
        variants: The variants, with commas between them.
        dialogues: A file of ``sgdx subset``; None for the whole split.
        source: Where SGD is, as for ``sgdx_dataset.load``.
        split: ``train``, ``validation`` or ``test``.

    What a harness says beside these is not looked at.
    """
    names = variants if isinstance(variants, list) else variants.split(",")
    path = Path(dialogues).absolute() if dialogues else None
    return Plan(RequestedData(source, split, {}, path), names, settings, settings.model)


def references(plan: Plan, columns: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """The gold frame rows of a plan's split, by variant and frame."""
    return {
        (row["variant"], row["frame_id"]): row
        for name in plan.names
        for row in frame_tables(plan.data.release, plan.data.split, name, columns).to_pylist()
    }
