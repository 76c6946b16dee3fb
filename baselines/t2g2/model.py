"""Start, load and save generators: whole models, and prefixes that name the T5 they are for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from accelerate.utils import set_seed
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..system import model_file, read_provenance
from ..t5dst.model import commit_of, generation_settings, load_model, pretrained_t5, save_model
from ..training.checkpoint import check_finite, load_errors_as_sgdx, weights_digest
from ..training.loop import last_checkpoint
from ..training.task import Provenance, Run
from .examples import InputName
from .prefix import PrefixTuned
from .settings import T2G2Settings

Model = PreTrainedModel | PrefixTuned
PREFIX, NETWORKS = "prefix.safetensors", "prefix_networks.safetensors"


class Base(msgspec.Struct, frozen=True):
    """The T5 that a prefix belongs to."""

    # Name on the Hub, or a folder. A relative folder is looked for beside the prefix first.
    name: str
    revision: str  # commit on the Hub; empty for a folder
    sha256: str  # digest of the T5's weights, as ``weights_digest`` computes it
    length: int  # number of keys and values of the prefix
    hidden: int  # size of the hidden layer of the networks that made it


class T2G2Provenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a generator's model, stored in its ``config.json`` under ``sgdx``."""

    input: InputName  # what the model reads, one of ``inputs.INPUTS``
    # SHA-256 of the hand-written templates that it was trained with; empty if none.
    templates: str = ""
    max_input: int  # in tokens
    max_target: int
    beams: int
    length_penalty: float  # power of the length by which a beam's log-likelihood is divided
    # Commit on the Hub of the model that training started from; empty if that was a folder.
    pretrained_commit: str = ""
    base: Base | None = None  # the T5 that the model is a prefix for; None for a whole model


def beam_settings(model: Model, provenance: T2G2Provenance) -> GenerationConfig:
    """Settings under which ``model.generate`` searches as this generator does."""
    base: Any = model.base if isinstance(model, PrefixTuned) else model
    return generation_settings(
        base, provenance.max_target, provenance.beams, provenance.length_penalty
    )


def initial_model(
    run: Run[T2G2Settings], templates: str, texts: Sequence[str]
) -> tuple[Model, PreTrainedTokenizerBase, T2G2Provenance]:
    """The model that training starts from: the last checkpoint, or the recipe's model."""
    settings = run.settings
    provenance = run.provenance.extended(
        T2G2Provenance,
        input=settings.input,
        templates=templates,
        max_input=settings.max_input,
        max_target=settings.max_target,
        beams=settings.beams,
        length_penalty=settings.length_penalty,
    )
    name = pretrained_t5(run, texts, provenance, settings.max_target)
    checkpoint = last_checkpoint(run, "")
    stored = read_provenance(str(checkpoint), T2G2Provenance) if checkpoint else None
    commit = stored.pretrained_commit if stored else commit_of(name, settings.revision)
    provenance = msgspec.structs.replace(provenance, pretrained_commit=commit)
    if settings.prefix is None:
        whole, tokenizer = (
            load_model(str(checkpoint)) if checkpoint else load_model(name, commit or None)
        )
        return whole, tokenizer, provenance
    # The tiny model lies in the run folder, beside the prefix, wherever that folder is moved.
    recorded = "initial" if settings.model == "tiny" else name
    base = stored.base if stored else None
    base = base or Base(recorded, commit, "", settings.prefix, settings.prefix_hidden)
    set_seed(settings.seed)  # of the networks' random weights
    tuned, tokenizer = load_base(name, base, learnt=True)
    if checkpoint:
        assert tuned.networks is not None  # noqa: S101
        _load_weights(tuned.networks, str(checkpoint), NETWORKS)
    elif not base.sha256:
        base = msgspec.structs.replace(base, sha256=weights_digest(tuned.base))
    return tuned, tokenizer, msgspec.structs.replace(provenance, base=base)


def load_generator(name: str) -> tuple[Model, PreTrainedTokenizerBase]:
    """Load a generator and its tokenizer; for a prefix that is also the T5 that it is for."""
    provenance = read_provenance(name, T2G2Provenance)
    if provenance.base is None:
        model, tokenizer = load_model(name)
        return model.eval(), tokenizer
    beside_prefix = Path(name) / provenance.base.name
    base = str(beside_prefix) if beside_prefix.is_dir() else provenance.base.name
    tuned, tokenizer = load_base(base, provenance.base, learnt=False)
    _load_weights(tuned.fixed, name, PREFIX)
    tuned.base.generation_config = beam_settings(tuned, provenance)
    return tuned.eval(), tokenizer


def load_base(name: str, base: Base, learnt: bool) -> tuple[PrefixTuned, PreTrainedTokenizerBase]:
    """Load the T5 that a prefix is for, with a prefix that is yet to be learnt or loaded."""
    model, tokenizer = load_model(name, base.revision or None)
    if base.sha256 and weights_digest(model) != base.sha256:
        raise SgdxError(
            f"{name}: found a T5 with other weights than the prefix is for, expected those with "
            f"the SHA-256 {base.sha256}"
        )
    return PrefixTuned(model, base.length, base.hidden, learnt), tokenizer


def _load_weights(module: torch.nn.Module, name: str, file: str) -> None:
    path = model_file(name, file)
    if path is None:
        raise SgdxError(f"{name}: found no {file}, expected one beside config.json")
    with load_errors_as_sgdx(path, "prefix"):
        module.load_state_dict(load_file(path))
    check_finite(module, str(path))


def save_generator(
    model: Model,
    tokenizer: PreTrainedTokenizerBase,
    provenance: T2G2Provenance,
    folder: Path,
    weights: dict[str, torch.Tensor],
) -> None:
    """Write a generator that ``load_generator`` can load."""
    # Of a prefix-tuned one, the T5 and its tokenizer are not written, only the prefix (0.7 MB for
    # T5-small), the networks that made it, to go on training, and which T5 it is for.
    if not isinstance(model, PrefixTuned):
        save_model(model, tokenizer, provenance, beam_settings(model, provenance), folder, weights)
        return
    begin = "networks."
    networks = {n.removeprefix(begin): w for n, w in weights.items() if n.startswith(begin)}
    with torch.no_grad():
        prefix = {name: made.cpu().contiguous() for name, made in model.prefixes().items()}
    save_file({n: w.cpu().contiguous() for n, w in networks.items()}, folder / NETWORKS)
    save_file(prefix, folder / PREFIX)
    config = {"model_type": "t5-prefix", "sgdx": msgspec.to_builtins(provenance)}
    (folder / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
