"""``python -m benchmarks.beam_search``: tokens a second against the plain loop, outputs compared.

The plain loop gives ``model.generate`` the inputs in the order of the turns, as many at a time as
ours has in its largest batch of the longest inputs, padded to the longest of them. Without
``--model`` it is a tiny T5 of random weights: that measures the work, not what a trained model
would say, and its outputs hardly ever end before the limit.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from datasets import Dataset, concatenate_datasets
from transformers import PreTrainedTokenizerBase

from baselines.data.turns import input_columns, turn_rows
from baselines.t2g2.beams import generate_all
from baselines.t2g2.examples import UtteranceExamples, read_turns
from baselines.t2g2.generator import T2G2Generator
from baselines.t2g2.inputs import derived_input
from baselines.t2g2.model import Model, T2G2Provenance, load_generator
from baselines.t2g2.settings import T2G2Options
from baselines.t5dst.generate import texts_of
from baselines.t5dst.model import generation_settings
from baselines.t5dst.tiny import tiny_t5, tiny_tokenizer
from baselines.trained import TrainedModel
from baselines.training.accelerator import make_accelerator
from benchmarks.clock import timed, wall_clock
from sgdx_dataset import VARIANTS, load


def plain(
    model: Any, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], settings: Any, size: int
) -> list[str]:
    """The plain loop: batches in the order of the turns."""
    utterances: list[str] = []
    for start in range(0, len(texts), size):
        batch = tokenizer(list(texts[start : start + size]), padding=True, return_tensors="pt")
        written = model.generate(
            input_ids=batch["input_ids"].to(model.device),
            attention_mask=batch["attention_mask"].to(model.device),
            generation_config=settings,
        )
        utterances += [text.strip() for text in texts_of(tokenizer, written)]
    return utterances


def read(source: str, count: int) -> Dataset:
    """``count`` turns of each config's test split."""
    rows = [
        turn_rows(load(config, "test", source), "test", source)
        for config in ("original", *VARIANTS)
    ]
    return input_columns(
        concatenate_datasets([some.select(range(min(count, len(some)))) for some in rows]),
        T2G2Generator.READS,
    )


def open_model(
    name: str | None, texts: Sequence[str], accelerator: Accelerator
) -> tuple[Model, PreTrainedTokenizerBase]:
    """A trained generator, or a tiny T5 of random weights with a tokenizer of these texts."""
    if name:
        model, tokenizer = load_generator(name)
        return model.to(accelerator.device), tokenizer
    tokenizer = tiny_tokenizer(texts)
    return tiny_t5(len(tokenizer)).eval().to(accelerator.device), tokenizer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.beam_search", description=__doc__)
    parser.add_argument("--model", help="folder of a training of the generator t2g2")
    parser.add_argument("--source", default="sample", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--turns", type=int, default=100, help="of each of the six configs")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--max-target", type=int, default=48)
    options = parser.parse_args()
    accelerator = make_accelerator()
    rows = read(options.source, options.turns)
    texts = list(map(derived_input, read_turns(rows, original=False)))
    model, tokenizer = open_model(options.model, texts, accelerator)
    t5: Any = getattr(model, "base", model)
    settings = generation_settings(t5, options.max_target, options.beams, 0.6)
    examples = UtteranceExamples(tokenizer, (512, options.max_target), texts)
    budget = options.batch_size * int(examples.lengths.max()) * options.beams
    limits = T2G2Options(batch_size=4 * options.batch_size, token_budget=budget)
    provenance = T2G2Provenance(
        input="derived",
        max_input=512,
        max_target=options.max_target,
        beams=options.beams,
        length_penalty=0.6,
    )
    trained = TrainedModel(model, tokenizer, provenance)
    with tempfile.TemporaryDirectory() as folder:
        ours, scored_utterances = timed(
            generate_all,
            trained,
            examples,
            limits,
            accelerator,
            Path(folder),
            clock=wall_clock,
        )
    theirs, expected = timed(
        plain, model, tokenizer, texts, settings, options.batch_size, clock=wall_clock
    )
    utterances = [utterance for utterance, _ in scored_utterances]
    same = sum(map(str.__eq__, utterances, expected))
    tokens = sum(len(ids) for ids in tokenizer(expected)["input_ids"])
    print(f"weights: {options.model or 'untrained'}; device: {accelerator.device}; {tokens} tokens")
    print(f"{len(rows)} turns, {len(examples.inputs)} different inputs, {options.beams} beams")
    print(f"plain loop  {theirs:7.1f} s  {tokens / theirs:7.1f} tokens/s")
    print(f"this        {ours:7.1f} s  {tokens / ours:7.1f} tokens/s, likelihoods too")
    print(f"ratio {theirs / ours:.1f}; equal outputs {same} of {len(utterances)}")


if __name__ == "__main__":
    main()
