"""The T5 trackers, which write the state as text: T5DST and D3ST.

In: the whole dialogue and a service's schema as text (``formats``); T5DST asks about each slot,
D3ST about a whole frame. The model is any encoder-decoder (``model``); ``data`` makes tokens.
Learnt: to write the gold value of the slot, or the gold state of the frame, token by token.
Out: what is written greedily is read back into a state (``decode`` of a format); nothing is carried
over, as it says the whole state. Sources: T5DST, Lee et al. 2021 (arXiv 2109.07506); D3ST, Zhao et
al. 2022 (arXiv 2201.08904).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_eval.predictions import prediction_row

from ..data.rows import evenly_spaced
from ..system import Row
from ..xla import Tensors
from . import settings as own
from .data import Inputs, Texts, TokenLimits
from .formats import FORMATS, Format, shown_schema
from .model import EncoderDecoder, generate, texts_of, tiny_t5, tiny_tokenizer


class T5Tracker(EncoderDecoder):
    """An encoder-decoder that writes values or states for prompts."""

    NAME: ClassVar[str] = "t5dst"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema")
    Options: ClassVar[type[own.Options]] = own.Options
    Settings: ClassVar[type[own.Settings]] = own.Settings
    Seen: ClassVar[type[own.Seen]] = own.Seen
    tokenizer: PreTrainedTokenizerBase
    seen: own.Seen
    settings: own.Settings
    options: own.Options
    limits: TokenLimits  # of tokens that are read and written

    @classmethod
    def tiny(cls, rows: Dataset, settings: own.Settings) -> Sequence[Any]:
        """A small T5 and a tokenizer of the prompts and answers of rows."""
        texts = Texts(rows, FORMATS[settings.format], settings.seed, with_answers=True)
        tokenizer = tiny_tokenizer([*texts.histories, *texts.parts, *texts.answers])
        return tiny_t5(len(tokenizer), settings.seed), tokenizer

    @classmethod
    def completed(cls, model: Any, tokenizer: Any, seen: Any, **options: Any) -> Self:
        """A model with what it needs besides, whose inputs may be longer than in training."""
        tracker = super().completed(model, tokenizer, seen, **options)
        if tracker.options.shuffle is not None and not tracker.prompt.SHUFFLED:
            raise SgdxError(f"--shuffle: the format {seen.format} is not shuffled in training")
        tracker.limits = TokenLimits(tracker.options.max_input or seen.max_input, seen.max_target)
        return tracker

    @property
    def prompt(self) -> Format:
        """The prompt format of the model."""
        return FORMATS[self.seen.format]

    def describe(self) -> Row:
        """The model's digest and provenance, and the parts of a prediction row that it fills."""
        limits = {"max_input": self.limits.max_input, "shuffle": self.options.shuffle}
        return {**super().describe(), "tracks": self.prompt.TRACKS, **limits}

    def examples(self, rows: Dataset) -> Inputs:
        """The prompts of rows, with their answers."""
        return self.inputs(Texts(rows, self.prompt, self.settings.seed, with_answers=True))

    def inputs(self, texts: Texts) -> Inputs:
        """The tokens of texts."""
        fused = self.config._attn_implementation == "sdpa"
        return Inputs(texts, self.tokenizer, self.prompt, self.limits, fused)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select evenly spaced frames, as each frame is predicted from its history alone."""
        return evenly_spaced(rows, count)

    @torch.no_grad()
    def track(self, rows: Dataset) -> Iterator[Row]:
        """Write the answers for all variants together; each distinct input is read once."""
        shuffle, prompt = self.options.shuffle, self.prompt
        texts = Texts(rows, prompt, shuffle)
        inputs, settings = self.inputs(texts), self.generation()

        def write(prompts: Tensors) -> list[str]:
            return texts_of(self.tokenizer, generate(self, prompts, settings, inputs.limits[0]))

        outputs = iter(self.answers(inputs, len(rows), write))
        self.counts.update(cut_inputs=inputs.facts["cut"]["inputs"], invalid=0)
        for row, count in zip(rows, texts.counts):
            said = " ".join([*(turn["utterance"] for turn in row["history"]), row["utterance"]])
            schema = shown_schema(row, prompt, shuffle)
            state, invalid = prompt.decode(schema, said, [next(outputs) for _ in range(count)])
            self.counts["invalid"] += invalid
            yield prediction_row(row, state.intent, state.requested, state.values)

    @classmethod
    def example(cls, repository: str, settings: Row) -> str:
        """Python code that tracks one turn and imports only transformers."""
        return example(repository, settings["format"], settings["max_target"])


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


def example(repository: str, format_name: own.FormatName, max_target: int) -> str:
    """Python code that tracks one turn of a dialogue and imports only transformers."""
    prompt = FORMATS[format_name]
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
