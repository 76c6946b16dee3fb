"""Frame rows, a few dialogues and a stand-in for a server, which the tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sgdx_cli import main
from sgdx_dataset import frame_tables, open_release
from sgdx_eval.requested import RequestedData
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.asking import Run
from sgdx_llm.options import SendingOptions
from sgdx_llm.plan import Plan
from sgdx_llm.providers import OPENAI, Provider
from sgdx_llm.requests import RequestSettings
from sgdx_llm.server import Server
from sgdx_llm.usage import Price

from .server import StandIn, serving

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")


def run_ask(words: Sequence[str]) -> int:
    """The exit status of a command of ``sgdx ask``."""
    return main(["ask", *words])


@pytest.fixture(scope="session")
def sample() -> dict[str, pa.Table]:
    """The frame rows of the sample's test split, by variant."""
    release = open_release("sample")
    return {variant: frame_tables(release, "test", variant) for variant in VARIANTS}


@pytest.fixture(scope="session")
def rows(sample: dict[str, pa.Table]) -> list[dict[str, Any]]:
    """The frame rows under the original schemas."""
    found: list[dict[str, Any]] = sample["original"].to_pylist()
    return found


@pytest.fixture(scope="session")
def plan(three: Path) -> Plan:
    """Those dialogues under two variants."""
    return plan_of(three)


def plan_of(dialogues: Path | None, host: str = "http://127.0.0.1/v1", **options: Any) -> Plan:
    """A plan for some dialogues of the sample under two variants."""
    configs = options.pop("configs", ("original", "v5"))
    settings = options.pop("settings", None) or RequestSettings(model="m")
    return Plan(RequestedData("sample", "test", {}, dialogues), configs, settings, host, **options)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    """A server that answers every request with the empty state."""
    with serving(StandIn()) as server:
        yield server


def connect(url: str, provider: Provider = OPENAI, seconds: float = 60) -> Any:
    """What sends a body to a server, trying again so often."""
    return Server(url, provider, seconds).ask


def sent(
    plan: Plan,
    path: Path,
    send: Any,
    limits: SendingOptions = SendingOptions(),
    price: Price | None = None,
) -> Run:
    """Ask for all answers of a plan."""
    with AnswerFile(path) as answers:
        run = Run(plan, answers, send, limits, price)
        asyncio.run(run.ask_all())
    return run
