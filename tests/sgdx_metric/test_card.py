"""The card's example, run as it stands."""

from __future__ import annotations

import doctest
import json
import re

import evaluate
import pytest
import yaml

from ..conftest import ROOT


def test_examples_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    result = doctest.testfile(str(ROOT / "sgdx_metric" / "README.md"), module_relative=False)
    assert result.attempted >= 7
    assert result.failed == 0


def test_the_two_rows_of_the_card_are_scored() -> None:
    text = (ROOT / "sgdx_metric" / "README.md").read_text(encoding="utf-8")
    reference, prediction = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    metric = evaluate.load(str(ROOT / "sgdx_metric"))
    result = metric.compute(predictions=[prediction], references=[reference])
    means = result["variants"]["v1"]["#ALL_SERVICES"]
    assert means["joint_goal_accuracy"] == means["joint_noncat_accuracy"] == 0.86
    assert means["joint_cat_accuracy"] == means["active_intent_accuracy"] == 1


def test_front_matter_is_a_space() -> None:
    text = (ROOT / "sgdx_metric" / "README.md").read_text(encoding="utf-8")
    card = yaml.safe_load(text.split("---")[1])
    assert card["sdk"] == "gradio" and card["sdk_version"].startswith("6.")
    assert (ROOT / "sgdx_metric" / card["app_file"]).is_file()
    assert {"evaluate", "metric"} <= set(card["tags"])
