"""Exporting: the release's JSON back, and what its own converter makes of it.

On the sample, on ``mini``, whose names clash, and on a few files of the real release.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SPLITS, SgdxError
from sgdx_dataset.export import export
from sgdx_dataset.release import SAMPLE, open_release
from sgdx_dataset.row_datasets import release_dialogue
from sgdx_dataset.rows import row_tables

Json = Any


def convert(dialogue: Json, original: list[Json], variant: list[Json]) -> Json:
    """A dialogue with every element's name replaced by the variant's at the same position.

    As ``sgd_x/generate_sgdx_dialogues.py`` of the release does it since 2023-08-07.
    """
    made = copy.deepcopy(dialogue)
    pairs = {old["service_name"]: (old, new) for old, new in zip(original, variant)}
    made["services"] = [pairs[name][1]["service_name"] for name in made["services"]]
    for turn in made["turns"]:
        for frame in turn["frames"]:
            old, new = pairs[frame["service"]]
            frame["service"] = new["service_name"]
            slots = {a["name"]: b["name"] for a, b in zip(old["slots"], new["slots"])}
            intents = {a["name"]: b["name"] for a, b in zip(old["intents"], new["intents"])}
            rename_frame(frame, slots, intents)
    return made


def rename_frame(frame: Json, slots: dict[str, str], intents: dict[str, str]) -> None:
    def renamed(values: dict[str, Json]) -> dict[str, Json]:
        return {slots.get(key, key): value for key, value in values.items()}

    for span in frame["slots"]:
        span["slot"] = slots.get(span["slot"], span["slot"])
    for action in frame["actions"]:
        if action["slot"] == "intent" and action["act"] in ("INFORM_INTENT", "OFFER_INTENT"):
            for kind in ("values", "canonical_values"):
                action[kind] = [intents.get(value, value) for value in action[kind]]
        else:
            action["slot"] = slots.get(action["slot"], action["slot"])
    if state := frame.get("state"):
        state["active_intent"] = intents.get(state["active_intent"], state["active_intent"])
        state["requested_slots"] = [slots.get(slot, slot) for slot in state["requested_slots"]]
        state["slot_values"] = renamed(state["slot_values"])
    if call := frame.get("service_call"):
        call["method"] = intents.get(call["method"], call["method"])
        call["parameters"] = renamed(call["parameters"])
        frame["service_results"] = list(map(renamed, frame["service_results"]))


def test_original_is_the_source_value_for_value(tmp_path: Path) -> None:
    folders = export(open_release("sample"), "original", tmp_path / "out")
    assert folders == [tmp_path / "out" / name for name in ("train", "dev", "test")]
    exported = sorted(path.relative_to(tmp_path / "out") for path in tmp_path.rglob("*.json"))
    sources = [SAMPLE / folder for folder in ("train", "dev", "test")]
    assert exported == sorted(p.relative_to(SAMPLE) for f in sources for p in f.glob("*.json"))
    for file in exported:
        made, source = (json.loads((of / file).read_text()) for of in (tmp_path / "out", SAMPLE))
        assert made == source


@pytest.mark.parametrize("variant", ["v1", "v2", "v5"])
def test_variants_are_what_the_converter_makes(tmp_path: Path, mini: Path, variant: str) -> None:
    """Of the sample those that are nearest and farthest, of whose names some clash."""
    for source in (*(["sample"] if variant in ("v1", "v5") else []), str(mini)):
        release, output = open_release(source), tmp_path / Path(source).name / "out"
        export(release, variant, output)
        for split, folder in SPLITS.items():
            original = json.loads(release.read(f"{folder}/schema.json"))
            schema = json.loads((output / folder / "schema.json").read_text())
            assert schema == json.loads(release.read(f"sgd_x/data/{variant}/{folder}/schema.json"))
            for file in release.dialogue_files(split):
                expected = [convert(d, original, schema) for d in json.loads(release.read(file))]
                assert json.loads((output / file).read_text()) == expected
        # An export can be read as a source.
        again, file = tmp_path / "again" / output.parent.name, "test/dialogues_001.json"
        export(open_release(output), "original", again, ["test"])
        assert (again / file).read_bytes() == (output / file).read_bytes()


def test_a_new_output_appears_with_all_splits_or_not_at_all(
    mini: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was killed between two splits would leave a source that has one alone."""
    release, replace, before = open_release(mini), Path.replace, sorted(tmp_path.iterdir())

    def killed(path: Path, target: Path) -> Path:
        if target.name == "test":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "replace", killed)
        export(release, "v1", tmp_path / "out")
    path = mini / "test" / "dialogues_001.json"
    path.write_text(path.read_text()[:-5])
    with pytest.raises(SgdxError, match=f"^{mini}: test/dialogues_001.json: "):
        export(open_release(mini), "v1", tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.release
@pytest.mark.parametrize("variant", ["original", "v5"])
def test_dialogues_of_the_release_are_what_its_converter_makes(
    release_archive: Path, variant: str
) -> None:
    release = open_release(release_archive)
    paths = [release.schema_file("test", config) for config in ("original", variant)]
    original, schema = (json.loads(release.read(path)) for path in paths)
    left_out = release.dialogue_files("test")[4:]
    few = replace(release, files={f: release.files[f] for f in release.files if f not in left_out})
    for file, table in row_tables(few, "test", variant):
        for old, row in zip(json.loads(release.read(file)), table.to_pylist(), strict=True):
            assert release_dialogue(row) == convert(old, original, schema)
