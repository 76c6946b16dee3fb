"""Scores say what predictions were made from, and predictions of other data are refused."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow.parquet as pq
import pytest

from sgdx_dataset import open_release
from sgdx_dataset.release.open import SAMPLE
from sgdx_metric.report import with_digest

from ...conftest import Run
from ..frames import Row, written

SCORE = ("sgdx_metric", "score", "--split", "test", "--output", "s.json")


def signature_of(folder: Path) -> str:
    scores: dict[str, Any] = json.loads((folder / "s.json").read_text())
    return str(scores["signature"])


def test_predictions_of_the_same_data_are_verified(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """The signature tells predictions of this data from those that do not say what they are of."""
    data = open_release("sample").data_digest("test", "v1")
    for header, part in (
        ({"source": "sample", "data": data}, "|predictions:verified|"),
        ({"model": "of an earlier version"}, "|predictions:unverified|"),
        ({}, "|system-acts:unknown|ci:"),
    ):
        path = written(tmp_path / "p.jsonl", gold["v1"], **header)
        done = command(*SCORE, "--source", "sample", "--predictions", f"v1={path}")
        assert (done.returncode, done.stderr) == (0, "")
        assert part in signature_of(tmp_path)


def test_predictions_of_other_data_are_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """A changed utterance makes other data, even where all frames are the same."""
    copytree(SAMPLE, tmp_path / "source")
    file = tmp_path / "source" / "test" / "dialogues_001.json"
    dialogues = json.loads(file.read_text())
    dialogues[0]["turns"][1]["utterance"] += " "
    file.write_text(json.dumps(dialogues))
    data = open_release("sample").data_digest("test", "v1")
    path = written(tmp_path / "p.jsonl", gold["v1"], source="sample", data=data)
    done = command(*SCORE, "--source", "source", "--predictions", f"v1={path}")
    assert done.returncode == 2
    assert f"predictions for v1: were made from data {data} (source sample)" in done.stderr
    assert not (tmp_path / "s.json").exists()


def test_predictions_of_other_data_or_two_systems_are_not_explained(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    copytree(SAMPLE, tmp_path / "source")
    file = tmp_path / "source" / "test" / "dialogues_001.json"
    file.write_text(file.read_text().replace("?", "!"))
    data = open_release("sample").data_digest("test", "v1")
    path = written(tmp_path / "p.jsonl", gold["v1"], source="sample", data=data, model="a")
    words = ("sgdx_metric", "explain", "--split", "test", "--predictions", f"v1={path}")
    frame = gold["v1"][0]["frame_id"]
    assert command(*words, "--source", "sample", frame).returncode == 0
    done = command(*words, "--source", "source", frame)
    assert done.returncode == 2
    assert f"predictions for v1: were made from data {data} (source sample)" in done.stderr
    other = written(tmp_path / "o.jsonl", gold["original"], model="b")
    done = command(*words, "--predictions", f"original={other}", "--source", "sample", frame)
    assert done.returncode == 2
    assert 'predictions for original: model is "b", and "a" in those for v1' in done.stderr


def test_the_source_that_predictions_name_is_taken(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --source, and with another default, the references are those of the predictions."""
    copytree(SAMPLE, tmp_path / "other")
    for file in (tmp_path / "other" / "test").glob("dialogues_*.json"):
        file.write_text(file.read_text().replace("the", "that"))
    monkeypatch.setenv("SGDX_SOURCE", str(tmp_path / "other"))
    data = open_release("sample").data_digest("test", "v1")
    path = written(tmp_path / "p.jsonl", gold["v1"], source="sample", data=data)
    done = command(*SCORE, "--predictions", f"v1={path}")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: the source is sample, which the predictions were made")
    assert "|release:sample|" in signature_of(tmp_path)


def test_another_wording_than_the_predicted_one_is_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    (tmp_path / "mine.json").write_text('{"Cabs_1": {"description": "Rides"}}')
    rows = [{**row, "variant": "mine"} for row in gold["original"]]
    path = written(tmp_path / "p.jsonl", rows, wording="0123abcd")
    words = ("--source", "sample", "--variant", "mine=mine.json", "--predictions", f"mine={path}")
    done = command(*SCORE, *words)
    assert done.returncode == 2
    assert "predictions for mine: wording is 0123abcd, and the references' is " in done.stderr


def test_a_wording_of_ones_own_is_none_of_v1_to_v5(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"], wording="0123abcd")
    done = command(*SCORE, "--source", "sample", "--predictions", f"v1={path}")
    assert done.returncode == 2
    assert "predictions for v1: wording is 0123abcd, expected none" in done.stderr


def test_a_wording_is_the_same_where_the_data_are(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Rows of some dialogues have some of the services, whose fingerprint is another one."""
    (tmp_path / "mine.json").write_text('{"Cabs_1": {"description": "Rides"}}')
    (tmp_path / "ids.txt").write_text("1_00000\n")
    release = open_release("sample", {"mine": str(tmp_path / "mine.json")})
    rows = [
        {**row, "variant": "mine"}
        for row in gold["original"]
        if row["frame_id"].startswith("1_00000/")
    ]
    header = {"data": release.data_digest("test", "mine"), "wording": "of all services"}
    path = written(tmp_path / "p.jsonl", rows, **header)
    config = ("--source", "sample", "--variant", "mine=mine.json", "--config", "mine")
    choice = ("--split", "test", "--dialogues", "ids.txt")
    made = command("sgdx_dataset", "frames", *config, *choice, "--output", "rows")
    assert made.returncode == 0, made.stderr
    done = command(*SCORE, "--references", "rows", "--predictions", f"mine={path}")
    assert done.returncode == 0, done.stderr
    assert "|predictions:verified|" in signature_of(tmp_path)


def test_a_variant_that_a_folder_lacks_is_told(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    (tmp_path / "p").mkdir()
    for variant in ("original", "v1", "v3"):
        written(tmp_path / "p" / f"{variant}.jsonl", gold[variant])
    done = command(*SCORE, "--source", "sample", "--predictions", "p")
    assert (done.returncode, done.stderr) == (
        0, "note: found no predictions for v2, v4, v5, so there is no mean over v1 to v5\n"
    )  # fmt: skip
    for variant in ("v1", "v3"):
        (tmp_path / "p" / f"{variant}.jsonl").unlink()
    assert command(*SCORE, "--source", "sample", "--predictions", "p").stderr == ""


@pytest.mark.parametrize("number", [None, 1])
def test_calls_among_other_functions_are_no_wordings_cost(
    number: int | None, tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """A header without distractors had none."""
    words = ["--source", "sample"]
    for variant, distractors in {"original": number, "v1": 20}.items():
        header = {"model": "m"} | ({"distractors": distractors} if distractors else {})
        path = written(tmp_path / f"{variant}.jsonl", gold[variant], **header)
        words += ["--predictions", f"{variant}={path}"]
    done = command(*SCORE, *words)
    assert done.returncode == 2
    assert f"v1: distractors is 20, and {number or 0} in those for original" in done.stderr


@pytest.mark.parametrize(
    "key",
    [
        "parts",
        "provider",
        "templates",
        "answer",
        "host",
        "precision",
        "parameters",
        "augment",
        "keep_bias",
        "shuffle",
        "utterances",
    ],
)
def test_files_that_were_made_otherwise_are_refused(
    key: str, tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    words = ["--source", "sample"]
    for variant, value in {"original": "one", "v1": "two"}.items():
        header = {"model": "m", "tracker": "llm", key: value}
        path = written(tmp_path / f"{variant}.jsonl", gold[variant], **header)
        words += ["--predictions", f"{variant}={path}"]
    done = command(*SCORE, *words)
    assert done.returncode == 2
    assert f'predictions for v1: {key} is "two", and "one" in those for original' in done.stderr


def test_a_subset_of_another_split_is_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Dialogues of two splits may have the same id."""
    chosen = ("--split", "validation", "--count", "2", "--output", "subset.json")
    assert command("sgdx_dataset", "subset", "--source", "sample", *chosen).returncode == 0
    path = written(tmp_path / "p.jsonl", gold["v1"])
    words = ("--source", "sample", "--predictions", f"v1={path}", "--dialogues", "subset.json")
    done = command(*SCORE, *words)
    assert done.returncode == 2
    assert "subset.json: is a subset of validation, expected one of test" in done.stderr
    assert command(*SCORE, *words[:4]).returncode == 0
    done = command("sgdx_metric", "compare", "s.json", "s.json", *words[4:])
    assert done.returncode == 2
    assert "subset.json: is a subset of validation, expected one of test" in done.stderr


def test_a_seen_service_that_is_lost_changes_the_signature(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    copytree(SAMPLE, tmp_path / "source")
    schema = tmp_path / "source" / "train" / "schema.json"
    evaluated = {row["frame_id"].split("/")[-1] for row in gold["original"]}
    services = json.loads(schema.read_text())
    lost = next(s for s in services if s["service_name"] in evaluated)
    schema.write_text(json.dumps([s for s in services if s != lost]))
    for file in (tmp_path / "source" / "sgd_x").glob("data/*/train/schema.json"):
        file.unlink()
    path = written(tmp_path / "p.jsonl", gold["original"])
    done = command(*SCORE, "--source", "source", "--predictions", f"original={path}")
    assert done.returncode == 0, done.stderr
    assert "|release:unverified:" in signature_of(tmp_path)


def test_changed_parquet_references_are_unverified(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """The metadata of a file counts only where its columns are as it says."""
    chosen = ("--count", "2", "--split", "test", "--output", "subset.json")
    assert command("sgdx_dataset", "subset", "--source", "sample", *chosen).returncode == 0
    frames = ("--source", "sample", "--config", "v1", "--split", "test", "--output")
    assert command("sgdx_dataset", "frames", *frames, "whole").returncode == 0
    some_frames = (*frames, "some", "--dialogues", "subset.json")
    assert command("sgdx_dataset", "frames", *some_frames).returncode == 0
    path = written(tmp_path / "p.jsonl", gold["v1"])
    words = ("--predictions", f"v1={path}", "--references")
    assert command(*SCORE, *words, "whole").returncode == 0
    assert "|release:sample|" in signature_of(tmp_path)
    ids = [
        row["dialogue_id"] for row in pq.read_table(tmp_path / "some" / "v1.parquet").to_pylist()
    ]
    some = [row for row in gold["v1"] if row["frame_id"].split("/")[0] in ids]
    of_some = written(tmp_path / "some.jsonl", some)
    words_of_some = ("--predictions", f"v1={of_some}", "--references", "some")
    done = command(*SCORE, *words_of_some)
    assert done.returncode == 0, done.stderr
    assert "|dialogues:2@" in signature_of(tmp_path)
    done = command(*SCORE[:3], "validation", *SCORE[4:], *words, "whole")
    assert done.returncode == 2 and "v1.parquet: is of test, expected validation" in done.stderr
    file = tmp_path / "whole" / "v1.parquet"
    metadata = pq.read_metadata(file).metadata
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[0]["active_intent"] = "NONE" if rows[0]["active_intent"] != "NONE" else "Other"
    changed = table.from_pylist(rows, table.schema.with_metadata(metadata))
    pq.write_table(changed, file)
    assert command(*SCORE, *words, "whole").returncode == 0
    assert "|release:unverified:" in signature_of(tmp_path)


def test_a_copied_run_is_no_second_seed(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Two files of scores are of one run where their predictions or weights are the same."""
    headers: dict[str, dict[str, Any]] = {
        "one": {"seed": 1, "weights": "a"},
        "two": {"seed": 2, "weights": "b"},
        "same": {"seed": 3, "weights": "a"},
    }
    for name, header in headers.items():
        path = written(tmp_path / f"{name}.jsonl", gold["v1"], **header)
        words = ("--source", "sample", "--predictions", f"v1={path}", "--output", f"{name}.json")
        assert command("sgdx_metric", "score", *words).returncode == 0
    (tmp_path / "copy.json").write_bytes((tmp_path / "one.json").read_bytes())
    assert command("sgdx_metric", "summarise", "one.json", "two.json").returncode == 0
    for other, what in (("copy.json", "predictions"), ("same.json", "weights")):
        done = command("sgdx_metric", "summarise", "one.json", other)
        assert done.returncode == 2
        assert f"{other}: has the {what} of one.json, expected another run" in done.stderr


@pytest.mark.parametrize(
    ("key", "one", "two"),
    [
        ("tracker", {"tracker": "a", "weights": "1"}, {"tracker": "b", "weights": "2"}),
        ("augment", {"augment": None, "train": ["original"]},
                    {"augment": {"ratio": 1}, "train": ["original"]}),
        ("model", {"model": "a"}, {"model": "b"}),
        ("parameters", {"model": "a", "parameters": {}}, {"model": "a", "parameters": {"t": 1}}),
        ("", {"model": "run-1", "weights": "1", "program": "1", "keep_bias": 0.1},
             {"model": "run-2", "weights": "2", "program": "2", "keep_bias": 0.2}),
    ],
)  # fmt: skip
def test_runs_of_two_systems_are_no_seeds_of_one(
    key: str,
    one: dict[str, Any],
    two: dict[str, Any],
    tmp_path: Path,
    command: Run,
    gold: dict[str, list[Row]],
) -> None:
    for name, header in {"one": one, "two": two}.items():
        path = written(tmp_path / f"{name}.jsonl", gold["v1"], **header)
        words = ("--source", "sample", "--predictions", f"v1={path}", "--output", f"{name}.json")
        assert command("sgdx_metric", "score", *words).returncode == 0
    sides = ("--first", "one.json", "two.json", "--second", "one.json")
    for arguments in (("summarise", "one.json", "two.json"), ("compare", *sides)):
        done = command("sgdx_metric", *arguments)
        assert done.returncode == (2 if key else 0), done.stderr
        if done.returncode:
            expected = f"two.json: the {key} of its predictions is not that of one.json"
            assert expected in done.stderr


def test_a_part_that_a_signature_has_twice_is_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Readers take the last one, and people the first."""
    path = written(tmp_path / "p.jsonl", gold["v1"])
    assert command(*SCORE, "--source", "sample", "--predictions", f"v1={path}").returncode == 0
    scores = json.loads((tmp_path / "s.json").read_text())
    scores["signature"] = scores["signature"].replace("|release:", "|release:mine|release:")
    del scores["sha256"]
    (tmp_path / "s.json").write_text(json.dumps(with_digest(scores)))
    done = command("sgdx_metric", "compare", "s.json", "s.json")
    assert done.returncode == 2
    assert "s.json: signature has the part 'release' twice, expected it once" in done.stderr


def test_a_copied_run_with_one_other_file_is_no_second_seed(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    original = written(tmp_path / "original.jsonl", gold["original"])
    for name in ("one", "two"):
        v1 = written(tmp_path / f"{name}.jsonl", gold["v1"], seed=name)
        files = (f"original={original}", "--predictions", f"v1={v1}", "--output", f"{name}.json")
        done = command("sgdx_metric", "score", "--source", "sample", "--predictions", *files)
        assert done.returncode == 0
    done = command("sgdx_metric", "summarise", "one.json", "two.json")
    assert done.returncode == 2
    assert "two.json: has the predictions of one.json, expected another run" in done.stderr


def test_figures_are_those_of_the_frames_beside_them(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """An edited headline does not agree with `paired`."""
    words = ["--source", "sample"]
    for variant in ("original", "v1", "v2"):
        words += ["--predictions", f"{variant}={written(tmp_path / variant, gold[variant])}"]
    assert command(*SCORE, *words).returncode == 0
    scores = json.loads((tmp_path / "s.json").read_text())
    del scores["sha256"]  # as in a file of an earlier version
    sgdx, variants = scores["sgdx"], scores["variants"]
    service = next(iter(sgdx["by_service"]))
    of_service = {**sgdx["by_service"], service: {**sgdx["by_service"][service], "jga_orig": 0.5}}
    all_services = {**variants["v1"]["#ALL_SERVICES"], "joint_goal_accuracy": 0.5}
    of_variant = {**variants, "v1": {**variants["v1"], "#ALL_SERVICES": all_services}}
    for change, message in (
        ({"sgdx": {**sgdx, "ss_jga": 0.5}}, "ss_jga of all frames is 0.5, expected 0.0"),
        ({"sgdx": {**sgdx, "by_service": of_service}}, f"jga_orig of {service} frames is 0.5"),
        ({"variants": of_variant}, "v1: joint_goal_accuracy of all frames is 0.5, expected 1.0"),
        ({"sgdx": {**sgdx, "jga_orig": 0.5}}, "jga_orig of all frames is 0.5, expected 1.0"),
        ({"sgdx": {**sgdx, "jga_orig": 7.0}}, "jga_orig of all frames is 7.0, expected 1.0"),
        (
            {"sgdx": {**sgdx, "by_variant": {**sgdx["by_variant"], "v2": 0.25}}},
            "v2 of all frames is 0.25, expected 1.0",
        ),
        (
            {"sgdx": {**sgdx, "seen": {**sgdx["seen"], "jga_orig": 0.5}}},
            "jga_orig of seen frames is 0.5, expected 1.0",
        ),
        ({"frames": {**scores["frames"], "seen": 7}}, "frames: seen is 7, expected"),
    ):
        (tmp_path / "edited.json").write_text(json.dumps({**scores, **change}))
        done = command("sgdx_metric", "compare", "s.json", "edited.json")
        assert done.returncode == 2
        assert message in done.stderr


def test_a_changed_file_of_scores_is_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Whatever was changed; how the file is laid out does not matter. Older files are called so."""
    data = open_release("sample").data_digest("test", "v1")
    headers: dict[str, dict[str, Any]] = {
        "verified": {"source": "sample", "data": data, "seed": 1},
        "unverified": {"seed": 2},
        "made elsewhere": {},
    }
    for name, header in headers.items():
        path = written(tmp_path / "v1.jsonl", gold["v1"], **header)
        words = ("--source", "sample", "--predictions", f"v1={path}", "--output", f"{name}.json")
        assert command("sgdx_metric", "score", *words).returncode == 0
        done = command("sgdx_metric", "compare", f"{name}.json", f"{name}.json", "--json", "c.json")
        assert f"first: {name}.json (system acts: unknown, {name})" in done.stdout
        comparison = json.loads((tmp_path / "c.json").read_text())
        assert comparison["provenance"] == {"first": name, "second": name}
    done = command("sgdx_metric", "summarise", "verified.json", "unverified.json")
    assert done.returncode == 2  # the signatures differ
    scores = json.loads((tmp_path / "verified.json").read_text())
    line = scores["signature"].replace("release:sample", "release:e852981")
    intervals = {**scores["sgdx"]["confidence"], "jga_v1-5": [0.9, 1]}
    changes: list[dict[str, Any]] = [
        {"signature": line},
        {"sgdx": {**scores["sgdx"], "confidence": intervals}},
        {"predictions": {"v1": {**scores["predictions"]["v1"], "source": "sgd.zip"}}},
        {"sha256": "0" * 64},
    ]
    for change in changes:
        (tmp_path / "changed.json").write_text(json.dumps({**scores, **change}))
        done = command("sgdx_metric", "compare", "verified.json", "changed.json")
        assert done.returncode == 2
        assert "changed.json: was changed after it was scored: sha256 is " in done.stderr
    reordered = dict(reversed(scores.items()))
    (tmp_path / "changed.json").write_text(json.dumps(reordered, indent=1))
    done = command("sgdx_metric", "compare", "verified.json", "changed.json")
    assert done.returncode == 0, done.stderr
    del scores["sha256"]
    (tmp_path / "changed.json").write_text(json.dumps({**scores, "signature": line}))
    done = command("sgdx_metric", "compare", "changed.json", "changed.json")
    assert "first: changed.json (system acts: unknown, unverified)" in done.stdout
