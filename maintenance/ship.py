"""Copy a trained onepass model to ``models/onepass``, with weights of 16 bits or fewer.

``python -m maintenance.ship --model outputs/onepass-record_gpu`` takes what the model needs to be
loaded, and the record, log and recipe of its training. Weights that ``bits`` have packed are copied
as they are. Others are rounded: then evaluate the copy, as its scores are those of the rounded
weights. Let ``sgdx publish`` write its card.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from baselines.run_folder import read_json
from baselines.use import SHIPPED_MODEL
from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import run

_COPIED = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "run.json",
    "log.jsonl",
)


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m maintenance.ship", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the run folder of the training")
    parser.add_argument("--recipe", type=Path, required=True, help="the recipe it was trained with")
    parser.add_argument(
        "--output",
        type=Path,
        default=SHIPPED_MODEL,
        help="folder to write; default: models/onepass",
    )
    options = parser.parse_args()
    return run("maintenance.ship", lambda: ship(options.model, options.recipe, options.output))


def ship(model: Path, recipe: Path, output: Path) -> None:
    """Write the copy.

    Args:
        model: The run folder of the training.
        recipe: The file of its recipe.
        output: The folder to write, which must not exist.

    Raises:
        SgdxError: The folder exists, or a file of the model is missing.
    """
    import torch
    from safetensors.torch import load_file, save_file

    if output.exists():
        raise SgdxError(f"{output}: exists, expected no such folder; remove it first")
    weights = sorted(model.glob("model*.safetensors*"))  # several of packed ones, and their index
    missing = [name for name in _COPIED if not (model / name).is_file()]
    if missing or not weights:
        lacking = [*missing, "model.safetensors"][0]
        raise SgdxError(f"{model}: has no {lacking}, expected the folder of a finished training")
    output.mkdir(parents=True)
    for name in _COPIED:
        shutil.copyfile(model / name, output / name)
    shutil.copyfile(recipe, output / "recipe.yaml")
    packed = "quantization_config" in (read_json(model, "config.json") or {})
    for path in weights:
        if packed:
            shutil.copyfile(path, output / path.name)
        else:
            tensors = load_file(path)
            rounded = {name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()}
            save_file(rounded, output / path.name, metadata={"format": "pt"})


if __name__ == "__main__":
    sys.exit(main())
