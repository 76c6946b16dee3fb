"""Turn rows: one for each turn of the system, which is what a generator has to put into words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..configs import split_name
from ..io.errors import SgdxError
from ..io.progress import progress
from ..release.open import open_release
from ..release.release import Release
from ..release.remembered import resolve_source, source_of_file
from .arrays import check_columns, lists_of, table_of
from .columns import TURN_COLUMNS
from .dialogue_rows import dialogue_tables, steps
from .levels import Levels
from .map_rows import map_rows


def turns(dialogues: Any, seen_domains: Collection[str] | None = None) -> Any:
    """The turn rows of dialogue rows, in the dialogues' order.

    A row is one turn of the system. A generator may read its ``actions``, ``intent`` and
    ``schemas`` (those of the turn's services); ``utterance`` is what the system said in the corpus,
    and ``prompt`` what the user said before, empty where nobody did. ``turn_id`` is
    ``<dialogue_id>/<turn index>``, the same in every variant. ``intent`` is the name of the intent
    whose call the turn reports (``service_call.method``), empty where there is no call. Actions of
    several frames stand in the frames' order, and ``service``, ``seen`` and ``seen_domain`` are of
    the first frame. Turns without a frame are left out.

    Args:
        dialogues: Dialogue rows, with the columns of ``DIALOGUE_COLUMNS``: a ``Dataset`` or
            ``IterableDataset``, a dictionary of them by split (``DatasetDict``), one row, or a list
            of rows.
        seen_domains: The domains of the original train split, as ``domains_seen`` returns them;
            None to read them off the source that the dialogues' cache was made from; of rows that
            are in no cache, such as streamed ones, off the source that commands take by default,
            which then must be the one that the dialogues are from.

    Returns:
        Rows with the columns of ``TURN_COLUMNS``: the same kind of dataset, or of dictionary of
        datasets; of one row or a list of rows, a list.

    Raises:
        SgdxError: It is none of these, or lacks columns of dialogue rows; or a service was seen in
            training whose domain is not among ``seen_domains``.
    """
    from .features import TURN_ROW

    if seen_domains is None:
        seen_domains = domains_seen(open_release(resolve_source(_source(dialogues))))
    seen = sorted(seen_domains)
    make = partial(turn_table, seen_domains=seen)
    return map_rows(dialogues, make, f"turn rows {' '.join(seen)}", TURN_ROW)


def _source(dialogues: Any) -> str | None:
    """The source that cached dialogues were made from; None for dialogues that are in no cache."""
    if isinstance(dialogues, Mapping):
        dialogues = next(iter(dialogues.values()), None)
    files = getattr(dialogues, "cache_files", None)
    return source_of_file(files[0]["filename"]) if files else None


def domains_seen(release: Release) -> set[str]:
    """The domains of the original train split: its services' names up to the first underscore."""
    return {service.partition("_")[0] for service in release.seen_services()}


def turn_tables(
    release: Release, split: str, config: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """The turn rows of a split under a config, made in memory from an open release.

    Args:
        release: What ``open_release`` returned.
        split: ``train``, ``validation`` (or ``dev``) or ``test``.
        config: One of ``CONFIGS``, or of the release's own variants.
        columns: Names of the columns to make, in the order of the result; None for all columns of
            ``TURN_COLUMNS``. Leaving out ``schemas`` saves most of the memory.

    Returns:
        One row per turn of the system, with the types of ``TURN_COLUMNS``.

    Raises:
        SgdxError: The config, the split or a column is unknown, the split has no dialogues under
            the config, or the release is at fault.
    """
    with progress("Making turn rows", steps(release, [config], [split_name(split)])):
        return pa.concat_tables(turn_parts(release, split, config, columns=columns))


def turn_parts(
    release: Release,
    split: str,
    config: str,
    dialogue_ids: Collection[str] | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.Table]:
    """The turn rows of some dialogues, or all, in one table per dialogue file."""
    check_columns(columns, TURN_COLUMNS)
    split = split_name(split)
    release.check_dialogues(config, split)
    domains = domains_seen(release)
    for _, table in dialogue_tables(release, split, config, dialogue_ids):
        yield turn_table(table, domains, columns)


def turn_table(
    dialogues: pa.Table, seen_domains: Collection[str], columns: Sequence[str] | None = None
) -> pa.Table:
    """The turn rows (``TURN_COLUMNS``) of a table of dialogue rows (``DIALOGUE_COLUMNS``)."""
    levels = Levels(dialogues)
    has_frames = np.bincount(levels.turn, minlength=len(levels.turns)) > 0
    turn = np.flatnonzero((levels.speaker == "SYSTEM") & has_frames)
    dialogue = levels.dialogue[turn]
    first_turn = levels.first_turn[dialogue]
    # The turn before a dialogue's first one is another dialogue's, and is no prompt.
    prompted = (turn > first_turn) & (levels.speaker[turn - 1] == "USER")

    frame = np.flatnonzero(np.isin(levels.turn, turn))
    row = np.searchsorted(turn, levels.turn[frame])  # the row of each of these frames
    first = pa.array(frame[np.diff(row, prepend=-1) > 0])  # each row's first frame
    services = levels.of_frames("service")
    schema = levels.schema_of(levels.dialogue[levels.turn], services)
    words = pc.struct_field(levels.schemas, "original_name").take(schema.take(first))
    seen = pc.struct_field(levels.schemas, "seen").take(schema.take(first))
    utterances = levels.of_turns("utterance")
    ids = levels.ids.take(pa.array(dialogue))
    index = pa.array(turn - first_turn, pa.int32()).cast(pa.string())
    make: dict[str, Callable[[], pa.Array]] = {
        "turn_id": lambda: pc.binary_join_element_wise(ids, index, "/"),
        "variant": lambda: levels.variants.take(pa.array(dialogue)),
        "service": lambda: services.take(first),
        "seen": lambda: seen,
        "seen_domain": lambda: _seen_domain(words, seen, seen_domains),
        "actions": lambda: levels.system_actions().take(pa.array(turn)),
        "intent": lambda: _called(levels, turn),
        "schemas": lambda: lists_of(
            np.bincount(row, minlength=len(turn)), levels.schemas.take(schema.take(pa.array(frame)))
        ),
        "prompt": lambda: pc.if_else(
            pa.array(prompted), utterances.take(pa.array(np.maximum(turn - 1, 0))), ""
        ),
        "utterance": lambda: utterances.take(pa.array(turn)),
    }
    return table_of(make, TURN_COLUMNS, columns)


def _seen_domain(
    services: pa.StringArray, seen: pa.BooleanArray, seen_domains: Collection[str]
) -> pa.BooleanArray:
    """Whether each row's domain is in the train split, by the service's original name [rows]."""
    domains = pc.replace_substring_regex(services, "_.*", "")
    in_train = pc.is_in(domains, value_set=pa.array(sorted(seen_domains), pa.string()))
    if unknown := services.filter(pc.and_(seen, pc.invert(in_train))).unique().to_pylist():
        raise SgdxError(
            f"service {unknown[0]} was seen in training, and its domain is not among the seen"
            f" domains {', '.join(sorted(seen_domains))}; expected those of the dialogues' own"
            " release"
        )
    return in_train


def _called(levels: Levels, turn: np.ndarray) -> pa.StringArray:
    """The intent of each turn's first service call, empty where there is none [rows]."""
    calls = levels.of_frames("service_call")
    frame = np.flatnonzero(calls.is_valid().to_numpy(zero_copy_only=False))
    calling, first = np.unique(levels.turn[frame], return_index=True)
    call = np.full(len(levels.turns), -1)
    call[calling] = frame[first]
    index = pa.array(call[turn], mask=call[turn] < 0)
    return calls.field("method").take(index).fill_null("")
