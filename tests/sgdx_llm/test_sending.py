"""Files of answers, and sending: faults of servers, limits, and what is under way at once."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.functions import Json
from sgdx_llm.options import SendingOptions
from sgdx_llm.plan import Plan
from sgdx_llm.providers import host_of
from sgdx_llm.server import MOST_BYTES, NoAnswerError
from sgdx_llm.usage import Price, read_price, tokens_of

from .conftest import connect, sent
from .server import StandIn, empty_state, failing, serving

BODY: Json = {"model": "m", "messages": []}


def missing(plan: Plan, path: Path) -> int:
    with AnswerFile(path) as answers:
        return sum(request.key not in answers for request in plan.requests())


def test_every_fault_is_outlived(plan: Plan, stand_in: StandIn, tmp_path: Path) -> None:
    away = {"message": "upstream is away", "code": 502}
    choice = {"finish_reason": "error", "message": {"content": ""}, "error": {}}
    # Gateways send errors with status 200.
    no_answers: list[Any] = [
        {"error": away}, {"choices": [choice]}, {}, {"choices": []}, {"detail": "rate limit"}, None
    ]  # fmt: skip
    faults = [failing(429), failing(500), None, failing(503), (200, {}, b'{"choi')]
    faults += [(200, {"Retry-After": "0.01"}, json.dumps(one).encode()) for one in no_answers]
    # Requests about services whose words stay are the same.
    distinct, left = len({request.key for request in plan.requests()}), list(faults)

    def answer(body: Json) -> Json:
        """The faults begin after the first answer."""
        stand_in.faults, left[:] = [*stand_in.faults, *left], []
        return empty_state(body)

    stand_in.answer = answer
    found = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    assert +found.counts == {"requests": distinct, "answered": distinct}
    assert len(stand_in.bodies) == distinct + len(faults)
    assert missing(plan, tmp_path / "a.jsonl") == 0
    assert +found.tokens == {"in": 900 * distinct, "cached": 400 * distinct, "out": 50 * distinct}
    again = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    assert +again.counts == {"cached": plan.count()}


def test_a_server_that_hangs_is_left_and_not_asked_twice(
    plan: Plan, stand_in: StandIn, tmp_path: Path
) -> None:
    """A slow server got 38 requests for 18 answers."""
    stand_in.delay = 0.5
    with pytest.raises(SgdxError, match=r"no whole answer in 0\.1 seconds, which --timeout sets"):
        sent(plan, tmp_path / "a.jsonl", connect(stand_in.url, seconds=0.1))
    assert len(stand_in.bodies) == 3


def test_no_more_is_under_way_than_allowed(plan: Plan, stand_in: StandIn, tmp_path: Path) -> None:
    def answer(body: Json) -> Json:
        """All but the first, which is alone, wait until three are under way: machines are slow."""
        end = time.monotonic() + 20
        while len(stand_in.bodies) > 1 and stand_in.most < 3 and time.monotonic() < end:
            time.sleep(0.01)
        return empty_state(body)

    stand_in.delay, stand_in.answer = 0.01, answer
    sent(plan, tmp_path / "a.jsonl", connect(stand_in.url), SendingOptions(concurrency=3))
    assert stand_in.most == 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (failing(400, message="no such field\nseed"), "400: no such field seed"),
        (failing(401), "401"),
        ((422, {}, b'{"detail": "Unexpected fields: seed"}'), "Unexpected fields: seed"),
        (failing(429, "insufficient_quota"), "429"),
    ],
)
def test_a_server_that_refuses_everything_ends_the_run_in_one_line(
    plan: Plan, stand_in: StandIn, tmp_path: Path, fault: Any, said: str
) -> None:
    stand_in.faults += [fault] * 100
    with pytest.raises(SgdxError) as error:
        sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    message = str(error.value)
    assert message.startswith(host_of(stand_in.url)) and said in message and "\n" not in message
    assert len(stand_in.bodies) <= 8
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize("status", [200, 401, 429])
def test_no_part_of_a_key_is_left_where_a_message_is_cut(
    status: int, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret" * 20)
    for before in range(240, 310, 10):
        said = {"error": {"message": "x" * before + "sk-secret" * 20}}
        stand_in.faults.append((status, {}, json.dumps(said).encode()))
        with pytest.raises((NoAnswerError, SgdxError)) as error:
            asyncio.run(connect(stand_in.url)(BODY, 0))
        assert "sk-" not in str(error.value)


@pytest.mark.parametrize("status", [301, 307])
def test_a_conversation_is_not_sent_to_another_host(
    plan: Plan, stand_in: StandIn, tmp_path: Path, status: int
) -> None:
    with serving(StandIn()) as other:
        address = f"{other.url}/chat/completions"
        stand_in.faults.append((status, {"Location": address}, b""))
        with pytest.raises(SgdxError) as error:
            sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
        assert host_of(other.url) in str(error.value) and other.bodies == []


def endless(head: bytes, part: bytes, pause: float) -> tuple[socket.socket, str]:
    """A server that begins an answer and then sends the same part for ever."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):  # the client has gone, or the test has ended
            while True:
                connection, _ = listening.accept()
                serve_one(connection)

    def serve_one(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.recv(100_000)
            connection.sendall(head + b"Content-Length: 5000000000\r\n\r\n")
            while True:
                connection.sendall(part)
                time.sleep(pause)

    threading.Thread(target=serve, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
def test_a_server_that_drips_is_left(status: bytes) -> None:
    """It is never silent for long, so that only the time of the whole answer tells."""
    listening, url = endless(b"HTTP/1.1 " + status + b"\r\n", b" ", 0.1)
    start = time.monotonic()
    with listening, pytest.raises(NoAnswerError, match=r"no whole answer in 0\.3 seconds"):
        asyncio.run(connect(url, seconds=0.3)(BODY, 5))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("head", [b"200 OK\r\n", b"400 Bad Request\r\n",
                                  b"200 OK\r\nContent-Encoding: gzip\r\n"])  # fmt: skip
def test_an_answer_without_an_end_is_not_kept(head: bytes) -> None:
    """An error of 3 GB took 6 GB of memory."""
    listening, url = endless(b"HTTP/1.1 " + head, b"x" * 1_000_000, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in KiB
    with listening, pytest.raises(NoAnswerError, match=f"over {MOST_BYTES} bytes"):
        asyncio.run(connect(url)(BODY, 5))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_what_is_compressed_unasked_fills_no_memory(stand_in: StandIn) -> None:
    stand_in.faults.append((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b no answer"))
    with pytest.raises(NoAnswerError, match="not JSON"):
        asyncio.run(connect(stand_in.url)(BODY, 0))
    assert stand_in.headers["accept-encoding"] == "identity"


def test_an_address_is_shown_without_credentials(stand_in: StandIn) -> None:
    """The client sends a password as ``Basic`` and base64, which the server repeats."""
    url = stand_in.url.replace("//", "//me:very-secret-word@")
    for echo in ("bWU6dmVyeS1zZWNyZXQtd29yZA==", "very-secret-word"):
        stand_in.faults.append(failing(401, message=f"no user Basic {echo}"))
        with pytest.raises(SgdxError, match=r"Basic \[key\]"):
            asyncio.run(connect(url)(BODY, 0))
    assert host_of("http://me:pass@localhost:8000/v1") == "http://localhost:8000"
    assert host_of("https://[::1]:8000/v1?key=1") == "https://[::1]:8000"


def failing_send(*faults: Exception | None) -> tuple[Callable[[Json, int], Any], list[Json]]:
    """A send that raises these, one after the other, and then answers."""
    bodies: list[Json] = []
    left = list(faults)

    async def send(body: Json, retries: int) -> Json:
        bodies.append(body)
        await asyncio.sleep(0)
        if left and (fault := left.pop(0)) is not None:
            raise fault
        return empty_state(body) | {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}

    return send, bodies


def test_a_server_that_is_gone_stops_the_run(plan: Plan, tmp_path: Path) -> None:
    send, bodies = failing_send(None, *(NoAnswerError("no route") for _ in range(200)))
    found = sent(plan, tmp_path / "a.jsonl", send)
    assert found.stopped == "no route"
    assert found.counts["given_up"] >= 8
    assert len(bodies) < 30


def test_a_request_that_is_never_answered_hides_no_other(plan: Plan, tmp_path: Path) -> None:
    """It is the first one of every run."""
    first = next(plan.requests()).body

    async def send(body: Json, retries: int) -> Json:
        if body == first:
            raise NoAnswerError("always")
        return empty_state(body)

    path = tmp_path / "a.jsonl"
    assert sent(plan, path, send, SendingOptions(max_requests=10)).counts["answered"] == 9
    sent(plan, path, send)
    assert missing(plan, path) == 1
    assert sent(plan, path, send).counts["given_up"] == 1  # the others are answered


PRICE = Price(1.0, 0.5, 10.0)  # an answer of ``failing_send`` costs 0.002


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_cost_is_kept(plan: Plan, tmp_path: Path, concurrency: int) -> None:
    send, bodies = failing_send()
    limits = SendingOptions(concurrency=concurrency, max_cost=0.05)
    found = sent(plan, tmp_path / "a.jsonl", send, limits, PRICE)
    assert "--max-cost 0.05" in found.stopped
    assert 0.036 < PRICE.cost(found.tokens) <= 0.05  # the longest answer would cost 0.0102
    assert len(bodies) in (18, 19)  # however many are asked at once
    found = sent(plan, tmp_path / "b.jsonl", send, SendingOptions(max_cost=0.001), PRICE)
    assert found.stopped and len(bodies) in (18, 19)  # the first request may be too dear


def test_a_cost_cannot_be_kept_where_no_tokens_are_told(plan: Plan, tmp_path: Path) -> None:
    async def send(body: Json, retries: int) -> Json:
        return empty_state(body)

    with pytest.raises(SgdxError, match="^--max-cost 1: the server "):
        sent(plan, tmp_path / "a.jsonl", send, SendingOptions(max_cost=1.0), Price(1, 1, 1))


def test_tokens_that_were_cached_have_their_own_price() -> None:
    """Of 1,000 tokens 400 were cached: 600 x 2.5 + 400 x 1.25 + 10 x 10, by the million."""
    details = {"prompt_tokens_details": {"cached_tokens": 400}}
    tokens = tokens_of({"usage": {"prompt_tokens": 1000, "completion_tokens": 10, **details}})
    assert read_price("2.5,1.25,10").cost(tokens) == pytest.approx(0.0021)
    assert +tokens_of({"usage": {"prompt_tokens": 3, "completion_tokens": "x"}}) == {"in": 3}
    more_than_all = {"usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}}
    assert +tokens_of(more_than_all) == {"in": 3, "cached": 3}
    strange_ones: tuple[Any, ...] = (None, [], {"usage": 5}, {"usage": {"prompt_tokens": -1}})
    assert not any(+tokens_of(strange) for strange in strange_ones)


def test_answers_are_there_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.jsonl"
    with AnswerFile(path) as answers:
        answers.add("k1", "c1", {"text": "é \ud800 \n"})
        answers.add("k1", "c1", {"text": "later"})
        answers.add("k2", "c2", None)
    with AnswerFile(path) as answers:
        assert len(answers) == 2
        assert "k3" not in answers and answers.get("k3") is None
        line = answers.get("k1")
        assert line is not None and line["body"] == {"text": "é \ud800 \n"}


def test_a_half_written_line_is_dropped_and_a_whole_one_kept(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with AnswerFile(path) as answers:
        answers.add("k1", "c1", 1)
        answers.add("k2", "c2", 2)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with AnswerFile(path) as answers:
            assert len(answers) == whole[: cut + 1].count(b"\n")  # its end alone may be cut off
            answers.add("k3", "c3", 3)
        with AnswerFile(path) as answers:
            assert len(answers) == whole[: cut + 1].count(b"\n") + 1
            assert (answers.get("k3") or {})["body"] == 3


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b'{"key": "k"}',
        b'{"key":"k"}',
        b'{"key":"k","body":1}\n{"key":"k"}',
        b'{"key": "k", "body": 1}\nnotes',
        b"\xff",
        b'["body"]\n',
        b"{}",
    ],
)
def test_what_is_no_file_of_answers_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    """``--answers notes.txt`` emptied the file where it had no line feed at its end."""
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    line = len(content.splitlines())
    with pytest.raises(SgdxError, match=f"notes.txt:{line}: found no answer, expected an object"):
        AnswerFile(path)
    assert path.read_bytes() == content
    with pytest.raises(SgdxError, match="found no regular file"):
        AnswerFile(tmp_path)
    path.write_bytes(b"")
    (tmp_path / "link").symlink_to("nothing")
    for name in ("notes.txt", "link", "new"):
        with AnswerFile(tmp_path / name):
            pass
    assert path.exists() and (tmp_path / "link").is_symlink() and not (tmp_path / "new").exists()


def test_answers_are_read_while_others_are_kept(tmp_path: Path) -> None:
    """As for the steps of a program, of which one thread is asked and another answers."""
    keys = [f"key {number}" for number in range(3000)]
    with AnswerFile(tmp_path / "answers.jsonl") as answers, ThreadPoolExecutor(2) as threads:
        answers.add("first", "1", "said")

        def keep() -> None:
            for key in keys:
                answers.add(key, key, "x" * 200)

        kept = threads.submit(keep)
        while not kept.done():
            first = answers.get("first")
            assert first and first["body"] == "said"
        kept.result()
    with AnswerFile(tmp_path / "answers.jsonl") as again:
        assert [answer["custom_id"] for key in keys if (answer := again.get(key))] == keys


@pytest.mark.parametrize(
    ("usage", "sent", "made"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, 10, 5),
        # Thinking that is in the total alone; other interfaces; what is no number.
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}, 10, 30),
        ({"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 100}, 107, 3),
        ({"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, 1, 2),
        ({"prompt_tokens": True, "completion_tokens": -5, "total_tokens": "9"}, 0, 0),
    ],
)
def test_the_larger_of_the_tokens_counts(usage: Any, sent: int, made: int) -> None:
    found = tokens_of({"usage": usage})
    assert (found["in"], found["out"]) == (sent, made)
