"""Models of natural language inference as functions from pairs of sentences to probabilities.

torch and transformers are imported only when a model is loaded.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError

from .cache import CachedNli, default_cache
from .lexical import LexicalNli
from .nli import Nli, Pair

DEFAULT_MODEL = "FacebookAI/roberta-large-mnli"
DTYPES = ("float32", "bfloat16", "float16")
# A batch has so many tokens at most, padding included, but for a pair that is longer alone.
_BATCH_TOKENS = 8192
_LONGEST = 512
# Beginnings of the labels' names, in the order of the probabilities that are returned.
_THREE = ("entail", "neutral", "contradict")
_OTHER = ("not", "non")


class NliModel:
    """A sequence classifier for natural language inference, ready to be asked."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self.name = name  # `<checkpoint>@<revision>/<dtype>`, which every signature names
        self._model = model
        self._tokenizer = tokenizer
        self._tokenizer.truncation_side = "left"
        self._classes = entailment_classes(model.config.id2label, name)
        positions = getattr(model.config, "max_position_embeddings", _LONGEST)
        # RoBERTa counts positions from the padding's id on, which takes two of them.
        self._longest = min(_LONGEST, tokenizer.model_max_length, positions - 2)

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The probabilities of entailment, neutral and contradiction [pairs, 3]."""
        import torch

        encoded = self._encode(pairs)
        lengths = [len(ids) for ids in encoded["input_ids"]]
        probabilities = np.zeros((len(pairs), 3))
        for batch in batches(lengths):
            inputs = self._tokenizer.pad(
                {name: [values[i] for i in batch] for name, values in encoded.items()},
                return_tensors="pt",
            )
            with torch.inference_mode():
                logits = self._model(**inputs.to(self._model.device)).logits
            by_class = torch.softmax(logits.double(), dim=-1).cpu().numpy()
            for column, class_index in enumerate(self._classes):
                if class_index is not None:
                    probabilities[batch, column] = by_class[:, class_index]
        return probabilities

    def _encode(self, pairs: Sequence[Pair]) -> Mapping[str, list[list[int]]]:
        premises, hypotheses = ([pair[side] for pair in pairs] for side in (0, 1))
        encoded = self._tokenizer(
            premises, hypotheses, truncation="longest_first", max_length=self._longest
        )
        return dict(encoded)


def load_nli(
    checkpoint: str = DEFAULT_MODEL,
    revision: str | None = None,
    dtype: str = "float32",
    device: str | None = None,
) -> NliModel:
    """Load a folder's or the Hub's model of natural language inference with safetensors."""
    if dtype not in DTYPES:
        raise ScoreError(f"dtype is {dtype!r}, expected one of {', '.join(DTYPES)}")
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise ScoreError(
            f'{checkpoint}: needs {error.name}: pip install -e ".[baselines]" in the clone'
        ) from None
    settings: dict[str, Any] = {"revision": revision or "main", "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint, **settings)
        model = AutoModelForSequenceClassification.from_pretrained(
            checkpoint, use_safetensors=True, dtype=getattr(torch, dtype), **settings
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ScoreError(f"{checkpoint}: cannot be loaded as a model: {text}") from None
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    name = f"{checkpoint}@{_revision(checkpoint, model)}/{dtype}"
    return NliModel(model.to(device).eval(), tokenizer, name)


def open_nli(
    name: str,
    dtype: str = "float32",
    cache: Path | None = None,
    device: str | None = None,
) -> Nli:
    """Open `lexical`, or a checkpoint (`name@revision`, or a folder) behind its cache."""
    if name == "lexical":
        return LexicalNli()
    checkpoint, _, revision = (name, "", "") if Path(name).is_dir() else name.partition("@")
    model = load_nli(checkpoint, revision or None, dtype, device)
    return CachedNli(model, cache or default_cache())


def entailment_classes(
    id2label: Mapping[Any, str], model: str
) -> tuple[int, int | None, int | None]:
    """Which classes of a model are entailment, neutral (or None) and contradiction."""
    # Models order their classes in different ways, so the labels' names decide. Of two classes, the
    # one that is not entailment stands for contradiction.
    names = {int(key): name.lower() for key, name in id2label.items()}
    starts = _THREE if len(names) > 2 else (_THREE[0], "", _OTHER)
    classes = [
        [key for key, name in names.items() if start and name.startswith(start)] for start in starts
    ]
    expected = (1, 1, 1) if len(names) > 2 else (1, 0, 1)
    if len(names) not in (2, 3) or tuple(map(len, classes)) != expected:
        listed = ", ".join(id2label[key] for key in id2label)
        raise ScoreError(
            f"{model}: the classes are {listed}; expected names that begin with entail, neutral and"
            " contradict, or with entail and not"
        )
    (entailment,), neutral, (contradiction,) = classes
    return entailment, neutral[0] if neutral else None, contradiction


def batches(lengths: Sequence[int], tokens: int = _BATCH_TOKENS) -> Iterator[list[int]]:
    """Put pairs of about the same length into batches: positions, from the longest on."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _revision(checkpoint: str, model: Any) -> str:
    """The commit of a model from the Hub, or a digest of the weights in a folder."""
    folder = Path(checkpoint)
    if not folder.is_dir():
        return str(getattr(model.config, "_commit_hash", None) or "unknown")[:12]
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:12]
