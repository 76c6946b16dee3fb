"""What trained systems share: a tracker is a model of transformers that reads rows.

A tracker adds a model, training examples with their batches, and how it predicts rows. The rest is
here: loading and saving, the score on dev, and predicting in batches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from .batching import Ints, by_length, epoch, share
from .checkpoint import (
    check_digest,
    load_errors_as_sgdx,
    load_strict,
    weights_digest,
)
from .data.rows import whole_dialogues
from .encoders import corpus_texts, load_tokenizer, tiny_encoder
from .onepass.modeling import fuse_attention
from .run_folder import read_json, read_provenance
from .settings import BatchOptions, EpochSettings, Provenance
from .system import Row, System

Tensors = dict[str, torch.Tensor]
Predict = Callable[[], Sequence[Row]]
_Result = TypeVar("_Result")


class Examples:
    """Training examples: how long they are, and how some of them become a batch."""

    def __init__(self, items: Sequence[Row], collate: Callable[[list[Row]], Tensors]) -> None:
        """Take examples that each have ``input_ids``, and a function that makes a batch of some."""
        self.items, self.collate = items, collate
        self.lengths: Ints = np.array([len(each["input_ids"]) for each in items], np.int64)
        self.facts: Row = {"examples": len(items)}  # for ``run.json``

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch on the CPU of the examples with these indices."""
        return self.collate([self.items[index] for index in indices.tolist()])

    def require(self, batches: Iterable[Ints]) -> None:
        """Prepare for batches of these indices, before processes are forked that make them."""

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to rows and tokens, which XLA needs to compile few programs."""
        return batch


class Evaluation(NamedTuple):
    """The evaluation of a model on dev."""

    score: float  # in [0, 1], where higher is better
    # Values that were chosen on dev, by their names in the model's configuration. The training loop
    # stores them there, so that they are saved with the model.
    config: Mapping[str, float] = {}


class Tracker(System, PreTrainedModel):
    """A tracker that is trained: called with a batch it returns an output with a ``loss``.

    Attributes:
        Seen: Struct of what a model says of itself.
        PLAIN: The class as which its model is saved, for who has transformers alone; None for
            the tracker's own.
        MEASURE: Name of the score on dev in the log.
        tokenizer: The tokenizer; None where a tracker needs none.
        seen: What the model was trained on, and how it reads.
        settings: The recipe, while it is trained.
        data: A digest of the rows that it is trained on.
        options: How it predicts.
    """

    PLAIN: ClassVar[type[PreTrainedModel] | None] = None
    Seen: ClassVar[type[Provenance]] = Provenance
    Options: ClassVar[type[BatchOptions]] = BatchOptions
    MEASURE: ClassVar[str] = "dev_joint_goal_accuracy"
    tokenizer: PreTrainedTokenizerBase | None = None
    seen: Any = Provenance()
    settings: Any = None
    data: str = ""
    options: Any = BatchOptions()

    @classmethod
    def start(cls, settings: Any) -> Self:
        """The tracker that a training starts from.

        Args:
            settings: The recipe. Its ``model`` is a name on the Hub or a folder; of a recipe with
                ``tiny`` it is a folder with what ``tiny`` returns.

        Raises:
            SgdxError: The recipe or its model cannot be used.
        """
        raise NotImplementedError

    @classmethod
    def tiny(cls, rows: Dataset, settings: Any) -> Sequence[Any]:
        """A small random model and its tokenizer, for recipes that say ``model: tiny``."""
        return tiny_encoder(corpus_texts(rows), seed=settings.seed)

    def examples(self, rows: Dataset) -> Examples:
        """The training examples of rows, which have the gold columns besides."""
        raise NotImplementedError

    def planned(self, lengths: Ints, processes: int) -> Any:
        """The recipe with the number of steps that examples of these lengths take."""
        if isinstance(self.settings, EpochSettings):
            return with_steps(self.settings, lengths, processes)
        return self.settings

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Choose about ``count`` of the dev rows to evaluate a training on: whole dialogues."""
        return whole_dialogues(rows, count)

    def score(self, dev: Dataset, predict: Predict) -> Evaluation:
        """The score on dev rows, of which ``predict`` gives the predictions of this model.

        All processes call it together.
        """
        return Evaluation(joint_goal_accuracy(dev, predict()))

    def in_words(self, score: float) -> str:
        """A score on dev, as in ``dev joint goal accuracy 61.35 %``."""
        unit = "" if "bleu" in self.MEASURE else " %"
        return f"{self.MEASURE.replace('_', ' ')} {100 * score:.2f}{unit}"

    def describe(self) -> Row:
        """The digest of the weights and the provenance, for the header of a prediction file."""
        return {"weights": weights_digest(self), **msgspec.to_builtins(self.seen)}

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Self:  # type: ignore[override]
        """Load a trained tracker, in evaluation mode, on the CPU.

        Args:
            name: A run folder or a repository on the Hub.
            options: Fields of ``Options``.

        Raises:
            SgdxError: There is no such model, or it is of another tracker, or damaged.
        """
        name, config_class = str(name), cls.config_class
        config, expected = read_json(name, "config.json") or {}, config_class.model_type  # type: ignore[union-attr]
        if (found := config.get("model_type")) != expected:
            raise SgdxError(f"{name}: is a {found} model, expected one of {expected}")
        seen = read_provenance(name, cls.Seen)
        with load_errors_as_sgdx(name, "model"):
            model: Any = load_strict(super().from_pretrained, name)
        check_digest(name, model)
        fuse_attention(model)
        return cls.completed(model.eval(), load_tokenizer(name, model.config), seen, **options)

    @classmethod
    def completed(cls, model: Any, tokenizer: Any, seen: Provenance, **options: Any) -> Self:
        """A model with what it needs besides to be a tracker."""
        model.tokenizer, model.seen, model.options = tokenizer, seen, cls.Options(**options)
        tracker: Self = model
        return tracker

    def save_pretrained(  # type: ignore[override]
        self, save_directory: str | Path, state_dict: Tensors | None = None, **options: Any
    ) -> None:
        """Write the model, its tokenizer and what it was trained on (``sgdx`` in its config)."""
        plain: Any = copy.copy(self)
        plain.__class__ = self.PLAIN or type(self)
        plain.config.name_or_path = ""  # where it was loaded from is private
        plain.config.sgdx = msgspec.to_builtins(self.seen)
        # A repository of git takes no files that are much larger; the Hub takes all others whole.
        packed = getattr(plain.config, "quantization_config", None)
        size = {"max_shard_size": "48MB" if packed else "50GB"}
        save: Any = PreTrainedModel.save_pretrained
        save(plain, save_directory, state_dict=state_dict, **size | options)
        if self.tokenizer is not None:
            self.tokenizer.save_pretrained(save_directory)

    @classmethod
    def example(cls, repository: str, settings: Row) -> str:
        """Python code for the card that uses the model without this package; empty for none."""
        path = Path(__file__).parent / "cards" / f"{cls.NAME}.txt"
        text = path.read_text("utf-8") if path.exists() else ""
        return Template(text).substitute(repository=repr(repository))


class Generator(Tracker):
    """A generator that is trained, and so predicts the utterance of each system turn."""

    ROWS: ClassVar[Literal["frames", "turns"]] = "turns"


def start_from_tracker(cls: type[Any], settings: EpochSettings) -> Any:
    """A trained tracker of this kind that a recipe starts from; None if its model is none."""
    # With ``average``, its weights become the mean of theirs and those of others.
    config = read_json(settings.model, "config.json") or {}
    if config.get("model_type") != cls.config_class.model_type:
        if settings.average:
            raise SgdxError(
                f"average: the recipe's model is {settings.model}, expected a trained {cls.NAME}"
            )
        return None
    start = cls.from_pretrained(settings.model)
    models = [dict(start.named_parameters())]
    for name in settings.average:
        other = cls.from_pretrained(name)
        models.append(dict(other.named_parameters()))
        own, theirs = ({n: w.shape for n, w in each.items()} for each in (models[0], models[-1]))
        if own != theirs:
            raise SgdxError(f"average: {name}: has other sizes than {settings.model}")
        if other.tokenizer.get_vocab() != start.tokenizer.get_vocab():
            raise SgdxError(f"average: {name}: has other words than {settings.model}")
    with torch.no_grad():
        for name, weight in models[0].items():
            weight.copy_(torch.stack([model[name] for model in models]).mean(0))
    return start


def with_steps(settings: Any, lengths: Ints, processes: int) -> Any:
    """The recipe with the steps that its epochs of examples take, from lengths [examples]."""
    # The last step is full: it may begin the next epoch.
    size = share(settings.batch_size, settings.accumulation, processes)
    batches = sum(
        len(epoch(lengths, size, settings.token_budget, settings.seed, number))
        for number in range(settings.epochs)
    )
    of_epochs = -(-batches // (settings.accumulation * processes))
    return msgspec.structs.replace(settings, steps=min(settings.steps or of_epochs, of_epochs))


def answer_batches(
    lengths: Ints, options: BatchOptions, answer: Callable[[Ints], Sequence[_Result]]
) -> list[_Result]:
    """Answer inputs in batches of similar length, longest first, from lengths [inputs]."""
    # The longest come first, so that a lack of memory shows in the first batch.
    answers: dict[int, _Result] = {}
    for batch in by_length(lengths, options.batch_size, options.token_budget):
        answers.update(zip(batch.tolist(), answer(batch), strict=True))
    return [answers[index] for index in range(len(lengths))]


def joint_goal_accuracy(rows: Dataset, predictions: Sequence[Row]) -> float:
    """Joint goal accuracy, in [0, 1], of the predictions for one schema variant."""
    from sgdx_metric import score_frames
    from sgdx_metric.rows import PREDICTION, REFERENCE

    references = rows.select_columns(REFERENCE.names).with_format("arrow")[:]
    predicted = pa.Table.from_pylist(list(predictions), schema=PREDICTION)
    variant = str(rows[0]["variant"])
    scores = score_frames(references, predicted, variant).scores["joint_goal_accuracy"]
    return float(np.nanmean(scores))
