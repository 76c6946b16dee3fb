"""Is the right tool still found under other words? The rank of each case's tool among all tools.

Clients with many tools load a tool only when a search by words finds it ("deferred tools"). What a
user says is the query, and a tool's document its name, its description and those of its parameters,
in the words of the variant. No model answers, so that all cases take seconds.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from sgdx_dataset import SgdxError
from sgdx_dataset.io.errors import one_of
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.progress import lines_of_progress
from sgdx_dataset.io.secrets import split_command, take_out
from sgdx_eval.tasks.tools import DEPTHS, RANK, SEARCH_METRICS
from sgdx_llm.asking import FIRST_RETRIES
from sgdx_llm.program import public_name
from sgdx_llm.providers import OPENAI, base_url, host_of
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.units import Scores
from sgdx_metric.variants import ORIGINAL

from .data import Case, Project, Tool, digest, last_said
from .renaming import WordedTools, worded_tools
from .scoring import items_of, signature_line

# Of requests for embeddings: how long each may take, and how many texts it has, whose embeddings
# fit into an answer.
_SECONDS, _AT_ONCE = 120, 32
# Runs of characters of scripts that put no blanks between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f]+"
)
# What gives each query a score for each document, more being better [queries, documents].
Ranker = Callable[[Sequence[str], Sequence[str]], Floats]


class Searched(NamedTuple):
    """Where the right tools stand."""

    # What a scores.json holds, and the scores of single cases.
    result: Result
    items: Scores


def search(project: Project, ranker: Ranker, name: str) -> Searched:
    """Rank all tools for each case that expects a call, under every variant.

    Args:
        project: Tools, cases and variants.
        ranker: Scores documents for queries; `name` is what the signature calls it.

    Returns:
        A result whose metrics are ``recall@1``, ``@3``, ``@5`` and ``@10``, the share of a case's
        tools among the first 1, 3, 5 or 10 of all, and ``reciprocal_rank``, the mean of 1 / rank.
        Its counts have ``tools``, for each tool and variant the mean rank under the original words
        and under these; ``cases``; and how many queries and tools have no ``words``, which are not
        found. Tools that score alike share the worst rank of them, so that a tool that has no word
        in common with the query comes last.

    Raises:
        SgdxError: No case expects a call.
    """
    cases = [case for case in project.cases if case.expect]
    if not cases:
        raise SgdxError(f"{project.path}: found no case that expects a call, expected one at least")
    queries = [query(case) for case in cases]
    # The rank of each expected tool, by variant, and which case expects which tool.
    expected = [(i, call.name) for i, case in enumerate(cases) for call in case.expect or ()]
    of_case = np.array([i for i, _ in expected])
    worded = worded_tools(project)
    # [variants, expected tools]
    ranks = np.stack(
        [
            _ranks(of, [query(case, said.get(case.id)) for case in cases], expected, ranker)
            for of, said in ((of, project.variants[name].said) for name, of in worded.items())
        ]
    )
    counts = np.bincount(of_case)

    def mean_of_case(values: Floats) -> Floats:
        return np.stack([np.bincount(of_case, row) / counts for row in values])

    metrics = {f"recall@{k}": mean_of_case((ranks <= k).astype(np.float64)) for k in DEPTHS}
    metrics[RANK] = mean_of_case(1 / ranks)
    scores = Scores(list(worded), items_of(cases), metrics)
    unsaid = words_of(queries).count([])
    wordless = {
        name: words_of([document(of.tool(tool)) for tool in of.shown(None)]).count([])
        for name, of in worded.items()
    }
    result = Result(
        task="search",
        signature=_signature(project, cases, name),
        figures=figures(scores, SEARCH_METRICS),
        counts={
            "tools": _by_tool(worded, [tool for _, tool in expected], ranks),
            "cases": {"all": len(cases), "dialogues": len({case.cluster for case in cases})},
            "words": {"queries_without": unsaid, "tools_without": wordless},
        },
    )
    return Searched(result, scores)


def query(case: Case, last: str | None = None) -> str:
    """All that the user has said: a last turn such as "yes, please" names no tool.

    `last` is the last turn in other words.
    """
    said, (place, _) = list[str](), last_said(case.messages)
    for i, message in enumerate(case.messages):
        content = last if last and i == place else message.get("content")
        if message.get("role") == "user" and content:
            parts = [{"text": content}] if isinstance(content, str) else content
            said += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(said)


def document(tool: Tool) -> str:
    """The words of a tool: its name, its description, and those of its parameters."""
    words = (text for e in tool.elements.values() for text in (split_name(e.name), e.description))
    return "\n".join(filter(None, words))


def split_name(name: str) -> str:
    """The words of a name: ``searchHotels_2`` is ``search Hotels 2``."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", name))


def ranker_of(text: str) -> tuple[Ranker, str]:
    """A ranker, and what signatures call it.

    It is ``bm25``, ``bm25:LANGUAGE`` for words without their endings, ``embeddings:MODEL`` or
    ``embeddings:MODEL@URL``, or else a program.
    """
    kind, _, what = text.partition(":")
    if kind == "embeddings" and what:
        model, _, url = what.partition("@http")
        return embeddings(model, f"http{url}" if url else None), model
    if kind != "bm25":
        split_command(text, "ranker")  # which says what is wrong with it
        return partial(ranked_by_program, text), f"program {public_name(text)}"
    if not what:
        return bm25, "bm25-lucene"
    algorithms = require("Stemmer", "search").algorithms()
    if what not in algorithms:
        raise SgdxError(f"ranker {text}: {one_of(what, algorithms)}")
    return partial(bm25, language=what), f"bm25-lucene-{what}"


def bm25(documents: Sequence[str], queries: Sequence[str], language: str = "") -> Floats:
    """BM25 as Lucene has it (Kamphuis et al. 2020), by the library bm25s (Lù 2024)."""
    bm25s = require("bm25s", "search")
    of_documents, of_queries = (words_of(side, language) for side in (documents, queries))
    scores = np.zeros((len(queries), len(documents)))
    if any(of_documents):  # else nothing is found
        index = bm25s.BM25(method="lucene")
        with np.errstate(invalid="ignore"):  # of a document without words
            index.index(of_documents, show_progress=False)
        for row, words in zip(scores, of_queries):
            if words:
                row[:] = index.get_scores(words)
    return scores


def words_of(texts: Sequence[str], language: str = "") -> list[list[str]]:
    """The words of texts that are looked for: without stop words and, of a language, endings.

    Of scripts that write no blanks, such as Chinese and Japanese, these are pairs of neighbouring
    characters (as Lucene's CJK analyzer does).
    """
    bm25s = require("bm25s", "search")
    stemmer = require("Stemmer", "search").Stemmer(language) if language else None
    options = {"return_ids": False, "show_progress": False, "stemmer": stemmer}
    try:
        every = bm25s.tokenize(list(texts), stopwords=language or "en", **options)
    except ValueError:  # of a language whose stop words are not known
        every = bm25s.tokenize(list(texts), stopwords=[], **options)
    found = list[list[str]]()
    for text, words in zip(texts, every):
        of_text = list[str]()
        for word in words:
            parts = _UNSPACED.findall(word)
            of_text += filter(str.strip, _UNSPACED.split(word)) if parts else [word]
            for part in parts:
                of_text += [part[i : i + 2] for i in range(max(len(part) - 1, 1))]
        # Single characters are no words to the tokenizer.
        found.append(of_text + [part for part in _UNSPACED.findall(text) if len(part) == 1])
    return found


def ranked_by_program(line: str, documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """The order of a program, which gets a line ``{"query", "texts"}`` for each query.

    It answers each line with the places of the texts, from 0, the best first, as ``[2, 0, 1]``.
    What it leaves out is not found.
    """
    name, arguments = public_name(line), split_command(line, "ranker")
    asked = "".join(json.dumps({"query": q, "texts": list(documents)}) + "\n" for q in queries)
    try:
        with lines_of_progress(f"asking {name} for {len(queries)} orders"):
            done = subprocess.run(arguments, input=asked, capture_output=True, text=True)
    except (OSError, ValueError) as error:
        why = take_out(str(error))
        raise SgdxError(f"ranker {name}: cannot be started or read: {why}") from None
    said = take_out(done.stderr).strip().rpartition("\n")[2][:300] or "nothing"
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(queries):
        found = f"status {done.returncode} and {len(lines)} lines"
        expected = f"expected 0 and one for each of {len(queries)} queries"
        raise SgdxError(f"ranker {name}: found {found}, {expected}; it said: {said}")
    scores = np.full((len(queries), len(documents)), -np.inf)
    for i, answer in enumerate(lines):
        try:
            order = msgspec.json.decode(answer, type=list[int])
        except msgspec.DecodeError:
            order = [-1]
        if len({*order}) < len(order) or not {*order} <= {*range(len(documents))}:
            found = f"found {take_out(answer)[:100]}"
            expected = f"expected distinct numbers from 0 to {len(documents) - 1}"
            raise SgdxError(f"ranker {name}: line {i + 1}: {found}, {expected}")
        scores[i, order] = -np.arange(len(order))
    return scores


def embeddings(model: str, url: str | None) -> Ranker:
    """Cosine similarity of the embeddings of a model at a server with OpenAI's interface."""
    require("openai", "llm")
    from sgdx_llm.server import NoAnswerError, Server

    known = dict[str, list[float]]()  # what each text got, as queries are the same in all variants
    address = base_url(url, OPENAI)
    Server(address, OPENAI, _SECONDS)  # which says what is wrong with the address

    async def ask(parts: Sequence[Sequence[str]], see: Callable[[str], None]) -> None:
        server = Server(address, OPENAI, _SECONDS, why_none=_why_no_embeddings)
        for part in parts:
            see(f"{len(known)} texts so far")
            body = {"model": model, "input": [text or " " for text in part]}
            body["encoding_format"] = "float"
            try:
                answer = await server.ask(body, FIRST_RETRIES, "/embeddings")
            except NoAnswerError as error:
                raise SgdxError(str(error)) from None
            if why := _why_no_embeddings(answer):  # such as of a text that a filter stopped
                raise SgdxError(f"{model}: found {take_out(why)[:300]}, expected embeddings")
            vectors = {row["index"]: row["embedding"] for row in answer["data"]}
            if sorted(vectors) != list(range(len(part))):
                found = f"found {len(vectors)} embeddings of {len(part)} texts"
                raise SgdxError(f"{model}: {found}, expected one of each")
            known.update((text, vectors[i]) for i, text in enumerate(part))
        if len({*map(len, known.values())}) > 1:
            raise SgdxError(f"{model}: found embeddings of several lengths, expected one")

    def rank(documents: Sequence[str], queries: Sequence[str]) -> Floats:
        texts = [text for text in dict.fromkeys([*documents, *queries]) if text not in known]
        parts = [texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE)]
        with lines_of_progress(f"asking {host_of(address)} for embeddings") as see:
            asyncio.run(ask(parts, see))
        of_documents, of_queries = (
            np.array([known[text] for text in side], dtype=np.float64)
            for side in (documents, queries)
        )
        for vectors in (of_documents, of_queries):
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
        return np.asarray(of_queries @ of_documents.T)

    return rank


def _why_no_embeddings(answer: Any) -> str:
    """Why an answer has no embeddings; empty where it has."""
    try:
        for row in answer["data"]:
            vector = np.array(row["embedding"], dtype=np.float64)
            if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
                return f"an embedding that is no list of numbers: {row['embedding']!r:.100}"
            if type(row["index"]) is not int:
                return f"the index {row['index']!r:.100}"
    except (TypeError, LookupError, ValueError, OverflowError):
        return f"no data[].embedding: {' '.join(json.dumps(answer).split())}"
    return ""


def _ranks(
    worded: WordedTools, queries: Sequence[str], expected: Sequence[tuple[int, str]], ranker: Ranker
) -> Ints:
    """The rank of each expected tool for its case's query, from 1 [expected tools]."""
    ids = worded.shown(None)
    place = {tool: i for i, tool in enumerate(ids)}
    documents = [document(worded.tool(tool)) for tool in ids]
    scores = np.asarray(ranker(documents, queries), dtype=np.float64)
    names = np.array([worded.name(tool).casefold() for tool in ids])
    for row, text in zip(scores, queries):
        row[names == text.strip().casefold()] = np.inf  # what is asked for by its name
    rows, columns = (np.array(part) for part in zip(*((i, place[tool]) for i, tool in expected)))
    own = scores[rows, columns]
    # Of tools that score alike, the rank is that of the last.
    return np.asarray((scores[rows] >= own[:, None]).sum(axis=1))


def _by_tool(
    worded: Mapping[str, WordedTools], expected: Sequence[str], ranks: Ints
) -> list[dict[str, Any]]:
    """The mean rank of each tool under the original and another variant, the worst loss first."""
    rows = []
    tools = np.array(expected)
    for i, (name, of_variant) in enumerate(worded.items()):
        for tool in dict.fromkeys(expected) if i else ():
            is_tool = tools == tool
            before, after = (float(of[is_tool].mean()) for of in (ranks[0], ranks[i]))
            old, new = worded[ORIGINAL].tool(tool), of_variant.tool(tool)
            rows.append(
                {
                    "variant": name,
                    "tool": tool,
                    "cases": int(is_tool.sum()),
                    "rank": before,
                    "new_rank": after,
                    "original": {"name": old.name, "description": old.description},
                    "reworded": {"name": new.name, "description": new.description},
                }
            )
    return sorted(rows, key=lambda row: row["rank"] - row["new_rank"])


def _signature(project: Project, cases: Sequence[Case], ranker: str) -> str:
    """The line ``sgdx_tools_search|key:value|...``, with digests of all tools, cases and words."""
    parts = {
        "variants": "+".join(
            f"{name}@{variant.digest()}"
            if variant.tools or variant.version or variant.said
            else name
            for name, variant in project.variants.items()
        ),
        "tools": f"{len(project.tools)}@{digest(project.tools.values())}",
        "cases": f"{len(cases)}@{digest(cases)}",
        "ranker": ranker,
        "query": "all-user-turns",
        "ties": "worst",
    }
    return signature_line("sgdx_tools_search", parts)
