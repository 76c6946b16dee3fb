"""The generator of template-guided generation: T5 fine-tuned to say a turn.

It reads what the system has to say in a turn as one text (``data``) and writes the
utterance. Sources: T2G2, Kale and Rastogi 2020 (arXiv 2004.15006), for the task and the inputs;
Chen, Lin and Byrne 2023 (arXiv 2301.12568) for fine-tuning, and for several reranked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import GenerationConfig, PreTrainedModel

from sgdx_dataset import SgdxError

from ..batching import Ints
from ..copies import Templates, read_templates
from ..data.rows import evenly_spaced
from ..data.rows import predict as predict_rows
from ..settings import BatchOptions, Settings, T2G2Options, T2G2Settings
from ..system import Generator, Predictions, Row, TrainableSystem, read_provenance
from ..t5dst.data import filled
from ..t5dst.model import generate, load_model, save_model, texts_of, wide
from ..task import Evaluation, Run, Task, predict_dev
from ..trained import TrainedModel, Weights, predict_in_chunks
from ..xla import in_few_shapes, is_xla, move, on_host
from .data import TurnToInput, UtteranceExamples, input_of, read_turns
from .model import T2G2Provenance, beam_settings, initial_model

ScoredUtterance = tuple[str, float]  # an utterance, and its mean log-likelihood per token


@torch.no_grad()
def beam_search(
    model: PreTrainedModel, batch: dict[str, torch.Tensor], settings: GenerationConfig, limit: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best beam [inputs, tokens], and its mean log-likelihood per token [inputs].

    The inputs of ``batch`` have at most ``limit`` tokens.
    """
    whole = generate(model, batch, settings, limit)
    tokens = whole[:, 1:]
    log_likelihoods = token_likelihoods(model, batch, whole, settings.max_new_tokens, limit)
    ended = tokens == settings.eos_token_id
    # 0 end tokens before it: a token counts up to and with the first end token, later ones are
    # padding.
    real = ended.cumsum(-1) - ended.long() == 0
    return tokens, (log_likelihoods * real).sum(-1) / real.sum(-1)


def token_likelihoods(
    model: Any, batch: dict[str, torch.Tensor], whole: torch.Tensor, length: int, limit: int
) -> torch.Tensor:
    """The log-likelihood of each token that was written after the first [inputs, tokens]."""
    # Beam scores are divided by a power of the length, so the log-likelihoods are computed again.
    device, (count, written) = model.device, whole.shape
    if is_xla(device):
        batch = in_few_shapes(batch, limit, filled, device)
        batch = {"input_ids": batch["input_ids"], "attention_mask": wide(batch["attention_mask"])}
        room = (0, 1 + length - written, 0, len(batch["input_ids"]) - count)
        whole = torch.nn.functional.pad(whole, room)
    whole = whole.to(device)
    inputs = {name: tensor.to(device) for name, tensor in batch.items()}
    logits = model(**inputs, decoder_input_ids=whole[:, :-1]).logits
    chosen = logits.float().log_softmax(-1).gather(-1, whole[:, 1:, None])[..., 0]
    likelihoods: torch.Tensor = on_host({"of": chosen}, device)["of"][:count, : written - 1]
    return likelihoods


def generate_all(
    trained: TrainedModel[PreTrainedModel, T2G2Provenance],
    examples: UtteranceExamples,
    options: BatchOptions,
    accelerator: Accelerator,
    chunks: Path,
) -> list[ScoredUtterance]:
    """Generate an utterance for every example; equal inputs are read once."""
    model = trained.model
    settings = beam_settings(model, trained.provenance)
    lengths = np.array([len(ids) for ids in examples.inputs], np.int64) * settings.num_beams

    def generate_batch(batch: Ints) -> list[ScoredUtterance]:
        inputs, limit = examples.batch(batch), examples.limits[0]
        tokens, likelihoods = beam_search(model, inputs, settings, limit)
        rounded = [round(likelihood, 6) for likelihood in likelihoods.tolist()]
        texts = [text.strip() for text in texts_of(trained.tokenizer, tokens)]
        return list(zip(texts, rounded, strict=True))

    distinct = predict_in_chunks(accelerator, lengths, options, generate_batch, chunks)
    return [(distinct[index][0], distinct[index][1]) for index in examples.input_numbers.tolist()]


@dataclass(frozen=True)
class T2G2Generator(
    TrainedModel[PreTrainedModel, T2G2Provenance],
    Generator,
    TrainableSystem[T2G2Options, T2G2Settings],
):
    """An encoder-decoder that says what a turn of the system has to say."""

    NAME: ClassVar[str] = "t2g2"
    READS: ClassVar[tuple[str, ...]] = ("actions", "intent", "schemas", "original")
    OPTIONS: ClassVar[type[T2G2Options]] = T2G2Options
    SETTINGS: ClassVar[type[Settings]] = T2G2Settings

    to_input: TurnToInput  # makes the input of a turn
    options: T2G2Options
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: T2G2Options, accelerator: Accelerator) -> Self:
        """Load a trained generator, whose beams the options may change."""
        provenance = read_provenance(model, T2G2Provenance)
        templates = read_templates(Path(options.templates)) if options.templates else None
        penalty = options.length_penalty
        if provenance.templates and templates and digest_of(templates) != provenance.templates:
            raise SgdxError(
                f"--templates {options.templates}: found others than {model} was trained with, "
                f"expected those with the SHA-256 {provenance.templates}"
            )
        provenance = msgspec.structs.replace(
            provenance,
            beams=options.beams or provenance.beams,
            length_penalty=provenance.length_penalty if penalty is None else penalty,
        )
        loaded, tokenizer = load_model(model)
        move(loaded.eval(), accelerator.device)
        to_input = input_of(provenance.input, templates)
        return cls(loaded, tokenizer, provenance, to_input, options, accelerator)

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Generate for all variants together; each distinct input is read once."""
        # The ``score`` of a row is the mean log-likelihood per token, the end token included.
        provenance = self.provenance
        texts = list(map(self.to_input, read_turns(rows, provenance.input == "t2g2")))
        limits = (provenance.max_input, provenance.max_target)
        examples = UtteranceExamples(self.tokenizer, limits, texts)
        scored = generate_all(self, examples, self.options, self.accelerator, chunks)
        predicted = [
            {"turn_id": turn_id, "variant": variant, "utterance": utterance, "score": score}
            for turn_id, variant, (utterance, score) in zip(
                rows["turn_id"], rows["variant"], scored, strict=True
            )
        ]
        counts = {"turns": len(rows), "unique_inputs": len(examples.inputs), "cut": examples.cut}
        return Predictions(predicted, counts)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select ``count`` evenly spaced turns."""
        return evenly_spaced(rows, count)

    @classmethod
    def task(cls, run: Run[T2G2Settings], name: str) -> Task:
        """The single training task, whose model is chosen by BLEU on dev."""
        settings = run.settings
        templates = read_templates(Path(settings.templates)) if settings.templates else None
        to_input = input_of(settings.input, templates)
        texts = list(map(to_input, read_turns(run.rows, settings.input == "t2g2")))
        utterances = [text.replace("\n", " ").replace("\t", " ") for text in run.rows["utterance"]]
        trained = initial_model(run, digest_of(templates), [*texts, *utterances])
        options = T2G2Options(token_budget=settings.prediction_tokens)
        generator = cls(*trained, to_input, options, run.accelerator)
        limits = (settings.max_input, settings.max_target)
        examples = UtteranceExamples(generator.tokenizer, limits, texts, utterances)

        def evaluate(model: PreTrainedModel) -> Evaluation:
            current = replace(generator, model=model)
            predicted = predict_dev(run, lambda folder: predict_rows(current, run.dev, folder).rows)
            return Evaluation(bleu([row["utterance"] for row in predicted], run.dev["utterance"]))

        facts = {
            "cut": examples.cut,
            "pretrained_commit": generator.provenance.pretrained_commit,
        }
        return Task(
            generator.model,
            settings,
            examples.lengths,
            examples.training_batch,
            evaluate,
            generator.save,
            facts,
            "dev_bleu",
            fill=partial(filled, target=settings.max_target),
        )

    def save(self, folder: Path, model: PreTrainedModel, weights: Weights) -> None:
        """Write a model that ``AutoModelForSeq2SeqLM`` and ``AutoTokenizer`` can load."""
        save_model(self, model, beam_settings(model, self.provenance), folder, weights)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code of five lines that says what one input asks for."""
        return example(repository, settings["input"])


def bleu(utterances: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU of the headline convention as a fraction in [0, 1]."""
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU().corpus_score(utterances, [references]).score) / 100


def digest_of(templates: dict[str, Templates] | None) -> str:
    """SHA-256 of hand-written templates; empty if there are none."""
    if templates is None:
        return ""
    return hashlib.sha256(msgspec.json.encode(templates, order="sorted")).hexdigest()


_INPUTS = {
    "derived": "SYSTEM | Where the ride goes to is Botanical Garden. Number of people is 2.",
    "t2g2": "SYSTEM | Please confirm the following details: You go to Botanical Garden.",
    "naive": "SYSTEM | service_name=Cabs_9 | confirm,destination, values = Botanical Garden",
    "schema": "SYSTEM | service_name=Cabs_9,description=Rides through town | confirm,"
    "name=destination,description=Where the ride goes to, values = Botanical Garden",
}


def example(repository: str, input_name: str) -> str:
    """Python code of five lines that says what one input asks for."""
    text = _INPUTS[input_name]
    return f"""
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({repository!r})
model = AutoModelForSeq2SeqLM.from_pretrained({repository!r})
outputs = model.generate(**tokenizer([{text!r}], return_tensors="pt"))
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
"""
