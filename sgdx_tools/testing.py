"""``sgdx tools test``: all that one file asks for, from the tools to a verdict.

The folder ``sgdx-run`` beside ``sgdx.yaml`` keeps the answers of each model in ``runs/NAME``, with
its predictions and scores, what a model that rewords said in ``words``, and ``report.html``. A run
that did not end is continued; otherwise models are asked anew.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.files import note_read, remove, run_folder
from sgdx_dataset.io.secrets import addresses_in, origin
from sgdx_eval.result import write_result
from sgdx_llm.answer_file import keep_answers

from .asking import ask_cases, check_cases
from .data import Project
from .folder import CASES, with_variants
from .importing import kind_of
from .keys import FILE, KeysFile, Model, run_of, with_defaults
from .options import TestOptions
from .predictions import ANSWERS, read_predictions
from .project import import_tools, load, load_tools, lock_of, reworded
from .report import write_report
from .rewording import control_variants
from .scoring import Scored, score_files
from .summary import Outputs, Result
from .tables import headline
from .verdict import End, Verdict, cannot_tell, judge, judge_search, power, status_of
from .versions import is_same, variant_between


def test(
    path: Path, how: TestOptions, limit: int | None, outputs: Outputs
) -> tuple[int, dict[str, Verdict]]:
    """Do all that is asked for; the status is 1 if a model fails, 2 if it cannot be told.

    Also the verdict on each model, where there is a gate. With a base, cases, models, gate and keys
    of servers are those of that file: other words are those that the tools of the first file have.
    If locked, the tools before are those of the file's lock. Whatever ends the test, its outputs
    say what became of it, and nothing that an earlier test wrote is left for one that died.
    """
    run = run_of(path)
    report = run / "report.html"
    with run_folder(run):
        outputs.check()
        try:
            file = _read_keys(path, how)
            outputs.check()  # also against what the file names
            outputs.tell("it was killed")  # which another result replaces, unless it is true
            results = _results(path, file, run, limit, how)
        except SgdxError as error:
            with contextlib.suppress(SgdxError):  # of an output that is refused, as the error says
                outputs.tell(str(error))
            remove(report)
            raise
        outputs.tell(results)
        if not any(result.scored for result in results):
            remove(report)  # of an earlier test
    if report.exists():
        print(os.path.relpath(report))
    for name, scored, verdict in results:
        if verdict:
            print(escape_controls(f"{name}: {verdict}"))
        if scored:
            print(escape_controls(f"sgdx: {name}: {headline(scored.result)}"))
    verdicts = {result.name: result.verdict for result in results if result.verdict}
    return status_of(verdicts.values()), verdicts


def _results(
    path: Path, file: KeysFile, run: Path, limit: int | None, how: TestOptions
) -> list[Result]:
    """Ask every model, and judge each that has answered everything; write the report of these."""
    own, own_cases, locked, gate = path.parent.absolute(), how.own_cases, how.locked, file.gate
    names = file.names(own if own_cases else None)
    options = [file.options("models", i) for i in range(len(names))]

    project = load_tools(file, locked)
    check_cases(project)  # before words are paid for
    is_compared = how.base is not None or locked
    made = _compared(project, file, KeysFile(path), locked) if is_compared else reworded(project)
    if not isinstance(made, Project):
        why = made or "the run did not end: the model that rewords has not answered everything"
        return [Result(name, None, cannot_tell(why)) for name in names]
    if locked and not any(v.tools or v.version for v in made.variants.values()):
        why = f"nothing has drifted since {lock_of(path)}"
        return [Result(name, None, Verdict(End.PASSED, why, loss=0.0)) for name in names]
    project = made.first(limit)
    if gate.max_drop is not None:
        print(f"note: {power(project, gate.max_drop)}", file=sys.stderr)
    results, models = _searched(project), {}
    for name, given, (asked, sending) in zip(names, file.keys.models, options):
        model, output = with_defaults(given, file.keys.asking), run / "runs" / name
        oldest = _begin_run(output, model)
        with contextlib.chdir(own if own_cases and model.command else project.folder):
            files = ask_cases(project, asked, sending, Path(os.path.relpath(output)))
        if files is None:
            verdict = cannot_tell("the run did not end: answers are missing")
            results.append(Result(name, None, verdict))
            continue
        scored = score_files(project, files)
        write_result(scored.result, scored.items, output / "scores.json")
        told = None
        if gate.max_drop is not None:
            told = judge(project, files, scored.result, gate)
            if oldest is not None:
                age = f"answers are kept for {model.keep:g} days, the oldest is of"
                told = told._replace(why=f"{told.why}; {age} {oldest:%Y-%m-%d}")
        if told and own_cases:
            why = f"{told.why}; cases and programs are those of the pull request"
            told = told._replace(why=why)
        models[name] = scored, told
        results.append(Result(name, scored, told))
    if models:
        write_report(project, models, run / "report.html")
    return results


def _compared(
    project: Project, file: KeysFile, head: KeysFile, locked: bool = False
) -> Project | str:
    """A project beside the tools of another file, or why they cannot be compared."""
    # A pull request may not ask for keys.
    kept, tools = file.keys.source(), head.keys.source()
    of_head = replace(tools, env=kept.env, headers=kept.headers)
    head.keys = replace(head.keys, tools=of_head)
    _check_variables(head, file)
    new = import_tools(head).tools
    # The addresses of servers that run already, whoever asks them: a program may only hand on to
    # one, as `npx mcp-remote https://...` does.
    before, after = (
        {address for source in of.sources() if not of.start for address in addresses_in(source)}
        for of in (kept, tools)
    )
    live = before & after
    if live and not locked and is_same(project.tools, new):
        where = ", ".join(sorted(map(origin, live)))
        why = f"both versions were asked at {where}, and are the same"
        return f"{why}; tools: start in {FILE} says how the server of each is started"
    variant, notes = variant_between(project.tools, new)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    has_controls = file.keys.variants and file.keys.variants.control
    controls = control_variants(project.tools) if has_controls else []
    return with_variants(project, [variant, *controls])


def _check_variables(head: KeysFile, base: KeysFile) -> None:
    """Refuse the file of a client that asks for a variable that the one of the base does not."""
    from .importing.clients import variables_in

    asked = list[set[str]]()
    for of in (head, base):
        with contextlib.chdir(of.path.parent):
            files = [s for s in of.keys.source().sources() if kind_of(s) == "client"]
            asked.append({name for file in files for name in variables_in(Path(file))})
    if unknown := sorted(asked[0] - asked[1]):
        found = f"a client's file asks for {unknown[0]}"
        raise SgdxError(f"{head.path}: tools: {found}, expected no other variables than the base's")


def _read_keys(path: Path, how: TestOptions) -> KeysFile:
    """What a file asks for, or its base, perhaps with the file's cases and programs.

    Servers stay those of the base, as they get keys.
    """
    file, own = KeysFile(how.base or path), KeysFile(path)
    keys, models = file.keys, [*file.keys.models]
    if how.own_cases:
        programs = [model for model in own.keys.models if model.command]
        models = [*(model for model in models if not model.command), *programs]
        keys = replace(keys, cases=str((path.parent / (own.keys.cases or CASES)).absolute()))
    if how.max_cost is not None:
        models = [m if m.command else replace(m, max_cost=how.max_cost) for m in models]
    file.keys = replace(keys, models=tuple(models))
    note_read(path)
    return file


def _searched(project: Project) -> list[Result]:
    """The verdicts on a search for the tools by words, where the gate has one."""
    if not project.gate.search:
        return []
    from .search import ranker_of, search

    ranker = project.file.keys.ranker if project.file else "bm25"
    verdicts = judge_search(search(project, *ranker_of(ranker)).result, project.gate)
    return [Result(f"search {metric}", None, verdict) for metric, verdict in verdicts.items()]


def _begin_run(folder: Path, model: Model) -> datetime | None:
    """Drop the answers that this test may not use; returns when the oldest one kept was given.

    Both sides of a verdict are asked in one run, so each test asks anew. What a run has left that
    did not end is used for a day, as its cases are asked under all variants one after the other;
    of a program nothing is, since it may have changed. ``keep`` is for models that do not change.
    """
    has_ended = (folder / "scores.json").exists()
    days = 0.0 if has_ended or model.command else 1.0
    oldest = keep_answers(folder / ANSWERS, days if model.keep is None else model.keep)
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != ANSWERS:
            remove(path)
    remove(folder / "scores.json")  # last, so that a test that is killed here begins anew again
    return None if model.keep is None else oldest


def scored_runs(
    path: Path,
    predictions: Sequence[Path] = (),
    limit: int | None = None,
    max_drop: float | None = None,
    only: str = "",
) -> tuple[Project, dict[str, tuple[Scored, Verdict | None]]]:
    """A project, and what became of its cases in some runs, by name, with a verdict for a gate.

    They are in folders of predictions, or what tests of a file have kept. Of the cases `only` one
    may be asked for.
    """
    project = load(path, limit)
    places = {place.resolve().name: place for place in predictions}
    if len(places) < len(predictions):
        raise SgdxError(f"--predictions: found {', '.join(places)}, expected names that differ")
    if not predictions and project.file:
        places = {name: run_of(path) / "runs" / name for name in project.file.names()}
    elif not predictions:
        raise SgdxError(f"{path}: found a folder, expected --predictions beside it")
    gate = project.gate if max_drop is None else replace(project.gate, max_drop=max_drop)
    files = {name: read_predictions(place, project) for name, place in places.items()}
    if chosen := tuple(case for case in project.cases if case.id == only):
        project = replace(project, cases=chosen)
    runs = {}
    for name, of_run in files.items():
        scored = score_files(project, of_run)
        has_gate = gate.max_drop is not None
        runs[name] = scored, judge(project, of_run, scored.result, gate) if has_gate else None
    return project, runs
