"""Apply a tracker or generator of any kind to a dialogue of your own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from datasets import Dataset, Features

from sgdx_dataset import SgdxError
from sgdx_dataset.columns import FRAME_COLUMNS, TURN_COLUMNS
from sgdx_dataset.tracker_inputs import IDENTITY

from .data.rows import predict
from .system import System, get_system, is_trainable, recorded_name

# The tracker that comes with a checkout of the repository; it is in no installed package.
SHIPPED_MODEL = Path(__file__).parents[1] / "models" / "onepass"

Row = dict[str, Any]
Acts = Sequence[Sequence[Mapping[str, Any]]]  # of each of the system's turns, its dialogue acts
_COLUMNS = (*IDENTITY, "history", "utterance", "schema")


Services = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Dialogue:
    """A dialogue; the attributes are the arguments of ``track_dialogue``."""

    service: Services
    utterances: Sequence[str]
    acts: Acts = ()


def load_tracker(model: str | Path, **options: Any) -> System:
    """A tracker, or a generator, that is ready to predict.

    Args:
        model: A run folder, a repository on the Hub, or ``lexical``.
        options: Options of its prediction, such as a generator's ``templates``.

    Raises:
        SgdxError: There is no such model.
    """
    model = str(model)
    system_class = get_system(model if model == "lexical" else recorded_name(model))
    if not is_trainable(system_class):
        return system_class()
    from .processes import make_accelerator, quiet_transformers

    quiet_transformers()
    return system_class.load(model, system_class.OPTIONS(**options), make_accelerator())


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
        SgdxError: There are no utterances, or the schema lacks a key.
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
    rows, variants = [], list[dict[str, Row]]()  # of each variant the schemas by their names
    for index, dialogue in enumerate(dialogues):
        of_dialogue = _rows(dialogue, f"dialogue_{index}")
        own = {row["service"]: row["schema"] for row in of_dialogue}
        # A service is read once under each variant, so another schema of its name is another one.
        number = 0
        while number < len(variants) and (variants[number] | own) != (own | variants[number]):
            number += 1
        if number == len(variants):
            variants.append({})
        variants[number] |= own
        name = f"schema {number}" if number else "original"
        rows.append([row | {"variant": name} for row in of_dialogue])
    types = Features.from_arrow_schema(FRAME_COLUMNS)
    features = Features({name: types[name] for name in _COLUMNS})
    frames = Dataset.from_list(list(chain.from_iterable(rows)), features)
    with tempfile.TemporaryDirectory() as chunks:
        predictions = iter(predict(tracker, frames, Path(chunks)).rows)
    tracked = []
    for dialogue, of_dialogue in zip(dialogues, rows):
        states = [(row["turn"], row["service"], _state(next(predictions))) for row in of_dialogue]
        if isinstance(dialogue.service, Mapping):
            tracked.append([state for *_, state in states])
        else:
            turns: dict[int, Row] = {}
            for turn, service, state in states:
                turns.setdefault(turn, {})[service] = state
            tracked.append(list(turns.values()))
    return tracked


def _state(prediction: Row) -> Row:
    return {
        "active_intent": prediction["active_intent"],
        "requested_slots": prediction["requested_slots"],
        "slot_values": {entry["slot"]: entry["values"] for entry in prediction["slot_values"]},
    }


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
        SgdxError: ``generator`` is a tracker, or the schema lacks a key.
    """
    if generator.ROWS != "turns":
        raise SgdxError(f"{generator.NAME}: is a tracker, expected a generator")
    schema = _schema(service)
    acts = [_action(schema["service_name"], act) for act in actions]
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
    with tempfile.TemporaryDirectory() as chunks:
        return str(predict(generator, rows, Path(chunks)).rows[0]["utterance"])


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


def _schema(service: Mapping[str, Any]) -> Row:
    """The ``schema`` of a frame row."""
    try:
        schema: Row = msgspec.to_builtins(msgspec.convert(service, _Service, strict=False))
    except msgspec.ValidationError as error:
        raise SgdxError(f"found the schema {service!r:.60}: {error}") from None
    for slot in schema["slots"]:
        slot["is_categorical"] = bool(slot["possible_values"])
    for intent in schema["intents"]:
        optional = intent["optional_slots"].items()
        intent["optional_slots"] = [{"slot": slot, "value": value} for slot, value in optional]
    return {**schema, "original_name": schema["service_name"], "seen": False}


def _rows(dialogue: Dialogue, dialogue_id: str) -> list[Row]:
    """A frame row for each of the user's turns and each service."""
    utterances, acts = dialogue.utterances, dialogue.acts
    if isinstance(utterances, str | Mapping):
        raise SgdxError(f"found the dialogue {utterances!r:.60}, expected a list of utterances")
    if others := [one for one in utterances if not isinstance(one, str)]:
        raise SgdxError(f"found the utterance {others[0]!r:.60}, expected text")
    if not utterances:
        raise SgdxError("found no utterances, expected at least one, which the user says")
    given = dialogue.service
    if isinstance(given, str):
        raise SgdxError(f"found the schema {given!r:.60}: expected an object, or a list of them")
    schemas = [_schema(one) for one in ([given] if isinstance(given, Mapping) else given)]
    names = [schema["service_name"] for schema in schemas]
    if not names or len({*names}) < len(names):
        raise SgdxError(f"found the services {names}, expected one or more of different names")
    history = [
        {
            "speaker": "SYSTEM" if turn % 2 else "USER",
            "utterance": utterance,
            # Those of the system's turns, which come second; the user's have none.
            "actions": [
                _action(act.get("service", names[0]), act)
                for act in (acts[turn // 2] if turn % 2 and turn // 2 < len(acts) else ())
            ],
        }
        for turn, utterance in enumerate(utterances)
    ]
    return [
        {
            "frame_id": f"{dialogue_id}/{turn}/{name}",
            "variant": "original",
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


def _action(service: str, act: Mapping[str, Any]) -> Row:
    values = [str(value) for value in act.get("values", ())]
    return {
        "service": service,
        "act": act["act"],
        "slot": act.get("slot", ""),
        "values": values,
        "canonical_values": values,
    }
