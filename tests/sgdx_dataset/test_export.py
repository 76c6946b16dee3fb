"""Exporting: the release's JSON back, and what its own converter makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_dataset import SPLITS, VARIANTS, SgdxError
from sgdx_dataset.export import export
from sgdx_dataset.release import SAMPLE, open_release

from .converter import convert


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
        export(open_release(output), "original", tmp_path / "again" / output.parent.name, ["test"])
        file = "test/dialogues_001.json"
        again = tmp_path / "again" / output.parent.name / file
        assert again.read_bytes() == (output / file).read_bytes()


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
