"""Apply a tracker or generator of any kind to a dialogue of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from datasets import Dataset, Features

from sgdx_dataset import SgdxError
from sgdx_dataset.columns import FRAME_COLUMNS, TURN_COLUMNS
from sgdx_dataset.tracker_inputs import IDENTITY

from .predicting import predict
from .run_folder import recorded_name
from .system import System, get_system

# The tracker that comes with a checkout of the repository; it is in no installed package.
SHIPPED_MODEL = Path(__file__).parents[1] / "models" / "onepass"

Row = dict[str, Any]
Acts = Sequence[Sequence[Mapping[str, Any]]]  # of each of the system's turns, its dialogue acts
Services = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Dialogue:
    """A dialogue; the attributes are the arguments of ``track_dialogue``."""

    service: Services
    utterances: Sequence[str]
    acts: Acts = ()


def load_tracker(model: str | Path, tracker: str | None = None, **options: Any) -> System:
    """A tracker, or a generator, that is ready to predict.

    Args:
        model: A run folder, a repository on the Hub, or ``lexical``.
        tracker: ``MODULE:CLASS`` of a tracker of your own, of which the model is.
        options: Options of its prediction, such as a generator's ``templates``.

    Raises:
        SgdxError: There is no such model.
    """
    model = str(model)
    name = "lexical" if model == "lexical" else tracker or recorded_name(model)
    system_class: Any = get_system(name)
    if system_class.Settings is None:
        return system_class()  # type: ignore[no-any-return]
    from .processes import make_accelerator
    from .xla import move

    device = make_accelerator().device
    return move(system_class.from_pretrained(model, **options), device)  # type: ignore[no-any-return]


def track_dialogue(
    tracker: System, service: Services, utterances: Sequence[str], acts: Acts = ()
) -> list[Row]:
    """Track one dialogue with one service, or with several at once.

    Args:
        tracker: The tracker that ``load_tracker`` returned.
        service: The schema: ``service_name``, ``description``, ``slots`` (each with ``name``,
            ``description`` and, if it is categorical, ``possible_values``) and ``intents`` (each
            with ``name``, ``description``, ``required_slots`` and ``optional_slots``, a mapping
            from slots to their default values; both may be missing). A list of schemas for
            several services.
        utterances: What is said, in turn by the user and the system; the user begins.
        acts: For each of the system's turns its dialogue acts (``act``, ``slot``, ``values``, and
            ``service`` where there are several). Trackers that do not read them do not get them.

    Returns:
        For each of the user's turns its state: ``active_intent``, ``requested_slots`` and
        ``slot_values``, a mapping from slots to lists of values. For a list of schemas it is a
        mapping from the services' names to such states.

    Raises:
        SgdxError: ``tracker`` is none, there are no utterances, or the schema or an act is wrong.
    """
    return track_dialogues(tracker, [Dialogue(service, utterances, acts)])[0]


def track_dialogues(tracker: System, dialogues: Sequence[Dialogue]) -> list[list[Row]]:
    """Track several dialogues together, which takes less time than one after the other.

    Args:
        tracker: The tracker that ``load_tracker`` returned.
        dialogues: The dialogues.

    Returns:
        For each dialogue what ``track_dialogue`` returns.

    Raises:
        SgdxError: A dialogue has no utterances, or its schema lacks a key.
    """
    _check_system(tracker, "frames", "tracker")
    rows, variants = [], list[dict[str, Row]]()  # of each variant the schemas by their names
    for index, dialogue in enumerate(dialogues):
        of_dialogue = _rows(dialogue, f"dialogue_{index}")
        own = {row["service"]: row["schema"] for row in of_dialogue}
        # A service is read once under each variant, so another schema of its name is another one.
        fitting = (i for i, of in enumerate(variants) if (of | own) == (own | of))
        if (number := next(fitting, len(variants))) == len(variants):
            variants.append({})
        variants[number] |= own
        name = f"schema {number}" if number else "original"
        rows.append([row | {"variant": name} for row in of_dialogue])
    types = Features.from_arrow_schema(FRAME_COLUMNS)
    names = (*IDENTITY, "history", "utterance", "schema")
    features = Features({name: types[name] for name in names})
    frames = Dataset.from_list(list(chain.from_iterable(rows)), features)
    predictions, tracked = iter(predict(tracker, frames).rows), []
    for dialogue, of_dialogue in zip(dialogues, rows):
        turns: dict[int, Row] = {}  # of each of the user's turns, the states of the services
        for row in of_dialogue:
            said = next(predictions)
            turns.setdefault(row["turn"], {})[row["service"]] = {
                "active_intent": said["active_intent"],
                "requested_slots": said["requested_slots"],
                "slot_values": {entry["slot"]: entry["values"] for entry in said["slot_values"]},
            }
        is_one = isinstance(dialogue.service, Mapping)
        states = list(turns.values())
        tracked.append([next(iter(of.values())) for of in states] if is_one else states)
    return tracked


def say(
    generator: System,
    service: Mapping[str, Any],
    actions: Sequence[Mapping[str, Any]],
    intent: str = "",
) -> str:
    """What a generator says in one turn of the system with one service.

    Args:
        generator: The generator that ``load_tracker`` returned.
        service: The schema, as of ``track_dialogue``.
        actions: What the system has to say: dialogue acts (``act``, ``slot``, ``values``).
        intent: Name of the intent that was carried out, for ``NOTIFY_SUCCESS``, ``NOTIFY_FAILURE``
            and ``INFORM_COUNT``.

    Raises:
        SgdxError: ``generator`` is none, or the schema lacks a key, or it has no such slot, value
            or intent as an action or ``intent`` names.
    """
    _check_system(generator, "turns", "generator")
    schema = _schema(_read(service, _Service, "schema"))
    acts = [_checked(schema, act) for act in _read(actions, list[_Act], "acts")]
    if not acts:
        raise SgdxError("found no actions, expected at least one, which the system says")
    intents = [one["name"] for one in schema["intents"]]
    if intent and intent not in intents:
        raise SgdxError(f"intent: found {intent!r:.60}, expected one of {', '.join(intents)}")
    row = {
        "turn_id": "dialogue/1",
        "variant": "original",
        "dialogue_id": "dialogue",
        "service": schema["service_name"],
        "actions": acts,
        "intent": intent,
        "schemas": [schema],
        "original_actions": acts,
        "original_intent": intent,
    }
    types = Features.from_arrow_schema(TURN_COLUMNS)
    original = {"original_actions": types["actions"], "original_intent": types["intent"]}
    features = {**types, **original, "dialogue_id": types["turn_id"]}
    rows = Dataset.from_list([row], Features({name: features[name] for name in row}))
    return str(predict(generator, rows).rows[0]["utterance"])


def _check_system(system: object, rows: str, kind: str) -> None:
    """Refuse anything but a tracker, or a generator."""
    if getattr(system, "ROWS", None) != rows:
        found = {"frames": "a tracker", "turns": "a generator"}.get(getattr(system, "ROWS", ""))
        name = getattr(system, "NAME", repr(type(system).__name__))
        raise SgdxError(f"found {found or 'no system'} ({name}), expected a {kind} of load_tracker")


# What a system does in SGD: what is about a slot, and all else.
_OF_SLOT = ("INFORM", "REQUEST", "CONFIRM", "OFFER")
_ActName = Literal[
    "INFORM", "REQUEST", "CONFIRM", "OFFER", "OFFER_INTENT", "INFORM_COUNT", "NOTIFY_SUCCESS",
    "NOTIFY_FAILURE", "REQ_MORE", "GOODBYE",
]  # fmt: skip


class _Act(msgspec.Struct):
    """A dialogue act of the system as callers give it."""

    act: _ActName
    slot: str = ""
    values: list[str | int | float] = []
    service: str = ""


class _Slot(msgspec.Struct):
    name: str
    description: str
    possible_values: list[str] = []


class _Intent(msgspec.Struct):
    name: str
    description: str
    is_transactional: bool = False
    required_slots: list[str] = []
    optional_slots: dict[str, str] = {}
    result_slots: list[str] = []


class _Service(msgspec.Struct):
    """A schema as ``track_dialogue`` takes it."""

    service_name: str
    description: str
    slots: list[_Slot]
    intents: list[_Intent]


_Utterances = Annotated[list[str], msgspec.Meta(min_length=1)]
_Services = Annotated[list[_Service], msgspec.Meta(min_length=1)]


def _read(given: Any, kind: Any, what: str) -> Any:
    """What a caller gives, as a type."""
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        hint = f" ({', '.join(get_args(_ActName))})" if "enum" in str(error) else ""
        raise SgdxError(f"found the {what} {given!r:.60}: {error}{hint}") from None


def _schema(service: _Service) -> Row:
    """The ``schema`` of a frame row."""
    schema: Row = msgspec.to_builtins(service)
    for slot in schema["slots"]:
        slot["is_categorical"] = bool(slot["possible_values"])
    for intent in schema["intents"]:
        optional = intent["optional_slots"].items()
        intent["optional_slots"] = [{"slot": slot, "value": value} for slot, value in optional]
    return {**schema, "original_name": schema["service_name"], "seen": False}


def _action(service: str, act: _Act) -> Row:
    """A dialogue act of the system as rows have it."""
    values = [str(value) for value in act.values]
    of_act = {"service": service, "act": act.act, "slot": act.slot}
    return {**of_act, "values": values, "canonical_values": values}


def _checked(schema: Row, act: _Act) -> Row:
    """An action as rows have it, which says something that the schema knows."""
    slots, (slot, values) = {one["name"]: one for one in schema["slots"]}, (act.slot, act.values)
    known: Sequence[str] | None = None  # what its values may be
    if act.act in _OF_SLOT:
        if slot not in slots:
            expected = f"one of {', '.join(slots)}" if slots else "none, as the schema has none"
            raise SgdxError(f"{act.act}: found the slot {slot!r:.60}, expected {expected}")
        if not values and act.act != "REQUEST":
            raise SgdxError(f"{act.act} {slot}: found no values, expected at least one")
        known = slots[slot]["possible_values"] or None
    elif act.act == "OFFER_INTENT":
        known = [one["name"] for one in schema["intents"]]
    elif slot not in ("", "count") or (slot and act.act != "INFORM_COUNT"):
        raise SgdxError(f"{act.act}: found the slot {slot!r:.60}, expected none")
    wrong = [str(v) for v in values if known is not None and str(v) not in (*known, "dontcare")]
    if wrong:
        found = f"{act.act} {slot}: found the value {wrong[0]!r:.60}"
        raise SgdxError(f"{found}, expected one of {', '.join(known or ())}")
    return _action(schema["service_name"], act)


def _rows(dialogue: Dialogue, dialogue_id: str) -> list[Row]:
    """A frame row for each of the user's turns and each service."""
    utterances, acts = _read(dialogue.utterances, _Utterances, "dialogue"), dialogue.acts
    read = _read(dialogue.service, _Service | _Services, "schema")
    schemas = [_schema(service) for service in (read if isinstance(read, list) else [read])]
    names = [schema["service_name"] for schema in schemas]
    if len({*names}) < len(names):
        raise SgdxError(f"found the services {names}, expected ones of different names")
    history = []
    for turn, utterance in enumerate(utterances):
        # The system's turns come second, and have acts.
        given = acts[turn // 2] if turn % 2 and turn // 2 < len(acts) else ()
        actions = [_action(a.service or names[0], a) for a in _read(given, list[_Act], "acts")]
        speaker = "SYSTEM" if turn % 2 else "USER"
        history.append({"speaker": speaker, "utterance": utterance, "actions": actions})
    return [
        {
            "frame_id": f"{dialogue_id}/{turn}/{name}",
            "dialogue_id": dialogue_id,
            "turn": turn,
            "service": name,
            "history": history[:turn],
            "utterance": utterances[turn],
            "schema": schema,
        }
        for turn in range(0, len(utterances), 2)
        for name, schema in zip(names, schemas)
    ]
