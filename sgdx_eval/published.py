"""Figures of trackers as papers give them, from ``published.toml``."""

from __future__ import annotations

from importlib import resources

import msgspec

# Headline figures in percent, by the names that scores.json has for them.
Figures = dict[str, float]


class PublishedRow(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a paper says of a tracker."""

    system: str
    augmentation: str = ""  # the reworded schemas that it was trained on too
    oracle: bool = False  # whether these are v1 to v5
    source: str  # the paper
    table: str = ""  # where in it the figures stand
    data: str  # what they were measured on
    all: Figures
    seen: Figures | None = None
    unseen: Figures | None = None
    not_comparable: str = ""  # why they must not be set against ours

    @property
    def name(self) -> str:
        """The tracker, and what it was trained on too."""
        return f"{self.system} + {self.augmentation}" if self.augmentation else self.system

    @property
    def where(self) -> str:
        """The paper, and where in it the figures stand."""
        return ", ".join(filter(None, (self.source, self.table)))


class _File(msgspec.Struct, forbid_unknown_fields=True):
    row: list[PublishedRow]


def read_published() -> list[PublishedRow]:
    """The published rows that come with the report."""
    data = resources.files(__package__).joinpath("published.toml").read_bytes()
    return msgspec.toml.decode(data, type=_File).row
