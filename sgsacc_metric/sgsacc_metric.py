"""The Hugging Face `evaluate` module; it only adapts, the arithmetic is in the installed package.

`evaluate.load` copies this file alone into its cache, so it imports the package by its full name.
"""

from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

import datasets
import evaluate
import msgspec

# Indented: for imports at the margin that lack, `evaluate` asks to install packages of their names.
try:
    from sgdx_metric.api import Origin, origin_of
    from sgsacc_metric import Options
    from sgsacc_metric.api import score, score_structs
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

# Those of the Python door, whose example is in them.
_INPUTS = f"""
{cleandoc(str(score.__doc__))}

`compute` takes the fields of `options` one by one: `validate`, `context`, `rules` and `seed`. Its
result has every figure of all turns by its name, such as `sgsacc_orig` and `ser_v1-5`; `figures`,
the rows that `pandas.DataFrame` takes; `signature`; and `counts`.
"""


class SgsaccMetric(evaluate.Metric):  # type: ignore[misc]
    """SER, BLEU and SGSAcc of generated responses, for `evaluate.load`."""

    _origin: Origin | None = None  # of the references that were added

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
        if right:
            origin = origin_of(references)
            self._origin = self._origin.joined(origin) if self._origin else origin
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
        origin, self._origin = self._origin or Origin(), None
        result = score_structs(
            [msgspec.json.decode(line, type=Prediction) for line in predictions if line],
            [msgspec.json.decode(line, type=Turn) for line in references if line],
            origin.stated(split, release),
            evaluator,
            nli,
            Options(validate, context, rules, seed),
        ).result
        named = {name: figure.value for name, figure in result.named().items()}
        content: dict[str, Any] = msgspec.to_builtins(result)
        return named | content


def _lines(rows: Iterable[Prediction | Turn]) -> list[str]:
    """Rows as lines of JSON."""
    return [msgspec.json.encode(row).decode() for row in rows]
