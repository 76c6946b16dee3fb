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
    """Say whose server it is. This sets the address, the variable of the key, such as
    GROQ_API_KEY, and what the server refuses or ignores in requests."""

    base_url: Annotated[str | None, Parameter(metavar="URL")] = None
    """Ask the server at this address, such as http://localhost:8000/v1. It needs OpenAI's
    interface. Default: the provider's address; for OpenAI, $OPENAI_BASE_URL if it is set. The key
    is read from $OPENAI_API_KEY, or from the provider's variable."""

    set: Annotated[tuple[str, ...], EACH, Parameter(metavar="KEY=JSON")] = ()
    """Set a field of the requests, as in --set temperature=0.3. Default: temperature=0, seed=0,
    max_tokens=1024. The option may be given several times."""

    omit: Sequence[str] = ()
    """Leave out fields of the requests that the server refuses, as in --omit seed."""

    price: Annotated[str | None, Parameter(metavar="IN,CACHED,OUT")] = None
    """Give the price of a million tokens: of requests, of the cached part of requests, and of
    answers."""

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
        for name, value in split_pairs("--set", self.set, form):
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
    """Send this header with every request, which some gateways need. It is written to no file. The
    option may be given several times."""

    timeout: Annotated[float, Parameter(metavar="SECONDS")] = 300
    """Give a request up for this run if its answer is not whole after so many seconds."""

    stop_unread: Annotated[str | None, Parameter(metavar="SHARE/AFTER")] = None
    """Stop if this share of answers cannot be read. 0.5/50 means: half of the answers, once there
    are 50 or more."""

    concurrency: int = 16
    """Send at most this number of requests at once."""

    max_requests: int | None = None
    """Stop after this number of requests. One that is tried again counts once."""

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
        for name, value in split_pairs("--header", self.header, "NAME=VALUE"):
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
    """Ask this model, by its name at the server. Not needed with --command."""

    answer: Literal["tool", "json_schema", "text"] = "tool"
    """Demand the answer as a call of the given function, as text of a form that the server enforces
    (json_schema), or as any text."""

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
    """Write NAME.jsonl for every variant into this folder. To continue a run, give the same
    folder."""

    answers: Path | None = None
    """Keep answers in this file, and look them up there. Default: answers.jsonl in the output
    folder."""
