"""The T5 trackers, which write the state as text: T5DST, T5DST with options, and D3ST.

The prompt format (``formats``) decides which of the three it is; the model is any encoder-decoder.
Sources: T5DST, Lee et al. 2021 (arXiv 2109.07506); D3ST, Zhao et al. 2022 (arXiv 2201.08904).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
import numpy as np
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel

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
from ..trained import TrainedModel, Weights, fingerprint, predict_in_chunks
from ..training.batching import Ints
from ..training.checkpoint import weights_digest
from ..training.evaluation import score_dev
from ..training.loop import last_checkpoint
from ..training.settings import Count, Settings
from ..training.task import Evaluation, Run, Task
from .card_example import example
from .formats import Format, get_format, shown_schema
from .formats.values import AnswerState
from .generate import greedy
from .inputs import Inputs, Texts, TokenLimits
from .model import (
    T5Provenance,
    check_positions,
    commit_of,
    generation_settings,
    load_model,
    pretrained_t5,
    save_model,
)

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
class T5Tracker(
    TrainedModel[PreTrainedModel, T5Provenance], Tracker, TrainableSystem[T5Options, T5Settings]
):
    """An encoder-decoder that writes values or states for prompts.

    Attributes:
        options: Options of prediction.
        accelerator: The processes and the device.
    """

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
        """Load a trained model, or, if ``options.format`` is given, any encoder-decoder."""
        loaded, tokenizer = load_model(model)
        provenance = provenance_under(options, model, loaded)
        if options.shuffle is not None and not get_format(provenance.format).SHUFFLED:
            raise SgdxError(
                f"--shuffle: the format {provenance.format} is not shuffled in training"
            )
        on_device: PreTrainedModel = loaded.eval().to(accelerator.device)
        return cls(on_device, tokenizer, provenance, options, accelerator)

    def describe(self) -> Row:
        """The model's digest and provenance, and the parts of a prediction row that it fills."""
        return {
            **super().describe(),
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
        tracker = cls._initial(run, texts)
        inputs = tracker.inputs(texts)
        # The cache helps only in generation, which asks for it; the decoder has its own config.
        for part in (tracker.model, tracker.model.get_decoder()):
            part.config.use_cache = False

        def evaluate(model: PreTrainedModel) -> Evaluation:
            trained = replace(tracker, model=model)
            return Evaluation(score_dev(run, lambda chunks: track(trained, run.dev, chunks).rows))

        return Task(
            tracker.model,
            settings,
            inputs.lengths,
            lambda indices: inputs.training_batch(indices, settings.static_shapes),
            evaluate,
            tracker.save,
            {"cut": inputs.cut, "pretrained_commit": tracker.provenance.pretrained_commit},
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
        save_model(model, self.tokenizer, self.provenance, greedily, folder, weights)

    def inputs(self, texts: Texts) -> Inputs:
        """The tokens of texts, with masks that the model takes."""
        flat_mask = self.model.config._attn_implementation != "sdpa"
        return Inputs(texts, self.tokenizer, self.prompt, self.limits, flat_mask)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that tracks one turn and imports only transformers."""
        return example(repository, settings["format"], settings["max_target"])


def provenance_under(options: T5Options, name: str, model: PreTrainedModel) -> T5Provenance:
    """The provenance of a model, with the limits from the options where these give them.

    A model without provenance needs a format from the options.

    Args:
        options: Options of prediction.
        name: Name or folder of the model, for error messages.
        model: The model.

    Raises:
        SgdxError: The model is not of this tracker; it has no provenance and no format is given; or
            it cannot read ``options.max_input`` tokens.
    """
    stored: Any = getattr(model.config, "sgdx", None)
    if stored is None and options.format is None:
        raise SgdxError(
            f"{name}: config.json has no 'sgdx', expected a model of baselines.train; "
            "for another give --format"
        )
    by_default = {"format": options.format, "max_input": 512, "max_target": 256}
    try:
        provenance = msgspec.convert(
            stored or {"tracker": T5Tracker.NAME, **by_default}, T5Provenance
        )
    except msgspec.ValidationError as error:
        raise SgdxError(f"{name}: config.json: sgdx: {error}") from None
    provenance = msgspec.structs.replace(
        provenance,
        max_input=options.max_input or provenance.max_input,
        max_target=options.max_target or provenance.max_target,
    )
    get_format(provenance.format)
    check_positions(name, model, provenance)
    return provenance


def answer_all(tracker: T5Tracker, inputs: Inputs, chunks: Path) -> tuple[list[str], int]:
    """Generate the answers to all inputs; equal inputs are read once.

    Args:
        tracker: The tracker.
        inputs: The inputs.
        chunks: Folder for partial results, from which a killed run can resume.

    Returns:
        The answer to each input, and the number of distinct inputs.
    """
    options, device = tracker.options, tracker.accelerator.device
    _, first, input_of = np.unique(inputs.pairs, axis=0, return_index=True, return_inverse=True)
    static = options.static_shapes or device.type == "xla"
    widths = inputs.lengths[first]
    if static:
        widths = bucket_widths(widths, inputs.limits.max_input)

    def answer(batch: Ints) -> list[str]:
        width = int(widths[batch].max()) if static else None
        rows = static_rows(batch, width, options) if width else batch
        tensors = inputs.batch(first[rows], width)
        ids, mask = (tensors[name].to(device) for name in ("input_ids", "attention_mask"))
        tokens = greedy(tracker.model, ids, mask, tracker.provenance.max_target, static)
        return _texts(tracker, tokens[: len(batch)])

    folder = chunks / fingerprint(
        weights_digest(tracker.model),
        tracker.provenance,
        options,
        inputs=(inputs.ids(index) for index in first.tolist()),
    )
    answers = predict_in_chunks(tracker.accelerator, widths, options, answer, folder)
    return [answers[index] for index in input_of.reshape(-1).tolist()], len(first)


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
