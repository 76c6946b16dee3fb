"""The rule ``bfcl`` against the published checker, on BFCL's own cases.

The checker is that of the package ``bfcl-eval``, whose requirements clash with this project's:
``SGDX_BFCL_PYTHON`` names the Python of an environment that has it (``pip install --no-deps
bfcl-eval`` is enough). Without it and without BFCL's cases the tests are skipped.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sgdx_metric.call_rules import score_case
from sgdx_tools.importing.bfcl import expected_value, import_bfcl, json_schema

Json = Any
MUTATIONS = 4  # of each case's right answers
pytestmark = pytest.mark.slow
ODD: tuple[Json, ...]
ODD = (None, "", [], {}, 0, 1, True, False, "x", 1.5, [1], ["a"], {"a": 1}, [{}], [[]])


class Answer(NamedTuple):
    """What a program may have answered in a case of one expected call."""

    kind: str
    functions: list[Json]
    accepted: Json
    calls: list[Json]


@pytest.fixture(scope="module")
def checker() -> str:
    """The Python that has the published checker."""
    python = os.environ.get("SGDX_BFCL_PYTHON")
    if python is None and importlib.util.find_spec("bfcl_eval") is None:
        pytest.skip("bfcl-eval is not installed; SGDX_BFCL_PYTHON may name a Python that has it")
    return python or sys.executable


def published_verdicts(python: str, answers: list[Answer]) -> list[bool | None]:
    lines = [
        json.dumps({"functions": a.functions, "calls": a.calls, "answer": a.accepted})
        for a in answers
    ]
    program = Path(__file__).with_name("bfcl_checker.py")
    finished = subprocess.run(
        [python, program], input="\n".join(lines), capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    return [json.loads(line) for line in finished.stdout.split()]


def our_verdict(answer: Answer) -> bool:
    schemas = {f["name"]: json_schema(f["parameters"]) for f in answer.functions}
    expected = []
    for call in answer.accepted:
        for name, accepted in call.items():
            parameters = next(f["parameters"] for f in answer.functions if f["name"] == name)
            arguments = {
                key: expected_value(
                    values, parameters["properties"].get(key, {}), key in parameters["required"]
                )
                for key, values in accepted.items()
            }
            expected.append({"name": name, "arguments": arguments})
    calls = [{"name": n, "arguments": a} for call in answer.calls for n, a in call.items()]
    return score_case(expected, calls, schemas, "bfcl").call == 1


def natural(value: Json, schema: Json, chance: random.Random) -> Json:
    """An accepted value as a program would write it: one value in place of each list of them."""
    if schema.get("type") == "dict" and isinstance(value, dict):
        return {key: chance.choice(values) for key, values in value.items()}
    if (schema.get("items") or {}).get("type") == "dict" and isinstance(value, list):
        return [natural(item, schema["items"], chance) for item in value]
    return value


def right_arguments(accepted: Json, properties: Json, chance: random.Random, first: bool) -> Json:
    arguments = {}
    for key, values in accepted.items():
        options = [value for value in values if value != ""]
        if options and (first or "" not in values or chance.random() < 0.6):
            value = options[0] if first else chance.choice(options)
            arguments[key] = natural(value, properties.get(key, {}), chance)
    return arguments


def mutate(value: Json, chance: random.Random) -> Json:
    """A value that is near to another."""
    if chance.random() < 0.12:
        return chance.choice(ODD)
    if isinstance(value, bool):
        return chance.choice((not value, int(value), str(value), None))
    if isinstance(value, int | float):
        return chance.choice((value + 1, float(value), int(value), str(value), [value], -value))
    if isinstance(value, str):
        i = chance.randrange(len(value) + 1)
        inserted = value[:i] + chance.choice(" ,./-_*^'\"!:;()") + value[i:]
        other = value[:i] + chance.choice("abc1") + value[i + 1 :]
        plain = value.replace("'", '"').replace(" ", "").replace("-", "/")
        return chance.choice((value.upper(), inserted, other, plain, value[:-1], [value]))
    if isinstance(value, list):
        items = copy.deepcopy(value)
        chance.shuffle(items)
        changed = [mutate(item, chance) for item in value]
        return chance.choice((items, changed, value[:-1], [*value, None], [value], str(value)))
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        rest = {name: item for name, item in value.items() if name != key}
        changed_key = {**value, key: mutate(value[key], chance)}
        return chance.choice((rest, changed_key, {**value, "extra": 1}, {**rest, key + "x": 1}))
    return chance.choice((0, "", False, "None", []))


def answers_of(case: Json, accepted: Json, chance: random.Random) -> list[Answer]:
    """Right and wrong answers in a case."""
    functions = case["function"]
    ((name, values),) = accepted[0].items()
    properties = next(f for f in functions if f["name"] == name)["parameters"]["properties"]

    def answer(kind: str, *calls: Json) -> Answer:
        return Answer(kind, functions, accepted, list(calls))

    right = right_arguments(values, properties, chance, first=True)
    answers = [
        answer("right", {name: right}),
        answer("right", {name: right_arguments(values, properties, chance, first=False)}),
        answer("none"),
        answer("two", {name: right}, {name: right}),
        *(answer("other tool", {f["name"]: right}) for f in functions[:2] if f["name"] != name),
    ]
    for _ in range(MUTATIONS):
        arguments = right_arguments(values, properties, chance, first=chance.random() < 0.5)
        key = chance.choice([*(arguments or properties), "unexpected"])
        if chance.random() < 0.1:
            arguments.pop(key, None)
        else:
            arguments[key] = mutate(arguments.get(key), chance)
        answers.append(answer("mutated", {name: arguments}))
    return answers


def test_every_verdict_is_the_published_one(bfcl_data: Path, checker: str) -> None:
    chance, answers = random.Random(34), list[Answer]()  # noqa: S311
    for path in sorted(bfcl_data.glob("BFCL_*.json")):
        answer_file = bfcl_data / "possible_answer" / path.name
        if answer_file.exists():
            lines = [json.loads(line) for line in answer_file.read_text().splitlines()]
            accepted = {line["id"]: line["ground_truth"] for line in lines}
            for line in path.read_text().splitlines():
                case = json.loads(line)
                answers += answers_of(case, accepted[case["id"]], chance)
    verdicts = published_verdicts(checker, answers)
    assert None not in verdicts  # the checker itself ended in no error
    kinds = [(answer.kind, verdict) for answer, verdict in zip(answers, verdicts, strict=True)]
    assert sum(kind == "right" for kind, _ in kinds) == 2 * 1911
    assert sum(kind == "mutated" for kind, _ in kinds) == MUTATIONS * 1911 >= 5000
    assert kinds.count(("mutated", True)) > 500 < kinds.count(("mutated", False))
    different = [a for a, verdict in zip(answers, verdicts) if our_verdict(a) != verdict]
    assert different == []


def test_all_cases_are_imported_but_those_that_no_call_can_satisfy(bfcl_data: Path) -> None:
    answer_files = sorted((bfcl_data / "possible_answer").glob("*.json"))
    collection = import_bfcl(sorted(bfcl_data.glob("BFCL_*.json")), answer_files)
    with_call = [case for case in collection.cases if case.expect is not None]
    assert (len(collection.cases), len(with_call)) == (1907 + 884, 1907)
    assert [line.split()[1].rstrip(":") for line in collection.left_out] == [
        "live_multiple_862-181-3",
        "live_multiple_964-207-0",
        "live_simple_106-63-0",
        "live_simple_112-68-0",
    ]
