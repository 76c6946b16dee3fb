"""Skills as tools without arguments: the names and descriptions of files SKILL.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.progress import lines_of_progress

from ..data import Tool
from ..skills import read_front_matter
from .collection import Collection

# The longest description that the format allows, in characters.
_LONGEST = 1024


def import_skills(
    patterns: Sequence[str], only: Sequence[str] = (), as_tools: bool = False
) -> Collection:
    """Read the skills of all files that some patterns name, such as ``skills/*/SKILL.md``.

    A file that is no skill, and the second of one name, are left out and noted, as clients do not
    show them either.
    """
    collection = Collection("skills", only=only, shown_as="tools" if as_tools else "skill")
    tools, places = list[Tool](), dict[str, Path]()
    for pattern in patterns:
        anchor = Path(pattern).anchor  # of a pattern that is no relative one
        with lines_of_progress(f"looking for {pattern}"):
            paths = sorted(Path(anchor or ".").glob(pattern.removeprefix(anchor)))
        if not paths:
            raise SgdxError(f"skills: found no file {pattern!r}, expected SKILL.md of some skills")
        for path in paths:
            data = collection.add_file(path, f"{path.parent.name}/{path.name}")
            try:
                shown, beside = read_front_matter(data, path)
            except SgdxError as error:
                collection.left_out.append(str(error))
                continue
            if other := places.get(shown.name):
                found = f"found {shown.name!r}, which {other} has too"
                collection.left_out.append(f"{path}: name: {found}")
                continue
            places[shown.name] = path
            if not collection.takes(shown.name, str(path)):
                continue
            if len(shown.description) > _LONGEST:
                found = f"found a description of {len(shown.description)} characters"
                collection.remarks.append(f"{path}: {found}, and the format allows {_LONGEST}")
            tools.append(Tool(shown.name, shown.description))
            if beside:
                collection.beside[f"skill {shown.name}"] = beside
    if not places:
        found = f"found no skill in {len(collection.left_out)} files"
        raise SgdxError(f"skills: {found}, expected one at least: {collection.left_out[0]}")
    collection.add_tools(tools)
    return collection
