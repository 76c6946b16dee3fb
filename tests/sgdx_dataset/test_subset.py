"""Choosing a sample of dialogues that stands for a split."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError, open_release
from sgdx_dataset.__main__ import main
from sgdx_dataset.subset import choose_dialogues, read_dialogue_ids, subset

# Three sets of services in the proportions 6 : 3 : 1; the order of the names does not matter.
SERVICES = {
    **{f"a{i}": ["Weather_1"] for i in range(60)},
    **{f"b{i}": ["Banks_1", "Alarm_1"] if i % 2 else ["Alarm_1", "Banks_1"] for i in range(30)},
    **{f"c{i}": ["Hotels_4"] for i in range(10)},
}


def test_every_set_of_services_has_its_share_and_choices_of_one_seed_begin_alike() -> None:
    for count, seed in ((10, 0), (20, 1), (50, 2), (20, 3)):
        found = Counter(one[0] for one in choose_dialogues(SERVICES, count, seed))
        shares = {"a": 0.6 * count, "b": 0.3 * count, "c": 0.1 * count}
        assert all(abs(found[stratum] - share) <= 1 for stratum, share in shares.items())
    larger = choose_dialogues(SERVICES, 40, seed=3)
    assert choose_dialogues(dict(reversed(SERVICES.items())), 15, seed=3) == larger[:15]
    assert set(choose_dialogues(SERVICES, 40, seed=4)) != set(larger)
    # Ranks from hashes that were computed apart from the code: y 0.29, z 0.47, x 0.79.
    assert choose_dialogues({"x": ["S"], "y": ["S"], "z": ["T"]}, 3, seed=1) == ("y", "z", "x")


def test_command_writes_a_file_that_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "new" / "subset.json", tmp_path / "out"
    assert main(f"subset --source sample --split dev --count 6 --output {file}".split()) == 0
    assert capsys.readouterr().out == f"6 of 19 dialogues in validation: {file}\n"
    written = json.loads(file.read_text())
    ids = subset(open_release("sample"), "validation", 19, seed=1).ids
    assert len(set(ids)) == 19
    expected = {"split": "validation", "seed": 1, "count": 6, "of": 19, "ids": list(ids[:6])}
    assert written == expected
    assert read_dialogue_ids(file) == read_dialogue_ids(file, "dev") == written["ids"]
    with pytest.raises(SgdxError):  # dialogues of two splits may have one id
        read_dialogue_ids(file, "test")
    export = f"export --source sample --config v2 --split dev --dialogues {file} --output {out}"
    assert main(export.split()) == 0
    files = (out / "dev").glob("dialogues_*.json")
    exported = [row["dialogue_id"] for path in files for row in json.loads(path.read_text())]
    assert sorted(exported) == sorted(written["ids"])


def test_ids_are_lines_or_a_list_and_a_file_without_is_refused(tmp_path: Path) -> None:
    for text, ids in (
        ("1_00000\n2_00001\n1_00000\n", ["1_00000", "2_00001"]),
        (' ["2_00001", "1_00000"]', ["2_00001", "1_00000"]),
    ):
        (tmp_path / "ids").write_text(text)
        assert read_dialogue_ids(tmp_path / "ids") == ids
    lists = (b"", b"[]", b'["1_00000", ""]', b"[1]", b"[" * 100_000)
    for content in (*lists, b"\xff1_00000", b'{"ids": ["1_00000"]}', b" \n"):
        (tmp_path / "ids").write_bytes(content)
        with pytest.raises(SgdxError, match=f"^{tmp_path}/ids: "):
            read_dialogue_ids(tmp_path / "ids")


@pytest.mark.release
def test_dialogues_of_the_release(release_archive: Path) -> None:
    chosen = subset(open_release(release_archive), "test", 200, seed=1)
    assert (chosen.of, len(chosen.ids)) == (2921, 200)
