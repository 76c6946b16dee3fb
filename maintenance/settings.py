"""Make the pages of recipes' settings and of the keys of ``sgdx.yaml``, and the schema of these.

``python -m maintenance.settings`` writes them, of the comments in the code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from baselines import settings as common
from baselines.sgp_dst.settings import PartSettings
from baselines.system import SYSTEMS, structs_of
from sgdx_dataset.io.json import pretty_json
from sgdx_tools import keys

DOCS = Path(__file__).parents[1] / "docs"
# The structs of recipes: those of all systems, then of each what it adds.
KINDS = {
    "All systems": common.TrainingSettings,
    "Trackers with an encoder": common.EncoderSettings,
    "Recipes of epochs": common.EpochSettings,
    **{name: structs_of(name).Settings for name in SYSTEMS if name != "lexical"},
    "A submodel of sgp_dst (`parts`)": PartSettings,
    "`augment`": common.Augment,
    "`also`": common.Also,
}
_FIELD = re.compile(r"    (\w+): (.+?)(?: = (.+?))?(?:  # (?!type:)(.*?))?(?:  # type: .*)?$")
_HEAD = """# Settings of recipes

`sgdx train --set KEY=VALUE` changes any of these. A setting in another is named with a dot:
`augment.ratio=0.5`, `parts.intent.epochs=2`. This page is made of the code by
`python -m maintenance.settings`.
"""
# What stands under each key of the file that is an object.
_PARTS: dict[str, Any] = {
    "tools": keys.Tools,
    "variants": keys.NewWords,
    "models": keys.Model,
    "asking": keys.Asking,
    "gate": keys.Gate,
}
_KEYS_HEAD = f"""# All keys of sgdx.yaml

[Your own tools](your-own-tools.md) says what they are for. Paths are relative to the file's folder.
Editors that know YAML complete and check the keys by [a JSON Schema](_static/sgdx.schema.json),
which `sgdx tools init` names in the first line of the file:

```yaml
{keys.SCHEMA_LINE}
```

This page and the schema are made of the code by `python -m maintenance.settings`.
"""


class _Field(NamedTuple):
    """A field of a class as its source has it."""

    name: str
    kind: str
    default: str | None
    text: str


def _fields(kind: Any) -> Iterator[_Field]:
    """The fields that a class itself has, with the comments above and beside them."""
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        if line.startswith("    # "):
            above.append(line.removeprefix("    # "))
            continue
        if (found := _FIELD.match(line)) and found[1] in kind.__struct_fields__:
            name, of, default, beside = found.groups()
            text = " ".join([*above, (beside or "").split("  # ")[0]]).strip().replace("``", "`")
            yield _Field(name, of, default, text)
        above = []


def page() -> str:
    """The page of settings in Markdown."""
    return "\n".join([_HEAD, *(_section(title, kind) for title, kind in KINDS.items())]) + "\n"


def _section(title: str, kind: Any) -> str:
    """A table of the settings that a class itself has."""
    rows = ["| setting | kind | default | what it is |", "|---|---|---|---|"]
    for name, of, default, text in _fields(kind):
        shown = f"`{of}`".replace("|", r"\|")
        rows.append(f"| `{name}` | {shown} | {f'`{default}`' if default else 'needed'} | {text} |")
    first = (inspect.getdoc(kind) or "").splitlines()[0].replace("``", "`")
    return f"\n## {title}\n\n{first}\n\n" + "\n".join(rows)


def keys_schema() -> dict[str, Any]:
    """The JSON Schema of ``sgdx.yaml``, in which each key has its comment."""
    schema = msgspec.json.schema(keys.Keys)
    for kind in (keys.Keys, *_PARTS.values()):
        names = {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
        texts = {names[f.name]: f.text for base in kind.__mro__[:2] for f in _own_fields(base)}
        for name, of in schema["$defs"][kind.__name__]["properties"].items():
            of["description"] = texts[name].replace("`", "")
    return schema


def _own_fields(kind: Any) -> list[_Field]:
    return [*_fields(kind)] if kind.__module__ == keys.__name__ else []


def keys_page() -> str:
    """The page of keys in Markdown."""
    definitions = keys_schema()["$defs"]
    parts = [_KEYS_HEAD]
    for title, kind in {"The file": keys.Keys, **_PARTS}.items():
        names = {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
        doc = (inspect.getdoc(kind) or "").replace("\n", " ")
        rows = ["| key | value | what it is |", "|---|---|---|"]
        for field in _fields(kind):
            name = names[field.name]
            value = _value(definitions[kind.__name__]["properties"][name])
            link = f"[`{name}`](#{name})" if name in _PARTS and kind is keys.Keys else f"`{name}`"
            rows.append(f"| {link} | {value} | {field.text} |")
        parts.append(f"\n## {title}\n\n{doc}\n\n" + "\n".join(rows))
    return "\n".join(parts) + "\n"


def _value(schema: dict[str, Any]) -> str:
    """What a value is, in words."""
    if "anyOf" in schema:
        return " or ".join(text for of in schema["anyOf"] if (text := _value(of)))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum")
    limits = f" from {low:g}" if low is not None else ""
    limits = " above 0" if "exclusiveMinimum" in schema else limits
    limits += f" to {high:g}" if high is not None else ""
    words = {"string": "text", "boolean": "true or false", "array": "list", "null": ""}
    kind = schema.get("type", "object")
    kind = "list" if kind == "array" else {"object": "keys"}.get(kind, words.get(kind, kind))
    return f"{kind}{limits}" if kind else ""


FILES: dict[Path, Callable[[], bytes]] = {
    DOCS / "settings.md": lambda: page().encode(),
    DOCS / "keys.md": lambda: keys_page().encode(),
    DOCS / "_static" / "sgdx.schema.json": lambda: pretty_json(keys_schema(), 1),
}

if __name__ == "__main__":
    for path, made in FILES.items():
        path.write_bytes(made())
