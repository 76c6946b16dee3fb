"""Make ``docs/settings.md``, the page of recipes' settings, of the comments in the code.

``python -m maintenance.settings`` writes it.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from baselines import settings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
KINDS = (
    settings.Settings, settings.EncoderSettings, settings.EpochSettings, settings.OnePassSettings,
    settings.SgdSettings, settings.SgpSettings, settings.PartSettings, settings.T5Settings,
    settings.T2G2Settings, settings.Augment, settings.Also,
)  # fmt: skip
_FIELD = re.compile(r"    (\w+): (.+?)(?: = (.+?))?(?:  # (?!type:)(.*?))?(?:  # type: .*)?$")
_HEAD = """# Settings of recipes

`sgdx train --set KEY=VALUE` changes any of these. A setting in another is named with a dot:
`augment.ratio=0.5`, `parts.intent.epochs=2`. This page is made of the code by
`python -m maintenance.settings`.
"""


def page() -> str:
    """The page in Markdown."""
    return "\n".join([_HEAD, *map(_section, KINDS)])


def _section(kind: Any) -> str:
    """A table of the settings that a class itself has."""
    rows = ["| setting | kind | default | what it is |", "|---|---|---|---|"]
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        if line.startswith("    # "):
            above.append(line.removeprefix("    # "))
        elif (found := _FIELD.match(line)) and found[1] in kind.__struct_fields__:
            name, of, default, beside = found.groups()
            text = " ".join([*above, (beside or "").split("  # ")[0]]).strip().replace("``", "`")
            shown = f"`{of}`".replace("|", r"\|")
            rows.append(
                f"| `{name}` | {shown} | {f'`{default}`' if default else 'needed'} | {text} |"
            )
            above = []
        else:
            above = []
    first = (inspect.getdoc(kind) or "").splitlines()[0].replace("``", "`")
    return f"\n## {kind.__name__}\n\n{first}\n\n" + "\n".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page() + "\n", encoding="utf-8")
