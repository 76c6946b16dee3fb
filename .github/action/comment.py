"""Writes the summary as a comment of the pull request, or into the one that is there already."""

from __future__ import annotations

import http.client
import json
import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

_AUTHOR = "github-actions[bot]"  # whoever else copies our mark
_PAGE = 100  # comments, the most that the API gives
_LONGEST = 65_000  # characters; GitHub takes 65,536
_MOST_BYTES, _MOST_SECONDS = 2**24, 90
_DIED = "### Tools under other words\n\nCannot tell: the test did not end. Its log says why.\n"


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token is for one address alone."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none, which makes the redirect an error."""


def send(method: str, address: str, body: dict[str, str] | None = None) -> Any:
    """Ask GitHub's API, and read its answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
    }
    if not address.startswith(os.environ["GITHUB_API_URL"]):  # as the runner says
        raise ValueError("found the address of a comment elsewhere")
    request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310
    with urllib.request.build_opener(NoRedirects).open(request, timeout=30) as answer:
        return json.loads(answer.read(_MOST_BYTES))


def own_comment(address: str, mark: str) -> str | None:
    """The address of the comment that an earlier push has left."""
    page, comments = 0, [None] * _PAGE
    while len(comments) == _PAGE:
        page += 1
        comments = send("GET", f"{address}?per_page={_PAGE}&page={page}")
        if not isinstance(comments, list):
            raise ValueError("found no list of comments")
        for comment in comments:
            author, text = (comment.get("user") or {}).get("login"), comment.get("body") or ""
            if author == _AUTHOR and text.startswith(mark):
                return str(comment["url"])
    return None


def shortened(text: str) -> str:
    """A text that GitHub takes, without its last lines where it is too long."""
    lines = text.splitlines()
    kept, length = [], 0
    for line in lines:
        length += len(line) + 1
        if length > _LONGEST:
            more = f"And {len(lines) - len(kept)} more lines, in the summary of the run."
            return "\n".join([*kept, "", more])
        kept.append(line)
    return text


def stop_waiting(*_: object) -> None:
    """End a request that takes too long, however slowly its answer drips."""
    raise TimeoutError(f"no whole answer in {_MOST_SECONDS} seconds")


def main() -> None:
    """Write the comment; where that fails, say so and go on, since the verdict stands."""
    summary = Path(os.environ["RUNNER_TEMP"], "sgdx.md")
    text = summary.read_text(encoding="utf-8") if summary.exists() else _DIED
    mark = f"<!-- sgdx tools test: {os.path.normpath(os.environ['FOLDER'])} -->"
    body = {"body": shortened(f"{mark}\n{text}")}
    api = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    address = f"{api}/{os.environ['NUMBER']}/comments"
    signal.signal(signal.SIGALRM, stop_waiting)
    signal.alarm(_MOST_SECONDS)
    try:
        own = own_comment(address, mark)
        if own:
            send("PATCH", own, body)
        else:
            send("POST", address, body)
    # A refusal, a broken connection, half an answer, or one that is no JSON of the expected form.
    except (OSError, http.client.HTTPException, ValueError, LookupError, AttributeError) as error:
        print(f"::warning::sgdx could not comment: {' '.join(str(error).split()) or type(error)}")


if __name__ == "__main__":
    main()
