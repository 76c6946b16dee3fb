"""The calls of an answer, and of the messages before it, in whichever form they are written.

One reader for answers of servers, logs, lines of programs and batch files. It makes the form of
OpenAI's chat completions of the others: of OpenAI's Responses, of Anthropic's messages, of the
parts of OpenTelemetry's spans, and of what a program says. ``text_calls.py`` reads the forms in
which models write calls into their text, where their server does not know them.
"""

from __future__ import annotations

import json
from typing import Any

from sgdx_dataset.io.json import check_value, parse_text

Json = dict[str, Any]

# Kinds of parts of a message, and of items of a conversation.
_TEXTS = ("text", "input_text", "output_text")
_CALLS = ("tool_call", "tool_use", "function_call")
_RESULTS = ("tool_call_response", "tool_result", "function_call_output")
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")  # later requests do not show them again
# Why an answer ended, in Responses' and Anthropic's words, as a chat completion says it.
_ENDS = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "failed": "error",
}
REFUSED = "refused_with"  # in the kept error of a refused request: the status
_OLD_ID = "function_call"  # old calls have no id; their result comes next

# A model that thinks may draft an answer before it gives one. Its template may have written the
# opening tag into the prompt, so that the answer has the closing one alone.
_THOUGHT, _OPEN_THOUGHT = "</think>", "<think>"


def read_body(content: bytes) -> Any:
    """What a server or a program wrote; ``{"unread": WHY}`` where its JSON has two meanings."""
    answer = json.loads(content)
    try:
        return parse_text(content)
    except ValueError as error:  # such as a key that is there twice: the model would say it again
        return {"unread": str(error)} if not why_no_answer(answer) else answer


def read_answer_line(line: bytes) -> tuple[Any, Json | None]:
    """The ``custom_id`` in a line of a program or a batch, and the answer; None for what lacks."""
    try:
        answer: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(answer, dict):
        return None, None
    name, response, result = (answer.get(key) for key in ("custom_id", "response", "result"))
    if isinstance(answer.get("state"), dict):
        body: Any = {"state": answer["state"]}
    elif isinstance(answer.get("calls"), list):
        body = {"calls": answer["calls"]}
    else:
        body = None
        if isinstance(result, dict) and isinstance(result.get("message"), dict):  # of Anthropic's
            body = result["message"]
        elif isinstance(response, dict) and response.get("status_code", 200) == 200:
            body = response.get("body")
        if why_no_answer(body):
            return name, None
    try:
        parse_text(line)
    except ValueError as error:  # as above
        body = {"unread": str(error)}
    return name, body


def why_no_answer(answer: Any) -> str:
    """Why this is no answer of a model, but to be asked again; empty where it is one."""
    # Gateways tell of errors with status 200. What a filter or a server refused is an answer: it
    # will stay so.
    read = chat_completion(answer)
    body = read if isinstance(read, dict) else {}
    error = body.get("error")
    if isinstance(error, dict) and (error.get("code") == "content_filter" or REFUSED in error):
        return ""
    if "unread" in body and not error:
        return ""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    choice = choice if isinstance(choice, dict) else {}
    if error or choice.get("error") or choice.get("finish_reason") == "error":
        told = error or choice.get("error") or "finish_reason error"
        return f"an error: {' '.join(json.dumps(told).split())}"
    if not isinstance(choice.get("message"), dict):
        return f"no choices[0].message: {' '.join(json.dumps(answer).split())}"
    return ""


def decode_arguments(written: Any) -> Json:
    """The arguments of a call, most often JSON in a text; ``ValueError`` where they are none.

    A call without arguments has them as null, ``""``, ``[]``, the same in a text, or not at all.
    """
    values = parse_text(written) if isinstance(written, str) and written.strip() else written
    if values is None or values in ([], {}) or (isinstance(values, str) and not values.strip()):
        return {}
    if not isinstance(values, dict):
        raise ValueError(f"found the arguments {written!r:.100}, expected an object")
    check_value(values)
    return values


def with_plain_calls(message: Json) -> Json:
    """A message whose calls stand in ``tool_calls``, with an object in JSON as their arguments.

    The old ``function_call`` is one too, and its result, of the role ``function``, a tool's.
    """
    message = dict(message)
    old = message.pop("function_call", None)
    listed = message.pop("tool_calls", None)
    if old and not listed:
        listed = [{"id": _OLD_ID, "type": "function", "function": old}]
    if message.get("role") == "function":
        message |= {"role": "tool", "tool_call_id": _OLD_ID}
    if not listed:
        return message
    calls = []
    for call in listed:
        function = call["function"]
        arguments = function.get("arguments")
        values = decode_arguments(arguments)
        if not isinstance(arguments, str) or parse_or_none(arguments) != values:
            arguments = json.dumps(values, ensure_ascii=False)
        calls.append(call | {"function": function | {"arguments": arguments}})
    return message | {"tool_calls": calls}


def parse_or_none(text: str) -> Any:
    """The JSON in a text; None where it is none."""
    try:
        return parse_text(text)
    except ValueError:
        return None


def chat_messages(conversation: Any) -> list[Json]:
    """The messages of a request, of a span, or of one side of it, as OpenAI's chat takes them.

    Raises one of several errors, such as ``ValueError``, where there is more than text and calls.
    """
    if isinstance(conversation, dict):  # a request, of which Responses has `input`
        system = conversation.get("instructions", conversation.get("system"))
        listed = conversation["messages"] if "messages" in conversation else conversation["input"]
        return [*(chat_messages_of("system", system) if system else ()), *chat_messages(listed)]
    if isinstance(conversation, str):
        return [{"role": "user", "content": conversation}]
    messages: list[Json] = []
    for item in conversation:
        if "role" not in item:  # Responses list calls and results beside the messages
            messages += chat_messages_of("assistant", [item])
        else:
            messages += _of_message(item)
    return messages


def _of_message(message: Json) -> list[Json]:
    content = message.get("parts", message.get("content"))
    kept = {
        key: message[key]
        for key in ("tool_calls", "function_call", "tool_call_id", "name")
        if message.get(key)
    }
    if isinstance(content, str) or content is None:
        return [with_plain_calls({"role": message["role"], "content": content, **kept})]
    messages = chat_messages_of(message["role"], content)
    if kept:
        last = messages.pop() if messages else {"role": message["role"], "content": None}
        messages.append(with_plain_calls(last | kept))
    return messages


def chat_messages_of(role: str, content: Any) -> list[Json]:
    """The messages of parts: results first, each a message of its own, then text and calls."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts, calls, messages = [], [], []
    for part in parts:
        kind = part["type"]
        if kind in _TEXTS:
            texts.append(part["text"] if "text" in part else part["content"])
        elif kind in _CALLS:
            arguments = part.get("arguments", part.get("input"))
            text = json.dumps(decode_arguments(arguments), ensure_ascii=False)
            function = {"name": part["name"], "arguments": text}
            name = part.get("call_id") or part.get("id") or ""
            calls.append({"id": name, "type": "function", "function": function})
        elif kind in _RESULTS:
            found = [part[k] for k in ("output", "response", "result", "content") if k in part]
            result = found[0] if found else ""
            if isinstance(result, list) and all("text" in part for part in result):
                result = "\n".join(part["text"] for part in result)
            text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
            of = part.get("call_id") or part.get("tool_use_id") or part.get("id") or ""
            messages.append({"role": "tool", "tool_call_id": of, "content": text})
        elif kind == "refusal":
            texts.append(part["refusal"])
        elif kind not in _THOUGHTS:
            raise ValueError(f"a part of type {kind}")
    if texts or calls:
        more = {"tool_calls": calls} if calls else {}
        messages.append({"role": role, "content": "\n".join(texts) if texts else None, **more})
    return messages


def chat_completion(body: Any) -> Any:
    """An answer as a chat completion: one of Responses, of Anthropic's, or a program's ``calls``.

    What has none of these forms stays as it is; ``{"unread": WHY}`` where a part cannot be read.
    """
    if not isinstance(body, dict) or body.get("error"):
        return body
    if isinstance(body.get("calls"), list):
        calls = [{"type": "function", "function": call} for call in body["calls"]]
        return _completion({"content": None, "tool_calls": calls}, "stop")
    output = body.get("output", body.get("content"))
    if not isinstance(output, list) or "choices" in body:
        return body
    try:
        # An answer of Responses is a list of items, one of Anthropic's the parts of a message.
        messages = chat_messages(output) if "output" in body else chat_messages_of("", output)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        return {"unread": f"{error!r:.200}"}
    texts = [message["content"] for message in messages if message.get("content")]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    why = body.get("stop_reason") or (body.get("incomplete_details") or {}).get("reason")
    end = _ENDS.get(why or body.get("status") or "", "stop")
    return {
        **{key: body[key] for key in ("model", "usage") if key in body},
        **_completion({"content": "\n".join(texts) or None, "tool_calls": calls}, end),
    }


def _completion(message: Json, end: str) -> Json:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": end}]}


def _text(message: Json) -> str:
    """The text of a message, which may come in parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def has_text(message: Json) -> bool:
    """Whether a message has any text."""
    return bool(_text(message).strip())


def answer_text(message: Json) -> str:
    """The text of a message without the model's thinking: what comes after its last end."""
    text = _text(message)
    if parse_or_none(text) is not None:  # whose values may have any text
        return text
    return text.rpartition(_THOUGHT)[2].partition(_OPEN_THOUGHT)[0]


def listed_calls(message: Json) -> list[tuple[Any, Any]]:
    """The name and the arguments of each call of a message, as they are written.

    None stands for both where an entry is no call of a function.
    """
    listed = message.get("tool_calls")
    if not listed and message.get("function_call"):
        listed = [{"function": message["function_call"]}]
    content = message.get("content")
    if not listed and isinstance(content, list):  # as some gateways pass on Anthropic's
        listed = [
            {"function": {"name": part.get("name"), "arguments": part.get("input")}}
            for part in content
            if isinstance(part, dict) and part.get("type") in _CALLS
        ]
    if not isinstance(listed, list):
        return [(None, None)] if listed else []
    functions = [call.get("function") if isinstance(call, dict) else None for call in listed]
    return [
        (f.get("name"), f.get("arguments")) if isinstance(f, dict) else (None, None)
        for f in functions
    ]
