"""The task of inspect_ai, with its own mock model. It runs where inspect_ai is installed.

It needs none of the other tests' fixtures, as inspect_ai is not installed beside torch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError

os.environ.setdefault("SGDX_SOURCE", "sample")
inspect_ai = pytest.importorskip("inspect_ai")

EVALUATE = """
import sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

output = ModelOutput.from_content("mockllm", sys.argv[1])
output.usage = ModelUsage()
model = get_model("mockllm/model", custom_outputs=[output] * 3)
eval("hf/you/sgdx/jga_v3", model=model, limit=3, log_dir=sys.argv[2], display="none")
"""


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dialogues") / "one.json"
    path.write_text('["1_00000"]')
    return path


@pytest.fixture(scope="module")
def log(dialogues: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The log of a model that is right under v1 and says nothing that can be read under v2."""
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from sgdx.tasks import state

    from sgdx_eval.requested import RequestedData
    from sgdx_llm.functions import gold_state
    from sgdx_llm.plan import Plan
    from sgdx_llm.requests import RequestSettings

    names = ("original", "v1", "v2", "v3", "v4", "v5")
    settings = RequestSettings(model="m")
    plan = Plan(RequestedData("sample", "test", {}, dialogues), names, settings, "h")
    right = {}
    for request in plan.requests():
        gold = plan.gold(request.row["variant"])[request.row["frame_id"]]
        key = json.dumps([one["content"] for one in request.body["messages"]])
        name = request.body["tools"][0]["function"]["name"]
        right[key, name] = gold_state(gold, request.service)

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        assert choice.name == tools[0].name
        if tools[0].name.endswith("2"):
            output = ModelOutput.from_content("mockllm", "I do not know.")
        else:
            found = right[json.dumps([one.text for one in messages]), tools[0].name]
            output = ModelOutput.for_tool_call("mockllm", tools[0].name, found)
        output.usage = ModelUsage()  # else its tokens are counted by a table that is downloaded
        return output

    model = get_model("mockllm/model", custom_outputs=answer)
    (found,) = run(
        state(dialogues=str(dialogues), source="sample"),
        model=model,
        log_dir=str(tmp_path_factory.mktemp("logs")),
        display="none",
    )
    assert found.status == "success", found.error
    return found


def test_the_figures_are_those_of_the_metric(log: Any) -> None:
    figures = {name: one.value for name, one in log.results.scores[0].metrics.items()}
    assert figures["original"] == 1.0
    assert figures["reworded"] == pytest.approx(0.8)
    # Five scores of a frame are 1, 0, 1, 1, 1: mean 0.8, sample deviation 0.4472.
    assert figures["sensitivity"] == pytest.approx(0.2**0.5 / 0.8)
    assert figures["mean"] == pytest.approx(5 / 6)
    # Every frame is wrong under one of the six variants and right under the others.
    assert (figures["worst"], figures["flips"]) == (0.0, 1.0)


def test_an_unfinished_log_gives_the_dialogues_that_are_whole(log: Any, tmp_path: Path) -> None:
    from sgdx.logs import predictions_of

    unfinished = log.model_copy(deep=True)
    unfinished.samples[0].scores = None
    with pytest.raises(SgdxError, match="found no dialogue that has all of its answers"):
        predictions_of(unfinished)
    other = [name.replace("1_00000", "1_00001") for name in log.eval.dataset.sample_ids]
    unfinished = log.model_copy(deep=True)
    unfinished.eval.dataset.sample_ids += other
    files, whole, lacking = predictions_of(unfinished)
    assert (whole, lacking) == (["1_00000"], 1)
    header, rows = files["v1"]
    assert (header.dialogues or "").startswith("1@")
    assert len(rows) == 6


def test_calls_are_those_of_tools_and_the_exact_share_is_the_figure(
    dialogues: Path, tmp_path: Path
) -> None:
    """A model that is exactly right, but under v2, where a free text is only nearly right."""
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from sgdx.logs import predictions_of
    from sgdx.tasks import calls

    from sgdx_cli import main
    from sgdx_eval.result import read_result
    from sgdx_tools.project import load
    from sgdx_tools.renaming import WordedTools

    folder, names = tmp_path / "sgd", ("original", "v1", "v2")
    of = ["--source", "sample", "--dialogues", str(dialogues), "--output", str(folder)]
    assert main(["tools", "import", "--sgd", *names, *of]) == 0
    tool_set = load(folder)
    worded = {name: WordedTools(tool_set.tools, tool_set.variants[name]) for name in names}

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        assert choice == "auto"
        (case,) = (c for c in tool_set.cases if len(c.messages) == len(messages))
        shown = {tool.name: tool.parameters.properties for tool in tools}
        for name in names:
            (expected,) = worded[name].expect(case) or ()
            if expected.name in shown:
                said = {
                    key: value["any_of"][0] if isinstance(value, dict) else value
                    for key, value in expected.arguments.items()
                }
                free = [key for key in said if not shown[expected.name][key].enum]
                said |= {key: f"{said[key]} x" for key in free if name == "v2"}
                output = ModelOutput.for_tool_call("mockllm", expected.name, said)
        output.usage = ModelUsage()
        return output

    model = get_model("mockllm/model", custom_outputs=answer)
    (found,) = run(
        calls(tools=str(folder)), model=model, log_dir=str(tmp_path / "l"), display="none"
    )
    assert found.status == "success", found.error
    figures = {name: one.value for name, one in found.results.scores[0].metrics.items()}
    shares = [figures[of] for of in ("original", "reworded", "worst", "flips")]
    assert shares == [1.0, 0.5, 0.0, 1.0]
    assert 2 / 3 < figures["call_fuzzy"] < 1
    assert main(["ask", "from-inspect", found.location, "--output", str(tmp_path / "out")]) == 0
    words = ["--predictions", str(tmp_path / "out"), "--output", str(tmp_path / "calls.json")]
    assert main(["tools", "score", str(folder), *words]) == 0
    result = read_result(tmp_path / "calls.json").result
    assert [result[f"call_{of}"] for of in ("orig", "reworded", "worst", "flips")] == shares
    found.samples[0].scores = None
    with pytest.raises(SgdxError, match="found 2 of 3 answers"):
        predictions_of(found)


def test_its_predictions_are_scored_as_any_others(
    log: Any, dialogues: Path, tmp_path: Path
) -> None:
    from sgdx_eval.result import read_result
    from sgdx_metric.__main__ import main as metric

    from .conftest import run_ask

    assert run_ask(["from-inspect", log.location, "--output", str(tmp_path / "out")]) == 0
    words = ["score", "--source", "sample", "--dialogues", str(dialogues)]
    words += ["--predictions", str(tmp_path / "out"), "--output", str(tmp_path / "scores.json")]
    assert metric(words) == 0
    result = read_result(tmp_path).result
    assert result["jga_orig"] == 1.0 and result["jga_v1-5"] == pytest.approx(0.8)
    assert result.systems["v2"]["counts"]["unread"] == 6


def test_a_built_repository_is_evaluated_from_the_hub(tmp_path: Path) -> None:
    """By ``inspect eval hf/you/sgdx/jga_v3``, as its ``eval.yaml`` says."""
    import pyarrow.parquet as pq
    from inspect_ai.log import list_eval_logs, read_eval_log

    from sgdx_dataset.build import push
    from sgdx_dataset.options import UploadOptions
    from sgdx_dataset.release import open_release

    from ..hub import Repository, serve

    options = UploadOptions(output=tmp_path / "built")
    built = Path(push(lambda: open_release("sample"), "YOU/sgdx", options))
    paths = [path for path in built.rglob("*") if path.is_file()]
    rows = pq.read_table(built / "data/v3-questions/test-00000-of-00001.parquet").to_pylist()
    with serve() as hub:
        repository = Repository(private=False)
        repository.commit({str(path.relative_to(built)): path.read_bytes() for path in paths})
        hub.repositories["datasets", "you/sgdx"] = repository
        # The model says the first question's answer whatever it is asked.
        told = ("-c", EVALUATE, rows[0]["answer"], tmp_path / "logs")
        done = hub.python(tmp_path / "home", *told, token=None)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(found)
    assert log.status == "success" and log.results is not None
    assert log.eval.dataset.samples == 273
    samples = log.samples or []
    assert [sample.input for sample in samples] == [row["question"] for row in rows[:3]]
    assert [sample.target for sample in samples] == [row["answer"] for row in rows[:3]]
    right = [row["answer"] == rows[0]["answer"] for row in rows[:3]]
    assert log.results.scores[0].name == "exact"
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(sum(right) / 3)
