"""Serve a language model on one computer without a GPU, answering freely and held to a grammar.

``python maintenance/models/serve.py MODEL PORT ANSWERS.jsonl [--threads N]`` serves a folder of
transformers, or a GGUF file, with OpenAI's interface, as two models: ``free`` writes what it likes,
``constrained`` can only write a call that a schema of the tools allows. Both are decoded together,
as they share the prompt, and kept in ANSWERS.jsonl, so that a second run of either is free.

Requests that wait are answered together: prompts in order, so that each goes on from what it has in
common with the one before (tools come first in a prompt), and then all of them token by token.
Needs ``pip install torch transformers gguf xgrammar``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
import xgrammar
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
from transformers.cache_utils import DynamicLayer
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.quantization_config import GgufConfig

MOST_TOKENS = 256  # of an answer
ROOM = 250_000  # tokens whose keys and values are kept at once, 28 KB each at 1.5 billion
START = "<tool_call>\n"  # what a constrained answer begins with
Json = dict[str, Any]


@dataclass
class Row:
    """An answer under way: a prompt, and what was written."""

    prompt: list[int]
    grammar: xgrammar.CompiledGrammar | None
    tokens: list[int] = field(default_factory=list)
    ended: bool = False

    def __post_init__(self) -> None:
        self.matcher = self.grammar and xgrammar.GrammarMatcher(self.grammar)


@dataclass
class Waiting:
    """A request that waits for its answers."""

    digest: str
    messages: list[Json]
    tools: list[Json]
    answered: threading.Event = field(default_factory=threading.Event)


class RoomyLayer(DynamicLayer):
    """Keys and values [rows, heads, tokens, width] with room for the tokens to come.

    What transformers has copies all of them for every token. The whole room is shown, as products
    of a part of it are ten times as slow; the mask hides what is not written yet.
    """

    def __init__(self, shape: tuple[int, ...], length: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        empty = torch.zeros(0, dtype=torch.bfloat16)
        self.lazy_initialization(empty, empty)
        self.show(torch.zeros(shape, dtype=torch.bfloat16), torch.zeros(shape, dtype=torch.bfloat16))
        self.length = length

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add one token to each row."""
        for room, new in zip(self.rooms, (key_states, value_states), strict=True):
            room[:, :, self.length : self.length + 1] = new
        self.length += 1
        return self.rooms

    def get_seq_length(self) -> int:
        """How many tokens were written."""
        return self.length

    def get_mask_sizes(self, *_: object) -> tuple[int, int]:
        """How many tokens a mask is of, and where they begin."""
        return self.rooms[0].shape[2], 0

    def select(self, places: list[int]) -> None:
        """Keep these rows."""
        keys, values = self.rooms
        self.show(keys[places], values[places])

    def show(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Let transformers see these."""
        self.rooms = self.keys, self.values = keys, values


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    **rest: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one new token a row; heads that share keys do not copy them."""
    rows, heads, length, width = query.shape
    if length > 1 or attention_mask is None:
        sdpa = ALL_ATTENTION_FUNCTIONS["sdpa"]
        whole, _ = sdpa(module, query, key, value, attention_mask, scaling=scaling, **rest)
        return whole, None
    shared = key.shape[1]
    grouped = query.reshape(rows * shared, heads // shared, width)
    scores = torch.bmm(grouped, key.reshape(rows * shared, -1, width).transpose(1, 2)) * scaling
    scores = scores.view(rows, heads, 1, -1).float().masked_fill(~attention_mask, float("-inf"))
    weights = scores.softmax(-1).to(query.dtype).view(rows * shared, heads // shared, -1)
    found = torch.bmm(weights, value.reshape(rows * shared, -1, width))
    return found.view(rows, 1, heads, width), None


ALL_ATTENTION_FUNCTIONS.register("attend", attend)
ALL_MASK_ATTENTION_FUNCTIONS.register("attend", ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


class Model:
    """A model, what it has answered, and what waits."""

    def __init__(self, path: Path, kept: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        folder, options = path, dict[str, Any]()
        if path.suffix == ".gguf":
            folder, options = path.parent, {"gguf_file": path.name}
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, **options)
        if options:
            options["quantization_config"] = GgufConfig(dequantize=True)
        options |= {"dtype": torch.bfloat16, "attn_implementation": "attend"}
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, **options).eval()
        vocabulary = self.model.config.vocab_size
        known = xgrammar.TokenizerInfo.from_huggingface(self.tokenizer, vocab_size=vocabulary)
        self.compiler = xgrammar.GrammarCompiler(known)
        self.mask = xgrammar.allocate_token_bitmask(1, vocabulary)
        self.end = self.tokenizer.convert_tokens_to_ids("<|im_end|>")
        self.kept = kept
        self.answers: dict[str, Json] = {}
        if kept.exists():
            for line in kept.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.answers[row["digest"]] = row
        self.waiting: dict[str, Waiting] = {}
        self.arrived = threading.Condition()
        threading.Thread(target=self.work, daemon=True).start()

    def answer(self, messages: list[Json], tools: list[Json]) -> Json:
        """Wait for the answers to a request."""
        content = json.dumps([messages, tools]).encode()
        digest = hashlib.sha256(content).hexdigest()
        with self.arrived:
            if digest in self.answers:
                return self.answers[digest]
            request = self.waiting.setdefault(digest, Waiting(digest, messages, tools))
            self.arrived.notify()
        request.answered.wait()
        return self.answers[digest]

    def work(self) -> None:
        """Answer what waits, for ever."""
        while True:
            with self.arrived:
                self.arrived.wait_for(lambda: self.waiting)
            time.sleep(1)  # for those that are sent together
            with self.arrived:
                requests = list(self.waiting.values())
            prompts = {request.digest: self.prompt(request) for request in requests}
            requests.sort(key=lambda request: prompts[request.digest])
            while requests:
                longest = max(map(len, prompts.values())) + MOST_TOKENS
                some = requests[: max(ROOM // longest // 2, 1)]
                self.answer_together(some, prompts)
                requests = requests[len(some) :]

    def prompt(self, request: Waiting) -> list[int]:
        """The tokens of a request: tools, then what was said."""
        text = self.tokenizer.apply_chat_template(
            request.messages,
            tools=request.tools or None,
            add_generation_prompt=True,
            tokenize=False,
        )
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def grammar(self, tools: list[Json]) -> xgrammar.CompiledGrammar:
        """The grammar of one call of one of the tools."""
        calls = [
            {
                "type": "object",
                "properties": {
                    "name": {"const": tool["function"]["name"]},
                    "arguments": tool["function"].get("parameters") or {"type": "object"},
                },
                "required": ["name", "arguments"],
            }
            for tool in tools
        ]
        return self.compiler.compile_json_schema({"anyOf": calls}, any_whitespace=False)

    @torch.inference_mode()
    def answer_together(self, requests: list[Waiting], prompts: dict[str, list[int]]) -> None:
        """Answer these requests in both ways, and keep the answers."""
        started = time.monotonic()
        rows, start = [], self.tokenizer(START, add_special_tokens=False)["input_ids"]
        for request in requests:
            prompt = prompts[request.digest]
            rows.append(Row(prompt, None))
            if request.tools:
                rows.append(Row([*prompt, *start], self.grammar(request.tools)))
            else:
                rows.append(Row(prompt, None))
        logits, mask, cache, read = self.read(rows)
        between = time.monotonic()
        self.write(rows, logits, mask, cache)
        ended = time.monotonic()
        size = len(requests)
        print(
            f"{size} requests: {read} tokens read in {between - started:.0f} s, "
            f"{sum(len(row.tokens) for row in rows)} written in {ended - between:.0f} s",
            flush=True,
        )
        with self.arrived, self.kept.open("a", encoding="utf-8") as file:
            for request, free, held in zip(requests, rows[::2], rows[1::2], strict=True):
                found: Json = {"digest": request.digest, "prompt": len(free.prompt)}
                found["tools"] = len(request.tools)
                for way, row in (("free", free), ("constrained", held)):
                    text = self.tokenizer.decode(row.tokens, skip_special_tokens=True)
                    found[way] = {"text": text, "tokens": len(row.tokens), "ended": row.ended}
                self.answers[request.digest] = found
                file.write(json.dumps(found, ensure_ascii=False) + "\n")
                self.waiting.pop(request.digest).answered.set()

    def read(self, rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor, DynamicCache, int]:
        """Run the prompts through the model, each from where it parts from the one before.

        Gives the logits of the next tokens [rows, vocabulary], the mask [rows, tokens] and the keys
        and values of the prompts, which end at the same place, and how many tokens were run.
        """
        longest, layers = max(len(row.prompt) for row in rows), list[RoomyLayer]()
        mask = torch.zeros(len(rows), longest + MOST_TOKENS, dtype=torch.long)
        cache: Any = DynamicCache()
        logits, before, read = [], list[int](), 0
        for place, row in enumerate(rows):
            same = 0
            for old, new in zip(before, row.prompt[:-1], strict=False):
                if old != new:
                    break
                same += 1
            if same < len(before):
                cache.crop(same - len(before))
            rest = torch.tensor([row.prompt[same:]])
            found = self.model(rest, past_key_values=cache, use_cache=True, logits_to_keep=1)
            if not layers:
                _, heads, _, width = cache.layers[0].keys.shape
                shape = len(rows), heads, longest + MOST_TOKENS, width
                layers = [RoomyLayer(shape, longest) for _ in cache.layers]
            for layer, part in zip(layers, cache.layers, strict=True):
                for room, found_part in zip(layer.rooms, (part.keys, part.values), strict=True):
                    room[place, :, longest - len(row.prompt) : longest] = found_part[0]
            mask[place, longest - len(row.prompt) : longest] = 1
            logits.append(found.logits[0, -1])
            before, read = row.prompt, read + rest.shape[1]
        cache.layers = layers
        return torch.stack(logits), mask, cache, read

    def write(
        self, rows: list[Row], logits: torch.Tensor, mask: torch.Tensor, cache: Any
    ) -> None:
        """Write all answers, a token of each at a time, the most likely one."""
        while True:
            tokens = [self.choose(row, scores) for row, scores in zip(rows, logits, strict=True)]
            going = [place for place, row in enumerate(rows) if not row.ended]
            if not going or len(rows[going[0]].tokens) == MOST_TOKENS:
                return
            if len(going) < 0.8 * len(rows):  # a selection copies all keys and values
                for layer in cache.layers:
                    layer.select(going)
                mask = mask[going]
                tokens, rows = [tokens[place] for place in going], [rows[place] for place in going]
            mask[:, cache.get_seq_length()] = 1
            logits = self.model(
                torch.tensor(tokens)[:, None],
                attention_mask=mask,
                position_ids=mask.sum(1, keepdim=True) - 1,
                past_key_values=cache,
                use_cache=True,
            ).logits[:, -1]

    def choose(self, row: Row, scores: torch.Tensor) -> int:
        """The most likely token that the grammar allows, if there is one."""
        if row.ended:
            return 0  # any token: it is written nowhere
        if row.matcher:
            row.matcher.fill_next_token_bitmask(self.mask)
            scores = scores[None].float()
            xgrammar.apply_token_bitmask_inplace(scores, self.mask)
        token = int(scores.argmax())
        if row.matcher and token != self.end:
            row.matcher.accept_token(token)
        if token == self.end or (row.matcher and row.matcher.is_terminated()):
            row.ended = True
        if token != self.end:
            row.tokens.append(token)
        return token


def completion(model: str, found: Json) -> Json:
    """An answer as OpenAI's interface has it."""
    way = found["constrained" if model.endswith("constrained") else "free"]
    message: Json = {"role": "assistant", "content": way["text"]}
    finish = "stop" if way["ended"] else "length"
    if model.endswith("constrained") and way["ended"] and found["tools"]:
        call = json.loads(way["text"])
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        message["content"], finish = None, "tool_calls"
        message["tool_calls"] = [{"id": "call_0", "type": "function", "function": function}]
    usage = {"prompt_tokens": found["prompt"], "completion_tokens": way["tokens"]}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": found["digest"],
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    model = Model(given.model, given.answers, given.threads)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing of single requests."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = model.answer(body["messages"], body.get("tools") or [])
            written = json.dumps(completion(body["model"], found)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

    ThreadingHTTPServer.request_queue_size = 256
    ThreadingHTTPServer(("127.0.0.1", given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
