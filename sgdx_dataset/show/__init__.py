"""Showing a dialogue under several variants side by side, in the terminal or as a web page.

Under every variant the dialogue's values are the same, and only names differ. So each user turn has
a table with a column of names for every variant, and the values beside them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..io.errors import SgdxError
from ..io.files import write_bytes
from ..release.release import Release
from ..schema import Intent, Service, Slot
from .dialogue import shown_dialogue
from .terminal import print_dialogue
from .web_page import web_page


def show(
    release: Release,
    dialogue_id: str | None,
    configs: Sequence[str],
    split: str | None = None,
    html: Path | None = None,
) -> None:
    """Print a dialogue under several variants, and write it as a web page if asked."""
    shown = shown_dialogue(release, dialogue_id, configs, split)
    if html:
        write_bytes(html, web_page(shown).encode())
    print_dialogue(shown)


def words_of_service(release: Release, service_name: str) -> str:
    """All names and descriptions of a service, as JSON that ``--variant NAME=FILE`` takes."""
    services = {
        service.service_name: service
        for split in release.schema_splits("original")
        for service in release.schema(split, "original").services
    }
    if service_name not in services:
        names = ", ".join(sorted(services))
        raise SgdxError(f"{release.name}: has no service {service_name}, expected one of {names}")

    def words(element: Service | Slot | Intent) -> dict[str, str]:
        name = element.service_name if isinstance(element, Service) else element.name
        return {"name": name, "description": element.description}

    service = services[service_name]
    slots = {slot.name: words(slot) for slot in service.slots}
    intents = {intent.name: words(intent) for intent in service.intents}
    all_words = {service_name: {**words(service), "slots": slots, "intents": intents}}
    return json.dumps(all_words, indent=2, ensure_ascii=False)
