"""The card's example, run as it stands."""

from __future__ import annotations

import doctest

import pytest

from ..conftest import ROOT


def test_examples_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    result = doctest.testfile(str(ROOT / "sgdx_metric" / "README.md"), module_relative=False)
    assert result.attempted >= 7
    assert result.failed == 0
