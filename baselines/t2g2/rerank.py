"""Choose the response of several generators that words most of its turn: ``responses rerank``.

The ensemble of Chen, Lin and Byrne 2023 (arXiv 2301.12568): the best response is the one that words
most of the turn's actions, as a model of entailment judges without gold; of several the likeliest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from rich.console import Console

from sgdx_dataset import CONFIGS
from sgdx_dataset.io.files import write_json
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_eval.gold import ReleaseGold
from sgdx_eval.predictions import (
    Header,
    check_data,
    check_one_system,
    oracle,
    prediction_paths,
    read_predictions,
    write_predictions,
)
from sgdx_eval.tables import format_figure, table, to_terminal
from sgdx_eval.tasks.turns import PREDICTED, read_turns, score_rows, select_turns, turns_mark
from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import dialogues_mark
from sgsacc_metric.candidates import candidates
from sgsacc_metric.claims import Claim, context_of, judge_claims
from sgsacc_metric.gold import GoldTurn, Options, judge_gold, judge_utterances
from sgsacc_metric.negatives import ValuePool
from sgsacc_metric.nli import Judge, Nli, nli_name, open_nli
from sgsacc_metric.rows import Prediction, Turn
from sgsacc_metric.scoring import utterances_by_variant

UNKNOWN = float("-inf")  # the likelihood of a response whose file has none
FIGURES = {
    f"{figure}_{variants}": f"{name}_{variants}"
    for variants in ("orig", "v1-5")
    for figure, name in (
        ("bleu", "BLEU"), ("ser", "SER"), ("sgsacc", "SGSAcc"), ("sgsacc_validated", "validated"),
    )
}  # fmt: skip


class ScoredPrediction(Prediction, frozen=True):
    """A response with its mean log-likelihood per token."""

    score: float | None = None


@dataclass(frozen=True)
class System:
    """The responses of one generator."""

    name: str  # its name in the table
    utterances: dict[str, list[str]]  # the utterance in each turn, by variant [turns]
    likelihoods: dict[str, list[float]]  # of each utterance, by variant [turns], or ``UNKNOWN``
    headers: dict[str, Header] = field(default_factory=dict)  # by variant


def fidelities(
    turns: Sequence[Turn], utterances: Sequence[str], judge: Judge, rules: str
) -> list[int]:
    """How many of its turn's actions each utterance words, without gold [turns]."""
    # An action is worded if the utterance, alone or in its context, entails any of the sentences
    # that could stand for it. An action without such sentences does not count.
    actions = [(i, action) for i, turn in enumerate(turns) for action in turn.actions]
    claims = [
        Claim(
            utterances[i],
            context_of(turns[i], action, utterances[i]),
            candidates(turns[i], action, rules),
        )
        for i, action in actions
    ]
    worded = [0] * len(turns)
    for (i, _), judgement in zip(actions, judge_claims(claims, judge), strict=True):
        worded[i] += judgement.entailed
    return worded


def choose_system(
    fidelity: Sequence[Sequence[int]], likelihoods: Sequence[Sequence[float]]
) -> tuple[list[int], int]:
    """The generator of the most faithful, then likeliest response of each turn [turns].

    Of equals it is the first; beside it is the number of turns that this decides. What is given is
    of each generator and each turn.
    """
    chosen, ties = [], 0
    for keys in zip(*(zip(*of_system) for of_system in zip(fidelity, likelihoods, strict=True))):
        chosen.append(keys.index(max(keys)))
        ties += keys.count(max(keys)) > 1
    return chosen, ties


def best_of(
    turns: Sequence[Turn],
    gold: Sequence[GoldTurn],
    utterances: Sequence[Sequence[str]],
    otherwise: Sequence[int],
    judge: Judge,
) -> list[int]:
    """The best possible choice: the first response that SGSAcc finds faithful [turns]."""
    by_number = {str(number): column for number, column in enumerate(utterances)}
    verdicts = list(judge_utterances(turns, gold, by_number, judge).values())
    return [
        next((i for i, column in enumerate(verdicts) if column[turn].faithful), otherwise[turn])
        for turn in range(len(turns))
    ]


def read_system(
    name: str, folder: Path, references: ReleaseGold, turns: list[Turn], every: list[Turn]
) -> System:
    """Read the responses of one generator in some turns, of every turn of the split."""
    utterances: dict[str, list[str]] = {}
    likelihoods: dict[str, list[float]] = {}
    headers: dict[str, Header] = {}
    variants = [*CONFIGS, *references.opened.own_variants]
    schema = PREDICTED.append(pa.field("score", pa.float64()))
    for variant, path in prediction_paths(folder, variants).items():
        read = read_predictions(path, references.split, variant, ScoredPrediction, schema)
        headers[variant] = read.header
        mark = references.marks([variant]).get(variant)
        check_data(read.header, variant, references.data(variant), mark)
        rows = [msgspec.convert(row, ScoredPrediction) for row in read.rows.to_pylist()]
        utterances |= utterances_by_variant(turns, rows, every)
        scores = {row.turn_id: UNKNOWN if row.score is None else row.score for row in rows}
        likelihoods[variant] = [scores[turn.turn_id] for turn in turns]
    check_one_system(headers)
    return System(name, utterances, likelihoods, headers)


def _figures(
    references: ReleaseGold,
    every: list[Turn],
    turns: list[Turn],
    systems: Sequence[System],
    picks: Mapping[str, Sequence[int]],
    model: Nli,
    rules: str,
) -> dict[str, dict[str, Any]]:
    """The figures of each generator, of the choice and of the best possible one, by one model."""
    judge, options = Judge(model), Options(rules=rules)
    gold = judge_gold(turns, judge, options, ValuePool.from_turns(every))
    said = {system.name: system.utterances for system in systems} | {"reranked": {}, "oracle": {}}
    for variant, chosen in picks.items():
        columns = [system.utterances[variant] for system in systems]
        best = best_of(turns, gold, columns, chosen, judge)
        for name, choice in (("reranked", chosen), ("oracle", best)):
            said[name][variant] = [columns[system][turn] for turn, system in enumerate(choice)]
    figures = {}
    for name, by_variant in said.items():
        rows = [
            Prediction(turn.turn_id, variant, utterance)
            for variant, utterances in by_variant.items()
            for turn, utterance in zip(turns, utterances, strict=True)
        ]
        result = score_rows(references, every, turns, rows, model, options, gold).result
        named = result.named()
        of_name = {key: named[key].value for key in FIGURES if key in named}
        figures[name] = {**of_name, "signature": result.signature}
    return figures


def rerank_files(
    references: ReleaseGold,
    folders: Mapping[str, Path],
    output: Path,
    *,
    models: Sequence[str],
    device: str | None,
    evaluator: str,
    dialogues: Path | None,
    chosen: Path | None,
    rules: str,
) -> None:
    """Choose by the first model, write the chosen responses, and print a table for each model."""
    every = read_turns(references, evaluator)
    ids = read_dialogue_ids(dialogues, references.split) if dialogues else ()
    turns = select_turns(every, ids, str(dialogues), chosen)
    systems = [read_system(*item, references, turns, every) for item in folders.items()]
    names, variants = [system.name for system in systems], list(systems[0].utterances)
    for system in systems:
        if list(system.utterances) != variants:
            raise ScoreError(
                f"--predictions {system.name}: found the variants {', '.join(system.utterances)}, "
                f"expected those of {names[0]}: {', '.join(variants)}"
            )
    judges = [open_nli(name, device=device) for name in models]
    facts = {
        "model": f"reranked of {', '.join(names)}",
        "nli": nli_name(judges[0]),
        "evaluator": evaluator,
        "rules": rules,
    }
    headers = {(of.name, name): header for of in systems for name, header in of.headers.items()}
    is_oracle = {"yes": True, "no": False, "unknown": None}[oracle(headers)]
    picks: dict[str, list[int]] = {}
    ties: dict[str, int] = {}
    judge = Judge(judges[0])
    for variant in variants:
        header = Header(
            task="turns",
            variant=variant,
            split=references.split,
            source=references.opened.public_name,
            data=references.data(variant),
            words=references.marks([variant]).get(variant),
            dialogues=dialogues_mark(ids) if ids else None,
            oracle=is_oracle,
            system=facts,
        )
        fidelity = [fidelities(turns, of.utterances[variant], judge, rules) for of in systems]
        likelihoods = [system.likelihoods[variant] for system in systems]
        picks[variant], ties[variant] = choose_system(fidelity, likelihoods)
        rows = [
            {
                "turn_id": turn.turn_id,
                "variant": variant,
                "utterance": systems[i].utterances[variant][number],
                "score": None if (score := likelihoods[i][number]) == UNKNOWN else score,
                "system": names[i],
                "fidelity": fidelity[i][number],
            }
            for number, (turn, i) in enumerate(zip(turns, picks[variant], strict=True))
        ]
        write_predictions(output / f"{variant}.jsonl", header, rows)
    figures = {
        nli_name(model): _figures(references, every, turns, systems, picks, model, rules)
        for model in judges
    }
    shares = {
        name: {variant: of.count(i) / len(of) for variant, of in picks.items()}
        for i, name in enumerate(names)
    }
    record: dict[str, Any] = {**facts, "split": references.split, "turns": turns_mark(turns)}
    record |= {"oracle": is_oracle, "chosen": shares, "decided_by_order": ties, "figures": figures}
    write_json(output / "rerank.json", record)
    _print(systems, record)


def _print(systems: Sequence[System], record: dict[str, Any]) -> None:
    """Print the tables of a record, and what to be wary of."""
    for model, of_model in record["figures"].items():
        keys = [key for key in FIGURES if key in next(iter(of_model.values()))]
        rows = [
            [name, *(format_figure(key, figures[key]) for key in keys)]
            for name, figures in of_model.items()
        ]
        headers = ["system", *(FIGURES[key] for key in keys)]
        to_terminal(table(f"Judged by {model}", headers, rows), Console(width=120))
    if by_order := sum(record["decided_by_order"].values()):
        responses = sum(map(len, systems[0].likelihoods.values()))
        unknown = [of.name for of in systems if any(UNKNOWN in c for c in of.likelihoods.values())]
        told = f"; no score is known of {', '.join(unknown)}" if unknown else ""
        of_all = f"{by_order} of {responses} responses"
        print(f"decided by the order of the generators alone: {of_all}{told}")
    print(f"chosen by {record['nli']}, whose own figures are biased towards its choice")
