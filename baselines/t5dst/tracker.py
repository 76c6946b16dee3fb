"""The T5 trackers, which write the state as text: T5DST, T5DST with options, and D3ST.

The prompt format (``formats``) decides which of the three it is; the model is any encoder-decoder.
Sources: T5DST, Lee et al. 2021 (arXiv 2109.07506); D3ST, Zhao et al. 2022 (arXiv 2201.08904).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..data.frames import evenly_spaced, track
from ..data.prediction_files import prediction_row
from ..system import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Predictions,
    TokenBudget,
    Tracker,
    TrainableSystem,
)
from ..training.batching import Ints, by_length, cut
from ..training.checkpoint import weights_digest
from ..training.chunks import run_chunks
from ..training.evaluation import score_on
from ..training.loop import initial_model, last_checkpoint
from ..training.settings import Count, Settings
from ..training.task import Evaluation, Run, Task
from .card_example import example
from .formats import Format, get_format, shown_schema
from .formats.values import AnswerState
from .generate import greedy
from .inputs import Inputs, Texts, TokenLimits
from .model import (
    About,
    check_positions,
    commit_of,
    generation_settings,
    load_model,
    save_model,
)
from .tiny import tiny_t5, tiny_tokenizer

Row = dict[str, Any]


class T5Settings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of T5 trackers have besides the common ones.

    Attributes:
        format: Name of the prompt format in ``formats.FORMATS``.
        revision: Branch, tag or commit of the model on the Hub; None for its main branch.
        max_input: Maximum number of tokens of an input; longer ones lose the beginning of the
            history.
        max_target: Maximum number of tokens of an answer.
        prediction_tokens: Maximum number of tokens in a batch when dev is predicted.
    """

    format: str
    revision: str | None = None
    max_input: Count
    max_target: Count
    prediction_tokens: Count = 16384

    def __post_init__(self) -> None:
        get_format(self.format)


class T5Options(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with a T5 tracker; batches and chunks consist of inputs."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 256  # a kill on CPUs costs about a minute
    static_shapes: Annotated[
        bool,
        msgspec.Meta(
            description="whether tensors have few different shapes, as XLA needs, where this is "
            "always so; needs more memory and time on other devices"
        ),
    ] = False
    shuffle: Annotated[
        int | None,
        msgspec.Meta(
            description="random seed by which the elements of schemas are shuffled, independently "
            "for each frame and variant; default: the order of the schema"
        ),
    ] = None
    format: Annotated[
        str | None, msgspec.Meta(description="prompt format, for a model that does not record it")
    ] = None
    max_input: Annotated[
        Count | None,
        msgspec.Meta(
            description="maximum number of tokens of an input; default: as in training, with "
            "--format 512"
        ),
    ] = None
    max_target: Annotated[
        Count | None,
        msgspec.Meta(
            description="maximum number of tokens of an answer; default: as in training, with "
            "--format 256"
        ),
    ] = None


@dataclass(frozen=True)
class T5Tracker(Tracker, TrainableSystem[T5Options, T5Settings]):
    """An encoder-decoder that writes values or states for prompts.

    Attributes:
        model: The encoder-decoder, on the accelerator's device.
        tokenizer: The model's tokenizer.
        about: Provenance of the model, which has the prompt format and the limits.
        options: Options of prediction.
        accelerator: The processes and the device.
    """

    NAME: ClassVar[str] = "t5dst"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema")
    OPTIONS: ClassVar[type[T5Options]] = T5Options
    SETTINGS: ClassVar[type[Settings]] = T5Settings

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    about: About
    options: T5Options
    accelerator: Accelerator

    @property
    def prompt(self) -> Format:
        """The prompt format of the model."""
        return get_format(self.about.format)

    @property
    def limits(self) -> TokenLimits:
        """The maximum numbers of tokens that the model reads and writes."""
        return TokenLimits(self.about.max_input, self.about.max_target)

    @classmethod
    def load(cls, model: str, options: T5Options, accelerator: Accelerator) -> T5Tracker:
        """Load a trained model, or, if ``options.format`` is given, any encoder-decoder."""
        loaded, tokenizer = load_model(model)
        about = read_about(model, loaded, options)
        if options.shuffle is not None and not get_format(about.format).SHUFFLED:
            raise SgdxError(f"--shuffle: the format {about.format} is not shuffled in training")
        on_device: PreTrainedModel = loaded.eval().to(accelerator.device)
        return cls(on_device, tokenizer, about, options, accelerator)

    def describe(self) -> Row:
        """The model's digest and provenance, and the parts of a prediction row that it fills."""
        return {
            "weights": weights_digest(self.model),
            **msgspec.to_builtins(self.about),
            "tracks": self.prompt.TRACKS,
            "shuffle": self.options.shuffle,
        }

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Generate the answers for all variants together; each distinct input is read once."""
        texts = Texts()
        texts.read(rows, self.prompt, self.options.shuffle)
        inputs = self.inputs(texts)
        answers, unique = answer_all(self, inputs, chunks)
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
        tracker = _initial_tracker(run, texts)
        inputs = tracker.inputs(texts)
        # The cache helps only in generation, which asks for it; the decoder has its own config.
        for part in (tracker.model, tracker.model.get_decoder()):
            part.config.use_cache = False

        def evaluate(model: PreTrainedModel) -> Evaluation:
            trained = tracker.with_model(model)
            score = score_on(
                run.dev,
                lambda chunks: track(trained, run.dev, chunks).rows,
                run.accelerator,
                run.output / "dev",
            )
            return Evaluation(score)

        return Task(
            tracker.model,
            settings,
            inputs.lengths,
            lambda indices: inputs.training_batch(indices, settings.static_shapes),
            evaluate,
            lambda folder, model, weights: save_model(
                model,
                tracker.tokenizer,
                tracker.about,
                generation_settings(model, tracker.about.max_target),
                folder,
                weights,
            ),
            {"cut": inputs.cut, "pretrained_commit": tracker.about.pretrained_commit},
        )

    def inputs(self, texts: Texts) -> Inputs:
        """The tokens of texts, with masks that the model takes."""
        flat_mask = self.model.config._attn_implementation != "sdpa"
        return Inputs(texts, self.tokenizer, self.prompt, self.limits, flat_mask)

    def with_model(self, model: PreTrainedModel) -> T5Tracker:
        """The same tracker with another model, such as the current one in training."""
        return T5Tracker(model, self.tokenizer, self.about, self.options, self.accelerator)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that tracks one turn and imports only transformers."""
        return example(repository, settings["format"], settings["max_target"])


def read_about(name: str, model: PreTrainedModel, options: T5Options) -> About:
    """The provenance of a model, with the limits from the options where these give them.

    A model without provenance needs a format from the options.

    Args:
        name: Name or folder of the model, for error messages.
        model: The model.
        options: Options of prediction.

    Raises:
        SgdxError: The model is not of this tracker; it has no provenance and no format is given; or
            it cannot read ``options.max_input`` tokens.
    """
    found: Any = getattr(model.config, "sgdx", None)
    if found is None and options.format is None:
        raise SgdxError(
            f"{name}: config.json has no 'sgdx', expected a model of baselines.train; "
            "for another give --format"
        )
    by_default = {"format": options.format, "max_input": 512, "max_target": 256}
    try:
        about = msgspec.convert(found or {"tracker": T5Tracker.NAME, **by_default}, About)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{name}: config.json: sgdx: {error}") from None
    about = msgspec.structs.replace(
        about,
        max_input=options.max_input or about.max_input,
        max_target=options.max_target or about.max_target,
    )
    get_format(about.format)
    check_positions(name, model, about)
    return about


def _initial_tracker(run: Run[T5Settings], texts: Texts) -> T5Tracker:
    """The tracker that training starts from: the last checkpoint, or the recipe's model.

    The recipe's model ``tiny`` is made here, with random weights.
    """
    settings = run.settings
    options = T5Options(token_budget=settings.prediction_tokens)
    if last := last_checkpoint(run, ""):
        return T5Tracker.load(str(last), options, run.accelerator)
    about = About(
        format=settings.format,
        max_input=settings.max_input,
        max_target=settings.max_target,
        **msgspec.structs.asdict(run.provenance),
    )

    def write_tiny(place: Path) -> None:
        tokenizer = tiny_tokenizer([*texts.histories, *texts.parts, *texts.answers])
        model = tiny_t5(len(tokenizer), settings.seed)
        greedily = generation_settings(model, about.max_target)
        save_model(model, tokenizer, about, greedily, place, model.state_dict())

    name = str(initial_model(run, write_tiny)) if settings.model == "tiny" else settings.model
    commit = commit_of(name, settings.revision)
    model, tokenizer = load_model(name, commit or None)
    check_positions(name, model, about)
    about = msgspec.structs.replace(about, pretrained_commit=commit)
    return T5Tracker(model, tokenizer, about, options, run.accelerator)


def answer_all(tracker: T5Tracker, inputs: Inputs, folder: Path) -> tuple[list[str], int]:
    """Generate the answers to all inputs; equal inputs are read once.

    Args:
        tracker: The tracker.
        inputs: The inputs.
        folder: Folder for partial results, from which a killed run can resume.

    Returns:
        The answer to each input, and the number of distinct inputs.
    """
    options, device = tracker.options, tracker.accelerator.device
    _, first, place = np.unique(inputs.pairs, axis=0, return_index=True, return_inverse=True)
    lengths = inputs.lengths[first]
    (order,) = by_length(lengths, len(lengths), int(lengths.sum()) * len(lengths)) or [first]
    size = options.chunk_size
    chunks = [order[i : i + size] for i in range(0, len(order), size)]

    static = options.static_shapes or device.type == "xla"
    widths = bucket_widths(lengths, inputs.limits.max_input) if static else lengths

    def work(chunk: Ints) -> list[str]:
        answers: list[str] = []
        for batch in cut(chunk, widths, options.batch_size, options.token_budget):
            width = int(widths[batch].max()) if static else None
            rows = static_rows(batch, width, options) if width else batch
            tensors = inputs.batch(first[rows], width)
            ids, mask = (tensors[name].to(device) for name in ("input_ids", "attention_mask"))
            tokens = greedy(tracker.model, ids, mask, tracker.about.max_target, static)
            answers += _texts(tracker, tokens[: len(batch)])
        return answers

    name = fingerprint(tracker, inputs, first)[:16]
    answers = run_chunks(tracker.accelerator, chunks, work, folder / name)
    return [answers[index] for index in place.reshape(-1).tolist()], len(first)


def bucket_widths(lengths: Ints, longest: int) -> Ints:
    """The few widths that inputs are padded to where shapes are static.

    Args:
        lengths: Number of tokens of each input [inputs].
        longest: Maximum number of tokens of an input.

    Returns:
        For each input the smallest of ``longest`` and its half, quarter and eighth that holds it,
        rounded up to a multiple of 8 [inputs].
    """
    widths = np.array([-(-longest // (8 * parts)) * 8 for parts in (8, 4, 2, 1)], np.int64)
    return widths[np.searchsorted(widths, lengths)]


def static_rows(batch: Ints, width: int, options: T5Options) -> Ints:
    """A batch as large as every batch of its width is, filled up with copies of its last input.

    Args:
        batch: Indices of the inputs, which have at most ``width`` tokens.
        width: Number of tokens to pad to.
        options: The options, which limit the inputs and tokens of a batch.
    """
    size = max(1, min(options.batch_size, options.token_budget // width))
    return np.concatenate([batch, np.repeat(batch[-1:], size - len(batch))])


def _texts(tracker: T5Tracker, tokens: Ints) -> list[str]:
    """The texts of answers, from tokens [inputs, tokens]."""
    decoded: list[str] = tracker.tokenizer.batch_decode(
        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return decoded


def fingerprint(tracker: T5Tracker, inputs: Inputs, first: Ints) -> str:
    """SHA-256 of everything that determines the partial results: weights, inputs and options.

    Args:
        tracker: The tracker.
        inputs: The inputs.
        first: Index of the first occurrence of each distinct input.
    """
    decisive = (weights_digest(tracker.model), tracker.about, tracker.options)
    digest = hashlib.sha256(repr(decisive).encode())
    for index in first.tolist():
        digest.update(inputs.ids(index).tobytes() + b"|")
    return digest.hexdigest()


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
