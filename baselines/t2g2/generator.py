"""The generators of template-guided generation: T5 fine-tuned or prefix-tuned to say a turn.

A generator reads what the system has to say in a turn as one text (``inputs``) and writes the
utterance. Sources: T2G2, Kale and Rastogi 2020 (arXiv 2004.15006), for the task and the inputs;
Chen, Lin and Byrne 2023 (arXiv 2301.12568) for fine-tuning, prefix tuning and both reranked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import Dataset
from transformers import GenerationConfig, PreTrainedTokenizerBase

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
from ..t5dst.model import commit_of, generation_settings, load_model, save_model
from ..t5dst.tiny import tiny_t5, tiny_tokenizer
from ..training.checkpoint import weights_digest
from ..training.evaluation import predict_dev
from ..training.loop import initial_model, last_checkpoint
from ..training.settings import Count, NotNegative, Settings
from ..training.task import Evaluation, Run, Task
from .beams import generate_all
from .card_example import example
from .examples import UtteranceExamples, read_turns
from .inputs import InputName, TurnToInput, input_of
from .model import (
    About,
    Base,
    Model,
    beam_settings,
    load_base,
    load_generator,
    load_networks,
    read_about,
    save_generator,
)
from .prefix import PrefixTuned

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
class T2G2Generator(Generator, TrainableSystem[T2G2Options, T2G2Settings]):
    """An encoder-decoder that says what a turn of the system has to say.

    Attributes:
        model: The model, on the accelerator's device.
        tokenizer: The model's tokenizer.
        about: Provenance of the model, which has the input, the limits and the beams.
        say: Makes the input of a turn.
        options: Options of generation.
        accelerator: The processes and the device.
    """

    NAME: ClassVar[str] = "t2g2"
    READS: ClassVar[tuple[str, ...]] = ("actions", "intent", "schemas", "original")
    OPTIONS: ClassVar[type[T2G2Options]] = T2G2Options
    SETTINGS: ClassVar[type[Settings]] = T2G2Settings

    model: Model
    tokenizer: PreTrainedTokenizerBase
    about: About
    say: TurnToInput
    options: T2G2Options
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: T2G2Options, accelerator: Accelerator) -> T2G2Generator:
        """Load a trained generator, whose beams the options may change."""
        about = read_about(model)
        templates = read_templates(Path(options.templates)) if options.templates else None
        say = input_of(about.input, templates)
        about = msgspec.structs.replace(
            about,
            templates=digest_of(templates),
            beams=options.beams or about.beams,
            length_penalty=about.length_penalty
            if options.length_penalty is None
            else options.length_penalty,
        )
        loaded, tokenizer = load_generator(model)
        return cls(loaded.to(accelerator.device), tokenizer, about, say, options, accelerator)

    @property
    def settings(self) -> GenerationConfig:
        """Settings of the search."""
        return beam_settings(self.model, self.about)

    def describe(self) -> Row:
        """The model's digest and provenance."""
        return {"weights": weights_digest(self.model), **msgspec.to_builtins(self.about)}

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Generate for all variants together; each distinct input is read once.

        A prediction row has besides the utterance its ``score``, the mean log-likelihood per token,
        the end token included.
        """
        texts = list(map(self.say, read_turns(rows, self.about.input == "t2g2")))
        examples = UtteranceExamples(
            self.tokenizer, (self.about.max_input, self.about.max_target), texts
        )
        options = self.options
        limits = (options.batch_size, options.token_budget, options.chunk_size)
        said = generate_all(
            self.model, self.tokenizer, examples, self.settings, limits, self.accelerator, chunks
        )
        predicted = [
            {"turn_id": turn_id, "variant": variant, "utterance": utterance, "score": score}
            for turn_id, variant, (utterance, score) in zip(rows["turn_id"], rows["variant"], said)
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
        say = input_of(settings.input, templates)
        texts = list(map(say, read_turns(run.rows, settings.input == "t2g2")))
        utterances = [text.replace("\n", " ").replace("\t", " ") for text in run.rows["utterance"]]
        generator = _initial_generator(run, say, digest_of(templates), [*texts, *utterances])
        limits = (settings.max_input, settings.max_target)
        examples = UtteranceExamples(generator.tokenizer, limits, texts, utterances)

        def evaluate(model: Model) -> Evaluation:
            trained = generator.with_model(model)
            predicted = predict_dev(run, lambda chunks: generate(trained, run.dev, chunks).rows)
            return Evaluation(bleu([row["utterance"] for row in predicted], run.dev["utterance"]))

        trainable = sum(p.numel() for p in generator.model.parameters() if p.requires_grad)
        facts = {
            "cut": examples.cut,
            "trainable_parameters": trainable,
            "pretrained_commit": generator.about.pretrained_commit,
        }
        whole: Any = generator.model
        return Task(
            whole,
            settings,
            examples.lengths,
            lambda indices: examples.training_batch(indices, settings.static_shapes),
            evaluate,
            lambda folder, model, weights: save_generator(
                model, generator.tokenizer, generator.about, folder, weights
            ),
            facts,
            "dev_bleu",
        )

    def with_model(self, model: Model) -> T2G2Generator:
        """The same generator with another model, such as the current one in training."""
        return T2G2Generator(
            model, self.tokenizer, self.about, self.say, self.options, self.accelerator
        )

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


def _initial_generator(
    run: Run[T2G2Settings], say: TurnToInput, templates: str, texts: Sequence[str]
) -> T2G2Generator:
    """The generator that training starts from: the last checkpoint, or the recipe's model.

    Args:
        run: The training run.
        say: Makes the input of a turn.
        templates: Digest of the hand-written templates, or "".
        texts: All texts of training, for the tokenizer of the recipe's model ``tiny``, which is
            made here, with random weights.
    """
    settings = run.settings
    about = About(
        input=settings.input,
        templates=templates,
        max_input=settings.max_input,
        max_target=settings.max_target,
        beams=settings.beams,
        length_penalty=settings.length_penalty,
        **msgspec.structs.asdict(run.provenance),
    )

    def write_tiny(place: Path) -> None:
        tokenizer = tiny_tokenizer(texts)
        model = tiny_t5(len(tokenizer), settings.seed)
        greedily = generation_settings(model, about.max_target)
        save_model(model, tokenizer, about, greedily, place, model.state_dict())

    name = str(initial_model(run, write_tiny)) if settings.model == "tiny" else settings.model
    last = last_checkpoint(run, "")
    commit = read_about(str(last)).pretrained_commit if last else commit_of(name, settings.revision)
    about = msgspec.structs.replace(about, pretrained_commit=commit)
    model: Model
    if settings.prefix is None:
        model, tokenizer = load_model(str(last)) if last else load_model(name, commit or None)
    else:
        model, tokenizer, about = _prefix_tuned(settings, name, about, last)
    options = T2G2Options(token_budget=settings.prediction_tokens)
    return T2G2Generator(model, tokenizer, about, say, options, run.accelerator)


def _prefix_tuned(
    settings: T2G2Settings, name: str, about: About, last: Path | None
) -> tuple[PrefixTuned, PreTrainedTokenizerBase, About]:
    """The T5 at ``name`` with the prefix of the last checkpoint, or with a random one."""
    assert settings.prefix is not None  # noqa: S101
    known = read_about(str(last)).base if last else None
    # The tiny model lies in the run folder, beside the prefix, wherever that folder is moved.
    place = "initial" if settings.model == "tiny" else name
    base = known or Base(
        place, about.pretrained_commit, "", settings.prefix, settings.prefix_hidden
    )
    set_seed(settings.seed)  # of the networks' random weights
    model, tokenizer = load_base(name, base, learnt=True)
    if last:
        load_networks(model, last)
    elif not base.sha256:
        base = msgspec.structs.replace(base, sha256=weights_digest(model.base))
    return model, tokenizer, msgspec.structs.replace(about, base=base)
