"""All cases of BFCL at hand under six wordings: prepared and scored in seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.data import ToolWords, Wording, Words
from sgdx_tools.folder import read_tool_set, write_wording
from sgdx_tools.json_schema import elements_of
from sgdx_tools.renaming import WordedTools

from ..conftest import ROOT

BFCL = ROOT.parent / "shared" / "data" / "bfcl"
# Prepares all requests and scores predictions, and prints CPU seconds and megabytes.
MEASURE = """
import resource, sys, time
from baselines.llm.requests import RequestSettings
from sgdx_tools import score
from sgdx_tools.folder import read_tool_set
from sgdx_tools.plan import ToolPlan
from pathlib import Path
begin = time.process_time()
tool_set = read_tool_set(Path(sys.argv[1]))
settings = RequestSettings(model="m", task="calls", tool_choice="auto")
plan = ToolPlan(tool_set, list(tool_set.wordings), settings, "http://localhost")
requests = sum(1 for _ in plan.requests())
scores = score(tool_set, sys.argv[2])
seconds = time.process_time() - begin
accuracy = scores["calls"]["call_accuracy"]["by_variant"]
print(requests, accuracy["original"], accuracy["v5"], seconds)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("knows_new_names", [True, False])
def test_bfcl_under_six_wordings_takes_seconds(tmp_path: Path, knows_new_names: bool) -> None:
    if not BFCL.exists():
        pytest.skip(f"the cases are not at {BFCL}")
    folder, output = tmp_path / "api", tmp_path / "run"
    files = [str(path) for path in sorted(BFCL.glob("BFCL_*.json"))]
    answers = [str(path) for path in sorted((BFCL / "possible_answer").glob("*.json"))]
    assert main(["import", "--bfcl", *files, "--answers", *answers, "--output", str(folder)]) == 0
    tool_set = read_tool_set(folder)
    for i in range(1, 6):
        words = {}
        for tool in tool_set.tools.values():
            parts = {
                path: Words(f"p{i}_{number}" if e.name else None, f"{e.description} {i}")
                for number, (path, e) in enumerate(elements_of(tool).items())
                if path
            }
            words[tool.id] = ToolWords(f"{tool.name[:60]}_{i}", f"{tool.description} {i}", parts)
        write_wording(folder / "wordings" / f"v{i}.json", Wording(f"v{i}", words))
    tool_set = read_tool_set(folder)
    output.mkdir()
    for name, wording in tool_set.wordings.items():
        used = wording if knows_new_names else tool_set.wordings["original"]
        worded = WordedTools(tool_set.tools, used)
        lines = []
        for case in tool_set.cases:
            calls = [{"name": c.name, "arguments": {}} for c in worded.expect(case) or ()]
            lines.append(json.dumps({"id": case.id, "variant": name, "calls": calls}))
        (output / f"{name}.jsonl").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder), str(output)],
        capture_output=True,
        text=True,
        check=True,
    )
    first, megabytes = done.stdout.splitlines()
    requests, _, _, seconds = first.split()
    assert int(requests) == 6 * len(tool_set.cases) > 16_000
    assert float(seconds) < 10
    assert float(megabytes) < 500
