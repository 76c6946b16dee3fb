"""The rows as ``datasets.Features``, which have the types of ``columns``."""

from __future__ import annotations

from datasets import Features

from .columns import DIALOGUE_COLUMNS, FRAME_COLUMNS, TURN_COLUMNS

DIALOGUE_ROW = Features.from_arrow_schema(DIALOGUE_COLUMNS)
FRAME_ROW = Features.from_arrow_schema(FRAME_COLUMNS)
TURN_ROW = Features.from_arrow_schema(TURN_COLUMNS)
