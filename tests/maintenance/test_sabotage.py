"""Whether breaking the code is noticed by the tests of the room that is broken.

Each sabotage is one wrong line that would give a user a wrong number, a leak, a lost file or a
secret that is written. It is done to a copy of the code, in which tests of its room have to fail.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ..conftest import ROOT


class Sabotage(NamedTuple):
    """A change of the code that makes it wrong.

    Attributes:
        file: The file to change.
        old: What stands in it once.
        new: What stands there instead.
        tests: The tests that have to notice, as words for pytest.
    """

    file: str
    old: str
    new: str
    tests: str


_RELEASE = "tests/sgdx_dataset/release/test_release.py"
_PREPARE = "tests/sgdx_dataset/hub/test_prepare.py"
_METRIC = "tests/sgdx_metric"
_TOOLS = "tests/sgdx_tools"
_SENDING = "tests/baselines/llm/test_sending.py"
_FAULTS = "tests/baselines/training/test_faults.py"

SABOTAGES = {
    # --- sgdx_dataset ---
    "the end of an archive is not checked": Sabotage(
        "sgdx_dataset/release/archives.py", "            stream.check_end()\n", "",
        f"{_RELEASE} -k gzip"),
    "a zip's list is not held against its headers": Sabotage(
        "sgdx_dataset/release/archives.py", "        _check_entries(name, archive, file)\n",
        "        pass\n", f"{_RELEASE} -k zip"),
    "links and devices in a tar are read": Sabotage(
        "sgdx_dataset/release/archives.py", "if not member.isreg() or member.issparse():",
        "if False:", f"{_RELEASE} -k link"),
    "a changed file of SGD is not noticed": Sabotage(
        "sgdx_dataset/release/release.py", "altered = any(", "altered = False and any(",
        f"{_RELEASE} -k without_sgd"),
    "a changed file of the sample is not noticed": Sabotage(
        "sgdx_dataset/release/release.py", "digests.items() <= checksums", "True or checksums",
        f"{_RELEASE} -k copy_of_the_sample"),
    "a folder that was replaced is read": Sabotage(
        "sgdx_dataset/hub/prepare.py",
        "return loaded if os.path.samestat(os.fstat(descriptor), folder.stat()) else None",
        "return loaded", f"{_PREPARE} -k one_folder"),
    "a cache of another source is read": Sabotage(
        "sgdx_dataset/hub/prepare.py",
        "return list(made_from.values())[:1] == [release.fingerprint_of(config)]",
        "return bool(made_from)", f"{_PREPARE} -k another_copy"),
    "files are written in place": Sabotage(
        "sgdx_dataset/io/files.py", "        staging.write_bytes(content)\n",
        "        target.write_bytes(content)\n        staging.write_bytes(content)\n",
        "tests/sgdx_dataset/io/test_files.py -k in_place"),
    "a key that appears twice is accepted": Sabotage(
        "sgdx_dataset/io/json.py", "object_pairs_hook=_refuse_repeated_keys, ", "",
        "tests/sgdx_dataset/io/test_json.py"),
    # --- sgdx_metric ---
    "the joint goal accuracy is halved": Sabotage(
        "sgdx_metric/scoring.py", "    return joint\n", "    return joint / 2\n",
        f"{_METRIC}/test_scoring.py -k goal_accuracy"),
    "the last value of a prediction is scored": Sabotage(
        "sgdx_metric/slots.py", "predicted_code[predicted.first()]",
        "predicted_code[len(predicted_code) - 1 - predicted.first()]",
        f"{_METRIC}/test_scoring.py -k goal_accuracy"),
    "a frame that is there twice is scored": Sabotage(
        "sgdx_metric/columns.py",
        "if not np.array_equal(np.sort(position), np.arange(len(order))):",
        "if (position < 0).any():", f"{_METRIC}/test_scoring.py -k frames_must_match"),
    "a slot that is due twice is found twice": Sabotage(
        "sgdx_metric/f1.py", "np.minimum(in_true, in_predicted)", "in_true * (in_predicted > 0)",
        f"{_METRIC}/test_scoring.py -k requested"),
    "any value is a canonical one": Sabotage(
        "sgdx_metric/slots.py", "(canonical_code == hypothesis[canonical_at])",
        "(canonical_code >= 0)", f"{_METRIC}/test_canonical.py"),
    "a value that is lost is no change": Sabotage(
        "sgdx_metric/change.py", "np.where(has_value, ~keeps_value, had_value)",
        "np.where(has_value, ~keeps_value, False)", f"{_METRIC}/test_change.py -k by_hand"),
    "the order of words counts": Sabotage(
        "sgdx_metric/fuzzy.py", '" ".join(sorted(words.split()))', '" ".join(words.split())',
        f"{_METRIC}/test_fuzzy.py -k literal"),
    "deviations are those of a population": Sabotage(
        "sgdx_metric/robustness.py", "scores.std(axis=0, ddof=1)", "scores.std(axis=0)",
        f"{_METRIC}/test_report.py -k headline"),
    "the worst case leaves out undefined scores": Sabotage(
        "sgdx_metric/robustness.py", "scores.min(axis=0))", "np.nanmin(scores, axis=0))",
        f"{_METRIC}/test_report.py -k flips_by_hand"),
    "half right is wrong": Sabotage(
        "sgdx_metric/robustness.py", "(most >= RIGHT)", "(most > RIGHT)",
        f"{_METRIC}/test_report.py -k equal_the_plain"),
    "a mean over v1 to v5 is of fewer": Sabotage(
        "sgdx_metric/robustness.py", "if len(means) == len(PAPER_VARIANTS) else None",
        "if means else None", f"{_METRIC}/test_report.py -k not_there"),
    "a drop is a gain": Sabotage(
        "sgdx_metric/robustness.py", 'statistics["jga_v1-5"] - statistics["jga_orig"]}',
        'statistics["jga_orig"] - statistics["jga_v1-5"]}',
        f"{_METRIC}/test_report.py -k over_wordings"),
    "unseen services are the seen ones": Sabotage(
        "sgdx_metric/units.py", "np.flatnonzero(~self.seen)", "np.flatnonzero(self.seen)",
        f"{_METRIC}/test_report.py -k seen_unseen"),
    "groups of seen and unseen services change places": Sabotage(
        "sgdx_metric/report.py", "SEEN: frames.seen, UNSEEN: ~frames.seen",
        "SEEN: ~frames.seen, UNSEEN: frames.seen", f"{_METRIC}/test_report.py -k groups_carry"),
    "intervals are over turns": Sabotage(
        "sgdx_metric/units.py", '_codes(frame_id, "(/[^/]*){2}$")',
        '_codes(frame_id, "(/[^/]*){1}$")', f"{_METRIC}/test_bootstrap.py -k sums_of_dialogues"),
    "intervals hold 90 %": Sabotage(
        "sgdx_metric/bootstrap.py", "(0.025, 0.975)", "(0.05, 0.95)",
        f"{_METRIC}/test_bootstrap.py -k theory"),
    "two sides are resampled apart": Sabotage(
        "sgdx_metric/bootstrap.py",
        "statistic(second.means(weights))\n        return {name: right",
        "statistic(second.means(weights[::-1]))\n        return {name: right",
        f"{_METRIC}/test_report.py -k differences_to"),
    "a p is zero": Sabotage(
        "sgdx_metric/bootstrap.py", "(as_large[name] + 1) / (trials + 1)",
        "as_large[name] / trials", f"{_METRIC}/test_bootstrap.py -k never_zero"),
    "a p is one-sided": Sabotage(
        "sgdx_metric/bootstrap.py", "large = np.abs(right[name] - left[name]) >= np.abs(value)",
        "large = right[name] - left[name] >= value",
        f"{_METRIC}/test_bootstrap.py -k share_of_swaps"),
    "wordings are drawn with the dialogues": Sabotage(
        "sgdx_metric/bootstrap.py", "np.ones_like(weights) if over == WORDINGS else weights",
        "weights", f"{_METRIC}/test_bootstrap.py -k drawn_apart"),
    "as many runs are drawn as there are": Sabotage(
        "sgdx_metric/bootstrap.py", "number = max(len(runs) - 1, 1)", "number = len(runs)",
        f"{_METRIC}/cli/test_summarise.py -k spread"),
    "a parameter that does not matter is an argument": Sabotage(
        "sgdx_metric/calls.py", 'if parameter["value"].strip().lower() != DONTCARE', "if True",
        f"{_METRIC}/test_calls.py -k a_call"),
    "a dialogue fails by calls that are nearly right": Sabotage(
        "sgdx_metric/calls.py", "np.bincount(position, accuracy < RIGHT",
        "np.bincount(position, accuracy < 1", f"{_METRIC}/test_calls.py -k task"),
    "recall is precision": Sabotage(
        "sgdx_metric/calls.py", "hits / int(needed.sum())", "hits / int(called.sum())",
        f"{_METRIC}/test_calls.py -k stands_apart"),
    "true equals 1": Sabotage(
        "sgdx_metric/call_rules.py", "isinstance(expected, bool) == isinstance(value, bool) and ",
        "", f"{_METRIC}/test_call_rules.py -k exact"),
    "arguments that nobody expects are right": Sabotage(
        "sgdx_metric/call_rules.py", " or any(key not in expected for key in value):", ":",
        f"{_METRIC}/test_call_rules.py -k exact"),
    "calls are matched as they come": Sabotage(
        "sgdx_metric/call_rules.py", "return max(best, product)\n", "return best or product\n",
        f"{_METRIC}/test_call_rules.py -k matched"),
    "a required argument may be left out": Sabotage(
        "sgdx_metric/call_rules.py",
        'if any(name not in arguments for name in schema.get("required", ())):', "if False:",
        f"{_METRIC}/test_call_rules.py -k requires"),
    "an oracle is not called one": Sabotage(
        "sgdx_metric/signature.py", '{"oracle": "yes"} if setup.oracle else {}', "{}",
        f"{_METRIC}/test_signature.py -k oracle"),
    "a part of SGD is called whole": Sabotage(
        "sgdx_metric/signature.py", 'if release != "sample" and dialogues < whole:', "if False:",
        f"{_METRIC}/test_signature.py -k release_in"),
    "a wording's fingerprint is of its names": Sabotage(
        "sgdx_metric/variants.py", '[slot["name"], slot["description"], slot["possible_values"]]',
        '[slot["name"], slot["possible_values"]]', f"{_METRIC}/test_signature.py -k fingerprint"),
    "frames that are won are called broken": Sabotage(
        "sgdx_metric/cli/explain.py", "np.flatnonzero(after < before)",
        "np.flatnonzero(after > before)", f"{_METRIC}/cli/test_compare.py -k broke"),
    "states of the release's layout go to the turn after": Sabotage(
        "sgdx_metric/cli/predictions.py",
        "for user_turn, (index, turn) in enumerate(users):",
        "for user_turn, (index, turn) in enumerate(users, 1):",
        f"{_METRIC}/cli/test_predictions.py -k directory_gives"),
    "spans before the utterance are accepted": Sabotage(
        "sgdx_metric/rows.py", "Meta(ge=0, le=2**31 - 1)", "Meta(le=2**31 - 1)",
        f"{_METRIC}/cli/test_faults.py -k field_of_a_prediction"),
    "predictions keep what the errata leave out": Sabotage(
        "sgdx_metric/cli/errata.py",
        "    for row in guesses:\n        _drop_values(row, names)\n", "",
        f"{_METRIC}/cli/test_errata.py -k whatever_its_name"),
    # --- sgdx_tools ---
    "a loss at the limit is above it": Sabotage(
        "sgdx_tools/scoring.py", "100 * interval[1] < -max_drop", "100 * interval[1] <= -max_drop",
        f"{_TOOLS}/test_scoring.py -k at_the_limit"),
    "a loss by chance is above the limit": Sabotage(
        "sgdx_tools/scoring.py", "100 * interval[1] < -max_drop", "100 * interval[0] < -max_drop",
        f"{_TOOLS}/test_scoring.py -k max_drop"),
    "answers to other conversations are scored": Sabotage(
        "sgdx_tools/signature.py", "_digest([*tool_set.tools.values(), *conversations])",
        "_digest(tool_set.tools.values())", f"{_TOOLS}/test_scoring.py -k model_is_shown"),
    "a model gives an element another one's name": Sabotage(
        "sgdx_tools/model_words.py", "elif text in others:", "elif False:",
        f"{_TOOLS}/test_rewording.py -k other_elements"),
    "turns of a dialogue are dialogues": Sabotage(
        "sgdx_tools/scoring.py",
        'f"d {case.dialogue}" if case.dialogue else f"c {case.id}"', 'f"c {case.id}"',
        f"{_TOOLS}/test_scoring.py -k right_calls"),
    "flips are those of a mean over runs": Sabotage(
        "sgdx_tools/scoring.py", '_OF_ONE_RUN = ("worst", "flips", "sensitivity")',
        "_OF_ONE_RUN = ()", f"{_TOOLS}/test_scoring.py -k repeats_give"),
    "cases without a prediction are left out": Sabotage(
        "sgdx_tools/predictions.py", "if len(run) < len(ids):", "if not run:",
        f"{_TOOLS}/test_scoring.py -k faults_of"),
    "two tools get one name": Sabotage(
        "sgdx_tools/folder.py", "        if other != i:\n", "        if False:\n",
        f"{_TOOLS}/test_folder.py -k faults"),
    "a call that is never right is expected": Sabotage(
        "sgdx_tools/folder.py", "if unknown and not layout.is_open():", "if False:",
        f"{_TOOLS}/test_folder.py -k faults_of_cases"),
    "a schema requires the old names": Sabotage(
        "sgdx_tools/json_schema.py", "return [names.get(name, name) for name in value]",
        "return value", f"{_TOOLS}/test_json_schema.py -k everything"),
    "of two keys of one name the first is lost": Sabotage(
        "sgdx_tools/json_schema.py", "if len(renamed) < len(value):", "if False:",
        f"{_TOOLS}/test_json_schema.py -k cannot_be_lost"),
    "alternatives keep the old names": Sabotage(
        "sgdx_tools/json_schema.py",
        "return {ANY_OF: [self._value(item, paths) for item in value[ANY_OF]]}", "return value",
        f"{_TOOLS}/test_json_schema.py -k every_depth"),
    "earlier calls give the old names away": Sabotage(
        "sgdx_tools/renaming.py", "if new_value != value:", "if False:",
        f"{_TOOLS}/test_renaming.py -k earlier_calls"),
    "words are not given credit for what they win": Sabotage(
        "sgdx_tools/elements.py", '"net": lost[element] - won[element]', '"net": lost[element]',
        f"{_TOOLS}/test_scoring.py -k is_won"),
    # --- baselines ---
    "predictions are emptied": Sabotage(
        "baselines/data/prediction_files.py", "header}, *rows]",
        'header}, *({**row, "slot_values": []} for row in rows)]',
        "tests/baselines/data/test_prediction_files.py"),
    "a resumed run is not compared": Sabotage(
        "baselines/training/run_folder.py",
        "if before.get(name) != now.get(name) and name != _EXPECTED:", "if False:",
        "tests/baselines/training/test_run_folder.py"),
    "a model is replaced file by file": Sabotage(
        "baselines/training/checkpoint.py", "    staging.rename(folder / READY)\n",
        "    for file in sorted(staging.iterdir()):\n        file.replace(folder / file.name)\n",
        f"{_FAULTS} -k kill_between"),
    "weights that are no numbers are loaded": Sabotage(
        "baselines/training/checkpoint.py",
        "if tensor.is_floating_point() and not tensor.isfinite().all():", "if False:",
        f"{_FAULTS} -k made_up"),
    "the key is written with the answers": Sabotage(
        "baselines/llm/endpoint.py",
        'text = re.sub("".join(map(_any_spelling, secret)), "[key]", text)', "pass",
        f"{_SENDING} -k key_is"),
    "a gateway's error is an answer": Sabotage(
        "baselines/llm/endpoint.py", "return bool(error) and not refused", "return False",
        f"{_SENDING} -k status_200"),
}  # fmt: skip


def test_every_sabotage_finds_its_line_and_its_tests() -> None:
    """A line that has moved or changed is to be broken where and as it is now."""
    lost = [
        name
        for name, (file, old, _, tests) in SABOTAGES.items()
        if not (ROOT / file).is_file()
        or (ROOT / file).read_text(encoding="utf-8").count(old) != 1
        or not (ROOT / shlex.split(tests)[0]).exists()
    ]
    assert lost == []


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the rooms, with links to all else."""
    folder = tmp_path_factory.mktemp("copy")
    for path in ROOT.iterdir():
        if any(path.glob("*.py")):
            shutil.copytree(path, folder / path.name)
        elif not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    return folder


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_is_noticed(name: str, copy: Path) -> None:
    sabotage = SABOTAGES[name]
    file = copy / sabotage.file
    text = file.read_text(encoding="utf-8")
    words = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", *shlex.split(sabotage.tests))
    file.write_text(text.replace(sabotage.old, sabotage.new), encoding="utf-8")
    try:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "SGDX_SOURCE": ""},
            timeout=900,
        ).returncode
    finally:
        file.write_text(text, encoding="utf-8")
    assert status == 1  # 1: tests failed; another one says that they did not run
