"""The pictures show the results that lie in the repository."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib", reason="the picture needs matplotlib: pip install sgdx[report]")

from maintenance.pictures import FOLDER, PICTURES, ROOT, THEMES, draw
from sgdx_eval.result import read_result
from sgdx_eval.show import main_metric


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def read(path: str) -> tuple[float, float]:
    """The headline metric under the original words, and in the worst case."""
    result = read_result(ROOT / path).result
    metric = main_metric(result).name
    found = (result.main(metric, of) for of in ("original", "worst"))
    original, worst = (f.value or 0.0 for f in found if f)
    return original, worst


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_are_those_of_the_results(name: str) -> None:
    picture = PICTURES[name]
    for theme in THEMES:
        svg = draw(picture, theme).decode()
        kept = (FOLDER / f"{name}-{theme.name}.svg").read_text(encoding="utf-8")
        assert texts(kept) == texts(svg)
        assert len(re.findall("<use", kept)) == len(re.findall("<use", svg))
    for system_name, path in picture.systems.items():
        figures = {f"{100 * value:.0f}" for value in read(path)}
        assert {system_name, *figures} <= set(texts(svg))


def test_text_is_legible_on_a_phone() -> None:
    """A phone of 390 pixels shows a page's pictures about 358 pixels wide."""
    for path in FOLDER.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', svg)
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
        assert 358 / float(width) * min(sizes) >= 10
