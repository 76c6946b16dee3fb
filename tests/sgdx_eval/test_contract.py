"""What every task keeps, on the sample: read, refuse, score, compare, sum up and explain."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copy, copytree
from statistics import mean, stdev
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdx_dataset import open_release
from sgdx_dataset.io.files import file_digest
from sgdx_dataset.release import SAMPLE
from sgdx_eval.predictions import Header, read_beginning
from sgdx_metric.version import __version__

from ..conftest import Run
from ..sgdx_metric.frames import written
from .conftest import SAMPLE_TEST, Subject, put, refused, scored

TWO = ("1_00000/", "1_00001/")  # dialogues, whose mark is 2@82354a53
Scores = dict[str, Any]


def is_narrow(text: str) -> bool:
    """Whether all lines above the signature have at most 80 columns, but for names of files."""
    lines = re.split(r"^(?:sgdx|sgsacc)_metric\|", text, flags=re.MULTILINE)[0].splitlines()
    return all(len(line) <= 80 for line in lines if not line.startswith(("first: ", "run: ")))


# ---- score


def test_score(subject: Subject, tmp_path: Path, command: Run, both: tuple[Scores, Scores]) -> None:
    """The figures are those of the items, which stand beside them."""
    best, bad = subject.mains(both[0]), put(tmp_path / "p", subject.bad)
    assert set(best.values()) == ({0} if subject.task == "turns" else {1})
    scores = scored(command, bad, "new/scores.json")
    items = pq.read_table("new/items.parquet").to_pylist()
    of_v1 = [item for item in items if item["variant"] == "v1"]
    assert sorted(item["id"] for item in of_v1) == sorted(r[subject.id] for r in subject.bad["v1"])
    share = mean(item["ser" if subject.task == "turns" else "jga"] for item in of_v1)
    assert subject.mains(scores) == {**best, "v1": pytest.approx(share)}
    wrong = share if subject.task == "turns" else 1 - share
    assert 0.1 < wrong <= (len(of_v1) // 3) / len(of_v1)
    assert re.search(r"\|predictions:made-elsewhere\|ci:", scores["signature"])

    files = sorted(tmp_path.rglob("*"))
    words = ("score", *SAMPLE_TEST, "--predictions", bad)
    done = command("sgdx_metric", *words)
    assert (done.returncode, done.stderr) == (0, "") and sorted(tmp_path.rglob("*")) == files
    assert is_narrow(done.stdout) and "v2, v3, v4 and v5" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == scores["signature"]
    if subject.task == "turns":
        assert command("sgsacc_metric", *words).stdout == done.stdout
    explained = command("sgdx_metric", *words, "--explain").stdout
    assert is_narrow(explained) and len(explained) > 2 * len(done.stdout)
    assert ("seen domains" in explained) == (subject.task == "turns")


def test_some_dialogues(subject: Subject, tmp_path: Path, command: Run) -> None:
    """Those of a file, the first ones, or those that the predictions say they are of."""
    predictions = put(tmp_path / "p", subject.good)
    Path("ids.txt").write_text("1_00000\n1_00001\n")
    Path("ids").write_text('["1_00001", "1_00000"]')
    chosen, *others = (
        scored(command, predictions, "s.json", *of)
        for of in (("--dialogues", "ids.txt"), ("--dialogues", "ids"), ("--limit", 2))
    )
    assert "|dialogues:2@82354a53|" in chosen["signature"] and others == [chosen, chosen]
    few = put(tmp_path / "few", subject.of(TWO), dialogues="2@82354a53")
    done = command("sgdx_metric", "score", *SAMPLE_TEST, "--predictions", few)
    assert "only the 2 dialogues" in done.stderr
    assert done.stdout.splitlines()[-1] == chosen["signature"]

    words = ("score", *SAMPLE_TEST, "--output", "x.json", "--predictions")
    put(few, subject.of(TWO[:1]), dialogues="2@82354a53")
    assert "1@" in refused(tmp_path, command, *words, few)
    put(few, {"v1": subject.good["v1"]}, dialogues="36@6dd46d8b")
    assert "dialogues" in refused(tmp_path, command, *words, few)
    other = ("--split", "validation", "--count", "2", "--output", "other.json")
    assert command("sgdx_dataset", "subset", "--source", "sample", *other).returncode == 0
    line = refused(tmp_path, command, *words, predictions, "--dialogues", "other.json")
    assert "other.json: " in line and "validation" in line


def test_the_same_from_rows_that_the_dataset_wrote(
    subject: Subject, tmp_path: Path, command: Run, both: tuple[Scores, Scores]
) -> None:
    rows = (*SAMPLE_TEST, "--variant", "original", "v1", "--output")
    assert command("sgdx_dataset", "export", subject.kind, *rows, "rows").returncode == 0
    predictions = put(tmp_path / "p", subject.bad)
    assert scored(command, predictions, "folder.json", "--references", "rows") == both[1]
    words = ("explain", subject.bad["v1"][2][subject.id], "--predictions", predictions)
    shown = [command("sgdx_metric", *words, *of) for of in (SAMPLE_TEST, ("--references", "rows"))]
    assert shown[0].stdout == shown[1].stdout != ""
    line = refused(tmp_path, command, *words, "--references", "rows", "--split", "validation")
    assert ".parquet" in line and "validation" in line
    Path("ids.txt").write_text("1_00000\n1_00001\n")
    some = (*rows, "some", "--dialogues", "ids.txt")
    assert command("sgdx_dataset", "export", subject.kind, *some).returncode == 0
    few = put(tmp_path / "few", subject.of(TWO))
    scores = scored(command, few, "s.json", "--references", "some")
    assert "|dialogues:2@82354a53|" in scores["signature"]


def test_own_variants_of_one_name_are_told_apart(
    subject: Subject, tmp_path: Path, command: Run
) -> None:
    """A variant has one mark wherever it is read, and scores of two variants do not compare."""
    original = subject.good["original"]
    mine = [row | {"variant": "mine"} for row in original]
    predictions = put(tmp_path / "p", {"original": original, "mine": mine})
    marks = {}
    for name, text in (("one", "Rides"), ("two", "Trips")):
        Path(f"{name}.json").write_text(json.dumps({"Cabs_1": {"description": text}}))
        scores = scored(command, predictions, f"s{name}.json", "--variant", f"mine={name}.json")
        assert subject.mains(scores)["mine"] == subject.mains(scores)["original"]
        marks[name] = re.findall(r"mine@([0-9a-f]{8})", scores["signature"])[0]
    own = ("--variant", "mine=one.json")
    if subject.task != "turns":  # whose sentences are those of the evaluator's variant
        made = ("--variant", "mine", "original", *SAMPLE_TEST, *own, "--output", "rows")
        assert command("sgdx_dataset", "export", subject.kind, *made).returncode == 0
        scores = scored(command, predictions, "rows.json", "--references", "rows")
        assert f"mine@{marks['one']}" in scores["signature"]
    line = refused(tmp_path, command, "compare", "sone.json", "stwo.json")
    assert marks["one"] != marks["two"] and "'mine'" in line
    words = ("score", *SAMPLE_TEST, "--output", "x.json", "--predictions", predictions)
    # Without its words, a variant is left out aloud.
    assert "mine" in command("sgdx_metric", *words).stderr


# ---- what files say of themselves


def with_headers(folder: Path, subject: Subject, **changes: Any) -> Path:
    """The good predictions with the headers of an oracle; that of v1 has changes."""
    folder.mkdir(exist_ok=True)
    facts = {"task": subject.task, "split": "test", "source": "sample", "oracle": True}
    for name, rows in subject.good.items():
        data = open_release("sample").data_digest("test", name)
        header = {**facts, "variant": name, "data": data, "system": {"model": "m"}}
        header |= changes if name == "v1" else {}
        lines = [json.dumps({"metadata": header}), *map(json.dumps, rows)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder


def test_scores_repeat_headers_and_tell_an_oracle(
    subject: Subject, tmp_path: Path, command: Run, both: tuple[Scores, Scores]
) -> None:
    predictions = with_headers(tmp_path / "p", subject, note="of one's own", data=None)
    words = ("score", *SAMPLE_TEST, "--predictions", predictions, "--output", "s.json")
    done = command("sgdx_metric", *words)
    assert done.returncode == 0 and "oracle" in done.stderr
    scores = json.loads(Path("s.json").read_text())
    assert scores["systems"]["v1"] == {
        "task": subject.task, "variant": "v1", "split": "test", "source": "sample",
        "oracle": True, "system": {"model": "m"},
    }  # fmt: skip
    assert "|oracle:yes|predictions:made-elsewhere|" in scores["signature"]
    assert "oracle" not in both[0]["signature"]
    done = command("sgdx_metric", "compare", "good.json", "s.json", "--json", "c.json")
    assert done.returncode == 0, done.stderr
    compared = json.loads(Path("c.json").read_text())
    assert compared["oracle"] == ["unknown", "yes"]  # files without headers do not say
    assert "|oracle:unknown/yes|" in compared["signature"]
    assert re.search(r"^first: good \(.*oracle: unknown\)$", done.stdout, re.MULTILINE)
    assert re.search(r"^second: s \(.*oracle\)$", done.stdout, re.MULTILINE)


def test_the_source_that_predictions_name(
    subject: Subject, tmp_path: Path, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken where another is the default; where another is given, they are refused."""
    copytree(SAMPLE, tmp_path / "other")
    for file in (tmp_path / "other" / "test").glob("dialogues_*.json"):
        file.write_text(file.read_text().replace("the", "that"))
    monkeypatch.setenv("SGDX_SOURCE", str(tmp_path / "other"))
    predictions = with_headers(tmp_path / "p", subject)
    done = command("sgdx_metric", "score", "--predictions", predictions)
    assert done.returncode == 0 and "sample" in done.stderr
    line = done.stdout.splitlines()[-1]
    assert "|release:sample|" in line and "made-elsewhere" not in line
    item = subject.good["v1"][2][subject.id]
    for words in (("score", "--output", "s.json"), ("explain", item)):
        line = refused(tmp_path, command, *words, "--source=other", "--predictions", predictions)
        assert "sample" in line and "data" in line


# ---- compare and summarise


@pytest.fixture
def both(
    subject: Subject, scores_files: dict[str, tuple[Path, Path]], command: Run
) -> tuple[Scores, Scores]:
    """The scores of the good and of the bad system, in good.json and bad.json."""
    good, bad = scores_files[subject.task]
    for path, name in ((good, "good"), (bad, "bad")):
        copy(path, f"{name}.json")
        copy(path.with_name(f"{path.stem}.items.parquet"), f"{name}.items.parquet")
    return json.loads(good.read_text()), json.loads(bad.read_text())


def test_compare(both: tuple[Scores, Scores], subject: Subject, command: Run) -> None:
    good, bad = both
    words = ("compare", "bad.json", "good.json", "--json", "new/c.json")
    done = command("sgdx_metric", *words, "--details")
    assert (done.returncode, done.stderr) == (0, "")
    assert is_narrow(done.stdout.partition("\n\n")[2]) and bad["signature"] in done.stdout
    result = json.loads(Path("new/c.json").read_text())
    assert result["names"] == ["bad", "good"]
    main = "ser" if subject.task == "turns" else "jga"
    (v1,) = (
        f
        for f in result["figures"]
        if (f["metric"], f["figure"], f["variants"], f["group"]) == (main, "mean", ["v1"], "all")
    )
    assert (v1["first"], v1["second"]) == (subject.mains(bad)["v1"], subject.mains(good)["v1"])
    assert v1["value"] == pytest.approx(v1["second"] - v1["first"])
    assert v1["low"] < v1["value"] < v1["high"]
    groups = {f["group"] for f in result["figures"]}
    assert {"Cabs_1", "Vets_1"} <= groups and "Cabs_1" in done.stdout
    brief = command("sgdx_metric", "compare", "bad.json", "good.json").stdout
    verdict, names, *_ = brief.split("\n\n")
    first, second = names.splitlines()
    assert first.startswith("first: bad") and second.startswith("second: good")
    assert is_narrow(brief.partition("\n\n")[2]) and "Cabs_1" not in brief
    assert "good is better than bad" in " ".join(verdict.split())


def test_compare_on_the_same_dialogues(
    both: tuple[Scores, Scores], subject: Subject, tmp_path: Path, command: Run
) -> None:
    """Of two files, one of which has a part of the other's, those of this part; or those chosen."""
    predictions, scores = put(tmp_path / "p", subject.bad), {}
    for name, ids in {"two": "1_00000\n1_00001\n", "one": "1_00001", "other": "1_00003"}.items():
        Path(f"{name}.txt").write_text(ids)
        scores[name] = scored(command, predictions, f"{name}.json", "--dialogues", f"{name}.txt")
    for files in (("bad.json", "two.json"), ("two.json", "bad.json")):
        done = command("sgdx_metric", "compare", *files, "--json", "c.json")
        assert done.stderr == "" and "of 2 dialogues" in done.stdout
        assert done.stdout.splitlines()[-1] == scores["two"]["signature"]
        result = json.loads(Path("c.json").read_text())
        changes = [f for f in result["figures"] if f["value"] is not None]
        assert changes and all(f["value"] == 0 for f in changes)
    done = command("sgdx_metric", "compare", "bad.json", "two.json", "--dialogues", "one.txt")
    assert "|dialogues:1@" in done.stdout and "of 1 dialogues" in done.stdout
    for words in (("two.json", "other.json"), ("bad.json", "two.json", "--dialogues", "other.txt")):
        line = refused(tmp_path, command, "compare", *words)
        assert "two.json: " in line and line.endswith("1_00003")


def test_summarise(both: tuple[Scores, Scores], subject: Subject, command: Run) -> None:
    done = command("sgdx_metric", "summarise", "good.json", "bad.json", "--output", "new/s.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert is_narrow(done.stdout)
    assert "run: good.json\nrun: bad.json\n" in done.stdout
    result = json.loads(Path("new/s.json").read_text())
    assert result["signature"] == both[0]["signature"]
    main = "ser" if subject.task == "turns" else "jga"

    def of(figures: Any, name: str) -> Any:
        key = main, "mean", [name], "all"
        found = (f for f in figures if (f["metric"], f["figure"], f["variants"], f["group"]) == key)
        return next(found)

    for name in ("original", "v1"):
        values = [subject.mains(scores)[name] for scores in both]
        summed = of(result["figures"], name)
        assert summed["value"] == pytest.approx(mean(values))
        assert summed["second_sd"] == pytest.approx(stdev(values))
    words = ("compare", "--first", "good.json", "bad.json", "--second", "good.json")
    done = command("sgdx_metric", *words, "--json", "c.json")
    assert done.returncode == 0, done.stderr
    v1 = of(json.loads(Path("c.json").read_text())["figures"], "v1")
    values = [subject.mains(scores)["v1"] for scores in both]
    assert v1["first"] == pytest.approx(mean(values)) and v1["second"] == values[0]
    assert v1["first_sd"] == pytest.approx(stdev(values)) and "second_sd" not in v1


def test_scores_that_do_not_compare(
    both: tuple[Scores, Scores], tmp_path: Path, command: Run
) -> None:
    bad = both[1]
    earlier = bad["signature"].replace(f"version:{__version__}", "version:0.1.0")
    copy("bad.items.parquet", "other.items.parquet")
    Path("other.json").write_text(json.dumps({**bad, "signature": earlier}))
    done = command("sgdx_metric", "compare", "good.json", "other.json")
    assert done.stdout.endswith(f"|version:{__version__}/0.1.0\n"), done.stderr
    Path("other.json").write_text(json.dumps(bad))
    items = pq.read_table("bad.items.parquet")
    ids = items["id"].to_pylist()
    other = pa.array(["9_99999" if name == ids[0] else name for name in ids])
    for change, fact in (
        (items.set_column(0, "id", other), "in only one of the two"),
        (items.slice(0, items.num_rows - 1), "items.parquet"),
        (items.slice(0, items.num_rows // 2), "order"),
        (items.drop(["service"]), "items.parquet"),
    ):
        pq.write_table(change, "other.items.parquet")
        line = refused(tmp_path, command, "compare", "good.json", "other.json")
        assert "other.items.parquet" in line  # are not its own
        own = file_digest(Path("other.items.parquet"))
        Path("other.json").write_text(json.dumps({**bad, "items": own}))
        line = refused(tmp_path, command, "compare", "good.json", "other.json")
        assert "other" in line and fact in line
    Path("other.items.parquet").write_text("no Parquet")
    assert "items.parquet" in refused(tmp_path, command, "compare", "good.json", "other.json")
    Path("other.items.parquet").unlink()
    assert "items.parquet" in refused(tmp_path, command, "compare", "good.json", "other.json")


# ---- explain


def test_explain_an_item(subject: Subject, tmp_path: Path, command: Run) -> None:
    item = subject.bad["v1"][2][subject.id]
    words = (*SAMPLE_TEST, "--predictions", put(tmp_path / "p", subject.bad))
    done = command("sgdx_metric", "explain", item, *words)
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines = done.stdout.splitlines()
    assert first == item and "user:" in lines[0]
    assert all(any(name in line for line in lines) for name in ("original", "v1"))


def test_explain_lists_what_broke(
    subjects: dict[str, Subject],
    scores_files: dict[str, tuple[Path, Path]],
    tmp_path: Path,
    command: Run,
) -> None:
    words = (*SAMPLE_TEST, "--predictions", put(tmp_path / "p", subjects["state"].bad))
    bad = scores_files["state"][1]
    items = pq.read_table(bad.with_name(f"{bad.stem}.items.parquet")).to_pylist()
    v1 = [item for item in items if item["variant"] == "v1"]
    lost = [item["id"] for item in v1 if item["jga"] < 0.5]
    done = command("sgdx_metric", "explain", *words, "--changed", "original", "v1")
    rows = [line.split() for line in done.stdout.splitlines() if line.count("/") == 2]
    assert rows == [[item, "100.00", "0.00"] for item in lost]
    assert done.stdout.splitlines()[-1].startswith(f"{len(lost)} of {len(v1)} ")
    done = command("sgdx_metric", "explain", *words, "--flips")
    assert is_narrow(done.stdout[: done.stdout.rstrip().rindex("\n")])
    assert done.stdout.splitlines()[-1].startswith(f"{len(lost)} of {len(v1)} ")
    Path("one.txt").write_text("1_00001\n")
    done = command("sgdx_metric", "explain", *words, "--flips", "--dialogues", "one.txt")
    few = [item for item in lost if item.startswith("1_00001/")]
    assert done.stdout.splitlines()[-1].startswith(f"{len(few)} of ")


def test_a_header_is_told_from_a_row(tmp_path: Path) -> None:
    path = written(tmp_path / "v1.jsonl", [{"frame_id": "1_00000/0/Cabs_1"}])
    assert read_beginning(path).header is None
    path.write_bytes(b' { "metadata" :{"split":"test", "mine": 1}} ')
    assert read_beginning(path).header == Header(split="test")
