"""The negative control: words replaced and moved, names that stay usable, nothing of v1..v5."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from sgdx_dataset.release import open_release
from sgdx_dataset.rewording.corrupt import corrupt, corrupt_schema, corrupt_words
from sgdx_dataset.rewording.leaks import Leak, find_leak, release_words, train_variants
from sgdx_dataset.schema import Service
from sgdx_dataset.words import check_names, check_variant

from ...conftest import Run

WORDS = st.lists(st.integers(0, 99).map(str), max_size=12, unique=True)


@given(words=WORDS, seed=st.integers(0, 2**32), window=st.integers(1, 6))
def test_without_replacement_each_word_stays_near_its_place(
    words: list[str], seed: int, window: int
) -> None:
    random = np.random.default_rng(seed)
    moved = corrupt_words(words, ["new"], random, replace=0, window=window)
    assert sorted(moved) == sorted(words)
    assert all(abs(moved.index(word) - words.index(word)) < window for word in words)


def test_the_share_of_replaced_words_and_of_moved_ones() -> None:
    random = np.random.default_rng(0)
    words = [str(i) for i in range(10_000)]
    replaced = corrupt_words(words, ["new", "other"], random, 0.3, 1)
    assert replaced.count("new") == pytest.approx(1500, abs=150)
    assert replaced.count("other") == pytest.approx(1500, abs=150)
    swapped = [corrupt_words(["a", "b"], [], random, 0.3, 3) == ["b", "a"] for _ in range(5000)]
    assert np.mean(swapped) == pytest.approx((2 / 3) ** 2 / 2, abs=0.03)  # by the two uniforms


def texts(schema: list[Service]) -> Iterator[tuple[str, str]]:
    """The texts of a schema, with what each is."""
    for service in schema:
        yield "description", service.description
        for element in service.elements:
            yield type(element).__name__, element.name
            yield "description", element.description


def words_of(kind: str, text: str) -> set[str]:
    found = text.split() if kind == "description" else re.findall("[A-Z]?[a-z0-9]+", text)
    return set(found if kind == "description" else map(str.lower, found))


def test_a_corrupted_schema_is_the_original_in_other_words() -> None:
    original = open_release("sample").schema("train", "original")
    schema, same, other = (
        corrupt_schema(original, np.random.default_rng(seed), 0.5, 3) for seed in (1, 1, 2)
    )
    check_names(schema, "corrupted")
    check_variant(original, schema, "corrupted", ("original", "corrupted"))
    assert [s.service_name for s in schema] == [s.service_name for s in original]
    assert to_builtins(schema) == to_builtins(same) != to_builtins(other)
    made = list(zip(texts(original), texts(schema), strict=True))
    assert [*dict(made).items()] == [*dict.fromkeys(made)]  # a text becomes one text
    # Words of names are of words of names, in their style, and those of descriptions of theirs.
    slots, intents, descriptions = (
        {word for (of, text), _ in made if of == kind for word in words_of(kind, text)}
        for kind in ("Slot", "Intent", "description")
    )
    new = {word for _, (kind, text) in made if kind == "Slot" for word in words_of(kind, text)}
    assert new <= slots | intents and new - slots  # some slots have words of intents
    for _, (kind, text) in made:
        assert words_of(kind, text) <= (descriptions if kind == "description" else slots | intents)
        assert kind != "Intent" or re.fullmatch("([A-Z][a-z0-9]*)+", text)


def test_it_gives_nothing_of_v1_to_v5_that_the_original_lacks(mini: Path, tmp_path: Path) -> None:
    """What it gives without v1..v5 becomes v1; then it gives something else."""
    shutil.move(mini / "sgd_x", tmp_path / "sgd_x")
    (first,) = corrupt(open_release(mini), tmp_path / "first", variants=1, replace=1)
    shutil.move(tmp_path / "sgd_x", mini / "sgd_x")
    shutil.copytree(first, mini / "sgd_x" / "data" / "v1", dirs_exist_ok=True)
    (second,) = corrupt(open_release(mini), tmp_path / "second", variants=1, replace=1)
    release = open_release(mini, {"first": first, "second": second})
    words, schemas = [release_words(release)], train_variants(release)
    assert find_leak({"first": schemas["first"]}, words).overlaps > 5
    assert find_leak({"second": schemas["second"]}, words) == Leak(0, oracle=False)


def test_more_variants_change_none_of_the_first(run: Run, tmp_path: Path) -> None:
    written = []
    for count, more in ((2, ["--seed", "0"]), (3, [])):  # the default
        words = f"reword corrupt --source sample --variants {count} --output {count}".split()
        done = run("sgdx_cli", *words, *more)
        places = [f"{count}/corrupt-{i + 1}" for i in range(count)]
        assert (done.returncode, done.stdout.splitlines()) == (0, places), done.stderr
        files = sorted(path for path in (tmp_path / str(count)).rglob("*.*"))
        names = [str(path.relative_to(tmp_path)) for path in files]
        assert names == [f"{place}/train/schema.json" for place in places]
        written.append([path.read_bytes() for path in files])
    assert written[0] == written[1][:2] and len(set(written[1])) == 3
