"""A built repository: what `datasets` alone makes of it, from a folder and from the Hub."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard

from sgdx_dataset import CONFIGS, frames, load
from sgdx_dataset.build import push
from sgdx_dataset.card import write_card
from sgdx_dataset.columns import DIALOGUE_COLUMNS, FRAME_COLUMNS
from sgdx_dataset.options import UploadOptions
from sgdx_dataset.questions import question_table
from sgdx_dataset.release import Release, open_release

from ..conftest import Run
from ..hub import TOKEN, Hub, card_errors
from .conftest import WITHOUT_US

# Dialogues, frames and questions.
ALL_CONFIGS = sorted(
    [*CONFIGS, *(f"{name}-frames" for name in CONFIGS), "v1-5-questions"]
    + [f"{name}-questions" for name in CONFIGS if name != "backtrans"]
)
LOAD = """
from datasets import get_dataset_config_names, load_dataset

place, out = sys.argv[1], {}
for config in ("v3", "backtrans", "v3-frames", "v1-5-questions"):
    data = load_dataset(place, config)
    out[config] = {split: rows.num_rows for split, rows in data.items()}
assert list(load_dataset(place, config, split="test", streaming=True)) == list(data["test"])
out["default"] = load_dataset(place, split="test")[0]["variant"]
rows = load_dataset("you/sgdx", "v3", split="test")
tagged = load_dataset("you/sgdx", "v3", split="test", revision="v1.0.0", streaming=True)
assert list(tagged) == list(rows)
configs = [get_dataset_config_names(name) for name in (place, "you/sgdx")]
print(json.dumps([out, configs, rows[-1]]))
"""


def build(release: Release, output: Path) -> Path:
    return Path(push(lambda: release, "you/sgdx", UploadOptions(output=output)))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(open_release("sample"), tmp_path_factory.mktemp("hub") / "sgdx")


def test_what_is_built_and_pushed_is_loaded_by_datasets_alone(
    built: Path, run: Run, online: Hub, tmp_path: Path
) -> None:
    """In one commit with a tag, with a card of its own name; without a token nothing is built."""
    push = ("sgdx_dataset", "push", "you/sgdx", "--source", "sample")
    done = run(*push, HF_TOKEN="")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("sgdx: error: you/sgdx: ") and "HF_TOKEN" in done.stderr
    done = run(*push)
    assert (done.returncode, done.stdout) == (0, f"{online.url}/datasets/you/sgdx\n"), done.stderr
    assert TOKEN not in done.stderr
    repository = online.repositories["datasets", "you/sgdx"]
    assert len(repository.commits) == 2 and not repository.private  # one is the Hub's own
    assert repository.tags == {"v1.0.0": repository.commits[-1][0]}
    shown = {path for path in built.rglob("*") if path.is_file()}
    assert {str(p.relative_to(built)): p.read_bytes() for p in shown} == {
        path: content for path, content in repository.files.items() if path != ".gitattributes"
    }
    card = DatasetCard(repository.files["README.md"].decode())
    assert 'load_dataset("you/sgdx", "v3", split="test")' in card.text
    loaded = online.python(tmp_path / "home", "-c", WITHOUT_US + LOAD, built, token=None)
    assert loaded.returncode == 0, loaded.stderr
    sizes, configs, last = json.loads(loaded.stdout.splitlines()[-1])
    assert sizes == {
        "v3": {"train": 66, "validation": 19, "test": 36},
        "backtrans": {"train": 198},
        "v3-frames": {"train": 492, "validation": 137, "test": 273},
        "v1-5-questions": {"test": 5 * 273},
        "default": "original",
    }
    assert (configs, last) == ([ALL_CONFIGS] * 2, load("v3", "test", "sample")[-1])


def test_rows_are_those_of_the_builder(built: Path) -> None:
    dialogues = load("v5", "test", "sample")
    for name, columns, rows in (
        ("v5", DIALOGUE_COLUMNS, dialogues),
        ("v5-frames", FRAME_COLUMNS, frames(dialogues)),
    ):
        table = pq.read_table(built / "data" / name / "test-00000-of-00001.parquet")
        assert table.schema.remove_metadata() == columns
        assert table.to_pylist() == list(rows)


def test_questions_show_what_a_tracker_reads_and_answers_are_values_that_were_said(
    built: Path,
) -> None:
    rows = pq.read_table(built / "data/v3-questions/test-00000-of-00001.parquet").to_pylist()
    for row, frame in zip(rows, frames(load("v3", "test", "sample")), strict=True):
        assert row["frame_id"] == frame["frame_id"]
        said = [turn["utterance"] for turn in frame["history"]] + [frame["utterance"]]
        words = [word["description"] for word in (frame["schema"], *frame["schema"]["slots"])]
        assert all(text in row["question"] for text in (*said, *words))
        pairs = [line.split(": ", 1) for line in row["answer"].split("\n")]
        answer = {} if row["answer"] == "none" else dict(pairs)
        values = {pair["slot"]: pair["values"] for pair in frame["slot_values"]}
        assert answer.keys() == values.keys()
        assert all(answer[slot] in forms for slot, forms in values.items())


def test_of_a_value_s_forms_the_last_said_one_is_the_answer() -> None:
    slot = {"name": "at", "description": "When", "is_categorical": False, "possible_values": []}
    frame = {
        "frame_id": "1/2/Cabs_1",
        "variant": "original",
        "history": [
            {"speaker": "USER", "utterance": "A cab at six."},
            {"speaker": "SYSTEM", "utterance": "At 6 PM?"},
        ],
        "utterance": "Yes.",
        "schema": {"service_name": "Cabs_1", "description": "Rides", "slots": [slot]},
        "slot_values": [{"slot": "at", "values": ["six", "6 pm"]}],
    }
    columns = pa.schema([FRAME_COLUMNS.field(name) for name in frame])
    (row,) = question_table(pa.Table.from_pylist([frame], columns)).to_pylist()
    assert row["answer"] == "at: 6 pm"
    assert "User: A cab at six.\nAssistant: At 6 PM?\nUser: Yes.\n" in row["question"]


def test_the_card_says_what_is_there(built: Path) -> None:
    card = DatasetCard.load(built / "README.md")
    assert [config["config_name"] for config in card.data.configs] == ALL_CONFIGS
    assert [c["config_name"] for c in card.data.configs if c.get("default")] == ["original"]
    assert card.data.license == "apache-2.0"  # of the sample, which is no SGD
    assert card.data.size_categories == ["n<1K"] and "SGD-X:" not in card.data.pretty_name
    assert "Rastogi" not in card.text and "CC BY-SA" not in card.text
    assert card.data.task_categories == ["text-generation"]
    infos = {info["config_name"]: info for info in card.data.dataset_info}
    (split,), file = infos["backtrans"]["splits"], "backtrans/train-00000-of-00001.parquet"
    assert (split["name"], split["num_examples"]) == ("train", 198)
    assert infos["backtrans"]["dataset_size"] == split["num_bytes"] > 1_000_000
    assert infos["backtrans"]["download_size"] == (built / "data" / file).stat().st_size
    rows = ("| `v3` | 66 | 19 | 36 |", "| `v2` | `clinic_city`, `pet`")
    assert all(text in card.text for text in (*rows, "This is not the SGD release"))
    assert "$" not in card.text.replace("$30", "")
    row = json.loads(card.text.split("```json\n")[1].split("```")[0])
    assert list(row) == DIALOGUE_COLUMNS.names
    same = next(d for d in load("v1", "test") if d["dialogue_id"] == row["dialogue_id"])
    assert (row["services"], row["turns"][:2]) == (same["services"], same["turns"][:2])
    turns = [turn for dialogue in load("original", "train") for turn in dialogue["turns"]]
    acts = {action["act"] for turn in turns for f in turn["frames"] for action in f["actions"]}
    assert all(f"`{act}`" in card.text for act in acts)


@pytest.mark.release
def test_a_card_of_sgd_says_so(release_archive: Path, tmp_path: Path) -> None:
    """With the links in the text of which the Hub makes tags of papers."""
    release, splits = open_release(str(release_archive)), datasets.SplitDict()
    splits.add(datasets.SplitInfo("train", num_examples=22_825))
    write_card(release, tmp_path, {"original": datasets.DatasetInfo(splits=splits)}, "you/sgdx")
    card = DatasetCard.load(tmp_path / "README.md")
    assert (card.data.license, card.data.size_categories) == ("cc-by-sa-4.0", ["10K<n<100K"])
    assert card.data.pretty_name.startswith("SGD and SGD-X: ")
    papers = ("1909.05855", "2110.06800")
    assert all(f"https://arxiv.org/abs/{paper}" in card.text for paper in papers)
    assert "<!--" not in card.text and "`backtrans` has" not in card.text
    assert not card_errors((tmp_path / "README.md").read_text(), "dataset")


def test_the_leaderboards_are_what_the_hub_and_inspect_ask_for(built: Path) -> None:
    benchmark = yaml.safe_load((built / "eval.yaml").read_text())
    assert list(benchmark) == ["name", "description", "evaluation_framework", "tasks"]
    assert benchmark["evaluation_framework"] == "inspect-ai"
    assert benchmark["tasks"] == [
        {
            "id": f"jga_{variant}",
            "config": f"{variant}-questions",
            "split": "test",
            "field_spec": {"input": "question", "target": "answer"},
            "solvers": [{"name": "generate"}],
            "scorers": [{"name": "exact"}],
        }
        for variant in ("v1-5", "original", "v1", "v2", "v3", "v4", "v5")
    ]
