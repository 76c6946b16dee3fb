"""An answer in the form of any interface, read whole as a chat completion, or unread.

One reader for answers of servers, logs, lines of programs and batch files. An answer has ended, has
one choice, and every part of it is known; else it is ``{"unread": WHY}``, since a call may be in
what was not understood. ``text_calls.py`` reads the forms in which models write calls into their
text, where their server does not know them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sgdx_dataset.io.json import parse_text

from .messages import Json, parse_or_none, read_messages, read_parts

# Why an answer ended, in the words of all interfaces, as a chat completion says it. Any other word,
# such as pause_turn or malformed_function_call, is of an answer that is not whole.
_ENDS = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "end"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool-calls", "tool_use"), "stop"),
    **dict.fromkeys(("function_call", "complete", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("content_filter", "content-filter", "content_filtered"), "content_filter"),
    **dict.fromkeys(("refusal", "guardrail_intervened", "safety", "spii"), "content_filter"),
    **dict.fromkeys(("recitation", "blocklist", "prohibited_content"), "content_filter"),
    **dict.fromkeys(("error", "failed"), "error"),
}
REFUSED = "refused_with"  # in the kept error of a refused request: the status
# A key of a message that is none of a chat completion's, and may have calls.
_LIKE_CALLS = re.compile(r"call|tool|function", re.IGNORECASE)
_ERRORS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

# A model that thinks may draft an answer before it gives one. Its template may have written the
# opening tag into the prompt, so that the answer has the closing one alone.
_THOUGHT = re.compile(
    r"</think(?:ing)?>|</seed:think>|\[/THINK\]|<\|END_THINKING\|>|\u25c1/think\u25b7"
)
_OPEN_THOUGHT = re.compile(
    r"<think(?:ing)?>|<seed:think>|\[THINK\]|<\|START_THINKING\|>|\u25c1think\u25b7"
)


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
    # will stay so. So is one that has ended and cannot be read: the model would say it again.
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


def chat_completion(body: Any) -> Any:
    """An answer as a chat completion with one choice that has ended and is known whole.

    ``{"unread": WHY}`` stands for one that is not. What is no answer, or tells of an error, stays
    as it is.
    """
    if isinstance(body, list) or (isinstance(body, str) and body.lstrip()[:5] == "data:"):
        return {"unread": "found the parts of a stream, expected the whole answer"}
    if not isinstance(body, dict) or body.get("error") or "unread" in body:
        return body
    if isinstance(body.get("calls"), list):  # of a program
        calls = [{"type": "function", "function": call} for call in body["calls"]]
        return _completion({"content": None, "tool_calls": calls}, "stop")
    try:
        if isinstance(body.get("choices"), list):
            return _of_choices(body)
        found = _of_others(body)
        if found is None:
            return body
        listed, end = found
        messages = read_messages(listed)
    except _ERRORS as error:
        return {"unread": f"found no {error}" if isinstance(error, KeyError) else str(error)}
    if others := [m["role"] for m in messages if m["role"] != "assistant"]:
        return {"unread": f"found a message of role {others[0]} in the answer"}
    texts = [message["content"] for message in messages if message.get("content")]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return {
        **{key: body[key] for key in ("model", "usage") if key in body},
        **_completion({"content": "\n".join(texts) or None, "tool_calls": calls}, end),
    }


def _completion(message: Json, end: str) -> Json:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": end}]}


def _end(record: Any, *keys: str) -> str:
    """Why an answer ended, of the first key that there is; one that says nothing has ended."""
    written = next((record[key] for key in keys if key in record), "stop")
    end = _ENDS.get(str(written).rpartition(".")[2].lower())
    if end is None:
        why = f"it ended with {written!r:.60}" if written else "it has not ended"
        raise ValueError(f"{why}: {keys[0]} is {written!r:.60}")
    return end


def _of_choices(body: Json) -> Json:
    """A chat completion, whose calls stay as they are written."""
    if len(body["choices"]) != 1:
        if not body["choices"] and not ("usage" in body or "object" in body):
            return body
        raise ValueError(f"found {len(body['choices'])} choices, expected one")
    choice = body["choices"][0]
    if "delta" in choice:
        raise ValueError("found a part of a stream, expected the whole answer")
    message, written = choice.get("message"), choice.get("finish_reason")
    if choice.get("error") or written == "error":
        return body
    if not isinstance(message, dict):
        if not written:
            return body
        raise ValueError(f"found no message: finish_reason is {written!r:.60}")
    end = _end(choice, "finish_reason")
    listed = message.get("tool_calls") or message.get("function_call")
    content = message.get("content")
    if isinstance(content, list):
        _, calls, results = read_parts(content)
        if results or (calls and listed):
            raise ValueError("found calls in the content beside tool_calls, or results of calls")
        listed = listed or calls
    elif not isinstance(content, str | None):
        raise ValueError(f"found the content {json.dumps(content):.60}")
    if not listed:
        for key, value in message.items():
            if _LIKE_CALLS.search(key) and value and isinstance(value, list | dict):
                raise ValueError(f"found {key} in the message")
    return body | {"choices": [choice | {"finish_reason": end}]}


def _of_others(body: Json) -> tuple[list[Any], str] | None:
    """The messages and the end of an answer of another interface; None where it is none."""
    output, content = body.get("output"), body.get("content")
    if isinstance(output, list):  # of Responses
        if body.get("status") == "incomplete":
            return output, _end(body.get("incomplete_details") or {"reason": ""}, "reason")
        end = _end(body, "status")
        _refuse_unfinished(output, end)
        return output, end
    if isinstance(output, dict) and "message" in output:  # of Bedrock's Converse
        return [output["message"]], _end(body, "stopReason")
    if isinstance(body.get("candidates"), list):  # of Gemini
        if len(body["candidates"]) != 1:
            blocked = body.get("promptFeedback", body.get("prompt_feedback")) or ""
            raise ValueError(f"found {len(body['candidates'])} candidates {blocked}".rstrip())
        (candidate,) = body["candidates"]
        end = _end(candidate, "finishReason", "finish_reason")
        return [{"role": "model", "parts": [], **(candidate.get("content") or {})}], end
    if isinstance(body.get("generations"), list):  # of LangChain
        listed = body["generations"]
        listed = listed[0] if len(listed) == 1 and isinstance(listed[0], list) else listed
        if len(listed) != 1:
            raise ValueError(f"found {len(listed)} generations, expected one")
        (generation,) = listed
        message = generation.get("message") or {"role": "ai", "content": generation["text"]}
        inner = message.get("kwargs", message.get("data", message))
        facts = (inner.get("response_metadata") or {}) | (generation.get("generation_info") or {})
        return [message], _end(facts, "finish_reason", "stop_reason", "stopReason", "done_reason")
    if isinstance(body.get("message"), dict):  # of Ollama and Cohere
        if body.get("done") is False:
            raise ValueError("it has not ended: done is false")
        return [body["message"]], _end(body, "finish_reason", "done_reason")
    is_alone = "role" in body or "lc" in body or body.get("type") == "ai"
    if is_alone or isinstance(content, list):  # a message alone, as Anthropic's answers are
        is_answer = "stop_reason" in body or not is_alone
        message = {"role": "assistant", "content": content} if is_answer else body
        return [message], _end(body, "stop_reason", "finish_reason")
    return None


def _refuse_unfinished(items: list[Any], end: str) -> None:
    """Raise ``ValueError`` where an item of an answer that has ended has not."""
    for item in items:
        status = item.get("status") if isinstance(item, dict) else None
        if end == "stop" and status not in (None, "completed"):
            raise ValueError(f"found an item whose status is {status!r:.60}")


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
    return _OPEN_THOUGHT.split(_THOUGHT.split(text)[-1])[0]


def listed_calls(message: Json) -> list[tuple[Any, Any]]:
    """The name and the arguments of each call of a message, as they are written.

    None stands for both where an entry is no call of a function.
    """
    listed = message.get("tool_calls")
    if not listed and message.get("function_call"):
        listed = [{"function": message["function_call"]}]
    content = message.get("content")
    if not listed and isinstance(content, list):  # as some gateways pass on Anthropic's
        listed = read_parts(content)[1]
    if not isinstance(listed, list):
        return [(None, None)] if listed else []
    functions = [call.get("function") if isinstance(call, dict) else None for call in listed]
    return [
        (f.get("name"), f.get("arguments")) if isinstance(f, dict) else (None, None)
        for f in functions
    ]
