"""The levels of dialogue rows, from which frame rows and turn rows are made."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .arrays import lists_of, struct_array


class Levels:
    """The turns, frames and schemas of dialogue rows (``DIALOGUE_COLUMNS``), laid end to end.

    Each turn has the index of its dialogue, and each frame that of its turn.
    """

    def __init__(self, dialogues: pa.Table) -> None:
        self.ids = dialogues["dialogue_id"].combine_chunks()  # [dialogues]
        self.variants = dialogues["variant"].combine_chunks()  # [dialogues]
        self.turn_lists = dialogues["turns"].combine_chunks()  # [dialogues]
        self.turns = self.turn_lists.flatten()  # [turns]
        self.dialogue = pc.list_parent_indices(self.turn_lists).to_numpy()  # [turns]
        # Offsets of a slice do not begin at 0, while the flattened turns do.
        offsets = self.turn_lists.offsets
        self.first_turn = offsets.to_numpy() - offsets[0].as_py()  # [dialogues + 1]
        self.speaker = self.of_turns("speaker").to_numpy(zero_copy_only=False)  # [turns]
        frame_lists = self.of_turns("frames")
        self.frames = frame_lists.flatten()  # [frames]
        self.turn = pc.list_parent_indices(frame_lists).to_numpy()  # [frames]
        self.schema_lists = dialogues["schemas"].combine_chunks()  # [dialogues]
        self.schemas = self.schema_lists.flatten()  # [schemas]

    def of_turns(self, field: str) -> pa.Array:
        """A field of the turns [turns]."""
        return pc.struct_field(self.turns, field)

    def of_frames(self, field: str) -> pa.Array:
        """A field of the frames [frames]."""
        return pc.struct_field(self.frames, field)

    def schema_of(self, dialogue: np.ndarray, services: pa.StringArray) -> pa.Int32Array:
        """The index in ``schemas`` of each row's service, given its dialogue [rows]."""
        # Two dialogues may have the same service, so the key is the dialogue with the service.
        names = pc.struct_field(self.schemas, "service_name")
        owner = pc.list_parent_indices(self.schema_lists).cast(pa.string())
        schema_keys = pc.binary_join_element_wise(owner, names, "/")
        keys = pc.binary_join_element_wise(pa.array(dialogue).cast(pa.string()), services, "/")
        return pc.index_in(keys, value_set=schema_keys)

    def system_actions(self) -> pa.ListArray:
        """The actions of each turn's frames, with their services; none of the user's [turns]."""
        action_lists = self.of_frames("actions")
        actions = action_lists.flatten()
        frame = pc.list_parent_indices(action_lists).to_numpy()
        turn = self.turn[frame]
        own = np.flatnonzero(self.speaker[turn] == "SYSTEM")
        actions, services = actions.take(pa.array(own)), self.of_frames("service")
        with_service = struct_array(
            service=services.take(pa.array(frame[own])),
            **{field.name: actions.field(field.name) for field in actions.type},
        )
        return lists_of(np.bincount(turn[own], minlength=len(self.turns)), with_service)
