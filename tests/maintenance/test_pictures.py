"""The pictures show the results that lie in the repository."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="the picture needs matplotlib: pip install sgdx[report]")

from maintenance.pictures import FOLDER, PICTURES, ROOT, THEMES, draw, read_systems
from sgdx_eval.results import stored


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def read(path: str) -> Any:
    """The figures of a search, of calls or of states."""
    if path.endswith(".json"):
        return json.loads((ROOT / path).read_text())["search"]["recall@5"]
    content = stored(ROOT / path / "scores.json")
    return content["sgdx"] if "sgdx" in content else content["calls"]["call_accuracy"]


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_are_those_of_the_results(name: str) -> None:
    picture = PICTURES[name]
    systems = read_systems(picture)
    for theme in THEMES:
        svg = draw(picture, systems, theme).decode()
        kept = (FOLDER / f"{name}-{theme.name}.svg").read_text(encoding="utf-8")
        assert texts(kept) == texts(svg)
        assert len(re.findall("<use", kept)) == len(re.findall("<use", svg))
    for system_name, path in picture.systems.items():
        scores, keys = read(path), ("original", "worst")
        if "jga_orig" in scores:
            keys = "jga_orig", "jga_worst"
        shown = keys if picture.apart else keys[:1]
        figures = {f"{100 * scores[key]:.0f}" for key in shown}
        assert {system_name, *figures} <= set(texts(svg))


def test_text_is_legible_on_a_phone() -> None:
    """A phone of 390 pixels shows a page's pictures about 358 pixels wide."""
    for path in FOLDER.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', svg)
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
        assert 358 / float(width) * min(sizes) >= 10
