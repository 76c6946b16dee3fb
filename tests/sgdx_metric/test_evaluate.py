"""The metric through `evaluate`: by folder, by name in a fresh process, and from the Hub."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import datasets
import evaluate
import msgspec
import pytest
import yaml
from huggingface_hub import RepoCard

from sgdx_dataset import frames, load
from sgdx_eval.install import install
from sgdx_metric import score
from sgdx_metric.__main__ import main
from sgdx_metric.scoring import HEADLINE
from sgdx_metric.version import __version__

from ..conftest import EVALUATE, ROOT, Run
from ..hub import Hub
from .frames import prediction, reference, six_variants

CARD = ROOT / "sgdx_metric" / "README.md"
SCORES = {"original": [True, True, False], "v1": [True, False, False], "v2": [True, True, False]}
REFERENCES, PREDICTIONS = six_variants(SCORES)
USE = """
rows = json.load(open("rows.json"))
print(json.dumps(evaluate.load("sgdx_metric").compute(**rows)))
"""
HALF = """
options = {"num_process": 2, "process_id": 1, "experiment_id": "halves", "timeout": 240}
metric = evaluate.load(sys.argv[1], cache_dir=".", **options)
rows = json.load(open("rows.json"))
print(metric.compute(**{side: rows[side][1::2] for side in rows}))
"""
FROM_THE_HUB = """
row = json.load(open(sys.argv[1]))
result = evaluate.load("you/sgdx_metric").compute(**row)
generated = evaluate.load("you/sgsacc_metric", revision=sys.argv[2])
print(json.dumps([result["jga_orig"], type(generated).__name__, list(generated.features)]))
"""


def expected(**others: Any) -> dict[str, Any]:
    """What `compute` gives, from the result of the Python door."""
    result = score(PREDICTIONS, REFERENCES, **others)
    named = {name: figure.value for name, figure in result.named().items()}
    written: dict[str, Any] = json.loads(msgspec.json.encode(result))
    return dict.fromkeys(HEADLINE) | named | written


@pytest.fixture
def metric() -> Any:
    return evaluate.load(str(ROOT / "sgdx_metric"))


def test_compute_by_folder(metric: Any) -> None:
    """At once, added in parts, and combined."""
    rows = [row | {"history": [{"speaker": "USER"}], "turn": 0} for row in REFERENCES]
    options = {"split": "test", "system_acts": True}
    result = metric.compute(predictions=PREDICTIONS[::-1], references=rows, **options)
    assert result == expected(split="test", system_acts=True)
    assert result["jga_orig"] == pytest.approx(2 / 3)
    metric.add(prediction=PREDICTIONS[0], reference=REFERENCES[-1])
    metric.add_batch(PREDICTIONS[1:4], REFERENCES[:2])
    metric.add_batch(predictions=PREDICTIONS[4:], references=REFERENCES[2:-1])
    assert metric.compute() == expected()
    combined = evaluate.combine([metric])
    for guess, true in zip(PREDICTIONS, REFERENCES):
        combined.add(guess, true)
    assert combined.compute()["figures"] == expected()["figures"]


def test_two_processes_halves_equal_the_whole(tmp_path: Path) -> None:
    """This process is the first of the two, which computes; the other one gives its rows."""
    rows = {"predictions": PREDICTIONS, "references": REFERENCES[::-1]}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    folder = str(ROOT / "sgdx_metric")
    words = [sys.executable, "-c", EVALUATE + HALF, folder]
    other = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    options = {"num_process": 2, "process_id": 0, "experiment_id": "halves"}
    metric = evaluate.load(folder, cache_dir=str(tmp_path), timeout=240, **options)
    result = metric.compute(**{side: rows[side][::2] for side in rows})
    assert result == expected()
    assert other.communicate(timeout=240)[0] == "None\n"


def test_options_that_are_none(metric: Any) -> None:
    sides = {"predictions": [prediction()], "references": [reference()]}
    options = {"system_acts": "yes", "use_fuzzy_match": "no", "zero_mean": "keep", "split": 5}
    for option, value in options.items():
        with pytest.raises(ValueError, match=f"^{option} is {re.escape(repr(value))}"):
            metric.compute(**sides, **{option: value})
    assert metric.compute(**sides)["figures"][0]["items"] == 1  # the rows of no call are kept
    assert not [*Path(metric.data_dir).glob("*.arrow*")]


def test_installed_metric_loads_by_name_from_anywhere(tmp_path: Path, run: Run) -> None:
    """In a fresh process that does not know the package, and before an older version beside it."""
    installed = install()
    for file in ("slots.py", "f1.py"):  # a damaged copy is made again
        (installed / file).write_text("def score_slots(): return 1")
    (installed / "f1.py").unlink()
    assert install() == installed
    for file in ("slots.py", "f1.py"):
        assert (installed / file).read_bytes() == (ROOT / "sgdx_metric" / file).read_bytes()
    older = installed.with_name("0" * 64)
    older.mkdir()
    (older / "sgdx_metric.py").write_text("raise ImportError('an older version')")
    # The clock of files is coarse: what was written within its tick would be as new.
    os.utime(older / "sgdx_metric.py", (time.time() - 1,) * 2)
    os.utime(installed / "sgdx_metric.py", (time.time() - 2,) * 2)
    assert install() == installed
    rows = {"predictions": PREDICTIONS, "references": REFERENCES}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "use.py").write_text(EVALUATE + USE)
    used = run("use", PYTHONPATH="")
    shutil.rmtree(older)
    assert used.returncode == 0, used.stderr
    assert json.loads(used.stdout)["figures"] == expected()["figures"]
    assert len(list(installed.parent.rglob("sgdx_metric.py"))) == 1


@pytest.mark.parametrize("address", ["", "ours/sgdx"])
def test_metrics_are_loaded_from_the_hub(
    address: str, online: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each is one tagged commit that has what its Space needs; none has another name.

    The page that scores files is there where the Space can install the package from somewhere.
    """
    monkeypatch.setenv("GITHUB_REPOSITORY", address)
    monkeypatch.setenv("GITHUB_SHA", "c0ffee")
    assert main(["push", "you/my_metric"]) == 2
    said = capsys.readouterr().err
    assert "you/my_metric" in said and said.count("\n") == 1 and online.requests == []
    source = "sgdx @ git+https://github.com/ours/sgdx.git@c0ffee"
    for name in ("sgdx_metric", "sgsacc_metric"):
        assert main(["push", f"you/{name}"]) == 0
        assert capsys.readouterr().out == f"{online.url}/spaces/you/{name}\n"
        space = online.repositories["spaces", f"you/{name}"]
        assert len(space.commits) == 2
        assert space.tags == {f"v{__version__}": space.commits[-1][0]}
        card = RepoCard(space.files["README.md"].decode())
        assert card.data["sdk"] == space.sdk == ("gradio" if address else "static")
        assert card.data["app_file"] in space.files
        assert ("requirements.txt" in space.files) == bool(address)
        if address:
            assert space.files["requirements.txt"].decode() == f"{source}\n"
        assert "<!--" not in card.text and f'evaluate.load("{name}")' not in card.text
        assert f'evaluate.load("you/{name}")' in card.text
        assert ("YOU/sgdx" in card.text) == (not address)
        assert "](../" not in card.text
        assert (f'pip install "{source}"' in card.text) == (bool(address) and name[:3] == "sgs")
    if not address:  # the scripts are the same
        return
    row = {"predictions": PREDICTIONS[:1], "references": REFERENCES[:1]}
    (tmp_path / "row.json").write_text(json.dumps(row))
    words = ("-c", EVALUATE + FROM_THE_HUB, tmp_path / "row.json", f"v{__version__}")
    done = online.python(tmp_path / "home", *words, token=None, HF_EVALUATE_OFFLINE="0")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [1.0, "SgsaccMetric", ["predictions", "references"]]
    asked = {path for _, path, _ in online.requests}
    assert "/spaces/you/sgdx_metric/resolve/main/sgdx_metric.py" in asked


def test_the_card_and_the_docstring(monkeypatch: pytest.MonkeyPatch, metric: Any) -> None:
    """Their examples, and two rows that score what the card says."""
    monkeypatch.chdir(ROOT)  # where evaluate finds the folder by its name
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    examples = parser.get_doctest(metric.inputs_description, {}, "inputs_description", None, 0)
    of_docstring = runner.run(examples)
    assert of_docstring.attempted >= 3 and of_docstring.failed == 0
    of_card = doctest.testfile(str(CARD), module_relative=False)
    assert of_card.attempted >= 7 and of_card.failed == 0
    text = CARD.read_text(encoding="utf-8")
    reference, prediction = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    result = metric.compute(predictions=[prediction], references=[reference])
    assert result["jga_v1"] == result["joint_noncat_accuracy_v1"] == 0.86
    assert result["joint_cat_accuracy_v1"] == result["active_intent_accuracy_v1"] == 1
    card = yaml.safe_load(text.split("---")[1])
    assert card["sdk_version"].startswith("6.") and {"evaluate", "metric"} <= {*card["tags"]}


def test_names_of_another_variant_are_told(metric: Any) -> None:
    references, predictions = six_variants({"original": [True, True]})
    for row in predictions:
        row["slot_values"] = [{**value, "slot": "town"} for value in row["slot_values"]]
    dataset = datasets.Dataset.from_list(references, split="test[:10%]")
    with pytest.warns(UserWarning, match="^original: 100 %"):
        result = metric.compute(predictions=predictions, references=dataset)
    assert "|split:test|" in result["signature"]


def test_what_rows_say_of_themselves_is_neither_contradicted_nor_lost(metric: Any) -> None:
    """Another split is refused, and a choice of dialogues has a mark of its own."""
    dialogues = load("v1", "test", "sample")
    keys = ["frame_id", "variant", "active_intent", "requested_slots", "slot_values"]
    rows = frames(dialogues)
    predicted = rows.select_columns(keys)

    def door(predictions: Any, references: Any, **options: Any) -> str:
        return score(predictions, references, **options).signature

    for wrong in ({"split": "dev"}, {"release": "many"}):
        for of in (door, metric.compute):
            with pytest.raises(ValueError, match=f"{'validation|many'}.*(test|sample)"):
                of(predictions=predicted, references=rows, **wrong)
    whole = door(predicted, rows, split=rows.split)
    assert "|split:test|release:sample|" in whole and door(predicted[:], dialogues) == whole
    of_compute = metric.compute(predictions=predicted, references=rows)
    assert of_compute["signature"] == whole
    options = {"split": "test", "release": "sample"}
    of_slices = {door(predicted, given, **options) for given in (rows[:], dialogues[:])}
    assert {of_slices.pop()} == {door(predicted, [*rows], **options)} and not of_slices
    # What rows do not say is marked as the caller's word.
    assert "as-stated" not in whole
    for given, mark in ((options, "split+release"), ({"split": "dev"}, "split")):
        assert f"|predictions:made-elsewhere|as-stated:{mark}|" in door(predicted, rows[:], **given)
    one = door(predicted[:6], dialogues[0], dialogues=["1_00000"], **options)
    assert "|dialogues:1@" in one
    signatures = set()
    for begin in (0, 3):
        part = frames(dialogues.select(range(begin, begin + 3)))
        signatures.add(door(part.select_columns(keys), part))
    marks = {line.split("|dialogues:")[1].split("|")[0] for line in signatures}
    assert len(marks) == 2 and all(mark.startswith("3@") for mark in marks)
    metric.add_batch(predictions=predicted[:6], references=rows.select(range(6)))
    metric.add_batch(predictions=predicted.select(range(6, len(rows))), references=[*rows][6:])
    assert "|as-stated:split|" in metric.compute(split="test")["signature"]
    metric.add_batch(predictions=predicted, references=rows)
    with pytest.raises(ValueError, match="validation.*test"):
        metric.add_batch(predictions=[], references=frames(load("v1", "dev", "sample")))
