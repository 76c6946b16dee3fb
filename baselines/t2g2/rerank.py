"""Choose the response of several generators that words most of its turn: ``responses rerank``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from sgdx_dataset import CONFIGS
from sgdx_dataset.io.files import write_json
from sgdx_dataset.io.json import decode_json
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
from sgdx_eval.tasks.turns import (
    PREDICTED,
    read_turns,
    score_rows,
    select_turns,
    turns_mark,
)
from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import dialogues_mark
from sgsacc_metric.candidates import APPENDIX_B, candidates
from sgsacc_metric.claims import Claim, context_of, judge_claims
from sgsacc_metric.gold import GoldTurn, Options, judge_gold, judge_utterances
from sgsacc_metric.negatives import ValuePool
from sgsacc_metric.nli import Judge, Nli, nli_name, open_nli
from sgsacc_metric.rows import Prediction, Turn
from sgsacc_metric.scoring import utterances_by_variant

RERANKED = "reranked"
BEST_OF = "oracle"  # in the table and in rerank.json: the best possible choice
FIGURES = {
    "bleu_orig": "BLEU_orig",
    "ser_orig": "SER_orig",
    "sgsacc_orig": "SGSAcc_orig",
    "sgsacc_validated_orig": "validated_orig",
    "bleu_v1-5": "BLEU_v1-5",
    "ser_v1-5": "SER_v1-5",
    "sgsacc_v1-5": "SGSAcc_v1-5",
    "sgsacc_validated_v1-5": "validated_v1-5",
}


@dataclass(frozen=True)
class System:
    """The responses of one generator."""

    name: str  # its name in the table
    utterances: dict[str, list[str]]  # the utterance in each turn, by variant [turns]
    # The mean log-likelihood per token of each utterance, by variant [turns]; minus infinity where
    # the file has none, as of a generator without a model.
    likelihoods: dict[str, list[float]]
    # Whether the files say that its model was trained on schemas that it is judged on.
    oracle: bool = False


class _Scored(msgspec.Struct):
    """The part of a prediction row that scoring does not read."""

    turn_id: str = ""
    score: float | None = None


def fidelities(
    turns: Sequence[Turn], utterances: Sequence[str], judge: Judge, rules: str = APPENDIX_B
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
) -> list[int]:
    """The generator of the most faithful, then likeliest response of each turn [turns]."""
    order = range(len(fidelity))
    return [
        max(order, key=lambda i: (fidelity[i][turn], likelihoods[i][turn], -i))
        for turn in range(len(fidelity[0]))
    ]


def count_ties(fidelity: Sequence[Sequence[int]], likelihoods: Sequence[Sequence[float]]) -> int:
    """In how many turns several are the best, so that the order of the generators decides."""
    tied = 0
    for turn in range(len(fidelity[0])):
        keys = [(of[turn], likely[turn]) for of, likely in zip(fidelity, likelihoods, strict=True)]
        tied += keys.count(max(keys)) > 1
    return tied


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


def rerank(
    turns: Sequence[Turn], systems: Sequence[System], judge: Judge, rules: str = APPENDIX_B
) -> tuple[dict[str, list[int]], dict[str, list[int]], dict[str, int]]:
    """By variant, which generator is chosen, the fidelity of its response [turns], and the ties."""
    picks, fidelity, ties = {}, {}, {}
    for variant in systems[0].utterances:
        by_system = [
            fidelities(turns, system.utterances[variant], judge, rules) for system in systems
        ]
        likelihoods = [system.likelihoods[variant] for system in systems]
        picks[variant] = choose_system(by_system, likelihoods)
        ties[variant] = count_ties(by_system, likelihoods)
        fidelity[variant] = [by_system[index][turn] for turn, index in enumerate(picks[variant])]
    return picks, fidelity, ties


def picked(systems: Sequence[System], picks: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """The utterances of the chosen generators, by variant [turns]."""
    return {
        variant: [systems[i].utterances[variant][turn] for turn, i in enumerate(indices)]
        for variant, indices in picks.items()
    }


def read_system(
    name: str,
    folder: Path,
    references: ReleaseGold,
    turns: Sequence[Turn],
    split_turns: Sequence[Turn],
) -> System:
    """Read the responses of one generator."""
    utterances: dict[str, list[str]] = {}
    likelihoods: dict[str, list[float]] = {}
    headers: dict[str, Header] = {}
    for variant, path in prediction_paths(
        folder, [*CONFIGS, *references.opened.own_variants]
    ).items():
        predictions = read_predictions(path, references.split, variant, Prediction, PREDICTED)
        headers[variant] = predictions.header
        mark = references.marks([variant]).get(variant)
        check_data(predictions.header, variant, references.data(variant), mark)
        rows = [msgspec.convert(row, Prediction) for row in predictions.rows.to_pylist()]
        utterances |= utterances_by_variant(turns, rows, split_turns)
        scores = {
            row.turn_id: row.score
            for number, line in enumerate(path.read_bytes().split(b"\n"), 1)
            if line.strip()
            for row in [decode_json(line, _Scored, f"{path}:{number}", "a prediction row")]
        }
        turn_scores = [scores[turn.turn_id] for turn in turns]
        likelihoods[variant] = [float("-inf") if s is None else s for s in turn_scores]
    check_one_system(headers)
    return System(name, utterances, likelihoods, oracle(headers) == "yes")


def _systems(
    folders: Mapping[str, Path],
    references: ReleaseGold,
    turns: list[Turn],
    split_turns: list[Turn],
) -> list[System]:
    """All generators, which must have the same variants."""
    systems = [read_system(*item, references, turns, split_turns) for item in folders.items()]
    for system in systems[1:]:
        if list(system.utterances) != list(systems[0].utterances):
            raise ScoreError(
                f"--predictions {system.name}: found the variants {', '.join(system.utterances)}, "
                f"expected those of {systems[0].name}: {', '.join(systems[0].utterances)}"
            )
    return systems


def _chosen_rows(
    turns: Sequence[Turn],
    systems: Sequence[System],
    variant: str,
    indices: Sequence[int],
    fidelity: Sequence[int],
) -> list[dict[str, Any]]:
    """The prediction rows of the chosen responses under a variant [turns]."""
    rows = list[dict[str, Any]]()
    for number, (turn, index) in enumerate(zip(turns, indices, strict=True)):
        likelihood = systems[index].likelihoods[variant][number]
        rows.append(
            {
                "turn_id": turn.turn_id,
                "variant": variant,
                "utterance": systems[index].utterances[variant][number],
                "score": None if likelihood == float("-inf") else likelihood,
                "system": systems[index].name,
                "fidelity": fidelity[number],
            }
        )
    return rows


def _score_all(
    references: ReleaseGold,
    every: list[Turn],
    turns: list[Turn],
    systems: Sequence[System],
    picks: Mapping[str, Sequence[int]],
    model: Nli,
    options: Options,
) -> dict[str, dict[str, Any]]:
    """The figures of each generator, of the choice and of the best possible one, by one model."""
    judge = Judge(model)
    gold = judge_gold(turns, judge, options, ValuePool.from_turns(every))
    best = {
        variant: best_of(
            turns, gold, [system.utterances[variant] for system in systems], indices, judge
        )
        for variant, indices in picks.items()
    }
    utterances_of = {system.name: system.utterances for system in systems}
    utterances_of |= {RERANKED: picked(systems, picks), BEST_OF: picked(systems, best)}
    figures_of = {}
    for name, by_variant in utterances_of.items():
        rows = [
            Prediction(turn.turn_id, variant, utterance)
            for variant, utterances in by_variant.items()
            for turn, utterance in zip(turns, utterances, strict=True)
        ]
        result = score_rows(references, every, turns, rows, model, options, gold).result
        named = result.named()
        figures = {key: named[key].value for key in FIGURES if key in named}
        figures_of[name] = {**figures, "signature": result.signature}
    return figures_of


def _print(tables: Mapping[str, Mapping[str, dict[str, Any]]], console: Console) -> None:
    for model, of_model in tables.items():
        keys = [key for key in FIGURES if key in next(iter(of_model.values()))]
        rows = [
            [name, *(format_figure(key, figures[key]) for key in keys)]
            for name, figures in of_model.items()
        ]
        headers = ["system", *(FIGURES[key] for key in keys)]
        to_terminal(table(f"Judged by {model}", headers, rows), console)


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
    systems = _systems(folders, references, turns, every)
    judges = [open_nli(name, device=device) for name in models]
    scoring = Options(rules=rules)
    picks, fidelity, ties = rerank(turns, systems, Judge(judges[0]), scoring.rules)
    facts = {
        "model": f"reranked of {', '.join(system.name for system in systems)}",
        "nli": nli_name(judges[0]),
        "evaluator": evaluator,
        "rules": scoring.rules,
    }
    is_of_oracle = any(system.oracle for system in systems)
    for variant, indices in picks.items():
        header = Header(
            task="turns",
            variant=variant,
            split=references.split,
            source=references.opened.public_name,
            data=references.data(variant),
            words=references.marks([variant]).get(variant),
            dialogues=dialogues_mark(ids) if ids else None,
            oracle=is_of_oracle,
            system=facts,
        )
        rows = _chosen_rows(turns, systems, variant, indices, fidelity[variant])
        write_predictions(output / f"{variant}.jsonl", header, rows)
    tables = {
        nli_name(model): _score_all(references, every, turns, systems, picks, model, scoring)
        for model in judges
    }
    shares = {
        system.name: {v: indices.count(i) / len(indices) for v, indices in picks.items()}
        for i, system in enumerate(systems)
    }
    record: dict[str, Any] = {**facts, "split": references.split, "turns": turns_mark(turns)}
    record |= {"oracle": is_of_oracle, "chosen": shares}
    record |= {"decided_by_order": ties, "figures": tables}
    write_json(output / "rerank.json", record)
    _print(tables, Console(width=120))
    by_order, of = sum(ties.values()), len(turns) * len(ties)
    if by_order:
        unknown = [s.name for s in systems if float("-inf") in chain(*s.likelihoods.values())]
        told = f"; no score is known of {', '.join(unknown)}" if unknown else ""
        print(f"decided by the order of the generators alone: {by_order} of {of} responses{told}")
    print(f"chosen by {nli_name(judges[0])}, whose own figures are biased towards its choice")
