"""The batches of a training in a folder: those that lack are made and written, others read.

``index.json`` says what they were made of, and has the lengths of the examples. Each batch is a
file of safetensors, named after the examples in it. Trainings that differ only in encoder, steps or
rate share a folder, if their encoders have the same tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, write_bytes
from sgdx_dataset.io.json import decode_json

from ..batching import Ints
from ..settings import EpochSettings
from ..tracker import Examples
from .data import Tensors, filled
from .examples import FrameExamples
from .layout import Vocabulary
from .settings import Settings


class _Index(msgspec.Struct):
    """What ``index.json`` has."""

    made_of: dict[str, Any]
    facts: dict[str, Any]  # of the examples
    lengths: list[int]  # tokens of each example


def made_of(settings: Settings, data: str, vocabulary: Vocabulary) -> dict[str, Any]:
    """All that the batches of a training depend on, but which examples are in each."""
    own = msgspec.structs.asdict(settings)
    shared = {*EpochSettings.__struct_fields__, "encoded", "dropout"} - {"seed"}
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    tokens = vocabulary.tokenizer.backend_tokenizer.to_str().encode()
    digests = {"tokens": tokens, "code": code}
    return {
        **{name: value for name, value in own.items() if name not in shared},
        "data": data,
        **{name: hashlib.sha256(content).hexdigest() for name, content in digests.items()},
    }


class EncodedExamples(Examples):
    """Training examples whose batches lie in a folder."""

    def __init__(
        self, folder: Path, made: dict[str, Any], make: Callable[[], FrameExamples]
    ) -> None:
        """Open the folder, or begin it with the examples that ``make`` gives."""
        self.folder, self._make = folder, make
        path = folder / "index.json"
        if not path.exists():
            begun = _Index(made, self._examples.facts, self._examples.lengths.tolist())
            write_bytes(path, msgspec.json.encode(begun))
        index = decode_json(read_file(path), _Index, str(path), "an index of encoded batches")
        for name, value in made.items():
            if (found := index.made_of.get(name)) != value:
                raise SgdxError(
                    f"encoded: {path}: {name} is {found!r}, expected {value!r}; name another folder"
                )
        self.lengths, self.facts = np.array(index.lengths, np.int64), index.facts

    @cached_property
    def _examples(self) -> FrameExamples:
        return self._make()

    def require(self, batches: Iterable[Ints]) -> None:
        """Make the examples now, before processes that encode are forked, if a batch lacks."""
        if not all(self._path(indices).exists() for indices in batches):
            _ = self._examples

    def _path(self, indices: Ints) -> Path:
        return self.folder / f"{hashlib.sha256(indices.tobytes()).hexdigest()[:32]}.safetensors"

    def batch(self, indices: Ints) -> Tensors:
        """The batch with labels of some examples, by their indices."""
        path = self._path(indices)
        if path.exists():
            try:
                tensors = load_file(path)
            except SafetensorError as error:
                raise SgdxError(f"encoded: {path}: {error}, expected a batch; remove it") from None
            return {n: t.long() if t.dtype == torch.int32 else t for n, t in tensors.items()}
        batch = self._examples.batch(indices)
        small = {n: t.int() if t.dtype == torch.int64 else t for n, t in batch.items()}
        write_bytes(path, save({name: tensor.contiguous() for name, tensor in small.items()}))
        return batch

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to rows and tokens."""
        return filled(batch, rows, width)
