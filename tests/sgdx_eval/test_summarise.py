"""Several runs of one system, averaged; and two systems compared, of which there are several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_eval.result import write_result
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.scoring import STATE_METRICS, frame_scores, score_variants, state_signature
from sgdx_metric.signature import Setup

from ..conftest import Run
from ..sgdx_metric.frames import prediction_table, reference_table, six_variants
from .conftest import refused

# Which of four frames are right: 0 and 2 are of a seen service, 1 and 3 of an unseen one.
RUNS = (
    [True, True, False, True],
    [True, False, False, False],
    [True, True, True, True],
)
VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")


def scores_json(path: Path, right: list[bool], worse: str = "v5", **others: Any) -> Path:
    """The scores.json of a run that is as told under every variant, and all wrong under one."""
    rights = {name: right if name != worse else [False] * len(right) for name in VARIANTS}
    references, predictions = six_variants(rights)
    scores = score_variants(reference_table(*references), prediction_table(*predictions))
    items = frame_scores(scores)
    line = state_signature(items, Setup("test", **others), len(right))
    result = Result(task="state", signature=line, figures=figures(items, STATE_METRICS))
    write_result(result, items, path)
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [scores_json(tmp_path / f"{i}.json", right) for i, right in enumerate(RUNS)]


def test_mean_and_deviation_by_hand(runs: list[Path], command: Run) -> None:
    words = ("summarise", *runs, "--output", "new/sum.json", "--details")
    done = command("sgdx_metric", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nFrames of 3 runs\n" in done.stdout
    assert "SS_JGA 37.27 (21.35)" in " ".join(done.stdout.split())
    result = json.loads(Path("new/sum.json").read_text())
    assert result["signature"] == json.loads(runs[0].read_text())["signature"]

    def of(figure: str, variants: list[str], group: str = "all") -> tuple[Any, Any]:
        key = "jga", figure, variants, group
        (found,) = (
            f
            for f in result["figures"]
            if (f["metric"], f["figure"], f["variants"], f["group"]) == key
        )
        return found["value"], found.get("second_sd")

    six, paper = [*VARIANTS], [*VARIANTS[1:]]
    # 0.75, 0.25 and 1: the mean is 2/3, the squared distances sum up to 7/24, over n - 1 = 2.
    assert of("mean", ["original"]) == pytest.approx((2 / 3, (7 / 48) ** 0.5))
    # All wrong under v5, one of five: four fifths of the others.
    assert of("mean", paper)[0] == pytest.approx(0.8 * 2 / 3)
    assert of("relative", paper) == pytest.approx((-0.2, 0))
    # A frame that is right under four of five varies by sqrt(0.2) / 0.8.
    assert of("sensitivity", paper)[0] == pytest.approx(0.2**0.5 / 0.8 * 2 / 3)
    # All wrong under v5: nothing is right under all six, and what is right elsewhere flips.
    assert of("worst", six) == (0, 0) and of("flips", six)[0] == pytest.approx(2 / 3)
    assert of("mean", ["original"], "seen")[0] == pytest.approx(2 / 3)
    assert of("mean", ["v3"], "unseen")[0] == pytest.approx(2 / 3)
    assert of("mean", ["v5"]) == (0, 0)


def test_runs_that_are_not_alike_and_sides_that_lack(
    tmp_path: Path, runs: list[Path], command: Run
) -> None:
    scores_json(tmp_path / "oracle.json", RUNS[0], oracle=True)
    scores_json(tmp_path / "fewer.json", RUNS[0][:3])
    for words, fact in (
        ("summarise 0.json oracle.json", "oracle.json: oracle"),
        ("summarise 0.json fewer.json", "fewer.json: release"),
        ("summarise 0.json 1.json --output 1.json", "--output"),
    ):
        assert fact in refused(tmp_path, command, *words.split()), words
