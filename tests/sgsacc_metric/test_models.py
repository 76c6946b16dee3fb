"""Models of entailment with random weights, in each order of the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sgdx_metric.errors import ScoreError
from sgsacc_metric.nli import entailment_labels, open_nli

from ..hub import Hub, Repository

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

PAIRS = [
    ("A hotel in Rome?", "City is Rome."),
    ("", "Have a good day."),
    ("A hotel in Rome?", "City is Pisa."),
    ("I found 3 hotels. " * 9 + "Rome has wifi.", "Has wifi? Yes."),
]
# Those of roberta-large-mnli, DeBERTa-v3-large-mnli-fever-anli-ling-wanli, nli-deberta-v3-small.
ORDERS = [
    ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"],
    ["entailment", "neutral", "contradiction"],
    ["contradiction", "entailment", "neutral"],
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny RoBERTa with random weights and the labels of roberta-large-mnli."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator([" ".join(pair) for pair in PAIRS], 400, special_tokens=special)
    folder.mkdir()
    trained.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizerFast.from_pretrained(folder, model_max_length=48)
    torch.manual_seed(1)
    config = transformers.RobertaConfig(
        vocab_size=400, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=37, max_position_embeddings=50, num_labels=3,
        id2label=dict(enumerate(ORDERS[0])), initializer_range=0.5,
        pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    transformers.RobertaForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plain(checkpoint: Path) -> Any:
    """Each pair's probabilities of ORDERS[0], one pair at a time, by the library itself."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.truncation_side = "left"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    rows = []
    for pair in PAIRS:
        inputs = tokenizer(*pair, truncation="only_first", max_length=48, return_tensors="pt")
        with torch.inference_mode():
            rows.append(torch.softmax(model(**inputs).logits.double(), -1)[0].numpy())
    return np.array(rows)


def test_probabilities_in_each_order_of_the_labels_and_of_the_pairs(
    checkpoint: Path, plain: Any
) -> None:
    assert np.ptp(plain, axis=0).min() > 0.01
    for labels in ORDERS:
        nli: Any = open_nli(str(checkpoint))
        nli._classify.model.config.id2label = dict(enumerate(labels))
        nli._labels = entailment_labels(dict(enumerate(labels)), "tiny")
        names = [label.lower() for label in labels]
        expected = plain[:, [names.index(one) for one in ORDERS[1]]]
        assert np.allclose(nli(PAIRS), expected, atol=1e-5)
        assert np.allclose(nli(PAIRS[::-1]), expected[::-1], atol=1e-5)
    name, dtype = nli.name.rsplit("/", 1)
    assert dtype == "float32" and name.startswith(f"{checkpoint}@")
    assert len(name.rpartition("@")[2]) == 12


def test_classes_by_name() -> None:
    for labels in ORDERS:
        found = entailment_labels(dict(enumerate(labels)), "three")
        assert [str(label).lower() for label in found] == ORDERS[1]
    two = entailment_labels({0: "entailment", 1: "not_entailment"}, "two")
    assert two == ("entailment", None, "not_entailment")
    for labels in (["LABEL_0", "LABEL_1", "LABEL_2"], ["yes", "no"], ["entail", "a", "b", "c"]):
        with pytest.raises(ScoreError, match="expected names .*entail"):
            entailment_labels(dict(enumerate(labels)), "model")


def test_a_model_is_opened_as_it_is_named(
    checkpoint: Path, plain: Any, online: Hub, tmp_path: Path
) -> None:
    """A folder in another type of numbers; a model on the Hub at a revision."""
    nli: Any = open_nli(str(checkpoint), "bfloat16")
    assert nli.name.endswith("/bfloat16")
    assert np.allclose(nli(PAIRS), plain[:, ::-1], atol=0.1)
    files = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
    model = online.repositories["models", "you/nli"] = Repository(private=False)
    model.tags["v1"] = model.commit(files)
    model.commit(files | {"config.json": b"{}"})
    nli = open_nli("you/nli@v1")
    assert nli.name == f"you/nli@{model.tags['v1'][:12]}/float32"
    assert np.allclose(nli(PAIRS), plain[:, ::-1], atol=1e-5)
    for name, dtype in (("you/nli", "float32"), (str(tmp_path), "float32"), ("any", "int8")):
        with pytest.raises(ScoreError, match=name if dtype == "float32" else dtype):
            open_nli(name, dtype=dtype)
