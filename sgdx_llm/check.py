"""Five requests that find out how a server answers, before thousands are sent to it.

What a server ignores or refuses differs by its version, its model and how it was started.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import msgspec

from sgdx_eval.requested import RequestedData

from .answers import why_invalid
from .endpoint import LaterError, RefusedError, Send
from .functions import Json
from .plan import Plan
from .requests import RequestSettings
from .usage import Usage, usage_of

_WORD = "heron"
_LINES = 700  # of the long prompt, about 10 tokens each: over 4,096, and under 8,192
_CHARACTERS = 4  # of a token, about
_CHAT = {"role": "user", "content": "Hello! How are you today?"}
_MOST_REFUSALS = 4
_MORE_TOKENS = 8192
_CONTEXTS = {
    "ollama": "start it with OLLAMA_CONTEXT_LENGTH=8192",
    "llamacpp": "start it with --ctx-size 8192",
    "vllm": "start it with --max-model-len 8192",
}


@dataclass(frozen=True)
class Finding:
    """What one question about a server has found."""

    question: str
    answer: str  # the answer, in a few words
    is_fine: bool  # whether nothing has to be done
    advice: str = ""  # what to do; empty where nothing can be done with an option


@dataclass
class _Server:
    """A server that is being asked."""

    send: Send  # sends one body, and returns that of the answer
    # What requests ask for; fields that the server has refused are omitted.
    settings: RequestSettings
    answers: list[Json] = field(default_factory=list)  # the answers so far
    usage: Usage = field(default_factory=Usage)  # tokens of all of them
    # The fields that it has refused, with its words.
    refused: dict[str, str] = field(default_factory=dict)

    async def ask(self, messages: list[Json], how: Json) -> Json:
        """The answer to messages; fields that the server's refusal names are left out for good."""
        for _ in range(_MOST_REFUSALS):
            body = {"model": self.settings.model, **self.settings.fields(how), "messages": messages}
            try:
                answer = await self.send(body)
                break
            except RefusedError as error:
                message = str(error.answer["error"]["message"])
                needed = ("model", "messages", "tools", "tool_choice")
                named = [name for name in body if name not in needed and name in message]
                if not named:
                    raise
                name = max(named, key=len)
                self.refused[name] = message
                self.settings = _without(self.settings, name)
        else:
            answer = await self.send(body)
        self.answers.append(answer if isinstance(answer, dict) else {})
        self.usage += usage_of(answer)
        return self.answers[-1]


def _without(settings: RequestSettings, name: str) -> RequestSettings:
    """Settings that leave a field out; a limit of tokens is sent under its other name."""
    parameters = {key: value for key, value in settings.parameters.items() if key != name}
    if name == "max_tokens":
        parameters["max_completion_tokens"] = _MORE_TOKENS
    return msgspec.structs.replace(
        settings, parameters=parameters, omitted=(*settings.omitted, name)
    )


async def check(send: Send, settings: RequestSettings) -> list[Finding]:
    """Ask a server five requests, and say what was found."""
    server = _Server(send, settings)
    without_functions = usage_of(await server.ask([_CHAT], {})).sent
    findings = []
    if settings.answer == "tool":
        findings += [await _named_choice(server), await _required_choice(server)]
        findings += _functions_seen(server, without_functions)
    findings += [await _long_prompt(server), await _real_request(server)]
    told = Finding("Are tokens counted?", "yes" if server.usage.sent else "no", True)
    return [*_refused_fields(server), *findings, _thinking(server), told]


def _refused_fields(server: _Server) -> list[Finding]:
    if not server.refused:
        return [Finding("Are all fields taken?", "yes", True)]
    findings = []
    for name, message in server.refused.items():
        advice = f"--omit {name}"
        if name == "max_tokens":
            advice += f" --set max_completion_tokens={_MORE_TOKENS}"
        findings.append(Finding(f"Is {name} taken?", f"no: {message[:80]}", False, advice))
    return findings


async def _named_choice(server: _Server) -> Finding:
    """Whether a call is made where the request demands one of a function that does not fit."""
    question = "Is a demanded call made?"
    choice = server.settings.provider.chosen("get_weather")
    how = {"tools": [_tool("get_weather")], "tool_choice": choice}
    try:
        called = _called(await server.ask([_CHAT], how))
    except (RefusedError, LaterError) as error:
        return Finding(question, f"no: {_reason(error)}", False, "--answer text")
    if called:
        return Finding(question, "yes", True)
    advice = "" if choice == "required" else """--set 'tool_choice="required"'"""
    return Finding(question, "no, the model may talk instead", False, advice)


async def _required_choice(server: _Server) -> Finding:
    """The same where the model may choose between functions, as for the task ``calls``."""
    question = "Is one of several calls made?"
    how = {"tools": [_tool("get_weather"), _tool("get_time")], "tool_choice": "required"}
    is_needed = server.settings.task == "calls"
    try:
        called = _called(await server.ask([_CHAT], how))
    except (RefusedError, LaterError) as error:
        return Finding(question, f"no: {_reason(error)}", not is_needed)
    return Finding(question, "yes" if called else "no", called or not is_needed)


def _functions_seen(server: _Server, without_functions: int) -> list[Finding]:
    """Whether functions reach the model: its chat template may have no place for them."""
    sent = [usage_of(answer).sent for answer in server.answers[1:]]
    if not without_functions or not any(sent):
        return []
    question = "Does the model see functions?"
    if max(sent) > without_functions:
        return [Finding(question, "yes", True)]
    answer = f"no, a chat has {without_functions} tokens with and without them"
    advice = "give the server a chat template that shows tools, or use --answer json_schema"
    return [Finding(question, answer, False, advice)]


async def _long_prompt(server: _Server) -> Finding:
    """Whether the beginning of a long prompt reaches the model."""
    question = "Are long prompts whole?"
    lines = [f"The code word is {_WORD}."]
    lines += [f"Line {number} of this text has nothing to say." for number in range(_LINES)]
    lines += ["What is the code word? Answer with it alone."]
    text = "\n".join(lines)
    try:
        answer = await server.ask([{"role": "user", "content": text}], {})
    except (RefusedError, LaterError) as error:
        return Finding(question, f"too long ones are refused: {_reason(error)}", True)
    expected, sent = len(text) // _CHARACTERS, usage_of(answer).sent
    advice = _CONTEXTS.get(server.settings.provider.name, "give the server a longer context")
    if sent:
        if sent < expected / 2 or sent == 4096:
            answer_text = f"no, cut at {sent} of about {expected} tokens"
            return Finding(question, answer_text, False, advice)
        return Finding(question, f"yes, {sent} tokens", True)
    if _WORD in json.dumps(answer.get("choices")).lower():
        return Finding(question, "yes, their beginning is known", True)
    return Finding(question, "perhaps not, their beginning is not known", False, advice)


async def _real_request(server: _Server) -> Finding:
    """Whether the answer to a request of the sample corpus can be read."""
    question = "Is a real request answered?"
    settings = server.settings
    data = RequestedData("sample", "test", {}, None)
    plan = Plan(data, ["original"], settings, "")
    *_, request = plan.requests_of("original", plan.dialogues[0])
    body, others = request.bodies[0], ("model", "messages", *settings.fields({}))
    messages = body["messages"]
    how = {name: value for name, value in body.items() if name not in others}
    try:
        answer = await server.ask(messages, how)
    except (RefusedError, LaterError) as error:
        return Finding(question, f"no: {_reason(error)}", False)
    counts = plan.read(request, answer).counts
    if not counts["invalid"]:
        place = ", from a place other than the expected one" if counts["salvaged"] else ""
        return Finding(question, f"yes{place}", True)
    if why_invalid(counts) == "truncated":
        name = "max_tokens" if "max_tokens" in settings.fields({}) else "max_completion_tokens"
        limit = settings.fields({}).get(name, 0)
        advice = f"--set {name}={max(_MORE_TOKENS, 4 * limit)}"
        return Finding(question, f"no, cut off at {limit} tokens", False, advice)
    return Finding(question, f"no: {why_invalid(counts).replace('_', ' ')}", False)


def _thinking(server: _Server) -> Finding:
    """Whether the model thinks before it answers, which takes tokens and time."""
    question = "Does the model think?"
    if server.usage.reasoning:
        return Finding(question, f"yes, {server.usage.reasoning} tokens in all", True)
    for answer in server.answers:
        for choice in answer.get("choices") or ():
            message = choice.get("message") if isinstance(choice, dict) else None
            message = message if isinstance(message, dict) else {}
            keys = ("reasoning_content", "reasoning", "thinking")
            if any(message.get(key) for key in keys) or "</think>" in str(message.get("content")):
                return Finding(question, "yes, and the limit of tokens holds it too", True)
    return Finding(question, "not that it shows", True)


def _called(answer: Json) -> bool:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    message = choice.get("message") if isinstance(choice, dict) else {}
    return bool(isinstance(message, dict) and message.get("tool_calls"))


def _tool(name: str) -> Json:
    place = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    function = {"name": name, "description": name.replace("_", " "), "parameters": place}
    return {"type": "function", "function": function}


def _reason(error: RefusedError | LaterError) -> str:
    if isinstance(error, LaterError):
        return error.reason[:80]
    return str(error.answer["error"]["message"])[:80]
