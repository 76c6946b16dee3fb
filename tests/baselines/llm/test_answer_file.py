"""The file of answers survives whatever happens to a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.llm.answer_file import AnswerFile
from sgdx_dataset import SgdxError


def test_answers_are_there_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.jsonl"
    with AnswerFile(path) as answers:
        answers.add("k1", "c1", {"text": "é \ud800 \n"})
        answers.add("k1", "c1", {"text": "later"})
        answers.add("k2", "c2", None)
    with AnswerFile(path) as answers:
        assert len(answers) == 2
        assert "k3" not in answers and answers.get("k3") is None
        line = answers.get("k1")
        assert line is not None and line["body"] == {"text": "é \ud800 \n"}


def test_a_half_written_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with AnswerFile(path) as answers:
        answers.add("k1", "c1", 1)
        answers.add("k2", "c2", 2)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with AnswerFile(path) as answers:
            assert len(answers) == whole[:cut].count(b"\n")
            answers.add("k3", "c3", 3)
        with AnswerFile(path) as answers:
            assert (answers.get("k3") or {})["body"] == 3


def test_another_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "k", "body": 1}\nnonsense\n{"key": "l", "body": 1}\n')
    with pytest.raises(SgdxError, match=r"answers.jsonl:2: found no answer, expected an object"):
        AnswerFile(path)
    with pytest.raises(SgdxError, match="found no regular file"):
        AnswerFile(tmp_path)
