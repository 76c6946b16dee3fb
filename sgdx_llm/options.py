"""The options that say which model is asked, how, and when to stop."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.secrets import check_address, note_fields, note_headers
from sgdx_dataset.options import EACH, split_pairs

from .providers import PROVIDERS, Provider, ProviderName
from .usage import Price, read_price

if TYPE_CHECKING:
    from .requests import RequestSettings


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Which server is asked, and with which fields of requests."""

    provider: ProviderName = "openai"
    """Say whose server it is, which sets its address and the variable of its key."""

    base_url: Annotated[str | None, Parameter(metavar="URL")] = None
    """Ask the server at this address, as http://localhost:8000/v1, which has OpenAI's interface.
    Default: $OPENAI_BASE_URL or the provider's. Its key is in $OPENAI_API_KEY or the like."""

    set: Annotated[tuple[str, ...], EACH, Parameter(metavar="KEY=JSON")] = ()
    """Set a field of requests. Default: temperature=0, seed=0, max_tokens=1024."""

    omit: Sequence[str] = ()
    """Leave out fields that the server refuses, as in --omit seed."""

    price: Annotated[str | None, Parameter(metavar="IN,CACHED,OUT")] = None
    """Give prices of a million tokens: of requests, cached ones, answers."""

    def __post_init__(self) -> None:
        """Read every value, so that a wrong one is told before anything else is done."""
        self.parameters, self.prices  # noqa: B018
        if self.base_url is not None:
            check_address(self.base_url, "--base-url")

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of ``--set``, by name."""
        form = "KEY=JSON, such as temperature=0.3"
        parameters = {}
        for name, value in split_pairs("--set", self.set, form, may_be_key=True):
            try:
                parameters[name] = json.loads(value)
                note_fields({name: parameters[name]})
            except (ValueError, RecursionError):
                # The value is not repeated, as it may be a key.
                raise SgdxError(f"--set {name}: found no JSON, expected {form}") from None
        return parameters

    @property
    def prices(self) -> Price | None:
        """The prices of tokens, if they are given."""
        return None if self.price is None else read_price(self.price)

    def known_provider(self) -> Provider:
        """What is known of the provider's server."""
        return PROVIDERS[self.provider]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SendingOptions:
    """How requests are sent, and when to stop."""

    header: Annotated[tuple[str, ...], EACH, Parameter(metavar="NAME=VALUE")] = ()
    """Send this header with every request. It is written to no file."""

    timeout: Annotated[float, Parameter(metavar="SECONDS")] = 300
    """Give a request up if its answer is not whole after so many seconds."""

    stop_unread: Annotated[str | None, Parameter(metavar="SHARE/N")] = None
    """Stop if this share of N answers or more cannot be read, as in 0.5/50."""

    concurrency: int = 16
    """Send at most this number of requests at once."""

    max_requests: int | None = None
    """Stop after this number of requests, each of which counts once."""

    max_cost: float | None = None
    """Stop before the requests cost more than this, by --price."""

    def __post_init__(self) -> None:
        """Read every value, so that a wrong one is told before anything else is done."""
        self.headers, self.unread_limit  # noqa: B018
        for name in ("timeout", "concurrency", "max_requests", "max_cost"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise SgdxError(f"--{name.replace('_', '-')} {value}: expected more than 0")

    @property
    def headers(self) -> dict[str, str]:
        """The headers, by name."""
        headers = {}
        for name, value in split_pairs("--header", self.header, "NAME=VALUE", True):
            # The value is not repeated, as it may be a key.
            if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
                raise SgdxError(f"--header {name}: expected letters, digits and - in its name")
            if not (value.isascii() and value.isprintable()):
                raise SgdxError(f"--header {name}: expected a value of printable ASCII characters")
            headers[name] = value
        note_headers(headers)
        return headers

    @property
    def unread_limit(self) -> tuple[float, int] | None:
        """The share of unread answers at which the run stops, and after how many answers."""
        if self.stop_unread is None:
            return None
        share, _, after = self.stop_unread.partition("/")
        try:
            limit = float(share), int(after)
        except ValueError:
            limit = 0.0, 0
        if not (0 < limit[0] <= 1 and limit[1] >= 1):
            found = f"--stop-unread {self.stop_unread}"
            raise SgdxError(f"{found}: expected SHARE/AFTER, such as 0.5/50")
        return limit

    def check(self, price: Price | None) -> None:
        """Refuse a limit of costs where no price is known."""
        if self.max_cost is not None and price is None:
            raise SgdxError("--max-cost: found no --price, expected what tokens cost")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RequestOptions(ServerOptions):
    """What requests ask for, and of whom."""

    model: str | None = None
    """Ask this model, by its name at the server."""

    answer: Literal["tool", "json_schema", "text"] = "tool"
    """Demand a call of the function, text of an enforced form, or any."""

    strict: bool = False
    """Mark schemas as strict: every slot is required and may be null."""

    def settings(self, program: str | None = None) -> "RequestSettings":
        """The settings of the requests."""
        from .requests import RequestSettings

        model = self.model or program
        if not model:
            raise SgdxError("found no --model, expected the model's name at its server")
        return RequestSettings(
            model=model,
            answer=self.answer,
            strict=self.strict,
            parameters=self.parameters,
            omitted=tuple(dict.fromkeys(self.omit)),
            provider=self.known_provider(),
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """Where answers and predictions are written."""

    output: Path | None = None
    """Write VARIANT.jsonl into this folder; the same one continues a run."""

    answers: Path | None = None
    """Keep answers in this file. Default: answers.jsonl in --output."""
