"""The card's example, run as it stands."""

from __future__ import annotations

import doctest

import pytest
import yaml

from ..conftest import ROOT


def test_examples_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    result = doctest.testfile(str(ROOT / "sgsacc_metric" / "README.md"), module_relative=False)
    assert result.attempted >= 8
    assert result.failed == 0


def test_front_matter_is_that_of_a_metric() -> None:
    text = (ROOT / "sgsacc_metric" / "README.md").read_text(encoding="utf-8")
    card = yaml.safe_load(text.split("---")[1])
    assert {"evaluate", "metric"} <= set(card["tags"]) and card["license"] == "apache-2.0"
