"""The one line that says which tools, cases and words a score is of, and how it was computed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from sgdx_metric.statistics import RESAMPLES, SEED
from sgdx_metric.variants import ORIGINAL
from sgdx_metric.version import __version__

from .data import Rule, ToolSet, Variant
from .predictions import PredictionFile

NAME = "sgdx_tools"


def signature(tool_set: ToolSet, files: Mapping[str, PredictionFile], rules: Rule) -> str:
    """The line ``sgdx_tools|key:value|...``, with digests of all tools, cases and words."""
    makers = {tool_set.variants[name].made_by for name in files if name != ORIGINAL}
    distractors = {str(file.header.system.get("distractors", 0)) for file in files.values()} - {"0"}
    reads_texts = any(file.header.system.get("text_calls") for file in files.values())
    made_elsewhere = any(file.header.data is None for file in files.values())
    parts = {
        "variants": "+".join(
            name if name == ORIGINAL else f"{name}@{variant_digest(tool_set.variants[name])}"
            for name in files
        ),
        **({"reworded-by": "+".join(sorted(m or "unknown" for m in makers))} if makers else {}),
        "tools": f"{len(tool_set.tools)}@{_digest(tool_set.tools.values())}",
        "cases": f"{len(tool_set.cases)}@{_digest(tool_set.cases)}",
        **({"distractors": "+".join(sorted(distractors))} if distractors else {}),
        **({"text-calls": "read"} if reads_texts else {}),
        "repeats": max(len(file.predictions) for file in files.values()),
        "rules": rules,
        **({"predictions": "made-elsewhere"} if made_elsewhere else {}),
        "zero-mean": "0",
        "sd": "sample",
        "ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}",
        "ci-drop": "95%-bounded",
        "version": __version__,
    }
    shown = (f"{key}:{str(value).replace('|', '/')}" for key, value in parts.items())
    return "|".join([NAME, *shown])


def variant_digest(variant: Variant) -> str:
    """The first 8 hex digits of the SHA-256 of a variant's words."""
    words = dict(sorted(variant.tools.items()))
    if variant.version is None:
        return _digest([words])
    # A model reads another version in its order, also that of parameters.
    return _digest([words, *(msgspec.json.encode(tool) for tool in variant.version.values())])


def data_digest(tool_set: ToolSet, name: str) -> str:
    """A digest of what models are shown under a variant: tools, conversations and words."""
    conversations = [(case.id, case.messages, case.tools) for case in tool_set.all_cases]
    shown = _digest([*tool_set.tools.values(), *conversations])
    return f"{shown}-{variant_digest(tool_set.variants[name])}"


def _digest(records: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(msgspec.json.encode(record, order="deterministic") + b"\n")
    return digest.hexdigest()[:8]
