"""A response made of hand-written templates: those of T2G2, if the user has them.

T2G2 (Kale and Rastogi 2020, arXiv 2004.15006) has a file `<Service>.tsv` of templates for each of
SGD's services, in the folder `generation/utterance_templates` of its repository. They are not part
of this project. Their keys are the names of the original schemas, so the response is the same under
every variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sgdx_dataset import SgdxError
from sgsacc_metric.rows import Action, Turn

from .derived import CONFIRM_FIRST, ordered

Templates = Mapping[str, str]
_BY_INTENT = ("NOTIFY_FAILURE", "NOTIFY_SUCCESS", "INFORM_COUNT", "OFFER_INTENT")
_WORDS = ("True", "False", "dontcare")


def read_templates(folder: Path) -> dict[str, Templates]:
    """Read all templates of a folder, by service and key."""
    # A line is a key, a tab and a text, which has as many `@` as the key. Of a key that occurs
    # twice, the last line counts.
    files = sorted(folder.glob("*.tsv"))
    if not files:
        raise SgdxError(f"--templates {folder}: found no *.tsv, expected <Service>.tsv files")
    return {file.stem: _read(file) for file in files}


def _read(file: Path) -> Templates:
    templates: dict[str, str] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SgdxError(f"{file}: cannot be read as text: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        key, tab, text = line.strip().partition("\t")
        if not tab or key.count("@") != text.count("@"):
            raise SgdxError(
                f"{file}:{number}: found {line!r}, expected KEY<tab>TEXT with as many @ in both"
            )
        templates[key] = text
    return templates


def from_templates(turn: Turn, templates: Mapping[str, Templates]) -> str:
    """The response of the templates to a turn."""
    sentences: list[str] = []
    service = None
    for action in ordered(turn):
        if action.service != service:
            service = action.service
            acts = {other.act for other in turn.actions if other.service == service}
            sentences += [CONFIRM_FIRST] if "CONFIRM" in acts else []
        key = template_key(turn, action)
        if service not in templates or key not in templates[service]:
            raise SgdxError(f"turn {turn.turn_id}: found no template {key} of {service}")
        sentences.append(_filled(templates[service][key], action.values))
    return " ".join(sentences)


def template_key(turn: Turn, action: Action) -> str:
    """The key of an action's template, such as `REQUEST!!intent!!@@`."""
    parts = [action.act]
    if action.act in _BY_INTENT:
        parts.append(action.values[0] if action.act == "OFFER_INTENT" else turn.intent)
        parts += ["count", "@"] if action.act == "INFORM_COUNT" else []
    elif action.slot:
        parts.append(action.slot)
        if action.values:
            word = action.values[0] if action.values[0] in _WORDS else "@" * len(action.values)
            parts.append(word)
    return "!!".join(parts)


def _filled(template: str, values: list[str]) -> str:
    """The template with a value in the place of each `@`; values may have an `@` themselves."""
    # Truth values and names of intents have no `@`, as they are in the key.
    first, *rest = template.split("@")
    return first + "".join(value + text for value, text in zip(values, rest, strict=False))
