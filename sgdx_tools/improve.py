"""Better words, proved: proposals are chosen on half of the cases and measured on the other half.

The words that are blamed are those that the wrong calls of the first half have to do with, as
``elements.py`` finds them. Of each tool the best proposal of that half is taken, if it is better
than the old words there. What it gains on the second half, where nothing was chosen, is the result.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_eval.files import write_scores
from sgdx_eval.tables import interval, percent
from sgdx_llm.estimate import token_counter
from sgdx_llm.options import SendingOptions
from sgdx_metric.variants import ORIGINAL

from .asking import run_plan
from .data import Case, ElementId, Rule, ToolSet, ToolWords, Variant, Words
from .elements import Outcome, differences
from .folder import read_tool_set, write_tool_set, write_variant
from .options import AskOptions, RewordOptions
from .pool import ElementPool, Pool, distinct
from .predictions import PredictionFile, drop_other_variants, read_predictions
from .renaming import WordedTools
from .rewording import new_words
from .scoring import score_files, score_variant
from .verdict import fewest

IMPROVED = "improved"  # the variant, and its file
IMPROVE = "improve"  # the prompt


class Gain(NamedTuple):
    """What new words gain on cases that they were not chosen on."""

    points: float
    ends: Sequence[float]
    cases: int
    # How many tokens the tools of a request have more, and of how many.
    tokens: int
    of_tokens: int

    @property
    def is_proved(self) -> bool:
        """Whether the gain is more than chance explains."""
        return self.ends[0] > 0


def improve(folder: Path, words: RewordOptions, asked: AskOptions, sending: SendingOptions) -> int:
    """Propose, choose, measure; the exit status is 0 where a gain is proved, else 1."""
    output, tool_set = words.output, read_tool_set(folder).first(asked.limit)
    choosing, proving = halves(tool_set.cases)
    if len({_dialogue(case) for case in proving}) < fewest():
        raise SgdxError(
            f"{folder}: found {len(tool_set.cases)} cases, expected {2 * fewest()} that "
            "stand alone, of which half are for choosing"
        )
    rules = tool_set.source.rules
    before = _ask(tool_set, choosing, [], output / "before", asked, sending)
    if before is None:
        return 1
    found, outcomes = _outcomes(tool_set, choosing, {}, before, rules)
    blamed = blamed_elements(choosing, outcomes[ORIGINAL], found[ORIGINAL], rules)
    if not blamed:
        print("no case of the half for choosing is wrong: there is nothing to improve")
        return 1
    print("Wrong calls have most to do with the words of")
    for (tool, path), count in blamed.most_common(10):
        print(f"  {tool} {path}".rstrip() + f": {count} cases")
    asking = tool_set
    if (words.by or "").startswith("model:"):  # about these tools alone
        tools = {i: tool_set.tools[i] for i in dict.fromkeys(tool for tool, _ in blamed)}
        asking = msgspec.structs.replace(tool_set, tools=tools)
    made = new_words(words, asking, asked, sending, IMPROVE)
    if made is None:
        return 1
    pool = {
        element: ElementPool((), part.description) if words.keep_names else part
        for element, part in made.pool.items()
        if element[0] in {tool for tool, _ in blamed}
    }
    proposals = {
        variant.name: variant
        for variant in proposed(tool_set, pool, blamed, words.count, made.made_by)
    }
    after = _ask(tool_set, choosing, proposals.values(), output / "choosing", asked, sending)
    if after is None:
        return 1
    _, outcomes = _outcomes(tool_set, choosing, proposals, after, rules)
    improved = best_words(choosing, outcomes, proposals)
    if not improved.tools:
        print(
            "nothing is proved: no proposal is better than the old words on the half for choosing"
        )
        return 1
    last = _ask(tool_set, proving, [improved], output / "proving", asked, sending)
    if last is None:
        return 1
    gain = _gain(tool_set, proving, improved, last, rules, output)
    points, of = percent(gain.points), f"of {gain.cases} cases that they were not chosen on"
    within = f"95 % interval {interval(gain.ends)}"
    print(f"New words of {', '.join(improved.tools)} change {points} points {of}, {within}")
    print(f"They add {gain.tokens} tokens to the {gain.of_tokens} of the tools")
    if not gain.is_proved:
        print("nothing is proved: chance may explain it")
        return 1
    print(f"proved: {write_variant(output / f'{IMPROVED}.json', improved)}")
    return 0


def halves(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The cases for choosing and those for proving: whole dialogues, of every tool half.

    Which is which depends on the cases alone.
    """
    dialogues: dict[str, list[Case]] = {}
    for case in cases:
        dialogues.setdefault(_dialogue(case), []).append(case)

    def order(key: str) -> tuple[list[str], bytes]:
        tools = [call.name for case in dialogues[key] for call in case.expect or ()]
        return sorted(set(tools)), hashlib.sha256(key.encode()).digest()

    ordered = sorted(dialogues, key=order)
    first, second = (
        [case for key in ordered[start::2] for case in dialogues[key]] for start in (0, 1)
    )
    return first, second


def _dialogue(case: Case) -> str:
    return f"d {case.dialogue}" if case.dialogue else f"c {case.id}"


def blamed_elements(
    cases: Sequence[Case], outcomes: Sequence[Outcome], worded: WordedTools, rules: Rule
) -> Counter[ElementId]:
    """How many wrong cases have to do with the words of each element."""
    counts = Counter[ElementId]()
    for case, outcome in zip(cases, outcomes):
        if not outcome.is_right:
            found = differences(case, outcome, worded, rules)
            nearest = (next(filter(None, d.elements), set[ElementId]()) for d in found)
            counts.update(set().union(*nearest))
    return Counter({e: n for e, n in counts.items() if e[1] in worded.tool(e[0]).elements})


def proposed(
    tool_set: ToolSet, pool: Pool, blamed: Collection[ElementId], count: int, made_by: str
) -> Iterator[Variant]:
    """The words of each proposal for what is blamed alone, and for the tools around it too.

    What is right at one place may show only when all is: of a tool that is not called at all, no
    argument is blamed.
    """
    for number in range(count):
        words = {
            element: Words(*(texts[number] if number < len(texts) else None for texts in of))
            for element, part in pool.items()
            for of in [(part.name, part.description)]
        }
        words = {element: new for element, new in words.items() if new != Words()}
        parts = {element: new for element, new in words.items() if element in blamed}
        for name, elements in {f"p{number + 1}": parts, f"p{number + 1}-tools": words}.items():
            variant = distinct(tool_set.tools, Variant.of(name, elements, made_by))
            if variant.tools and (elements is parts or words != parts):
                yield variant


def best_words(
    cases: Sequence[Case],
    outcomes: Mapping[str, Sequence[Outcome]],
    proposals: Mapping[str, Variant],
) -> Variant:
    """Of each tool the proposal with the most right cases, if the old words have fewer."""
    chosen: dict[str, ToolWords] = {}
    for tool in dict.fromkeys(tool for variant in proposals.values() for tool in variant.tools):
        own = [i for i, case in enumerate(cases) if tool in {c.name for c in case.expect or ()}]
        right = {n: sum(of[i].is_right for i in own) for n, of in outcomes.items()}
        best = max(proposals, key=lambda name: right[name])
        if right[best] > right[ORIGINAL] and tool in proposals[best].tools:
            chosen[tool] = proposals[best].tools[tool]
    return Variant(IMPROVED, chosen, next(iter(proposals.values())).made_by)


def _ask(
    tool_set: ToolSet,
    cases: Sequence[Case],
    variants: Iterable[Variant],
    output: Path,
    asked: AskOptions,
    sending: SendingOptions,
) -> Mapping[str, PredictionFile] | None:
    """Ask for the calls of some cases under the original and other words; None if some lack."""
    folder = output / "tools"
    shutil.rmtree(folder, ignore_errors=True)
    write_tool_set(folder, tool_set.tools.values(), cases, tool_set.source, variants)
    drop_other_variants(output / "run", read_tool_set(folder))
    if run_plan(folder, asked, sending, output / "run"):
        return None
    return read_predictions(output / "run", read_tool_set(folder))


def _outcomes(
    tool_set: ToolSet,
    cases: Sequence[Case],
    variants: Mapping[str, Variant],
    files: Mapping[str, PredictionFile],
    rules: Rule,
) -> tuple[dict[str, WordedTools], dict[str, Sequence[Outcome]]]:
    """The tools and what became of the cases, under each variant."""
    known = {ORIGINAL: Variant(ORIGINAL), **variants}
    worded = {name: WordedTools(tool_set.tools, known[name]) for name in files}
    outcomes = {n: score_variant(cases, worded[n], file, rules)[0] for n, file in files.items()}
    return worded, outcomes


def _gain(
    tool_set: ToolSet,
    cases: Sequence[Case],
    improved: Variant,
    files: Mapping[str, PredictionFile],
    rules: Rule,
    output: Path,
) -> Gain:
    proved = msgspec.structs.replace(
        tool_set,
        cases=tuple(cases),
        all_cases=tuple(cases),
        variants={ORIGINAL: Variant(ORIGINAL), IMPROVED: improved},
    )
    content, _ = score_files(proved, files, rules)
    write_scores(content, output / "scores.json")
    right = content["right"]
    count, _ = token_counter()
    tokens = [
        sum(
            count(msgspec.json.encode(msgspec.to_builtins(worded.tool(i))).decode())
            for i in tool_set.tools
        )
        for worded in (WordedTools(proved.tools, w) for w in proved.variants.values())
    ]
    ends = right["confidence"]["drop"]
    return Gain(right["drop"], ends, len(cases), tokens[1] - tokens[0], tokens[0])
