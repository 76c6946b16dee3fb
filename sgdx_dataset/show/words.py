"""The words of a service as a rewording file, for somebody who wants to write others."""

from __future__ import annotations

import json

from ..io.errors import SgdxError
from ..release.release import Release
from ..release.schema import SPLITS
from ..schema import Intent, Slot


def words_of_service(release: Release, service_name: str) -> str:
    """All names and descriptions of a service, as JSON that ``--variant NAME=FILE`` takes."""
    services = {
        service.service_name: service
        for split in SPLITS
        if split in release.schema_splits("original")
        for service in release.schema(split, "original").services
    }
    if service_name not in services:
        names = ", ".join(sorted(services))
        raise SgdxError(f"{release.name}: has no service {service_name}, expected one of {names}")
    service = services[service_name]
    words = {
        "name": service.service_name,
        "description": service.description,
        "slots": {slot.name: _words(slot) for slot in service.slots},
        "intents": {intent.name: _words(intent) for intent in service.intents},
    }
    return json.dumps({service_name: words}, indent=2, ensure_ascii=False)


def _words(element: Slot | Intent) -> dict[str, str]:
    return {"name": element.name, "description": element.description}
