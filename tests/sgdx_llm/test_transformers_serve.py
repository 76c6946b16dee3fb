"""A tiny random chat model behind ``transformers serve``, through to its scores."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from baselines.t5dst.model import tiny_tokenizer
from sgdx_metric.__main__ import main as metric

from .conftest import run_ask

TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "assistant:"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, sample: dict[str, pa.Table]) -> Path:
    """A chat model of two layers with random weights, and a tokenizer of the sample's words."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = tiny_tokenizer(sample["original"]["utterance"].to_pylist(), 1000)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=8192, bos_token_id=1, eos_token_id=1,
        pad_token_id=0,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def url(model: Path) -> Iterator[str]:
    """The address of the server."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(Path(sys.executable).parent / "transformers"), "serve", str(model)]
    words += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with subprocess.Popen(words, env=os.environ, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(1200):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                except OSError:
                    assert server.poll() is None
                    time.sleep(0.25)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


@pytest.mark.slow
def test_a_random_model_says_nothing_that_can_be_read(
    model: Path, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two.json").write_text('["1_00000", "1_00006"]')
    some = ["--source", "sample", "--dialogues", str(tmp_path / "two.json")]
    run = tmp_path / "run"
    words = ["predict", *some, "--variant", "original", "v5", "--model", str(model)]
    words += ["--base-url", url, "--output", str(run / "predictions"), "--set", "max_tokens=8"]
    assert run_ask([*words, "--set", "no_such_field=1"]) == 2
    assert "no_such_field" in capsys.readouterr().err
    assert run_ask(words) == 0
    words = ["score", *some, "--predictions", str(run / "predictions")]
    assert metric([*words, "--output", str(run / "scores.json")]) == 0
    scores = json.loads((run / "scores.json").read_text())
    for variant in ("original", "v5"):
        counts = scores["systems"][variant]["counts"]
        assert counts["unread"] == counts["requests"] > 0
