"""SGD-X for your own tools: reword them, ask a model under every wording, score the difference."""

from __future__ import annotations

import json
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

from .folder import read_tool_set
from .options import parser

_INCOMPLETE = 1  # exit status


def main(arguments: list[str] | None = None) -> int:
    """Run a command of ``python -m sgdx_tools``; without arguments, with those of this process.

    The exit status is 0; 1 where ``--max-drop`` is exceeded, or answers are missing; 2 for input
    that cannot be used, or where ``--max-drop`` cannot be told.
    """
    options = parser().parse_args(arguments)
    command = COMMANDS[options.command_name]
    return run("sgdx_tools", lambda: command(options), (SgdxError, ScoreError))


def _import(options: Namespace) -> None:
    from .importing.command import run_import

    run_import(options)


def _reword(options: Namespace) -> int:
    from .rewording import reword

    return _INCOMPLETE if reword(options) else 0


def _estimate(options: Namespace) -> None:
    from baselines.llm.estimate import token_counter
    from baselines.llm.options import read_prices
    from baselines.llm.tables import estimate_facts, estimate_table

    from .asking import estimate, read_plan

    price = read_prices(options)
    count_tokens, counter = token_counter()
    estimates = estimate(read_plan(options), count_tokens)
    if options.json:
        print(json.dumps([estimate_facts(wording, price) for wording in estimates], indent=1))
    else:
        print(*estimate_table(estimates, counter, price), sep="\n")


def _run(options: Namespace) -> int:
    from .asking import run_plan

    return _INCOMPLETE if run_plan(options) else 0


def _score(options: Namespace) -> int:
    from .predictions import read_predictions
    from .scoring import score_files
    from .tables import print_scores

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
    from .explain import explain

    tool_set, what = read_tool_set(options.tools), (options.case, options.wording, options.rules)
    print(*explain(tool_set, options.predictions, *what), sep="\n")


def _demo(options: Namespace) -> None:
    from .demo import demo

    demo(options.output)


COMMANDS: dict[str, Callable[[Namespace], int | None]] = {
    "import": _import,
    "reword": _reword,
    "estimate": _estimate,
    "run": _run,
    "score": _score,
    "explain": _explain,
    "demo": _demo,
}

if __name__ == "__main__":
    sys.exit(main())
