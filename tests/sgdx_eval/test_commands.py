"""`python -m sgdx_metric` on the shipped sample."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import Run
from ..sgdx_metric.frames import Row, written

SAMPLE = ("--source", "sample", "--split", "test")
SCORE = ("sgdx_metric", "score", "--source", "sample", "--split", "test", "--output", "s.json")


def test_score_writes_json_and_prints_a_table(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    arguments = []
    for variant, rows in gold.items():
        # One frame in two is wrong under v1, always the same as nothing is shuffled.
        kept = [
            row if variant != "v1" or i % 2 else row | {"active_intent": "?", "slot_values": []}
            for i, row in enumerate(rows)
        ]
        path = written(tmp_path / f"{variant}.jsonl", kept, variant=variant, system_acts=False)
        arguments += ["--predictions", f"{variant}={path}"]
    done = command(*SCORE, *arguments)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    count = len(gold["original"])
    wrong = sum(bool(row["slot_values"]) for row in gold["v1"][::2])
    assert scores["frames"]["all"] == count
    assert scores["frames"]["seen"] > 0 and scores["frames"]["unseen"] > 0
    assert scores["sgdx"]["by_variant"]["v1"] == pytest.approx(1 - wrong / count)
    assert scores["sgdx"]["jga_v1-5"] == pytest.approx(1 - wrong / count / 5)
    # Right under four of five: mean 0.8, sample standard deviation sqrt(0.2).
    assert scores["sgdx"]["ss_jga"] == pytest.approx(0.2**0.5 / 0.8 * wrong / count)
    assert scores["variants"]["v5"]["#ALL_SERVICES"]["slot_tagging_f1"] == 1
    assert f"|frames:{count}|" in scores["signature"] and "|system-acts:no|" in done.stdout
    assert scores["signature"] in done.stdout
    assert ["JGA_orig", "100.00"] in [line.split()[:2] for line in done.stdout.splitlines()]
    tables = done.stdout.partition("sgdx_metric|")[0].splitlines()
    assert all(len(line) <= 80 for line in tables)
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["s.json"]


def test_exported_gold_is_perfect(tmp_path: Path, command: Run) -> None:
    out = ("--config", "v2", "--split", "test", "--output", tmp_path)
    exported = command("sgdx_dataset", "export", "--source", "sample", *out)
    assert exported.returncode == 0, exported.stderr
    done = command(*SCORE, "--predictions", f"v2={tmp_path / 'test'}")
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    means = scores["variants"]["v2"]["#ALL_SERVICES"]
    assert set(means.values()) == {1.0}
    assert scores["sgdx"]["jga_orig"] is None and scores["sgdx"]["ss_jga"] is None


def test_rules_stand_in_the_signature(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"], system_acts=True)
    rules = ("--no-fuzzy-match", "--joint-acc-across-turn", "--zero-mean", "drop")
    done = command(*SCORE, "--predictions", f"v1={path}", *rules)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["signature"] == (
        f"sgdx_metric|variants:v1|split:test|release:sample|frames:{len(gold['v1'])}|match:exact|"
        "joint:turn|zero-mean:drop|sd:sample|canonical:said-so-far|system-acts:yes|"
        "predictions:made-elsewhere|"
        "ci:95%-bootstrap-1000-seed-0|version:0.1.0"
    )
    assert scores["variants"]["v1"]["#ALL_SERVICES"]["joint_goal_accuracy"] == 1


def test_variants_of_ones_own(tmp_path: Path, command: Run) -> None:
    """Sensitivity over any variants under its own name: here one worded like v2, and v1."""
    arguments: list[object] = []
    for variant, config in {"mine": "v2", "v1": "v1"}.items():
        out = ("--config", config, "--split", "test", "--output", tmp_path / variant)
        exported = command("sgdx_dataset", "export", "--source", "sample", *out)
        assert exported.returncode == 0, exported.stderr
        arguments += ["--predictions", f"{variant}={tmp_path / variant / 'test'}"]
    done = command(*SCORE, *arguments, "--variant", f"mine={tmp_path / 'mine'}")
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["sgdx"]["by_variant"] == {"mine": 1, "v1": 1}
    assert scores["sgdx"]["ss_jga"] is None  # It is of the paper's variants, and v1 is alone.
    assert scores["sgdx"]["ss_jga(v1+mine)"] == 0
    assert re.search(r"\|variants:mine@[0-9a-f]{8}\+v1\|", scores["signature"])


def test_predictions_whose_wording_nobody_names_are_left_out_aloud(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    written(folder / "original.jsonl", gold["original"])
    for name in ("mine", "other"):
        rows = [row | {"variant": name} for row in gold["original"]]
        written(folder / f"{name}.jsonl", rows, variant=name)
    (folder / "answers.jsonl").write_text('{"custom_id": "1", "variant": 5}\n')
    (folder / "log.jsonl").write_text("")
    done = command(*SCORE, "--predictions", folder)
    note = "note: left out: mine, other; to score a wording of your own, give --variant NAME=PATH\n"
    assert (done.returncode, done.stderr) == (0, note)
    # Of one wording there is nothing to compare, and so no column and no words about it.
    assert "difference" not in done.stdout and "Diff_rel" not in done.stdout
    assert "every slot of its state is.\nJGA_orig: under the original schemas.\n" in done.stdout
    assert "JGA_v1-5" not in done.stdout and "\np: " not in done.stdout
    assert "flips" not in done.stdout and "Better: lower" not in done.stdout
    (tmp_path / "same.json").write_text("{}")
    own = ("--variant", "mine=same.json", "--variant", "other=same.json")
    done = command(*SCORE, "--predictions", folder, *own)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"SS", "flips", "p"} <= {line.partition(":")[0] for line in done.stdout.splitlines()}


def test_own_wordings_of_one_name_are_told_apart(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """One mark from a release and from a folder of frame rows; another wording is refused."""
    exported = command("sgdx_dataset", "export", "--source", "sample", "--config", "v2",
                   "--split", "test", "--output", "one")  # fmt: skip
    assert exported.returncode == 0, exported.stderr
    (tmp_path / "two" / "test").mkdir(parents=True)
    services = json.loads((tmp_path / "one" / "test" / "schema.json").read_text())
    services[0]["description"] += " indeed"
    (tmp_path / "two" / "test" / "schema.json").write_text(json.dumps(services))
    rows = [row | {"variant": "mine"} for row in gold["v2"]]
    written(tmp_path / "mine.jsonl", rows)
    written(tmp_path / "original.jsonl", gold["original"])
    files = ("--predictions", "mine=mine.jsonl", "--predictions", "original=original.jsonl")
    for name in ("one", "two"):
        done = command(*SCORE[:-1], f"new/folder/{name}.json", *files, "--variant", f"mine={name}")
        assert done.returncode == 0, done.stderr
        assert re.search(r"^mine +100\.00 .* 0\.00 to 0\.00 +1\.0000$", done.stdout, re.MULTILINE)
    frames = ("--variant", "mine=one", "--config", "mine", "original", "--split", "test")
    made = command("sgdx_dataset", "frames", "--source", "sample", *frames, "--output", "frames")
    assert made.returncode == 0, made.stderr
    done = command(
        "sgdx_metric", "score", "--references", "frames", *files, "--output", "frames.json"
    )
    assert done.returncode == 0, done.stderr
    one, two, frames = (
        json.loads((tmp_path / name).read_text())["signature"]
        for name in ("new/folder/one.json", "new/folder/two.json", "frames.json")
    )
    assert one == frames and one != two
    done = command("sgdx_metric", "compare", "new/folder/one.json", "new/folder/two.json")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "sgdx_metric: error: new/folder/two.json: found another wording 'mine' ("
    ) and line.endswith("expected the same schemas")


def test_a_subset_of_dialogues(tmp_path: Path, command: Run, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"])
    (tmp_path / "ids.txt").write_text("1_00000\n1_00001\n")
    (tmp_path / "ids.json").write_text('["1_00001", "1_00000"]')
    for name in ("ids.txt", "ids.json"):
        done = command(*SCORE, "--predictions", f"v1={path}", "--dialogues", name)
        assert done.returncode == 0, done.stderr
        scores = json.loads((tmp_path / "s.json").read_text())
        assert "|release:sample|dialogues:2@82354a53|frames:11|" in scores["signature"]
    done = command(*SCORE[:-1], "all.json", "--predictions", f"v1={path}")
    assert done.returncode == 0, done.stderr
    done = command("sgdx_metric", "compare", "all.json", "s.json", "--json", "c.json")
    note = "note: compared on 2 dialogues of the split, which 82354a53 stands for below\n"
    assert done.stderr == note
    compared = json.loads((tmp_path / "c.json").read_text())
    assert compared["signature"] == scores["signature"]
    assert compared["by_variant"]["v1"]["first"] == compared["by_variant"]["v1"]["second"] == 1
    assert compared["groups"]["all"]["frames"] == 11
    (tmp_path / "one.txt").write_text("1_00001\n")
    done = command("sgdx_metric", "compare", "all.json", "s.json", "--dialogues", "one.txt")
    assert done.stderr.startswith("note: compared on 1 dialogues") and "|frames:5|" in done.stdout
    done = command(*SCORE[:-1], "one.json", "--predictions", f"v1={path}", "--dialogues", "one.txt")
    assert done.returncode == 0, done.stderr
    for files in (("s.json", "one.json"), ("one.json", "s.json")):  # one has a part of the other's
        done = command("sgdx_metric", "compare", *files)
        assert done.returncode == 0 and "|dialogues:1@" in done.stdout
    (tmp_path / "one.txt").write_text("1_00003\n")
    done = command(*SCORE[:-1], "one.json", "--predictions", f"v1={path}", "--dialogues", "one.txt")
    assert done.returncode == 0, done.stderr
    done = command("sgdx_metric", "compare", "s.json", "one.json")
    lacks = "s.json: lacks 1 of the 1 dialogues of one.json, the first is 1_00003"
    assert done.returncode == 2 and lacks in done.stderr
    (tmp_path / "one.txt").write_text("1_00000\n1_00003\n")
    done = command("sgdx_metric", "compare", "all.json", "s.json", "--dialogues", "one.txt")
    assert done.returncode == 2
    assert "s.json: lacks 1 of the 2 dialogues of one.txt, the first is 1_00003" in done.stderr
    (tmp_path / "s.json").unlink()
    (tmp_path / "ids.txt").write_text("1_00000\nnone\n")
    line = failed(tmp_path, command, "--predictions", f"v1={path}", "--dialogues", "ids.txt")
    assert "ids.txt: 1 of 2 dialogues are not in the references, the first is none" in line


def test_predictions_name_their_dialogues(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """A header that states a subset is believed where the rows are those of that subset."""

    def predictions(mark: str, dialogues: tuple[str, ...]) -> list[str]:
        words = []
        for variant in ("original", "v1"):
            rows = [row for row in gold[variant] if row["frame_id"].startswith(dialogues)]
            path = written(tmp_path / f"{variant}.jsonl", rows, dialogues=mark)
            words += ["--predictions", f"{variant}={path}"]
        return words

    words = predictions("2@82354a53", ("1_00000/", "1_00001/"))
    done = command(*SCORE, *words)
    assert (
        done.returncode == 0
        and "note: only the 2 of 36 dialogues that the predictions" in done.stderr
    )
    assert "|dialogues:2@82354a53|frames:11|" in done.stdout
    done = command("sgdx_metric", "explain", "--changed", "original", "v1", *SAMPLE, *words)
    assert "0 of 11 frames score less" in done.stdout and "note: only the 2 of 36" in done.stderr
    (tmp_path / "one.txt").write_text("1_00001\n")
    changed = ("explain", "--changed", "original", "v1", "--dialogues", "one.txt")
    done = command("sgdx_metric", *changed, *SAMPLE, *words)
    assert "0 of 5 frames score less" in done.stdout and done.stderr == ""
    (tmp_path / "s.json").unlink()
    line = failed(tmp_path, command, *predictions("2@82354a53", ("1_00000/",)))
    assert "predictions for original: found rows of the dialogues 1@" in line
    words = predictions("2@82354a53", ("1_00000/", "1_00001/"))
    written(tmp_path / "v1.jsonl", gold["v1"], dialogues="36@6dd46d8b")
    assert "found rows of the dialogues 36@" in failed(tmp_path, command, *words)


def test_some_services_alone(tmp_path: Path, command: Run, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"])
    words = ("--predictions", f"v1={path}", "--service", "Cabs_1", "Vets_1")
    done = command(*SCORE, *words)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    services = [frame_id.rpartition("/")[2] for frame_id in scores["paired"]["frame_id"]]
    expected = [row["frame_id"].rpartition("/")[2] for row in gold["v1"]]
    assert set(services) == {"Cabs_1", "Vets_1"}
    assert len(services) == sum(name in ("Cabs_1", "Vets_1") for name in expected)
    assert f"|services:Cabs_1+Vets_1|frames:{len(services)}|" in scores["signature"]
    (tmp_path / "s.json").unlink()
    line = failed(tmp_path, command, "--predictions", f"v1={path}", "--service", "Cabs_11")
    assert "--service Cabs_11" in line and "Cabs_1," in line
    changed = ("sgdx_metric", "explain", "--changed", "v1", "v2", *SAMPLE, *words)
    other = written(tmp_path / "q.jsonl", gold["v2"])
    done = command(*changed, "--predictions", f"v2={other}")
    assert f"0 of {len(services)} frames score less" in done.stdout
    done = command(*changed, "--predictions", f"v2={other}", "--service", "Cabs_11")
    assert done.returncode == 2 and "--service Cabs_11" in done.stderr


def test_system_acts_are_set_where_the_predictions_do_not_say(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    silent = written(tmp_path / "v1.jsonl", gold["v1"])
    saying = written(tmp_path / "v2.jsonl", gold["v2"], system_acts=True)
    both = ("--predictions", f"v1={silent}", "--predictions", f"v2={saying}")
    line = failed(tmp_path, command, *both, "--system-acts", "no")
    assert "--system-acts no: the predictions for v2 say 'yes' themselves" in line
    done = command(*SCORE, *both, "--system-acts", "yes")
    assert done.returncode == 0, done.stderr
    assert "|system-acts:yes|" in json.loads((tmp_path / "s.json").read_text())["signature"]


def test_another_variants_predictions_are_suspected(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    rows = [row | {"variant": "v1"} for row in gold["v4"]]
    path = written(tmp_path / "p.jsonl", [row | {"slots": None} for row in rows])
    done = command(*SCORE, "--predictions", f"v1={path}")
    assert done.returncode == 0
    assert re.fullmatch(
        r"warning: v1: \d+ % of the predicted slots are not in its schemas; are these the "
        r"predictions for another variant\?\n",
        done.stderr,
    )
    scores = json.loads((tmp_path / "s.json").read_text())
    predicted = sum(len(row["slot_values"]) for row in rows)
    assert scores["predicted_slots"] == {"v1": predicted}
    assert f"v1: ignored {scores['ignored_slots']['v1']} predicted slots (" in done.stdout


def test_the_services_of_a_wrong_frame_id_s_turn_are_named(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    rows = [*gold["v1"]]
    rows[0] = rows[0] | {"frame_id": "1_00000/0/Cabs_11"}
    line = failed(tmp_path, command, "--predictions", f"v1={written(tmp_path / 'p.jsonl', rows)}")
    assert line.endswith(
        "that turn has 1_00000/0/Cabs_1: an id ends in the service's original name"
    )


def test_dev_is_validation(tmp_path: Path, command: Run) -> None:
    out = ("--config", "v2", "--split", "validation", "--output", tmp_path)
    exported = command("sgdx_dataset", "export", "--source", "sample", *out)
    assert exported.returncode == 0, exported.stderr
    done = command(*SCORE, "--split", "dev", "--predictions", f"v2={tmp_path / 'dev'}")
    assert done.returncode == 0, done.stderr
    assert "|split:validation|" in json.loads((tmp_path / "s.json").read_text())["signature"]


def failed(tmp_path: Path, command: Run, *arguments: object) -> str:
    """The one line of a command that must fail and leave nothing."""
    done = command(*SCORE, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "s.json").exists()
    (line,) = done.stderr.splitlines()
    return line


def test_a_missing_frame(tmp_path: Path, command: Run, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "p.jsonl", gold["v1"][1:])
    first = gold["v1"][0]["frame_id"]
    assert failed(tmp_path, command, "--predictions", f"v1={path}") == (
        f"sgdx_metric: error: predictions for v1: 1 of {len(gold['v1'])} frames are missing, "
        f"the first is {first}"
    )


def test_a_missing_dialogue_is_told_with_the_way_out(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    dialogue_id = gold["v1"][0]["frame_id"].split("/")[0]
    own = [row for row in gold["v1"] if row["frame_id"].startswith(f"{dialogue_id}/")]
    path = written(tmp_path / "p.jsonl", own)
    line = failed(tmp_path, command, "--predictions", f"v1={path}")
    assert f"{273 - len(own)} of 273 frames are missing" in line
    way_out = "; to score only some dialogues, give --dialogues FILE, or dialogues=[ids]"
    assert line.endswith(way_out)
    (tmp_path / "ids.txt").write_text(f"{dialogue_id}\n")
    done = command(*SCORE, "--predictions", f"v1={path}", "--dialogues", "ids.txt")
    assert (done.returncode, done.stderr) == (0, "")


def test_frames_of_another_split(tmp_path: Path, command: Run) -> None:
    out = ("--config", "v2", "--split", "validation", "--output", tmp_path)
    exported = command("sgdx_dataset", "export", "--source", "sample", *out)
    assert exported.returncode == 0, exported.stderr
    line = failed(tmp_path, command, "--predictions", f"v2={tmp_path / 'dev'}")
    assert "frames are not in the references, the first is" in line
    assert "are these predictions for another split?" in line


def test_the_datasets_own_error_is_passed_on(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    rows = [row | {"variant": "v9"} for row in gold["v1"]]
    path = written(tmp_path / "p.jsonl", rows)
    line = failed(tmp_path, command, "--predictions", f"v9={path}")
    assert line.startswith("sgdx_metric: error: unknown config 'v9', expected one of original, v1")


def test_a_folder_of_predictions_and_a_folder_of_references(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Both forms of the predictions, and both of the references, give the same scores.json."""
    (tmp_path / "run").mkdir()
    arguments = []
    for variant in ("v1", "v2"):
        path = written(
            tmp_path / "run" / f"{variant}.jsonl", gold[variant][:-1] + gold[variant][-1:]
        )
        arguments += ["--predictions", f"{variant}={path}"]
    (tmp_path / "run" / "scores.json").write_text("{}")
    frames = ("--source", "sample", "--config", "v1", "v2", "--split", "test", "--output", "frames")
    assert command("sgdx_dataset", "frames", *frames).returncode == 0
    ways = {
        "paths.json": ("--source", "sample", *arguments),
        "folder.json": ("--source", "sample", "--predictions", "run"),
        "parquet.json": ("--references", "frames", "--predictions", "run"),
    }
    for name, inputs in ways.items():
        done = command("sgdx_metric", "score", *inputs, "--output", name)
        assert done.returncode == 0, done.stderr
    texts = {(tmp_path / name).read_text() for name in ways}
    assert len(texts) == 1
    assert json.loads(texts.pop())["sgdx"]["by_variant"] == {"v1": 1, "v2": 1}
    frame = gold["v1"][0]["frame_id"]
    inputs = ("--references", "frames", "--predictions", "run")
    done = command("sgdx_metric", "explain", frame, *inputs)
    assert done.returncode == 0, done.stderr
    assert frame in done.stdout


def test_predictions_are_refused_before_the_source_is_opened(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """The source does not exist, which would be the error if it had been opened."""
    good = written(tmp_path / "v1.jsonl", gold["v1"])
    bad = written(tmp_path / "v2.jsonl", gold["v1"])
    dev = written(tmp_path / "v3.jsonl", gold["v3"], split="validation")
    both = ("--source", "nowhere", "--predictions", f"v1={good}", "--predictions")
    for arguments, message in (
        (("v2=none.jsonl",), "none.jsonl: No such file or directory"),
        ((f"v2={bad}",), "v2.jsonl:1: variant is 'v1', not 'v2'"),
        ((f"v3={dev}",), "v3.jsonl:1: metadata: split is "),
        ((f"v2={tmp_path}",), "found no dialogues_*.json"),
    ):
        assert message in failed(tmp_path, command, *both, *arguments)
    line = failed(tmp_path, command, "--source", "nowhere", "--predictions", f"v1={good}")
    assert line.startswith("sgdx_metric: error: nowhere: no such source")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--predictions", "p.jsonl"],
            "--predictions p.jsonl: found no such folder",
        ),
        (["--predictions", "v1=.", "--predictions", "v1=q"], "variant 'v1' appears twice"),
        (["--predictions", "v1=nowhere"], "nowhere: No such file or directory"),
        (["--predictions", "v1=p", "--split", "all"], "argument --split: invalid choice: 'all'"),
        ([], "the following arguments are required: --predictions"),
        (["--predictions", "v1=p", "--per-frame", "f.csv"], "name ending in .parquet or .jsonl"),
        (["--predictions", "v1=p", "--zero-mean", "nan"], "argument --zero-mean: invalid choice"),
        (["--predictions", "v1=p", "--variant", "mine"], "--variant mine: expected NAME=PATH"),
        (
            ["--predictions", "v1=p", "--references", "f"],
            "--references f: found --source or --",
        ),
        (["--predictions", "v1=p", "--output", "."], "--output .: found a folder"),
    ],
)
def test_bad_arguments(tmp_path: Path, command: Run, arguments: list[str], message: str) -> None:
    (tmp_path / "p").touch()
    line = failed(tmp_path, command, *arguments)
    assert line.startswith("sgdx_metric: error: ") and message in line


def test_bad_json_is_named(tmp_path: Path, command: Run) -> None:
    (tmp_path / "cut.jsonl").write_text('{"frame_id": "1_000')
    line = failed(tmp_path, command, "--predictions", "v1=cut.jsonl")
    assert line == "sgdx_metric: error: cut.jsonl:1: not a prediction row: Input data was truncated"


def test_scoring_a_release_does_not_wait_for_datasets_pandas_or_torch(
    tmp_path: Path, gold: dict[str, list[Row]]
) -> None:
    """They take a second to import, and scoring needs nothing of them."""
    path = written(tmp_path / "v1.jsonl", gold["v1"])
    program = (
        "import runpy, sys, sgdx_dataset\n"
        "try:\n"
        "    runpy.run_module('sgdx_metric', run_name='__main__')\n"
        "except SystemExit as exit:\n"
        "    status = exit.code\n"
        "slow = {'datasets', 'huggingface_hub', 'pandas', 'torch'} & set(sys.modules)\n"
        "sys.exit(status or ' '.join(sorted(slow)) or 0)\n"
    )
    words = [sys.executable, "-c", program, *SCORE[1:], "--predictions", f"v1={path}"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "s.json").is_file()
