"""``python -m baselines.sgp_dst.publish``: a trained tracker's score on dev, its card, the Hub."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
from accelerate import Accelerator
from datasets import Dataset

from ..card import push, write_card
from ..data import whole_dialogues
from ..evaluation import joint_goal_accuracy
from ..launch import publish_options, run_command
from ..run import append_log, read_json, versions, write_json
from . import modeling
from .parts import PARTS
from .predict import predict
from .tracker import load_tracker


def finish(
    accelerator: Accelerator, record: dict[str, Any], dev: Dataset, output: Path, repo: str | None
) -> float:
    """Track dev with the four sub-models in ``output``, write their record and card.

    Returns:
        Joint goal accuracy in [0, 1], in every process.
    """
    tracker = load_tracker(str(output), accelerator.device)
    rows = whole_dialogues(dev, record["settings"].evaluate_frames)
    folder = output / "dev"
    if accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
    accelerator.wait_for_everyone()
    score = joint_goal_accuracy(rows, predict(tracker, rows, accelerator, folder))
    if accelerator.is_main_process:
        shutil.rmtree(folder)
        oracle = any(part.about.oracle for part in tracker.parts.values())
        data = record["data"] | {"dev": {"frames": len(rows)}}
        told = {"record": record | {"data": data}, "oracle": oracle, "versions": versions()}
        write_json(output / "run.json", told)
        (output / "log.jsonl").unlink(missing_ok=True)
        steps = sum(_steps(output / part) for part in PARTS)
        append_log(output, {"step": steps, "dev_joint_goal_accuracy": score})
        # AutoModel looks for code where a repository begins, also for a model in a folder of it.
        shutil.copy(modeling.__file__, output)
        print(f"joined: dev joint goal accuracy {score:.4f}")
        print(publish(output, repo) or output / "README.md")
    accelerator.wait_for_everyone()
    return score


def _steps(folder: Path) -> int:
    lines = (folder / "log.jsonl").read_bytes().splitlines()
    return max(int(msgspec.json.decode(line)["step"]) for line in lines)


def publish(output: Path, repository: str | None) -> str | None:
    """Write the card; with a repository, push the tracker and return where it is.

    Raises:
        SgdxError: The folder is not of a training, or the Hub does not take it.
    """
    read_json(output / "run.json")
    write_card(output, example(repository or str(output)))
    return push(output, repository, PARTS) if repository else None


def example(repository: str) -> str:
    """Python that asks a sub-model, with transformers alone, and the command that tracks."""
    return f"""
from transformers import AutoModel, AutoTokenizer

# The four encoders are joined by rules: python -m baselines.sgp_dst.predict --model {repository}
code = {{"trust_remote_code": True}}
tokenizer = AutoTokenizer.from_pretrained({repository!r}, subfolder="copy", **code)
model = AutoModel.from_pretrained({repository!r}, subfolder="copy", **code)
turn = "sys : Shall I book a table at Mario's? usr : Yes, please."
inputs = tokenizer(f"api: Tables in restaurants [SEP] {{turn}} [SEP] Name", return_tensors="pt")
inputs["features"] = 0 * inputs["input_ids"] + 1  # the system gave the slot
print(model(**inputs).logits.softmax(-1)[0, 1].item())  # is it taken?
"""


def run(options: argparse.Namespace) -> None:
    """Publish, and say where it is."""
    print(publish(options.model, options.push_to_hub) or options.model / "README.md")


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    return run_command("sgp_dst", run, publish_options("baselines.sgp_dst.publish", __doc__))


if __name__ == "__main__":
    sys.exit(main())
