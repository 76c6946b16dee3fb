"""The input of a generator: the actions of a turn of the system as one text, in four forms.

Three of them are those of T2G2 (Kale and Rastogi 2020, arXiv 2004.15006, and its released code):
`naive`, `schema` and `t2g2`. The fourth, `derived`, makes a sentence of every action by rule from
the schema's own descriptions, so it needs no templates and works for any service in any wording.
The fields of a text are joined by ` | `, and the first is the speaker, `SYSTEM`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Literal, get_args

from sgdx_dataset import SgdxError
from sgsacc_metric.rows import Action, Service, Slot, Turn

from ..copies.derived import derived
from ..copies.templates import Templates, from_templates

InputName = Literal["derived", "t2g2", "schema", "naive"]
INPUTS: tuple[str, ...] = get_args(InputName)
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
