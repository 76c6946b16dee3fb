"""The tracker that baselines/README.md shows how to add, added as it stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ..conftest import ROOT

README = ROOT / "baselines" / "README.md"


def test_the_example_tracker_is_evaluated(tmp_path: Path) -> None:
    text = README.read_text()
    (path,) = re.findall(r"^Write `(\w+\.py)`, in any directory:$", text, re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"```bash\n(.*?)\n```", text, re.DOTALL)
    (tmp_path / path).write_text(code)
    python, *arguments = shlex.split(command)
    assert python == "python"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "outputs" / "possible_values" / "scores.json").read_text())
    assert "system-acts:no" in scores["signature"]
    assert 0 < scores["sgdx"]["jga_orig"] < 0.2
    assert scores["frames"]["all"] == 273


def test_the_folders_that_it_names_are_there() -> None:
    text = README.read_text()
    for name in re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+\.py)`", text):
        if "possible_values" not in name and not name.startswith(("NAME", "tests", "config")):
            rooms = (ROOT / "baselines", ROOT, ROOT / "sgdx_eval" / "report")
            places = (*(room / name for room in rooms), *ROOT.glob(f"baselines/*/{name}"))
            assert any(place.exists() for place in places), name
