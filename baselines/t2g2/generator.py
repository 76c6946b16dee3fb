"""The generators of template-guided generation: T5 fine-tuned or prefix-tuned to say a turn.

A generator reads what the system has to say in a turn as one text (``inputs``) and writes the
utterance. Sources: T2G2, Kale and Rastogi 2020 (arXiv 2004.15006), for the task and the inputs;
Chen, Lin and Byrne 2023 (arXiv 2301.12568) for fine-tuning, prefix tuning and both reranked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgsacc_metric.bleu import bleu_counts, corpus_bleu

from ..copies.templates import Templates, read_templates
from ..data.frames import evenly_spaced
from ..data.turns import generate
from ..system import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Generator,
    Predictions,
    TokenBudget,
    TrainableSystem,
)
from ..t5dst.model import commit_of, load_model, pretrained_t5
from ..trained import TrainedModel, Weights, read_provenance
from ..training.checkpoint import weights_digest
from ..training.evaluation import predict_dev
from ..training.loop import last_checkpoint
from ..training.settings import Count, NotNegative, Settings
from ..training.task import Evaluation, Run, Task
from .beams import generate_all
from .card_example import example
from .examples import UtteranceExamples, read_turns
from .inputs import InputName, TurnToInput, input_of
from .model import (
    Base,
    Model,
    T2G2Provenance,
    load_base,
    load_generator,
    load_networks,
    save_generator,
)

Row = dict[str, Any]


class T2G2Settings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of generators have besides the common ones.

    What ``evaluate_frames`` counts are turns of the system here.

    Attributes:
        input: What the model reads, one of ``inputs.INPUTS``.
        templates: Folder of hand-written templates in T2G2's format, for the input ``t2g2`` alone.
        revision: Branch, tag or commit of the model on the Hub; None for its main branch.
        max_input: Maximum number of tokens of an input; longer ones lose their end.
        max_target: Maximum number of tokens of an utterance.
        prefix: Number of keys and values that are learnt for each attention while the model stays
            as it is; None to train the whole model.
        prefix_hidden: Size of the hidden layer of the networks that make the prefix.
        beams: Number of beams that are searched.
        length_penalty: Power of the length by which a beam's log-likelihood is divided.
        prediction_tokens: Maximum number of tokens in a batch when dev is predicted, where an
            input counts once for every beam.
    """

    input: InputName = "derived"
    templates: str | None = None
    revision: str | None = None
    max_input: Count
    max_target: Count
    prefix: Count | None = None
    prefix_hidden: Count = 384
    beams: Count = 4
    length_penalty: NotNegative = 0.6
    prediction_tokens: Count = 16384

    def __post_init__(self) -> None:
        if (self.templates is None) == (self.input == "t2g2"):
            raise SgdxError(
                f"templates: found {self.templates!r} with the input {self.input}, expected a "
                "folder of templates with the input t2g2 and with no other"
            )
        if self.prefix is not None and self.gradient_checkpointing:
            raise SgdxError("gradient_checkpointing: found true, expected false with a prefix")


class T2G2Options(BatchOptions, frozen=True, kw_only=True):
    """The options of generation; batches and chunks consist of inputs."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 256
    templates: Annotated[
        str | None,
        msgspec.Meta(
            description="folder of <Service>.tsv templates in T2G2's format, for a model that was "
            "trained with the input t2g2"
        ),
    ] = None
    beams: Annotated[
        Count | None, msgspec.Meta(description="number of beams; default: as in training")
    ] = None
    length_penalty: Annotated[
        NotNegative | None,
        msgspec.Meta(
            description="power of the length by which a beam's log-likelihood is divided; "
            "default: as in training"
        ),
    ] = None


@dataclass(frozen=True)
class T2G2Generator(
    TrainedModel[Model, T2G2Provenance], Generator, TrainableSystem[T2G2Options, T2G2Settings]
):
    """An encoder-decoder that says what a turn of the system has to say.

    Attributes:
        to_input: Makes the input of a turn.
        options: Options of generation.
        accelerator: The processes and the device.
    """

    NAME: ClassVar[str] = "t2g2"
    READS: ClassVar[tuple[str, ...]] = ("actions", "intent", "schemas", "original")
    OPTIONS: ClassVar[type[T2G2Options]] = T2G2Options
    SETTINGS: ClassVar[type[Settings]] = T2G2Settings

    to_input: TurnToInput
    options: T2G2Options
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: T2G2Options, accelerator: Accelerator) -> Self:
        """Load a trained generator, whose beams the options may change."""
        provenance = read_provenance(model, T2G2Provenance)
        templates = read_templates(Path(options.templates)) if options.templates else None
        penalty = options.length_penalty
        provenance = msgspec.structs.replace(
            provenance,
            templates=digest_of(templates),
            beams=options.beams or provenance.beams,
            length_penalty=provenance.length_penalty if penalty is None else penalty,
        )
        loaded, tokenizer = load_generator(model)
        loaded.to(accelerator.device)
        to_input = input_of(provenance.input, templates)
        return cls(loaded, tokenizer, provenance, to_input, options, accelerator)

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Generate for all variants together; each distinct input is read once.

        A prediction row has besides the utterance its ``score``, the mean log-likelihood per token,
        the end token included.
        """
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
        trained = _initial_model(run, digest_of(templates), [*texts, *utterances])
        options = T2G2Options(token_budget=settings.prediction_tokens)
        generator = cls(*trained, to_input, options, run.accelerator)
        limits = (settings.max_input, settings.max_target)
        examples = UtteranceExamples(generator.tokenizer, limits, texts, utterances)

        def evaluate(model: Model) -> Evaluation:
            current = replace(generator, model=model)
            predicted = predict_dev(run, lambda chunks: generate(current, run.dev, chunks).rows)
            return Evaluation(bleu([row["utterance"] for row in predicted], run.dev["utterance"]))

        trainable = sum(p.numel() for p in generator.model.parameters() if p.requires_grad)
        facts = {
            "cut": examples.cut,
            "trainable_parameters": trainable,
            "pretrained_commit": generator.provenance.pretrained_commit,
        }
        whole: Any = generator.model
        return Task(
            whole,
            settings,
            examples.lengths,
            lambda indices: examples.training_batch(indices, settings.static_shapes),
            evaluate,
            generator.save,
            facts,
            "dev_bleu",
        )

    def save(self, folder: Path, model: Model, weights: Weights) -> None:
        """Write a generator that ``load_generator`` can load."""
        save_generator(model, self.tokenizer, self.provenance, folder, weights)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code of five lines that says what one input asks for."""
        return example(repository, settings["input"], settings["prefix"] is not None)


def bleu(utterances: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU of the headline convention as a fraction in [0, 1]."""
    counts = bleu_counts(utterances, references).counts.sum(axis=0)
    return float(corpus_bleu(counts)) / 100


def digest_of(templates: dict[str, Templates] | None) -> str:
    """SHA-256 of hand-written templates; empty if there are none."""
    if templates is None:
        return ""
    return hashlib.sha256(msgspec.json.encode(templates, order="sorted")).hexdigest()


def _initial_model(
    run: Run[T2G2Settings], templates: str, texts: Sequence[str]
) -> tuple[Model, PreTrainedTokenizerBase, T2G2Provenance]:
    """The model that training starts from: the last checkpoint, or the recipe's model.

    Args:
        run: The training run.
        templates: Digest of the hand-written templates, or "".
        texts: All texts of training, for the tokenizer of the recipe's model ``tiny``.
    """
    settings = run.settings
    provenance = run.provenance.extended(
        T2G2Provenance,
        input=settings.input,
        templates=templates,
        max_input=settings.max_input,
        max_target=settings.max_target,
        beams=settings.beams,
        length_penalty=settings.length_penalty,
    )
    name = pretrained_t5(run, texts, provenance, settings.max_target)
    checkpoint = last_checkpoint(run, "")
    stored = read_provenance(str(checkpoint), T2G2Provenance) if checkpoint else None
    commit = stored.pretrained_commit if stored else commit_of(name, settings.revision)
    provenance = msgspec.structs.replace(provenance, pretrained_commit=commit)
    if settings.prefix is None:
        whole, tokenizer = (
            load_model(str(checkpoint)) if checkpoint else load_model(name, commit or None)
        )
        return whole, tokenizer, provenance
    # The tiny model lies in the run folder, beside the prefix, wherever that folder is moved.
    recorded = "initial" if settings.model == "tiny" else name
    base = stored.base if stored else None
    base = base or Base(recorded, commit, "", settings.prefix, settings.prefix_hidden)
    set_seed(settings.seed)  # of the networks' random weights
    tuned, tokenizer = load_base(name, base, learnt=True)
    if checkpoint:
        load_networks(tuned, checkpoint)
    elif not base.sha256:
        base = msgspec.structs.replace(base, sha256=weights_digest(tuned.base))
    return tuned, tokenizer, msgspec.structs.replace(provenance, base=base)
