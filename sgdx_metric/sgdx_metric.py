"""The Hugging Face `evaluate` module; it only adapts, the arithmetic is in the files beside it.

`evaluate.load` copies this file and the ones imported here, one `from .x import` a line, into its
cache and looks no further: every file that those import has to be imported here too.
"""

# ruff: noqa: F401 - some files are imported only to be copied

import warnings
from typing import Any

import datasets
import evaluate
import msgspec
import pyarrow as pa

from .api import Origin, acts_word, chosen_dialogues, origin_of, score_tables
from .columns import column
from .errors import ScoreError
from .f1 import requested_slots
from .figures import figures
from .fuzzy import fuzzy_scores
from .result import Result
from .rows import PREDICTION, REFERENCE_ROW, Prediction, Reference, rows_table
from .scoring import HEADLINE, cautions
from .signature import Rules, Setup
from .slots import changed_slots, score_slots
from .statistics import variation
from .units import index_frames, subset_of
from .variants import fingerprint
from .version import __version__

_DESCRIPTION = """\
Joint goal accuracy with the official fuzzy match, the official scorer's other metrics, and schema
sensitivity of dialogue state trackers on Schema-Guided Dialogue (SGD) and SGD-X.
"""

_CITATION = """\
@inproceedings{lee2022sgdx,
  title={{SGD-X}: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems},
  author={Lee, Harrison and Gupta, Raghav and Rastogi, Abhinav and Cao, Yuan and Zhang, Bin and
          Wu, Yonghui},
  booktitle={Proceedings of the AAAI Conference on Artificial Intelligence},
  year={2022}
}
"""

_INPUTS = """
Rows are matched by (frame_id, variant); their order does not matter.

Args:
    predictions: rows of one or more schema variants, each a dict with `frame_id`, `variant`,
        `active_intent`, `requested_slots` [str], `slot_values` [{`slot`, `values` [str]}] and, to
        have slot tagging scored, `slots` [{`slot`, `start`, `exclusive_end`}].
    references: frame rows of the same variants: the keys of a prediction, `service`, `seen`,
        `schema_slots` [{`name`, `is_categorical`}], and `utterance` where spans are predicted.
        Other keys are skipped, but `schema`, if it is there, marks a variant of the user's own in
        the signature.
    split, release: names of the split and of the data (a commit), for the signature; the split
        `dev` is `validation`. A `Dataset` of references knows them.
    system_acts: whether the predictions used the system's dialogue acts, for the signature.
    use_fuzzy_match: whether a free-form value scores its similarity, default True; else 1 if it
        equals one of the reference's spoken variants, and 0.
    joint_acc_across_turn: whether joint accuracies are of turns, the product over a turn's frames,
        default False. Both as the official scorer's flags of these names.
    zero_mean: "0", the default, to count a frame that is wrong under every variant as sensitivity
        0, or "drop" to leave it out.
    dialogues: ids of the dialogues to score, default all; rows of other dialogues are passed over.
        Their number and a digest of their ids then stand in the signature.

Returns:
    `jga_orig`, `jga_v1-5`, `drop`, `relative_difference`, `ss_jga`, `ss_jga_nonzero`, `jga_worst`,
    `flips`, `change_orig`, `change_v1-5`, `canonical_orig`, `canonical_v1-5` of all frames, None
    where a variant that they need is not there; every other figure of all frames by its name, such
    as `jga_v3`; `figures`, the rows of metric, figure, variants, group, value, low, high, items and
    clusters, which `pandas.DataFrame` takes; `signature`; and `counts`. All are fractions.

Examples:

    >>> import evaluate
    >>> metric = evaluate.load("sgdx_metric")
    >>> state = {"active_intent": "FindHotel", "requested_slots": [],
    ...          "slot_values": [{"slot": "city", "values": ["Rome"]}]}
    >>> schema = {"service": "Hotels_1", "seen": True,
    ...           "schema_slots": [{"name": "city", "is_categorical": False}]}
    >>> frame = {"frame_id": "1_00000/0/Hotels_1", "variant": "original", **state}
    >>> result = metric.compute(predictions=[frame], references=[frame | schema])
    >>> result["jga_orig"]
    1.0
"""


class SgdxMetric(evaluate.Metric):  # type: ignore[misc]
    """The official metrics of SGD and the schema sensitivity of SGD-X, for `evaluate.load`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Begin without rows; the arguments are those of every metric of `evaluate`."""
        super().__init__(*args, **kwargs)
        self._added: list[dict[str, pa.Table]] = []  # tables of both sides
        self._origin: Origin | None = None  # of the references that were added

    def _info(self) -> evaluate.MetricInfo:
        row, gold = (datasets.Features.from_arrow_schema(s) for s in (PREDICTION, REFERENCE_ROW))
        info = evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": dict(row), "references": dict(gold)}),
            reference_urls=["https://arxiv.org/abs/2110.06800", "https://arxiv.org/abs/1909.05855"],
        )
        # `_compute` gets columns. Given above it would be refused, as rows are no plain values.
        info.format = "arrow"
        return info

    def compute(
        self, *, predictions: Any = None, references: Any = None, **options: Any
    ) -> dict[str, Any] | None:
        """Score the rows that were added, and these.

        In one process they go from hand to hand. `evaluate` would write them to a file, read them
        again and hash them, which is needed where several processes have parts of them.
        """
        if self.num_process > 1:
            rows = {"predictions": predictions, "references": references}
            computed: dict[str, Any] | None = super().compute(**rows, **options)
            return computed
        if not (predictions is None and references is None):
            self.add_batch(predictions=predictions, references=references)
        added, self._added = self._added or [_tables([], [])], []
        sides = {side: pa.concat_tables([of[side] for of in added]) for side in added[0]}
        return self._compute(
            **{side: table.to_struct_array() for side, table in sides.items()}, **options
        )

    def add_batch(self, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add rows; predictions and references need not be of the same frames, nor as many."""
        if kwargs:
            raise ValueError(f"found {', '.join(kwargs)}, expected predictions and references")
        sides = _tables(predictions, references)
        if len(sides["references"]):
            origin = origin_of(references)
            self._origin = self._origin.joined(origin) if self._origin else origin
        if self.num_process == 1:
            self._added.append(sides)
            return
        if self.writer is None:
            self.selected_feature_format = self.info.features
            self._init_writer()
        # `evaluate` wants columns of one length; what is missing is null, and left out again.
        length = max(map(len, sides.values()))
        columns = {
            name: pa.concat_arrays(
                [
                    *table.to_struct_array().chunks,
                    pa.nulls(length - len(table), pa.struct(table.schema)),
                ]
            )
            for name, table in sides.items()
        }
        self.writer.write_table(pa.table(columns))

    def add(
        self,
        *,
        prediction: Any = None,
        reference: Any = None,
        predictions: Any = None,
        references: Any = None,
    ) -> None:
        """Add one prediction and one reference.

        `evaluate.combine` calls the arguments `predictions` and `references`.
        """
        prediction = predictions if prediction is None else prediction
        reference = references if reference is None else reference
        self.add_batch(predictions=[prediction], references=[reference])

    def _compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        split: str | None = None,
        release: str | None = None,
        system_acts: bool | None = None,
        use_fuzzy_match: bool = True,
        joint_acc_across_turn: bool = False,
        zero_mean: str = "0",
        dialogues: list[str] | None = None,
    ) -> dict[str, Any]:
        rules = Rules(use_fuzzy_match, joint_acc_across_turn, zero_mean)
        acts = acts_word(system_acts)
        origin, self._origin = self._origin or Origin(), None
        setup = Setup(*origin.stated(split, release), rules, acts, made_elsewhere=True)
        predicted, true = (
            pa.Table.from_struct_array(pa.chunked_array(side).drop_null())
            for side in (predictions, references)
        )
        chosen = dialogues if dialogues is not None else chosen_dialogues(true, origin)
        result, _ = score_tables(predicted, true, setup, chosen)
        for caution in cautions(result.signature, result.counts):
            warnings.warn(caution, stacklevel=2)
        named = {name: figure.value for name, figure in result.named().items()}
        content: dict[str, Any] = msgspec.to_builtins(result)
        return dict.fromkeys(HEADLINE) | named | content


def _tables(predictions: Any, references: Any) -> dict[str, pa.Table]:
    """Rows of both sides, checked."""
    return {
        "predictions": rows_table(predictions, Prediction, "predictions"),
        "references": rows_table(references, Reference, "references"),
    }
