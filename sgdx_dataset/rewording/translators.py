"""Translators: a model of ``transformers``, or a command that reads and writes lines."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..io.errors import SgdxError
from ..io.extras import require
from ..io.secrets import split_command, take_out

# Takes a batch of texts of one line each, and a seed for its random numbers; returns as many
# translations.
Translator = Callable[[Sequence[str], int], list[str]]
# Tokens of a translation at most, unless the model allows less; descriptions have about 20.
_MAX_TOKENS = 256


def command_translator(line: str, name: str = "command") -> Translator:
    """Translate with a command that reads one text per line and writes as many lines, in UTF-8."""
    arguments = split_command(line, name)

    def translate(texts: Sequence[str], state: int) -> list[str]:
        lines = "".join(f"{text}\n" for text in texts).encode()
        try:
            done = subprocess.run(arguments, input=lines, capture_output=True)
        except OSError as error:
            raise SgdxError(f"command {line!r}: cannot be started: {error}") from None
        message = done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or "nothing"
        if done.returncode:
            raise SgdxError(f"command {line!r}: exit status {done.returncode}; it said: {message}")
        try:
            said = take_out(done.stdout.decode())
            translations = said.removesuffix("\n").split("\n") if said else []
        except UnicodeDecodeError as error:
            raise SgdxError(f"command {line!r}: did not write UTF-8: {error}") from None
        if len(translations) != len(texts):
            counts = f"{len(translations)} lines for {len(texts)}, expected as many"
            raise SgdxError(f"command {line!r}: wrote {counts}; it said: {message}")
        return translations

    return translate


def model_translator(
    name: str, source: str | None, target: str | None, sample: bool = False
) -> Translator:
    """Translate with an encoder-decoder model, on the GPU if there is one."""
    torch = require("torch", "translate")
    model, tokenizer = _load(name)
    prefix, options = _language_options(name, tokenizer, source, target)
    options |= {"do_sample": sample}
    if sample:
        options |= {"num_beams": 1, "top_k": 0, "top_p": 1.0, "temperature": 1.0}

    def translate(texts: Sequence[str], state: int) -> list[str]:
        torch.manual_seed(state)
        if hasattr(tokenizer, "src_lang"):  # set each time: a model may translate both ways
            tokenizer.src_lang = source
        inputs = tokenizer([prefix + text for text in texts], return_tensors="pt", padding=True)
        if (length := inputs["input_ids"].shape[1]) > (limit := _positions(model, tokenizer)):
            raise SgdxError(f"{name}: a text has {length} tokens, expected at most {limit}")
        with torch.inference_mode():
            tokens = model.generate(**inputs.to(model.device), **options)
        decoded: list[str] = tokenizer.batch_decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return decoded

    return translate


@cache
def _load(name: str) -> tuple[Any, Any]:
    """Load a model and its tokenizer, without unpickling weights or running the model's code."""
    torch, transformers = require("torch", "translate"), require("transformers", "translate")
    require("sentencepiece", "translate")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            name, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        )
    except Exception as error:  # four libraries raise their own types
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: model cannot be loaded: {reason}") from None
    most = min(_MAX_TOKENS, _positions(model, tokenizer))
    model.generation_config.max_length = min(model.generation_config.max_length or most, most)
    return model.eval().to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def _positions(model: Any, tokenizer: Any) -> int:
    """How many tokens a model can read, or write, at most."""
    most: int = tokenizer.model_max_length
    return min(most, getattr(model.config, "max_position_embeddings", most))


def _language_options(
    name: str, tokenizer: Any, source: str | None, target: str | None
) -> tuple[str, dict[str, Any]]:
    """What makes a model use the languages: a prefix of the texts, and options of ``generate``."""
    if hasattr(tokenizer, "src_lang"):  # NLLB, M2M-100
        _language(name, tokenizer, source)
        return "", {"forced_bos_token_id": _language(name, tokenizer, target)}
    codes = getattr(tokenizer, "supported_language_codes", [])  # MarianMT to several languages
    if not codes:
        return "", {}
    if f">>{target}<<" not in codes:
        languages = ", ".join(code[2:-2] for code in codes)
        raise SgdxError(f"{name}: --languages: target is {target!r}, expected one of {languages}")
    return f">>{target}<< ", {}


def _language(name: str, tokenizer: Any, language: str | None) -> int:
    """The id of the token that stands for a language."""
    codes: dict[str, int] | None = getattr(tokenizer, "lang_code_to_id", None)
    if codes is None:
        tokens = tokenizer.all_special_tokens
        codes = dict(zip(tokens, tokenizer.convert_tokens_to_ids(tokens)))
    if language is None or language not in codes:
        expected = "the model's own codes, as eng_Latn zho_Hans (NLLB) or en zh (M2M-100)"
        raise SgdxError(f"{name}: --languages: knows no {language!r}, expected {expected}")
    return codes[language]
