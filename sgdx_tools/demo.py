"""The main job on eight sample tools, without a model: a drop, its cause, and its fix."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from shlex import quote

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_eval.result import read_result
from sgdx_eval.tables import interval, percent
from sgdx_metric.result import Result

from .data import Variant
from .folder import read_project, write_variant

SAMPLE = Path(__file__).parent / "sample"
_FIXED = "v2-fixed"
_NEXT = """\
With --output DIR the demo keeps my_api, run and scores.json there. With tools of yours, in a file
or of an MCP server:

  sgdx tools init tools.json --model your-model
  sgdx tools test

Every step: https://github.com/YOU/sgdx/blob/main/docs/your-own-tools.md"""


def demo(output: Path | None) -> None:
    """Run the sample's program under all variants, score it, and fix the words that cost most.

    A new folder keeps everything; without one it is a temporary one.
    """
    if output is not None and output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder")
    with tempfile.TemporaryDirectory() as temporary:
        kept = staged(output) if output else nullcontext(Path(temporary) / "demo")
        with kept as folder:
            _demo(folder)


def _demo(folder: Path) -> None:
    tools, predictions, scores_file = folder / "my_api", folder / "run", folder / "scores.json"
    shutil.copytree(SAMPLE, tools, ignore=shutil.ignore_patterns("*.py", "__pycache__", "skills"))
    program = f"{quote(sys.executable)} -m sgdx_tools.sample.reader"
    print("A program that knows few words calls eight tools in forty cases, under the original")
    print("words and five rewordings.\n")
    run = ["run", str(tools), "--command", program, "--output", str(predictions)]
    score = ["score", str(tools), "--predictions", str(predictions), "--output", str(scores_file)]
    _command(run, folder)
    _command([*score, "--max-drop", "3"], folder)
    result = read_result(scores_file).result
    project = read_project(tools)
    fixed = fix(project.variants["v2"], result)
    write_variant(tools / "variants" / f"{_FIXED}.json", fixed)
    before, after = len(project.variants["v2"].elements()), len(fixed.elements())
    print(f"\nThe fix: v2 rewords {before} elements. In {_FIXED}, the {before - after} that cost")
    print(f"cases have their original words again, and {after} stay reworded.\n")
    _command(run, folder)
    _command([*score, "--json"], folder)
    result = read_result(scores_file).result
    for name in ("v2", _FIXED):
        difference = result.by_variant("right", "drop")[name]
        points = f"{percent(difference.value)} points of right cases"
        print(f"{name}: {points}, 95 % interval {interval(difference.interval)}")
    print(f"\n{_NEXT}")


def write_skills(output: Path) -> None:
    """Write five sample skills into a new folder, with all that a test of them needs."""
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder")
    with staged(output) as folder:
        shutil.copytree(SAMPLE / "skills", folder)
        file = folder / "sgdx.yaml"
        python = json.dumps(quote(sys.executable))[1:-1]  # of the environment that has this project
        file.write_text(file.read_text().replace('"python ', f'"{python} '))
    print(f"{output / 'sgdx.yaml'}: sgdx tools test and sgdx tools search, in that folder, read it")


def fix(variant: Variant, result: Result) -> Variant:
    """A variant in which the elements that cost more cases than they won have their old words."""
    costly = {
        (element["tool"], element["path"])
        for element in result.counts["elements"]
        if element["variant"] == variant.name and element["net"] > 0
    }
    kept = {element: new for element, new in variant.elements().items() if element not in costly}
    return Variant.of(f"{variant.name}-fixed", kept, variant.made_by)


def _command(arguments: list[str], folder: Path) -> None:
    """Show a command, with paths inside the folder as they are from there, and run it."""
    from .__main__ import main

    shown = " ".join(map(quote, arguments)).replace(f"{folder}/", "")
    print("$ sgdx tools", shown.replace(quote(sys.executable), "python"), flush=True)
    if (status := main(arguments)) > 1:  # stopped, or at fault, which it has said; 1 is the gate's
        sys.exit(status)
