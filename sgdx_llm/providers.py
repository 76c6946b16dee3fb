"""What each provider's server wants of a request, where it differs from OpenAI's.

All of them are asked through OpenAI's interface. A preset says what their documentation and their
users' threads say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset import SgdxError

Json = dict[str, Any]
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
# Thinking counts as part of the answer. OpenAI's guide of reasoning models advises to reserve this.
_TOKENS_WITH_THINKING = 25_000


@dataclass(frozen=True)
class Provider:
    """A preset of ``--provider``."""

    name: str  # the preset's name
    url: str  # the server's address, unless ``--base-url`` gives another
    key: str = OPENAI_KEY  # the environment variable that holds the key
    needs_key: bool = True  # whether the server at ``url`` refuses requests without a key
    # Fields of the body that it needs, in place of the defaults of the same name.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()  # fields of the body that it refuses or ignores
    seed: str = "seed"  # the body's field for a seed; empty where there is none
    # Whether ``tool_choice`` may name the function that has to be called. Otherwise ``required``
    # demands a call, which is the same where there is one function.
    named_choice: bool = True
    # Options whose effect the server ignores, by what they ask for (``json_schema``, ``strict``),
    # with what to do instead.
    ignores: Mapping[str, str] = field(default_factory=dict)

    def check_option(self, asked: str, option: str) -> None:
        """Refuse an option that the server would ignore."""
        if reason := self.ignores.get(asked):
            raise SgdxError(f"{option}: {self.name} {reason}")

    def chosen(self, name: str) -> Any:
        """The ``tool_choice`` that demands a call of the only function, which has this name."""
        if not self.named_choice:
            return "required"
        return {"type": "function", "function": {"name": name}}


OPENAI = Provider("openai", OPENAI_URL)
_ANTHROPIC_TOOL = "its answers then have any form; use --answer tool"

PROVIDERS: Mapping[str, Provider] = {
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
                "json_schema": f"ignores response_format, so that {_ANTHROPIC_TOOL}",
                "strict": f"ignores strict, so that {_ANTHROPIC_TOOL}",
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
