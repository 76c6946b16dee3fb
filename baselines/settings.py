"""Recipes and options: what a training and a prediction of each system can be told.

Nothing here needs torch, so that a mistake is told before torch is loaded. ``docs/settings.md`` is
made from this file by ``python -m maintenance.settings``: the comments are its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

import msgspec

from sgdx_dataset.configs import VARIANTS
from sgdx_dataset.io.errors import SgdxError, one_of
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.yaml import parse_yaml

Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
# Optimizers compute in float32, which ends at 3e38. A range also leaves out .nan and .inf.
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e30)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
Precision = Literal["auto", "fp32", "bf16"]
Acts = bool | Literal["sometimes"]
FormatName = Literal["t5dst", "d3st"]
InputName = Literal["derived", "t2g2", "schema", "naive"]
Part = Literal["intent", "combine", "copy", "cross"]
PARTS: tuple[Part, ...] = get_args(Part)


class _Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a recipe: a name that it has not is refused."""


class Augment(_Recipe, frozen=True):
    """Settings of the augmentation: reworded schemas to train on besides the original ones."""

    # ``backtrans``, ``oracle``, ``corrupt``, a folder of variants and overlays, or an overlay
    schemas: str = "backtrans"
    ratio: Fraction = 1.0  # of the train dialogues that are repeated under each reworded schema
    seed: Seed = 0  # of the choice of these dialogues and of ``corrupt``


class Also(_Recipe, frozen=True):
    """Settings of a second corpus, such as ``many``, whose own variants are trained on too."""

    source: str
    share: Annotated[float, msgspec.Meta(gt=0, le=0.99)]  # of all rows, for which they are repeated
    variants: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = ("original", *VARIANTS)


class Settings(_Recipe, frozen=True, kw_only=True):
    """The settings that the recipes of all systems have."""

    # The names of the models that a system trains, each in a folder of its own; "" for one model
    # that lies in the run folder itself.
    TASKS: ClassVar[tuple[str, ...]] = ("",)

    tracker: str  # name of the system
    model: str  # to start from: a name on the Hub, a folder, or ``tiny`` for a small random one
    augment: Augment | None = None  # None for the original schemas alone
    also: Also | None = None  # None for the corpus of ``--source`` alone
    steps: Count  # of the optimizer
    batch_size: Count  # most examples of one step, which the processes share equally
    token_budget: Count  # most tokens in a batch; a longer example makes a batch of its own
    accumulation: Count = 1  # number of batches in which a process reads its share of a step
    optimizer: Literal["adafactor", "adamw"]
    learning_rate: NotNegative  # the highest
    # After the warm-up: constant, or falling to zero along a line or half a cosine.
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: Fraction = 0.0  # of the steps, in which the learning rate rises linearly
    weight_decay: NotNegative = 0.0  # of matrices; biases and norms have none
    epsilon: Positive = 1e-8  # which AdamW adds to the root of the second moment
    # Whether Adafactor multiplies the rate by the root mean square of each matrix, as T5X does.
    multiply_by_parameter_scale: bool = False
    clip: Positive | None = None  # maximum norm of the gradient; None to not clip it
    precision: Precision = "auto"  # of the arithmetic; auto: bf16 where the device has it natively
    gradient_checkpointing: bool = False  # saves memory by computing activations twice
    seed: Seed = 0  # of everything but the augmentation
    train_dialogues: Count | None = None  # to learn from, drawn at random; None for all
    log_every: Count = 50  # steps
    save_every: Count  # steps
    evaluate_every: Count  # steps
    evaluate_frames: Count = 1000  # about so many of each corpus' dev, under the original schemas
    patience: Count | None = None  # evaluations without a better score before an early stop
    # Weight of the past in the running mean of the weights, such as 0.999: the mean then reaches
    # about 1 / (1 - 0.999) = 1000 steps back, is scored on dev, and is the model that is kept.
    ema: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    # Loggers besides ``log.jsonl``.
    log_with: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = ()
    expected: str = ""  # the result and its source, for the reader of the recipe


class EncoderSettings(Settings, frozen=True):
    """The settings that recipes of trackers built on BERT-like encoders have besides."""

    # Of attention weights in training; None for the encoder's own. It takes long on CPUs.
    attention_dropout: Fraction | None = None
    # Bits of a weight in the model that is kept, with which it is scored on dev too; None for 32.
    # It needs the extra ``packed``.
    bits: Literal[4, 5, 6, 8] | None = None
    # Of the steps, the last ones, which compute with weights of these bits and change whole ones.
    rounded: Fraction = 0.0


class EpochSettings(EncoderSettings, frozen=True, kw_only=True):
    """The settings that recipes have besides where epochs determine the number of steps."""

    epochs: Count
    # The maximum, if the epochs would take more.
    steps: Count | None = None  # type: ignore[assignment]  # the epochs determine the steps
    # Trained trackers. The training starts from the mean of their weights and those of ``model``,
    # another of the same tracker (arXiv 2109.01903 and 2203.05482).
    average: tuple[str, ...] = ()


class OnePassSettings(EpochSettings, frozen=True, kw_only=True):
    """The settings that recipes of onepass have besides; examples are frames."""

    # Whether the system's dialogue acts are read. With ``sometimes`` a third of the train dialogues
    # has none; the model then serves dialogues with acts and dialogues of text alone.
    acts: Acts = True
    # Most that are read, the user's last one included. With ``acts: sometimes`` it holds where
    # there are acts; four are read where there are none.
    utterances: Count = 2
    max_tokens: Annotated[int, msgspec.Meta(ge=32)] = 512  # a longer schema is read in parts
    questions: bool = False  # whether a slot that the system asks for has the system's words
    dropout: Fraction = 0.1  # on the encoder's outputs
    # Whether the elements of a schema stand in random order in training. This matters only for
    # encoders such as DeBERTa, which are not told where a token stands.
    shuffle: bool = False
    drop_names: Fraction = 0.0  # of the schema elements, in training
    drop_descriptions: Fraction = 0.0  # of the schema elements, in training
    # Of the carried values that a turn confirms or says again, in training, so that the model
    # learns to correct.
    drop_carried: Fraction = 0.0
    replace_carried: Fraction = 0.0  # by others
    # A folder of batches: those that it lacks are made and written, others are read. It serves
    # every training on the same data with the same tokens.
    encoded: str | None = None

    def __post_init__(self) -> None:
        if self.drop_names + self.drop_descriptions > 1:
            raise ValueError("drop_names and drop_descriptions: expected 1 or less together")
        if self.drop_carried + self.replace_carried > 1:
            raise ValueError("drop_carried and replace_carried: expected 1 or less together")


class SgdSettings(EpochSettings, frozen=True, kw_only=True):
    """The settings that recipes of sgd_baseline have besides; examples are user turns."""

    max_turn: Annotated[int, msgspec.Meta(ge=16)] = 80  # most tokens of both utterances together
    dropout: Fraction = 0.1  # on the outputs of the turn encoder
    prediction_turns: Count = 128  # most in a batch when dev is predicted


class PartSettings(_Recipe, frozen=True, kw_only=True):
    """Settings of one submodel of sgp_dst."""

    epochs: Count
    steps: Count | None = None  # most, if the epochs would take more
    warmup: Fraction  # of the steps, in which the learning rate rises
    max_tokens: Count  # of a sequence; of a longer turn the last are kept
    negatives: float = 0.0  # easy ones for each positive one, sampled in every epoch
    hard: Fraction = 1.0  # of the hard negative ones, sampled in every epoch
    system: Fraction = 1.0  # of the positive ones from system turns, which only ``combine`` has


class PartsSettings(_Recipe, frozen=True):
    """Settings of the four submodels of sgp_dst."""

    intent: PartSettings
    combine: PartSettings
    copy: PartSettings
    cross: PartSettings


class SgpSettings(EncoderSettings, frozen=True, kw_only=True):
    """The settings that recipes of sgp_dst have besides the common ones."""

    TASKS: ClassVar[tuple[str, ...]] = PARTS

    # ``evaluate_frames`` is the number of examples that a submodel is evaluated on, and about that
    # of the frames that the whole tracker is evaluated on, in whole dialogues.
    parts: PartsSettings
    # The maximum for each submodel, as in its own settings.
    steps: Count | None = None  # type: ignore[assignment]  # no maximum but the epochs'


class T5Settings(Settings, frozen=True, kw_only=True):
    """The settings that recipes of t5dst have besides the common ones."""

    format: FormatName  # how schema and dialogue become text
    # Branch, tag or commit of the model on the Hub; None for its main branch.
    revision: str | None = None
    # Maximum number of tokens of an input; longer ones lose the beginning of the history.
    max_input: Count
    max_target: Count  # of an answer
    prediction_tokens: Count = 16384  # at most, in a batch when dev is predicted


class T2G2Settings(Settings, frozen=True, kw_only=True):
    """The settings that recipes of generators have besides the common ones."""

    # What ``evaluate_frames`` counts are turns of the system here.

    input: InputName = "derived"  # what the model reads
    # Folder of hand-written templates in T2G2's format, for the input ``t2g2`` alone.
    templates: str | None = None
    # Branch, tag or commit of the model on the Hub; None for its main branch.
    revision: str | None = None
    max_input: Count  # maximum number of tokens of an input; longer ones lose their end
    max_target: Count  # of an utterance
    beams: Count = 4
    # Power of the length by which a beam's log-likelihood is divided.
    length_penalty: NotNegative = 0.6
    # Maximum number of tokens in a batch when dev is predicted, where an input counts once for
    # every beam.
    prediction_tokens: Count = 16384

    def __post_init__(self) -> None:
        if (self.templates is None) == (self.input == "t2g2"):
            raise ValueError(
                f"templates: found {self.templates!r} with the input {self.input}, expected a "
                "folder of templates with the input t2g2 and with no other"
            )


RECIPES: dict[str, type[Settings]] = {
    "onepass": OnePassSettings,
    "sgd_baseline": SgdSettings,
    "sgp_dst": SgpSettings,
    "t5dst": T5Settings,
    "t2g2": T2G2Settings,
}
AnySettings = TypeVar("AnySettings", bound=Settings)


def find_recipe(name: str) -> Path:
    """The file of a recipe: a path, or ``onepass/smoke`` for one that comes with the package."""
    system, _, recipe = name.partition("/")
    packages = Path(__file__).parent
    path, packaged = Path(name), packages / system / "config" / f"{recipe}.yaml"
    if path.exists():
        return path
    if packaged.is_file():
        return packaged
    recipes = sorted(packages.glob("*/config/*.yaml"))
    names = [f"{file.parents[1].name}/{file.stem}" for file in recipes]
    raise SgdxError(f"{path}: found no YAML file of yours and no recipe, {one_of(name, names)}")


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Any:
    """A recipe of its system's own type, with changes such as ``augment.ratio=0.5``."""
    recipe = parse_yaml(read_file(path), dict[str, Any], str(path))
    for change in changes:
        key, equals, value = change.partition("=")
        *outer, name = key.split(".")
        inside = recipe
        for part in outer:
            inside[part] = inner = inside.get(part) or {}
            if not isinstance(inner, dict):
                raise SgdxError(f"--set {change}: {part} is {inner!r}, expected settings in it")
            inside = inner
        if not equals:
            raise SgdxError(f"--set {change}: expected KEY=VALUE, as in learning_rate=1e-4")
        inside[name] = parse_yaml(value.encode(), Any, f"--set {change}")
    tracker = recipe.get("tracker")
    chosen = [change for change in changes if change.startswith("tracker=")]
    where = f"--set {chosen[-1]}" if chosen else str(path)
    if not isinstance(tracker, str):
        raise SgdxError(f"{where}: tracker is {tracker!r}, expected one of {', '.join(RECIPES)}")
    kind = RECIPES.get(tracker)
    if kind is None:  # a system of an installed package
        from .system import get_trainable

        try:
            kind = get_trainable(tracker).SETTINGS
        except SgdxError as error:
            raise SgdxError(f"{where}: {error}") from None
    try:
        # Not strict, because YAML 1.1 reads 1e-4 as a text.
        return msgspec.convert(recipe, kind, strict=False)
    except msgspec.ValidationError as error:
        key, fault = _explained(kind, recipe, str(error))
        given = [change for change in changes if _is_about(change.partition("=")[0], key)]
        where = f"--set {given[-1]}" if given else str(path)
        raise SgdxError(f"{where}: {fault}") from None


def _is_about(changed: str, key: str) -> bool:
    """Whether a change of one key can be the fault of another, which may be around or in it."""
    return f"{changed}.".startswith(f"{key}.") or f"{key}.".startswith(f"{changed}.")


def _explained(kind: Any, recipe: Any, message: str) -> tuple[str, str]:
    """The key that a message of msgspec is about, and what is wrong there and would be right."""
    fault, _, place = message.partition(" - at `$")
    names = [name for name in place.strip("`").partition("[")[0].split(".") if name]
    for name in names:
        recipe = recipe.get(name) if isinstance(recipe, dict) else None
        hint = get_type_hints(kind).get(name, kind)
        kinds = (hint, *get_args(hint))
        kind = next((each for each in kinds if hasattr(each, "__struct_fields__")), hint)
    key = ".".join(names)
    if "unknown field" in fault:
        name = fault.split("`")[1]
        known = kind.__struct_fields__
        whole = ".".join([*names, name])
        return whole, f"{whole}: no such setting, {one_of(name, known)}"
    if "missing required field" in fault:
        fields = msgspec.structs.fields(kind)
        lacking = [field.name for field in fields if field.required and field.name not in recipe]
        return key, f"{key or 'the recipe'} lacks {', '.join(lacking)}"
    if "Invalid enum value" in fault:
        values = [each for part in (kind, *get_args(kind)) for each in get_args(part)]
        texts = list(dict.fromkeys(value for value in values if isinstance(value, str)))
        texts += ["true", "false"] if bool in (*values, *get_args(kind)) else []
        return key, f"{key}: {fault.lower()}, expected one of {', '.join(texts)}"
    return key, f"{key}: {fault}" if key else fault


class PredictionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that a system adds to ``predict`` and ``evaluate``; each field is an option."""


def _help(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


BatchSize = Annotated[Count, _help("Set the maximum number of inputs in a batch.")]
TokenBudget = Annotated[
    Count, _help("Set the maximum number of tokens in a batch, including padding.")
]
ChunkSize = Annotated[
    Count,
    _help(
        "Save the results of this number of inputs, or dialogues, together. A killed prediction "
        "continues from there."
    ),
]


class BatchOptions(PredictionOptions, frozen=True, kw_only=True):
    """Options of every trained system; they change memory and speed, not what is predicted."""

    batch_size: BatchSize
    token_budget: TokenBudget
    chunk_size: ChunkSize


class OnePassOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with onepass; batches consist of frames, chunks of dialogues."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 4096
    chunk_size: ChunkSize = 192
    acts: Annotated[
        bool,
        _help(
            "Say whether the model reads the system's dialogue acts. false needs a model that was "
            "sometimes trained without them (acts: sometimes)."
        ),
    ] = True


class SgdOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with sgd_baseline; batches and chunks consist of turns."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 8192
    chunk_size: ChunkSize = 256  # a kill on CPUs costs seconds
    cache: Annotated[
        str | None,
        _help("Keep schema embeddings in this folder. Default: a folder in the Hugging Face home."),
    ] = None


class SgpOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with sgp_dst; batches consist of sequences, chunks of dialogues."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 4096  # larger batches hold more padding than they save time
    chunk_size: ChunkSize = 96  # a kill on CPUs costs about a minute


class T5Options(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with t5dst; batches and chunks consist of inputs."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 256  # a kill on CPUs costs about a minute
    shuffle: Annotated[
        int | None,
        _help(
            "Shuffle the elements of schemas with this random seed, independently for each frame "
            "and variant. Default: the order of the schema."
        ),
    ] = None
    max_input: Annotated[
        Count | None,
        _help("Set the maximum number of tokens of an input. Default: as in training."),
    ] = None


class T2G2Options(BatchOptions, frozen=True, kw_only=True):
    """The options of generation; batches and chunks consist of inputs."""

    batch_size: BatchSize = 256
    token_budget: TokenBudget = 16384
    chunk_size: ChunkSize = 256
    templates: Annotated[
        str | None,
        _help(
            "Read templates from this folder, for a model that was trained with the input t2g2. It "
            "has <Service>.tsv files in T2G2's format."
        ),
    ] = None
    beams: Annotated[
        Count | None, _help("Search this number of beams. Default: as in training.")
    ] = None
    length_penalty: Annotated[
        NotNegative | None,
        _help(
            "Divide a beam's log-likelihood by this power of its length. Default: as in training."
        ),
    ] = None


OPTIONS: dict[str, type[PredictionOptions]] = {
    "onepass": OnePassOptions,
    "sgd_baseline": SgdOptions,
    "sgp_dst": SgpOptions,
    "t5dst": T5Options,
    "t2g2": T2G2Options,
}
