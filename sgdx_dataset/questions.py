"""A question about each frame's state as plain text, for frameworks that compare texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

QUESTION_COLUMNS = pa.schema(
    {name: pa.string() for name in ("frame_id", "variant", "question", "answer")}
)
# What a question is made of.
FRAME_COLUMNS_READ = ["frame_id", "variant", "history", "utterance", "schema", "slot_values"]

_QUESTION = """\
You keep track of what the user of a dialogue wants from one API.

The API {name}: {description}
Its slots:
{slots}

The dialogue so far:
{dialogue}

Which slots have a value now? Take what the user has said in any turn so far, and what the
assistant has proposed and the user has accepted. Write one line "slot: value" for each of these
slots, in the order of the list. Copy a value as it was last said in the dialogue. If a slot lists
its possible values, use one of them exactly. Use dontcare if the user says that any value will do.
If no slot has a value, write only "none". Write nothing else.
"""
_SPEAKERS = {"USER": "User", "SYSTEM": "Assistant"}


def question_table(frames: pa.Table) -> pa.Table:
    """The questions about frame rows (``FRAME_COLUMNS_READ``), in their order."""
    rows = []
    for row in frames.to_pylist():
        service = row["schema"]
        turns = [*row["history"], {"speaker": "USER", "utterance": row["utterance"]}]
        dialogue = "\n".join(f"{_SPEAKERS[turn['speaker']]}: {turn['utterance']}" for turn in turns)
        question = _QUESTION.format(
            name=service["service_name"],
            description=service["description"],
            slots="\n".join(map(_shown, service["slots"])),
            dialogue=dialogue,
        )
        values = {pair["slot"]: pair["values"] for pair in row["slot_values"]}
        state = [
            f"{slot['name']}: {_last_said(values[slot['name']], dialogue)}"
            for slot in service["slots"]
            if slot["name"] in values
        ]
        rows.append(
            {
                "frame_id": row["frame_id"],
                "variant": row["variant"],
                "question": question,
                "answer": "\n".join(state) or "none",
            }
        )
    return pa.Table.from_pylist(rows, QUESTION_COLUMNS)


def _shown(slot: Mapping[str, Any]) -> str:
    text = f"- {slot['name']}: {slot['description']}"
    return (
        f"{text} (one of: {', '.join(slot['possible_values'])})" if slot["is_categorical"] else text
    )


def _last_said(forms: Sequence[str], dialogue: str) -> str:
    """Of a value's forms the one that was said last; the first form if none was."""
    text = dialogue.lower()
    return max(forms, key=lambda form: text.rfind(form.lower()))
