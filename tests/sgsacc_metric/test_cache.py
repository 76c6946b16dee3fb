"""The cache on disk of a model's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgdx_metric.rows import ScoreError
from sgsacc_metric.cache import CachedNli, default_cache
from sgsacc_metric.nli import Judge

from .turns import NO, YES, Script


def test_the_cache_is_asked_first(tmp_path: Path) -> None:
    script = Script({("a", "b"): YES, ("a", "c"): NO, ("ab", "c"): YES})
    cached = CachedNli(script, tmp_path)
    assert cached([("a", "b"), ("a", "c")]).tolist() == [[*YES], [*NO]]
    assert cached([("a", "c"), ("ab", "c"), ("a", "b")]).tolist() == [[*NO], [*YES], [*YES]]
    assert script.calls == [[("a", "b"), ("a", "c")], [("ab", "c")]] and cached.sent == 3
    judge = Judge(CachedNli(Script({}), tmp_path))
    judge.ask([("a", "b")])
    assert judge["a", "b"] == YES
    assert cached([]).shape == (0, 3)


def test_a_file_that_is_no_cache(tmp_path: Path) -> None:
    path = CachedNli(Script({}), tmp_path).path
    path.write_text("something else, and long enough to be looked at" * 99)
    with pytest.raises(ScoreError, match="cannot be used as a cache"):
        CachedNli(Script({}), tmp_path)


def test_the_cache_lies_in_the_hugging_face_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/home/of/hf")
    assert default_cache() == Path("/home/of/hf/sgsacc_metric")
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_cache() == Path("/cache/huggingface/sgsacc_metric")
