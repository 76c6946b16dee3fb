"""The front page's picture shows the results that lie in the repository."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib", reason="the picture needs matplotlib: pip install sgdx[report]")

from maintenance.front_picture import PICTURES, SYSTEMS, THEMES, draw, read_systems


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def test_the_pictures_are_those_of_the_results() -> None:
    systems = read_systems()
    for theme in THEMES:
        svg = draw(systems, theme).decode()
        kept = (PICTURES / f"wordings-{theme.name}.svg").read_text(encoding="utf-8")
        assert texts(kept) == texts(svg)
        assert len(re.findall("<use", kept)) == len(re.findall("<use", svg))
    for name, system in systems.items():
        scores = system.first.stored["sgdx"]
        figures = {f"{100 * scores[key]:.0f}" for key in ("jga_orig", "jga_worst")}
        assert {name, *figures} <= set(texts(svg))
    assert list(systems) == list(SYSTEMS)


def test_text_is_legible_on_a_phone() -> None:
    """A phone of 390 pixels shows a page's pictures about 358 pixels wide."""
    for theme in THEMES:
        svg = (PICTURES / f"wordings-{theme.name}.svg").read_text(encoding="utf-8")
        (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', svg)
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
        assert 358 / float(width) * min(sizes) >= 10
