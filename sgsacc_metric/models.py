"""Models of natural language inference as functions from pairs of sentences to probabilities.

torch and transformers are imported only when a model is loaded.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError

from .lexical import LexicalNli
from .nli import Nli, Pair

DEFAULT_MODEL = "FacebookAI/roberta-large-mnli"
DTYPES = ("float32", "bfloat16", "float16")
_BATCH = 64  # pairs
_LONGEST = 512  # tokens
# Beginnings of the labels' names, in the order of the probabilities that are returned.
_THREE = ("entail", "neutral", "contradict")
_OTHER = ("not", "non")


class NliModel:
    """A sequence classifier for natural language inference, ready to be asked."""

    def __init__(self, classify: Any, name: str) -> None:
        self.name = name  # `<checkpoint>@<revision>/<dtype>`, which every signature names
        self._classify = classify  # a pipeline of `transformers` for the classification of texts
        config, tokenizer = classify.model.config, classify.tokenizer
        tokenizer.truncation_side = "left"
        self._labels = entailment_labels(config.id2label, name)
        positions = getattr(config, "max_position_embeddings", _LONGEST)
        # RoBERTa counts positions from the padding's id on, which takes two of them.
        self._longest = min(_LONGEST, tokenizer.model_max_length, positions - 2)

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The probabilities of entailment, neutral and contradiction [pairs, 3]."""
        # Pairs of about the same length share a batch, so that little of it is padding.
        order = sorted(range(len(pairs)), key=lambda i: -len(" ".join(pairs[i])))
        asked = [dict(zip(("text", "text_pair"), pairs[i], strict=True)) for i in order]
        found = self._classify(
            asked, batch_size=_BATCH, truncation="longest_first", max_length=self._longest
        )
        probabilities = np.zeros((len(pairs), 3))
        for i, labels in zip(order, found, strict=True):
            by_label = {entry["label"]: entry["score"] for entry in labels}
            # Of two classes none is neutral.
            probabilities[i] = [by_label.get(label, 0.0) for label in self._labels]
        return probabilities


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
        from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline
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
    classify = pipeline(
        "text-classification", model=model, tokenizer=tokenizer, device=device, top_k=None,
        function_to_apply="softmax",
    )  # fmt: skip
    return NliModel(classify, f"{checkpoint}@{_revision(checkpoint, model)}/{dtype}")


def open_nli(name: str, dtype: str = "float32", device: str | None = None) -> Nli:
    """Open `lexical`, or a checkpoint: `name@revision`, or a folder."""
    if name == "lexical":
        return LexicalNli()
    checkpoint, _, revision = (name, "", "") if Path(name).is_dir() else name.partition("@")
    return load_nli(checkpoint, revision or None, dtype, device)


def entailment_labels(id2label: Mapping[Any, str], model: str) -> tuple[str, str | None, str]:
    """What a model calls entailment, neutral (or None) and contradiction."""
    # Models order their classes in different ways, so the labels' names decide. Of two classes, the
    # one that is not entailment stands for contradiction.
    names = list(id2label.values())
    starts = _THREE if len(names) > 2 else (_THREE[0], _OTHER)
    found = [[name for name in names if name.lower().startswith(start)] for start in starts]
    if len(names) not in (2, 3) or [len(of) for of in found] != [1] * len(names):
        raise ScoreError(
            f"{model}: the classes are {', '.join(names)}; expected names that begin with entail, "
            "neutral and contradict, or with entail and not"
        )
    labels = [name for (name,) in found]
    return labels[0], labels[1] if len(labels) > 2 else None, labels[-1]


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
