"""Exporting: the release's JSON back, and what its own converter makes of it.

On the sample, on ``mini``, whose names clash, and on the real release, partial or whole. Of that a
few files are read; `pytest -m slow` reads all of all splits and variants.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SPLITS, VARIANTS, SgdxError, frame_tables
from sgdx_dataset.export import export
from sgdx_dataset.release import SAMPLE, Release, open_release
from sgdx_dataset.row_datasets import release_dialogue
from sgdx_dataset.rows import row_tables
from sgdx_dataset.source import COMMIT

Json = Any


def convert(dialogue: Json, original: list[Json], variant: list[Json], fixed: bool = True) -> Json:
    """A dialogue with every element's name replaced by the variant's at the same position.

    As ``sgd_x/generate_sgdx_dialogues.py`` of the release does it since 2023-08-07, or before.
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
            rename_frame(frame, slots, intents, fixed)
    return made


def rename_frame(frame: Json, slots: dict[str, str], intents: dict[str, str], fixed: bool) -> None:
    for span in frame["slots"]:
        span["slot"] = slots.get(span["slot"], span["slot"])
    for action in frame["actions"]:
        of_intent = action["act"] in ("INFORM_INTENT", "OFFER_INTENT") or not fixed
        if action["slot"] == "intent" and of_intent:
            for kind in ("values", "canonical_values"):
                action[kind] = [intents.get(value, value) for value in action[kind]]
        else:
            action["slot"] = slots.get(action["slot"], action["slot"])
    if state := frame.get("state"):
        state["active_intent"] = intents.get(state["active_intent"], state["active_intent"])
        state["requested_slots"] = [slots.get(slot, slot) for slot in state["requested_slots"]]
        rename_keys(state["slot_values"], slots, fixed)
    if call := frame.get("service_call"):
        call["method"] = intents.get(call["method"], call["method"])
        rename_keys(call["parameters"], slots, fixed)
    for result in frame.get("service_results", []):
        rename_keys(result, slots, fixed)


def rename_keys(mapping: dict[str, Json], names: dict[str, str], fixed: bool) -> None:
    if fixed:
        renamed = {names.get(key, key): value for key, value in mapping.items()}
        mapping.clear()
        mapping.update(renamed)
        return
    for key in list(mapping):  # one after another: a new name may meet another's old one
        if key in names:
            mapping[names[key]] = mapping.pop(key)


def test_original_is_the_source_value_for_value(tmp_path: Path) -> None:
    folders = export(open_release("sample"), "original", tmp_path / "out")
    assert folders == [tmp_path / "out" / name for name in ("train", "dev", "test")]
    exported = sorted(path.relative_to(tmp_path / "out") for path in tmp_path.rglob("*.json"))
    sources = [SAMPLE / folder for folder in ("train", "dev", "test")]
    assert exported == sorted(p.relative_to(SAMPLE) for f in sources for p in f.glob("*.json"))
    for file in exported:
        made, source = (json.loads((of / file).read_text()) for of in (tmp_path / "out", SAMPLE))
        assert made == source


@pytest.mark.parametrize("variant", VARIANTS)
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


# ---- the real release

ALL = 999
FEW = [("test", "original", 4), ("test", "v5", 4)]
EVERY = [*((split, "original") for split in SPLITS), *(("test", variant) for variant in VARIANTS)]
# Dialogues and frames of the partial copy of commit e852981; a whole one has 16,142, 2,482 and
# 4,201 dialogues.
PARTIAL = {"train": (12_174, 118_167), "validation": (2_098, 20_542), "test": (2_921, 26_802)}


@pytest.fixture
def partial(release_archive: Path) -> Release:
    release = open_release(release_archive)
    if COMMIT not in release_archive.name or len(release.dialogue_files("test")) != 24:
        pytest.skip("these figures are of the partial copy with 24 test files")
    return release


def converted(
    release: Release, split: str, variant: str, count: int = ALL, fixed: bool = True
) -> Iterator[tuple[Json, Json]]:
    """The dialogues of some files under a variant: as the converter makes them, and as we do."""
    paths = [release.schema_file(split, config) for config in ("original", variant)]
    original, schema = (json.loads(release.read(path)) for path in paths)
    left_out = release.dialogue_files(split)[count:]
    few = replace(release, files={f: release.files[f] for f in release.files if f not in left_out})
    for file, table in row_tables(few, split, variant):
        for old, row in zip(json.loads(release.read(file)), table.to_pylist(), strict=True):
            yield convert(old, original, schema, fixed), release_dialogue(row)


@pytest.mark.release
@pytest.mark.parametrize(
    ("split", "variant", "count"),
    [*FEW, *(pytest.param(*each, ALL, marks=pytest.mark.slow) for each in EVERY)],
)
def test_dialogues_of_the_release_are_what_its_converter_makes(
    release_archive: Path, split: str, variant: str, count: int
) -> None:
    for expected, found in converted(open_release(release_archive), split, variant, count):
        assert found == expected


@pytest.mark.release
@pytest.mark.slow
def test_782_test_frames_of_v5_that_only_the_fixed_converter_gets_right(partial: Release) -> None:
    changed = [
        after["service"]
        for old, fixed in converted(partial, "test", "v5", fixed=False)
        for turn, of_fixed in zip(old["turns"], fixed["turns"])
        for before, after in zip(turn["frames"], of_fixed["frames"])
        if before.get("state") != after.get("state")
    ]
    assert len(changed) == 782
    assert set(changed) == {"RentalCars_35"}


@pytest.mark.release
@pytest.mark.slow
def test_counts_and_frames_of_six_configs_line_up(partial: Release) -> None:
    columns, services = ["frame_id", "dialogue_id", "seen"], ["frame_id", "seen"]
    for split, counts in PARTIAL.items():
        rows = frame_tables(partial, split, "original", columns)
        assert (len(rows["dialogue_id"].unique()), len(rows)) == counts
    for config in VARIANTS:
        of_test = frame_tables(partial, "test", config, services)
        assert of_test.equals(rows.select(services))
    seen = {row["frame_id"].rsplit("/", 1)[1]: row["seen"] for row in of_test.to_pylist()}
    assert (sum(seen.values()), len(seen)) == (6, 21)
    assert len(of_test["frame_id"].unique()) == len(of_test)


@pytest.mark.release
@pytest.mark.parametrize("language", ["ja", "ko", "zh"])
def test_overlays_hold_only_what_differs(release_archive: Path, language: str) -> None:
    release = open_release(release_archive)
    overlay = json.loads(release.read(f"backtrans/{language}.json"))
    services = {of["service_name"]: of for of in json.loads(release.read("train/schema.json"))}
    assert len(overlay) == 26
    for name, changes in overlay.items():
        texts = [(services[name], {k: v for k, v in changes.items() if k == "description"})]
        for kind in ("slots", "intents"):
            elements = {element["name"]: element for element in services[name][kind]}
            texts += [(elements[of], parts) for of, parts in changes.get(kind, {}).items()]
        for element, parts in texts:
            assert all(text["text"] != element[part] for part, text in parts.items())
            assert all(t["pivot"] and not t["pivot"].isascii() for t in parts.values())
