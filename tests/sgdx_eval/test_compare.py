"""`score --per-frame`, `compare` and `explain` on the shipped sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sgdx_metric.scoring import METRICS

from ..conftest import Run
from ..sgdx_metric.frames import Row, written

SAMPLE = ("--source", "sample", "--split", "test")
GOAL = "joint_goal_accuracy"


def worse(rows: list[Row], every: int) -> list[Row]:
    return [
        row | {"slot_values": []} if i % every == every - 1 else row for i, row in enumerate(rows)
    ]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare")


@pytest.fixture(scope="session")
def scored(folder: Path, gold: dict[str, list[Row]]) -> dict[str, Path]:
    """scores.json of gold (`good`) and of gold with one state in three left out (`bad`)."""
    from sgdx_metric.__main__ import main

    paths = {}
    for name, every in (("good", 10**9), ("bad", 3)):
        arguments = []
        for variant, rows in gold.items():
            path = written(folder / f"{name}-{variant}.jsonl", worse(rows, every))
            arguments.append(f"--predictions={variant}={path}")
        paths[name] = folder / f"{name}.json"
        per_frame = folder / f"{name}.parquet"
        files = ("--output", str(paths[name]), "--per-frame", str(per_frame))
        assert main(["score", *SAMPLE, *arguments, *files]) == 0
    return paths


def test_compare_prints_and_writes(tmp_path: Path, command: Run, scored: dict[str, Path]) -> None:
    words = ("compare", scored["bad"], scored["good"], "--json", "c.json", "--details")
    done = command("sgdx_metric", *words)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "c.json").read_text())
    bad = json.loads(scored["bad"].read_text())
    goal = result["groups"]["all"]["jga_v1-5"]
    assert goal["first"] == pytest.approx(bad["sgdx"]["jga_v1-5"])
    assert goal["second"] == 1
    assert goal["difference"] == pytest.approx(1 - goal["first"])
    assert goal["interval"][0] < goal["difference"] < goal["interval"][1]
    assert goal["p"] == pytest.approx(1 / 10_001)  # no swap makes as large a difference
    services = set(bad["sgdx"]["by_service"])
    assert set(result["groups"]) == {"all", "seen", "unseen"} | services
    assert "JGA_v1-5" in done.stdout and bad["signature"] in done.stdout
    assert all(service in done.stdout for service in services)


def test_compare_begins_with_which_is_which(command: Run, scored: dict[str, Path]) -> None:
    brief = command("sgdx_metric", "compare", scored["bad"], scored["good"]).stdout
    first, second, verdict, empty, title, *_ = brief.splitlines()
    assert (first, second) == (
        f"first: {scored['bad']} (system acts: unknown)",
        f"second: {scored['good']} (system acts: unknown)",
    )
    assert verdict.startswith("JGA_v1-5: second is ") and empty == ""
    assert verdict.endswith(" points, more than chance explains (p = 0.0001)")
    assert title == "All 273 frames" and "Cabs_1" not in brief
    same = command("sgdx_metric", "compare", scored["bad"], scored["bad"]).stdout
    assert "JGA_v1-5: the two are equal" in same


def test_compare_with_itself(command: Run, tmp_path: Path, scored: dict[str, Path]) -> None:
    done = command("sgdx_metric", "compare", scored["bad"], scored["bad"], "--json", "c.json")
    assert done.returncode == 0, done.stderr
    for group in json.loads((tmp_path / "c.json").read_text())["groups"].values():
        for figure in ("jga_orig", "jga_v1-5", "ss_jga"):
            assert group[figure]["difference"] == 0 and group[figure]["p"] == 1


def test_compare_tells_variants_and_system_acts(
    tmp_path: Path, command: Run, scored: dict[str, Path]
) -> None:
    """System acts are a property of the system and no reason to refuse."""

    def with_acts(scores: dict[str, Any]) -> None:
        line = scores["signature"].replace("system-acts:unknown", "system-acts:yes")
        scores["signature"] = line

    other = changed(scored["good"], tmp_path / "other.json", with_acts)
    done = command("sgdx_metric", "compare", scored["bad"], other, "--json", "c.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "c.json").read_text())
    assert result["system_acts"] == {"first": "unknown", "second": "yes"}
    assert "|system-acts:unknown/yes|" in result["signature"]
    assert f"second: {other} (system acts: yes)" in done.stdout
    bad = json.loads(scored["bad"].read_text())["sgdx"]["by_variant"]
    assert list(result["by_variant"]) == list(bad)
    assert result["by_variant"]["v3"]["first"] == pytest.approx(bad["v3"])
    assert result["by_variant"]["v3"]["p"] == pytest.approx(1 / 10_001)
    tables = done.stdout.partition("\n\n")[2].partition("\ndifference: ")[0].splitlines()
    assert all(len(line) <= 80 for line in tables)


def changed(path: Path, target: Path, change: Any) -> Path:
    scores = json.loads(path.read_text())
    change(scores)
    target.write_text(json.dumps(scores))
    return target


def rename_frame(scores: dict[str, Any]) -> None:
    scores["paired"]["frame_id"][3] = "9_99999/0/Cabs_1"


def frame_twice(scores: dict[str, Any]) -> None:
    frame_ids = scores["paired"]["frame_id"]
    frame_ids.append(frame_ids[0])


def turn_rule(scores: dict[str, Any]) -> None:
    scores["signature"] = scores["signature"].replace("joint:frame", "joint:turn")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (turn_rule, "other.json: joint is 'turn' in the signature, and 'frame' in that of"),
        (frame_twice, "other.json: "),
        (rename_frame, "2 are in only one of the two, the first is 1_00000/"),
        (lambda s: s.update(signature="BLEU|c:x"), "'BLEU|c:x'"),
        (
            lambda s: s.pop("paired"),
            "other.json: not a scores.json: Object missing required field `paired`",
        ),
        (lambda s: s["paired"][GOAL]["v1"].pop(), "other.json: "),
        (lambda s: s["paired"]["seen"].pop(), "other.json: the seen services are not those of"),
        (lambda s: s["paired"][GOAL].pop("v5"), "v5"),
    ],
)
def test_what_does_not_compare_is_refused(
    tmp_path: Path, command: Run, scored: dict[str, Path], change: Any, message: str
) -> None:
    other = changed(scored["bad"], tmp_path / "other.json", change)
    done = command("sgdx_metric", "compare", scored["good"], other, "--json", "c.json")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("sgdx_metric: error: ") and message in line
    assert not (tmp_path / "c.json").exists()


def other_release(scores: dict[str, Any]) -> None:
    marks = "release:complete|dialogues:2@82354a53"
    scores["signature"] = scores["signature"].replace("release:sample", marks)


def test_other_data_are_told_before_their_dialogues(
    tmp_path: Path, command: Run, scored: dict[str, Path]
) -> None:
    other = changed(scored["bad"], tmp_path / "other.json", other_release)
    done = command("sgdx_metric", "compare", scored["good"], other)
    assert done.returncode == 2 and done.stderr == (
        f"sgdx_metric: error: {other}: release is 'complete' in the signature, and 'sample' in "
        f"that of {scored['good']}: these scores cannot be compared\n"
    )


def test_per_frame_scores_have_the_means_of_scores_json(scored: dict[str, Path]) -> None:
    scores = json.loads(scored["bad"].read_text())
    frames = pq.read_table(scored["bad"].with_suffix(".parquet")).to_pandas()
    assert list(frames.columns) == ["frame_id", "variant", "service", "seen", *METRICS]
    assert len(frames) == 6 * scores["frames"]["all"]
    for variant, rows in frames.groupby("variant"):
        means = rows[list(METRICS)].mean()
        expected = scores["variants"][variant]["#ALL_SERVICES"]
        for metric in METRICS:
            assert means[metric] == pytest.approx(expected[metric])
    # Undefined is null: no value in the state, no average.
    assert frames["average_goal_accuracy"].isna().any()


def test_per_frame_jsonl(
    tmp_path: Path, command: Run, folder: Path, scored: dict[str, Path]
) -> None:
    predictions = f"v2={folder / 'bad-v2.jsonl'}"
    files = ("--output", "s.json", "--per-frame", "f.jsonl")
    done = command("sgdx_metric", "score", *SAMPLE, "--predictions", predictions, *files)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
    means = json.loads((tmp_path / "s.json").read_text())["variants"]["v2"]["#ALL_SERVICES"]
    assert sum(row[GOAL] for row in rows) / len(rows) == pytest.approx(means[GOAL])
    assert {row["variant"] for row in rows} == {"v2"}
    assert any(row["average_goal_accuracy"] is None for row in rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.jsonl", "s.json"]


def test_explain(command: Run, folder: Path, gold: dict[str, list[Row]]) -> None:
    row = next(row for row in gold["v1"] if row["slot_values"])
    place = gold["v1"].index(row)
    changes: dict[str, list[Row]] = {
        "original": gold["original"][place]["slot_values"],
        "v1": [row["slot_values"][0] | {"values": ["[b]zzz[/b]"]}, {"slot": "x", "values": ["y"]}],
    }
    arguments = []
    for variant, values in changes.items():
        rows = [*gold[variant]]
        rows[place] = rows[place] | {"slot_values": values}
        arguments += ["--predictions", f"{variant}={written(folder / f'e-{variant}', rows)}"]
    done = command("sgdx_metric", "explain", row["frame_id"], *SAMPLE, *arguments)
    assert done.returncode == 0, done.stderr
    assert row["frame_id"] in done.stdout and "[b]zzz[/b]" in done.stdout
    assert "ignored: not a slot" in done.stdout
    for frame_id, message in (
        (
            "no/0/Such",
            "frame no/0/Such: the references for original have no dialogue 'no', expected",
        ),
        ("nonsense", "frame nonsense: the references for original have no dialogue 'nonsense'"),
        (
            "1_00000/0/Hotels_9",
            "found no frame 1_00000/0/Hotels_9; that turn has 1_00000/0/Cabs",
        ),
        ("1_00000", "one of the 6 frames of dialogue 1_00000: "),
        ("1_00000/1/Cabs_1", "found no frame 1_00000/1/Cabs_1, "),
    ):
        done = command("sgdx_metric", "explain", frame_id, *SAMPLE, *arguments)
        (line,) = done.stderr.splitlines()
        assert done.returncode == 2 and message in line


def test_explain_prints_the_dialogue_so_far(
    tmp_path: Path, command: Run, folder: Path, scored: dict[str, Path]
) -> None:
    predictions = f"v2={folder / 'bad-v2.jsonl'}"
    frame_id = json.loads(scored["bad"].read_text())["paired"]["frame_id"][40]
    made = command("sgdx_dataset", "frames", *SAMPLE, "--config", "v2", "--output", "frames")
    assert made.returncode == 0, made.stderr
    printed = []
    for references in (SAMPLE, ("--references", "frames")):
        done = command(
            "sgdx_metric", "explain", frame_id, *references, "--predictions", predictions
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    first, *turns = printed[0].partition("\n\n")[0].splitlines()
    assert first == frame_id == "1_00005/6/Cooking_1"
    speakers = [line.split(":")[0].strip() for line in turns]
    assert speakers == ["user", "system"] * 3 + ["user"]


def test_explain_lists_the_frames_that_broke(
    tmp_path: Path, command: Run, folder: Path, scored: dict[str, Path]
) -> None:
    paired = json.loads(scored["bad"].read_text())["paired"]
    lost = [i for i, score in zip(paired["frame_id"], paired[GOAL]["v5"]) if score == 0]
    predictions = ("--predictions", f"original={folder / 'good-original.jsonl'}",
                   "--predictions", f"v5={folder / 'bad-v5.jsonl'}")  # fmt: skip
    done = command("sgdx_metric", "explain", "--changed", "original", "v5", *SAMPLE, *predictions)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "/" in line]
    assert rows == [[frame_id, "100.00", "0.00"] for frame_id in sorted(lost)]
    last = f"{len(lost)} of 273 frames score less under v5 than under original"
    assert done.stdout.splitlines()[-1] == last
    for words, message in (
        (("--changed", "original", "v4"), "found no predictions for 'v4', expected one of"),
        (("1_00000/0/Cabs_1", "--changed", "original", "v5"), "expected one of FRAME_ID, --chang"),
        ((), "expected one of FRAME_ID, --changed FIRST SECOND and --flips"),
        (("--flips", "--changed", "original", "v5"), "and --flips"),
    ):
        done = command("sgdx_metric", "explain", *words, *SAMPLE, *predictions)
        assert done.returncode == 2 and message in done.stderr


def test_explain_lists_the_frames_that_flip(
    command: Run, folder: Path, scored: dict[str, Path]
) -> None:
    """All right under the original, and under v5 where the bad predictions are."""
    paired = json.loads(scored["bad"].read_text())["paired"]
    lost = [i for i, score in zip(paired["frame_id"], paired[GOAL]["v5"]) if score < 0.5]
    original = ("--predictions", f"original={folder / 'good-original.jsonl'}")
    other = ("--predictions", f"v5={folder / 'bad-v5.jsonl'}")
    done = command("sgdx_metric", "explain", "--flips", *SAMPLE, *original, *other)
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[:-1])
    right = 273 - len(lost)
    assert done.stdout.splitlines()[-1] == (
        f"{len(lost)} of 273 frames ({100 * len(lost) / 273:.2f} %) flip; {right} are right under "
        f"every wording ({100 * right / 273:.2f} %)"
    )
    done = command("sgdx_metric", "explain", "--flips", *SAMPLE, *original)
    assert done.returncode == 2
    assert "found predictions for original alone, expected those for two wordings" in done.stderr
