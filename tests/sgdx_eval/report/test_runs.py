"""Runs: how they are read and called, what must stand beside them, and which compare."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sgdx_eval.report.runs import Run, group_runs, read_run

from .conftest import VARIANTS, only_group


def changed(run: Path, folder: Path, change: Any) -> Path:
    """A folder with the scores of a run alone, changed."""
    scores = json.loads((run / "scores.json").read_text())
    change(scores)
    folder.mkdir(exist_ok=True)
    (folder / "scores.json").write_text(json.dumps(scores))
    shutil.copy(run / "items.parquet", folder)
    return folder


def test_scores_alone_go_by_their_folder(runs: dict[str, Path], tmp_path: Path) -> None:
    changed(runs["plain-0"], tmp_path, lambda scores: scores.update(systems={}))
    run = read_run(tmp_path / "scores.json")
    assert (run.system_name(), run.facts, run.predictions) == (tmp_path.name, {}, {})
    for variant in VARIANTS:  # beside it, not in a folder
        shutil.copy(runs["plain-0"] / "predictions" / f"{variant}.jsonl", tmp_path)
    assert len(read_run(tmp_path / "scores.json").predictions) == 6
    assert read_run(runs["plain-0"]).facts["tracker"] == "t5dst"


def test_oracles_say_so(runs: dict[str, Path], tmp_path: Path) -> None:
    def as_oracle(scores: dict[str, Any]) -> None:
        scores["signature"] = scores["signature"].replace("|ci:", "|oracle:yes|ci:")
        for header in scores["systems"].values():
            header["system"]["augment"] = {"schemas": "oracle", "ratio": 0.5}
            header["counts"] = {"requests": 9, "unread": 2}

    run = read_run(changed(runs["backtrans"], tmp_path, as_oracle))
    settings: dict[str, object] = {"model": "encoders/minilm/model"}
    named = Run(run.path, run.result, settings)
    assert named.system_name() == "t5dst (minilm), oracle x 0.5"  # "model" says nothing
    for number, data in ((None, "all of train"), (1217, "1,217 train dialogues")):
        recipe = Run(run.path, run.result, settings | {"train_dialogues": number})
        assert recipe.system_name() == f"t5dst, {data}, oracle x 0.5"
    oracle, unread = run.caveats()
    assert oracle.startswith("oracle") and "2 under original, 2 under v1" in unread
    assert run.system_name() == "t5dst, oracle x 0.5"

    def unstated(scores: dict[str, Any]) -> None:
        for header in scores["systems"].values():
            header.pop("oracle")

    assert read_run(runs["plain-0"]).caveats() == []
    run = read_run(changed(runs["plain-0"], tmp_path, unstated))
    assert run.caveats() == ["oracle: unknown"] and not run.oracle


def test_the_recipe_is_that_of_the_model_that_predicted(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """In the folder that the predictions name, another model may stand by now."""
    model, folder = tmp_path / "model", tmp_path / "run"
    model.mkdir()

    def of_model(scores: dict[str, Any]) -> None:
        system = {"tracker": "t5dst", "model": str(model), "overlaps": 132}
        scores["systems"] = {"original": {"system": system}}

    changed(runs["plain-0"], folder, of_model)
    for overlaps, settings in ((132, {"train_dialogues": 1217}), (325, {})):
        record = {"settings": {"train_dialogues": 1217}, "seen": {"overlaps": overlaps}}
        (model / "run.json").write_text(json.dumps({"record": record}))
        assert read_run(folder).settings == settings


def test_runs_scored_otherwise_are_in_another_group(runs: dict[str, Path], tmp_path: Path) -> None:
    def signed(name: str, old: str, new: str) -> Path:
        def sign(scores: dict[str, Any]) -> None:
            assert old in scores["signature"]
            scores["signature"] = scores["signature"].replace(old, new)

        return changed(runs[name], tmp_path / f"{len([*tmp_path.iterdir()])}", sign)

    other = signed("plain-1", "match:fuzzy-token-sort", "match:exact")
    acts = signed("tiny", "system-acts:no", "system-acts:yes")
    groups = group_runs(list(map(read_run, (other, runs["plain-0"], acts))))
    names = [[system.name for system in group.systems] for group in groups]
    assert names == [["t5dst", "sgp_dst"], ["t5dst"]]
    assert [group.number for group in groups] == [1, 2]
    assert [list(group.signatures().values()) for group in groups] == [["t5dst", "sgp_dst"], [""]]
    earlier = signed("tiny", "|canonical:said-so-far", "")  # when there were no such figures
    group = only_group(runs["plain-0"], earlier)
    assert [system.name for system in group.systems] == ["t5dst", "sgp_dst"]
