"""Calls of SGD's system as cases: the dialogue up to a user turn, and the call that follows it.

A tool is an intent of a service, as ``sgdx_llm`` shows it to models, so that the scores of
both can be held against each other. A case may call the intents of all services of its dialogue.
Other variants of the schemas are variants of the tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError, open_release
from sgdx_dataset.configs import split_name
from sgdx_dataset.io.progress import progress
from sgdx_dataset.release import Release
from sgdx_dataset.rows import row_tables, steps
from sgdx_dataset.schema import Intent, Service
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_llm.functions import call_function, call_functions, parameter_names

from ..data import ANY_OF, Case, ExpectedCall, Json, Tool, ToolWords, Variant, Words
from .collection import Collection

_ROLES = {"USER": "user", "SYSTEM": "assistant"}
_COLUMNS = ["frame_id", "service", "history", "utterance", "slot_values", "service_call"]


def import_sgd(
    configs: Sequence[str],
    source: str | None = None,
    split: str = "test",
    variants: Mapping[str, str] | None = None,
    dialogues: Path | None = None,
) -> Collection:
    """Read the calls of a split, in which the first variant has the tools.

    The values of a call are those of the dialogue state as they were said, and the canonical value
    that the call itself has. Under the rule ``fuzzy`` a value that is only near the canonical one
    scores its similarity, where ``sgdx score`` takes that one whole or not at all. Cases are
    turns that a call follows; those of a dialogue belong together.
    """
    configs = list(dict.fromkeys(configs))
    release, split = open_release(source, variants), split_name(split)
    for config in configs:
        if len(release.variants(config)) != 1:
            raise SgdxError(f"--sgd {config}: found several schemas, expected a variant with one")
        release.check_dialogues(config, split)
    collection = Collection("sgd", rules="fuzzy")
    collection.files[f"{release.public_name}/{split}"] = release.data_digest(split, configs[0])
    services = [release.schema(split, config) for config in configs]
    tools = _Tools(services[0])
    collection.tools |= tools.by_id
    for config, worded in zip(configs[1:], services[1:]):
        collection.variants.append(Variant(config, dict(tools.words(worded))))
    subset = None if dialogues is None else set(read_dialogue_ids(dialogues, split))
    collection.cases += _cases(release, split, configs[0], tools, subset)
    missing = sorted((subset or set()) - tools.dialogue_ids)
    if missing:
        count = f"{len(missing)} of {len(subset or ())} dialogues"
        raise SgdxError(f"{dialogues}: {count} are not in the split, the first is {missing[0]}")
    if not collection.cases:
        raise SgdxError(f"{release.name}: found no call in {split}, expected one at least")
    return collection


class _Tools:
    """The tools of all services of a split under one variant."""

    def __init__(self, services: Sequence[Service]) -> None:
        # The services by their names under the variant, and the tools by their ids.
        self.services = {service.service_name: service for service in services}
        self.by_id: dict[str, Tool] = {}
        # The id of each intent's tool, by the names of its service and its own.
        self.ids: dict[tuple[str, str], str] = {}
        # The dialogues whose calls became cases.
        self.dialogue_ids = set[str]()
        for tool_id, (service, intent) in call_functions(services).items():
            function = call_function(tool_id, service, intent)
            self.by_id[tool_id] = Tool(tool_id, function["description"], function["parameters"])
            self.ids[service.service_name, intent.name] = tool_id

    def words(self, worded: Sequence[Service]) -> Iterator[tuple[str, ToolWords]]:
        """The words of each tool under another variant, whose services are in the same order."""
        functions = list(call_functions(worded).items())
        originals = list(call_functions(list(self.services.values())).values())
        for (name, (service, intent)), (original, original_intent) in zip(functions, originals):
            function = call_function(name, service, intent)
            tool_id = self.ids[original.service_name, original_intent.name]
            old, new = self.by_id[tool_id].parameters["properties"], function["parameters"]
            names = zip(old, _parameter_order(original, original_intent, service))
            parameters = {
                path: Words(parameter, new["properties"][parameter]["description"])
                for path, parameter in names
            }
            yield tool_id, ToolWords(name, function["description"], parameters)


def _parameter_order(original: Service, intent: Intent, worded: Service) -> list[str]:
    """The names of an intent's parameters under another variant, in the order of the original's."""
    slot_of = {old.name: new.name for old, new in zip(original.slots, worded.slots)}
    names = parameter_names(worded)
    slots = [*intent.required_slots, *intent.optional_slots]
    return [names[slot_of[slot]] for slot in dict.fromkeys(slots) if slot in slot_of]


def _cases(
    release: Release, split: str, config: str, tools: _Tools, subset: set[str] | None
) -> Iterator[Case]:
    """The cases of a split, in the order of its dialogues."""
    with progress("Reading calls", steps(release, [config], [split])):
        for _, table in row_tables(release, split, config, "frames", _COLUMNS):
            of_dialogues = groupby(table.to_pylist(), key=lambda row: _dialogue(row["frame_id"]))
            for dialogue, group in of_dialogues:
                if subset is None or dialogue in subset:
                    tools.dialogue_ids.add(dialogue)
                    yield from _cases_of(dialogue, list(group), tools)


def _cases_of(dialogue: str, rows: Sequence[Json], tools: _Tools) -> Iterator[Case]:
    services = dict.fromkeys(row["service"] for row in rows)
    ids = tuple(tools.ids[s, i.name] for s in services for i in tools.services[s].intents)
    for turn, group in groupby(rows, key=lambda row: row["frame_id"].rsplit("/", 1)[0]):
        frames = list(group)
        calls = [_expected(row, tools) for row in frames if row["service_call"] is not None]
        if calls:
            turns = [(t["speaker"], t["utterance"]) for t in frames[0]["history"]]
            messages = [
                {"role": _ROLES[speaker], "content": utterance}
                for speaker, utterance in [*turns, ("USER", frames[0]["utterance"])]
            ]
            yield Case(turn, tuple(messages), tuple(calls), ids, dialogue)


def _expected(row: Json, tools: _Tools) -> ExpectedCall:
    """The call that follows a frame."""
    service = tools.services[row["service"]]
    names = parameter_names(service)
    spoken = {entry["slot"]: entry["values"] for entry in row["slot_values"]}
    arguments: dict[str, Any] = {}
    for entry in row["service_call"]["parameters"]:
        slot, canonical = service.slot(entry["slot"]), entry["value"]
        values = [*spoken.get(slot.name, []), canonical]
        distinct = list(dict.fromkeys(values if not slot.is_categorical else [canonical]))
        arguments[names[slot.name]] = distinct[0] if len(distinct) == 1 else {ANY_OF: distinct}
    return ExpectedCall(tools.ids[service.service_name, row["service_call"]["method"]], arguments)


def _dialogue(frame_id: str) -> str:
    return frame_id.rsplit("/", 2)[0]
