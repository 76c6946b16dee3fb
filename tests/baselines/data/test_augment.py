"""Augmentations: what is trained on, how often, and what is refused."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

import msgspec
import pytest
from datasets import Dataset

from baselines.data.augment import sampled
from baselines.data.dialogues import read_dialogues
from baselines.data.rows import training_rows
from baselines.settings import Also, Augment, Provenance
from baselines.sgp_dst.data import EXAMPLES
from baselines.t5dst.data import Texts
from baselines.t5dst.formats import FORMATS
from baselines.t5dst.settings import Settings as T5Settings
from sgdx_dataset import SgdxError, frames, load

SETTINGS = T5Settings(
    tracker="t5dst", model="tiny", format="d3st", max_input=256, max_target=64, steps=1,
    batch_size=1, token_budget=256, optimizer="adamw", learning_rate=1.0, save_every=1,
    evaluate_every=1, seed=3,
)  # fmt: skip
BACKTRANS = ["backtrans-ja", "backtrans-ko", "backtrans-zh"]
CORRUPT = ["corrupt-1", "corrupt-2", "corrupt-3"]
VARIANTS = ["v1", "v2", "v3", "v4", "v5"]


def settings(schemas: object, ratio: float = 1.0, seed: int = 0) -> T5Settings:
    augment = Augment(schemas=str(schemas), ratio=ratio, seed=seed)
    return msgspec.structs.replace(SETTINGS, augment=augment)


def test_without_one_it_is_the_original() -> None:
    training = training_rows(SETTINGS, "sample", oracle=False)
    assert training.provenance == Provenance(tracker="t5dst", seed=3)
    assert training.rows["frame_id"] == frames(load("original", "train", "sample"))["frame_id"]


@pytest.mark.parametrize(
    ("schemas", "variants", "oracle"),
    [("backtrans", BACKTRANS, False), ("corrupt", CORRUPT, False), ("oracle", VARIANTS, True)],
)
def test_each_frame_is_there_once_under_each_schema(
    schemas: str, variants: list[str], oracle: bool
) -> None:
    training = training_rows(settings(schemas), "sample", oracle)
    met = Counter(zip(training.rows["variant"], training.rows["frame_id"]))
    assert set(met.values()) == {1}
    ids = set(frames(load("original", "train", "sample"))["frame_id"])
    assert set(met) == {(v, i) for v in ("original", *variants) for i in ids}
    assert training.provenance.train == ("original", *variants)
    assert training.provenance.oracle is oracle


def test_what_is_said_is_in_memory_once() -> None:
    """Under four variants of the schemas no tracker keeps more of the dialogues than under one."""
    alone, with_more = (
        training_rows(each, "sample", False).rows for each in (SETTINGS, settings("backtrans"))
    )
    assert len(with_more) == 4 * len(alone)
    kept = []
    for rows in (alone, with_more):
        texts = Texts(rows, FORMATS["d3st"])
        dialogues = list(read_dialogues(rows))
        asked = {e.question.turn for of in dialogues for e in EXAMPLES["intent"](of)}
        turns = {(turn.system, turn.user) for of in dialogues for turn in of.turns}
        kept.append((len(texts.histories), len(turns), len(asked)))
    assert kept[0] == kept[1]


def test_a_share_of_the_dialogues() -> None:
    training = training_rows(settings("backtrans", 0.25, seed=7), "sample", oracle=False)
    met: dict[str, set[str]] = {}
    for variant, dialogue in zip(training.rows["variant"], training.rows["dialogue_id"]):
        met.setdefault(variant, set()).add(dialogue)
    all_ids = met.pop("original")
    assert {len(ids) for ids in met.values()} == {round(0.25 * len(all_ids))}
    assert len({frozenset(ids) for ids in met.values()}) == 3  # each variant its own
    whole = frames(load("original", "train", "sample"))
    kept = met["backtrans-ja"]
    ids = [row["frame_id"] for row in whole if row["dialogue_id"] in kept]
    mine = training.rows.filter(lambda row: row["variant"] == "backtrans-ja")
    assert mine["frame_id"] == ids  # whole dialogues, in order
    again = sampled(load_backtrans(), 0.25, 7)
    assert again["frame_id"] == training.rows["frame_id"][len(whole) :]
    assert sampled(load_backtrans(), 0.25, 8)["frame_id"] != again["frame_id"]
    assert len(sampled(load_backtrans(), 0.0, 7)) == 0


def test_a_second_corpus_has_its_share_in_whole_dialogues_and_its_own_words() -> None:
    """The sample as the second corpus of itself."""
    also = Also(source="sample", share=0.75, variants=("original",))
    training = training_rows(msgspec.structs.replace(SETTINGS, also=also), "sample", False)
    count = len(frames(load("original", "train", "sample")))
    ids = training.rows["frame_id"][:]
    assert 3 * count <= len(ids) - count < 3 * count + 30
    met = Counter(ids[count:])
    assert set(met) == set(ids[:count]) and set(met.values()) <= {2, 3, 4}
    whole: dict[str, list[str]] = {}
    for name in ids[:count]:
        whole.setdefault(name.split("/")[0], []).append(name)
    for dialogue, group in groupby(ids[count:], key=lambda name: name.split("/")[0]):
        assert list(group) == whole[dialogue]
    assert training.provenance.also == also and not training.provenance.oracle


def load_backtrans() -> Dataset:
    return frames(load("backtrans", "train", "sample"))


def test_no_such_augmentation(tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match="paraphrases: no such folder"):
        training_rows(settings("paraphrases"), "sample", oracle=False)
    with pytest.raises(SgdxError, match="has no variant, expected"):
        training_rows(settings(tmp_path), "sample", oracle=False)
