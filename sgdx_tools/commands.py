"""The commands ``sgdx tools``: reword your own tools, ask a model, score the difference."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import Dialogues, SourceOptions, Split
from sgdx_eval.options import Details
from sgdx_llm.options import SendingOptions, ServerOptions

from .options import AskOptions, Limit, Predictions, RewordOptions, Rules, Tools

tools = App(
    name="tools",
    help="Measure what it costs when your own tools are worded differently.",
)


@tools.command
def init(
    source: str,
    /,
    *,
    output: Path = Path(),
    model: str = "your-model",
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    env: Sequence[str] = (),
    header: Sequence[str] = (),
) -> None:
    """Write sgdx.yaml for your tools, which 'sgdx tools test' reads.

    Parameters
    ----------
    source
        Read the tools of this file of OpenAI's, Anthropic's, MCP's or OpenAPI's form, of a SKILL.md
        or a folder that has skills, or of an MCP server: a command such as "npx my-server", or a
        URL.
    output
        Write sgdx.yaml into this folder.
    model
        Test this model, and have it write other words.
    base_url
        Ask for the model at this address, such as http://localhost:8000/v1. Default: OpenAI's.
    env
        Give the server's command this variable, such as 'TOKEN=${TOKEN}', which is written so.
    header
        Send this header to the server's URL, such as 'Authorization=Bearer ${TOKEN}'.
    """
    from . import init as beginning

    given = _pairs("--env", env), _pairs("--header", header)
    path, count = beginning.init(source, output, model, base_url, *given)
    print(path)
    print(f"note: tools found: {count}; now write {path.parent / 'cases.jsonl'}", file=sys.stderr)
    print(f"next: sgdx tools test {path}", file=sys.stderr)


@tools.command(name="import")
def import_tools(
    sources: Sequence[str] = (),
    /,
    data: SourceOptions = SourceOptions(),
    *,
    output: Path,
    only: Sequence[str] = (),
    env: Sequence[str] = (),
    header: Sequence[str] = (),
    with_headers: bool = False,
    as_tools: bool = False,
    answers: Sequence[Path] = (),
    sgd: Sequence[str] = (),
    split: Split = "test",
    dialogues: Dialogues = None,
) -> None:
    """Make a folder of tools from a file, skills, a server or a data set.

    What a source is, is known by its content.

    Parameters
    ----------
    sources
        Read the tools of this file: a list as OpenAI, Anthropic, MCP, Gemini, Bedrock or LangChain
        have it, a request that has one, an OpenAPI 3 document, or cases of the Berkeley Function
        Calling Leaderboard. Or of a folder of skills, a SKILL.md or a pattern of such files. Or ask
        an MCP server, by a command such as "npx my-server" or a URL. Several servers join their
        tools; names then begin with the server's.
    output
        Write tools.json, source.json, and the cases and variants if there are any, into this new
        folder.
    only
        Take only tools whose name, path or tag fits this pattern, such as 'get_*' or '/pets*'.
    env
        Give a server's command this variable, such as 'TOKEN=${TOKEN}'. Each ${NAME} is taken from
        the environment. No value is written anywhere.
    header
        Send this header to a server's URL, such as 'Authorization=Bearer ${TOKEN}'.
    with_headers
        Of an OpenAPI document, take headers for arguments too, which models then fill and which are
        reworded.
    as_tools
        Show each skill as a tool. Otherwise a model is shown one tool that lists them.
    answers
        Read the possible answers of the leaderboard's cases from these files. Cases of irrelevance
        have none.
    sgd
        Read the calls of SGD's system. The tools get the words of the first variant (original, v1
        to v5, or a NAME of --variant). The first is the original of the folder.
    split
        With --sgd: take this split.
    """
    if bool(sources) == bool(sgd):
        raise SgdxError("import: expected sources of tools, or --sgd")
    if only and sgd:
        raise SgdxError("--only: found --sgd, whose cases name their tools")
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder")
    if sgd:
        from .importing.sgd import import_sgd

        configs = list(dict.fromkeys(sgd))
        collection = import_sgd(configs, data.source, split, data.own_variants, dialogues)
    else:
        from .importing import import_source

        _, collection = import_source(
            sources,
            only,
            with_headers=with_headers,
            as_tools=as_tools,
            env=_pairs("--env", env),
            headers=_pairs("--header", header),
            answers=answers,
        )
    collection.write(output)
    collection.report(output)


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Options NAME=VALUE by their names."""
    if any("=" not in pair for pair in given):  # which may be a key, and is not said
        raise SgdxError(f"{option}: expected NAME=VALUE, found no =")
    return dict(pair.split("=", 1) for pair in given)


@tools.command
def reword(
    folder: Tools,
    /,
    options: RewordOptions,
    server: ServerOptions = ServerOptions(),
    sending: SendingOptions = SendingOptions(),
) -> int:
    """Put tools into other words, ordered by their distance.

    The variants are v1, v2, and so on; v1 is nearest to the original.
    """
    from sgdx_dataset.io.files import run_folder

    from .folder import read_tool_set
    from .rewording import reword

    with run_folder(options.output):
        return reword(read_tool_set(folder), options, server, sending)


@tools.command
def cases(
    folder: Tools,
    /,
    server: ServerOptions = ServerOptions(),
    sending: SendingOptions = SendingOptions(),
    *,
    traces: Annotated[Sequence[Path], Parameter(name="--from", consume_multiple=True)] = (),
    generate: Annotated[int | None, Parameter(metavar="N", validator=Number(gte=1, lte=50))] = None,
    model: str | None = None,
    review: Path | None = None,
) -> int:
    """Make cases of what your system did, from its logs, or have a model write some.

    The cases expect the calls that were made, and are marked as unreviewed until you have looked at
    them. The table to review is FOLDER/review. Nothing leaves the folder but for --generate.

    Parameters
    ----------
    traces
        Add the cases of these files as JSON: requests with their responses, OpenTelemetry's spans
        of generative AI, runs of LangSmith or Langfuse, LangChain's messages, or lines for
        fine-tuning. The form is known by its content.
    generate
        Ask a model for N cases of each tool, and for one that is near to it but asks for another.
        What the tool's schema does not allow, and what is said twice, is dropped and counted.
    model
        With --generate: ask this model, by its name at the server.
    review
        Take the cases that are left in this table review.tsv as reviewed. The others are dropped.
    """
    from .traces import add_traces, review_cases

    if sum(map(bool, (traces, review, generate))) != 1:
        raise SgdxError("cases: expected one of --from, --generate and --review")
    if bool(generate) != bool(model):
        raise SgdxError("cases: expected --generate and --model together")
    if review:
        print(f"{review_cases(folder, review)} cases")
        return 0
    if generate and model:
        from .generate import generate_cases

        made = generate_cases(folder, generate, model, server, sending)
        if made is None:
            return 1
        written, notes = made
    else:
        written, notes = add_traces(folder, traces)
    for line in notes:
        print(f"note: {line}", file=sys.stderr)
    print(*written, sep="\n")
    return 0


@tools.command
def check(
    source: str,
    /,
    *,
    env: Sequence[str] = (),
    header: Sequence[str] = (),
    json: bool = False,
    sarif: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    fail_on: Sequence[str] = (),
) -> int:
    """Find words that are known to cost, in seconds and without a model.

    Every rule has the loss that was measured for it.

    Parameters
    ----------
    source
        Read the tools of this folder of 'sgdx tools import', or of any source that it takes: a
        file, skills, or a server's command or URL.
    env
        Give the server's command this variable, such as 'TOKEN=${TOKEN}'. Each ${NAME} is taken
        from the environment. No value is written anywhere.
    header
        Send this header to the server's URL, such as 'Authorization=Bearer ${TOKEN}'.
    json
        Print the findings as JSON.
    sarif
        Also write them to this file in SARIF, which code scanning reads.
    fail_on
        End with 1 if this rule has a finding: is_alike, is_abbreviated or is_numbered. The option
        may be given several times.
    """
    from sgdx_dataset.io.files import write_bytes
    from sgdx_dataset.io.json import pretty_json

    from .check import SARIF_MARK, as_json, as_sarif, evidence, find, read_any_tools, show_check

    if unknown := [rule for rule in fail_on if rule not in evidence().rules]:
        known = ", ".join(evidence().rules)
        raise SgdxError(f"--fail-on {unknown[0]}: expected one of {known}")
    tool_set = read_any_tools(source, _pairs("--env", env), _pairs("--header", header))
    findings = find(tool_set)
    if sarif:
        write_bytes(sarif, pretty_json(as_sarif(tool_set, findings), 1), mark=SARIF_MARK)
    if json:
        print(pretty_json(as_json(findings), 1).decode(), end="")
    else:
        show_check(tool_set, findings)
    return int(any(finding.rule in fail_on for finding in findings))


@tools.command
def estimate(folder: Tools, /, asked: AskOptions = AskOptions(), *, json: bool = False) -> None:
    """Count the requests and their tokens. Nothing is sent.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    """
    from .asking import show_estimate
    from .folder import read_tool_set

    show_estimate(read_tool_set(folder).first(asked.limit), asked, json)


@tools.command
def run(
    folder: Tools,
    /,
    asked: AskOptions = AskOptions(),
    sending: SendingOptions = SendingOptions(),
    *,
    output: Path,
) -> int:
    """Ask a server or a program for the calls of every case.

    Every case is asked under every variant.

    Parameters
    ----------
    output
        Write VARIANT.jsonl for every variant into this folder. To continue a run, give the same
        folder.
    """
    from .asking import ask_cases
    from .folder import read_tool_set

    tool_set = read_tool_set(folder).first(asked.limit)
    return int(ask_cases(tool_set, asked, sending, output) is None)


@tools.command
def score(
    folder: Tools,
    /,
    *,
    predictions: Predictions,
    rules: Rules = None,
    limit: Limit = None,
    output: Path | None = None,
    explain: Details = False,
    json: bool = False,
    max_drop: float | None = None,
) -> int:
    """Score the calls under every variant against the original one.

    Parameters
    ----------
    output
        Also write the scores to this JSON file.
    max_drop
        Judge the loss, which is how many points fewer cases are right under other words. If its
        whole 95 % interval is above this number, the verdict is failed, and the exit status 1. If
        all of it is at most this number, it is passed, and 0. Else it is unclear, and 0. If nothing
        can be compared, it is cannot tell, and 2.
    json
        Print the verdict alone, as JSON.
    """
    from sgdx_eval.result import write_result
    from sgdx_eval.tables import terminal

    from .folder import read_tool_set
    from .predictions import read_predictions
    from .scoring import score_files
    from .tables import print_scores
    from .verdict import Gate, check_limit, judge, print_verdicts

    if max_drop is not None:
        check_limit(max_drop, "--max-drop")
    tool_set = read_tool_set(folder).first(limit)
    files = read_predictions(predictions, tool_set)
    scored = score_files(tool_set, files, rules)
    if output is not None:
        write_result(scored.result, scored.items, output)
    if lacking := [name for name in tool_set.variants if name not in files]:
        print(f"note: found no predictions for {', '.join(lacking)}", file=sys.stderr)
    if not json:
        print_scores(scored, explain, terminal())
    if max_drop is None:
        return 0
    verdict = judge(tool_set, files, scored.result, Gate(max_drop))
    return print_verdicts({"": verdict}, json)


@tools.command
def search(
    tools: Path = Path("sgdx.yaml"),
    /,
    *,
    embeddings: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    limit: Limit = None,
    output: Path | None = None,
    explain: Details = False,
    json: bool = False,
    max_drop: float | None = None,
) -> int:
    """Is the right tool still found by its words? No model is asked.

    Clients with many tools load only those that a search finds. For each case and variant, all
    tools are ranked by BM25 for what the user has said so far.

    Parameters
    ----------
    tools
        Read the tools, cases and other words of this file, as 'sgdx tools test' does, or of this
        folder. A file may have the gate, as in 'gate: {search: {recall@5: 3}}'.
    embeddings
        Rank by the embeddings of this model instead. The key is read from $OPENAI_API_KEY.
    base_url
        Ask for embeddings at this address, such as http://localhost:11434/v1. Default: OpenAI's.
    output
        Also write the ranks of all cases to this JSON file.
    max_drop
        Judge the loss in recall@5, the share of cases whose tool is among the first five, by the
        rule of 'sgdx tools test'. It goes before the gate of the file.
    json
        Print the verdicts alone, as JSON.
    """
    from sgdx_eval.result import write_result
    from sgdx_eval.tables import terminal

    from . import search as searching
    from .folder import read_tool_set
    from .tables import print_search
    from .verdict import Gate, check_limit, judge_loss, print_verdicts

    if max_drop is not None:
        check_limit(max_drop, "--max-drop")
    if base_url and not embeddings:
        raise SgdxError("--base-url: found no --embeddings, whose server this is")
    gate = Gate()
    if tools.is_file():
        from .testing import read_for_search

        tool_set, gate = read_for_search(tools)
    else:
        tool_set = read_tool_set(tools)
    if max_drop is not None:
        gate = Gate(search={"recall@5": max_drop}, strict=gate.strict)
    ranker: searching.Ranker = searching.bm25
    name = "bm25-lucene"
    if embeddings:
        ranker, name = searching.embeddings(embeddings, base_url), embeddings
    searched = searching.search(tool_set.first(limit), ranker, name)
    if output is not None:
        write_result(searched.result, searched.items, output)
    if not json:
        print_search(searched, explain, terminal())
    result = searched.result
    verdicts = {
        str(metric): judge_loss(metric, result, limit_of, gate.strict)
        for metric, limit_of in gate.search.items()
    }
    return print_verdicts(verdicts, json)


@tools.command
def explain(
    folder: Tools,
    case: str,
    /,
    *,
    predictions: Predictions,
    rules: Rules = None,
    variant: str | None = None,
) -> None:
    """Show a case under the words that made it wrong.

    Parameters
    ----------
    case
        Show this case, or give the word 'lost' to list the cases that are lost.
    variant
        Show this variant. Default: all variants that lose the case.
    """
    from msgspec.structs import replace

    from .explain import explain
    from .folder import read_tool_set
    from .predictions import read_predictions
    from .scoring import score_files

    tool_set = read_tool_set(folder)
    files = read_predictions(predictions, tool_set)
    if chosen := tuple(one for one in tool_set.cases if one.id == case):
        tool_set = replace(tool_set, cases=chosen)
    scored = score_files(tool_set, files, rules)
    print(*explain(tool_set, scored, case, variant), sep="\n")


@tools.command
def report(
    folder: Tools,
    /,
    *,
    predictions: Annotated[Sequence[Path], Parameter(consume_multiple=True)],
    rules: Rules = None,
    limit: Limit = None,
    max_drop: float | None = None,
    output: Path,
) -> None:
    """Write a page to look through: every case under every variant, with its calls.

    Parameters
    ----------
    predictions
        Read the VARIANT.jsonl files of this folder. Give several folders to see models side by
        side; each is called by the folder's name.
    max_drop
        Also show the verdict that 'sgdx tools score' gives with this number.
    output
        Write this file, such as report.html. It needs no other file.
    """
    from .folder import read_tool_set
    from .predictions import read_predictions
    from .report import write_report
    from .scoring import score_files
    from .verdict import Gate, check_limit, judge

    if max_drop is not None:
        check_limit(max_drop, "--max-drop")
    tool_set, models = read_tool_set(folder).first(limit), {}
    names = [run.resolve().name for run in predictions]
    if len({*names}) < len(names):
        raise SgdxError(f"--predictions: found {', '.join(names)}, expected folders of other names")
    for name, run in zip(names, predictions):
        files = read_predictions(run, tool_set)
        scored = score_files(tool_set, files, rules)
        told = None if max_drop is None else judge(tool_set, files, scored.result, Gate(max_drop))
        models[name] = scored, told
    write_report(tool_set, models, output)
    print(output)


@tools.command
def improve(
    folder: Tools,
    /,
    asked: AskOptions = AskOptions(),
    sending: SendingOptions = SendingOptions(),
    *,
    by: Annotated[str, Parameter(name="--with", metavar="WAY:WHAT")],
    count: int = 5,
    keep_names: bool = False,
    output: Path,
) -> int:
    """Find better words for what goes wrong, and prove that they are better.

    New words are proposed for what wrong calls have to do with. They are chosen on half of the
    cases. What they gain is measured on the other half. If chance does not explain the gain,
    OUTPUT/improved.json has the words, and the exit status is 0; else it is 1.

    Parameters
    ----------
    by
        Say where the words come from: model:NAME, or another way of 'sgdx tools reword'.
    count
        Propose this number of new words for each element, 1 to 9.
    keep_names
        Improve only descriptions.
    output
        Write all that was asked and the result into this folder. To continue, give the same folder.
    """
    from sgdx_dataset.io.files import run_folder

    from .improve import improve

    words = RewordOptions(by=by, count=count, keep_names=keep_names, output=output)
    with run_folder(output):
        return improve(folder, words, asked, sending)


@tools.command
def test(
    file: Path = Path("sgdx.yaml"),
    /,
    *,
    base: Path | None = None,
    own_cases: bool = False,
    limit: Limit = None,
    junit: Path | None = None,
    summary: Path | None = None,
    json: bool = False,
    max_cost: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
) -> int:
    """Do all that a file asks for: import, reword, ask, score, report.

    Models are asked anew, unless an earlier test did not end. The exit status is 1 if a model
    fails, else 2 if it cannot be told of one, else 0.

    Parameters
    ----------
    file
        Read this file. It says which tools, cases, models and variants there are.
    base
        Measure what FILE changes in the tools, as a pull request does. This file says how the tools
        were before, and has the cases, models and gate.
    own_cases
        With --base: take the cases and the programs of FILE.
    junit
        Also write the cases to this file, as JUnit does.
    summary
        Also write the result to this Markdown file.
    json
        Print the verdicts alone, as JSON. What else is said goes to standard error.
    max_cost
        Stop before the requests of a model cost more than this, by its price in the file.
    """
    from .testing import test
    from .verdict import print_verdicts

    if own_cases and base is None:
        raise SgdxError("--own-cases: expected --base beside it")
    with redirect_stdout(sys.stderr) if json else nullcontext():
        status, verdicts = test(file, base, limit, junit, summary, max_cost, own_cases)
    if json:
        print_verdicts(verdicts, True)
    return status


@tools.command
def demo(*, skills: bool = False, output: Path | None = None) -> None:
    """Score a program on eight sample tools, and repair words.

    The program reads descriptions badly on purpose. The demo shows what the rewording cost, and
    repairs the words that caused it.

    Parameters
    ----------
    skills
        Instead, write five sample skills into --output, with cases, other words and sgdx.yaml.
    output
        Also keep the tools, predictions and scores in this new folder.
    """
    from .demo import demo, write_skills

    if not skills:
        demo(output)
    elif output is None:
        raise SgdxError("demo: found --skills, expected --output beside it")
    else:
        write_skills(output)
