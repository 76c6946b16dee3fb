"""The inputs of the generator, and training examples made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import torch
from datasets import Dataset
from datasets.utils import tqdm
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, Slot, read_service
from sgsacc_metric.rows import Action, Turn

from ..batching import Ints
from ..copies import Templates, derived, from_templates
from ..t5dst.data import filled, padded, special_tokens, with_targets
from ..tracker import Examples
from .settings import InputName

TurnToInput = Callable[[Turn], str]


def input_of(name: InputName, templates: Mapping[str, Templates] | None) -> TurnToInput:
    """The function that makes an input of a turn."""
    if (templates is None) == (name == "t2g2"):
        raise SgdxError(
            f"input {name}: found {'no' if templates is None else 'a'} folder of templates, "
            "expected one with the input t2g2 and with no other"
        )
    if templates is not None:
        return lambda turn: _joined("SYSTEM", from_templates(turn, templates))
    return {"derived": derived_input, "schema": schema_input, "naive": naive_input}[name]


def derived_input(turn: Turn) -> str:
    """A sentence for each action, made of the descriptions of its slot or intent.

    >>> derived_input(turn)
    'SYSTEM | City of the hotel is Rome. Have a good day.'
    """
    return _joined("SYSTEM", derived(turn))


def naive_input(turn: Turn) -> str:
    """Acts, slots and values by their names.

    >>> naive_input(turn)
    'SYSTEM | service_name=Hotels_1 | confirm,city, values = Rome | goodbye'
    """
    fields = ["SYSTEM"]
    for service, actions in groupby(turn.actions, key=lambda action: action.service):
        fields += [f"service_name={service}", *(_action(action, action.slot) for action in actions)]
    return _joined(*fields)


def schema_input(turn: Turn) -> str:
    """Acts, slots and values, with the descriptions and possible values that the schema has.

    Where T2G2's released code has a literal ``{schema['description']}``, as the prefix that would
    format it is missing, this has the description of the service.

    >>> schema_input(turn)
    'SYSTEM | service_name=Hotels_1,description=Hotels | confirm,name=city,description=City of the
    hotel, values = Rome | goodbye'
    """
    services = {schema.service_name: schema for schema in turn.schemas}
    fields = ["SYSTEM"]
    for service, actions in groupby(turn.actions, key=lambda action: action.service):
        fields.append(_service(services[service]))
        for action in actions:
            slot = turn.slot(action)
            fields.append(_action(action, _slot(slot) if slot else action.slot))
    return _joined(*fields)


def _action(action: Action, slot: str) -> str:
    """An action as ``<act>,<slot>, values = <value>,<value>``, without what it does not have."""
    text = ",".join(filter(None, (action.act.lower(), slot)))
    return f"{text}, values = {','.join(action.values)}" if action.values else text


def _service(service: Service) -> str:
    return f"service_name={service.service_name},description={service.description}"


def _slot(slot: Slot) -> str:
    text = f"name={slot.name},description={slot.description}"
    # T2G2 has a space before this one `=`.
    return f"{text},examples ={','.join(slot.possible_values)}" if slot.possible_values else text


def _joined(*fields: str) -> str:
    return " | ".join(fields).replace("\n", " ").replace("\t", " ")


Row = dict[str, Any]


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


class UtteranceExamples(Examples):
    """The tokens of inputs and, for training, of the utterances to generate."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        limits: tuple[int, int],
        inputs: Sequence[str],
        utterances: Sequence[str] = (),
    ) -> None:
        self.pad: int = tokenizer.pad_token_id
        self.limits = limits  # of tokens of an input and of an utterance, end tokens included
        distinct = {text: index for index, text in enumerate(dict.fromkeys(inputs))}
        # Of each example the index of its input among the distinct ones [examples].
        self.input_numbers: Ints = np.array([distinct[text] for text in inputs], np.int64)
        self.inputs, long = _tokens(tokenizer, list(distinct), limits[0])
        self.targets, long_targets = _tokens(tokenizer, utterances, limits[1])
        lengths = np.array([len(ids) for ids in self.inputs], np.int64)
        self.lengths: Ints = lengths[self.input_numbers]  # [examples]
        cut = {"of": len(inputs), "inputs": int(long[self.input_numbers].sum())}
        cut |= {"utterances": int(long_targets.sum())} if utterances else {}
        self.facts = {"cut": cut}

    def prompts(self, distinct: Ints) -> dict[str, torch.Tensor]:
        """``input_ids`` and ``attention_mask`` of distinct inputs [inputs, tokens]."""
        rows = [self.inputs[index] for index in distinct.tolist()]
        ids = padded(rows, self.pad)
        lengths = torch.tensor([len(row) for row in rows])
        return {
            "input_ids": ids,
            "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long(),
        }

    def batch(self, indices: Ints) -> dict[str, torch.Tensor]:
        """A batch with the utterances as ``labels`` [inputs, tokens] and their number of tokens."""
        targets = [self.targets[index] for index in indices.tolist()]
        return with_targets(self.prompts(self.input_numbers[indices]), targets)

    def fill(
        self, batch: dict[str, torch.Tensor], rows: int, width: int
    ) -> dict[str, torch.Tensor]:
        """Fill a batch up to rows and tokens."""
        return filled(batch, rows, width, self.limits[1])


def _tokens(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], limit: int
) -> tuple[list[Ints], Any]:
    """The tokens of each text, at most ``limit``, and which texts have more [texts]."""
    if not texts:
        return [], np.zeros(0, bool)
    token_ids = tokenizer(list(texts), verbose=False)["input_ids"]
    long = np.array([len(ids) > limit for ids in token_ids])
    _, end = special_tokens(tokenizer)
    for index in np.flatnonzero(long).tolist():
        token_ids[index] = [*token_ids[index][: limit - len(end)], *end]
    return [np.array(ids, np.int32) for ids in token_ids], long
