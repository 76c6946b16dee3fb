"""Ask a tool-calling model, or any other system, for the dialogue state under every wording.

The predictions are then scored with python -m sgdx_metric score --predictions DIR.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from sgdx_dataset import CONFIGS, SgdxError
from sgdx_dataset.io.extras import require
from sgdx_dataset.release.schema import split_name

from ..command_line import add_source, run_command
from ..data.prediction_files import write_predictions
from ..data.requested import RequestedData
from ..predict import DEFAULT_CONFIGS, own_variants
from ..training.run_folder import locked
from .answer_file import AnswerFile
from .batch_files import collect, write_requests
from .endpoint import base_url, connect, host_of
from .estimate import Estimate, estimate, token_counter
from .plan import Plan
from .predictions import finished, spoken_counts, write_finished
from .program import HOST, run_program, split_command
from .requests import Answer, Settings, Task, ToolChoice
from .sending import Limits, Sent, send_all
from .usage import Price, read_price

_PROGRAM = "baselines.llm"
_INCOMPLETE = 1  # exit status: answers are missing, and the same command goes on


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit status: 0; 1 while answers are missing; 2 after an error."""
    options = _parser().parse_args(arguments)
    return run_command(_PROGRAM, lambda: options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        f"python -m {_PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, add, text in (
        ("estimate", _estimate, _add_estimate, "count the requests and their tokens; send nothing"),
        ("predict", _predict, _add_predict, "ask a server or a program, and write predictions"),
        ("requests", _requests, _add_requests, "write the requests as OpenAI batch files"),
        ("collect", _collect, _add_collect, "read the answers to batch files, write predictions"),
    ):
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run=run)
        _add_data(command)
        _add_settings(command, required=name != "predict" and name != "estimate")
        add(command)
    text = "write predictions of a log of the inspect_ai task, baselines/llm/inspect_state.py"
    command = commands.add_parser(
        "from-inspect", help=text, description=f"{text[0].upper()}{text[1:]}."
    )
    command.set_defaults(run=_from_inspect)
    command.add_argument("log", metavar="LOG", help="the log file that inspect wrote")
    command.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="folder for VARIANT.jsonl"
    )
    return parser


def _add_data(command: argparse.ArgumentParser) -> None:
    add_source(command)
    command.add_argument(
        "--config",
        nargs="+",
        action="extend",
        metavar="CONFIG",
        help=f"any of {', '.join(CONFIGS)}, or a NAME of --variant; default: "
        f"{' '.join(DEFAULT_CONFIGS)} and each NAME",
    )
    command.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a wording of your own, as python -m sgdx_dataset frames takes it; may be given "
        "several times",
    )
    command.add_argument(
        "--dialogues",
        type=Path,
        metavar="FILE",
        help="ask about these dialogues only: a file of python -m sgdx_dataset subset, a text file "
        "with one id a line, or a JSON list",
    )
    command.add_argument("--split", default="test", help="train, validation or test; default: test")
    command.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="ask everything N times under one --config and call the predictions r1 to rN: how far "
        "they vary is the sensitivity without any rewording; default: 1",
    )


def _add_settings(command: argparse.ArgumentParser, required: bool) -> None:
    text = "the model's name at its server" + ("" if required else "; not needed with --command")
    command.add_argument("--model", required=required, metavar="NAME", help=text)
    command.add_argument(
        "--base-url",
        metavar="URL",
        help="address of a server with OpenAI's interface, such as http://localhost:8000/v1; "
        "default: $OPENAI_BASE_URL, else OpenAI's own. The key is read from $OPENAI_API_KEY.",
    )
    command.add_argument(
        "--task",
        choices=get_args(Task),
        default="state",
        help="what to ask for: the dialogue state of every frame (state, the default), or the "
        "call that the system makes next (calls)",
    )
    command.add_argument(
        "--answer",
        choices=get_args(Answer),
        default="tool",
        help="where the answer is to be: in a call of the function that is given (tool, the "
        "default), in text of a form that the server enforces (json_schema), or in any text (text)",
    )
    command.add_argument(
        "--strict",
        action="store_true",
        help="mark schemas as strict: every slot is required and may be null",
    )
    command.add_argument(
        "--tool-choice",
        choices=get_args(ToolChoice),
        default="required",
        help="for --task calls: demand a call, after the turns that are followed by one (required, "
        "the default), or ask after every turn and let the model decide (auto)",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="set a field of the requests, as in --set temperature=0.3; default: temperature=0, "
        "seed=0, max_tokens=1024; may be given several times",
    )
    command.add_argument(
        "--omit",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY",
        help="leave out fields of the requests that the server refuses, as in --omit seed",
    )
    command.add_argument(
        "--price",
        metavar="IN,CACHED,OUT",
        help="price of a million tokens: of requests, of what is cached of them, of answers",
    )


def _add_estimate(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for NAME.jsonl of every wording; give the same one to go on",
    )
    command.add_argument(
        "--answers",
        type=Path,
        metavar="FILE",
        help="where answers are kept and looked up; default: answers.jsonl in the output folder",
    )
    command.add_argument(
        "--retry-invalid",
        type=int,
        default=0,
        metavar="N",
        help="ask up to N times more, with other seeds, where an answer cannot be read; "
        "predictions then say so; default: 0",
    )


def _add_predict(command: argparse.ArgumentParser) -> None:
    _add_output(command)
    command.add_argument(
        "--command",
        metavar="PROGRAM",
        help="ask a program instead of a server: it reads request lines (custom_id, frame, body) "
        "and writes answer lines (custom_id, and state or response)",
    )
    command.add_argument(
        "--concurrency",
        type=int,
        default=16,
        metavar="N",
        help="how many requests may be under way at once; fewer are while the server has too many; "
        "default: 16",
    )
    command.add_argument(
        "--max-requests", type=int, metavar="N", help="stop after so many requests"
    )
    command.add_argument(
        "--max-cost",
        type=float,
        metavar="X",
        help="stop before the requests cost more than this by --price",
    )


def _add_requests(command: argparse.ArgumentParser) -> None:
    _add_output(command)


def _add_collect(command: argparse.ArgumentParser) -> None:
    _add_output(command)
    command.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="files of answers, as JSON Lines"
    )


def _settings(options: argparse.Namespace, program: str | None) -> Settings:
    model = options.model or program
    if not model:
        raise SgdxError("found no --model, expected the model's name at its server")
    given: dict[str, Any] = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        try:
            given[name] = json.loads(value)
        except (ValueError, RecursionError):
            equals = ""
        if not (name and equals):
            raise SgdxError(f"--set {text}: expected KEY=JSON, such as temperature=0.3")
    return Settings(
        model=model,
        task=options.task,
        answer=options.answer,
        strict=options.strict,
        tool_choice=options.tool_choice,
        given=given,
        omitted=tuple(dict.fromkeys(options.omit)),
    )


def _plan(options: argparse.Namespace, program: str | None = None) -> Plan:
    settings = _settings(options, program)
    host = f"{HOST}{program}" if program else host_of(base_url(options.base_url))
    variants = own_variants(options.variant)
    configs = list(dict.fromkeys(options.config or (*DEFAULT_CONFIGS, *variants)))
    if options.repeats > 1 and not options.config:
        configs = ["original"]
    data = RequestedData(options.source, split_name(options.split), variants, options.dialogues)
    again = getattr(options, "retry_invalid", 0)
    if program and again:
        raise SgdxError("--retry-invalid: expected only for a server, not with --command")
    plan = Plan(data, configs, settings, host, options.repeats, again)
    if not plan.dialogues:  # they are read here, before anything is written
        raise SgdxError("found no dialogues, expected one at least")
    return plan


def _price(options: argparse.Namespace) -> Price | None:
    return read_price(options.price) if options.price else None


@contextmanager
def _answers(options: argparse.Namespace) -> Iterator[AnswerFile]:
    """Keep the output folder, and that of the answers, for this run; open the answers."""
    path = options.answers or options.output / "answers.jsonl"
    with locked(options.output):
        if path.parent.resolve() == options.output.resolve():
            with AnswerFile(path) as answers:
                yield answers
        else:
            with locked(path.parent), AnswerFile(path) as answers:
                yield answers


def _estimate(options: argparse.Namespace) -> None:
    plan, price = _plan(options), _price(options)
    count, by = token_counter()
    found = estimate(plan, count)
    if options.json:
        print(json.dumps([_facts(one, price) for one in found], indent=1))
        return
    print(f"{'wording':<12}{'requests':>10}{'tokens in':>13}{'each':>7}{'most':>7}", end="")
    print(f"{'tokens out':>13}{'each':>7}" + (f"{'cost':>10}" if price else ""))
    for one in found:
        _print_row(one, price)
    if len(found) > 1:
        _print_row(_total(found), price)
    print(f"Tokens by {by}, of requests that differ. Out: those of the right answers, without any")
    print("that a model thinks with." + (" The cost has no discount for caching." if price else ""))


def _facts(one: Estimate, price: Price | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "wording": one.name,
        "requests": one.requests,
        "repeated": one.repeated,
        "tokens_in": one.usage.sent,
        "longest": one.longest,
        "tokens_out": one.usage.made,
    }
    return facts | ({"cost": round(one.usage.cost(price), 4)} if price else {})


def _total(found: list[Estimate]) -> Estimate:
    usage = found[0].usage
    for one in found[1:]:
        usage += one.usage
    return Estimate(
        "all",
        sum(one.requests for one in found),
        sum(one.repeated for one in found),
        max(one.longest for one in found),
        usage,
    )


def _print_row(one: Estimate, price: Price | None) -> None:
    sent = one.requests - one.repeated
    each = (round(number / max(sent, 1)) for number in (one.usage.sent, one.usage.made))
    line = f"{one.name:<12}{sent:>10,}{one.usage.sent:>13,}{next(each):>7,}{one.longest:>7,}"
    line += f"{one.usage.made:>13,}{next(each):>7,}"
    print(line + (f"{one.usage.cost(price):>10.2f}" if price else ""))


def _predict(options: argparse.Namespace) -> int:
    program = options.command
    if program:
        split_command(program)
    plan, limits = _plan(options, program), _limits(options)
    if limits.max_cost is not None and limits.price is None:
        raise SgdxError("--max-cost: found no --price, expected what tokens cost")
    with _answers(options) as answers:
        if len(finished(plan, options.output)) == len(plan.names):
            return _say_finished(plan, options)
        with _bar(plan) as advance:
            if program:
                counts = run_program(program, plan, answers, advance)
                print(f"sent: {spoken_counts(counts) or 'nothing'}", file=sys.stderr)
            else:
                send = connect(base_url(options.base_url))
                run = send_all(plan, answers, send, limits, advance=advance)
                _say_sent(asyncio.run(run), limits)
        return _write(plan, answers, options)


def _limits(options: argparse.Namespace) -> Limits:
    for name in ("concurrency", "max_requests", "max_cost"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise SgdxError(f"--{name.replace('_', '-')} {value}: expected more than 0")
    return Limits(options.concurrency, options.max_requests, options.max_cost, _price(options))


def _requests(options: argparse.Namespace) -> None:
    plan = _plan(options)
    with _answers(options) as answers:
        finished(plan, options.output)
        files, count = write_requests(plan, answers, options.output / "requests")
    print(f"{count} requests; collect reads the answers", file=sys.stderr)
    print(*files, sep="\n")


def _collect(options: argparse.Namespace) -> int:
    plan = _plan(options)
    with _answers(options) as answers:
        finished(plan, options.output)
        counts = collect(plan, answers, options.files)
        print(f"lines: {spoken_counts(counts) or 'none'}", file=sys.stderr)
        return _write(plan, answers, options)


def _from_inspect(options: argparse.Namespace) -> None:
    log = require("inspect_ai.log", "inspect")
    if not Path(options.log).is_file():
        raise SgdxError(f"{options.log}: No such file")
    try:
        found = log.read_eval_log(options.log)
    except Exception as error:  # any of several libraries' own errors
        raise SgdxError(f"{options.log}: cannot be read as a log: {error}") from None
    from .inspect_state import predictions_of  # it needs inspect_ai

    with locked(options.output):
        for name, (header, rows) in predictions_of(found).items():
            print(write_predictions(options.output / f"{name}.jsonl", header, rows))


def _write(plan: Plan, answers: AnswerFile, options: argparse.Namespace) -> int:
    written, lacking = write_finished(plan, answers, options.output, _price(options))
    for name, figures in written.items():
        counts = figures["counts"]
        line = f"{name}: {spoken_counts(counts)}"
        if figures["tokens"]["in"]:
            line += f"; tokens {figures['tokens']['in']} in, {figures['tokens']['out']} out"
        if "cost" in figures:
            line += f"; cost {figures['cost']:.4f}"
        print(line, file=sys.stderr)
        print(options.output / f"{name}.jsonl")
    if not lacking:
        return 0
    parts = ", ".join(f"{name} {number}" for name, number in lacking.items())
    print(
        f"{lacking.total()} answers are missing ({parts}): run again to go on; "
        f"{options.output / 'done.json'} lists the dialogues that are complete",
        file=sys.stderr,
    )
    return _INCOMPLETE


def _say_finished(plan: Plan, options: argparse.Namespace) -> int:
    print(*(options.output / f"{name}.jsonl" for name in plan.names), sep="\n")
    return 0


def _say_sent(sent: Sent, limits: Limits) -> None:
    line = f"sent: {spoken_counts(sent.counts) or 'nothing'}"
    if sent.waited:
        line += f"; waited {sent.waited:.0f} s"
    if sent.usage.sent:
        line += f"; tokens {sent.usage.sent} in, {sent.usage.made} out"
    if limits.price is not None:
        line += f"; cost {sent.usage.cost(limits.price):.4f}"
    print(line, file=sys.stderr)
    if sent.stopped:
        print(f"stopped: {sent.stopped}", file=sys.stderr)


@contextmanager
def _bar(plan: Plan) -> Iterator[Callable[[], None]]:
    from datasets.utils import tqdm

    with tqdm(total=plan.count(), desc="Asking", unit=" requests", delay=2, disable=None) as bar:
        yield lambda: bar.update(1)


if __name__ == "__main__":
    sys.exit(main())
