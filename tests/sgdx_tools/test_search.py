"""Tool search: ranks by hand, ties, the two rankers, and the command with its statuses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgdx_cli import main as sgdx
from sgdx_dataset import SgdxError
from sgdx_eval.result import read_result
from sgdx_eval.tasks.tools import RANK
from sgdx_llm.server import MOST_BYTES
from sgdx_metric.columns import Floats
from sgdx_tools.data import Case, ExpectedCall, Project, Tool, ToolWords, Variant
from sgdx_tools.folder import read_project, write_project
from sgdx_tools.search import (
    bm25,
    document,
    embeddings,
    query,
    ranker_of,
    search,
    split_name,
    words_of,
)

from ..sgdx_llm.server import StandIn, failing, serving
from ..sgdx_llm.test_sending import endless
from .conftest import Capture, command, objects, user

CITY = objects(cityName={"type": "string", "description": "Town"})
TOOLS = (
    Tool("bookTable", "Reserve a seat", CITY),
    Tool("get_weather", "Forecast of rain"),
    Tool("play_song", "Start music"),
    Tool("stop_song", "End music"),
)
WORDS = Variant("v1", {"get_weather": ToolWords("look_outside", "How wet the day becomes")})
SAME = Variant("v2", {"play_song": ToolWords(description="Start music now")})


def case(name: str, text: str, *tools: str, said_before: str = "") -> Case:
    before = (user(said_before), {"role": "assistant", "content": "rain"}) if said_before else ()
    return Case(name, (*before, user(text)), tuple(ExpectedCall(tool) for tool in tools) or None)


CASES = (
    case("a", "forecast, please", "get_weather"),
    case("b", "yes", "bookTable", said_before="reserve a seat"),
    case("c", "some music", "play_song"),
    case("d", "hello"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(tmp_path / "tools", TOOLS, CASES, variants=[WORDS, SAME])
    return tmp_path / "tools"


def words_in_common(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    texts = [{*text.lower().replace(",", " ").split()} for text in documents]
    return np.array([[len(t & {*q.replace(",", " ").split()}) for t in texts] for q in queries])


@pytest.mark.parametrize("ranker", [words_in_common, bm25])
def test_ranks_are_those_by_hand(folder: Path, ranker: Any) -> None:
    """Under v1 nothing of the first case's tool fits; of two tools of music each is second."""
    result, raw = search(read_project(folder), ranker, "by hand")
    assert raw.items.ids.to_pylist() == ["a", "b", "c"]
    assert raw.metrics["recall@1"].tolist() == [[1, 1, 0], [0, 1, 0], [1, 1, 0]]
    assert raw.metrics["recall@3"].tolist() == [[1, 1, 1], [0, 1, 1], [1, 1, 1]]
    assert raw.metrics[RANK].tolist() == [[1, 1, 0.5], [0.25, 1, 0.5], [1, 1, 0.5]]
    assert result["recall@1_orig"] == pytest.approx(2 / 3)
    assert result["recall@1_drop"] == pytest.approx(-1 / 6)
    assert result["recall@1_worst"] == result["recall@1_flips"] == pytest.approx(1 / 3)
    worst = result.counts["tools"][0]
    assert (worst["variant"], worst["tool"], worst["rank"], worst["new_rank"]) == (
        ("v1", "get_weather", 1, 4)
    )
    assert result.counts["cases"] == {"all": 3, "dialogues": 3}
    assert result.signature.startswith("sgdx_tools_search|variants:original+v1@")
    assert "|tools:4@" in result.signature and "|ranker:by hand|" in result.signature


def test_a_case_of_two_tools_counts_each_of_them() -> None:
    """One of its tools is among the first two, and the other has nothing in common with it."""
    both = case("both", "forecast and a seat", "get_weather", "play_song")
    _, raw = search(Project("x", {tool.id: tool for tool in TOOLS}, (both,)), words_in_common, "x")
    assert raw.metrics["recall@3"].tolist() == [[0.5]]
    assert raw.metrics[RANK].tolist() == [[pytest.approx((1 / 2 + 1 / 4) / 2)]]


def test_words_of_tools_and_of_what_is_said() -> None:
    assert split_name("searchHotels_2") == "search Hotels 2"
    assert split_name("HTTPServer.get-größe") == "HTTP Server get größe"
    assert document(TOOLS[0]) == "book Table\nReserve a seat\ncity Name\nTown"
    assert query(CASES[1]) == "reserve a seat\nyes"
    parts = Case("p", ({"role": "user", "content": [{"type": "text", "text": "hi"}]},), None)
    assert query(parts) == "hi"


@pytest.mark.parametrize("documents", [["a", "the"], ["", ""], ["x", ""]])
def test_tools_without_a_word_are_found_by_nothing(documents: list[str]) -> None:
    assert bm25(documents, ["a table", ""]).tolist() == [[0, 0], [0, 0]]


def test_scripts_without_blanks_are_split_by_pairs(tmp_path: Path, capsys: Capture) -> None:
    """Japanese and Chinese have words too; what has none for a ranker is said."""
    assert words_of(["東京の天気"]) == [["東京", "京の", "の天", "天気"]]
    assert words_of(["weather 天気 now"]) == [["weather", "天気", "now"]]
    found = bm25(["天気予報を調べる", "席を予約する"], ["明日の天気は", "予約したい"])
    assert found[0, 0] > found[0, 1] and found[1, 1] > found[1, 0]
    none = [case(f"c{i}", "?!", "play_song") for i in range(12)]
    more = [Tool(f"t{i}", f"word{i}") for i in range(6)]
    write_project(tmp_path / "none", [*TOOLS, *more], none, variants=[WORDS])
    assert command("search", tmp_path / "none", "--max-drop", "3") == 2
    out = capsys.readouterr().out
    assert "12 of 12" in out and "cannot tell" in out


def letters(texts: list[str]) -> Any:
    """How often each letter is there, as the embedding; the last text comes first."""
    rows = [
        {"object": "embedding", "index": i, "embedding": [text.count(c) for c in "aeiou"]}
        for i, text in enumerate(texts)
    ]
    return {"object": "list", "data": rows[::-1], "usage": {}}


def test_embeddings_come_from_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-key")
    with serving(StandIn(answer=lambda body: letters(body["input"]))) as server:
        rank = embeddings("m", server.url)
        scores = rank(["aa", "e", "", "ae" * 100], ["a", "ee"])
        expected = np.array([[1, 0, 0, 0.5**0.5], [0, 1, 0, 0.5**0.5]])
        assert scores == pytest.approx(expected, abs=1e-12)
        assert rank(["a", "e", "aaa"], ["a"]).tolist() == [[1, 0, 1]]
        assert server.bodies[-1]["input"] == ["aaa"]  # each text once for all variants
        many = [f"{'a' * i}e" for i in range(300)]  # more than one request has
        assert rank(many, ["e"])[0].argmax() == 0
        assert {body["model"] for body in server.bodies} == {"m"}
        assert server.keys == {"Bearer s3cret-key"}
        server.answer = lambda body: letters(body["input"][1:])
        with pytest.raises(SgdxError):
            rank(["x", "y"], ["z"])


def of_row(embedding: Any) -> Any:
    return lambda body: {"data": [{"index": 0, "embedding": embedding}] * len(body["input"])}


@pytest.mark.parametrize(
    ("answer", "fault", "said"),
    [
        (lambda body: {"data": [5]}, None, "data"),
        (lambda body: letters(body["input"][1:]), None, "embeddings"),
        (of_row([1.0]), None, "embeddings"),
        (of_row("AAAA"), None, "embedding"),
        (of_row([[1.0]]), None, "embedding"),
        (of_row([float("nan")]), None, "embedding"),
        (None, (200, {}, b"[" * 100_000), "JSON"),
        (None, (200, {}, b" " * (MOST_BYTES + 1)), str(MOST_BYTES)),
        (None, (200, {"Content-Encoding": "gzip"}, b"not compressed"), "JSON"),
        (None, (404, {}, b"no such path"), "404"),
        (None, failing(503), "503"),
        (None, None, "answer"),
    ],
)
def test_a_server_of_embeddings_that_does_not_answer_well_is_one_line(
    folder: Path,
    answer: Any,
    fault: Any,
    said: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A form, a size, a status, or a line that is cut."""
    monkeypatch.setattr("sgdx_tools.search.FIRST_RETRIES", 0)
    with serving(StandIn(answer=answer or (lambda body: {}))) as server:
        server.faults += [] if answer else [fault] * 99
        words = ("--ranker", f"embeddings:m@{server.url}")
        assert command("search", folder, *words) == 2
    (line,) = (ln for ln in capsys.readouterr().err.splitlines() if "error" in ln)
    assert said in line and "sgdx: error: " in line


def test_conversations_are_embedded_by_no_other_server(folder: Path) -> None:
    with serving(StandIn()) as server, serving(StandIn()) as other:
        server.faults += [(307, {"Location": f"{other.url}/embeddings"}, b"")] * 9
        assert command("search", folder, "--ranker", f"embeddings:m@{server.url}") == 2
    assert other.bodies == [] and len(server.bodies) == 1


def test_an_answer_that_drips_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """While it is waited for, there are lines of progress."""
    monkeypatch.setattr("sgdx_tools.search._SECONDS", 0.3)
    monkeypatch.setattr("sgdx_dataset.io.progress.PROGRESS_SECONDS", 0.1)
    listening, url = endless(b"HTTP/1.1 200 OK\r\n", b" ", 0.02)
    with listening:
        assert command("search", folder, "--ranker", f"embeddings:m@{url}") == 2
    error = capsys.readouterr().err
    assert "0.3 seconds" in error and "for embeddings: 0 texts" in error


def test_command_says_what_is_lost_and_ends_as_the_gate_says(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "search.json"
    assert command("search", folder, "--output", output) == 0
    read = read_result(output)
    assert read.result["recall@5_orig"] == 1  # four tools are always among five
    assert read.scores.metrics["recall@1"].shape == (3, 3)
    assert command("search", folder, "--max-drop", "3") == 2  # too few cases
    write_project(tmp_path / "lone", TOOLS, CASES)  # without a variant
    assert command("search", tmp_path / "lone", "--max-drop", "3") == 2
    write_project(tmp_path / "none", TOOLS, CASES[3:])  # without a call
    assert command("search", tmp_path / "none") == 2


# What a file says of the gate, the status, and how the verdicts begin.
GATES: list[tuple[str, int, list[str]]] = [
    ("{search: {recall@5: 3}}", 1, ["recall@5: failed"]),
    ("{search: {recall@1: 3, recall@10: 100}}", 1, ["recall@1: failed", "recall@10: passed"]),
    ("{search: {recall@5: 100}, max_drop: 3}", 0, ["recall@5: passed"]),
    ("{max_drop: 3}", 0, []),
]


def test_the_gate_fails_where_tools_are_surely_lost(tmp_path: Path, capsys: Capture) -> None:
    """A file's words are made as a test makes them, and no model is named."""
    tools = [Tool(f"t{i}", f"word{i}") for i in range(12)]
    cases = [case(f"c{i}", f"word{i % 12}", f"t{i % 12}") for i in range(24)]
    for name, text, status in (("lost", "thing", 1), ("same", "word{}", 0)):
        words = {tool.id: ToolWords(description=text.format(i)) for i, tool in enumerate(tools)}
        write_project(tmp_path / name, tools, cases, variants=[Variant("v1", words)])
        assert command("search", tmp_path / name, "--max-drop", "3") == status
    lines = ["tools: lost", "cases: lost/cases.jsonl", "variants: {file: lost/variants/v1.json}"]
    file = tmp_path / "sgdx.yaml"
    for gate, status, said in GATES:
        file.write_text("\n".join([*lines, f"gate: {gate}"]))
        capsys.readouterr()
        assert command("search", file) == status, gate
        printed = capsys.readouterr().out.splitlines()
        found = [line for line in printed if line.startswith("recall@") and ": " in line]
        assert [line.split(":")[:2] for line in found] == [line.split(":") for line in said]


RANKER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    fits = [i for i, text in enumerate(asked["texts"]) if asked["query"].split()[-1] in text]
    print(json.dumps(fits))
"""


def test_a_program_ranks_and_an_exact_name_is_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """What a program leaves out comes last; the file's ranker is that of its gate too."""
    monkeypatch.chdir(tmp_path)
    cases = [case(f"{i}", "Start some music", "play_song", said_before="hi") for i in range(40)]
    cases += [case("name", " GET_weather\n", "get_weather"), case("none", "rain?", "stop_song")]
    write_project(tmp_path / "tools", TOOLS, cases, variants=[SAME, WORDS])
    Path("mine.py").write_text(RANKER)
    line = f"{sys.executable} mine.py"
    rank, name = ranker_of(line)
    found = search(read_project(tmp_path / "tools"), rank, name)
    assert name.startswith("program python") and str(tmp_path) not in found.result.signature
    # The song is first of one that fits; the weather by its name alone; of no order all are last.
    assert found.items.metrics[RANK][0].tolist() == [1.0] * 41 + [0.25]
    Path("sgdx.yaml").write_text(
        f"tools: tools\nranker: {line}\ngate: {{search: {{recall@1: 3}}}}\n"
        f"variants: {{file: v.json}}\n"
    )
    Path("v.json").write_text('{"play_song": {"description": "Begin a tune"}}')
    assert command("search") == 1 and "failed" in capsys.readouterr().out
    for name in ("bm25", "bm25:english"):
        assert command("search", "tools", "--ranker", name, "--output", f"{name[4:]}x.json") == 0
    capsys.readouterr()
    assert sgdx(["compare", "x.json", ":englishx.json"]) == 0  # by the mean over all other words
    out = capsys.readouterr().out
    assert out.startswith("By recall@5_reworded ") and "ranker:bm25-lucene/bm25-lucene-eng" in out
    for text, fact in (
        ("print('[0]')", "42 queries"),
        ("import sys; sys.exit('no index')", "no index"),
        ("import sys; [print('[0, 0]') for _ in sys.stdin]", "0 to 3"),
        ("import sys; [print('[4]') for _ in sys.stdin]", "[4]"),
        ("import sys; [print('best') for _ in sys.stdin]", "line 1"),
    ):
        Path("mine.py").write_text(text)
        assert command("search", "--ranker", line) == 2, text
        said = capsys.readouterr().err.splitlines()[-1]
        assert said.startswith("sgdx: error: ranker python") and fact in said, said


def test_words_of_a_language_lose_their_endings() -> None:
    assert words_of(["Die Häuser des Hauses"], "german") == [["haus", "haus"]]
    assert words_of(["evlerimizde"], "turkish") == [["ev"]]
    tools, queries = ["Häuser suchen", "Karten kaufen"], ["ein Haus", "eine Karte"]
    german = ranker_of("bm25:german")[0](tools, queries)
    assert not bm25(tools, queries).any()
    assert german[0, 0] > german[0, 1] and german[1, 1] > german[1, 0]
