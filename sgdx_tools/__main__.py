"""SGD-X for your own tools: reword them, ask a model under every wording, score the difference."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import run
from sgdx_eval.files import check_apart, check_output, write_scores
from sgdx_eval.tables import terminal
from sgdx_eval.task import Scored
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_eval.verdict import Verdict, gate
from sgdx_metric import ScoreError

from .data import ToolSet
from .folder import read_tool_set
from .options import parser
from .predictions import PredictionFile

_INCOMPLETE = 1  # exit status


def main(arguments: list[str] | None = None) -> int:
    """Run a command of ``python -m sgdx_tools``.

    Args:
        arguments: The words of the command line; None for those of this process.

    Returns:
        The exit status: 0; 1 where ``--max-drop`` is exceeded, or answers are missing; 2 for input
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
    from .scoring import report_scores, scores_json
    from .tables import print_scores

    if options.max_drop is not None and not 0 <= options.max_drop <= 100:
        raise SgdxError(f"--max-drop {options.max_drop:g}: expected points from 0 to 100")
    if options.output is not None:
        check_output("--output", options.output)
        folders = (options.tools, options.tools / "wordings", options.predictions)
        read = [file for folder in folders for file in folder.glob("*.json*")]
        check_apart({"--output": options.output}, read)
    tool_set = read_tool_set(options.tools)
    files = read_predictions(options.predictions, tool_set)
    scored = report_scores(tool_set, files, options.rules, options.over)
    if options.output is not None:
        write_scores(scores_json(tool_set, scored), options.output)
    if lacking := [name for name in tool_set.wordings if name not in files]:
        print(f"note: found no predictions for {', '.join(lacking)}", file=sys.stderr)
    if not options.quiet:
        print_scores(scored.content, scored.raw, terminal())
    if options.max_drop is None:
        return 0
    verdict = _verdict(tool_set, files, scored, options.max_drop)
    print(f"{'FAILED' if verdict.end == 'failed' else verdict.end}: {verdict.why}")
    return verdict.status


def _verdict(
    tool_set: ToolSet, files: Mapping[str, PredictionFile], scored: Scored, max_drop: float
) -> Verdict:
    """Whether other words cost more than a limit."""
    if not any(tool_set.wordings[name].tools for name in files):
        return Verdict("cannot tell", "no name and no description is reworded")
    asked = {name: sum(map(len, file.predictions)) for name, file in files.items()}
    invalid = {name: (n, asked[name]) for name, n in scored.content["invalid"].items()}
    return gate(scored.raw, {CALL: "call", NO_CALL: "no-call"}, max_drop, invalid)


def _explain(options: Namespace) -> None:
    from .explain import explain

    tool_set = read_tool_set(options.tools)
    print(
        *explain(tool_set, options.predictions, options.case, options.wording, options.rules),
        sep="\n",
    )


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
