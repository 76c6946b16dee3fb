"""A dialogue while it is generated: its turns as in the release, and what is known so far."""

from random import Random
from typing import Any

from .line import Action, Draft, Line
from .memory import Memory
from .talk import SHARED, Row, Talk

Call = tuple[str, dict[str, str], list[Row]]  # method, parameters, results


class Conversation:
    """Turns, each service's memory, and the questions that the system still owes an answer."""

    def __init__(self, rng: Random, talks: list[Talk]) -> None:
        self.rng = rng
        self.turns: list[dict[str, Any]] = []
        self.memories = {talk.name: Memory(talk) for talk in talks}
        # The actions of the last system turn, by service.
        self.system_actions: dict[str, list[Action]] = {}
        self.values_given: set[tuple[str, str, str]] = set()  # service, slot, canonical value
        self.questions_open: list[tuple[Talk, str, str]] = []  # service, slot, canonical value

    def memory(self, talk: Talk) -> Memory:
        return self.memories[talk.name]

    def pick(self, side: str, key: str) -> str:
        return str(self.rng.choice(SHARED[side][key]))

    def user(self, line: Line) -> None:
        frames = [self._user_frame(name, draft) for name, draft in line.drafts.items()]
        self.turns.append({"frames": frames, "speaker": "USER", "utterance": line.text})

    def _user_frame(self, name: str, draft: Draft) -> dict[str, Any]:
        memory = self.memories[name]
        memory.update(self.system_actions.get(name, []), draft.actions)
        state = memory.frame_state(draft.actions)
        return _frame(name, draft) | {"state": state}

    def system(self, line: Line, talk: Talk, call: Call | None = None) -> None:
        """Add the system's turn; ``call`` is what it asked ``talk``'s service for, if anything."""
        frames = [_frame(name, draft) for name, draft in line.drafts.items()]
        if call:
            method, parameters, results = call
            frame = next(frame for frame in frames if frame["service"] == talk.name)
            frame["service_call"] = {"method": method, "parameters": parameters}
            frame["service_results"] = results
        self.system_actions = {name: draft.actions for name, draft in line.drafts.items()}
        self.turns.append({"frames": frames, "speaker": "SYSTEM", "utterance": line.text})

    def ask(self, line: Line, talk: Talk, slot: str, row: Row) -> None:
        """The user asks for a slot of ``row``; the next system line will answer."""
        self.values_given.add((talk.name, slot, row[slot]))
        line.say(talk, self.rng.choice(talk.slots[slot]["question"]))
        line.act(talk, "REQUEST", slot)
        self.questions_open.append((talk, slot, row[slot]))

    def reply(self) -> Line:
        """A new system line that begins with the answers owed."""
        line = Line()
        for talk, slot, canonical in self.questions_open:
            value = talk.system_value(slot, canonical)
            line.say(talk, self.rng.choice(talk.phrases(slot, "tell", canonical)), {slot: value})
            line.act(talk, "INFORM", slot, value)
        self.questions_open.clear()
        return line


def _frame(name: str, draft: Draft) -> dict[str, Any]:
    return {"actions": draft.actions, "service": name, "slots": draft.spans}
