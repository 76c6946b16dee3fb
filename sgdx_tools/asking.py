"""Asking a model or a program for the calls of every case under every variant."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_eval.predictions import Header, finished_names, versions, write_predictions
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.asking import ask, open_answers, tell_missing
from sgdx_llm.estimate import estimate_variant, print_estimates, token_counter
from sgdx_llm.options import SendingOptions, ServerOptions
from sgdx_llm.predictions import AnswerTally, prediction_line
from sgdx_llm.program import public_name
from sgdx_llm.providers import PROGRAM, base_url, host_of, place_of
from sgdx_llm.requests import Request, RequestSettings, custom_id, request_key, with_seed

from .data import Case, Json, Project
from .options import AskOptions
from .predictions import (
    Prediction,
    PredictionFile,
    beginning,
    by_run,
    read_calls,
    read_prediction_file,
)
from .renaming import worded_tools
from .skills import as_skill_calls, skill_tool
from .steps import answered, goes_on

# Words and cases that differ from time to time need chance, and those of many parts many tokens.
_SAMPLED: Json = {"temperature": 1.0, "max_tokens": 8192}


def ask_cases(
    project: Project, asked: AskOptions, sending: SendingOptions, output: Path
) -> dict[str, PredictionFile] | None:
    """Ask what has no answer yet, and write the predictions under each variant into a folder.

    Returns them, or None where answers are missing still. What is finished there is read.
    """
    sending.check(asked.prices)  # an error in it is told before anything is asked
    plan = ToolPlan(project, asked)
    _tell_left_out(plan)
    headers = {name: plan.header(name) for name in plan.names}
    paths = {name: output / f"{name}.jsonl" for name in plan.names}
    with open_answers(output) as answers:
        plan.answers = answers
        if len(finished_names(output, headers)) == len(headers):
            print(*paths.values(), sep="\n")
            return {name: read_prediction_file(path, project) for name, path in paths.items()}
        count = len(project.cases) * len(plan.names) * asked.repeats
        steps = max((case.steps for case in project.cases), default=1)
        ask(plan, count, answers, asked, sending, asked.command, steps)
        missing = Counter(
            request.custom_id.split("|", 1)[0]
            for request in plan.requests()
            if request.key not in answers
        )
        files = {}
        for name in plan.names:
            if missing[name]:
                continue
            predictions, counts = plan.predictions(name)
            header = msgspec.structs.replace(headers[name], counts=counts, versions=versions())
            write_predictions(paths[name], header, predictions)
            of_variant = [(str(paths[name]), prediction) for prediction in predictions]
            files[name] = PredictionFile(header, by_run(of_variant, project, str(paths[name])))
            print(prediction_line(name, counts), file=sys.stderr)
            if texts := counts["text_calls"]:
                found = f"{texts} texts under {name} look like calls, and count as none"
                print(f"note: {found}; --text-calls reads them", file=sys.stderr)
    if missing:
        tell_missing(missing)
        return None
    print(*paths.values(), sep="\n")
    return files


def show_estimate(project: Project, asked: AskOptions) -> None:
    """Print how many requests and tokens a run would send, variant by variant."""
    plan, cases = ToolPlan(project, asked), {case.id: case for case in project.cases}
    _tell_left_out(plan)
    count_tokens, counter = token_counter()
    counted_keys, estimates = set[str](), []
    for name in plan.names:
        answered = []  # each request's key and body, and the expected calls as JSON
        for request in plan.first_requests([name]):
            calls = plan.worded[name].expect(cases[request.shown["case"]["id"]]) or ()
            made = [msgspec.structs.asdict(call) for call in calls]
            answer = json.dumps(made, ensure_ascii=False) if made else ""
            answered.append((request.key, request.body, answer))
        estimates.append(estimate_variant(name, answered, count_tokens, counted_keys))
    print_estimates(estimates, counter, asked.prices)
    if (most := max(case.steps for case in project.cases)) > 1:
        print(f"These are first steps. A case has up to {most}, each longer than the one before.")


def _tell_left_out(plan: ToolPlan) -> None:
    for case, why in plan.project.left_out.items():
        print(f"note: case {case} is left out: it cannot be right under {why}", file=sys.stderr)
    for name, worded in plan.worded.items():
        texts, said = worded.count_mentions(plan.project.cases)
        if texts or said:
            spoken = f"{texts} descriptions and {said} messages speak of names that are changed"
            hint = "and say the new ones; mentions: false keeps the old"
            print(f"note: {name}: {spoken}, {hint}", file=sys.stderr)


# A request, its line in the file of answers, and what the answer says.
_Step = tuple[Request, Json, Prediction, Counter[str]]


def check_cases(project: Project) -> None:
    """Refuse a project in which there is nothing to ask."""
    if not project.cases:
        some = f"'sgdx tools cases {project.path} --generate 5' has a model write some"
        raise SgdxError(f"{project.path}: found no cases, expected {project.cases_file}; {some}")


class ToolPlan:
    """What is asked of a model or a program: every case under every variant, and again if repeated.

    A case is asked under all variants before the next one, so that a run that is stopped has whole
    cases under all of them.
    """

    def __init__(self, project: Project, asked: AskOptions) -> None:
        program = public_name(asked.command) if asked.command else None
        model = asked.model or program
        if not model:
            raise SgdxError("found neither --model nor --command, expected one of them")
        self.project, self.asked = project, asked
        self.settings, host = settings_of(asked, model)
        # The server or program that is asked, for keys of answers.
        self.host = f"{PROGRAM}{program}" if program else host
        # The variants to ask under, and the tools under each.
        self.names = list(dict.fromkeys(asked.variant or project.variants))
        check_cases(project)
        if unknown := [name for name in self.names if name not in project.variants]:
            known_names = ", ".join(project.variants)
            raise SgdxError(f"--variant {unknown[0]}: expected one of {known_names}")
        if project.source.shown_as == "skill" and any(case.steps > 1 for case in project.cases):
            raise SgdxError("steps: found skills, expected tools, which give something back")
        self.worded = worded_tools(project, self.names)
        self.cases = {case.id: case for case in project.cases}
        # Where the answers so far are, which later steps go on from.
        self.answers: AnswerFile | None = None

    def requests(self) -> Iterator[Request]:
        """All requests in order: those that are answered, and then the next one of each case."""
        for first in self.first_requests():
            if self.cases[first.shown["case"]["id"]].steps == 1:
                yield first
                continue
            answered, following = self._walk(first)
            yield from (request for request, _, _, _ in answered)
            if following:
                yield following

    def _walk(self, first: Request) -> tuple[list[_Step], Request | None]:
        """The steps of a case that are answered, and what is asked next, unless it has ended."""
        name, case = first.custom_id.partition("|")[0], self.cases[first.shown["case"]["id"]]
        project, worded, repeat = self.project, self.worded[name], first.custom_id.rsplit("|", 1)[1]
        steps, request, made = list[_Step](), first, list[list[Json]]()
        while line := self.answers and self.answers.get(request.key):
            prediction, counts = self.read(request, line["body"])
            steps.append((request, line, prediction, counts))
            made.append([msgspec.structs.asdict(call) for call in prediction.calls])
            if not goes_on(project, worded, case, made):
                return steps, None
            said = answered(project, worded, case, made[-1], len(made))
            messages = [*request.body["messages"], *said]
            body = {**request.body, "messages": messages}
            request = replace(
                request,
                body=body,
                key=request_key(body, self._host(case), int(repeat)),
                shown={"case": {**request.shown["case"], "messages": messages}},
            )
        return steps, request

    def _host(self, case: Case) -> str:
        """Whom keys of answers name: a program may answer by the case's id, a model cannot."""
        return f"{self.host}|{case.id}" if self.host.startswith(PROGRAM) else self.host

    def first_requests(self, names: Iterable[str] | None = None) -> Iterator[Request]:
        """The first request of each case under all variants, or under some, one after the other."""
        for case in self.project.cases:
            for name in self.names if names is None else names:
                worded = self.worded[name]
                shown = [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters or {"type": "object", "properties": {}},
                        **({"strict": True} if tool.strict else {}),
                    }
                    for tool in map(worded.tool, worded.shown(case.tools))
                ]
                if self.project.source.shown_as == "skill" and shown:
                    shown = [skill_tool(shown)]
                messages = worded.messages(case)
                if self.project.source.shown_as == "skill":
                    messages = [as_skill_calls(message) for message in messages]
                functions = [{"type": "function", "function": tool} for tool in shown]
                fields = self.settings.fields(
                    {"tools": functions, "tool_choice": "auto"} if functions else {}
                )
                body = {"model": self.settings.model, **fields, "messages": messages}
                case_shown = {"id": case.id, "messages": messages, "tools": shown}
                for repeat in range(1, self.asked.repeats + 1):
                    key = request_key(body, self._host(case), repeat)
                    yield Request(
                        custom_id=custom_id(name, case.id, repeat),
                        body=body,
                        key=key,
                        shown={"case": case_shown},
                    )

    def is_unread(self, request: Request, body: Any) -> bool:
        """Whether an answer cannot be read."""
        return bool(self.read(request, body)[1]["unread"])

    def predictions(self, name: str) -> tuple[list[Prediction], Json]:
        """The calls that all answers under a variant make, and the counts of its header."""
        tally, predictions = AnswerTally(), []
        for first in self.first_requests([name]):
            steps, following = self._walk(first)
            if following:
                raise SgdxError(f"{first.custom_id}: its answer has gone while it was being read")
            for _, line, _, counts in steps:
                tally.add(line, counts)
            *earlier, (_, _, last, _) = steps
            before = tuple(call for _, _, prediction, _ in earlier for call in prediction.calls)
            predictions.append(msgspec.structs.replace(last, before=before))
        return predictions, tally.facts(self.asked.prices)

    def read(self, request: Request, body: Any) -> tuple[Prediction, Counter[str]]:
        """The calls that an answer makes, and its counts."""
        calls, counts = read_calls(body, self.asked.text_calls, request.body.get("tools", ()))
        name, repeat = request.custom_id.partition("|")[0], request.custom_id.rpartition("|")[2]
        unread = bool(counts["unread"])
        case, said = request.shown["case"]["id"], beginning(body) if unread else ""
        return Prediction(case, name, calls, int(repeat), unread, said), counts

    def header(self, name: str) -> Header:
        """What the header of a prediction file says of the run, its answers aside."""
        settings, project, asked = self.settings, self.project, self.asked
        kept = len(project.cases) + len(project.left_out)
        return Header(
            task="tools",
            variant=name,
            source=Path(project.path).resolve().name,  # without private folders
            data=project.digest(name),
            system={
                "model": settings.model,
                "host": host_of(self.host),
                "provider": settings.provider.name,
                "parameters": settings.fields({}),
                "omitted": list(settings.omitted),
                "tool_choice": "auto",
                "repeats": asked.repeats,
                **({"text_calls": True} if asked.text_calls else {}),
                **({"shown_as": "skill"} if project.source.shown_as == "skill" else {}),
                **({"limit": len(project.cases)} if kept < len(project.all_cases) else {}),
            },
        )


class FunctionPlan:
    """Conversations that each demand a call of one function of a model, such as new words."""

    def __init__(
        self,
        model: str,
        function: Json,
        asked: tuple[ServerOptions, SendingOptions],
        is_read: Callable[[Any], bool],
    ) -> None:
        """Take how the model is asked, and whether an answer to it can be used."""
        self._function, self._asked, self._is_read = function, asked, is_read
        self._settings, self._host = settings_of(asked[0], model, _SAMPLED)
        self._requests: list[Request] = []
        self.times = 0  # that anything was asked

    def requests(self) -> Iterator[Request]:
        """All requests, in order."""
        return iter(self._requests)

    def is_unread(self, request: Request, body: Any) -> bool:
        """Whether an answer cannot be used."""
        return not self._is_read(body)

    def answers(
        self, conversations: Iterable[tuple[str, int, list[Json]]], kept: AnswerFile
    ) -> list[Any] | None:
        """The answers to messages with a name and a turn, by which the same are asked anew.

        What is kept is not asked again. None where answers are missing still, which is said.
        """
        settings, self._requests = self._settings, []
        choice = settings.provider.chosen(self._function["function"]["name"])
        fields = settings.fields({"tools": [self._function], "tool_choice": choice})
        for name, turn, messages in conversations:
            body = {"model": settings.model, **fields, "messages": messages}
            body = with_seed(body, turn, settings.provider.seed)
            key = request_key(body, self._host, turn)
            self._requests.append(Request(custom_id=name, body=body, key=key))
        if any(request.key not in kept for request in self._requests):
            self.times += 1
            ask(self, len(self._requests), kept, *self._asked)
        lines = [kept.get(request.key) for request in self._requests]
        if missing := sum(line is None for line in lines):
            tell_missing({self._function["function"]["name"]: missing})
            return None
        return [(line or {})["body"] for line in lines]


def settings_of(
    asked: ServerOptions, model: str, defaults: Json | None = None
) -> tuple[RequestSettings, str]:
    """What requests ask for, and the server that is asked, from the options.

    Of the defaults, those count that the provider takes and the options do not set.
    """
    provider = asked.known_provider()
    known = {key: value for key, value in (defaults or {}).items() if key not in provider.omitted}
    settings = RequestSettings(
        model=model,
        parameters=known | asked.parameters,
        omitted=tuple(dict.fromkeys(asked.omit)),
        provider=provider,
    )
    return settings, place_of(base_url(asked.base_url, settings.provider))
