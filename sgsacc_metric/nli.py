"""Models of natural language inference, and asking one each pair of sentences once.

A model is any function from pairs of sentences to probabilities. torch and transformers are
imported only where a checkpoint is loaded.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import file_digest
from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import check_choice

# A premise and a hypothesis.
Pair: TypeAlias = tuple[str, str]
# The probabilities of entailment, neutral and contradiction, in this order.
Probabilities: TypeAlias = tuple[float, float, float]
# A model of entailment: from n pairs to an array [n, 3] of their probabilities.
Nli: TypeAlias = Callable[[Sequence[Pair]], Any]

DTYPES = ("float32", "bfloat16", "float16")
_BATCH = 64  # pairs
_LONGEST = 512  # tokens


def entails(probabilities: Probabilities) -> bool:
    """Whether entailment is the most probable of the three; a tie does not count."""
    entailment, *others = probabilities
    return entailment > max(others)


def clearest(sentences: Sequence[Probabilities]) -> int:
    """The index of the sentence that is entailed most clearly; the first among equals."""
    # An entailed sentence ranks above one that is not, however probable: with .48 entailment and
    # .50 neutral it is not, with .45 and .30 it is. So the clearest is entailed where any is.
    order = range(len(sentences))
    return max(order, key=lambda index: (entails(sentences[index]), sentences[index][0], -index))


class Judge:
    """Asks a model of entailment and remembers its answers, so that no pair is sent twice."""

    def __init__(self, nli: Nli) -> None:
        self._nli = nli
        self._answers: dict[Pair, Probabilities] = {}
        # How many answers were needed so far, and how many pairs were sent.
        self.asked, self.sent = 0, 0

    def ask(self, pairs: Iterable[Pair]) -> None:
        """Have the model judge those of some pairs that it has not judged yet, all at once."""
        all_pairs = list(pairs)
        new_pairs = [pair for pair in dict.fromkeys(all_pairs) if pair not in self._answers]
        self.asked += len(all_pairs)
        self.sent += len(new_pairs)
        if new_pairs:
            answers = np.asarray(self._nli(new_pairs), dtype=np.float64)
            if answers.shape != (len(new_pairs), 3):
                raise ScoreError(
                    f"nli: found an array of shape {answers.shape} for {len(new_pairs)} pairs,"
                    f" expected ({len(new_pairs)}, 3): entailment, neutral, contradiction"
                )
            if not ((answers >= 0) & (answers <= 1 + 1e-6)).all():
                raise ScoreError("nli: found a number outside [0, 1], expected probabilities")
            self._answers.update(zip(new_pairs, map(tuple, answers.tolist()), strict=True))

    def __getitem__(self, pair: Pair) -> Probabilities:
        """The answer to a pair that was asked about."""
        return self._answers[pair]


class NliModel:
    """A checkpoint of sequence classification for natural language inference."""

    def __init__(self, classify: Any, name: str) -> None:
        self.name = name  # `<checkpoint>@<revision>/<dtype>`, which every signature names
        self._classify = classify  # a pipeline of `transformers` for the classification of texts
        config, tokenizer = classify.model.config, classify.tokenizer
        tokenizer.truncation_side = "left"  # of a premise, the end is the utterance
        self._labels = entailment_labels(config.id2label, name)
        positions = getattr(config, "max_position_embeddings", _LONGEST)
        # RoBERTa counts positions from the padding's id on, which takes two of them.
        self._longest = min(_LONGEST, tokenizer.model_max_length, positions - 2)

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The probabilities of entailment, neutral and contradiction [pairs, 3]."""
        # Pairs of about the same length share a batch, so that little of it is padding.
        order = sorted(range(len(pairs)), key=lambda i: -len(" ".join(pairs[i])))
        found = self._classify(
            [{"text": pairs[i][0], "text_pair": pairs[i][1]} for i in order],
            batch_size=_BATCH,
            truncation="longest_first",
            max_length=self._longest,
        )
        probabilities = np.zeros((len(pairs), 3))
        for i, labels in zip(order, found, strict=True):
            by_label = {entry["label"]: entry["score"] for entry in labels}
            # Of two classes none is neutral.
            probabilities[i] = [by_label.get(label, 0.0) for label in self._labels]
        return probabilities


def open_nli(name: str, dtype: str = "float32", device: str | None = None) -> Nli:
    """Open `lexical`, a folder, or a model on the Hub as NAME or NAME@REVISION.

    Weights are read as safetensors alone, and no code of a checkpoint is run.
    """
    from .lexical import LexicalNli

    check_choice("dtype", dtype, DTYPES)
    if name == "lexical":
        return LexicalNli()
    is_folder = Path(name).is_dir()
    checkpoint, _, revision = (name, "", "") if is_folder else name.partition("@")
    torch, transformers = (require(name, "baselines") for name in ("torch", "transformers"))
    settings: dict[str, Any] = {"revision": revision or "main", "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint, **settings)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            checkpoint, use_safetensors=True, dtype=getattr(torch, dtype), **settings
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ScoreError(f"{checkpoint}: cannot be loaded as a model: {text}") from None
    classify = transformers.pipeline(
        "text-classification",
        model=model,
        tokenizer=tokenizer,
        device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
        top_k=None,
        function_to_apply="softmax",
    )
    mark = "unknown"
    if is_folder:
        weights = (bytes.fromhex(file_digest(p)) for p in sorted(Path(name).glob("*.safetensors")))
        mark = hashlib.sha256(b"".join(weights)).hexdigest()
    else:  # the cache keeps files in a folder that is called as their commit
        cached = require("huggingface_hub", "baselines").try_to_load_from_cache(
            checkpoint, "config.json", revision=settings["revision"]
        )
        mark = Path(cached).parent.name if isinstance(cached, str) else mark
    return NliModel(classify, f"{checkpoint}@{mark[:12]}/{dtype}")


def entailment_labels(id2label: Mapping[Any, str], model: str) -> tuple[str, str | None, str]:
    """What a model calls entailment, neutral (or None) and contradiction."""
    # Models order their classes in different ways, so the labels' names decide. Of two classes, the
    # one that is not entailment stands for contradiction.
    names = list(id2label.values())
    starts = ("entail", "neutral", "contradict") if len(names) > 2 else ("entail", ("not", "non"))
    found = [[name for name in names if name.lower().startswith(start)] for start in starts]
    if len(names) not in (2, 3) or [len(of) for of in found] != [1] * len(names):
        raise ScoreError(
            f"{model}: the classes are {', '.join(names)}; expected names that begin with entail, "
            "neutral and contradict, or with entail and not"
        )
    labels = [name for (name,) in found]
    return labels[0], labels[1] if len(labels) > 2 else None, labels[-1]


def nli_name(nli: Nli | None) -> str:
    """What a signature calls a model of entailment: its attribute `name`, or that of a function."""
    if nli is None:
        return "none"
    name = getattr(nli, "name", None)
    return str(name) if name else f"function:{getattr(nli, '__name__', type(nli).__name__)}"
