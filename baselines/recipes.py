"""Recipes: finding one, reading it with changes, and saying what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

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
    recipe = parse_yaml(read_file(path), dict[str, Any], str(path))
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
    tracker = recipe.get("tracker")
    chosen = [change for change in changes if change.startswith("tracker=")]
    where = f"--set {chosen[-1]}" if chosen else str(path)
    if not isinstance(tracker, str):
        known = ", ".join(name for name in SYSTEMS if name != "lexical")
        raise SgdxError(f"{where}: tracker is {tracker!r}, expected one of {known}")
    try:
        kind = structs_of(tracker).Settings or get_trainable(tracker)
    except SgdxError as error:
        raise SgdxError(f"{where}: {error}") from None
    try:
        # Not strict, because YAML 1.1 reads 1e-4 as a text.
        return msgspec.convert(recipe, kind, strict=False)
    except msgspec.ValidationError as error:
        key, fault = _explained(kind, recipe, str(error))
        given = [change for change in changes if _is_about(change.partition("=")[0], key)]
        where = f"--set {given[-1]}" if given else str(path)
        raise SgdxError(f"{where}: {fault}") from None


def _is_about(changed: str, key: str) -> bool:
    """Whether a change of one key can be the fault of another, which may be around or in it."""
    return f"{changed}.".startswith(f"{key}.") or f"{key}.".startswith(f"{changed}.")


def _explained(kind: Any, recipe: Any, message: str) -> tuple[str, str]:
    """The key that a message of msgspec is about, and what is wrong there and would be right."""
    fault, _, place = message.partition(" - at `$")
    names = [name for name in place.strip("`").partition("[")[0].split(".") if name]
    for name in names:
        recipe = recipe.get(name) if isinstance(recipe, dict) else None
        hint = get_type_hints(kind).get(name, kind)
        kinds = (hint, *get_args(hint))
        kind = next((each for each in kinds if hasattr(each, "__struct_fields__")), hint)
    key = ".".join(names)
    if "unknown field" in fault:
        name = fault.split("`")[1]
        known = kind.__struct_fields__
        whole = ".".join([*names, name])
        return whole, f"{whole}: no such setting, {one_of(name, known)}"
    if "missing required field" in fault:
        fields = msgspec.structs.fields(kind)
        lacking = [field.name for field in fields if field.required and field.name not in recipe]
        return key, f"{key or 'the recipe'} lacks {', '.join(lacking)}"
    if "Invalid enum value" in fault:
        values = [each for part in (kind, *get_args(kind)) for each in get_args(part)]
        texts = list(dict.fromkeys(value for value in values if isinstance(value, str)))
        texts += ["true", "false"] if bool in (*values, *get_args(kind)) else []
        return key, f"{key}: {fault.lower()}, expected one of {', '.join(texts)}"
    return key, f"{key}: {fault}" if key else fault
