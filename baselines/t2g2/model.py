"""Prefix tuning of T5: learnt keys and values in front of every layer's three attentions.

Li and Liang 2021 (arXiv 2101.00190), in the shape that Chen, Lin and Byrne 2023 (arXiv 2301.12568)
report for T5-small: 10 keys and values for each layer of the encoder's self-attention, the
decoder's self-attention and its attention to the input, from three small networks with 7,702,656
parameters in all; the 60,506,624 parameters of T5 stay as they are.

T5 calls a registered attention function (transformers 5.20 and later). The one that is registered
here puts a module's prefix before its keys and values and then calls T5's own, so the prefix is
never in the cache, and no model but those of this file is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import torch
from accelerate.utils import set_seed
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import (
    AttentionInterface,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.models.t5 import modeling_t5

from sgdx_dataset import SgdxError

from ..checkpoint import check_finite, load_errors_as_sgdx, weights_digest
from ..loop import last_checkpoint
from ..settings import InputName, T2G2Settings
from ..system import model_file, read_provenance
from ..t5dst.model import commit_of, generation_settings, load_model, pretrained_t5, save_model
from ..task import Provenance, Run
from ..trained import TrainedModel

ATTENTION = "t2g2_prefix"  # the name under which transformers knows the attention function
PLACES = ("encoder", "decoder", "cross")  # the three attentions that have a prefix


def prefix_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    position_bias: torch.Tensor | None = None,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """T5's own attention, with the module's prefix before its keys and values if it has one."""
    # Queries, keys and values are [inputs, heads, places, size], masks and biases [inputs, heads or
    # 1, queries or 1, keys], a prefix [2, heads, length, size]. Every query may attend to the
    # prefix, and has no position relative to it.
    prefix = getattr(module, "prefix", None)
    if prefix is not None:
        keys, values = prefix.to(key.dtype).unsqueeze(1).expand(-1, len(key), -1, -1, -1)
        key, value = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
        room = (prefix.shape[2], 0)  # zeros before the keys: no mask and no bias for the prefix
        if attention_mask is not None:
            attention_mask = nn.functional.pad(attention_mask, room)
        if position_bias is not None:
            position_bias = nn.functional.pad(position_bias, room)
    attended: tuple[torch.Tensor, torch.Tensor] = modeling_t5.eager_attention_forward(
        module, query, key, value, attention_mask, position_bias=position_bias, **options
    )
    return attended


AttentionInterface.register(ATTENTION, prefix_attention)
AttentionMaskInterface.register(ATTENTION, eager_mask)


class PrefixTuned(nn.Module):
    """A frozen T5 with a prefix, which is either learnt or fixed.

    Attributes:
        base: The T5, whose weights need no gradient.
        networks: The networks that make the prefix of each of ``PLACES``, while it is learnt.
        fixed: The prefix of each of ``PLACES``, when it is fixed
            [layers, 2, heads, length, size] each.
    """

    def __init__(self, base: PreTrainedModel, length: int, hidden: int, learnt: bool) -> None:
        """Put a prefix before a T5's keys and values: a random one to learn, or one of zeros.

        Args:
            base: The T5; it is frozen and given the attention function of this file.
            length: Number of keys and values of a prefix.
            hidden: Size of the hidden layer of the networks.
            learnt: Whether the prefix is made by networks, or fixed.

        Raises:
            SgdxError: The model is no T5.
        """
        super().__init__()
        config: Any = base.config
        if config.model_type != "t5":
            raise SgdxError(f"prefix: found a {config.model_type} model, expected a T5")
        self.base = base.requires_grad_(False)
        base.set_attn_implementation(ATTENTION)
        layers = {"encoder": config.num_layers, "decoder": config.num_decoder_layers}
        layers["cross"] = config.num_decoder_layers
        shapes = {name: (layers[name], 2, config.num_heads, length, config.d_kv) for name in PLACES}
        self.networks: nn.ModuleDict | None = None
        if learnt:
            networks = {
                name: PrefixNetwork(shapes[name], config.d_model, hidden) for name in PLACES
            }
            self.networks = nn.ModuleDict(networks)
        else:
            zeros = {name: torch.zeros(shape) for name, shape in shapes.items()}
            self.fixed = nn.ParameterDict(zeros).requires_grad_(False)

    @property
    def config(self) -> Any:
        """The configuration of the T5."""
        return self.base.config

    @property
    def generation_config(self) -> Any:
        """The settings that ``generate`` uses."""
        return self.base.generation_config

    @property
    def device(self) -> torch.device:
        """The device that the T5 is on."""
        return self.base.device

    def prefixes(self) -> dict[str, torch.Tensor]:
        """The prefix of each of ``PLACES`` in float32, [layers, 2, heads, length, size] each."""
        if self.networks is None:
            return dict(self.fixed.items())
        with torch.autocast(self.device.type, enabled=False):
            return {name: network() for name, network in self.networks.items()}

    def forward(self, **inputs: Any) -> Any:
        """What the T5 returns with the prefix; gradients reach the networks through it."""
        with _inserted(self.base, self.prefixes()):
            return self.base(**inputs)

    @torch.no_grad()
    def generate(self, **inputs: Any) -> Any:
        """What the T5's own ``generate`` returns with the prefix, which is computed once."""
        with self.inserted():
            return self.base.generate(**inputs)  # type: ignore[operator]

    @contextmanager
    def inserted(self) -> Iterator[PreTrainedModel]:
        """The T5, whose attentions have the prefix while the context is open."""
        with _inserted(self.base, self.prefixes()):
            yield self.base


class PrefixNetwork(nn.Module):
    """Makes the prefix of all layers of one kind of attention from an embedding for each place."""

    def __init__(self, shape: tuple[int, int, int, int, int], width: int, hidden: int) -> None:
        """Create the network with random weights."""
        super().__init__()
        layers, both, heads, length, size = shape
        self.shape = (length, layers, both, heads, size)
        self.embedding = nn.Embedding(length, width)
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(hidden, layers * both * heads * size)

    def forward(self) -> torch.Tensor:
        """The prefix [layers, 2, heads, length, size]."""
        made: torch.Tensor = self.outer(torch.tanh(self.inner(self.embedding.weight)))
        return made.view(self.shape).permute(1, 2, 3, 0, 4)


@contextmanager
def _inserted(base: PreTrainedModel, prefixes: dict[str, torch.Tensor]) -> Iterator[None]:
    """Give every attention of a T5 its prefix while the context is open."""
    attentions = _attentions(base)
    for name, modules in attentions.items():
        for module, prefix in zip(modules, prefixes[name], strict=True):
            module.prefix = prefix
    try:
        yield
    finally:
        for modules in attentions.values():
            for module in modules:
                module.prefix = None


def _attentions(base: Any) -> dict[str, list[Any]]:
    """The attentions of a T5 by ``PLACES``, layer by layer."""
    return {
        "encoder": [block.layer[0].SelfAttention for block in base.encoder.block],
        "decoder": [block.layer[0].SelfAttention for block in base.decoder.block],
        "cross": [block.layer[1].EncDecAttention for block in base.decoder.block],
    }


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
    trained: TrainedModel[Model, T2G2Provenance],
    model: Model,
    folder: Path,
    weights: dict[str, torch.Tensor],
) -> None:
    """Write a generator that ``load_generator`` can load."""
    # Of a prefix-tuned one, the T5 and its tokenizer are not written, only the prefix (0.7 MB for
    # T5-small), the networks that made it, to go on training, and which T5 it is for.
    provenance = trained.provenance
    if not isinstance(model, PrefixTuned):
        save_model(trained, model, beam_settings(model, provenance), folder, weights)
        return
    begin = "networks."
    networks = {n.removeprefix(begin): w for n, w in weights.items() if n.startswith(begin)}
    with torch.no_grad():
        prefix = {name: made.cpu().contiguous() for name, made in model.prefixes().items()}
    save_file({n: w.cpu().contiguous() for n, w in networks.items()}, folder / NETWORKS)
    save_file(prefix, folder / PREFIX)
    config = {"model_type": "t5-prefix", "sgdx": msgspec.to_builtins(provenance)}
    (folder / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
