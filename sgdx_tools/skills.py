"""Skills (agentskills.io): files SKILL.md, of which a model sees a name and a description each.

Clients show all skills in one tool, which is called with the name of a skill. Here a skill is a
tool without arguments, so that cases, variants, ranks and checks speak of it by its name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.yaml import parse_yaml_document

from .data import Json

# The tool that shows skills, and its argument.
SKILL, ARGUMENT = "Skill", "skill"
_HIDDEN = "disable-model-invocation"  # of a skill that people alone can call


class FrontMatter(msgspec.Struct):
    """What a model sees of a skill."""

    # Clients take the folder's name, and the first paragraph, where these are not there.
    name: str = ""
    description: str = ""
    # When it is to be used, which Claude Code shows after the description.
    when_to_use: str = ""


def read_front_matter(data: bytes, path: Path) -> tuple[FrontMatter, Json]:
    """Read a SKILL.md's first lines, between two lines ``---``: what is shown, and the rest."""
    try:
        lines = [line.rstrip() for line in data.decode().splitlines()]
    except ValueError as error:
        raise SgdxError(f"{path}: {error}") from None
    if lines[:1] != ["---"] or "---" not in lines[1:]:
        raise SgdxError(f"{path}: found no lines between ---, expected name and description there")
    # With the first line, which YAML knows, so that faults name lines of the file.
    end = lines.index("---", 1)
    front = parse_yaml_document("\n".join(lines[:end]).encode(), str(path))
    try:
        shown = msgspec.convert(front, FrontMatter)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{path}: {error}") from None
    paragraphs = "\n".join(lines[end + 1 :]).split("\n\n")
    texts = [" ".join(text.split()) for text in paragraphs if text.strip()[:1] not in ("", "#")]
    shown.name = shown.name.strip() or path.resolve().parent.name
    shown.description = shown.description.strip() or next(iter(texts), "")
    if not shown.description:
        raise SgdxError(f"{path}: description: found nothing, expected text")
    if shown.when_to_use.strip():
        shown.description += f" - {shown.when_to_use.strip()}"
    if front.get(_HIDDEN) is True:
        raise SgdxError(f"{path}: {_HIDDEN}: found true, so that clients show it to no model")
    rest = {k: str(value) for k, value in front.items() if k not in FrontMatter.__struct_fields__}
    return shown, rest


def skill_tool(skills: Sequence[Json]) -> Json:
    """The tool in which a client shows skills, of tools with a name and a description."""
    listed = "\n".join(f"- {skill['name']}: {skill['description']}" for skill in skills)
    names = [skill["name"] for skill in skills]
    argument = {"type": "string", "description": "The name of the skill", "enum": names}
    return {
        "name": SKILL,
        "description": f"Use a skill where its description fits the task. Skills:\n{listed}",
        "parameters": {
            "type": "object",
            "properties": {ARGUMENT: argument},
            "required": [ARGUMENT],
        },
    }


def skill_called(name: str, arguments: object) -> str:
    """The skill that a call names, or, of another tool, that tool."""
    given = arguments if isinstance(arguments, dict) else {}
    skill = given.get(ARGUMENT, given.get("command"))  # as Claude Code called it before
    return skill if name == SKILL and isinstance(skill, str) else name


def as_skill_calls(message: Json) -> Json:
    """A message whose calls of skills are calls of the tool in which a client shows them."""
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in message["tool_calls"]:
        arguments = json.dumps({ARGUMENT: call["function"]["name"]}, ensure_ascii=False)
        calls.append(call | {"function": {"name": SKILL, "arguments": arguments}})
    return message | {"tool_calls": calls}
