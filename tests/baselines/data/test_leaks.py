"""Leaks: a training that has met the test is refused, whichever way it came in.

With ``--oracle`` it trains, and its model says so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from baselines import predict, train
from baselines.data.rows import training_rows
from baselines.settings import Also, Augment, Provenance
from baselines.t5dst.settings import Settings
from sgdx_dataset.configs import SPLITS, VARIANTS
from sgdx_dataset.export import export
from sgdx_dataset.release import SAMPLE, open_release

from ..conftest import Refuse, command, write_recipe

Json = Any
SETTINGS = Settings(
    tracker="t5dst", model="tiny", format="d3st", max_input=256, max_target=64, steps=1,
    batch_size=1, token_budget=256, optimizer="adamw", learning_rate=1.0, save_every=1,
    evaluate_every=1, seed=3,
)  # fmt: skip


def with_words(schemas: object) -> Settings:
    return msgspec.structs.replace(SETTINGS, augment=Augment(schemas=str(schemas)))


def with_corpus(source: object, *variants: str) -> Settings:
    also = Also(source=str(source), share=0.3, variants=("original", *variants))
    return msgspec.structs.replace(SETTINGS, also=also)


def oracle_of(
    source: Path | str = "sample", settings: Settings = SETTINGS, culprit: str = ""
) -> Provenance:
    """What a model is that is trained on what models are judged on; it is refused by default."""
    with pytest.raises(ValueError, match=f"{culprit}.* give --oracle"):
        training_rows(settings, str(source), oracle=False)
    provenance = training_rows(settings, str(source), oracle=True).provenance
    assert provenance.oracle
    return provenance


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "source"))


def read(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, content: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def holding_the_test(source: Path, folder: str) -> Path:
    """A source of which a split has the test's dialogues about its services."""
    known = {service["service_name"] for service in read(source / folder / "schema.json")}
    met = [
        dialogue
        for file in sorted((SAMPLE / "test").glob("dialogues_*.json"))
        for dialogue in read(file)
        if known.issuperset(dialogue["services"])
    ]
    for number, dialogue in enumerate(met):
        dialogue["dialogue_id"] = f"9_{number:05}"  # that of a split is none of another's
    write(source / folder / "dialogues_009.json", met)
    return source


@pytest.mark.parametrize("folder", ["dev", "train"])
def test_a_split_holds_dialogues_of_the_test(folder: str, source: Path) -> None:
    oracle_of(holding_the_test(source, folder))


def test_the_command_refuses_it_and_writes_nothing(
    source: Path, tmp_path: Path, refuse: Refuse
) -> None:
    recipe = write_recipe(tmp_path / "recipe.yaml")
    given = ("--recipe", recipe, "--source", holding_the_test(source, "train"), "--output")
    assert "--oracle" in refuse(train, *given, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_second_corpus_holds_dialogues_of_the_test(source: Path) -> None:
    oracle_of("sample", with_corpus(holding_the_test(source, "train")), "also: ")
    oracle_of("sample", with_corpus("sample", "v1"), "also: sample ")  # its words are judged on


def test_dev_is_worded_by_v1(source: Path, tmp_path: Path) -> None:
    shutil.rmtree(source / "dev")
    export(open_release("sample"), "v1", tmp_path / "v1", ["validation"])
    shutil.copytree(tmp_path / "v1" / "dev", source / "dev")
    oracle_of(source)


def in_other_words(source: Path) -> Path:
    """A source whose v1 to v5 are neither SGD's nor the sample's: a letter is behind each word."""
    for variant in VARIANTS:
        for split in SPLITS.values():
            services = read(source / split / "schema.json")
            for service in services:
                service["service_name"] += variant[1:]
                service["description"] += f" x{variant}"
                slots = {slot["name"]: f"{slot['name']}x{variant}" for slot in service["slots"]}
                for element in (*service["slots"], *service["intents"]):
                    element["name"] += f"x{variant}"
                    element["description"] += f" x{variant}"
                for intent in service["intents"]:
                    for part in ("required_slots", "result_slots"):
                        intent[part] = [slots[name] for name in intent[part]]
                    optional = intent["optional_slots"].items()
                    intent["optional_slots"] = {slots[name]: value for name, value in optional}
            write(source / "sgd_x" / "data" / variant / split / "schema.json", services)
    return source


def test_the_words_of_v1_to_v5_are_known_where_the_source_has_others(
    source: Path, tmp_path: Path
) -> None:
    """The sample's, and those of this source, of which a second corpus is a copy."""
    in_other_words(source)
    assert not training_rows(SETTINGS, str(source), oracle=False).provenance.oracle
    assert oracle_of(source, with_words(SAMPLE / "sgd_x" / "data"), "augment: ").overlaps > 100
    copy = shutil.copytree(source, tmp_path / "copy")
    oracle_of(source, with_corpus(copy, "v1"), "also: ")


def test_a_source_made_of_v5(source: Path, tmp_path: Path) -> None:
    """What ``export --variant v5`` writes, with other words as v1..v5."""
    export(open_release("sample"), "v5", tmp_path / "v5")
    shutil.copytree(tmp_path / "v5", source, dirs_exist_ok=True)
    provenance = oracle_of(in_other_words(source))
    assert provenance.train == ("original",) and provenance.overlaps > 100


def test_variants_that_are_copies_of_the_original(source: Path) -> None:
    for variant in VARIANTS:
        for split in SPLITS.values():
            place = source / "sgd_x" / "data" / variant / split / "schema.json"
            shutil.copy(source / split / "schema.json", place)
    oracle_of(source, culprit="v1, v2, v3, v4, v5 have the original")


def worded(
    path: Path, variant: str, word: Callable[[Json, Json], Json], pivot: bool = False
) -> Path:
    """A folder of one rewording, or overlay, made of train's schema and that of a variant."""
    schemas = [
        read(folder / "train" / "schema.json")
        for folder in (SAMPLE, SAMPLE / "sgd_x" / "data" / variant)
    ]

    def of(old: Json, new: Json) -> Json:
        return {
            part: {"pivot": "x", "text": text} if pivot else text
            for part, text in word(old, new).items()
            if text
        }

    content = {}
    for old, new in zip(*schemas, strict=True):
        words: Json = {"description": of(old, new)["description"]}
        for kind in ("slots", "intents"):
            pairs = zip(old[kind], new[kind], strict=True)
            words[kind] = {before["name"]: of(before, after) for before, after in pairs}
        content[old["service_name"]] = words
    write(path / "mine.json", content)
    return path


def same(old: Json, new: Json) -> Json:
    return {part: new.get(part) for part in ("name", "description")}


@pytest.mark.parametrize("pivot", [False, True], ids=["rewording file", "overlay"])
def test_a_file_with_the_words_of_a_variant_is_an_oracle(pivot: bool, tmp_path: Path) -> None:
    oracle_of("sample", with_words(worded(tmp_path / "mine", "v5", same, pivot)), "augment: ")


def test_files_of_one_slot_each_are_an_oracle_together(tmp_path: Path) -> None:
    """In each of the files alone there are too few words of v5 to tell."""
    for service, words in read(worded(tmp_path, "v5", same) / "mine.json").items():
        slot, changes = next(iter(words["slots"].items()))
        write(tmp_path / "parts" / f"{service}.json", {service: {"slots": {slot: changes}}})
    oracle_of("sample", with_words(tmp_path / "parts"))


def test_an_oracle_among_the_sources_back_translations(source: Path, tmp_path: Path) -> None:
    assert not training_rows(with_words("backtrans"), str(source), False).provenance.oracle
    overlay = worded(tmp_path / "mine", "v5", same, pivot=True) / "mine.json"
    shutil.copy(overlay, source / "backtrans" / "fr.json")
    oracle_of(source, with_words("backtrans"), "augment: backtrans")


def test_a_folder_of_the_benchmarks_own_schemas_is_an_oracle(tmp_path: Path) -> None:
    place = tmp_path / "paraphrased" / "train"
    place.mkdir(parents=True)
    shutil.copy(SAMPLE / "sgd_x" / "data" / "v3" / "train" / "schema.json", place)
    provenance = oracle_of("sample", with_words(tmp_path))
    assert provenance.overlaps > 100
    assert provenance.train == ("original", "paraphrased")


def test_few_words_of_a_variant_are_told_not_refused(tmp_path: Path) -> None:
    """Translations may come upon a text of v1..v5."""
    service = open_release("sample").schema("train", "original")[0].service_name
    text = open_release("sample").schema("test", "v4")[0].description
    write(tmp_path / "mine.json", {service: {"description": {"pivot": "x", "text": text}}})
    found = training_rows(with_words(tmp_path), "sample", oracle=False).provenance
    assert (found.train, found.overlaps, found.oracle) == (("original", "mine"), 1, False)


def started(provenance: Provenance, settings: Settings, tmp_path: Path) -> Settings:
    """A recipe that starts from a model which was trained so."""
    write(tmp_path / "model" / "config.json", {"sgdx": msgspec.to_builtins(provenance)})
    return msgspec.structs.replace(settings, model=str(tmp_path / "model"))


def test_a_model_that_starts_from_an_oracle_is_one(tmp_path: Path) -> None:
    first = oracle_of("sample", with_words("oracle"))
    found = oracle_of("sample", started(first, with_words("corrupt"), tmp_path), "model: ")
    assert found.overlaps == first.overlaps > 100
    corrupt = ("corrupt-1", "corrupt-2", "corrupt-3")
    assert found.train == ("original", *VARIANTS, *corrupt)


def test_a_model_that_starts_from_another_names_the_second_corpora_of_both(
    source: Path, tmp_path: Path
) -> None:
    first = training_rows(with_corpus(in_other_words(source)), "sample", False).provenance
    settings = started(first, with_corpus("many"), tmp_path)
    found = training_rows(settings, "sample", False).provenance
    assert [of and of.source for of in (found.also, *found.also_before)] == ["many", source.name]


def test_a_model_that_was_trained_on_own_words_is_no_clean_judge_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its predictions do not say that it has not seen them; of v1 they do."""

    def word(old: Json, new: Json) -> Json:
        return {part: f"zq{text[::-1]}" for part, text in same(old, old).items() if text}

    mine = worded(tmp_path / "mine", "v1", word)
    small: Json = {"steps": 1, "save_every": 1, "evaluate_every": 1, "evaluate_frames": 2}
    augment = {"schemas": str(mine), "ratio": 0.1}
    recipe = write_recipe(tmp_path / "recipe.yaml", augment=augment, **small)
    run, ids, output = tmp_path / "run", tmp_path / "ids.txt", tmp_path / "predictions"
    assert command(monkeypatch, train, "--recipe", recipe, "--output", run) == 0
    ids.write_text(open_release("sample").read("train/dialogues_001.json").decode().split('"')[3])
    chosen = (
        "--split",
        "train",
        "--dialogues",
        ids,
        "--variant",
        f"own={mine / 'mine.json'}",
        "v1",
    )
    assert command(monkeypatch, predict, "--model", run, *chosen, "--output", output) == 0
    found = {}
    for name in ("own", "v1"):
        with (output / f"{name}.jsonl").open() as file:
            found[name] = json.loads(file.readline())["metadata"].get("oracle")
    assert found == {"own": None, "v1": False}
