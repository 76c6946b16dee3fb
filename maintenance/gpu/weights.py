"""Write an encoder with its matrices in 8 bits: ``python -m maintenance.gpu.weights``.

Its arguments are the folder of the encoder and the one to write. So it fits through a transfer.
"""

from __future__ import annotations

import sys
from pathlib import Path

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


if __name__ == "__main__":
    write_small(*map(Path, sys.argv[1:]))
