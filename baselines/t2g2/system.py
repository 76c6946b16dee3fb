"""The generator of template-guided generation: T5 fine-tuned to say a turn.

In: what the system has to say in a turn, as one text: sentences of templates or of the schema's
descriptions, or a list of acts, slots and values (``data``).
Learnt: to write the gold utterance, token by token. Out: the best beam of the model, with its mean
log-likelihood per token; ``rerank`` chooses among several generators by these. Sources: T2G2, Kale
and Rastogi 2020 (arXiv 2004.15006), for the task and the inputs; Chen, Lin and Byrne 2023 (arXiv
2301.12568) for fine-tuning, and for several reranked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import torch
from datasets import Dataset
from transformers import GenerationConfig, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..copies import Templates, read_templates
from ..data.rows import evenly_spaced
from ..system import Row
from ..t5dst.data import TokenLimits, filled
from ..t5dst.model import EncoderDecoder, generate, texts_of, tiny_t5, tiny_tokenizer, wide
from ..tracker import Evaluation, Generator, Predict
from ..xla import Tensors, in_few_shapes, is_xla, on_host
from . import settings as own
from .data import TurnToInput, UtteranceExamples, input_of, read_turns


@torch.no_grad()
def beam_search(
    model: Any, batch: Tensors, settings: GenerationConfig, limit: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best beam [inputs, tokens], and its mean log-likelihood per token [inputs].

    The inputs of ``batch`` have at most ``limit`` tokens.
    """
    whole = generate(model, batch, settings, limit)
    (count, written), device, tokens = whole.shape, model.device, whole[:, 1:]
    # Beam scores are divided by a power of the length, so the log-likelihoods are computed again.
    if is_xla(device):
        batch = in_few_shapes(batch, limit, filled, device)
        batch = {"input_ids": batch["input_ids"], "attention_mask": wide(batch["attention_mask"])}
        more = len(batch["input_ids"]) - count
        whole = torch.nn.functional.pad(whole, (0, 1 + settings.max_new_tokens - written, 0, more))
    whole = whole.to(device)
    inputs = {name: tensor.to(device) for name, tensor in batch.items()}
    logits = model(**inputs, decoder_input_ids=whole[:, :-1]).logits
    chosen = logits.float().log_softmax(-1).gather(-1, whole[:, 1:, None])[..., 0]
    log_likelihoods = on_host({"of": chosen}, device)["of"][:count, : written - 1]
    ended = tokens == settings.eos_token_id
    # 0 end tokens before it: a token counts up to and with the first end token, later ones are
    # padding.
    real = ended.cumsum(-1) - ended.long() == 0
    return tokens, (log_likelihoods * real).sum(-1) / real.sum(-1)


class T2G2Generator(EncoderDecoder, Generator):
    """An encoder-decoder that says what a turn of the system has to say."""

    NAME: ClassVar[str] = "t2g2"
    READS: ClassVar[tuple[str, ...]] = ("actions", "intent", "schemas", "original")
    MEASURE: ClassVar[str] = "dev_bleu"
    Options: ClassVar[type[own.Options]] = own.Options
    Settings: ClassVar[type[own.Settings]] = own.Settings
    Seen: ClassVar[type[own.Seen]] = own.Seen
    tokenizer: PreTrainedTokenizerBase
    seen: own.Seen
    settings: own.Settings
    options: own.Options
    to_input: TurnToInput  # makes the input of a turn

    @classmethod
    def tiny(cls, rows: Dataset, settings: own.Settings) -> Sequence[Any]:
        """A small T5 and a tokenizer of the inputs and utterances of rows."""
        to_input = input_of(settings.input, _templates(settings.templates))
        inputs = map(to_input, read_turns(rows, settings.input == "t2g2"))
        tokenizer = tiny_tokenizer([*inputs, *utterances_of(rows)])
        return tiny_t5(len(tokenizer), settings.seed), tokenizer

    @classmethod
    def start(cls, settings: own.Settings, **facts: Any) -> Self:
        """The recipe's encoder-decoder."""
        templates = _templates(settings.templates)
        generator = super().start(settings, templates=digest_of(templates), **facts)
        generator.to_input = input_of(settings.input, templates)
        return generator

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Self:  # type: ignore[override]
        """Load a trained generator, whose hand-written templates are among the ``options``."""
        generator = super().from_pretrained(name, **options)
        folder, expected = generator.options.templates, generator.seen.templates
        templates = _templates(folder)
        if templates and expected and digest_of(templates) != expected:
            raise SgdxError(
                f"--templates {folder}: found others than {name} was trained with, expected those "
                f"with the SHA-256 {expected}"
            )
        generator.to_input = input_of(generator.seen.input, templates)
        return generator

    def generation(self, *_: Any) -> GenerationConfig:
        """Settings of ``generate``, with the beams of this generator."""
        return super().generation(self.seen.beams, self.seen.length_penalty)

    def examples(self, rows: Dataset) -> UtteranceExamples:
        """The inputs of turns, with their utterances."""
        return self.read(rows, utterances_of(rows))

    def read(self, rows: Dataset, utterances: Sequence[str] = ()) -> UtteranceExamples:
        """The inputs of turns as tokens."""
        texts = list(map(self.to_input, read_turns(rows, self.seen.input == "t2g2")))
        limits = TokenLimits(self.seen.max_input, self.seen.max_target)
        return UtteranceExamples(self.tokenizer, limits, texts, utterances)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select ``count`` evenly spaced turns."""
        return evenly_spaced(rows, count)

    def score(self, dev: Dataset, predict: Predict) -> Evaluation:
        """BLEU on dev."""
        return Evaluation(bleu([row["utterance"] for row in predict()], dev["utterance"]))

    def track(self, rows: Dataset) -> Iterator[Row]:
        """Say every turn of all variants together; each distinct input is read once."""
        # The ``score`` of a row is the mean log-likelihood per token, the end token included.
        examples, settings = self.read(rows), self.generation()

        def write(prompts: Tensors) -> list[tuple[str, float]]:
            tokens, likelihoods = beam_search(self, prompts, settings, examples.limits.max_input)
            texts = (text.strip() for text in texts_of(self.tokenizer, tokens))
            return [(t, round(score, 6)) for t, score in zip(texts, likelihoods.tolist())]

        said = self.answers(examples, len(rows), write)
        self.counts.update(cut_inputs=examples.facts["cut"]["inputs"])
        for turn_id, variant, (text, score) in zip(rows["turn_id"], rows["variant"], said):
            yield {"turn_id": turn_id, "variant": variant, "utterance": text, "score": score}

    @classmethod
    def example(cls, repository: str, settings: Row) -> str:
        """Python code of five lines that says what one input asks for."""
        return f"""
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({repository!r})
model = AutoModelForSeq2SeqLM.from_pretrained({repository!r})
outputs = model.generate(**tokenizer([{_INPUTS[settings["input"]]!r}], return_tensors="pt"))
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
"""


def utterances_of(rows: Dataset) -> list[str]:
    """What the system says in turns, in one line each."""
    return [text.replace("\n", " ").replace("\t", " ") for text in rows["utterance"]]


def bleu(utterances: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU of the headline convention as a fraction in [0, 1]."""
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU().corpus_score(utterances, [references]).score) / 100


def _templates(folder: str | None) -> dict[str, Templates] | None:
    return read_templates(Path(folder)) if folder else None


def digest_of(templates: dict[str, Templates] | None) -> str:
    """SHA-256 of hand-written templates; empty if there are none."""
    if templates is None:
        return ""
    return hashlib.sha256(msgspec.json.encode(templates, order="sorted")).hexdigest()


# An input of each kind, for the card.
_INPUTS = {
    "derived": "SYSTEM | Where the ride goes to is Botanical Garden. Number of people is 2.",
    "t2g2": "SYSTEM | Please confirm the following details: You go to Botanical Garden.",
    "naive": "SYSTEM | service_name=Cabs_9 | confirm,destination, values = Botanical Garden",
    "schema": "SYSTEM | service_name=Cabs_9,description=Rides through town | confirm,"
    "name=destination,description=Where the ride goes to, values = Botanical Garden",
}
