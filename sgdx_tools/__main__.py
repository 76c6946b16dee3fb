"""SGD-X for your own tools: reword them, ask a model under every wording, score the difference."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import run
from sgdx_eval.files import check_outputs, write_scores
from sgdx_eval.tables import terminal
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_eval.verdict import Verdict, gate
from sgdx_metric import ScoreError

from .asking import run_plan, show_estimate
from .demo import demo
from .explain import explain
from .folder import read_tool_set
from .importing.command import run_import
from .options import parser
from .predictions import read_predictions
from .rewording import reword
from .scoring import score_files
from .tables import print_scores


def main(arguments: list[str] | None = None) -> int:
    """Run a command of ``python -m sgdx_tools``; without arguments, with those of this process.

    The exit status is 0; 1 where ``--max-drop`` is exceeded, or answers are missing; 2 for input
    that cannot be used, or where ``--max-drop`` cannot be told.
    """
    options = parser().parse_args(arguments)
    command = COMMANDS[options.command_name]
    return run("sgdx_tools", lambda: command(options), (SgdxError, ScoreError))


def _score(options: Namespace) -> int:
    if options.max_drop is not None and not 0 <= options.max_drop <= 100:
        raise SgdxError(f"--max-drop {options.max_drop:g}: expected points from 0 to 100")
    if options.output is not None:
        folders = (options.tools, options.tools / "wordings", options.predictions)
        read = [file for folder in folders for file in folder.glob("*.json*")]
        check_outputs({"--output": options.output}, read)
    tool_set = read_tool_set(options.tools)
    files = read_predictions(options.predictions, tool_set)
    content, scores = score_files(tool_set, files, options.rules, options.over)
    if options.output is not None:
        write_scores(content, options.output)
    if lacking := [name for name in tool_set.wordings if name not in files]:
        print(f"note: found no predictions for {', '.join(lacking)}", file=sys.stderr)
    if not options.quiet:
        print_scores(content, scores, terminal())
    if options.max_drop is None:
        return 0
    if any(tool_set.wordings[name].tools for name in files):
        asked = {name: sum(map(len, file.predictions)) for name, file in files.items()}
        invalid = {name: (n, asked[name]) for name, n in content["invalid"].items()}
        verdict = gate(scores, {CALL: "call", NO_CALL: "no-call"}, options.max_drop, invalid)
    else:
        verdict = Verdict("cannot tell", "no name and no description is reworded")
    print(f"{'FAILED' if verdict.end == 'failed' else verdict.end}: {verdict.why}")
    return verdict.status


def _explain(options: Namespace) -> None:
    tool_set, what = read_tool_set(options.tools), (options.case, options.wording, options.rules)
    print(*explain(tool_set, options.predictions, *what), sep="\n")


COMMANDS: dict[str, Callable[[Namespace], int | None]] = {
    "import": run_import,
    "reword": reword,
    "estimate": show_estimate,
    "run": run_plan,
    "score": _score,
    "explain": _explain,
    "demo": lambda options: demo(options.output),
}

if __name__ == "__main__":
    sys.exit(main())
