"""The T5 trackers, which write the state as text: T5DST, T5DST with options, and D3ST.

The prompt format (``formats``) decides which of the three it is; the model is any encoder-decoder.
Sources: T5DST, Lee et al. 2021 (arXiv 2109.07506); D3ST, Zhao et al. 2022 (arXiv 2201.08904).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import msgspec
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_eval.predictions import prediction_row

from ..batching import Ints
from ..data.rows import evenly_spaced
from ..data.rows import predict as predict_rows
from ..loop import last_checkpoint
from ..settings import Settings, T5Options, T5Settings
from ..system import Predictions, Row, Tracker, TrainableSystem
from ..task import Evaluation, Run, Task, score_dev
from ..trained import TrainedModel, Weights
from ..xla import move
from .data import Inputs, Texts, TokenLimits, filled
from .formats import AnswerState, Format, get_format, shown_schema
from .model import (
    T5Provenance,
    answer_all,
    check_positions,
    commit_of,
    generation_settings,
    load_model,
    pretrained_t5,
    provenance_under,
    save_model,
)


@dataclass(frozen=True)
class T5Tracker(
    TrainedModel[PreTrainedModel, T5Provenance], Tracker, TrainableSystem[T5Options, T5Settings]
):
    """An encoder-decoder that writes values or states for prompts."""

    NAME: ClassVar[str] = "t5dst"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema")
    OPTIONS: ClassVar[type[T5Options]] = T5Options
    SETTINGS: ClassVar[type[Settings]] = T5Settings

    options: T5Options
    accelerator: Accelerator

    @property
    def prompt(self) -> Format:
        """The prompt format of the model."""
        return get_format(self.provenance.format)

    @property
    def limits(self) -> TokenLimits:
        """The maximum numbers of tokens that the model reads and writes."""
        return TokenLimits(self.provenance.max_input, self.provenance.max_target)

    @classmethod
    def load(cls, model: str, options: T5Options, accelerator: Accelerator) -> Self:
        """Load a trained model."""
        loaded, tokenizer = load_model(model)
        provenance = provenance_under(options, model, loaded)
        if options.shuffle is not None and not get_format(provenance.format).SHUFFLED:
            raise SgdxError(
                f"--shuffle: the format {provenance.format} is not shuffled in training"
            )
        on_device: PreTrainedModel = move(loaded.eval(), accelerator.device)
        return cls(on_device, tokenizer, provenance, options, accelerator)

    def describe(self) -> Row:
        """The model's digest and provenance, and the parts of a prediction row that it fills."""
        return {**super().describe(), "tracks": self.prompt.TRACKS, "shuffle": self.options.shuffle}

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Generate the answers for all variants together; each distinct input is read once."""
        texts = Texts()
        texts.read(rows, self.prompt, self.options.shuffle)
        inputs = self.inputs(texts)
        answers, unique = answer_all(self, inputs, self.options, self.accelerator, chunks)
        states = list(_states(self, rows, texts.counts, answers))
        counts = {
            "frames": len(rows),
            "inputs": len(answers),
            "unique_inputs": unique,
            "invalid": sum(state.invalid for _, state in states),
            "cut": {name: count for name, count in inputs.cut.items() if name != "answers"},
        }
        predicted = [
            prediction_row(row, s.active_intent, s.requested_slots, s.slot_values)
            for row, s in states
        ]
        return Predictions(predicted, counts)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select evenly spaced frames, as each frame is predicted from its history alone."""
        return evenly_spaced(rows, count)

    @classmethod
    def task(cls, run: Run[T5Settings], name: str) -> Task:
        """Build the task of fine-tuning the model."""
        settings = run.settings
        texts = Texts()
        texts.read(run.rows, get_format(settings.format), settings.seed, with_answers=True)
        tracker = cls._initial(run, texts)
        inputs = tracker.inputs(texts)
        # The cache helps only in generation, which asks for it; the decoder has its own config.
        for part in (tracker.model, tracker.model.get_decoder()):
            part.config.use_cache = False

        fused = tracker.model.config._attn_implementation == "sdpa"

        def collate(indices: Ints) -> dict[str, torch.Tensor]:
            batch = inputs.training_batch(indices)
            if fused:  # given a flat mask, it would wait for the device to decide what it is for
                batch["attention_mask"] = batch["attention_mask"][:, None, None] > 0
            return batch

        def evaluate(model: PreTrainedModel) -> Evaluation:
            trained = replace(tracker, model=model)
            return Evaluation(
                score_dev(run, lambda folder: predict_rows(trained, run.dev, folder).rows)
            )

        return Task(
            tracker.model,
            settings,
            inputs.lengths,
            collate,
            evaluate,
            tracker.save,
            {"cut": inputs.cut, "pretrained_commit": tracker.provenance.pretrained_commit},
            fill=partial(filled, target=settings.max_target),
        )

    @classmethod
    def _initial(cls, run: Run[T5Settings], texts: Texts) -> Self:
        """The tracker that training starts from: the last checkpoint, or the recipe's model."""
        settings = run.settings
        options = T5Options(token_budget=settings.prediction_tokens)
        if checkpoint := last_checkpoint(run, ""):
            return cls.load(str(checkpoint), options, run.accelerator)
        provenance = run.provenance.extended(
            T5Provenance,
            format=settings.format,
            max_input=settings.max_input,
            max_target=settings.max_target,
        )

        read = [*texts.histories, *texts.parts, *texts.answers]
        name = pretrained_t5(run, read, provenance, settings.max_target)
        commit = commit_of(name, settings.revision)
        model, tokenizer = load_model(name, commit or None)
        check_positions(name, model, provenance)
        provenance = msgspec.structs.replace(provenance, pretrained_commit=commit)
        return cls(model, tokenizer, provenance, options, run.accelerator)

    def save(self, folder: Path, model: PreTrainedModel, weights: Weights) -> None:
        """Write a model that ``AutoModelForSeq2SeqLM`` and ``AutoTokenizer`` can load."""
        greedily = generation_settings(model, self.provenance.max_target)
        save_model(self, model, greedily, folder, weights)

    def inputs(self, texts: Texts) -> Inputs:
        """The tokens of texts."""
        return Inputs(texts, self.tokenizer, self.prompt, self.limits)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that tracks one turn and imports only transformers."""
        return example(repository, settings["format"], settings["max_target"])


def _states(
    tracker: T5Tracker, rows: Dataset, counts: Sequence[int], answers: Sequence[str]
) -> Iterator[tuple[Row, AnswerState]]:
    """Each frame row with the state that is read from its answers."""
    start, prompt = 0, tracker.prompt
    for row, count in zip(rows, counts):
        utterances = [*(turn["utterance"] for turn in row["history"]), row["utterance"]]
        outputs = answers[start : start + count]
        schema = shown_schema(row, prompt, tracker.options.shuffle)
        yield row, prompt.decode(schema, " ".join(utterances), outputs)
        start += count


_SCHEMA = Service(
    "Cabs_9",
    "Rides through town",
    [
        Slot("destination", "Where the ride goes to", False, []),
        Slot("passengers", "Number of people", True, ["1", "2", "3"]),
    ],
    [Intent("OrderCab", "Call a cab", False, [], {}, [])],
)
_HISTORY = [
    {"speaker": "USER", "utterance": "I need a cab for two."},
    {"speaker": "SYSTEM", "utterance": "Where to?"},
]
_UTTERANCE = "To the Botanical Garden, please."


def example(repository: str, format_name: str, max_target: int) -> str:
    """Python code that tracks one turn of a dialogue and imports only transformers."""
    prompt = get_format(format_name)
    dialogue, parts = prompt.history(_HISTORY, _UTTERANCE), prompt.parts(_SCHEMA)
    pairs = [(dialogue, part) if prompt.HISTORY_FIRST else (part, dialogue) for part in parts]
    prompts = "".join(f"    {' '.join(pair)!r},\n" for pair in pairs)
    return f"""
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({repository!r})
model = AutoModelForSeq2SeqLM.from_pretrained({repository!r})
prompts = [
{prompts}]
inputs = tokenizer(prompts, return_tensors="pt", padding=True)
outputs = model.generate(**inputs, max_new_tokens={max_target})
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
"""
