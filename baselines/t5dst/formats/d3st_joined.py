"""The format of D3ST with the targets of its released code: all variants of a value.

They are joined by `` | ``; else it is the format ``d3st``, which has the first variant as the
target. A value with `` | `` in it, which 4 of 12,000 frames of the train split have, cannot be told
from two variants. Source: the data generator ``create_sgd_schemaless_data.py`` of Zhao et al. 2022
(arXiv 2201.08904).
"""

from __future__ import annotations

from collections.abc import Sequence

from sgdx_dataset.schema import Service

from .d3st import HISTORY_FIRST, SHUFFLED, TRACKS, history, parts, read_answer, write_answer
from .values import AnswerState

__all__ = ["HISTORY_FIRST", "SHUFFLED", "TRACKS", "decode", "history", "parts", "targets"]
_OR = " | "


def targets(schema: Service, state: AnswerState) -> list[str]:
    """The target answer, a list of one text for the whole frame."""
    return [write_answer(schema, state, _OR)]


def decode(schema: Service, dialogue: str, outputs: Sequence[str]) -> AnswerState:
    """Read the state from the answer; free-form values are spelled as in ``dialogue``."""
    (output,) = outputs
    return read_answer(schema, dialogue, output, _OR)
