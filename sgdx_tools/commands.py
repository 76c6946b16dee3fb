"""The commands ``sgdx tools``: reword your own tools, ask a model, score the difference."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from sgdx_dataset.io.errors import SgdxError, one_of
from sgdx_dataset.options import Dialogues, SourceOptions, Split
from sgdx_eval.options import Details, Format
from sgdx_llm.options import SendingOptions

from .options import (
    AccessOptions,
    AskOptions,
    Limit,
    MaxDrop,
    Predictions,
    ProjectPath,
    TestOptions,
)

tools = App(
    name="tools",
    help="Measure what it costs when your own tools are worded differently.",
)


@tools.command
def init(
    source: str,
    /,
    access: AccessOptions = AccessOptions(),
    *,
    output: Path = Path(),
    model: str = "your-model",
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
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
    """
    from . import init as beginning

    path, count = beginning.init(source, output, model, base_url, access.variables, access.headers)
    print(path)
    cases = path.parent / "cases.jsonl"
    some = f"sgdx tools cases {path} --generate 5"
    print(f"note: tools found: {count}; now write {cases}, or begin with {some}", file=sys.stderr)
    print(f"next: sgdx tools test {path}", file=sys.stderr)


@tools.command(name="import")
def import_tools(
    sources: Sequence[str] = (),
    /,
    data: SourceOptions = SourceOptions(),
    access: AccessOptions = AccessOptions(),
    *,
    output: Path,
    only: Sequence[str] = (),
    with_headers: bool = False,
    as_tools: bool = False,
    answers: Sequence[Path] = (),
    sgd: Sequence[str] = (),
    split: Split = "test",
    dialogues: Dialogues = None,
) -> None:
    """Make a folder of tools from a file, skills, a server or a data set, known by its content.

    Parameters
    ----------
    sources
        Read a file: a list of tools as OpenAI, Anthropic, MCP, Gemini, Bedrock or LangChain have
        it, a request that has one, an OpenAPI 3 document, or cases of BFCL. Or read skills, by a
        folder or a pattern. Or ask MCP servers, by their commands or URLs.
    output
        Write tools.json, source.json and what cases and variants there are into this new folder.
    only
        Take only tools whose name, path or tag fits this pattern, such as 'get_*' or '/pets*'.
    with_headers
        Of an OpenAPI document, take headers for arguments too, which are filled and reworded.
    as_tools
        Show each skill as a tool. Otherwise a model is shown one tool that lists them.
    answers
        Read the possible answers of BFCL's cases from these files. Cases of irrelevance have none.
    sgd
        Read the calls of SGD's system under these variants: original, v1 to v5, or a NAME of
        --variant. The first is the original of the folder.
    split
        With --sgd: take this split.
    """
    if bool(sources) == bool(sgd) or (sgd and only):
        raise SgdxError("import: expected sources of tools, or --sgd without --only")
    if sgd:
        from .importing.sgd import import_sgd

        collection = import_sgd(sgd, data.source, split, data.own_variants, dialogues)
    else:
        from .importing import import_source
        from .keys import Tools

        given = Tools(
            tuple(sources),
            as_="tools" if as_tools else "",
            env=access.variables,
            headers=access.headers,
            only=tuple(only),
        )
        collection = import_source(given, answers, with_headers)
    collection.write(output)
    collection.report(output)


@tools.command
def reword(
    project: ProjectPath = Path("sgdx.yaml"),
    /,
    *,
    by: Annotated[str | None, Parameter(name="--with", metavar="WAY:WHAT")] = None,
    count: Annotated[int | None, Parameter(validator=Number(gte=1, lte=9))] = None,
    output: Path,
) -> int:
    """Put tools into other words, ordered by their distance.

    The variants are v1, v2, and so on; v1 is nearest to the original.

    Parameters
    ----------
    by
        Say where the words come from, by a key of 'variants' and what it has there, such as
        model:NAME, pool:FILE, file:FILE, tools:FILE, rivals:near, review:FILE, without:sentences,
        crowd:FILE or control. Default: what sgdx.yaml says.
    count
        Make this number of variants, 1 to 9. Default: what sgdx.yaml says, else 5.
    output
        Write the variants, and the table to review, into this folder, usually FOLDER/variants.
    """
    from contextlib import chdir

    from sgdx_dataset.io.files import run_folder

    from .keys import given_words
    from .project import load_tools
    from .rewording import new_variants, write_variants

    asked, output = load_tools(project), output.absolute()
    words = given_words(asked.file.keys.variants if asked.file else None, by, count)
    with chdir(asked.folder if by is None else Path()), run_folder(output):
        made = new_variants(asked, words, output)
        if made is not None:
            write_variants(made, output)
    return int(made is None)


@tools.command
def cases(
    project: ProjectPath = Path("sgdx.yaml"),
    /,
    *,
    traces: Annotated[Sequence[Path], Parameter(name="--from", consume_multiple=True)] = (),
    generate: Annotated[int | None, Parameter(metavar="N", validator=Number(gte=1, lte=50))] = None,
    review: Path | None = None,
) -> int:
    """Make cases of what your system did, from its logs, or have a model write some.

    The cases expect the calls that were made, and are marked as unreviewed until you have looked at
    them. The table to review is in the folder 'review' beside the cases. Nothing is sent anywhere
    but for --generate.

    Parameters
    ----------
    traces
        Add the cases of these files as JSON: requests with their responses, OpenTelemetry's spans
        of generative AI, runs of LangSmith or Langfuse, LangChain's messages, or lines for
        fine-tuning. The form is known by its content.
    generate
        Ask the first model of sgdx.yaml for N cases of each tool, and for one that is near to it
        but asks for another. What the tool's schema does not allow, and what is said twice, is
        dropped and counted.
    review
        Take the cases that are left in this table review.tsv as reviewed. The others are dropped.
    """
    from .project import load_tools
    from .traces import add_traces, review_cases

    if sum(map(bool, (traces, review, generate))) != 1:
        raise SgdxError("cases: expected one of --from, --generate and --review")
    of = load_tools(project)
    if review:
        print(f"{review_cases(of, review)} cases")
        return 0
    if generate:
        from .generate import generate_cases

        made = generate_cases(of, generate)
        if made is None:
            return 1
        written, notes = made
    else:
        written, notes = add_traces(of, traces)
    for line in notes:
        print(f"note: {line}", file=sys.stderr)
    print(*written, sep="\n")
    return 0


@tools.command
def check(
    source: str = "sgdx.yaml",
    /,
    *,
    json: bool = False,
    sarif: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    fail_on: Sequence[str] = (),
) -> int:
    """Find what contradicts itself in tools, in seconds and without a model.

    Parameters
    ----------
    source
        Read the tools of this file sgdx.yaml, of this folder, or of any source that 'sgdx tools
        import' takes: a file, skills, or a server's command or URL.
    json
        Print the findings as JSON.
    sarif
        Also write them to this file in SARIF, which code scanning reads.
    fail_on
        End with 1 if this rule has a finding, such as no_call, also where it is off otherwise. The
        option may be given several times.
    """
    from sgdx_dataset.io.files import write_bytes
    from sgdx_dataset.io.json import pretty_json

    from .check import RULES, SARIF_MARK, as_sarif, find, read_any_tools, show_check

    if unknown := [rule for rule in fail_on if rule not in RULES]:
        raise SgdxError(f"--fail-on {unknown[0]}: {one_of(unknown[0], RULES)}")
    project = read_any_tools(source)
    findings = find(project, fail_on)
    if sarif:
        write_bytes(sarif, pretty_json(as_sarif(project, findings), 1), mark=SARIF_MARK)
    if json:
        print(pretty_json([finding._asdict() for finding in findings], 1).decode(), end="")
    else:
        show_check(project, findings)
    return int(any(finding.rule in fail_on for finding in findings))


@tools.command
def run(
    project: ProjectPath,
    /,
    asked: AskOptions = AskOptions(),
    sending: SendingOptions = SendingOptions(),
    *,
    output: Path | None = None,
    limit: Limit = None,
    estimate: bool = False,
) -> int:
    """Ask a server or a program for the calls of every case.

    Every case is asked under every variant.

    Parameters
    ----------
    output
        Write VARIANT.jsonl for every variant into this folder. To continue a run, give the same
        folder.
    estimate
        Only count the requests and their tokens. Nothing is sent.
    """
    from .asking import ask_cases, show_estimate
    from .project import load

    if (output is None) != estimate:
        raise SgdxError("run: expected one of --output and --estimate")
    of = load(project, limit)
    if output is not None:
        return int(ask_cases(of, asked, sending, output) is None)
    show_estimate(of, asked)
    return 0


@tools.command
def score(
    project: ProjectPath = Path("sgdx.yaml"),
    /,
    *,
    predictions: Predictions = (),
    limit: Limit = None,
    output: Path | None = None,
    explain: Details = False,
    json: bool = False,
    max_drop: MaxDrop = None,
    format: Format = "text",
) -> int:
    """Score the calls under every variant against the original one.

    Parameters
    ----------
    output
        Also write the scores to this JSON file.
    json
        Print the verdict alone, as JSON.
    """
    from sgdx_eval.result import write_result
    from sgdx_eval.tables import terminal

    from .tables import print_scores
    from .testing import scored_runs
    from .verdict import print_verdicts

    verdicts = {}
    of, runs = scored_runs(project, predictions, limit, max_drop)
    if output is not None and len(runs) > 1:
        raise SgdxError(f"--output: found {len(runs)} models, expected --predictions of one")
    for name, (scored, verdict) in runs.items():
        if output is not None:
            write_result(scored.result, scored.items, output)
        if lacking := [variant for variant in of.variants if variant not in scored.outcomes]:
            print(f"note: found no predictions for {', '.join(lacking)}", file=sys.stderr)
        if not json:
            if len(runs) > 1:
                print(f"% {name}" if format == "latex" else name)
            print_scores(scored, explain, terminal(format))
        if verdict:
            verdicts[name if len(runs) > 1 else ""] = verdict
    return print_verdicts(verdicts, json)


@tools.command
def search(
    project: ProjectPath = Path("sgdx.yaml"),
    /,
    *,
    ranker: str | None = None,
    limit: Limit = None,
    output: Path | None = None,
    explain: Details = False,
    json: bool = False,
    max_drop: MaxDrop = None,
) -> int:
    """Is the right tool still found by its words? No model is asked.

    Clients with many tools load only those that a search finds. For each case and variant, all
    tools are ranked for what the user has said so far. One whose exact name that is, is first. The
    loss that --max-drop judges is that in recall@5, the share of cases whose tool is among the
    first five.

    Parameters
    ----------
    ranker
        Rank by 'bm25', by 'bm25:german' or another language's words without their endings, by
        'embeddings:MODEL' of OpenAI or 'embeddings:MODEL@http://localhost:11434/v1' (the key is
        read from $OPENAI_API_KEY), or by a program such as "python mine.py". It gets lines with a
        query and texts, and writes a line for each with the places of the texts, from 0, the best
        first. Default: what sgdx.yaml says, else bm25.
    output
        Also write the ranks of all cases to this JSON file.
    json
        Print the verdicts alone, as JSON.
    """
    from sgdx_eval.result import write_result
    from sgdx_eval.tables import terminal

    from . import search as searching
    from .project import load
    from .tables import print_search
    from .verdict import judge_search, print_verdicts

    of = load(project, limit)
    known = of.file.keys.ranker if of.file else "bm25"
    searched = searching.search(of, *searching.ranker_of(ranker or known))
    if output is not None:
        write_result(searched.result, searched.items, output)
    if not json:
        print_search(searched, explain, terminal())
    return print_verdicts(judge_search(searched.result, of.gate, max_drop), json)


@tools.command
def explain(
    project: ProjectPath,
    case: str,
    /,
    *,
    predictions: Annotated[Predictions, Parameter(consume_multiple=False)] = (),
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
    from .tables import explained
    from .testing import scored_runs

    of, runs = scored_runs(project, predictions, only=case)
    for name, (scored, _) in runs.items():
        if len(runs) > 1:
            print(name)
        print(*explained(of, scored, case, variant), sep="\n")


@tools.command
def report(
    project: ProjectPath = Path("sgdx.yaml"),
    /,
    *,
    predictions: Predictions = (),
    limit: Limit = None,
    max_drop: MaxDrop = None,
    output: Path,
) -> None:
    """Write a page to look through: every case under every variant, with its calls.

    Parameters
    ----------
    output
        Write this file, such as report.html. It needs no other file.
    """
    from .report import write_report
    from .testing import scored_runs

    write_report(*scored_runs(project, predictions, limit, max_drop), output)
    print(output)


@tools.command
def improve(
    project: ProjectPath = Path("sgdx.yaml"), /, *, limit: Limit = None, output: Path
) -> int:
    """Find better words for what goes wrong, and prove that they are better.

    New words, from where 'variants' of sgdx.yaml says, are proposed for what wrong calls of its
    first model have to do with. They are chosen on half of the cases. What they gain is measured on
    the other half. The words and each case stand in report.html. If chance does not explain the
    gain, the exit status is 0; else it is 1.

    Parameters
    ----------
    output
        Write all that was asked, and the chosen words as improved.json, into this folder. To
        continue, give the same folder.
    """
    from contextlib import chdir

    from sgdx_dataset.io.files import run_folder

    from .improve import improve
    from .project import load_tools

    of, output = load_tools(project).first(limit), output.absolute()
    with chdir(of.folder), run_folder(output):
        return improve(of, output)


@tools.command
def lock(file: Path = Path("sgdx.yaml"), /) -> None:
    """Write the words of all tools of a file, for 'sgdx tools test --locked'.

    Parameters
    ----------
    file
        Read this file. The lock is written beside it, as sgdx.lock of sgdx.yaml.
    """
    from .project import lock

    place, count = lock(file)
    print(f"{place}: {count} tools")


@tools.command
def test(
    file: Path = Path("sgdx.yaml"),
    /,
    how: TestOptions = TestOptions(),
    *,
    limit: Limit = None,
    junit: Path | None = None,
    summary: Path | None = None,
    json: bool = False,
) -> int:
    """Do all that a file asks for: import, reword, ask, score, report.

    Models are asked anew, unless an earlier test did not end. The exit status is 1 if a model
    fails, else 2 if it cannot be told of one, else 0.

    Parameters
    ----------
    file
        Read this file. It says which tools, cases, models and variants there are.
    junit
        Also write the cases to this file, as JUnit does.
    summary
        Also write the result to this Markdown file.
    json
        Print the verdicts alone, as JSON. What else is said goes to standard error.
    """
    from .summary import Outputs
    from .testing import test
    from .verdict import print_verdicts

    with redirect_stdout(sys.stderr) if json else nullcontext():
        status, verdicts = test(file, how, limit, Outputs.of(junit, summary))
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
