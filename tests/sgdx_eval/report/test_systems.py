"""Which runs stand in one row, and which in one table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from sgdx_eval.report.inputs import read_tracker
from sgdx_eval.report.systems import TrackerGroup, group_runs, names_or_number


def test_seeds_are_one_system_and_other_augmentations_are_not(group: TrackerGroup) -> None:
    assert [(s.label, len(s.runs)) for s in group.systems] == [
        ("t5dst [2 seeds]", 2),
        ("t5dst, backtrans", 1),
        ("sgp_dst [random weights]", 1),
    ]
    assert group.caveats == ["the small sample corpus, not SGD", "only 273 frames"]
    plain, backtrans, tiny = (system.first for system in group.systems)
    assert plain.system_key() != backtrans.system_key()
    assert plain.system_key(True) == backtrans.system_key(True)
    assert plain.system_key(True) != tiny.system_key(True)


def test_a_second_run_of_the_same_seed_is_a_row_of_its_own(runs: dict[str, Path]) -> None:
    again = [read_tracker(runs["plain-0"]), read_tracker(runs["plain-0"] / "scores.json")]
    (group,) = group_runs(again)
    names = [system.name for system in group.systems]
    assert len(names) == 2 and len(set(names)) == 2


def test_systems_that_would_be_called_alike_have_the_names_of_their_folders(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(runs["plain-0"], tmp_path / name)
    paths = (tmp_path / "first", tmp_path / "second", runs["tiny"])
    (group,) = group_runs([read_tracker(path) for path in paths])
    assert [system.name for system in group.systems] == ["first", "second", "sgp_dst"]


def sign_anew(path: Path, old: str, new: str) -> None:
    """Give a file of scores another signature, as if it had been scored so."""
    scores = json.loads(path.read_text())
    assert old in scores["signature"]
    scores["signature"] = scores["signature"].replace(old, new)
    path.write_text(json.dumps(scores))


def test_runs_scored_otherwise_are_in_another_group(runs: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(runs["plain-1"], other)
    sign_anew(other / "scores.json", "match:fuzzy-token-sort", "match:exact")
    acts = tmp_path / "acts"
    shutil.copytree(runs["tiny"], acts)
    sign_anew(acts / "scores.json", "system-acts:no", "system-acts:yes")
    groups = group_runs([read_tracker(path) for path in (other, runs["plain-0"], acts)])
    assert [[s.name for s in group.systems] for group in groups] == [
        ["t5dst", "sgp_dst"],
        ["t5dst"],
    ]
    earlier = tmp_path / "earlier"  # scored when there were no canonical figures
    shutil.copytree(runs["tiny"], earlier)
    sign_anew(earlier / "scores.json", "|canonical:said-so-far", "")
    (group,) = group_runs([read_tracker(path) for path in (runs["plain-0"], earlier)])
    assert [system.name for system in group.systems] == ["t5dst", "sgp_dst"]
    assert list(groups[0].signatures.values()) == ["t5dst", "sgp_dst"]
    assert list(groups[1].signatures.values()) == [""]


def test_many_trackers_are_a_number() -> None:
    assert names_or_number(["a", "b", "c"]) == "a; b; c"
    assert names_or_number(["a", "b", "c", "d"]) == "4 trackers"
