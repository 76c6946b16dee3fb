"""Writes the summary as a comment of the pull request, or into the one that is there already."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_PAGE = 100  # comments, the most that the API gives


def send(method: str, address: str, body: dict[str, str] | None = None) -> Any:
    """Ask GitHub's API, and read its answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as the runner says
        return json.load(answer)


def main() -> None:
    """Write the comment; without the right to, as from a fork, say so and go on."""
    summary = Path(os.environ["RUNNER_TEMP"], "sgdx.md")
    if not summary.exists():
        return
    mark = f"<!-- sgdx tools test: {os.environ['FOLDER']} -->"
    body = {"body": f"{mark}\n{summary.read_text(encoding='utf-8')}"}
    api = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    address = f"{api}/{os.environ['NUMBER']}/comments"
    try:
        own, page, comments = [], 0, [None] * _PAGE
        while len(comments) == _PAGE:
            page += 1
            comments = send("GET", f"{address}?per_page={_PAGE}&page={page}")
            own += [c["url"] for c in comments if (c["body"] or "").startswith(mark)]
        if own:
            send("PATCH", own[0], body)
        else:
            send("POST", address, body)
    except urllib.error.URLError as error:
        print(f"::warning::sgdx could not comment: {error}")


if __name__ == "__main__":
    main()
