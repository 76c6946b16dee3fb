"""Count the names that are pronouns or participles instead of nouns: python -m maintenance.names.

A reader has to remember what ``found`` or ``these`` stands for; ``scores`` and ``spans`` say it.
The table has, for each room, how many names its functions bind (parameters, assignments, loops,
comprehensions, ``with`` and ``except``; a name counts once for each function) and how many of those
are in ``PRONOUNS``. Given rooms or files, the command lists their pronouns line by line instead.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOMS = (
    "sgdx_dataset",
    "sgdx_metric",
    "sgsacc_metric",
    "sgdx_space",
    "sgdx_tools",
    "baselines",
    "benchmarks",
    "maintenance",
)
PRONOUNS = frozenset(
    "found one these said of place given known kept wanted told each chosen those them".split()
)


class Binding(NamedTuple):
    """A name that a function binds.

    Attributes:
        file: The file.
        line: Line of the name's first binding in the function, from 1.
        name: The name.
    """

    file: Path
    line: int
    name: str


def bindings(file: Path) -> Iterator[Binding]:
    """The names that the functions of a file bind, each once for each function."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for function in (node for node in ast.walk(tree) if isinstance(node, functions)):
        lines: dict[str, int] = {}
        for node in _own_nodes(function):
            name = _bound_name(node)
            if name is not None:
                lines.setdefault(name, getattr(node, "lineno", function.lineno))
        yield from (Binding(file, line, name) for name, line in lines.items())


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _own_nodes(child)


def _bound_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, ast.ExceptHandler) else None


def pronouns(names: list[Binding]) -> list[Binding]:
    """Those of the names that are pronouns; a leading underscore does not matter."""
    return [binding for binding in names if binding.name.lstrip("_") in PRONOUNS]


def names_of(path: Path) -> list[Binding]:
    """The names that are bound in a file, or in all Python files of a folder."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [binding for file in files for binding in bindings(file)]


def main() -> int:
    """Print the table, or the pronouns of the rooms and files that are given as arguments."""
    parser = argparse.ArgumentParser("python -m maintenance.names", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="rooms or files to list")
    for path in (paths := parser.parse_args().paths):
        for file, line, name in pronouns(names_of(path)):
            print(f"{file}:{line}: {name}")
    if not paths:
        names = {room: names_of(Path(room)) for room in ROOMS}
        names["all"] = [binding for room in ROOMS for binding in names[room]]
        for room, bound in names.items():
            count = len(pronouns(bound))
            share = 100 * count / len(bound) if bound else 0.0
            print(f"{room:14} {len(bound):6} names {count:5} pronouns {share:5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
