"""The commands, from dialogues to scores, with servers, programs and files of answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sgdx_llm.plan import Plan
from sgdx_llm.providers import host_of
from sgdx_metric.__main__ import main as metric

from .conftest import run_ask
from .server import StandIn, completion, gold_answer

KEY = "sk-never-written"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def ask(command: str, *more: object) -> int:
    words = [command, "--source", "sample", "--variant", "original", "v5", "--model", "m"]
    return run_ask([*words, *map(str, more)])


def _key(figure: dict[str, Any]) -> tuple[Any, ...]:
    return figure["metric"], figure["figure"], figure["group"]


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    header, *rows = (json.loads(line) for line in path.read_text().splitlines())
    return header["metadata"], rows


def gold_answers_of(plan: Plan) -> dict[str, dict[str, Any]]:
    """The right answer to each body of a plan."""
    found, gold = {}, {name: plan.gold(name) for name in plan.names}
    for request in plan.requests():
        row = gold[request.row["variant"]][request.row["frame_id"]]
        answer = gold_answer(row, request.service, plan.settings)
        found[json.dumps(request.body, sort_keys=True)] = answer
    return found


def test_a_model_that_is_always_right_scores_1(
    plan: Plan, three: Path, stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = gold_answers_of(plan)
    stand_in.answer = lambda body: right[json.dumps(body, sort_keys=True)]
    stand_in.delay = 0.02
    output = tmp_path / "run" / "predictions"
    arguments = ("--dialogues", three, "--output", output, "--base-url", stand_in.url)
    assert ask("predict", *arguments, "--price", "2,1,10") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(output / f"{name}.jsonl") for name in ("original", "v5")]
    assert "v5: requests 26; tokens 23400 in, 1300 out; cost 0.0494" in err.splitlines()
    words = ["--source", "sample", "--dialogues", str(three), "--predictions", str(output)]
    assert metric(["score", *words, "--output", str(tmp_path / "run" / "scores.json")]) == 0
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    for variant in ("original", "v5"):
        found = [f for f in scores["figures"] if f["variants"] == [variant]]
        assert {f["value"] for f in found if f["figure"] == "mean"} == {1.0}
    assert "system-acts:no" in scores["signature"]
    header, rows = read(output / "v5.jsonl")
    assert len(rows) == 26
    assert header["system"]["model"] == "m"
    assert header["system"]["host"] == host_of(stand_in.url)
    assert header["counts"]["requests"] == 26
    assert header["counts"]["unread"] == 0
    tokens = {"in": 26 * 900, "cached": 26 * 400, "out": 26 * 50, "reasoning": 0}
    assert header["counts"]["tokens"] == tokens
    assert header["counts"]["cost"] == pytest.approx(26 * (500 * 2 + 400 * 1 + 50 * 10) / 1e6)
    assert header["counts"]["served_models"] == {"gold": 26}
    assert 0.02 <= header["counts"]["per_answer"]["seconds"]["median"] < 30
    assert not any(
        KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()
    )
    sent = len(stand_in.bodies)
    assert ask("predict", *arguments) == 0
    assert len(stand_in.bodies) == sent


def test_a_run_that_is_stopped_goes_on_and_its_dialogues_can_be_scored(
    three: Path, stand_in: StandIn, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    arguments = ("--dialogues", three, "--base-url", stand_in.url, "--concurrency", 1)
    limits = ("--max-requests", 15)
    assert ask("predict", *arguments, *limits, "--output", output) == 1
    assert not list(output.glob("*[0-9l].jsonl"))
    done = output / "done.json"
    assert msgspec.json.decode(done.read_bytes()) == ["1_00000"]
    part = ("--dialogues", done, "--answers", output / "answers.jsonl")
    assert ask("predict", *part, "--base-url", stand_in.url, "--output", tmp_path / "part") == 0
    assert len(read(tmp_path / "part" / "v5.jsonl")[1]) == 6
    assert len(stand_in.bodies) == 15
    assert ask("predict", *arguments, "--output", output) == 0
    assert len({json.dumps(body) for body in stand_in.bodies}) == len(stand_in.bodies)
    assert not done.exists()
    assert {path.name for path in output.iterdir()} == {
        ".sgdx-written", "answers.jsonl", "original.jsonl", "v5.jsonl",
    }  # fmt: skip


@pytest.mark.posix
def test_old_requests_stay_where_new_ones_cannot_be_written(three: Path, tmp_path: Path) -> None:
    """On a full disk, and where somebody has changed one, or put a file beside them."""
    import resource  # which Windows lacks

    words = ("--dialogues", three, "--base-url", "http://h", "--output", tmp_path / "batch")
    assert ask("predict", "--requests", *words) == 0
    (file,) = (tmp_path / "batch" / "requests").iterdir()
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        assert ask("predict", "--requests", *words, "--set", "temperature=1") == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [*file.parent.iterdir()] == [file] and file.read_bytes() == before
    assert ask("predict", "--requests", *words, "--set", "temperature=1") == 0
    assert file.read_bytes() != before
    for name, text in ((file.name, "mine"), ("requests-007.jsonl", "mine")):
        (file.parent / name).write_text(text)
        assert ask("predict", "--requests", *words) == 2
        assert (file.parent / name).read_text() == text
        (file.parent / name).unlink()


def test_batch_files_give_the_same_predictions(
    plan: Plan, three: Path, stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = gold_answers_of(plan)
    stand_in.answer = lambda body: right[json.dumps(body, sort_keys=True)]
    arguments = ("--dialogues", three, "--base-url", stand_in.url, "--output")
    assert ask("predict", *arguments, tmp_path / "sent") == 0
    assert ask("predict", "--requests", *arguments, tmp_path / "batch") == 0
    (file,) = (tmp_path / "batch" / "requests").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == len(stand_in.bodies)
    assert set(lines[0]) == {"custom_id", "method", "url", "body"}
    answers = [
        {"id": "b", "custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}
        for line in reversed(lines)
        for body in [right[json.dumps(line["body"], sort_keys=True)]]
    ]
    failed: Any = {"custom_id": answers[0]["custom_id"], "response": {"status_code": 500}}
    part = tmp_path / "part.jsonl"
    other = {"custom_id": "v9|1|1", "response": {"body": {}}}
    part.write_text("\n".join(json.dumps(one) for one in [failed, other, *answers[9:]]) + '\n{"')
    capsys.readouterr()
    assert ask("predict", *arguments, tmp_path / "batch", "--collect", part) == 1
    said = capsys.readouterr().err
    assert "failed 1" in said and "unknown 1" in said and "unreadable 1" in said
    assert ask("predict", "--requests", *arguments, tmp_path / "batch") == 0
    assert len(file.read_text().splitlines()) == 9
    rest = tmp_path / "rest.jsonl"
    rest.write_text("".join(json.dumps(one) + "\n" for one in answers[:12]))
    assert ask("predict", *arguments, tmp_path / "batch", "--collect", rest) == 0
    for name in ("original", "v5"):
        assert (
            read(tmp_path / "batch" / f"{name}.jsonl")[1]
            == read(tmp_path / "sent" / f"{name}.jsonl")[1]
        )


def test_repeats_stand_beside_the_variants(three: Path, stand_in: StandIn, tmp_path: Path) -> None:
    """What was asked already is not asked again; noise is that of the original words."""
    words = ["predict", "--source", "sample", "--model", "m", "--dialogues", str(three)]
    words += [
        "--base-url",
        stand_in.url,
        "--output",
        str(tmp_path / "out"),
        "--variant",
        "original",
    ]
    assert run_ask([*words, "v1"]) == 0
    assert run_ask([*words, "--repeats", "3"]) == 0
    assert len(stand_in.bodies) == 4 * 26
    bodies = Counter(json.dumps(body) for body in stand_in.bodies)
    assert sorted(bodies.values()) == [1] * 26 + [3] * 26
    scoring = ["score", "--source", "sample", "--dialogues", str(three), "--variant", "repeat"]
    scoring += ["--predictions", str(tmp_path / "out"), "--output", str(tmp_path / "noise.json")]
    assert metric(scoring) == 0
    scores = json.loads((tmp_path / "noise.json").read_text())
    flips = [f["variants"] for f in scores["figures"] if _key(f) == ("jga", "flips", "all")]
    assert flips == [["original", "v1"], ["original", "repeat2", "repeat3"]]


def test_an_estimate_where_requests_that_are_equal_are_counted_once(
    three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "same.json").write_text("{}")
    own = ("--variant", f"same={tmp_path / 'same.json'}", "same")
    words = ("--dialogues", three, "--price", "2,1,10", *own)
    assert ask("predict", "--estimate", *words) == 0
    lines = [line.split() for line in capsys.readouterr().out.replace(",", "").splitlines()]
    rows = {name: [float(of) for of in rest] for name, *rest in lines[1:5]}
    number, tokens_in, each, _, tokens_out, each_out, cost = rows["original"]
    assert number == 26 and 500 < each < 1500 and 20 < each_out < 100
    assert cost == pytest.approx((2 * tokens_in + 10 * tokens_out) / 1e6, abs=0.01)
    assert rows["same"] == [0] * 7
    assert rows["all"][:2] == [a + b for a, b in zip(rows["original"][:2], rows["v5"][:2])]


def test_another_run_is_asked_and_the_answers_of_both_are_kept(
    three: Path, stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--dialogues", three, "--output", tmp_path / "out", "--base-url", stand_in.url)
    asked = []
    for more in ((), ("--set", "temperature=1"), ()):
        assert ask("predict", *arguments, *more) == 0
        asked.append(len(stand_in.bodies))
    assert asked == [asked[0], 2 * asked[0], 2 * asked[0]]
    assert "as the parameters of original" in capsys.readouterr().err


def test_what_cannot_be_read_stands_beside_the_score(
    three: Path, stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answer = lambda body: completion({"role": "assistant", "content": ""}, "stop")
    output = tmp_path / "out"
    arguments = ("--dialogues", three, "--output", output, "--base-url", stand_in.url)
    assert ask("predict", *arguments) == 0
    assert "WARNING: 52 of 52 answers (100.0 %)" in capsys.readouterr().err
    assert read(output / "v5.jsonl")[0]["counts"]["unread_because"] == {"empty": 26}
    words = ["--source", "sample", "--dialogues", str(three), "--predictions", str(output)]
    assert metric(["score", *words, "--output", str(tmp_path / "scores.json")]) == 0
    assert "original: 26 of 26 answers unread (100.00 %)" in capsys.readouterr().out
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["systems"]["v5"]["counts"]["unread"] == 26


def test_answers_to_other_requests_are_refused(
    three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--collect`` takes no answer of another model, form of answer, parameter or variant."""
    words, answers = tmp_path / "mine.json", tmp_path / "answers.jsonl"

    def run(*way: object, slot: str = "dropoff", **options: str) -> int:
        words.write_text(json.dumps({"Cabs_1": {"slots": {"destination": slot}}}))
        same = ["--source", "sample", "--variant", "mine", f"mine={words}"]
        same += ["--dialogues", str(three), "--output", str(tmp_path / "run")]
        for name, value in ({"model": "m", "answer": "tool", "set": "seed=1"} | options).items():
            same += [f"--{name}", value]
        return run_ask(["predict", *same, *map(str, way)])

    assert run("--requests") == 0
    (file,) = (tmp_path / "run" / "requests").iterdir()
    asked = [json.loads(line)["custom_id"] for line in file.read_text().splitlines()]
    lines = [json.dumps({"custom_id": name, "state": {}}) + "\n" for name in asked]
    answers.write_text("".join(lines))
    capsys.readouterr()
    for other in ({"model": "n"}, {"answer": "text"}, {"set": "seed=2"}, {"slot": "goal"}):
        assert run("--collect", answers, **other) == 2, other
        said = capsys.readouterr().err
        assert "answers.jsonl" in said and "as another run asked it" in said
        assert not (tmp_path / "run" / "mine.jsonl").exists()
    assert run("--collect", answers) == 0
