"""Augmentations: what is trained on, how often, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from datasets import Dataset

from baselines.data.augment import sampled
from baselines.data.dialogues import read_dialogues
from baselines.data.rows import training_rows
from baselines.provenance import Provenance
from baselines.settings import Also, Augment
from baselines.sgp_dst.data import EXAMPLES
from baselines.t5dst.data import Texts
from baselines.t5dst.formats import FORMATS
from baselines.t5dst.settings import Settings as T5Settings
from sgdx_dataset import SgdxError, frames, load
from sgdx_dataset.configs import SPLITS
from sgdx_dataset.export import export
from sgdx_dataset.release import SAMPLE, open_release
from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_dataset.words import reworded

SETTINGS = T5Settings(
    tracker="t5dst", model="tiny", format="d3st", max_input=256, max_target=64, steps=1,
    batch_size=1, token_budget=256, optimizer="adamw", learning_rate=1.0, save_every=1,
    evaluate_every=1, seed=3,
)  # fmt: skip
BACKTRANS = ["backtrans-ja", "backtrans-ko", "backtrans-zh"]
CORRUPT = ["corrupt-1", "corrupt-2", "corrupt-3"]
VARIANTS = ["v1", "v2", "v3", "v4", "v5"]


def settings(schemas: object, ratio: float = 1.0, seed: int = 0) -> T5Settings:
    augment = Augment(schemas=str(schemas), ratio=ratio, seed=seed)
    return msgspec.structs.replace(SETTINGS, augment=augment)


def test_without_one_it_is_the_original() -> None:
    training = training_rows(SETTINGS, "sample", oracle=False)
    assert training.provenance == Provenance(tracker="t5dst", seed=3)
    assert training.rows["frame_id"] == frames(load("original", "train", "sample"))["frame_id"]


@pytest.mark.parametrize(
    ("schemas", "variants", "oracle"),
    [("backtrans", BACKTRANS, False), ("corrupt", CORRUPT, False), ("oracle", VARIANTS, True)],
)
def test_each_frame_is_there_once_under_each_schema(
    schemas: str, variants: list[str], oracle: bool
) -> None:
    training = training_rows(settings(schemas), "sample", oracle)
    met = Counter(zip(training.rows["variant"], training.rows["frame_id"]))
    assert set(met.values()) == {1}
    ids = set(frames(load("original", "train", "sample"))["frame_id"])
    assert set(met) == {(v, i) for v in ("original", *variants) for i in ids}
    assert training.provenance.train == ("original", *variants)
    assert training.provenance.oracle is oracle


def test_what_is_said_is_in_memory_once() -> None:
    """Under four variants of the schemas no tracker keeps more of the dialogues than under one."""
    alone, with_more = (
        training_rows(each, "sample", False).rows for each in (SETTINGS, settings("backtrans"))
    )
    assert len(with_more) == 4 * len(alone)
    kept = []
    for rows in (alone, with_more):
        texts = Texts(rows, FORMATS["d3st"])
        dialogues = list(read_dialogues(rows))
        asked = {e.question.turn for of in dialogues for e in EXAMPLES["intent"](of)}
        turns = {(turn.system, turn.user) for of in dialogues for turn in of.turns}
        kept.append((len(texts.histories), len(turns), len(asked)))
    assert kept[0] == kept[1]


def test_a_share_of_the_dialogues() -> None:
    training = training_rows(settings("backtrans", 0.25, seed=7), "sample", oracle=False)
    met: dict[str, set[str]] = {}
    for variant, dialogue in zip(training.rows["variant"], training.rows["dialogue_id"]):
        met.setdefault(variant, set()).add(dialogue)
    all_ids = met.pop("original")
    assert {len(ids) for ids in met.values()} == {round(0.25 * len(all_ids))}
    assert len({frozenset(ids) for ids in met.values()}) == 3  # each variant its own
    whole = frames(load("original", "train", "sample"))
    kept = met["backtrans-ja"]
    ids = [row["frame_id"] for row in whole if row["dialogue_id"] in kept]
    mine = training.rows.filter(lambda row: row["variant"] == "backtrans-ja")
    assert mine["frame_id"] == ids  # whole dialogues, in order
    again = sampled(load_backtrans(), 0.25, 7)
    assert again["frame_id"] == training.rows["frame_id"][len(whole) :]
    assert sampled(load_backtrans(), 0.25, 8)["frame_id"] != again["frame_id"]
    assert len(sampled(load_backtrans(), 0.0, 7)) == 0


def test_a_second_corpus_has_its_share_in_whole_dialogues_and_its_own_words() -> None:
    """The sample as the second corpus of itself; its v1 to v5 are an oracle, as they are judged."""
    also = Also(source="sample", share=0.75, variants=("original",))
    training = training_rows(msgspec.structs.replace(SETTINGS, also=also), "sample", False)
    count = len(frames(load("original", "train", "sample")))
    ids = training.rows["frame_id"][:]
    assert 3 * count <= len(ids) - count < 3 * count + 30
    met = Counter(ids[count:])
    assert set(met) == set(ids[:count]) and set(met.values()) <= {2, 3, 4}
    whole: dict[str, list[str]] = {}
    for name in ids[:count]:
        whole.setdefault(name.split("/")[0], []).append(name)
    for dialogue, group in groupby(ids[count:], key=lambda name: name.split("/")[0]):
        assert list(group) == whole[dialogue]
    assert training.provenance.also == also and not training.provenance.oracle
    judged = msgspec.structs.replace(SETTINGS, also=Also(source="sample", share=0.5))
    with pytest.raises(SgdxError, match="also: sample"):
        training_rows(judged, "sample", False)
    assert training_rows(judged, "sample", True).provenance.oracle
    many = msgspec.structs.replace(SETTINGS, also=Also(source="many", share=0.1))
    assert not training_rows(many, "sample", False).provenance.oracle


def load_backtrans() -> Dataset:
    return frames(load("backtrans", "train", "sample"))


def test_a_folder_of_overlays(tmp_path: Path) -> None:
    """Translations may come upon a text of v1..v5: it is told, not refused."""
    texts = {"description": {"pivot": "x", "text": released_description()}}
    services = open_release("sample").schema("train", "original")
    (tmp_path / "mine.json").write_text(json.dumps({services[0].service_name: texts}))
    training = training_rows(settings(tmp_path), "sample", oracle=False)
    assert training.provenance.train == ("original", "mine")
    assert (training.provenance.overlaps, training.provenance.oracle) == (1, False)


def released_description() -> str:
    return open_release("sample").schema("test", "v4")[0].description


def oracle_of(
    settings: T5Settings, culprit: str = "augment: ", source: Path | str = "sample"
) -> Provenance:
    """What a model is that is trained on what models are judged on; it is refused by default."""
    with pytest.raises(SgdxError, match=f"{culprit}.* give --oracle"):
        training_rows(settings, str(source), oracle=False)
    provenance = training_rows(settings, str(source), oracle=True).provenance
    assert provenance.oracle
    return provenance


def test_a_folder_of_the_benchmarks_own_schemas_is_an_oracle(tmp_path: Path) -> None:
    place = tmp_path / "paraphrased" / "train"
    place.mkdir(parents=True)
    shutil.copy(SAMPLE / "sgd_x" / "data" / "v3" / "train" / "schema.json", place)
    provenance = oracle_of(settings(tmp_path))
    assert provenance.overlaps > 100
    assert provenance.train == ("original", "paraphrased")


def words_of_v5(pivot: bool, spell: Callable[[str], str] = str) -> dict[str, Any]:
    """The words of v5 of the sample, as a rewording file or, with pivots, an overlay."""
    release = open_release("sample")

    def words(text: str) -> Any:
        return {"pivot": "x", "text": spell(text)} if pivot else spell(text)

    def elements(old: Sequence[Slot | Intent], new: Sequence[Slot | Intent]) -> dict[str, Any]:
        return {
            before.name: {"name": words(after.name), "description": words(after.description)}
            for before, after in zip(old, new, strict=True)
        }

    schemas = (release.schema("train", name) for name in ("original", "v5"))
    return {
        old.service_name: {
            "description": words(new.description),
            "slots": elements(old.slots, new.slots),
            "intents": elements(old.intents, new.intents),
        }
        for old, new in zip(*schemas, strict=True)
    }


@pytest.mark.parametrize("pivot", [False, True], ids=["rewording file", "overlay"])
def test_a_file_with_the_words_of_v5_is_an_oracle_however_they_are_spelt(
    tmp_path: Path, pivot: bool
) -> None:
    def spell(text: str) -> str:
        return "-".join(text.replace("_", " ").title().split()) + "."

    (tmp_path / "mine.json").write_text(json.dumps(words_of_v5(pivot, spell)))
    with pytest.raises(SgdxError, match=r"\(126\)"):
        training_rows(settings(tmp_path), "sample", oracle=False)


def test_files_of_one_slot_each_are_an_oracle_together(tmp_path: Path) -> None:
    """In each of the files alone there are too few words of v5 to tell."""
    for service, words in words_of_v5(pivot=False).items():
        slot, changes = next(iter(words["slots"].items()))
        content = {service: {"slots": {slot: changes}}}
        (tmp_path / f"{service}.json").write_text(json.dumps(content))
    oracle_of(settings(tmp_path))


def test_an_oracle_among_the_sources_back_translations(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(SAMPLE, source)
    assert not training_rows(settings("backtrans"), str(source), False).provenance.oracle
    overlay = json.dumps(words_of_v5(pivot=True))
    (source / "backtrans" / "fr.json").write_text(overlay)
    oracle_of(settings("backtrans"), "augment: backtrans", source)


def source_with_variants(
    source: Path, change: Callable[[Service], Service], corpus: Path = SAMPLE
) -> Path:
    """A copy of a corpus whose v1..v5 are its original schemas after a change."""
    shutil.copytree(corpus, source)
    release = open_release(corpus)
    for variant in VARIANTS:
        for split, folder in SPLITS.items():
            services = [change(service) for service in release.schema(split, "original")]
            path = source / "sgd_x" / "data" / variant / folder / "schema.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(msgspec.json.encode(services))
    return source


def in_other_words(service: Service) -> Service:
    """A service with a letter behind every name and description."""
    slots, intents = (
        {e.name: (f"{e.name}x", f"{e.description} x") for e in elements}
        for elements in (service.slots, service.intents)
    )
    return reworded(service, service.service_name, f"{service.description} x", slots, intents)


def test_v1_to_v5_are_known_where_the_source_has_others(tmp_path: Path) -> None:
    source = source_with_variants(tmp_path / "source", in_other_words)
    assert not training_rows(SETTINGS, str(source), oracle=False).provenance.oracle
    assert oracle_of(settings(SAMPLE / "sgd_x" / "data"), "sgd_x/data", source).overlaps > 100


def test_a_source_made_of_v5(tmp_path: Path) -> None:
    """What ``export --variant v5`` writes, with v1..v5 that are copies, or in other words."""
    export(open_release("sample"), "v5", tmp_path / "v5")
    for number, change in enumerate((in_other_words, lambda service: service)):
        source = source_with_variants(tmp_path / str(number), change, tmp_path / "v5")
        oracle_of(settings("oracle"), "train/schema.json ", source)
        provenance = oracle_of(SETTINGS, "train/schema.json ", source)
        assert provenance.train == ("original",)
        assert provenance.overlaps > 100


def test_no_such_augmentation(tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match="paraphrases: no such folder"):
        training_rows(settings("paraphrases"), "sample", oracle=False)
    with pytest.raises(SgdxError, match="has no variant, expected"):
        training_rows(settings(tmp_path), "sample", oracle=False)
