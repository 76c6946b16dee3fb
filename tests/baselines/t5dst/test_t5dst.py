"""Inputs and their shuffling; models as files, with other attentions, limits and revisions."""

from __future__ import annotations

import ast
import copy
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

from baselines import train
from baselines.predicting import predict as track
from baselines.t5dst import system as tracker_module
from baselines.t5dst.data import Inputs, Texts, TokenLimits, filled
from baselines.t5dst.formats import FORMATS
from baselines.t5dst.model import commit_of, generate, load_model, tiny_t5, tiny_tokenizer
from baselines.t5dst.settings import FormatName, Seen
from baselines.t5dst.system import T5Tracker
from sgdx_dataset import SgdxError, frames, load
from sgdx_dataset.tracker_inputs import GOLD

from ..conftest import Recipe, Refuse

SEEN = Seen(tracker="t5dst", format="t5dst", max_input=64, max_target=8)


@pytest.fixture(scope="module")
def rows() -> Any:
    return frames(load("original", "train", "sample")).select(range(24))


@pytest.fixture(scope="module")
def tokenizer(rows: Any) -> PreTrainedTokenizerFast:
    return tiny_tokenizer(rows["utterance"], 400)


def read(rows: Any, name: FormatName, shuffle: int | None = None) -> Texts:
    return Texts(rows, FORMATS[name], shuffle, with_answers=shuffle is not None)


@pytest.mark.parametrize("name", FORMATS)
def test_history_is_cut_from_its_beginning_and_the_schema_survives(
    rows: Any, tokenizer: PreTrainedTokenizerFast, name: FormatName
) -> None:
    prompt, texts = FORMATS[name], read(rows, name)
    whole = Inputs(texts, tokenizer, prompt, TokenLimits(4096, 64))
    nothing = {"inputs": 0, "of": len(texts.pairs), "history_tokens": 0, "answers": 0}
    assert whole.facts["cut"] == nothing
    longest = max(len(part) for part in whole.parts)
    short = Inputs(texts, tokenizer, prompt, TokenLimits(longest + 12, 64))
    assert short.facts["cut"]["inputs"] > 0
    assert short.facts["cut"]["history_tokens"] == int((whole.lengths - short.lengths).sum())
    histories, parts = list(texts.histories), list(texts.parts)
    for index, (history, part) in enumerate(texts.pairs):
        ids = short.ids(short.numbers[index])
        assert len(ids) == short.lengths[index] <= longest + 12
        text = str(tokenizer.decode(ids, skip_special_tokens=True))
        assert parts[part].strip() in text
        kept = text.replace(parts[part], "").lstrip("\N{REPLACEMENT CHARACTER}")  # half a letter
        assert histories[history].endswith(kept)


def test_a_batch_counts_by_the_tokens_of_its_answers(
    rows: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    inputs = Inputs(read(rows, "t5dst", 0), tokenizer, FORMATS["t5dst"], TokenLimits(256, 32))
    plain = inputs.batch(np.array([0, 9]))
    for batch in (plain, filled(plain, 4, 256, 32)):
        assert batch["weight"].item() == (batch["labels"] != -100).sum().item()
        assert batch["attention_mask"].sum(1).tolist()[:2] == inputs.lengths[[0, 9]].tolist()
    assert (batch["input_ids"].shape, batch["labels"].shape) == ((4, 256), (4, 32))


def test_shuffling_depends_on_the_seed_alone(rows: Any) -> None:
    first, again, other = (list(read(rows, "d3st", seed).parts) for seed in (1, 1, 2))
    assert first == again != other
    shown = Texts(rows.remove_columns(list(GOLD)), FORMATS["d3st"], 1)  # to predict, without gold
    assert list(shown.parts) == first and not shown.targets


def test_shuffled_prediction_reads_its_answers_by_the_order_that_it_showed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tracker that always answers with the first option sets other values for another seed."""
    rows = frames(load("v2", "test", "sample")).select(range(30))
    tokenizer = tiny_tokenizer(rows["utterance"], 400)
    seen = Seen(tracker="t5dst", format="d3st", max_input=512, max_target=8)
    first = f"[states] {' '.join(f'{n}={n}a' for n in range(30))} [intents] [req_slots]"
    monkeypatch.setattr(tracker_module, "texts_of", lambda _, tokens: [first] * len(tokens))
    monkeypatch.setattr(tracker_module, "generate", lambda _, prompts, *__: prompts["input_ids"])
    found = {}
    for seed in (None, 1, 2):
        tracker = T5Tracker.completed(tiny_t5(len(tokenizer)).eval(), tokenizer, seen, shuffle=seed)
        assert tracker.describe()["shuffle"] == seed
        found[seed] = track(tracker, rows).rows
    options = {(row["frame_id"], slot["name"]): slot["possible_values"]
               for row in rows for slot in row["schema"]["slots"]}  # fmt: skip
    for seed, predicted in found.items():
        places = [
            options[row["frame_id"], value["slot"]].index(value["values"][0])
            for row in predicted
            for value in row["slot_values"]
            if options[row["frame_id"], value["slot"]]
        ]
        assert places and any(places) == (seed is not None)
    assert found[1] != found[2]


@pytest.mark.parametrize("fact", ["bert", "pad_token", "eos_token"])
def test_models_that_cannot_be_trained(
    fact: str, refuse: Refuse, recipe: Recipe, tmp_path: Path
) -> None:
    """An encoder alone, and tokenizers that lack a token."""
    model = tmp_path / "model"
    small = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=9)
    made: Any = BertModel(small) if fact == "bert" else tiny_t5(300)
    made.save_pretrained(model)
    tiny_tokenizer(["a cab"], 300).save_pretrained(model)
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings.pop(fact, None)
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    message = refuse(train, *recipe(model=str(model)))
    assert message.startswith(f"{model}: ") and fact in message
    assert not (tmp_path / "run").exists()


def test_the_card_s_example_says_what_the_tracker_says(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (_, code) = re.findall(r"```python\n(.*?)```", (trained / "README.md").read_text(), re.DOTALL)
    assert "baselines" not in code
    capsys.readouterr()
    exec(code, {})  # noqa: S102
    said = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assigned = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    (prompts,) = (a.value for a in assigned if ast.unparse(a.targets[0]) == "prompts")
    assert len(said) == len(ast.literal_eval(prompts))


def save(model: PreTrainedModel, folder: Path) -> None:
    """Write a model as training does."""
    own = T5Tracker.completed(copy.deepcopy(model), tiny_tokenizer(["a cab"], 300), SEEN)
    own.save_pretrained(folder)


def test_a_tokenizer_that_is_a_sentencepiece_model_alone(tmp_path: Path) -> None:
    """As in the repositories of T5 on the Hub that have no tokenizer.json."""
    texts = frames(load("original", "train", "sample"))["utterance"][:200]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_prefix=str(tmp_path / "spiece"), vocab_size=300,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2,
    )  # fmt: skip
    tiny_t5(400).save_pretrained(tmp_path)
    (tmp_path / "spiece.vocab").unlink()
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": 100, "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    _, tokenizer = load_model(str(tmp_path))
    plain = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "spiece.model"))
    for text in texts[:20]:
        assert tokenizer(text)["input_ids"] == [*plain.encode(text), 1]
    assert tokenizer.decode(plain.encode(texts[0])) == texts[0]


def t5(scaled: bool, own_output: bool) -> PreTrainedModel:
    """A tiny T5: 1.0 scales the decoder's outputs, 1.1 does not and has an output layer."""
    set_seed(0)
    told: Any = {"tie_word_embeddings": scaled}
    config = T5Config(
        vocab_size=300, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4, **told
    )
    config.decoder_start_token_id = 0
    model = T5ForConditionalGeneration(config)
    if own_output:
        model.lm_head.weight = torch.nn.Parameter(torch.randn(300, 32))
    model.eval()
    return model


@pytest.mark.parametrize(("scaled", "own_output"), [(True, False), (False, False), (False, True)])
def test_saved_for_both_versions_of_transformers(
    tmp_path: Path, scaled: bool, own_output: bool
) -> None:
    """Version 4 scales and ties by tie_word_embeddings; what it does not tie is in the file.

    With transformers 4.57.1 the three give the logits that they give here, to 1e-5.
    """
    model, tokens = t5(scaled, own_output), torch.arange(5)[None]
    save(model, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["tie_word_embeddings"] is scaled
    assert ("lm_head.weight" in load_file(tmp_path / "model.safetensors")) is not scaled
    again = load_model(str(tmp_path))[0].eval()
    for given in (model, again):
        assert given.config.scale_decoder_outputs is scaled
    expected = model(input_ids=tokens, decoder_input_ids=tokens).logits
    assert torch.equal(again(input_ids=tokens, decoder_input_ids=tokens).logits, expected)


def test_the_leftover_weight_of_published_t5_is_no_fault(tmp_path: Path) -> None:
    """The files of google-t5/t5-base have a bias of cross-attention that no T5 uses."""
    save(t5(scaled=True, own_output=False), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    leftover = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    save_file(weights | {leftover: torch.ones(32, 4)}, tmp_path / "model.safetensors")
    again = load_model(str(tmp_path))[0].state_dict()
    assert all(torch.equal(again[name], weight) for name, weight in weights.items())


def test_padding_changes_nothing_without_fused_attention(rows: Any) -> None:
    """It learns from a padded batch, and padding does not change what it says."""
    own: Any = t5(scaled=True, own_output=True)
    own.set_attn_implementation("eager")
    tokenizer = tiny_tokenizer(["a cab"], 300)
    model = T5Tracker.completed(own, tokenizer, msgspec.structs.replace(SEEN, max_target=5))
    texts = Texts(rows.select(range(6)), FORMATS["t5dst"], with_answers=True)
    inputs = Inputs(texts, tokenizer, FORMATS["t5dst"], TokenLimits(176, 8))
    order = np.argsort(inputs.lengths)
    batch = inputs.batch(order[[0, -1]])
    del batch["weight"]
    model(**batch).loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    del batch["labels"]
    alone = inputs.prompts(inputs.numbers[order[:1]])
    together, single = (
        generate(model, read, model.generation(), 176)[0].tolist() for read in (batch, alone)
    )
    assert together[: len(single)] == single


def test_more_tokens_than_a_model_has_positions(tmp_path: Path) -> None:
    model = t5(scaled=True, own_output=False)
    model.config.max_position_embeddings = 192
    save(model, tmp_path)
    with pytest.raises(SgdxError, match=r": has 192 positions, expected max_input at most that$"):
        T5Tracker.from_pretrained(tmp_path, max_input=256)


def test_a_revision_is_asked_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository in the cache with two commits: the revision decides, and its commit is known."""
    repository, first, second = tmp_path / "hub" / "models--me--t5", "a" * 40, "b" * 40
    for commit, scaled in ((first, True), (second, False)):
        save(t5(scaled, own_output=False), repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(first)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("transformers.utils.hub.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)  # offline too, its client tries for minutes
    assert [commit_of("me/t5", each) for each in (None, "main", second)] == [first, first, second]
    assert load_model("me/t5", second)[0].config.scale_decoder_outputs is False
    with pytest.raises(SgdxError, match=r"^me/t5: model cannot be loaded: "):
        commit_of("me/t5", "v9")
    assert commit_of(str(tmp_path), None) == ""
