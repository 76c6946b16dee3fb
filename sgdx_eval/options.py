"""The options that commands about scores share, each said once. Nothing here is slow to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from sgdx_dataset.configs import split_name
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import EACH, SourceOptions, Split, Turns

if TYPE_CHECKING:
    from .task import Inputs

# The headings over options that not every task has.
OF_STATES = "Of states"
DEFAULT_MODEL = "FacebookAI/roberta-large-mnli"
Scores: TypeAlias = Annotated[tuple[Path, ...], Parameter(metavar="SCORES")]
Json: TypeAlias = Annotated[
    Path | None, Parameter(name="--json", help="Also write the tables to this JSON file.")
]
Details: TypeAlias = Annotated[
    bool,
    Parameter(
        name=("--explain", "--details"),
        help="Print all tables, by service and by variant, and what their words mean.",
    ),
]
Quiet: TypeAlias = Annotated[
    bool, Parameter(name="--quiet", help="Print nothing but the path of a file that is written.")
]
Format: TypeAlias = Annotated[
    Literal["text", "latex"],
    Parameter(
        name="--format",
        help="Print tables and what is said of them as text, or tables alone as LaTeX (booktabs).",
    ),
]
Evaluator: TypeAlias = Annotated[
    str,
    Parameter(
        name="--evaluator",
        metavar="VARIANT",
        help="Make the sentences that have to be entailed from the words of this variant, whatever "
        "the generator read.",
    ),
]
NoValidation: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--no-validation",
        help="Do not find out on which turns the model can be relied on.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReferenceOptions(SourceOptions):
    """What is scored against."""

    source: Annotated[str | None, Parameter(metavar="PATH")] = None
    """Read the references from this release: a directory, an archive (.zip), 'sample', 'many', or
    'download'. Default: the one that the predictions name, else $SGDX_SOURCE, else what 'sgdx
    prepare' was given last."""

    references: Annotated[Path | None, Parameter(metavar="DIR")] = None
    """Read the references from this folder instead, in which 'sgdx export frames' wrote
    VARIANT.parquet, or 'sgdx export turns' of generated turns."""

    split: Split = "test"
    """Take this split."""

    def inputs(self, **others: Any) -> Inputs:
        """The references, and what is scored against them."""
        from .task import Inputs

        return Inputs(
            split=split_name(self.split),
            source=self.source,
            references=self.references,
            own_variants=self.own_variants,
            **others,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PredictionOptions(ReferenceOptions):
    """What is scored, and what of it."""

    predictions: Annotated[tuple[str, ...], EACH, Parameter(metavar="DIR | VARIANT=PATH")]
    """Read the predictions from one folder with VARIANT.jsonl, or VARIANT/dialogues_*.json, for
    each variant, or give VARIANT=PATH of such a file or folder once for each variant."""

    dialogues: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """Take only these dialogues: a file of 'sgdx subset', a JSON list of ids, or a text file with
    one id per line. Default: those that the predictions name, else all."""

    limit: Annotated[int | None, Parameter(metavar="N", validator=Number(gte=1))] = None
    """Take only the first N of these dialogues."""

    service: tuple[str, ...] = ()
    """Take only what is of these services, by their original names. Default: all."""

    def inputs(self, **others: Any) -> Inputs:
        """The predictions, and what they are scored against."""
        if self.limit and self.dialogues:
            raise SgdxError("--limit: found --dialogues too, expected one of them")
        return super().inputs(
            predictions=self.predictions,
            dialogues=self.dialogues,
            limit=self.limit,
            services=self.service,
            **others,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Where scores are written, and what is printed of them."""

    output: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """Write the scores to this JSON file, and those of every frame or turn to items.parquet beside
    it. Default: only print them."""

    explain: Details = False

    quiet: Quiet = False

    format: Format = "text"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NliOptions:
    """How a model of entailment is asked."""

    nli: Annotated[str | None, Parameter(metavar="MODEL")] = DEFAULT_MODEL
    """Judge with this model of entailment: a folder with safetensors, a name on the Hub, which may
    end in @REVISION, or 'lexical' for a comparison of words, which needs no model."""

    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Set the precision of the model. With fewer bits, nearly equal probabilities may change their
    order."""

    device: str | None = None
    """Run the model on this device, as in cpu or cuda:1. Default: a GPU if there is one."""

    rules: Literal["appendix-b", "extended"] = "appendix-b"
    """Choose how sentences are made from actions: as in the paper's appendix B, or with more forms
    of our own."""

    no_context: bool = False
    """Judge a response only alone, and not again after the previous turn."""

    seed: int = 0
    """Set the random seed of the wrong values for validation."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TurnOptions(NliOptions):
    """What only generated turns have."""

    nli: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """Compute SGSAcc with this model of entailment: a folder with safetensors, a name on the Hub,
    which may end in @REVISION, or 'lexical' for a comparison of words, which needs no model.
    Default: none, which gives only BLEU and slot error rates."""

    tokenize: Literal["13a", "intl", "char", "none"] = "13a"
    """Count BLEU in the tokens of this tokenizer of sacreBLEU. The signature has it."""

    lowercase: bool = False
    """Count BLEU without regard to capitals. The signature says so."""

    evaluator: Evaluator = "original"

    no_validation: NoValidation = False

    turns: Turns = None

    gold: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """Read this file, which 'sgdx responses references' wrote, instead of making it again."""


@Parameter(name="*", group=OF_STATES)
@dataclass(frozen=True, kw_only=True)
class MatchOptions:
    """How values are compared."""

    no_fuzzy_match: bool = False
    """Score a free-form value 1 if it equals a reference value, else 0, and no similarity."""


@Parameter(name="*", group=OF_STATES)
@dataclass(frozen=True, kw_only=True)
class FrameOptions(MatchOptions):
    """What only states have."""

    joint_acc_across_turn: bool = False
    """Compute joint accuracies of whole turns instead of frames, as in MultiWOZ."""
