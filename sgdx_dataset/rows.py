"""Rows of a release: its dialogues, the user's frames and the system's turns.

``read_dialogues`` gives dialogues as the release has them. ``frame_rows`` and ``turn_rows`` make
plain rows of one. ``row_tables`` makes a table of a split's rows: they are made once, in the
original names, and every variant's names are then put in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from .columns import (
    DIALOGUE_COLUMNS,
    FRAME_COLUMNS,
    SERVICE,
    SLOT_VALUE,
    SLOT_VALUES,
    TURN_COLUMNS,
)
from .configs import split_name
from .io.errors import SgdxError
from .io.json import decode_json, many_objects
from .io.progress import advance, progress
from .release import Release
from .schema import NONE_INTENT, Service

Position = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
# The first value of a slot is the canonical one, which scoring takes: there must be one.
Values = Annotated[list[str], msgspec.Meta(min_length=1)]
Row = dict[str, Any]
Kind = Literal["dialogues", "frames", "turns"]

# Actions may have a slot that is no slot of the service: none, "count", or "intent". But a service
# may have a slot called "intent" (Homes_2 has one), which is renamed like any other slot. Only
# beside these acts does "intent" stand for the service's intents.
INTENT_ACTS = ("INFORM_INTENT", "OFFER_INTENT")
FREE_SLOTS = ("", "count", "intent")


class Span(TypedDict):
    """A slot value's characters in the utterance: ``utterance[start:exclusive_end]``."""

    slot: str
    start: NotRequired[Position]  # MultiWOZ 2.2 has none where a value is another slot's
    exclusive_end: NotRequired[Position]


class Action(TypedDict):
    """A dialogue act; ``slot`` is empty where the act has none."""

    act: str
    slot: str
    values: list[str]
    canonical_values: list[str]


class State(TypedDict):
    """A service's state after a user turn; a slot's values are different forms of one value."""

    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, Values]


class ServiceCall(TypedDict):
    """The API call that the system made before it spoke."""

    method: str
    parameters: dict[str, str]


class Frame(TypedDict):
    """A turn's part about one service; a user's has a state, a system's may have a service call."""

    service: str
    slots: list[Span]
    actions: NotRequired[list[Action]]  # MultiWOZ 2.2 may have none
    state: NotRequired[State]
    service_call: NotRequired[ServiceCall]
    service_results: NotRequired[list[dict[str, str]]]


class Turn(TypedDict):
    """One utterance of the ``USER`` or the ``SYSTEM``."""

    speaker: Literal["USER", "SYSTEM"]
    utterance: str
    frames: list[Frame]


class Dialogue(TypedDict):
    """One entry of a release's ``dialogues_*.json``."""

    dialogue_id: str
    services: list[str]
    turns: list[Turn]


def read_dialogues(release: Release, split: str) -> Iterator[tuple[str, list[Dialogue]]]:
    """Read a split's dialogue files one after the other, each with its path in the release."""
    known = {service.service_name for service in release.schema(split, "original")}
    file_of: dict[str, str] = {}
    for file in release.dialogue_files(split):
        path = f"{release.name}: {file}"
        with many_objects():
            what = "a list of dialogues with labels ('sgdx track' reads some without)"
            dialogues = decode_json(release.read(file), list[Dialogue], path, what)
            if not dialogues:
                raise SgdxError(f"{path}: has no dialogue, expected at least one")
            for dialogue in dialogues:
                name = dialogue["dialogue_id"]
                if name in file_of:
                    raise SgdxError(f"{path}: dialogue {name} is in {file_of[name]} already")
                file_of[name] = file
                if release.shares_schema:
                    _tidy(dialogue)
                _check(dialogue, known, f"{path}: dialogue {name}")
        yield file, dialogues


def _tidy(dialogue: Dialogue) -> None:
    """Give a dialogue in the layout of MultiWOZ 2.2 the form of SGD."""
    # It has a frame of every service in each turn, of those too that the dialogue does not name,
    # and spans that are no places but other slots ("copy_from").
    for turn in dialogue["turns"]:
        turn["frames"] = [frame for frame in turn["frames"] if not _is_idle(frame)]
        for frame in turn["frames"]:
            frame["slots"] = [span for span in frame["slots"] if "start" in span]
            frame.setdefault("actions", [])
    met = [frame["service"] for turn in dialogue["turns"] for frame in turn["frames"]]
    dialogue["services"] = list(dict.fromkeys([*dialogue["services"], *met]))


def _is_idle(frame: Frame) -> bool:
    """Whether a frame says nothing of its service."""
    state = frame.get("state")
    asks = state and (
        state["active_intent"] != NONE_INTENT or state["requested_slots"] or state["slot_values"]
    )
    return not (asks or frame["slots"] or frame.get("actions"))


def _check(dialogue: Dialogue, known: set[str], where: str) -> None:
    """Refuse a dialogue that no rows can be made of."""
    services = set(dialogue["services"])
    if unknown := sorted(services - known):
        expected = f"expected one of {', '.join(sorted(known))}"
        raise SgdxError(f"{where}: {unknown[0]!r} is no service, {expected}")
    for index, turn in enumerate(dialogue["turns"]):
        named = [frame["service"] for frame in turn["frames"]]
        length = len(turn["utterance"])
        if not services.issuperset(named) or (len(named) > 1 and len({*named}) < len(named)):
            expected = f"expected one frame a service, of {dialogue['services']}"
            raise SgdxError(f"{where}: turn {index}: frames of {named}, {expected}")
        for frame in turn["frames"]:
            if "actions" not in frame:
                expected = "expected the actions of each frame"
                raise SgdxError(f"{where}: turn {index}: a frame has no actions, {expected}")
            for span in frame["slots"]:
                if not 0 <= span.get("start", -1) <= span.get("exclusive_end", -1) <= length:
                    expected = f"expected a place among {length} characters"
                    raise SgdxError(f"{where}: turn {index}: found the span {span}, {expected}")
            if ("service_call" in frame) != ("service_results" in frame):
                expected = "expected both service_call and service_results, or none of them"
                raise SgdxError(f"{where}: turn {index}: {expected}")


# ---- plain rows of one dialogue


def frame_rows(
    dialogue: Dialogue, original: Mapping[str, str] | None = None, history: bool = True
) -> Iterator[Row]:
    """A row for each annotated frame of the user, with what comes before and after it.

    ``original`` has the original names of services, where the dialogue is under a variant.
    """
    past: list[Row] = []
    canonical_of: dict[str, dict[str, None]] = {}  # what is said, and what that is to the API
    turns = dialogue["turns"]
    for index, turn in enumerate(turns):
        for frame in turn["frames"]:
            for action in frame["actions"]:
                values, meant = action["values"], action["canonical_values"]
                if values != meant and len(values) == len(meant):
                    for value, canonical in zip(values, meant):
                        if value != canonical:
                            canonical_of.setdefault(value, {})[canonical] = None
        for frame in turn["frames"] if turn["speaker"] == "USER" else ():
            if (state := frame.get("state")) is None:
                continue
            service, after = frame["service"], turns[index + 1 : index + 2]
            replies = [reply for t in after for reply in t["frames"] if reply["service"] == service]
            yield {
                "frame_id": f"{dialogue['dialogue_id']}/{index}/"
                f"{original[service] if original else service}",
                "dialogue_id": dialogue["dialogue_id"],
                "turn": index,
                "service": service,
                "history": past if history else None,
                "utterance": turn["utterance"],
                **state,
                "slots": frame["slots"],
                "service_call": replies[0].get("service_call") if replies else None,
                "canonical_values": {
                    slot: new
                    for slot, values in state["slot_values"].items()
                    if not canonical_of.keys().isdisjoint(values)
                    and (new := _canonical(values, canonical_of))
                },
            }
        if history:
            said = {"speaker": turn["speaker"], "utterance": turn["utterance"]}
            past = [*past, {**said, "actions": system_actions(turn)}]


def _canonical(values: list[str], canonical_of: Mapping[str, Collection[str]]) -> list[str]:
    found = dict.fromkeys(new for value in values for new in canonical_of.get(value, ()))
    return [new for new in found if new not in values]


def turn_rows(dialogue: Dialogue) -> Iterator[Row]:
    """A row for each turn of the system that has a frame."""
    before = None
    for index, turn in enumerate(dialogue["turns"]):
        if turn["speaker"] == "SYSTEM" and turn["frames"]:
            calling = [frame for frame in turn["frames"] if "service_call" in frame]
            calls = [{"service": f["service"], **f["service_call"]} for f in calling]
            yield {
                "turn_id": f"{dialogue['dialogue_id']}/{index}",
                "service": turn["frames"][0]["service"],
                "services": [frame["service"] for frame in turn["frames"]],
                "actions": system_actions(turn),
                "call": calls[0] if calls else None,
                "prompt": before["utterance"] if before and before["speaker"] == "USER" else "",
                "utterance": turn["utterance"],
            }
        before = turn


def system_actions(turn: Turn) -> list[Row]:
    """The actions of a turn with their services; none of the user's, which trackers look for."""
    return [
        {"service": frame["service"], **action}
        for frame in turn["frames"]
        for action in frame["actions"]
        if turn["speaker"] == "SYSTEM"
    ]


# ---- tables of a release's rows

COLUMNS: dict[Kind, pa.Schema] = {
    "dialogues": DIALOGUE_COLUMNS,
    "frames": FRAME_COLUMNS,
    "turns": TURN_COLUMNS,
}
# What rows have of their variant alone, and is joined when that is known.
_OF_VARIANT = ("variant", "seen", "seen_domain", "schema", "schemas", "schema_slots")
_TEXT_OR_NAME = ["text", "place"]
# Where a row has names: the kind of name by the name of the field.
_NAMES = {
    "service": "service",
    "services": "service",
    "slot": "slot",
    "requested_slots": "slot",
    "active_intent": "intent",
    "method": "intent",
}


def frame_tables(
    release: Release, split: str, config: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """The frame rows of a split under a config, made in memory from an open release.

    The rows are those of ``frames(load(config, split))``, in the same order, but the Hugging Face
    cache is neither read nor written, and no other split is read. Each split is parsed once for
    all configs of a release.

    Args:
        release: What ``open_release`` returned.
        split: ``train``, ``validation`` or ``test``.
        config: One of ``CONFIGS``, or of the release's own variants.
        columns: Names of the columns to make, in the order of the result; None for all columns of
            ``FRAME_COLUMNS``. Leaving out ``history`` and ``schema`` saves most of the work.

    Returns:
        One row per user turn and service, with the types of ``FRAME_COLUMNS``.

    Raises:
        SgdxError: The config, the split or a column is unknown, the split has no dialogues under
            the config, or the release is at fault.
    """
    return whole_table(release, split, config, "frames", columns)


def turn_tables(
    release: Release, split: str, config: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """The turn rows of a split under a config, made in memory as by ``frame_tables``.

    Returns:
        One row per turn of the system, with the types of ``TURN_COLUMNS``. Leaving out ``schemas``
        saves most of the memory.
    """
    return whole_table(release, split, config, "turns", columns)


def whole_table(
    release: Release, split: str, config: str, kind: Kind, columns: Sequence[str] | None
) -> pa.Table:
    """The rows of a split under a config, of all its dialogue files."""
    split = split_name(split)
    with progress(f"Making {kind}", steps(release, [config], [split])):
        tables = row_tables(release, split, config, kind, columns)
        return pa.concat_tables([table for _, table in tables])


def steps(release: Release, configs: Sequence[str], splits: Collection[str] | None = None) -> int:
    """How many tables ``row_tables`` gives for configs, in the splits that each has of these."""
    return sum(
        len(release.variants(config)) * len(release.dialogue_files(split))
        for config in configs
        for split in release.splits(config)
        if splits is None or split in splits
    )


def row_tables(
    release: Release,
    split: str,
    config: str,
    kind: Kind = "dialogues",
    columns: Sequence[str] | None = None,
    dialogue_ids: Collection[str] | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """The rows of a split under each variant of a config, in a table for each dialogue file."""
    schema = COLUMNS[kind]
    if unknown := [column for column in columns or () if column not in schema.names]:
        known = ", ".join(schema.names)
        raise SgdxError(f"unknown column {unknown[0]!r}, expected one of {known}")
    schema = pa.schema([schema.field(name) for name in columns or schema.names])
    release.check_dialogues(config, split)
    seen, domains = release.seen_services(), None
    if kind == "turns":
        domains = domains_seen(release)
    originals = [service.service_name for service in release.schema(split, "original")]
    chosen = None if dialogue_ids is None else pa.array(sorted(dialogue_ids), pa.string())
    for variant in release.variants(config):
        services = release.schema(split, variant)
        schemas = [
            {**msgspec.to_builtins(service), "original_name": name, "seen": name in seen}
            for service, name in zip(services, originals, strict=True)
        ]
        of_service = service_columns(pa.array(schemas, _as_json(SERVICE)).cast(SERVICE), domains)
        names = _vocabulary(services).names
        for file, ids, coded in split_rows(release, split, kind, "history" in schema.names):
            wanted = [name for name in coded if name in schema.names or name == "call"]
            rows = {name: _named(coded[name], names) for name in wanted}
            rows["variant"] = pa.repeat(variant, len(ids))
            # Services come first among the names, so that their places are those in the schema.
            rows |= {"place": coded.get("service"), "places": coded.get("services")}
            table = joined(rows, of_service, schema)
            yield file, table if chosen is None else table.filter(pc.is_in(ids, chosen))
            advance()


def in_groups(
    tables: Iterable[pa.Table], size: Callable[[pa.Table], int], most: int
) -> Iterator[pa.Table]:
    """Tables put together, in a new one whenever they have reached a size."""
    pending, waiting = list[pa.Table](), 0
    for table in tables:
        pending.append(table)
        waiting += size(table)
        if waiting >= most:
            yield pa.concat_tables(pending)
            pending, waiting = [], 0
    if pending:
        yield pa.concat_tables(pending)


def plain_array(kind: Kind, rows: Sequence[Mapping[str, Any]]) -> pa.StructArray:
    """Dialogues, or what ``frame_rows`` or ``turn_rows`` gives, as an array."""
    later = (*_OF_VARIANT, "intent")
    fields = [field for field in COLUMNS[kind] if field.name not in later]
    if kind == "turns":  # what ``schemas`` and ``intent`` are taken from
        call = pa.struct({"service": pa.string(), "method": pa.string()})
        fields += [pa.field("services", pa.list_(pa.string())), pa.field("call", call)]
    return pa.array(rows, _as_json(pa.struct(fields))).cast(pa.struct(fields))


def _as_json(kind: pa.DataType) -> pa.DataType:
    """The type with a mapping, as JSON has it, in place of each list of slots with values."""
    if pa.types.is_list(kind):
        inner = kind.value_type
        if inner in (SLOT_VALUE, SLOT_VALUES.value_type):
            return pa.map_(pa.string(), inner.field(1).type)
        return pa.list_(_as_json(inner))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_json(field.type)) for field in kind])
    return kind


# The rows of a dialogue file, the same for every variant: its path, each row's dialogue, and
# columns. A name in them is its place among the names of its ``Vocabulary``.
Part = tuple[str, pa.StringArray, dict[str, pa.Array]]


@lru_cache(maxsize=6)  # the splits' dialogues, and another kind of their rows
def split_rows(release: Release, split: str, kind: Kind, history: bool) -> list[Part]:
    """A split's rows, made from its dialogue files once for all variants."""
    rows_of: dict[Kind, Callable[[Dialogue], Iterator[Any]]] = {
        "dialogues": lambda dialogue: iter([dialogue]),
        "frames": partial(frame_rows, history=history),
        "turns": turn_rows,
    }
    vocabulary, parts = _vocabulary(release.schema(split, "original")), []
    with many_objects():
        for file, dialogues in read_dialogues(release, split):
            rows = [(dialogue["dialogue_id"], [*rows_of[kind](dialogue)]) for dialogue in dialogues]
            try:
                coded = _coded(
                    plain_array(kind, [row for _, own in rows for row in own]), vocabulary
                )
            except SgdxError as error:
                where = f"{release.name}: {file}"
                for name, own in rows:  # find the dialogue at fault
                    try:
                        _coded(plain_array(kind, own), vocabulary)
                    except SgdxError:
                        where += f": dialogue {name}"
                        break
                schema = release.files[release.schema_file(split, "original")]
                where += f": {error} in {schema.shown}"
                raise SgdxError(where) from None
            ids = pa.array([name for name, own in rows for _ in own], pa.string())
            columns = dict(zip((field.name for field in coded.type), coded.flatten()))
            parts.append((file, ids, columns))
    return parts


# ---- names of a variant in the places of the original ones


class Vocabulary(NamedTuple):
    """The names of a schema, in an order in which those of its variants correspond."""

    names: pa.StringArray  # of services, of slots, of intents, and last ``NONE``
    # By kind, each name (``SERVICE/SLOT``) and its place among all.
    places: dict[str, tuple[list[str], pa.UInt32Array]]


def _vocabulary(services: Sequence[Service]) -> Vocabulary:
    """All names of a schema, and where each stands."""
    names = [service.service_name for service in services]
    slots = [(s.service_name, slot.name) for s in services for slot in s.slots]
    intents = [(s.service_name, intent.name) for s in services for intent in s.intents]
    every = [*names, *(name for _, name in (*slots, *intents)), NONE_INTENT]
    first_intent, none = len(names) + len(slots), len(every) - 1
    intents += [(name, NONE_INTENT) for name in names]
    places = {
        "service": (names, range(len(names))),
        "slot": (["/".join(slot) for slot in slots], range(len(names), first_intent)),
        "intent": (
            ["/".join(intent) for intent in intents],
            [*range(first_intent, none), *[none] * len(names)],
        ),
    }
    return Vocabulary(
        pa.array(every, pa.string()),
        {kind: (known, pa.array(at, pa.uint32())) for kind, (known, at) in places.items()},
    )


def _coded(
    array: pa.Array, vocabulary: Vocabulary, field: str = "", owners: pa.Array = None
) -> pa.Array:
    """Rows, or a part of them, with places (the only unsigned numbers) instead of names.

    All names are replaced at once by what they belong to, so that there is no moment at which an
    old and a new name can be mistaken for each other. ``field`` says what the part is; ``owners``
    has the service that each of its items is about.
    """
    if pa.types.is_list(array.type):  # of which null ones become empty
        inner = None if owners is None else owners.take(pc.list_parent_indices(array))
        values = _coded(array.values, vocabulary, field, inner)
        return pa.ListArray.from_arrays(array.offsets, values)
    if pa.types.is_struct(array.type):
        parts = dict(zip((part.name for part in array.type), array.flatten()))
        owners = parts.get("service", owners)
        of_actions = _coded_actions(parts, vocabulary, owners) if "act" in parts else {}
        coded = [
            of_actions[name] if name in of_actions else _coded(part, vocabulary, name, owners)
            for name, part in parts.items()
        ]
        absent = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(coded, list(parts), mask=absent)
    return _find(vocabulary, _NAMES[field], owners, array) if field in _NAMES else array


def _coded_actions(
    parts: dict[str, pa.Array], vocabulary: Vocabulary, owners: pa.Array
) -> dict[str, pa.Array]:
    """Slots and values of actions: some values are intents, and some slots none of the service.

    Each is a text beside the place of a name, which is null where it is no name.
    """
    of_intents = pc.and_(
        pc.is_in(parts["act"], value_set=pa.array(INTENT_ACTS)), pc.equal(parts["slot"], "intent")
    )
    slots = pc.if_else(of_intents, None, parts["slot"])
    both = [parts["slot"], _find(vocabulary, "slot", owners, slots, FREE_SLOTS)]
    made = {"slot": pa.StructArray.from_arrays(both, _TEXT_OR_NAME)}
    for name in ("values", "canonical_values"):
        values, action = parts[name].values, pc.list_parent_indices(parts[name])
        intents = pc.if_else(of_intents.take(action), values, None)
        both = [values, _find(vocabulary, "intent", owners.take(action), intents)]
        either = pa.StructArray.from_arrays(both, _TEXT_OR_NAME)
        made[name] = pa.ListArray.from_arrays(parts[name].offsets, either)
    return made


def _find(
    vocabulary: Vocabulary, kind: str, owners: pa.Array, texts: pa.Array, free: Sequence[str] = ()
) -> pa.UInt32Array:
    """The places of names; null for those of ``free`` that the schema lacks."""
    names, place = vocabulary.places[kind]
    keys = texts if kind == "service" else pc.binary_join_element_wise(owners, texts, "/")
    found = place.take(pc.index_in(keys, value_set=pa.array(names, pa.string())))
    if found.null_count > texts.null_count:
        lost = pc.and_(found.is_null(), texts.is_valid())
        lost = pc.and_not(lost, pc.is_in(texts, value_set=pa.array(free, pa.string())))
        if (first := lost.index(True).as_py()) >= 0:
            of_service = [n.rpartition("/")[2] for n in names if n.startswith(f"{owners[first]}/")]
            expected = ", ".join(names if kind == "service" else of_service)
            where = "" if kind == "service" else f" of service {owners[first]}"
            raise SgdxError(
                f"{texts[first].as_py()!r} is no {kind}{where}, expected one of {expected}"
            )
    return found


def _named(array: pa.Array, names: pa.StringArray) -> pa.Array:
    """Rows, or a part of them, with a variant's names in the places that ``_coded`` gives."""
    kind = array.type
    if kind == pa.uint32():
        return names.take(array)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _named(array.values, names))
    if pa.types.is_struct(kind):
        fields, parts = [field.name for field in kind], array.flatten()
        if fields == _TEXT_OR_NAME:
            return pc.if_else(parts[1].is_valid(), names.take(parts[1]), parts[0])
        parts = [_named(part, names) for part in parts]
        absent = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields, mask=absent)
    return array


def joined(
    rows: Mapping[str, pa.Array], of_service: Mapping[str, pa.Array], schema: pa.Schema
) -> pa.Table:
    """A table of rows, with what ``service_columns`` has of each row's service or services.

    ``rows`` has where these are there: in ``place``, and in ``places`` of several services.
    """
    columns = []
    for field in schema:
        if field.name == "schemas":
            schemas = of_service["schema"].take(rows["places"].values)
            column = pa.ListArray.from_arrays(rows["places"].offsets, schemas)
        elif field.name == "intent":  # of the call that the system made before the turn
            column = pc.struct_field(rows["call"], "method").fill_null("")
        elif field.name in of_service:
            column = of_service[field.name].take(rows["place"])
        else:
            column = rows[field.name]
        columns.append(column)
    return pa.table(columns, schema=schema)


def service_columns(
    schemas: pa.StructArray, seen_domains: Collection[str] | None
) -> dict[str, pa.Array]:
    """What rows have of their service, for each of some schemas (``SERVICE``), by column."""
    slots = schemas.field("slots")
    brief = [slots.values.field(name) for name in ("name", "is_categorical")]
    of_service = {
        "schema": schemas,
        "seen": schemas.field("seen"),
        "schema_slots": pa.ListArray.from_arrays(
            slots.offsets, pa.StructArray.from_arrays(brief, ["name", "is_categorical"])
        ),
    }
    if seen_domains is not None:
        names = schemas.field("original_name")
        domains = pa.array(sorted(seen_domains), pa.string())
        in_train = pc.is_in(pc.replace_substring_regex(names, "_.*", ""), value_set=domains)
        if lost := names.filter(pc.and_(of_service["seen"], pc.invert(in_train))):
            raise SgdxError(
                f"service {lost[0]} was seen in training, and its domain is not among the seen"
                f" domains {', '.join(sorted(seen_domains))}; expected those of the dialogues' own"
                " release"
            )
        of_service["seen_domain"] = in_train
    return of_service


def domains_seen(release: Release) -> set[str]:
    """The domains of the original train split: its services' names up to the first underscore."""
    return {service.partition("_")[0] for service in release.seen_services()}
