"""Which files a program is, and that its digest is of their content."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from baselines.lexical import tracker as lexical
from baselines.onepass import tracker as onepass
from baselines.source_code import class_digest, files_digest, module_file, source_files
from baselines.system import Tracker
from baselines.t5dst import tracker as t5dst

BASELINES = Path(lexical.__file__).parents[1]


def test_a_file_and_what_it_imports_beside_itself(tmp_path: Path) -> None:
    for name, text in {
        "main": "import numpy, words\nfrom .rules import rule\n",
        "words": "",
        "rules": "def rule():\n    from . import late\n",
        "late": "import main\n",
        "other": "import words\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    files = source_files(tmp_path / "main.py")
    assert [file.name for file in files] == ["main.py", "late.py", "rules.py", "words.py"]


def test_packages_beside_a_file_count(tmp_path: Path) -> None:
    (tmp_path / "forms" / "deep").mkdir(parents=True)
    for name, text in {
        "main": "from .forms import read\nimport forms.deep.leaf\n",
        "forms/__init__": "from . import one\n",
        "forms/one": "from .two import name\n",
        "forms/two": "",
        "forms/other": "",
        "forms/deep/leaf": "",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    files = [str(file.relative_to(tmp_path)) for file in source_files(tmp_path / "main.py")]
    expected = ["forms/__init__.py", "forms/deep/leaf.py", "forms/one.py", "forms/two.py"]
    assert files == ["main.py", *expected]


def test_the_code_that_decodes_is_part_of_a_trained_tracker() -> None:
    """A changed way to read a model's answers makes other predictions."""
    names = {file.relative_to(BASELINES).as_posix() for file in source_files(Path(t5dst.__file__))}
    assert {"t5dst/tracker.py", "t5dst/generate.py", "t5dst/formats/values.py"} <= names
    names = {
        file.relative_to(BASELINES).as_posix() for file in source_files(Path(onepass.__file__))
    }
    assert {"onepass/decode.py", "onepass/tracking.py", "onepass/modeling.py"} <= names


def test_what_is_no_source_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("")
    for content in (b"\x00\x01", b"import words (", b"\xff"):
        (tmp_path / "program").write_bytes(content)
        assert source_files(tmp_path / "program") == [tmp_path / "program"]


def test_the_file_that_a_module_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "asked_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('it was imported')")
    for name in ("__main__", "inner"):
        (package / f"{name}.py").write_text("")
    assert module_file("asked_package") == package / "__main__.py"
    assert module_file("asked_package.inner") == package / "inner.py"
    assert module_file("asked_package.missing") is module_file("no_such_module") is None
    assert module_file("sys") is None  # built in


def test_a_class_is_the_files_of_its_folder_and_of_what_it_inherits_from() -> None:
    folder = Path(lexical.__file__).parent
    of_lexical = [folder / name for name in ("tracker.py", "rules.py", "words.py")]
    assert class_digest(lexical.LexicalTracker) == files_digest(of_lexical)

    class Own(lexical.LexicalTracker):
        NAME: ClassVar[str] = "own"

    assert class_digest(Own) == files_digest([Path(__file__), *of_lexical])


def test_an_interface_is_no_part_of_a_program() -> None:
    class Own(Tracker):
        NAME: ClassVar[str] = "own"

    assert class_digest(Own) == files_digest([Path(__file__)])
