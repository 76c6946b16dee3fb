"""The inputs of the generator, and training examples made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
from datasets import Dataset
from datasets.utils import tqdm
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, read_service
from sgsacc_metric.rows import Action, Turn

from ..batching import Ints
from ..copies import Templates, derived, from_templates
from ..t5dst.data import TextExamples, TokenLimits
from .settings import InputName

TurnToInput = Callable[[Turn], str]


def input_of(name: InputName, templates: Mapping[str, Templates] | None) -> TurnToInput:
    """The function that makes an input of a turn.

    ``derived`` is a sentence for each action, made of the descriptions of its slot or intent;
    ``t2g2`` the same of hand-written templates; ``naive`` and ``schema`` are those of ``listed``.
    """
    if (templates is None) == (name == "t2g2"):
        raise SgdxError(
            f"input {name}: found {'no' if templates is None else 'a'} folder of templates, "
            "expected one with the input t2g2 and with no other"
        )
    inputs: dict[InputName, TurnToInput] = {
        "derived": lambda turn: _joined("SYSTEM", derived(turn)),
        "t2g2": lambda turn: _joined("SYSTEM", from_templates(turn, templates or {})),
        "schema": lambda turn: listed(turn, described=True),
        "naive": lambda turn: listed(turn, described=False),
    }
    return inputs[name]


def listed(turn: Turn, *, described: bool) -> str:
    """Acts, slots and values by their names, or with what the schema says of them too.

    An action is ``<act>,<slot>, values = <value>,<value>``, without what it does not have. Where
    T2G2's released code has a literal ``{schema['description']}``, as the prefix that would format
    it is missing, this has the description of the service.

    >>> listed(turn, described=False)
    'SYSTEM | service_name=Hotels_1 | confirm,city, values = Rome | goodbye'
    >>> listed(turn, described=True)
    'SYSTEM | service_name=Hotels_1,description=Hotels | confirm,name=city,description=City of the
    hotel, values = Rome | goodbye'
    """
    descriptions = {schema.service_name: schema.description for schema in turn.schemas}
    fields = ["SYSTEM"]
    for service, actions in groupby(turn.actions, key=lambda action: action.service):
        about = f",description={descriptions[service]}" if described else ""
        fields.append(f"service_name={service}{about}")
        for action in actions:
            named = action.slot
            if described and (slot := turn.slot(action)):
                named = f"name={slot.name},description={slot.description}"
                # T2G2 has a space before this one `=`.
                examples = ",".join(slot.possible_values)
                named += f",examples ={examples}" if examples else ""
            text = ",".join(filter(None, (action.act.lower(), named)))
            fields.append(f"{text}, values = {','.join(action.values)}" if action.values else text)
    return _joined(*fields)


def _joined(*fields: str) -> str:
    return " | ".join(fields).replace("\n", " ").replace("\t", " ")


def read_turns(rows: Dataset, original: bool) -> Iterator[Turn]:
    """The turns of turn rows, with no more than a generator may read of them."""
    # The schemas of a service are decoded once for each variant.
    schemas: dict[tuple[str, ...], list[Service]] = {}
    lean = rows.remove_columns("schemas")
    shown = tqdm(lean, desc="Reading turns", unit=" turns", delay=2, disable=None)
    for index, row in enumerate(shown):
        services = dict.fromkeys([row["service"], *(act["service"] for act in row["actions"])])
        variant = (row["variant"], *services)
        if variant not in schemas:
            schemas[variant] = [*map(read_service, rows[index]["schemas"])]
        actions, intent = row["actions"], row["intent"]
        if original:
            actions, intent = row["original_actions"], row["original_intent"]
            if actions is None:
                raise SgdxError(
                    f"turn {row['turn_id']}: found it under {row['variant']} only, expected it "
                    "under original too, as templates are found by the original names"
                )
        yield Turn(
            row["turn_id"],
            row["variant"],
            row["service"],
            False,
            False,
            msgspec.convert(actions, list[Action]),
            "",
            schemas[variant],
            intent,
        )


class UtteranceExamples(TextExamples):
    """The tokens of inputs and, for training, of the utterances to generate."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        limits: TokenLimits,
        inputs: Sequence[str],
        utterances: Sequence[str] = (),
    ) -> None:
        super().__init__(tokenizer, limits)
        distinct = {text: index for index, text in enumerate(dict.fromkeys(inputs))}
        self.numbers = np.array([distinct[text] for text in inputs], np.int64)
        self.inputs, long = self._tokens(tokenizer, list(distinct), limits.max_input)
        self.answers, long_answers = self._tokens(tokenizer, utterances, limits.max_target)
        self.targets = np.arange(len(self.answers))
        self.input_lengths = np.array([len(ids) for ids in self.inputs], np.int64)
        self.lengths = self.input_lengths[self.numbers]
        cut = {"of": len(inputs), "inputs": int(long[self.numbers].sum())}
        cut |= {"utterances": int(long_answers.sum())} if utterances else {}
        self.facts = {"cut": cut}

    def ids(self, number: int) -> Ints:
        """The tokens of a distinct input."""
        return self.inputs[number]

    def _tokens(
        self, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], limit: int
    ) -> tuple[list[Ints], Any]:
        """The tokens of each text, at most ``limit``, and which texts have more [texts]."""
        every = tokenizer(list(texts), verbose=False)["input_ids"] if texts else []
        long = np.array([len(ids) > limit for ids in every], bool)
        tokens: list[Any] = [np.array(ids, np.int32) for ids in every]
        for index in np.flatnonzero(long).tolist():
            tokens[index] = np.concatenate([tokens[index][: limit - len(self.after)], self.after])
        return tokens, long
