"""Exporting a config as JSON files in the release's layout."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..configs import BACKTRANS, SPLITS, split_name
from ..io.errors import SgdxError
from ..io.files import staged
from ..io.json import pretty_json
from ..io.progress import progress
from ..release.release import Release
from ..rows.dialogue_rows import dialogue_tables, steps


def export(
    release: Release,
    config: str,
    output: Path,
    splits: Iterable[str] | None = None,
    dialogue_ids: Collection[str] | None = None,
) -> list[Path]:
    """Write a config's dialogues and schemas as ``output/{train,dev,test}/*.json``."""
    # For ``original`` this is the release's JSON, for ``v1``..``v5`` what its converter
    # (``sgd_x/generate_sgdx_dialogues.py``, fixed version of 2023-08-07) makes, value for value.
    # ``backtrans`` has every dialogue once per language, as in ``output/backtrans-zh/train``.
    release.check_any_dialogues(config)
    splits = [split_name(split) for split in splits or release.splits(config)]
    for split in splits:
        release.check_dialogues(config, split)
    folders = {
        (variant, split): Path(variant if config == BACKTRANS else "", SPLITS[split])
        for variant in release.variants(config)
        for split in splits
    }
    for folder in folders.values():
        if (output / folder).exists():
            expected = "expected a new folder to export to"
            raise SgdxError(f"{output / folder}: exists already, {expected}")
    # A new output appears when all is there; in one that exists, each split appears whole.
    place = nullcontext(output) if output.exists() else staged(output)
    with progress("Exporting", steps(release, [config], splits)), place as whole:
        for (variant, split), folder in folders.items():
            _export_split(release, variant, whole / folder, split, dialogue_ids)
    return [output / folder for folder in folders.values()]


def _export_split(
    release: Release,
    variant: str,
    folder: Path,
    split: str,
    dialogue_ids: Collection[str] | None,
) -> None:
    with staged(folder) as staging:
        staging.mkdir()
        services = release.schema(split, variant).services
        (staging / "schema.json").write_bytes(pretty_json(services, 2))
        for file, table in dialogue_tables(release, split, variant, dialogue_ids):
            if len(table):
                dialogues = [release_dialogue(row) for row in table.to_pylist()]
                (staging / Path(file).name).write_bytes(pretty_json(dialogues, 2, "sorted"))


def release_dialogue(row: dict[str, Any]) -> dict[str, Any]:
    """A dialogue row as the JSON object of the release, without the schemas joined into it."""
    return {
        "dialogue_id": row["dialogue_id"],
        "services": row["services"],
        "turns": [
            {
                "speaker": turn["speaker"],
                "utterance": turn["utterance"],
                "frames": [_release_frame(frame) for frame in turn["frames"]],
            }
            for turn in row["turns"]
        ],
    }


def _release_frame(frame: dict[str, Any]) -> dict[str, Any]:
    release_frame = {part: frame[part] for part in ("service", "slots", "actions")}
    if (state := frame["state"]) is not None:
        values = {pair["slot"]: pair["values"] for pair in state["slot_values"]}
        release_frame["state"] = {**state, "slot_values": values}
    if (call := frame["service_call"]) is not None:
        release_frame["service_call"] = {**call, "parameters": _mapping(call["parameters"])}
        release_frame["service_results"] = [_mapping(result) for result in frame["service_results"]]
    return release_frame


def _mapping(pairs: list[dict[str, str]]) -> dict[str, str]:
    return {pair["slot"]: pair["value"] for pair in pairs}
