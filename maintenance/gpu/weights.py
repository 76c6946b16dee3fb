"""Encoders that fit through a transfer: ``python -m maintenance.gpu.weights``.

``small MODEL FOLDER`` writes an encoder with its matrices in 8 bits.
``renumber MODEL OTHER FOLDER`` writes an encoder that has the tokens of another one in its order.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from transformers import AutoModel, AutoTokenizer

from baselines.packing import packed_copy


def write_small(model: Path, folder: Path) -> None:
    """Write an encoder, without its pooler, which no loss would train, in 8 bits."""
    encoder = AutoModel.from_pretrained(model, add_pooling_layer=False)
    encoder.config.name_or_path = ""  # where it lay is nobody's business
    packed, weights = packed_copy(encoder, 8)
    del packed.config.weights_sha256  # it is loaded with a pooler, whose weights are random
    packed.save_pretrained(folder, state_dict=weights)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)


def renumber(model: Path, other: Path, folder: Path) -> None:
    """Write an encoder with the token ids of another one, whose tokens it has all."""
    tokens = [AutoTokenizer.from_pretrained(of) for of in (model, other)]
    own, wanted = (of.get_vocab() for of in tokens)
    # The special tokens may be spelled differently: each is found by what it is for.
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    pairs = [tuple(getattr(of, role) for of in tokens) for role in roles]
    ids = own | {theirs: own[mine] for mine, theirs in pairs if theirs is not None}
    order = [ids[token] for token in sorted(wanted, key=wanted.__getitem__)]
    encoder = AutoModel.from_pretrained(model)
    rows = encoder.get_input_embeddings().weight.data
    encoder.resize_token_embeddings(len(order))
    encoder.get_input_embeddings().weight.data.copy_(rows[order])
    encoder.config.pad_token_id = tokens[1].pad_token_id
    encoder.save_pretrained(folder)
    tokens[1].save_pretrained(folder)


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    does: dict[str, Any] = {"small": write_small, "renumber": renumber}
    does[command](*map(Path, paths))
