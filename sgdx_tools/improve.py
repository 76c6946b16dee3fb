"""Better words, proved: proposals are chosen on half of the cases and measured on the other half.

The words that are blamed are those that the wrong calls of the first half have to do with, as
``elements.py`` finds them. Of each tool the best proposal of that half is taken, if it is better
than the old words there. What it gains on the second half, where nothing was chosen, is the result.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import remove
from sgdx_eval.result import write_result
from sgdx_eval.tables import interval, percent
from sgdx_llm.estimate import token_counter
from sgdx_metric.statistics import judged
from sgdx_metric.variants import ORIGINAL

from .asking import ask_cases
from .data import Case, ElementId, Project, ToolWords, Variant, Words
from .elements import Outcome, changed_elements, differences
from .folder import with_variants, write_variant
from .keys import FILE
from .predictions import ANSWERS
from .report import write_report
from .rewording import Pool, distinct, new_pool
from .scoring import Scored, score_files
from .tables import short_words
from .verdict import fewest

IMPROVED = "improved"  # the variant, and its file
IMPROVE = "improve"  # the prompt


def improve(project: Project, output: Path) -> int:
    """Propose, choose, measure; the exit status is 0 where a gain is proved, else 1.

    The project's first model is asked, and its file says where proposals come from.
    """
    file = project.file
    words = file and file.keys.variants
    if file is None or not (file.keys.models and words):
        raise SgdxError(f"{project.path}: found no models and variants, expected {FILE} with both")
    asked, sending = file.options("models", 0)
    choosing, proving = halves(project.cases)
    if len({case.cluster for case in proving}) < fewest():
        raise SgdxError(
            f"{project.path}: found {len(project.cases)} cases, expected {2 * fewest()} that "
            "stand alone, of which half are for choosing"
        )

    def score(cases: Sequence[Case], variants: Iterable[Variant], step: str) -> Scored | None:
        """Ask for the calls of some cases under the original and other words; None if some lack."""
        of_step = with_variants(project, variants, cases)
        run = output / step
        for path in run.glob("*.jsonl"):  # under proposals that there are no longer
            if path.name != ANSWERS and path.stem not in of_step.variants:
                remove(path)
        files = ask_cases(of_step, asked, sending, run)
        return None if files is None else score_files(of_step, files)

    before = score(choosing, [], "before")
    if before is None:
        return 1
    blamed = blamed_elements(choosing, before)
    if not blamed:
        print("no case of the half for choosing is wrong: there is nothing to improve")
        return 1
    print("Wrong calls have most to do with the words of")
    for (tool, path), count in blamed.most_common(10):
        print(f"  {tool} {path}".rstrip() + f": {count} cases")
    asking = project
    if words.model or words.guess:  # about these tools alone
        tools = {i: project.tools[i] for i in dict.fromkeys(tool for tool, _ in blamed)}
        asking = msgspec.structs.replace(project, tools=tools)
    made = new_pool(asking, words, output, IMPROVE)
    if made is None:
        return 1
    pool = {element: part for element, part in made[0].items() if element in blamed}
    proposals = [*proposed(project, pool, words.count, made[1])]
    after = score(choosing, proposals, "choosing")
    if after is None:
        return 1
    chosen = best_words(choosing, after.outcomes, {v.name: v for v in proposals})
    if not chosen:
        why = "no proposal is better than the old words on the half for choosing"
        print(f"nothing is proved: {why}")
        return 1
    improved = Variant(IMPROVED, chosen, made[1])
    last = score(proving, [improved], "proving")
    return 1 if last is None else prove(with_variants(project, [improved], proving), last, output)


def prove(project: Project, scored: Scored, output: Path) -> int:
    """Write and print what new words gain on cases on which they were not chosen; the status."""
    write_result(scored.result, scored.items, output / "scores.json")
    write_report(project, {IMPROVED: (scored, None)}, output / "report.html")
    print(output / "report.html")
    gain = scored.result.main("right", "drop")
    value, ends = (gain.value, gain.interval) if gain else (None, None)
    of = f"of {len(project.cases)} cases that they were not chosen on"
    print(f"New words change {percent(value)} points {of}, 95 % interval {interval(ends)}:")
    for (tool, path), new in changed_elements(project, IMPROVED).items():
        print(f"  {tool} {path}".rstrip() + f": {short_words(new['reworded'])}")
    count_tokens, _ = token_counter()
    before, after = (
        sum(count_tokens(msgspec.json.encode(worded.tool(i)).decode()) for i in project.tools)
        for worded in (scored.worded[ORIGINAL], scored.worded[IMPROVED])
    )
    print(f"They add {after - before} tokens to the {before} of the tools")
    if gain is None or judged(gain.low, gain.high) != "gain":
        print("nothing is proved: chance may explain it")
        return 1
    words = write_variant(output / f"{IMPROVED}.json", project.variants[IMPROVED])
    print(f"proved: {words}")
    return 0


def halves(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The cases for choosing and those for proving: whole dialogues, of every tool half.

    Which is which depends on the cases alone.
    """
    dialogues: dict[str, list[Case]] = {}
    for case in cases:
        dialogues.setdefault(case.cluster, []).append(case)

    def order(key: str) -> tuple[list[str], bytes]:
        tools = [call.name for case in dialogues[key] for call in case.expect or ()]
        return sorted(set(tools)), hashlib.sha256(key.encode()).digest()

    ordered = sorted(dialogues, key=order)
    first, second = (
        [case for key in ordered[start::2] for case in dialogues[key]] for start in (0, 1)
    )
    return first, second


def blamed_elements(cases: Sequence[Case], scored: Scored) -> Counter[ElementId]:
    """How many of the wrong cases have to do with the words of each element."""
    counts, worded = Counter[ElementId](), scored.worded[ORIGINAL]
    for case, outcome in zip(cases, scored.outcomes[ORIGINAL]):
        if not outcome.is_right:
            found = differences(case, outcome, worded, scored.rules)
            nearest = (next(filter(None, d.elements), set[ElementId]()) for d in found)
            counts.update(set().union(*nearest))
    return Counter({e: n for e, n in counts.items() if e[1] in worded.tool(e[0]).elements})


def proposed(project: Project, pool: Pool, count: int, made_by: str) -> Iterator[Variant]:
    """The words of each proposal for what is blamed; other words stay."""
    for number in range(count):
        words = {
            element: Words(*(texts[number] if number < len(texts) else None for texts in of))
            for element, part in pool.items()
            for of in [(part.name, part.description)]
        }
        variant = distinct(project.tools, Variant.of(f"p{number + 1}", words, made_by))
        if variant.tools:
            yield variant


def best_words(
    cases: Sequence[Case],
    outcomes: Mapping[str, Sequence[Outcome]],
    proposals: Mapping[str, Variant],
) -> dict[str, ToolWords]:
    """Of each tool the proposal with the most right cases, if the old words have fewer."""
    chosen: dict[str, ToolWords] = {}
    for tool in dict.fromkeys(tool for variant in proposals.values() for tool in variant.tools):
        own = [i for i, case in enumerate(cases) if tool in {c.name for c in case.expect or ()}]
        right = {n: sum(of[i].is_right for i in own) for n, of in outcomes.items()}
        best = max(proposals, key=lambda name: right[name])
        if right[best] > right[ORIGINAL] and tool in proposals[best].tools:
            chosen[tool] = proposals[best].tools[tool]
    return chosen
