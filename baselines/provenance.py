"""What a model was trained on: the same words in its files, on its card and in its predictions."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from .settings import Also, Augment


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which schemas a model was trained on, and with which seed.

    It is stored as ``seen`` in ``run.json`` and as ``sgdx`` in the model's ``config.json``, and
    every file that is made with the model repeats it. All but the seed are also of the model that
    the training started from. A tracker's ``Seen`` has besides how its model reads.
    """

    tracker: str = ""  # name of the system in ``baselines.system.SYSTEMS``
    train: tuple[str, ...] = ("original",)  # schema variants
    augment: Augment | None = None  # None if only the original schemas were used
    also: Also | None = None  # None if only one corpus was used
    also_before: tuple[Also, ...] = ()  # others, of the models that it started from
    schemas: str = ""  # SHA-256 of the augmentation's schemas; empty without one
    overlaps: int = 0  # number of texts trained on that v1..v5 contain and the original does not
    oracle: bool = False  # whether it was trained on schemas that it is evaluated on
    seed: int = 0

    @classmethod
    def of(cls, settings: Any, **facts: Any) -> Self:
        """How a model reads, from the settings of the same names."""
        own = set(cls.__struct_fields__) - set(Provenance.__struct_fields__)
        return cls(**{n: getattr(settings, n) for n in own if hasattr(settings, n)} | facts)

    def continued_from(self, start: Provenance) -> Provenance:
        """The provenance of a model that starts from another, which has seen words already."""
        own, before = (self.also, *self.also_before), (start.also, *start.also_before)
        corpora = [corpus for corpus in dict.fromkeys((*own, *before)) if corpus is not None]
        return msgspec.structs.replace(
            self,
            train=tuple(dict.fromkeys((*start.train, *self.train))),
            augment=self.augment or start.augment,
            also=corpora[0] if corpora else None,
            also_before=tuple(corpora[1:]),
            schemas=self.schemas or start.schemas,
            overlaps=max(self.overlaps, start.overlaps),
            oracle=self.oracle or start.oracle,
        )
