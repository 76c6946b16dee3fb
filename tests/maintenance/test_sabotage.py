"""Whether breaking the code is noticed by the tests of the room that is broken.

What ``maintenance.mutations`` draws by itself, such as a turned condition, is not listed here.
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


_DATASET = "tests/sgdx_dataset"
_RELEASE = f"{_DATASET}/test_release.py"
_PREPARE = f"{_DATASET}/test_prepare.py"
_METRIC = "tests/sgdx_metric"
_EVAL = "tests/sgdx_eval"
_SGSACC = "tests/sgsacc_metric"
_TOOLS = "tests/sgdx_tools"
_BASELINES = "tests/baselines"
_LLM = "tests/sgdx_llm"
_SENDING = f"{_LLM}/test_sending.py"
_TRAINING = f"{_BASELINES}/training"
_FAULTS = f"{_TRAINING}/test_faults.py"

SABOTAGES = {
    # --- sgdx_dataset ---
    "a cache of another source is read": Sabotage(
        "sgdx_dataset/cache.py",
        "[1] == release.fingerprint_of(config)", "[1] != ''", f"{_PREPARE} -k another_copy"),
    "files are written in place": Sabotage(
        "sgdx_dataset/io/files.py", "        staging.write_bytes(content)\n",
        "        target.write_bytes(content)\n        staging.write_bytes(content)\n",
        f"{_DATASET}/io/test_files.py -k in_place"),
    "a digest of data is of the dialogues alone": Sabotage(
        "sgdx_dataset/release.py", "made_from = [dialogues, schemas, ",
        "made_from = [dialogues, ", f"{_RELEASE} -k digest_of_data"),
    "a rewording may change values": Sabotage(
        "sgdx_dataset/words.py",
        "for field in element.__struct_fields__:", "for field in ('name', 'description'):",
        f"{_DATASET}/test_schema.py -k not_line_up"),
    "values are canonical by what is said later": Sabotage(
        "sgdx_dataset/rows.py", "        for frame in turn[\"frames\"]:\n            for action",
        "        for frame in (f for t in turns for f in t[\"frames\"]):\n            for action",
        f"{_DATASET}/test_rows.py -k said_so_far"),
    "the history has the user's acts": Sabotage(
        "sgdx_dataset/rows.py", '        if turn["speaker"] == "SYSTEM"\n    ]', "    ]",
        f"{_DATASET}/test_rows.py -k no_gold_act"),
    "a leak hides among other schemas": Sabotage(
        "sgdx_dataset/rewording/leaks.py", "for group in (*parts, together)",
        "for group in (together,)", f"{_DATASET}/rewording/test_leaks.py -k beside"),
    # --- sgdx_metric ---
    "the last value of a prediction is scored": Sabotage(
        "sgdx_metric/slots.py", "code[np.flatnonzero(np.diff(side.parent, prepend=-1))]",
        "code[np.flatnonzero(np.diff(side.parent, append=len(side.slot)))]",
        f"{_METRIC}/test_scoring.py -k goal_accuracy"),
    "a slot that is due twice is found twice": Sabotage(
        "sgdx_metric/f1.py", "np.minimum(in_true, in_predicted)", "in_true * (in_predicted > 0)",
        f"{_METRIC}/test_scoring.py -k requested"),
    "deviations are those of a population": Sabotage(
        "sgdx_metric/statistics.py", "scores.std(axis=0, ddof=1)", "scores.std(axis=0)",
        f"{_METRIC}/test_report.py -k headline"),
    "intervals are over turns": Sabotage(
        "sgdx_metric/units.py", 'for end in ("(/[^/]*){2}$",', 'for end in ("(/[^/]*){1}$",',
        f"{_METRIC}/test_statistics.py -k turns_by_hand"),
    "two sides are resampled apart": Sabotage(
        "sgdx_metric/statistics.py",
        "run.resampled(weights) for run in side",
        "run.resampled(weights[:: 1 if side is first else -1]) for run in side",
        f"{_METRIC}/test_report.py -k differences_to"),
    "a p is one-sided": Sabotage(
        "sgdx_metric/statistics.py", "(np.abs(differences) >= np.abs(observed)",
        "(differences >= observed",
        f"{_METRIC}/test_statistics.py -k share_of_swaps"),
    "a variant's fingerprint is of its names": Sabotage(
        "sgdx_metric/variants.py", '[slot["name"], slot["description"], slot["possible_values"]]',
        '[slot["name"], slot["possible_values"]]', f"{_METRIC}/test_signature.py -k fingerprint"),
    "states of the release's layout go to the turn after": Sabotage(
        "sgdx_eval/dialogue_folder.py",
        "for user_turn, (index, turn) in enumerate(users):",
        "for user_turn, (index, turn) in enumerate(users, 1):",
        f"{_EVAL}/test_prediction_files.py -k directory_gives"),
    "files of two systems are one": Sabotage(
        "sgdx_eval/prediction_files.py",
        "    for facts in (oracles, systems):", "    for facts in ():",
        f"{_EVAL}/test_contract.py -k other_references"),
    "a comparison is of all dialogues of each side": Sabotage(
        "sgdx_eval/compare.py", "    first, second = ([only_dialogues(run, ids, where) for run in",
        "    first, second = ([run for run in", f"{_EVAL}/test_contract.py -k same_dialogues"),
    # --- sgsacc_metric ---
    "what is entailed in its context is not": Sabotage(
        "sgsacc_metric/claims.py", "any(map(entails, (*self.alone, *self.in_context)))",
        "any(map(entails, self.alone))", f"{_SGSACC}/test_judging.py -k in_context"),
    "entailment is contradiction": Sabotage(
        "sgsacc_metric/nli.py",
        "return labels[0], labels[1] if len(labels) > 2 else None, labels[-1]",
        "return labels[-1], labels[1] if len(labels) > 2 else None, labels[0]",
        f"{_SGSACC}/test_models.py -k classes"),
    "a tampered value is the right one in other words": Sabotage(
        "sgsacc_metric/negatives.py", "(*action.values, *_canonical(action))}", "action.values}",
        f"{_SGSACC}/test_negatives.py -k never"),
    # --- sgdx_tools ---
    "words are proved on the cases that they were chosen on": Sabotage(
        "sgdx_tools/improve.py", "for key in ordered[start::2] for", "for key in ordered for",
        f"{_TOOLS}/test_improve.py"),
    "text of a model ends the page's data": Sabotage(
        "sgdx_tools/report.py", r'.replace("<", "\\u003c")', "", f"{_TOOLS}/test_report.py"),
    "a pull request is judged by its own gate": Sabotage(
        "sgdx_tools/testing.py", "_read(base or path)", "_read(path)",
        f"{_TOOLS}/test_action.py -k judged"),
    "a loss by chance is above the limit": Sabotage(
        "sgdx_tools/verdict.py", "if low > limit:", "if high > limit:",
        f"{_TOOLS}/test_verdict.py -k a_loss"),
    "answers to other conversations are scored": Sabotage(
        "sgdx_tools/data.py", "digest([*self.tools.values(), *conversations])",
        "digest(self.tools.values())", f"{_TOOLS}/test_scoring.py -k model_is_shown"),
    "a schema requires the old names": Sabotage(
        "sgdx_tools/renaming.py", "return _mention(value, names)", "return value",
        f"{_TOOLS}/test_json_schema.py -k everything"),
    "a table of words is a formula": Sabotage(
        "sgdx_tools/review.py", "if _FORMULA.match(cell) else cell for", "if False else cell for",
        f"{_TOOLS}/test_rewording.py -k would_obey"),
    "conversations go where a server points": Sabotage(
        "sgdx_llm/server.py", "follow_redirects=False", "follow_redirects=True",
        f"{_SENDING} -k another_host"),
    "a document reads files outside its folder": Sabotage(
        "sgdx_tools/importing/openapi_schema.py",
        'if ":" in name or not file.is_relative_to(folder):', 'if ":" in name:',
        f"{_TOOLS}/importing/test_openapi.py -k outside"),
    # --- baselines ---
    "predictions are emptied": Sabotage(
        "sgdx_eval/prediction_files.py", "header}, *rows]",
        'header}, *({**row, "slot_values": []} for row in rows)]',
        f"{_EVAL}/test_prediction_files.py"),
    "another run's predictions are taken": Sabotage(
        "sgdx_eval/prediction_files.py",
        'keys = {name: _difference(folder / f"{name}.jsonl", headers[name]) for name in there}',
        'keys = dict.fromkeys(there, "")',
        f"{_EVAL}/test_prediction_files.py -k would_be_the_same"),
    "a tracker is given the gold states": Sabotage(
        "sgdx_dataset/tracker_inputs.py", "return _selected(rows, reads, ())",
        "return _selected(rows, reads, GOLD)",
        f"{_BASELINES}/data/test_guard.py -k looks_at_gold"),
    "the system's acts are for all trackers": Sabotage(
        "sgdx_dataset/tracker_inputs.py",
        'return rows if SYSTEM_ACTS in reads or "history" not in reads else _without_acts(rows)',
        "return rows", f"{_BASELINES}/data/test_guard.py -k acts_are_for"),
    "training reads v1 to v5 unasked": Sabotage(
        "baselines/data/rows.py", "if more.oracle and not oracle:", "if False:",
        f"{_BASELINES}/data/test_augment.py -k own_schemas"),
    "a second corpus has the words of v1 to v5": Sabotage(
        "baselines/data/rows.py",
        'leak = _joined(leak, more, oracle, f"also: {also.source} has")',
        "pass",
        f"{_BASELINES}/data/test_augment.py -k second"),
    "a copy of v1 to v5 makes no oracle": Sabotage(
        "baselines/data/augment.py", "augment.schemas == ORACLE or leak.oracle)",
        "augment.schemas == ORACLE)", f"{_BASELINES}/data/test_augment.py -k own_schemas"),
    "a state forgets the turns before": Sabotage(
        "baselines/sgd_baseline/data.py",
        "last[group] = last.get(group, {}) | change.slot_values",
        "last[group] = change.slot_values",
        f"{_BASELINES}/sgd_baseline/test_labels.py -k gold_state"),
    "batches of a step count alike": Sabotage(
        "baselines/loop.py",
        "return [weight * count / total for weight in tensors]", "return [1.0] * len(weights)",
        f"{_TRAINING}/test_step.py -k unequal"),
    "every step has the same random numbers": Sabotage(
        "baselines/loop.py", "(settings.seed, self.progress.step, position)",
        "(settings.seed, position)", f"{_TRAINING}/test_step.py -k random_numbers"),
    "a resumed run forgets its optimizer": Sabotage(
        "baselines/checkpoint.py",
        "state.setdefault(parameter, {})[key] = tensor\n",
        "state.setdefault(parameter, {})[key] = tensor * 0\n",
        f"{_TRAINING}/test_loop.py -k kill_and_resume"),
    "a model is replaced file by file": Sabotage(
        "baselines/checkpoint.py", "    staging.rename(folder / READY)\n",
        "    for file in sorted(staging.iterdir()):\n        file.replace(folder / file.name)\n",
        f"{_FAULTS} -k kill_between"),
    "the key is written with the answers": Sabotage(
        "sgdx_llm/server.py",
        'content = content.replace(secret.encode(), b"[key]")', "pass",
        f"{_SENDING} -k key_is"),
    "a password stands in the headers of files": Sabotage(
        "sgdx_llm/providers.py", 'f"{host}{port}", parts.path', "parts.netloc, parts.path",
        f"{_SENDING} -k credentials"),
    "a half-written answer is kept": Sabotage(
        "sgdx_llm/answer_file.py", "self._file.truncate(offset)\n                    return",
        "return", f"{_SENDING} -k half_written"),
    "a tracker sees what the user says next": Sabotage(
        "baselines/use.py", '"history": history[:turn],', '"history": history[: turn + 1],',
        f"{_BASELINES}/test_use.py -k ones_own"),
    "an oracle leads those that saw nothing": Sabotage(
        "sgdx_eval/report/verdict.py",
        "[s for s in group.systems if not s.first.oracle] or group.systems",
        "list(group.systems)", f"{_EVAL}/report/test_figures.py -k oracle_leads"),
    "a lead by chance is a lead": Sabotage(
        "sgdx_eval/report/verdict.py", "for end in ends) > 0:\n", "for end in ends) > -1:\n",
        f"{_EVAL}/report/test_figures.py -k chance"),
    "words of others are markup of a report": Sabotage(
        "sgdx_eval/tables.py", 'html.escape(" ".join(text.split()), quote=False)',
        '" ".join(text.split())',
        f"{_EVAL}/report/test_page.py -k stays_text"),
    # --- sgdx_space ---
    "values are markup of the Space": Sabotage(
        "sgdx_space/own.py", 'escape(" | ".join(said[i]))', '" | ".join(said[i])',
        "tests/sgdx_space/test_own.py -k markup"),
    "wrong values are green": Sabotage(
        "sgdx_space/tracking.py", 'and line.score >= RIGHT else "wrong"', 'else "wrong"',
        "tests/sgdx_space/test_tracking.py -k values"),
}  # fmt: skip


def _is_found(sabotage: Sabotage) -> bool:
    """Whether the line is there once, and so are tests of the chosen name."""
    tests, *chosen = sabotage.tests.split(" -k ")
    paths = ROOT / sabotage.file, ROOT / tests
    if not all(path.is_file() for path in paths):
        return False
    code, own_tests = (path.read_text(encoding="utf-8") for path in paths)
    return code.count(sabotage.old) == 1 and all(name in own_tests for name in chosen)


def test_every_sabotage_finds_its_line_and_its_tests() -> None:
    """A line that has moved or changed is to be broken where and as it is now."""
    assert [name for name, sabotage in SABOTAGES.items() if not _is_found(sabotage)] == []


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
