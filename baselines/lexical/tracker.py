"""``python -m baselines.lexical.predict``: track a split under every variant, without learning."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasets import Dataset
from datasets.utils import tqdm

from sgdx_dataset import VARIANTS, SgdxError, frames, load

from ..predictions import write_predictions
from .track import Lexicon, State, read_schema, track

Row = dict[str, Any]
# Nothing else of a frame row is decoded: the gold state is out of the tracker's reach.
INPUTS = ["frame_id", "variant", "dialogue_id", "service", "history", "utterance", "schema"]


def predict(rows: Dataset) -> Iterator[Row]:
    """Prediction rows for frame rows, which are in the order of their dialogues' turns."""
    lexicons: dict[tuple[str, str], Lexicon] = {}
    dialogue = None
    states: dict[str, State] = {}
    for row in tqdm(rows.select_columns(INPUTS), desc="Tracking", unit=" frames"):
        if row["dialogue_id"] != dialogue:
            dialogue, states = row["dialogue_id"], {}
        schema = (row["variant"], row["service"])
        if schema not in lexicons:
            lexicons[schema] = read_schema(row["schema"])
        state = states.setdefault(row["service"], State())
        requested = track(lexicons[schema], state, row["utterance"], _last_acts(row))
        yield {
            "frame_id": row["frame_id"],
            "variant": row["variant"],
            "active_intent": state.intent,
            "requested_slots": requested,
            "slot_values": [{"slot": s, "values": [v]} for s, v in sorted(state.slots.items())],
        }


def _last_acts(row: Row) -> list[Row]:
    """The system's acts about this service in the turn before."""
    last = row["history"][-1]["actions"] if row["history"] else []
    return [act for act in last if act["service"] == row["service"]]


def predict_configs(
    configs: list[str], split: str, source: str | None, output: Path
) -> dict[str, Path]:
    """Track a split under each config; one prediction file a config, in ``output``."""
    paths = {}
    for config in configs:
        rows = frames(load(config, split, source))
        metadata = {"model": "lexical", "split": split, "variant": config, "system_acts": True}
        paths[config] = write_predictions(output / f"{config}.jsonl", metadata, predict(rows))
    return paths


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    parser = argparse.ArgumentParser("python -m baselines.lexical.predict", description=__doc__)
    parser.add_argument("--source", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--config", nargs="+", action="extend", help="default: original, v1..v5")
    parser.add_argument("--split", default="test")
    parser.add_argument("--output", type=Path, required=True, help="folder for CONFIG.jsonl")
    options = parser.parse_args()
    try:
        configs = options.config or ["original", *VARIANTS]
        paths = predict_configs(configs, options.split, options.source, options.output)
    except SgdxError as error:
        print(f"lexical: error: {error}", file=sys.stderr)
        return 2
    print(*paths.values(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
