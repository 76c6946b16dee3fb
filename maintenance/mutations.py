"""How many broken lines the tests notice: ``python -m maintenance.mutations --count 60 --seed 1``.

Each mutation changes one place of one file in a copy of the tree: a comparison is turned round, a
condition is negated or always true, a number is one more, a statement is left out. The tests of its
room are run on the copy, those of its module first. What survives is printed as a table row; a
person tells those that change nothing, such as the size of a batch, from those that lack a test.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = (
    "sgdx_dataset",
    "sgdx_metric",
    "sgsacc_metric",
    "sgdx_eval",
    "sgdx_llm",
    "sgdx_tools",
    "baselines",
    "sgdx_space",
)
Place = ast.expr | ast.stmt
_TURNED = {ast.In: "not in", ast.NotIn: "in", ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">="}
_TURNED |= {ast.Gt: "<=", ast.LtE: ">", ast.GtE: "<", ast.Is: "is not", ast.IsNot: "is"}
_SECONDS = 600


def mutations(text: str) -> Iterator[tuple[Place, str]]:
    """The places of a file that can be broken, and what would stand there."""
    tree = ast.parse(text)
    # Python 3.11 does not know where the parts of formatted text stand.
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    unplaced = {id(part) for node in formatted for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in unplaced:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
            left, right = (ast.unparse(of) for of in (node.left, node.comparators[0]))
            if len(node.ops) == 1:
                yield node, f"({left} {_TURNED[type(node.ops[0])]} {right})"
        elif isinstance(node, ast.BoolOp):
            other = " or " if isinstance(node.op, ast.And) else " and "
            yield node, f"({other.join(f'({ast.unparse(of)})' for of in node.values)})"
        elif isinstance(node, ast.If | ast.IfExp):
            yield node.test, f"(not ({ast.unparse(node.test)}))"
            yield node.test, "True"
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, str(node.value + 1)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node, "pass"
        elif isinstance(node, ast.Return) and node.value is not None:
            yield node, "return None"


def draw(count: int, seed: int, rooms: tuple[str, ...]) -> list[tuple[Path, Place, str]]:
    """Some mutations of all rooms: each line that can be broken is as likely."""
    every: dict[tuple[Path, int], list[tuple[Place, str]]] = {}
    for path in sorted(path for room in rooms for path in (ROOT / room).rglob("*.py")):
        for node, instead in mutations(path.read_text("utf-8")):
            every.setdefault((path.relative_to(ROOT), node.lineno), []).append((node, instead))
    chooser = random.Random(seed)  # noqa: S311 - nothing is secret
    lines = chooser.sample(sorted(every), count)
    return [(path, *chooser.choice(every[path, line])) for path, line in lines]


def broken(text: str, node: Place, instead: str) -> str:
    """The file with other text in the place of a node; columns count bytes."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    end_line, end_column = node.end_lineno or 0, node.end_col_offset
    before = [*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]]
    after = [lines[end_line - 1][end_column:], *lines[end_line:]]
    return b"".join([*before, instead.encode(), *after]).decode()


def is_noticed(copy: Path, path: Path) -> bool:
    """Whether a test of the room fails or hangs, those of the module first."""
    room = ROOT / "tests" / path.parts[0]
    of_module = sorted(room.rglob(f"test_{path.stem}*.py"))
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    for tests in filter(None, (of_module, [room])):
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2"]
        words += [str(test.relative_to(ROOT)) for test in tests]
        try:
            done = subprocess.run(
                words, cwd=copy, env=environment, capture_output=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            return True
        if done.returncode not in (0, 5):
            return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", choices=ROOMS, help="Default: all rooms.")
    options = parser.parse_args()
    drawn, noticed = draw(options.count, options.seed, tuple(options.room or ROOMS)), 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "outputs", "__pycache__"))
        for path, node, instead in drawn:
            text = (ROOT / path).read_text("utf-8")
            old = (ast.get_source_segment(text, node) or "").split("\n")[0]
            (copy / path).write_text(broken(text, node, instead), "utf-8")
            is_found = is_noticed(copy, path)
            (copy / path).write_text(text, "utf-8")
            noticed += is_found
            what = "noticed" if is_found else "SURVIVED"
            print(
                f"| {what} | {path}:{node.lineno} | `{old[:60]}` | `{instead[:60]}` |", flush=True
            )
    print(f"{noticed} of {len(drawn)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
