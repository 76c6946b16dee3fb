"""What translates: tiny random models of three families, and commands."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    NllbTokenizer,
    PreTrainedModel,
    set_seed,
)

from sgdx_dataset import SgdxError
from sgdx_dataset.rewording.translators import command_translator, model_translator

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

TEXTS = ["city", "find a flat", "visit the flats", "the city of the flats", "a", "it lets flats"]
SIZES: dict[str, Any] = {
    "d_model": 16,
    "max_position_embeddings": 64,
    "init_std": 1.0,
    **{f"{part}_layers": 1 for part in ("encoder", "decoder")},
    **{f"{part}_attention_heads": 2 for part in ("encoder", "decoder")},
    **{f"{part}_ffn_dim": 32 for part in ("encoder", "decoder")},
}


def pieces(folder: Path) -> list[str]:
    """The vocabulary of a SentencePiece model of the texts above, made in ``folder``."""
    folder.mkdir()
    with (folder / "source.spm").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS * 4),
            model_writer=file,
            vocab_size=40,
            model_type="bpe",
            hard_vocab_limit=False,
            minloglevel=2,
        )
    made = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    return [made.IdToPiece(i) for i in range(made.GetPieceSize()) if made.IdToPiece(i)[0] != "<"]


def save(folder: Path, model: PreTrainedModel, tokenizer: Any, **generation: Any) -> None:
    for name, value in {"max_length": 12, **generation}.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def marian(folder: Path, codes: tuple[str, ...] = (), **generation: Any) -> None:
    """A random Marian model; its end is likely enough for translations to differ in length."""
    names = ["</s>", "<unk>", *pieces(folder), *codes, "<pad>"]
    vocabulary, spm = folder / "vocab.json", str(folder / "source.spm")
    vocabulary.write_text(json.dumps({name: i for i, name in enumerate(names)}))
    tokenizer = MarianTokenizer(spm, spm, str(vocabulary))
    pad = len(names) - 1
    tokens: dict[str, Any] = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    set_seed(1)
    config = MarianConfig(vocab_size=len(names), forced_eos_token_id=0, **tokens, **SIZES)
    model = MarianMTModel(config)
    model.final_logits_bias[0, 0] = 8.0
    save(folder, model, tokenizer, bad_words_ids=[[pad]], **generation)


def m2m100(folder: Path, tokenizer: Any) -> None:
    """A random model; M2M-100's tokenizer counts neither its 100 languages nor 8 more as tokens."""
    tokens = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    set_seed(0)
    config = M2M100Config(vocab_size=len(tokenizer) + 108, **(SIZES | tokens))
    save(folder, M2M100ForConditionalGeneration(config), tokenizer, num_beams=2)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: ``one`` (language), ``many``, ``nllb``, ``m2m``."""
    folder = tmp_path_factory.mktemp("models")
    marian(folder / "one")
    marian(folder / "many", (">>deu<<", ">>zho<<"), num_beams=4, early_stopping=True)
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces(folder / "m2m")]
    vocabulary = {name: i for i, name in enumerate(names)}
    codes = ["eng_Latn", "zho_Hans"]
    m2m100(folder / "nllb", NllbTokenizer(vocab=vocabulary, merges=[], extra_special_tokens=codes))
    (folder / "m2m" / "vocab.json").write_text(json.dumps(vocabulary))
    spm = str(folder / "m2m" / "source.spm")
    m2m100(folder / "m2m", M2M100Tokenizer(str(folder / "m2m" / "vocab.json"), spm))
    return folder


def test_a_batch_changes_nothing_and_sampling_follows_the_random_state(models: Path) -> None:
    translator = model_translator(str(models / "one"), None, None)
    together = translator(TEXTS, 0)
    assert together == [text for alone in TEXTS for text in translator([alone], 1)]
    assert len({len(text) for text in together}) > 2
    sampled = model_translator(str(models / "many"), "eng", "deu", sample=True)
    assert sampled(TEXTS, 5) == sampled(TEXTS, 5) != sampled(TEXTS, 6)
    beams = model_translator(str(models / "many"), "eng", "deu")
    assert beams(TEXTS, 5) == beams(TEXTS, 6)


@pytest.mark.parametrize(
    ("name", "source", "target", "prefix", "first"),
    [
        ("many", "eng", "deu", ">>deu<< ", None),
        ("nllb", "eng_Latn", "zho_Hans", "", "zho_Hans"),
        ("m2m", "en", "zh", "", "__zh__"),
    ],
)
def test_each_family_is_told_its_languages(
    models: Path, name: str, source: str, target: str, prefix: str, first: str | None
) -> None:
    """As the models' own documentation does it: by a prefix, or the first token of the output."""
    languages: dict[str, Any] = {"src_lang": source} if first else {}
    tokenizer = AutoTokenizer.from_pretrained(models / name, **languages)
    model = AutoModelForSeq2SeqLM.from_pretrained(models / name)
    inputs = tokenizer([prefix + text for text in TEXTS], return_tensors="pt", padding=True)
    forced = {"forced_bos_token_id": tokenizer.convert_tokens_to_ids(first)} if first else {}
    tokens = model.generate(**inputs, **forced)
    expected = tokenizer.batch_decode(tokens, skip_special_tokens=True)
    assert model_translator(str(models / name), source, target)(TEXTS, 0) == expected


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("many", "fra", "many: --languages: .*'fra'.* deu, zho"),
        ("nllb", "city", "nllb: --languages: .*'city'"),
        ("m2m", "zho_Hans", "m2m: --languages: .*'eng_Latn'"),
        ("none", None, "none: "),
    ],
)
def test_a_model_that_cannot_be_asked(
    models: Path, name: str, target: str | None, message: str
) -> None:
    with pytest.raises(SgdxError, match=message):
        model_translator(str(models / name), "eng_Latn", target)


@pytest.mark.parametrize("fault", ["pickled", "coded"])
def test_a_model_that_is_not_loaded(models: Path, tmp_path: Path, fault: str) -> None:
    """With pickled weights alone, or with code of its own, which is not run."""
    folder = shutil.copytree(models / "one", tmp_path / fault)
    if fault == "pickled":
        (folder / "model.safetensors").unlink()
        weights = MarianMTModel.from_pretrained(models / "one").state_dict()
        torch.save(weights, folder / "pytorch_model.bin")
    else:
        config = json.loads((folder / "config.json").read_text())
        code = {"AutoConfig": "code.Config", "AutoModelForSeq2SeqLM": "code.Model"}
        config |= {"auto_map": code, "model_type": "own"}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(SgdxError, match=f"{fault}: model cannot be loaded: "):
        model_translator(str(folder), None, None)
    assert not (tmp_path / "ran").exists()


def test_a_command_gets_lines_and_gives_lines() -> None:
    code = "import sys; [print(line.rstrip('\\n')[::-1]) for line in sys.stdin]"
    reverse = command_translator(shlex.join([sys.executable, "-c", code]))
    assert reverse(["ab", "猫 c", ""], 0) == ["ba", "c 猫", ""]
    # A last line need not end.
    assert command_translator("printf 'a\\n\\nb'")(["1", "2", "3"], 0) == ["a", "", "b"]
    assert command_translator("printf 'a\\n\\n'")(["1", "2"], 0) == ["a", ""]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("'a", "command: cannot be read"),
        ("/no/such", "command '/no/such': .*No such file"),
        ("sh -c 'echo one >&2; echo two >&2; exit 3'", "exit status 3; it said: two$"),
        ("true", "wrote 0 lines for 2, expected as many"),
        ("sh -c 'cat; echo more; echo why >&2'", "wrote 3 lines for 2, .*it said: why$"),
        ("printf '\\377\\n\\n'", "did not write UTF-8: .*0xff"),
        ("echo a; echo b", "wrote 1 lines for 2"),  # there is no shell
    ],
)
def test_a_command_at_fault(command: str, message: str) -> None:
    with pytest.raises(SgdxError, match=message):
        command_translator(command)(["city", "area"], 0)
