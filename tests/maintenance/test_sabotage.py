"""Whether breaking the code is noticed: by the attack tool, and by the tests of the room.

Each sabotage is done to a copy of the code. It has to fail tests of its own room; which of them the
attacks notice is written down, so that a tool that no longer can fail is noticed too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..conftest import ROOT

_COPIED = ("sgdx_dataset", "sgdx_metric", "sgsacc_metric", "baselines", "maintenance", "tests")


@dataclass(frozen=True)
class Sabotage:
    """A change of the code that makes it wrong.

    Attributes:
        file: The file to change.
        old: What stands in it.
        new: What stands there instead.
        tests: Tests of the room, as words for pytest.
        attack: The attack that notices, as words for the tool; empty where none does.
    """

    file: str
    old: str
    new: str
    tests: str
    attack: str = ""


_RELEASE = "tests/sgdx_dataset/release/test_release.py"
_PREPARE = "tests/sgdx_dataset/hub/test_prepare.py"
_SENDING = "tests/baselines/llm/test_sending.py"
_FAULTS = "tests/baselines/training/test_faults.py"

SABOTAGES = {
    "the joint goal accuracy is halved": Sabotage(
        "sgdx_metric/scoring.py", "    return joint\n", "    return joint / 2\n",
        "tests/sgdx_metric/test_scoring.py", "surroundings --only usual"),
    "predictions are emptied": Sabotage(
        "baselines/data/prediction_files.py", "metadata}, *rows]",
        'metadata}, *({**row, "slot_values": []} for row in rows)]',
        "tests/baselines/data/test_prediction_files.py", "surroundings --only usual"),
    "the end of an archive is not checked": Sabotage(
        "sgdx_dataset/release/archives.py", "            stream.check_end()\n", "",
        f"{_RELEASE} -k gzip", "archives --kind .tar.gz --flips 300 --cuts 20"),
    "a zip's list is not held against its headers": Sabotage(
        "sgdx_dataset/release/archives.py", "        _check_entries(name, archive, file)\n",
        "        pass\n", f"{_RELEASE} -k zip"),
    "links and devices in a tar are read": Sabotage(
        "sgdx_dataset/release/archives.py", "if not member.isreg() or member.issparse():",
        "if False:", f"{_RELEASE} -k link", "hostile"),
    "a resumed run is not compared": Sabotage(
        "baselines/training/run_folder.py", "if before.get(name) != now.get(name):", "if False:",
        "tests/baselines/training/test_run_folder.py"),
    "a changed file of SGD is not noticed": Sabotage(
        "sgdx_dataset/release/release.py", "altered = any(", "altered = False and any(",
        f"{_RELEASE} -k without_sgd"),
    "a changed file of the sample is not noticed": Sabotage(
        "sgdx_dataset/release/release.py", "digests.items() <= checksums", "True or checksums",
        f"{_RELEASE} -k copy_of_the_sample", "archives --kind .tar --flips 30 --cuts 1"),
    "a folder that was replaced is read": Sabotage(
        "sgdx_dataset/hub/prepare.py",
        "return loaded if os.path.samestat(os.fstat(descriptor), folder.stat()) else None",
        "return loaded", f"{_PREPARE} -k one_folder"),
    "a cache of another source is read": Sabotage(
        "sgdx_dataset/hub/prepare.py",
        "if _checksums(folder)[:1] != [release.fingerprint_of(config)]:", "if not record:",
        f"{_PREPARE} -k another_copy",
        "loading --seconds 2"),
    "files are written in place": Sabotage(
        "sgdx_dataset/io/files.py", "        staging.write_bytes(content)\n",
        "        target.write_bytes(content)\n        staging.write_bytes(content)\n",
        "tests/sgdx_dataset/io/test_files.py -k in_place"),
    "a key that appears twice is accepted": Sabotage(
        "sgdx_dataset/io/json.py", "object_pairs_hook=_refuse_repeated_keys, ", "",
        "tests/sgdx_dataset/io/test_json.py", "files --every 50"),
    "spans before the utterance are accepted": Sabotage(
        "sgdx_metric/rows.py", "Meta(ge=0, le=2**31 - 1)", "Meta(le=2**31 - 1)",
        "tests/sgdx_metric/cli/test_faults.py", "files"),
    "the key is written with the answers": Sabotage(
        "baselines/llm/endpoint.py",
        'text = re.sub("".join(map(_any_spelling, secret)), "[key]", text)', "pass",
        f"{_SENDING} -k key"),
    "a gateway's error is an answer": Sabotage(
        "baselines/llm/endpoint.py", "return bool(error) and not refused", "return False",
        f"{_SENDING} -k status_200"),
    "a model is replaced file by file": Sabotage(
        "baselines/training/checkpoint.py", "    staging.rename(folder / READY)\n",
        "    for file in sorted(staging.iterdir()):\n        file.replace(folder / file.name)\n",
        f"{_FAULTS} -k kill_between"),
    "weights that are no numbers are loaded": Sabotage(
        "baselines/training/checkpoint.py",
        "if tensor.is_floating_point() and not tensor.isfinite().all():", "if False:",
        f"{_FAULTS} -k made_up"),
    "a changed file of scores is read": Sabotage(
        "sgdx_metric/cli/paired_results.py",
        "    if stated and stated != (digest", "    if stated and not (digest",
        "tests/sgdx_metric/cli/test_chain.py -k changed_file_of_scores"),
    "responses of two systems are scored together": Sabotage(
        "sgsacc_metric/cli/score.py",
        "        check_one_system({name: read.metadata for name, read in responses.items()})\n", "",
        "tests/sgsacc_metric/cli/test_chain.py -k mixed"),
    "turn rows that were changed are believed": Sabotage(
        "sgdx_metric/cli/row_files.py",
        "        return self.digests(variant).items() <= stated.items()\n",
        "        return bool(stated)\n", "tests/sgsacc_metric/cli/test_chain.py -k parquet"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_is_noticed(name: str, tmp_path: Path) -> None:
    sabotage = SABOTAGES[name]
    for folder in _COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc"))
    for name_of_file in ("pyproject.toml", "setup.cfg", "README.md", "constraints.txt"):
        shutil.copy(ROOT / name_of_file, tmp_path)
    file = tmp_path / sabotage.file
    text = file.read_text()
    assert text.count(sabotage.old) == 1, "the code has changed: say anew how it is to be broken"
    file.write_text(text.replace(sabotage.old, sabotage.new))

    def status(*words: str) -> int:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "SGDX_SOURCE": ""}
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, timeout=900).returncode

    tests, _, chosen = sabotage.tests.partition(" -k ")
    chosen_words = ["-k", chosen] if chosen else []
    assert status("pytest", "-q", "-x", "-n", "0", tests, *chosen_words) == 1  # 1: tests failed
    if sabotage.attack:
        assert status("maintenance.attack", *_words(sabotage.attack)) == 1


def _words(attack: str) -> list[str]:
    return ["as usual" if word == "usual" else word for word in attack.split()]
