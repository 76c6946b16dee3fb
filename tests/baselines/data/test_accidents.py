"""Leaks by accident: a training that has met the test is refused, whichever way it came in.

Each is tried at the door, with ``sgdx train``. With ``--oracle`` it trains and its model says so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baselines import predict, train
from baselines.model_files import model_provenance
from sgdx_dataset.configs import SPLITS, VARIANTS
from sgdx_dataset.export import export
from sgdx_dataset.release import SAMPLE, open_release

from ..conftest import command, write_recipe

Json = Any
Refused = Callable[..., None]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Train for a step on a source: as an oracle, which shows that the source is sound, and not."""

    def run(source: Path | str, **settings: Any) -> None:
        small = {"steps": 1, "save_every": 1, "evaluate_every": 1, "evaluate_frames": 20}
        recipe = write_recipe(tmp_path / "recipe.yaml", "onepass", **small | settings)
        given = ("--recipe", recipe, "--source", source, "--output")
        assert command(monkeypatch, train, *given, tmp_path / "oracle", "--oracle") == 0
        assert command(monkeypatch, train, *given, tmp_path / "clean") == 2
        assert not (tmp_path / "clean").exists()
        provenance = model_provenance(str(tmp_path / "oracle"))
        assert provenance is not None and provenance.oracle

    return run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "source"))


def read(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, content: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def greeted(turn: Json) -> Json:
    """A turn of which the user begins with a greeting."""
    if turn["speaker"] == "USER":
        turn["utterance"] = f"Hi. {turn['utterance']}"
        for span in (span for frame in turn["frames"] for span in frame["slots"]):
            span["start"] += 4
            span["exclusive_end"] += 4
    return turn


CHANGES: dict[str, Callable[[list[Json]], list[Json]]] = {
    "as they are": lambda turns: turns,
    "every utterance is greeted": lambda turns: [greeted(turn) for turn in turns],
    "without the last two turns": lambda turns: turns[:-2],
}


def let_it_hold_the_test(source: Path, folder: str = "train", change: str = "as they are") -> Path:
    """Put the test's dialogues about services of a split into its folder."""
    known = {service["service_name"] for service in read(source / folder / "schema.json")}
    met = [
        dialogue
        for file in sorted((SAMPLE / "test").glob("dialogues_*.json"))
        for dialogue in read(file)
        if known.issuperset(dialogue["services"])
    ]
    assert len(met) >= 5
    for number, dialogue in enumerate(met):
        dialogue["dialogue_id"] = f"9_{number:05}"  # that of a split is none of another's
        dialogue["turns"] = CHANGES[change](dialogue["turns"])
    write(source / folder / "dialogues_009.json", met)
    return source


@pytest.mark.parametrize(
    ("folder", "change"), [("dev", "as they are"), *(("train", change) for change in CHANGES)]
)
def test_a_split_holds_dialogues_of_the_test(
    folder: str, change: str, source: Path, refused: Refused
) -> None:
    refused(let_it_hold_the_test(source, folder, change))


def test_the_train_split_is_the_test_of_another_source(tmp_path: Path, refused: Refused) -> None:
    """Of a corpus of this package here, without its v1 to v5; SGD's test is known too."""
    moved = {"test": "train", "dev": "dev", "train": "test"}
    for file, content in open_release("many").files.items():
        folder, _, name = file.partition("/")
        if folder in moved and name in ("schema.json", "dialogues_001.json"):
            write(tmp_path / "source" / moved[folder] / name, json.loads(content()))
    refused(tmp_path / "source")


def test_single_utterances_of_the_test_are_in_other_dialogues(
    source: Path, refused: Refused
) -> None:
    """A third of what its users say, where an utterance of train names no value."""
    said = [turn["utterance"] for file in sorted((source / "test").glob("dialogues_*"))
            for dialogue in read(file) for turn in dialogue["turns"]
            if turn["speaker"] == "USER" and len(turn["utterance"]) > 60]  # fmt: skip
    for file in sorted((source / "train").glob("dialogues_*")):
        dialogues = read(file)
        for turn in (turn for dialogue in dialogues for turn in dialogue["turns"]):
            values = [span for frame in turn["frames"] for span in frame["slots"]]
            if turn["speaker"] == "USER" and not values and said:
                turn["utterance"] = said.pop()
        write(file, dialogues)
    refused(source)


@pytest.mark.parametrize("change", ["as they are", "every utterance is greeted"])
def test_a_second_corpus_holds_dialogues_of_the_test(
    change: str, source: Path, refused: Refused
) -> None:
    let_it_hold_the_test(source, change=change)
    also = {"source": str(source), "share": 0.3, "variants": ["original"]}
    refused("sample", also=also)


def test_dev_is_worded_by_v1(source: Path, refused: Refused, tmp_path: Path) -> None:
    shutil.rmtree(source / "dev")
    export(open_release("sample"), "v1", tmp_path / "v1", ["validation"])
    shutil.copytree(tmp_path / "v1" / "dev", source / "dev")
    refused(source)


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


def test_a_second_corpus_is_a_copy_of_the_source(
    source: Path, refused: Refused, tmp_path: Path
) -> None:
    copy = shutil.copytree(in_other_words(source), tmp_path / "copy")
    refused(source, also={"source": str(copy), "share": 0.3})


def worded(path: Path, variant: str, word: Callable[[Json, Json], Json]) -> Path:
    """A folder of one rewording, made of the sample's train schema and that of a variant."""
    schemas = [
        read(folder / "train" / "schema.json")
        for folder in (SAMPLE, SAMPLE / "sgd_x" / "data" / variant)
    ]
    content = {}
    for old, new in zip(*schemas, strict=True):
        words: Json = {"description": word(old, new)["description"]}
        for kind in ("slots", "intents"):
            words[kind] = {
                before["name"]: word(before, after)
                for before, after in zip(old[kind], new[kind], strict=True)
            }
        content[old["service_name"]] = words
    write(path / "mine.json", content)
    return path


def test_names_of_v1_are_the_descriptions(refused: Refused, tmp_path: Path) -> None:
    def word(old: Json, new: Json) -> Json:
        name = new.get("name", old["description"])  # a service keeps its description
        return {"name": old.get("name"), "description": name.replace("_", " ")}

    mine = worded(tmp_path / "mine", "v1", word)
    refused("sample", augment={"schemas": str(mine)})


def test_words_of_v5_have_accents(refused: Refused, tmp_path: Path) -> None:
    accents = str.maketrans("aeiou", "áéíóú")

    def word(old: Json, new: Json) -> Json:
        return {
            part: new[part].translate(accents) for part in ("name", "description") if part in new
        }

    mine = worded(tmp_path / "mine", "v5", word)
    refused("sample", augment={"schemas": str(mine)})


def test_a_second_corpus_does_not_hide_the_one_before(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that starts from another names the second corpora of both."""
    small = {"steps": 1, "save_every": 1, "evaluate_every": 1, "evaluate_frames": 20}
    corpora = in_other_words(source), "many"
    model = "tiny"
    for number, corpus in enumerate(map(str, corpora)):
        also = {"source": corpus, "share": 0.05, "variants": ["original"]}
        run = tmp_path / str(number)
        changes = {"model": model, "also": also, "average": [], **small}
        recipe = write_recipe(tmp_path / "recipe.yaml", "onepass", **changes)
        given = ("--recipe", recipe, "--source", "sample", "--output", run)
        assert command(monkeypatch, train, *given) == 0
        model = str(run)
    kept = json.dumps(read(Path(model) / "config.json")["sgdx"])
    assert all(f'"{Path(corpus).name}"' in kept for corpus in corpora)
    assert str(tmp_path) not in kept


def test_a_model_that_was_trained_on_own_words_is_no_clean_judge_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its predictions do not say that it has not seen them; of v1 they do."""

    def word(old: Json, new: Json) -> Json:
        return {
            part: f"zq{value[::-1]}" for part in ("name", "description") if (value := old.get(part))
        }

    mine = worded(tmp_path / "mine", "v1", word)
    small = {"steps": 1, "save_every": 1, "evaluate_every": 1, "evaluate_frames": 20}
    recipe = write_recipe(
        tmp_path / "recipe.yaml", "onepass", augment={"schemas": str(mine)}, **small
    )
    run = tmp_path / "run"
    given = ("--recipe", recipe, "--source", "sample", "--output", run)
    assert command(monkeypatch, train, *given) == 0
    ids = tmp_path / "ids.txt"
    ids.write_text(open_release("sample").read("train/dialogues_001.json").decode().split('"')[3])
    chosen = ("--source", "sample", "--split", "train", "--dialogues", ids)
    words = ("--variant", f"own={mine / 'mine.json'}", "v1")
    output = tmp_path / "predictions"
    assert command(monkeypatch, predict, "--model", run, *chosen, *words, "--output", output) == 0
    found = {}
    for name in ("own", "v1"):
        with (output / f"{name}.jsonl").open() as file:
            found[name] = json.loads(file.readline())["metadata"].get("oracle")
    assert found == {"own": None, "v1": False}
