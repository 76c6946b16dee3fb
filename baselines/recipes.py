"""Recipes: finding one, and reading it with changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset.io.errors import SgdxError, one_of
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.yaml import parse_yaml

from .system import SYSTEMS, get_trainable, structs_of


def find_recipe(name: str) -> Path:
    """The file of a recipe: a path, or ``onepass/smoke`` for one that comes with the package."""
    system, _, recipe = name.partition("/")
    packages = Path(__file__).parent
    path, packaged = Path(name), packages / system / "config" / f"{recipe}.yaml"
    if path.exists():
        return path
    if packaged.is_file():
        return packaged
    recipes = sorted(packages.glob("*/config/*.yaml"))
    names = [f"{file.parents[1].name}/{file.stem}" for file in recipes]
    raise SgdxError(f"{path}: found no YAML file of yours and no recipe, {one_of(name, names)}")


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Any:
    """A recipe of its system's own type, with changes such as ``augment.ratio=0.5``."""
    data, where = read_file(path), str(path)
    recipe = parse_yaml(data, dict[str, Any], where)
    for change in changes:
        key, equals, value = change.partition("=")
        *outer, name = key.split(".")
        inside = recipe
        for part in outer:
            inside[part] = inner = inside.get(part) or {}
            if not isinstance(inner, dict):
                raise SgdxError(f"--set {change}: {part} is {inner!r}, expected settings in it")
            inside = inner
        if not equals:
            raise SgdxError(f"--set {change}: expected KEY=VALUE, as in learning_rate=1e-4")
        inside[name] = parse_yaml(value.encode(), Any, f"--set {change}")
    if changes:
        where = " ".join([where, *(f"--set {change}" for change in changes)])
        data = msgspec.yaml.encode(recipe)
    tracker = recipe.get("tracker")
    if not isinstance(tracker, str):
        known = ", ".join(name for name in SYSTEMS if name != "lexical")
        raise SgdxError(f"{where}: tracker is {tracker!r}, expected one of {known}")
    try:
        return parse_yaml(data, structs_of(tracker).Settings or get_trainable(tracker), where)
    except SgdxError as error:
        text = str(error).removeprefix(f"{where}: ")
        # The lines of a changed recipe are no lines of its file.
        said = re.sub(r"^line \d+: ", "", text) if changes else text
        raise SgdxError(f"{where}: {said}") from None
