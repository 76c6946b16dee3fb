"""The Hugging Face `evaluate` module; it only adapts, the arithmetic is in the installed package.

`evaluate.load` copies this file alone into its cache, so it imports the package by its full name.
"""

from collections.abc import Iterable
from typing import Any

import datasets
import evaluate
import msgspec

# Indented: for imports at the margin that lack, `evaluate` asks to install packages of their names.
try:
    from sgsacc_metric import Options
    from sgsacc_metric.api import score_structs
    from sgsacc_metric.nli import Nli
    from sgsacc_metric.rows import Prediction, Turn, read_prediction_rows, read_turn_rows
except ImportError as error:
    raise ImportError(f"sgsacc_metric needs {error.name}: pip install sgdx") from error

_DESCRIPTION = """\
How faithful a system's responses are to the dialogue actions they should put into words, on
Schema-Guided Dialogue (SGD) and SGD-X: slot error rate, BLEU, and semantic accuracy by entailment
(SGSAcc), under the original variant of the schemas and the others, with the sensitivity to it.
"""

_CITATION = """\
@article{chen2023schema,
  title={Schema-Guided Semantic Accuracy: Faithfulness in Task-Oriented Dialogue Response
         Generation},
  author={Chen, Jinghong and Lin, Weizhe and Byrne, Bill},
  journal={arXiv preprint arXiv:2301.12568},
  year={2023}
}
"""

_INPUTS = """
Rows are matched by turn_id; their order does not matter.

Args:
    predictions: rows of one or more schema variants, each a dict with `turn_id`, `variant` and
        `utterance`.
    references: turn rows, as `sgdx_dataset.turns` makes them, of the variant `evaluator`; rows of
        other variants are passed over.
    nli: what judges entailment: the name or folder of a checkpoint of sequence classification,
        `name@revision` too; "lexical" for a comparison of words; or a function from n pairs
        (premise, hypothesis) to an array [n, 3] of the probabilities of entailment, neutral and
        contradiction. None, the default, for BLEU and slot error rates alone.
    validate: whether SGSAcc is also computed over those turns alone on which the model of
        entailment judges the gold utterance as it should, default True.
    context: whether an utterance that does not entail a sentence alone is looked at again after
        the previous turn and the slot's description, default True.
    rules: how sentences are made of actions: "appendix-b", the paper's, or "extended".
    seed: the random seed of the tampered actions of validation, default 0.
    evaluator: the variant whose words the sentences are made of, default "original".
    split, release: names of the split and of the data (a commit), for the signature.

Returns:
    `bleu` (0 to 100), `ser`, `sgsacc`, `sgsacc_validated`, `coverage` (fractions, None without a
    model of entailment) under the original schemas, or else under the first variant that is given,
    and the whole of scores.json: `variants`, `sgdx`, `signature`, `counts`.

The card of the metric (README.md) has an example.
"""
_FLAT = ("bleu", "ser", "sgsacc", "sgsacc_validated", "coverage")


class SgsaccMetric(evaluate.Metric):  # type: ignore[misc]
    """SER, BLEU and SGSAcc of generated responses, for `evaluate.load`."""

    def _info(self) -> evaluate.MetricInfo:
        # A row travels as one line of JSON: the Arrow round trip of nested rows that `evaluate`
        # makes is slow, and its check rejects rows with keys of their own.
        line = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": line, "references": line}),
            reference_urls=["https://arxiv.org/abs/2301.12568", "https://arxiv.org/abs/2004.15006"],
        )

    def add_batch(self, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; predictions and references need not be of the same turns, nor as many."""
        left, right = _lines(read_prediction_rows(predictions)), _lines(read_turn_rows(references))
        # `evaluate` wants columns of one length; blank lines are skipped again.
        missing = len(right) - len(left)
        left += [""] * missing
        right += [""] * -missing
        super().add_batch(predictions=left, references=right, **kwargs)

    def add(self, *, prediction: Any = None, reference: Any = None, **named: Any) -> None:
        """Add one prediction and one reference, which `evaluate.combine` names in the plural."""
        self.add_batch([named.get("predictions", prediction)], [named.get("references", reference)])

    def _compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        nli: str | Nli | None = None,
        validate: bool = True,
        context: bool = True,
        rules: str = "appendix-b",
        seed: int = 0,
        evaluator: str = "original",
        split: str | None = None,
        release: str | None = None,
    ) -> dict[str, Any]:
        scores = score_structs(
            [msgspec.json.decode(line, type=Prediction) for line in predictions if line],
            [msgspec.json.decode(line, type=Turn) for line in references if line],
            split,
            release,
            evaluator,
            nli,
            Options(validate, context, rules, seed),
        ).report
        first_variant = next(iter(scores["variants"].values()))
        return {name: first_variant["#ALL_SERVICES"].get(name) for name in _FLAT} | scores


def _lines(rows: Iterable[Prediction | Turn]) -> list[str]:
    """Rows as lines of JSON."""
    return [msgspec.json.encode(row).decode() for row in rows]
