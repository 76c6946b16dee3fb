"""Whose server is asked: its address, its key, and what it wants of a request.

All servers are asked through OpenAI's interface. The table says what their documentation and their
users' threads say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from sgdx_dataset.io.secrets import check_address, origin

ProviderName = Literal[
    "openai",
    "openai-reasoning",
    "anthropic",
    "gemini",
    "groq",
    "mistral",
    "huggingface",
    "openrouter",
    "ollama",
    "llamacpp",
    "vllm",
    "litellm",
]
PROGRAM = "command:"  # stands before the name of a program in place of a server's address
OPENAI_URL = "https://api.openai.com/v1"
# Thinking counts as part of the answer. OpenAI's guide of reasoning models advises to reserve this.
_TOKENS_WITH_THINKING = 25_000


class Provider(msgspec.Struct, frozen=True):
    """A preset of ``--provider``."""

    name: ProviderName
    url: str  # the server's address, unless ``--base-url`` gives another
    key: str = "OPENAI_API_KEY"  # the environment variable that holds the key
    needs_key: bool = True  # whether the server at ``url`` refuses requests without a key
    # Fields of the body that it needs, in place of the defaults of the same name.
    parameters: Mapping[str, Any] = {}
    omitted: tuple[str, ...] = ()  # fields of the body that it refuses or ignores
    seed: str = "seed"  # the body's field for a seed; empty where there is none
    # Whether ``tool_choice`` may name the function that has to be called. Otherwise ``required``
    # demands a call, which is the same where there is one function.
    named_choice: bool = True
    # Options that the server ignores (``json_schema``, ``strict``), with what to do instead.
    ignores: Mapping[str, str] = {}

    def chosen(self, name: str) -> Any:
        """The ``tool_choice`` that demands a call of the only function, which has this name."""
        if not self.named_choice:
            return "required"
        return {"type": "function", "function": {"name": name}}


def base_url(option: str | None, provider: Provider) -> str:
    """The server's address: that of the option, else the provider's."""
    default = provider.url
    if default == OPENAI_URL:
        default = os.environ.get("OPENAI_BASE_URL") or default
    address = option or default
    check_address(address, "--base-url" if option else "OPENAI_BASE_URL")
    return address.rstrip("/")


def host_of(url: str) -> str:
    """What is said of a server: its origin, as keys may stand in all else; a program's name."""
    return url if url.startswith(PROGRAM) else origin(url)


def place_of(url: str) -> str:
    """A server's address without user, password and query, which is never written or shown."""
    return origin(url) + urlsplit(url).path


OPENAI = Provider("openai", OPENAI_URL)
_INSTEAD = "so that its answers have any form; use --answer tool"

PROVIDERS: Mapping[ProviderName, Provider] = {
    provider.name: provider
    for provider in (
        OPENAI,
        # 400 unsupported_parameter for max_tokens and parallel_tool_calls, and 400
        # unsupported_value for a temperature other than 1.
        # https://github.com/decolua/9router/issues/560 (max_tokens)
        # https://github.com/gabrii/Cursor-Azure-GPT-5/issues/33 (temperature)
        # https://github.com/evalstate/fast-agent/issues/279 (parallel_tool_calls)
        # https://community.openai.com/t/1134663 (thinking is part of the limit of tokens)
        Provider(
            "openai-reasoning",
            OPENAI_URL,
            parameters={"max_completion_tokens": _TOKENS_WITH_THINKING},
            omitted=("max_tokens", "temperature", "parallel_tool_calls"),
        ),
        # Ignores seed, response_format and the strict of functions without a word.
        # https://docs.anthropic.com/en/api/openai-sdk
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1",
            key="ANTHROPIC_API_KEY",
            omitted=("seed",),
            seed="",
            ignores={
                "json_schema": f"ignores response_format, {_INSTEAD}",
                "strict": f"ignores strict, {_INSTEAD}",
            },
        ),
        # 400 'Unknown name "seed": Cannot find field.', and in some versions the same, or
        # 'Parallel tool calls are not supported.', for parallel_tool_calls.
        # https://github.com/Vali-98/ChatterUI/issues/227
        # https://github.com/jackmpcollins/magentic/pull/382
        # https://github.com/TheAgenticAI/TheAgenticBrowser/issues/4
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            key="GEMINI_API_KEY",
            omitted=("seed", "parallel_tool_calls"),
            seed="",
        ),
        # 400 tool_use_failed where the model's call has a wrong form: about one request.
        # https://github.com/groq/groq-typescript/issues/28, https://console.groq.com/docs/openai
        Provider("groq", "https://api.groq.com/openai/v1", key="GROQ_API_KEY"),
        # 422 extra_forbidden for fields that it does not know; its seed is random_seed.
        # https://github.com/mistralai/platform-docs-public/issues/7
        # https://docs.mistral.ai/api
        Provider(
            "mistral",
            "https://api.mistral.ai/v1",
            key="MISTRAL_API_KEY",
            parameters={"random_seed": 0},
            omitted=("seed",),
            seed="random_seed",
        ),
        # The model's name may say which provider it is asked at, as in NAME:groq, or NAME:fastest.
        # What that one does not know it may refuse.
        # https://huggingface.co/docs/inference-providers/index
        Provider("huggingface", "https://router.huggingface.co/v1", key="HF_TOKEN"),
        # Fields that the provider behind it does not know are left out without a word, unless
        # `provider` says {"require_parameters": true}. Faults come with status 200.
        # https://openrouter.ai/docs/guides/routing/provider-selection
        # https://github.com/maximhq/bifrost/issues/5425
        Provider("openrouter", "https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY"),
        # Prompts are cut without a word at the context of the server, 4,096 tokens unless it is
        # started with OLLAMA_CONTEXT_LENGTH, and no field of a request changes that.
        # https://github.com/ollama/ollama/issues/2963, https://github.com/ollama/ollama/pull/5357
        # https://docs.ollama.com/api/openai-compatibility
        Provider("ollama", "http://localhost:11434/v1", key="OLLAMA_API_KEY", needs_key=False),
        # A tool_choice that names a function becomes auto without a word; builds without --jinja
        # answer any tools with 500 'tools param requires --jinja flag'.
        # https://github.com/ggml-org/llama.cpp/issues/26535
        # https://github.com/defilantech/LLMKube/issues/126
        Provider(
            "llamacpp",
            "http://localhost:8080/v1",
            key="LLAMA_API_KEY",
            needs_key=False,
            named_choice=False,
        ),
        # https://docs.vllm.ai/en/latest/features/tool_calling/
        Provider("vllm", "http://localhost:8000/v1", key="VLLM_API_KEY", needs_key=False),
        # 400 UnsupportedParamsError for what the model behind it does not know, unless the proxy is
        # started with drop_params. https://docs.litellm.ai/docs/completion/drop_params
        Provider("litellm", "http://localhost:4000/v1", key="LITELLM_API_KEY", needs_key=False),
    )
}
