"""``python -m benchmarks.generation``: answers a second against the plain loop, outputs compared.

The plain loop gives ``model.generate`` the inputs in the order of the frames, every one padded to
the longest that the model takes, as many at a time as the same token budget lets it. Without
``--model`` it is a tiny T5 of random weights: that measures the work, not what a trained model
would say, and its answers hardly ever end before the limit of 16 tokens.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from datasets import Dataset, concatenate_datasets

from baselines.data.frames import input_columns
from baselines.t5dst.formats import get_format
from baselines.t5dst.generate import answer_all
from baselines.t5dst.inputs import Inputs, Texts
from baselines.t5dst.model import T5Provenance
from baselines.t5dst.settings import T5Options
from baselines.t5dst.tiny import tiny_t5, tiny_tokenizer
from baselines.t5dst.tracker import T5Tracker
from baselines.training.accelerator import make_accelerator
from benchmarks.clock import timed, wall_clock
from sgdx_dataset import VARIANTS, frames, load


def plain(tracker: T5Tracker, texts: Texts, tokens: int) -> list[str]:
    """The plain loop: the inputs as joint texts, in order, padded to the maximum."""
    histories, parts = list(texts.histories), list(texts.parts)
    joint = [histories[history] + parts[part] for history, part in texts.pairs]
    tracker.tokenizer.truncation_side = "left"
    width = tracker.provenance.max_input
    answers: list[str] = []
    for start in range(0, len(joint), tokens // width):
        batch = tracker.tokenizer(
            joint[start : start + tokens // width],
            padding="max_length", truncation=True, max_length=width, return_tensors="pt",
        )  # fmt: skip
        model: Any = tracker.model
        written = model.generate(
            input_ids=batch["input_ids"].to(tracker.model.device),
            attention_mask=batch["attention_mask"].to(tracker.model.device),
            max_new_tokens=tracker.provenance.max_target,
        )
        answers += tracker.tokenizer.batch_decode(written, skip_special_tokens=True)
    return answers


def read(source: str, count: int) -> Dataset:
    """``count`` frames of each config's test split."""
    rows = [frames(load(config, "test", source)) for config in ("original", *VARIANTS)]
    return concatenate_datasets([some.select(range(min(count, len(some)))) for some in rows])


def untrained(texts: Texts, options: T5Options, accelerator: Accelerator) -> T5Tracker:
    """A tiny T5 of random weights, with a tokenizer of these texts."""
    tokenizer = tiny_tokenizer([*texts.histories, *texts.parts])
    provenance = T5Provenance(format="t5dst", max_input=512, max_target=16)
    model = tiny_t5(len(tokenizer)).eval().to(accelerator.device)
    return T5Tracker(model, tokenizer, provenance, options, accelerator)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.generation", description=__doc__)
    parser.add_argument("--model", help="folder of a training of the format t5dst")
    parser.add_argument("--source", default="sample", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--frames", type=int, default=40, help="of each of the six configs")
    parser.add_argument("--token-budget", type=int, default=16384)
    options = parser.parse_args()
    accelerator = make_accelerator()
    rows = input_columns(read(options.source, options.frames), T5Tracker.READS)
    texts = Texts()
    texts.read(rows, get_format("t5dst"))
    own = T5Options(token_budget=options.token_budget)
    if options.model:
        tracker = T5Tracker.load(options.model, own, accelerator)
    else:
        tracker = untrained(texts, own, accelerator)
    inputs = Inputs(texts, tracker.tokenizer, tracker.prompt, tracker.limits)
    with tempfile.TemporaryDirectory() as folder:
        ours, (answers, unique) = timed(
            answer_all, tracker, inputs, own, accelerator, Path(folder), clock=wall_clock
        )
    theirs, expected = timed(plain, tracker, texts, options.token_budget, clock=wall_clock)
    same = sum(map(str.__eq__, answers, expected))
    print(f"weights: {options.model or 'untrained'}; device: {accelerator.device}")
    print(f"{len(rows)} frames, {len(answers)} answers, {unique} of different inputs")
    print(f"plain loop  {theirs:7.1f} s  {len(answers) / theirs:7.1f} answers/s")
    print(f"this        {ours:7.1f} s  {len(answers) / ours:7.1f} answers/s")
    print(f"ratio {theirs / ours:.1f}; equal outputs {same} of {len(answers)}")


if __name__ == "__main__":
    main()
