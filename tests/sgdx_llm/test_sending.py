"""Files of answers, and sending: faults of servers, limits, and what is under way at once."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.endpoint import LaterError, RefusedError, connect, host_of, retry_after
from sgdx_llm.functions import Json
from sgdx_llm.plan import Plan, done_dialogues
from sgdx_llm.sending import RetryPolicy, SendLimits
from sgdx_llm.usage import Price, Usage, read_price, usage_of

from .conftest import plan_of, sent
from .server import StandIn, empty_state, failing, serving


def missing(plan: Plan, path: Path) -> int:
    with AnswerFile(path) as answers:
        return done_dialogues(plan, answers)[1].total()


@pytest.fixture(scope="module")
def distinct(three: Path) -> int:
    """How many of the requests differ: those about services whose words stay are the same."""
    return len({request.keys[0] for request in plan_of(three).requests()})


def test_every_fault_is_outlived(
    plan: Plan, stand_in: StandIn, tmp_path: Path, distinct: int
) -> None:
    stand_in.faults += [failing(429), failing(500), None, failing(503), (200, {}, b'{"choi')]
    found = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    assert found.counts["requests"] == distinct + 5 == len(stand_in.bodies)
    assert found.counts["answered"] == distinct
    assert found.counts["retried"] == 5
    assert found.counts["too_many"] == 2
    assert missing(plan, tmp_path / "a.jsonl") == 0
    assert found.usage == Usage(sent=900 * distinct, cached=400 * distinct, made=50 * distinct)
    again = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    assert dict(again.counts) == {"cached": plan.count()}


def test_a_server_that_hangs_is_left(plan: Plan, stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.delay = 1.0
    limits = SendLimits(concurrency=2, max_requests=2)
    retry = RetryPolicy(tries=1, first=0.0)
    found = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url, 0.05), limits, retry)
    assert found.counts == {"requests": 2, "given_up": 2}


def test_no_more_is_under_way_than_allowed(plan: Plan, stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.delay = 0.01
    found = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url), SendLimits(concurrency=3))
    assert stand_in.most <= 3
    assert found.peak == 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (failing(400, message="no such field\nseed"), "400: no such field seed"),
        (failing(401), "401"),
        (failing(404), "404"),
        ((422, {}, b'{"detail": "Unexpected fields: seed"}'), "Unexpected fields: seed"),
        (failing(429, "insufficient_quota"), "429"),
    ],
)
def test_a_refusal_ends_the_run_in_one_line(
    plan: Plan, stand_in: StandIn, tmp_path: Path, fault: Any, said: str
) -> None:
    stand_in.faults.append(fault)
    limits = SendLimits(concurrency=2, on_refusal="stop")
    with pytest.raises(SgdxError) as error:
        sent(plan, tmp_path / "a.jsonl", connect(stand_in.url), limits)
    message = str(error.value)
    assert message.startswith(stand_in.url) and said in message and "\n" not in message
    assert len(stand_in.bodies) <= 3


def test_what_a_filter_stops_is_an_answer(
    plan: Plan, stand_in: StandIn, tmp_path: Path, distinct: int
) -> None:
    stand_in.faults.append(failing(400, "content_filter"))
    found = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    assert found.counts["requests"] == found.counts["answered"] == distinct


def test_a_key_is_in_no_file_and_no_message(
    plan: Plan, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very/secret-key"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    echo = {key: [key], "echo": f"Bearer {key}"}
    stand_in.answer = lambda body: empty_state(body) | echo
    sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    assert stand_in.keys == {f"Bearer {key}"}
    kept = [json.loads(line)["body"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert {answer["echo"] for answer in kept} == {"Bearer [key]"}
    assert [answer["[key]"] for answer in kept] == [["[key]"]] * len(kept)
    stand_in.faults.append((401, {}, b'{"error": {"detail": "%b"}}' % key.encode()))
    with pytest.raises(SgdxError, match=r"\[key\]") as error:
        sent(plan, tmp_path / "b.jsonl", connect(stand_in.url), SendLimits(concurrency=1))
    assert key not in str(error.value)


def test_a_key_as_the_code_of_a_refusal_is_not_kept(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused request may be kept as an answer, with the code that the server gave."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    content = b'{"error": {"code": ["bad sk-very-secret-key"], "message": "no"}}'
    stand_in.faults.append((400, {}, content))

    async def ask() -> None:
        await connect(stand_in.url)({"model": "m", "messages": []})

    with pytest.raises(RefusedError) as refusal:
        asyncio.run(ask())
    assert refusal.value.answer["error"]["code"] == ["bad [key]"]


def test_a_short_key_changes_no_answer(
    plan: Plan, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "e")
    stand_in.answer = lambda body: empty_state(body) | {"text": "The key of the house"}
    sent(plan, tmp_path / "a.jsonl", connect(stand_in.url))
    for line in (tmp_path / "a.jsonl").read_text().splitlines():
        assert json.loads(line)["body"]["text"] == "The key of the house"


def test_a_password_of_an_address_is_in_no_message(
    plan: Plan, stand_in: StandIn, tmp_path: Path
) -> None:
    """The client sends it as ``Basic`` and base64, which the server repeats."""
    url = stand_in.url.replace("//", "//me:very-secret-word@")
    for echo in ("bWU6dmVyeS1zZWNyZXQtd29yZA==", "very-secret-word"):
        stand_in.faults.append(failing(401, message=f"no user Basic {echo}"))
        with pytest.raises(SgdxError, match=r"Basic \[key\]"):
            sent(plan, tmp_path / "a.jsonl", connect(url), SendLimits(concurrency=1))


def test_an_error_with_status_200_is_no_answer(
    plan: Plan, stand_in: StandIn, tmp_path: Path, distinct: int
) -> None:
    """Gateways send these."""
    away = {"message": "upstream is away", "code": 502}
    choice = {"finish_reason": "error", "message": {"content": ""}, "error": {}}
    no_answers: list[Json] = [
        {"error": away}, {"choices": [choice]}, {}, {"choices": []}, {"detail": "rate limit"}
    ]  # fmt: skip
    stand_in.faults += [(200, {}, json.dumps(one).encode()) for one in no_answers]
    stand_in.faults.append((200, {}, b"null"))
    stand_in.faults.insert(0, None)  # as its requests are not all answered like this
    limits, retry = SendLimits(concurrency=1), RetryPolicy(tries=9, first=0.0)
    found = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url), limits, retry)
    assert (found.counts["retried"], found.counts["answered"]) == (7, distinct)
    assert missing(plan, tmp_path / "a.jsonl") == 0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_conversation_is_not_sent_to_another_host(
    plan: Plan, stand_in: StandIn, tmp_path: Path, status: int
) -> None:
    with serving(StandIn()) as other:
        address = f"{other.url}/chat/completions"
        stand_in.faults.append((status, {"Location": address}, b""))
        with pytest.raises(SgdxError) as error:
            sent(plan, tmp_path / "a.jsonl", connect(stand_in.url), SendLimits(concurrency=1))
        assert address in str(error.value) and other.bodies == []


def dripping() -> tuple[socket.socket, str]:
    """A server that begins an answer and then sends a blank every tenth of a second."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                connection.recv(100_000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                for _ in range(40):
                    connection.sendall(b" ")
                    time.sleep(0.1)
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def test_a_server_that_drips_is_left() -> None:
    """It is never silent for long, so that only the time of the whole answer tells."""
    listening, url = dripping()
    with listening, pytest.raises(LaterError, match=r"not there after 0\.3 seconds"):
        asyncio.run(connect(url, timeout=10, longest=0.3)({"model": "m"}))  # type: ignore[arg-type]


def test_an_answer_without_an_end_is_not_kept(stand_in: StandIn) -> None:
    stand_in.faults.append((200, {}, b'"' + b"x" * 3_000_000 + b'"'))
    with pytest.raises(LaterError, match="over 1000000 bytes"):
        asyncio.run(connect(stand_in.url, most_bytes=1_000_000)({"model": "m"}))  # type: ignore[arg-type]


def test_an_address_is_shown_without_credentials() -> None:
    assert host_of("http://me:pass@localhost:8000/v1") == "http://localhost:8000/v1"
    assert host_of("https://[::1]:8000/v1?key=1") == "https://[::1]:8000/v1"
    for wrong in ("localhost:8000", "ftp://a", "http://", "http://a:port"):
        with pytest.raises(SgdxError, match="^--base-url"):
            host_of(wrong)


def test_openai_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SgdxError, match="OPENAI_API_KEY"):
        connect("https://api.openai.com/v1")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("7", 7.0), ("0.5", 0.5), ("-1", None), ("soon", None), ("nan", None),
     ("1e400", None), ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
     ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Thu, 01 Jan 2970 00:00:00 GMT", 86400.0)],
)  # fmt: skip
def test_how_long_a_server_asks_to_wait(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_waits_grow_with_full_jitter_and_the_servers_wish_goes_first() -> None:
    retry = RetryPolicy()
    for faults, bound in ((1, 2.0), (2, 4.0), (5, 32.0), (9, 60.0)):
        waits = [retry.wait(faults, None) for _ in range(200)]
        assert min(waits) >= 1.0
        assert max(waits) <= bound
        assert max(waits) > bound / 2
    assert retry.wait(5, 0.25) == 0.25


def failing_send(*faults: Exception | None) -> tuple[Callable[[Json], Any], list[Json]]:
    """A send that raises these, one after the other, and then answers."""
    bodies: list[Json] = []
    left = list(faults)

    async def send(body: Json) -> Json:
        bodies.append(body)
        await asyncio.sleep(0)
        if left and (fault := left.pop(0)) is not None:
            raise fault
        return empty_state(body) | {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}

    return send, bodies


def test_a_server_that_is_gone_stops_the_run(plan: Plan, tmp_path: Path) -> None:
    send, bodies = failing_send(None, *(LaterError("no route") for _ in range(200)))
    found = sent(plan, tmp_path / "a.jsonl", send)
    assert found.stopped == "the server does not answer: no route"
    assert found.counts["given_up"] >= 8
    assert len(bodies) < 60


def test_a_request_that_is_given_up_holds_up_no_other(
    plan: Plan, tmp_path: Path, distinct: int
) -> None:
    async def send(body: Json) -> Json:
        if "shared" in str(body["tools"]) and len(body["messages"]) == 2:  # in original only
            raise LaterError("always")
        return empty_state(body)

    found = sent(plan, tmp_path / "a.jsonl", send)
    assert not found.stopped
    assert found.counts["answered"] + found.counts["given_up"] == distinct
    assert missing(plan, tmp_path / "a.jsonl") == found.counts["given_up"] == 1


def test_the_number_of_requests_is_kept_with_those_tried_again(plan: Plan, tmp_path: Path) -> None:
    send, bodies = failing_send(LaterError("once"), LaterError("twice"))
    found = sent(plan, tmp_path / "a.jsonl", send, SendLimits(max_requests=10))
    assert found.stopped == "--max-requests 10 is reached"
    assert len(bodies) == 10
    assert found.counts["answered"] == 8


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_cost_is_kept(plan: Plan, tmp_path: Path, concurrency: int) -> None:
    send, bodies = failing_send()
    limits = SendLimits(concurrency, max_cost=0.0205, price=Price(1.0, 0.5, 10.0))  # 0.002 each
    found = sent(plan, tmp_path / "a.jsonl", send, limits)
    assert "--max-cost 0.0205" in found.stopped
    assert found.usage.cost(Price(1.0, 0.5, 10.0)) <= 0.0205
    assert len(bodies) == 10  # no fewer either, however many are asked at once


def test_a_cost_cannot_be_kept_where_no_tokens_are_told(plan: Plan, tmp_path: Path) -> None:
    async def send(body: Json) -> Json:
        return empty_state(body)

    limits = SendLimits(max_cost=1.0, price=Price(1, 1, 1))
    with pytest.raises(SgdxError, match="^--max-cost 1: the server "):
        sent(plan, tmp_path / "a.jsonl", send, limits)


def test_an_unread_answer_is_asked_again_with_another_seed(three: Path, tmp_path: Path) -> None:
    seeds: list[int] = []
    numbers = itertools.count()

    async def send(body: Json) -> Json:
        seeds.append(body["seed"])
        return {} if next(numbers) == 0 else empty_state(body)

    plan = plan_of(three, configs=("original",), retry_unread=2)
    sent(plan, tmp_path / "a.jsonl", send, SendLimits(concurrency=1))
    assert seeds[:3] == [0, 1, 0]
    first = next(plan.requests())
    with AnswerFile(tmp_path / "a.jsonl") as answers:
        found = plan.answered(first, answers)
    assert found is not None
    assert (len(found.lines), found.index, found.reading.counts["unread"]) == (2, 1, 0)


def test_tokens_are_read_from_any_answer() -> None:
    assert usage_of({"usage": {"prompt_tokens": 3, "completion_tokens": "x"}}) == Usage(sent=3)
    strange_ones: tuple[Any, ...] = (None, [], {"usage": 5}, {"usage": {"prompt_tokens": -1}})
    for strange in strange_ones:
        assert usage_of(strange) == Usage()


def test_tokens_that_were_cached_have_their_own_price() -> None:
    """Of 1,000 tokens 400 were cached: 600 x 2.5 + 400 x 1.25 + 10 x 10, by the million."""
    usage = Usage(sent=1000, cached=400, made=10, reasoning=5)
    assert usage.cost(Price(2.5, 1.25, 10)) == pytest.approx(0.0021)


@pytest.mark.parametrize("text", ["1,2", "a,b,c", "1,2,-3", "1,2,inf", ""])
def test_a_wrong_price(text: str) -> None:
    with pytest.raises(SgdxError, match="expected IN,CACHED,OUT"):
        read_price(text)
    assert read_price("2.5,1.25,10") == Price(2.5, 1.25, 10.0)


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


def test_a_half_written_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with AnswerFile(path) as answers:
        answers.add("k1", "c1", 1)
        answers.add("k2", "c2", 2)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with AnswerFile(path) as answers:
            assert len(answers) == whole[:cut].count(b"\n")
            answers.add("k3", "c3", 3)
        with AnswerFile(path) as answers:
            assert (answers.get("k3") or {})["body"] == 3


def test_another_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "k", "body": 1}\nnonsense\n{"key": "l", "body": 1}\n')
    with pytest.raises(SgdxError, match=r"answers.jsonl:2: found no answer, expected an object"):
        AnswerFile(path)
    with pytest.raises(SgdxError, match="found no regular file"):
        AnswerFile(tmp_path)
