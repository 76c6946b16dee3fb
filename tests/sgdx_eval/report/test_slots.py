"""Classes of errors and the costliest rewordings, on predictions whose errors are known."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from sgdx_cli import main
from sgdx_eval.gold import Gold
from sgdx_eval.report.slots import (
    Analysis,
    Words,
    analyse_group,
    choose_mistakes,
    error_classes,
)
from sgdx_eval.report.verdict import verdict

from .conftest import VARIANTS, Change, Row, only_group, values, with_state, write_run


def analysed(*runs: Path) -> Analysis:
    """What one system does slot by slot."""
    analyses, reasons = analyse_group(only_group(*runs), None, None)
    assert not reasons
    (analysis,) = analyses.values()
    return analysis


def test_the_words_that_cost_most(sample: Gold, gold: dict[str, list[Row]], tmp_path: Path) -> None:
    """A tracker that forgets one slot of a service under v2, and knows one under v3 alone."""
    first, second, *_ = sample.schemas("original")["Cabs_1"].slots
    new = sample.schemas("v2")["Cabs_1"].slots[0]

    def change(variant: str, row: Row) -> None:
        state = values(row)
        if row["frame_id"].endswith("/Cabs_1"):
            if variant == "v2":
                state.pop(new.name, None)
            if variant != "v3":
                state.pop(sample.schemas(variant)["Cabs_1"].slots[1].name, None)
        with_state(row, state)

    run = write_run(tmp_path / "run", sample, gold, change, tracker="x")
    analysis = analysed(run)
    having = [row for row in gold["original"] if row["frame_id"].endswith("/Cabs_1")]
    having = [row for row in having if first.name in values(row)]
    (cost,) = analysis.rewordings  # v3 wins frames and is none
    assert (cost.service, cost.variant, cost.lost, cost.won) == ("Cabs_1", "v2", len(having), 0)
    assert cost.before == Words(first.name, first.description) and cost.after.name == new.name
    assert cost.chance < 0.05 and (analysis.looked_at, analysis.won) == (2, 1)
    said = verdict(only_group(run), {"x": analysis})
    assert said is not None
    (words,) = said.costly
    assert words[:3] == ("Cabs_1, v2", first.name, new.name)
    assert words[3] == f"{len(having)} frames"
    # In a frame that was wrong under the original words, nothing is broken by new ones.
    right = {row["frame_id"]: row for row in having if second.name not in values(row)}
    assert {error.frame_id for error in analysis.errors} == {*right} and right
    error = analysis.errors[0]
    assert (error.kind, error.variant, error.predicted) == ("missed", "v2", "")
    dialogue, turn, _ = error.place
    assert error.user_utterance == sample.turns()[dialogue][turn][1]
    assert error.reference in values(right[error.frame_id])[first.name]


def test_a_value_is_copied_only_from_what_another_service_has_by_then(
    sample: Gold, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    """Of two services of a dialogue, each gets a value of the other: one has it already."""
    by_dialogue: dict[str, dict[str, list[Row]]] = {}  # the frames with a state, by service
    for row in sorted(gold["v2"], key=lambda row: int(row["frame_id"].split("/")[1])):
        dialogue, _, service = row["frame_id"].split("/")
        if values(row):
            by_dialogue.setdefault(dialogue, {}).setdefault(service, []).append(row)
    of_first, of_second = next(of.values() for of in by_dialogue.values() if len(of) == 2)
    first, last = of_first[0], of_second[-1]
    swapped = {}
    for here, there in ((first, last), (last, first)):
        own = {value for spoken in values(here).values() for value in spoken}
        others = {spoken[0] for spoken in values(there).values()} - own
        swapped[here["frame_id"]] = {next(iter(values(here))): [min(others)]}

    def change(variant: str, row: Row) -> None:
        if variant == "v2":
            with_state(row, values(row) | swapped.get(row["frame_id"], {}))

    errors = analysed(write_run(tmp_path / "run", sample, gold, change, tracker="x")).errors
    assert {error.frame_id: error.kind for error in errors} == {
        first["frame_id"]: "wrong value",
        last["frame_id"]: "copied from another service",
    }


def messy(seed: int, sample: Gold) -> Change:
    """Errors at random, always the same ones, and more of them under later variants."""

    def change(variant: str, row: Row) -> None:
        random = Random(f"{seed}/{variant}/{row['frame_id']}")  # noqa: S311
        names = [s.name for s in sample.schemas(variant)[row["frame_id"].rpartition("/")[2]].slots]
        chance = 0.03 * (1 + VARIANTS.index(variant))
        state: dict[str, list[str]] = {}
        for slot, spoken in values(row).items():
            kind = random.random() / chance
            if kind < 0.3 or (variant != "original" and slot == names[-1]):
                continue
            if kind < 0.5:
                state[slot] = ["something else"]
            elif kind < 0.7:
                state[random.choice(names)] = spoken
            else:
                state[slot] = [f"{spoken[0]} s"] if kind < 0.9 else spoken
        if random.random() < chance:
            state[random.choice(names)] = ["another thing"]
        with_state(row, state)

    return change


def test_two_seeds_with_errors_of_every_kind(
    sample: Gold, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    """The costs are means over the seeds; the errors are those of the first."""
    paths = [
        write_run(tmp_path / str(seed), sample, gold, messy(seed, sample), tracker="x", seed=seed)
        for seed in (0, 1)
    ]
    analysis = analysed(*paths)
    assert [(r.service, r.variant, r.lost, r.won) for r in analysis.rewordings[:3]] == [
        ("Cooking_1", "v5", 27, 1),
        ("Cooking_1", "v1", 25.5, 1),
        ("Cooking_1", "v3", 25.5, 1),
    ]
    assert len(analysis.rewordings) == 230
    (table,) = error_classes({"x": analysis})
    assert [[row[i].text for i in (0, 2, 3)] for row in table.rows] == [
        ["missed", "511", "53.3"],
        ["wrong value", "231", "24.1"],
        ["wrong slot", "138", "14.4"],
        ["invented", "79", "8.2"],
        ["copied from another service", "0", "0.0"],
    ]
    mistakes, count = choose_mistakes(analysis.errors, 100)
    assert (len(mistakes), count) == (100, 253)


def test_no_words_stand_out_of_errors_at_random(
    sample: Gold, gold: dict[str, list[Row]], tmp_path: Path
) -> None:
    """Two trackers that forget at random, as often under all words, have no costly ones."""
    for seed in range(2):

        def forget(variant: str, row: Row, seed: int = seed) -> None:
            state = values(row)
            for slot in list(state):
                random = Random(f"{seed}/{variant}/{row['frame_id']}/{slot}")  # noqa: S311
                if random.random() < 0.1:
                    del state[slot]
            with_state(row, state)

        run = write_run(tmp_path / str(seed), sample, gold, forget, tracker="x")
        analysis = analysed(run)
        said = verdict(only_group(run), {"x": analysis})
        assert said is not None and len(analysis.rewordings) > 50
        assert not said.costly and "No words stand out" in said.costly_title


def test_errors_are_left_out_where_they_cannot_be_known(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = shutil.copytree(runs["tiny"], tmp_path / "run")

    def left_out(source: str | None = None) -> str:
        """The reason for which the run is not analysed."""
        analyses, reasons = analyse_group(only_group(run), source, None)
        assert not analyses
        return reasons["sgp_dst"]

    file = run / "predictions" / "v2.jsonl"
    text = file.read_text()
    file.unlink()
    assert "no predictions" in left_out()
    shutil.copy(run / "predictions" / "v3.jsonl", file)
    assert "v2.jsonl:1: metadata: variant is " in left_out()
    file.write_text(text.rsplit("\n", 1)[0])
    assert "v2.jsonl: 1 of 273 frames" in left_out()
    assert "no such source" in left_out(str(tmp_path / "nowhere"))


def test_a_variant_of_ones_own_leaves_the_others_analysed(tmp_path: Path) -> None:
    """No source has its words, but a folder of frames may."""
    words, run, frames = tmp_path / "words.json", tmp_path / "run", tmp_path / "frames"
    words.write_text('{"Flats_1": {"slots": {"bedrooms": {"name": "chambers"}}}}')
    shared = ["--source", "sample", "--variant", f"team={words}"]
    shared += ["--variant", "original", "v1", "team"]
    assert main(["evaluate", "--tracker", "lexical", *shared, "--output", str(run)]) == 0
    assert main(["export", "frames", *shared, "--split", "test", "--output", str(frames)]) == 0
    for references, reasons, variants in (
        (None, ["lexical under team"], {"v1"}),
        (frames, [], {"v1", "team"}),
    ):
        analyses, without = analyse_group(only_group(run), None, references)
        assert list(without) == reasons
        assert {error.variant for error in analyses["lexical"].errors} == variants
