"""Generators that learn nothing: the baseline of a generator, and controls of the metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Intent, Slot
from sgdx_eval.predictions import Header, write_predictions
from sgdx_eval.requested import RequestedData
from sgdx_eval.tasks.turns import read_turns, select_turns, turns_of
from sgsacc_metric.candidates import clean
from sgsacc_metric.rows import Action, Turn

# Acts in the order in which T2G2 says them; the others follow as they stand in the turn.
ORDER = (
    "SELECT",
    "INFORM_COUNT",
    "NOTIFY_SUCCESS",
    "NOTIFY_FAILURE",
    "INFORM",
    "REQUEST",
    "CONFIRM",
)
CONFIRM_FIRST = "Please confirm the following details:"
_FIXED = {
    "GOODBYE": "Have a good day.",
    "REQ_MORE": "Is there anything else I can help you with?",
    "SELECT": "All right.",
    "NOTIFY_SUCCESS": "Your request was successful.",
    "NOTIFY_FAILURE": "Your request was not successful.",
}


def derived(turn: Turn) -> str:
    """The response of the rules to a turn, in the variant of the turn's schemas."""
    return " ".join(_sentence(turn, action) for action in ordered(turn))


def ordered(turn: Turn) -> list[Action]:
    """The actions of a turn, frame by frame, in the order in which they are said."""
    services = list(dict.fromkeys(action.service for action in turn.actions))
    rank = {act: i for i, act in enumerate(ORDER)}
    return sorted(
        turn.actions,
        key=lambda action: (services.index(action.service), rank.get(action.act, len(ORDER))),
    )


def _sentence(turn: Turn, action: Action) -> str:
    slot, intent = turn.slot(action), turn.intent_of(action)
    if action.act in _FIXED and not action.values:
        return _FIXED[action.act]
    if action.act == "OFFER_INTENT":
        return f"Do you want to {_lower_first(_description(intent, action))}?"
    if action.act == "INFORM_COUNT":
        return f"There are {' '.join(action.values)} results."
    if action.act == "REQUEST":
        suggested = f" {' or '.join(action.values)}?" if action.values else ""
        return f"{_description(slot, action)}?{suggested}"
    if slot and slot.is_boolean and action.values in (["True"], ["False"]):
        return f"{_description(slot, action)}? {'Yes' if action.values == ['True'] else 'No'}."
    verb = "are" if len(action.values) > 1 else "is"
    return f"{_description(slot, action)} {verb} {' and '.join(action.values)}."


def _description(element: Slot | Intent | None, action: Action) -> str:
    """The description of what an action is about, or its name where the schema has none."""
    named = element.name if element else action.slot or action.act.lower()
    return clean(element.description if element else "") or named.replace("_", " ")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


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


Say = Callable[[Turn], str]


@dataclass(frozen=True)
class CopySystem:
    """A generator that learns nothing."""

    name: str
    say: Say  # returns its response to a turn
    # The schema variant of the turns that it gets; None for each variant's own.
    variant: str | None = None


def copy_system(name: str, templates: Path | None = None) -> CopySystem:
    """The generator ``gold``, ``derived``, ``templates`` or ``empty``."""
    if (templates is None) == (name == "templates"):
        raise SgdxError(
            f"--system {name}: found {'no' if templates is None else 'a'} --templates DIR, expected"
            " it with the system templates and with no other"
        )
    if templates is not None:
        by_service = read_templates(templates)
        return CopySystem(name, lambda turn: from_templates(turn, by_service), "original")
    say: dict[str, Say] = {
        "gold": lambda turn: turn.utterance,
        "derived": derived,
        "empty": lambda turn: "",
    }
    return CopySystem(name, say[name])


def generate(
    system: CopySystem,
    data: RequestedData,
    configs: Sequence[str],
    output: Path,
    single: Path | None = None,
) -> list[Path]:
    """Write a system's responses to all turns as `VARIANT.jsonl` for each config."""
    references = turns_of(data.release, data.split)
    paths = []
    for config in configs:
        turns = select_turns(
            read_turns(references, system.variant or config),
            data.ids or (),
            str(data.dialogues),
            single,
        )
        rows = [
            {"turn_id": turn.turn_id, "variant": config, "utterance": system.say(turn)}
            for turn in turns
        ]
        facts = {"model": f"copy of {system.name}", "input": system.name}
        header = Header(  # which is not trained, and so no oracle
            task="turns", variant=config, oracle=False, system=facts, **data.facts(config)
        )
        paths.append(write_predictions(output / f"{config}.jsonl", header, rows))
    return paths
