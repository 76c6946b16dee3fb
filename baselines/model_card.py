"""The model card of a training run, made from the run's files, and pushing the run to the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from huggingface_hub import (
    EvalResult,
    EvalResultEntry,
    ModelCard,
    ModelCardData,
    eval_result_entries_to_yaml,
)
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from sgdx_dataset import SgdxError
from sgdx_dataset.hub.benchmark import LEADERBOARDS
from sgdx_dataset.hub.upload import upload
from sgdx_dataset.io.files import write_bytes
from sgdx_eval.tables import format_figure, table, to_markdown

from .model_scores import METRIC, is_oracles, read_scores, scored_data
from .system import get_system
from .training.run_folder import read_log, read_run

# The files of a run folder that are published: the model, its code, card, record and scores.
_PUBLISHED = [
    "*.json", "*.safetensors", "*.py", "README.md", "log.jsonl", "*.model", "*.txt",
    ".eval_results/*.yaml",
]  # fmt: skip
_PROJECT = "https://github.com/YOU/sgdx"
# What only --resume needs: the networks that a generator's prefix was made by.
_NOT_PUBLISHED = ["prefix_networks.safetensors"]
# For trackers and for generators: a figure's name, its key in scores.json, and what it is.
_FIGURES = {
    "frames": {
        "JGA_orig": ("jga_orig", "joint goal accuracy under the original schemas"),
        "JGA_v1-5": ("jga_v1-5", "mean joint goal accuracy under the reworded schemas v1 to v5"),
        "SS_JGA": ("ss_jga", "schema sensitivity of joint goal accuracy; lower is better"),
        "SS_nonzero": (
            "ss_jga_nonzero",
            "the same of the frames that do not score 0 under all of v1 to v5; lower is better",
        ),
        "JGA_worst": (
            "jga_worst",
            "mean score of each frame under its worst wording, of the original and v1 to v5",
        ),
        "flips": (
            "flips",
            "share of frames that are right under one of these six wordings and wrong under "
            "another; lower is better",
        ),
    },
    "turns": {
        "BLEU_orig": ("bleu_orig", "corpus BLEU under the original schemas"),
        "BLEU_v1-5": ("bleu_v1-5", "mean BLEU under the reworded schemas v1 to v5"),
        "SER_orig": ("ser_orig", "slot error rate under the original schemas; lower is better"),
        "SER_v1-5": ("ser_v1-5", "mean slot error rate under v1 to v5; lower is better"),
        "SGSAcc_orig": ("sgsacc_orig", "share of faithful turns under the original schemas"),
        "SGSAcc_v1-5": ("sgsacc_v1-5", "mean share of faithful turns under v1 to v5"),
        "SER_worst": (
            "ser_worst",
            "SER of each turn under its worst wording, of the original and v1 to v5",
        ),
        "SER_flips": (
            "ser_flips",
            "share of turns that lack a value under one of these six wordings and none under "
            "another",
        ),
        "SGSAcc_worst": ("sgsacc_worst", "share of turns that are faithful under all six wordings"),
        "SGSAcc_flips": (
            "sgsacc_flips",
            "share of turns that are faithful under one of these six wordings and not under "
            "another",
        ),
        "SS_SGSAcc": ("ss_sgsacc", "schema sensitivity of faithfulness; lower is better"),
        "changed": (
            "changed",
            "share of turns whose text differs from that under the original schemas",
        ),
        "flips": (
            "flips",
            "share of turns whose faithfulness is not the same under all of v1 to v5",
        ),
    },
}
_TASK = {"frames": "dialogue-state-tracking", "turns": "response-generation"}
# The score on dev by which training chooses a model, a fraction in the log; its name and unit.
_DEV = {
    "frames": ("dev_joint_goal_accuracy", "joint goal accuracy", " %"),
    "turns": ("dev_bleu", "BLEU", ""),
}

_ORACLE = """**Oracle: an upper bound.** This model was trained on schema variants that the tables
below score it on. Do not compare it with models that were trained without them."""

_TOY = """**A toy.** This model has a few small layers that began with random weights, and was
trained for {steps} steps. It only shows that the code of [sgdx]({project}) works. Its scores say
nothing about the method."""

_LICENCES = {
    "apache-2.0": "Trained on the sample corpus of sgdx, which is under Apache-2.0.",
    "cc-by-sa-4.0": """Trained on SGD, which is CC BY-SA 4.0 (Rastogi et al. 2020, arXiv
1909.05855; with the variants of SGD-X: Lee et al. 2022, arXiv 2110.06800).""",
}
_BASE_LICENCE = "The licence of the pretrained model that training started from applies as well."

_TRACK = """
from baselines.use import load_tracker, track_dialogue

service = {{
    "service_name": "Cabs_9",
    "description": "Rides through town",
    "slots": [
        {{"name": "destination", "description": "Where the ride goes to"}},
        {{
            "name": "passengers",
            "description": "Number of people",
            "possible_values": ["1", "2", "3"],
        }},
    ],
    "intents": [
        {{
            "name": "OrderCab",
            "description": "Call a cab",
            "required_slots": ["destination", "passengers"],
        }},
    ],
}}
dialogue = ["I need a cab for two.", "Where to?", "To the Botanical Garden, please."]
states = track_dialogue(load_tracker({repository!r}), service, dialogue)
print(states[-1])
"""
_SAY = """
from baselines.use import load_tracker, say

service = {{
    "service_name": "Cabs_9",
    "description": "Rides through town",
    "slots": [{{"name": "destination", "description": "Where the ride goes to"}}],
    "intents": [{{"name": "OrderCab", "description": "Call a cab"}}],
}}
actions = [{{"act": "CONFIRM", "slot": "destination", "values": ["Botanical Garden"]}}]
print(say(load_tracker({repository!r}), service, actions))
"""
_INSTALL = '`pip install "sgdx[baselines] @ git+https://github.com/YOU/sgdx"`'
_USE = {
    "frames": (
        f"From a dialogue to its state, after {_INSTALL}; for an API of your own, `sgdx own-apis` "
        "says how often it is right (of the tracker that comes with sgdx, 2 of 60 times):",
        _TRACK,
    ),
    "turns": (f"From actions of the system to a response, after {_INSTALL}:", _SAY),
}
_PLAIN = {
    "frames": "With transformers alone, you get the model's own answers (texts or logits), which "
    "are not yet a state:",
    "turns": "These five lines start from the text that the model reads:",
}


def write_card(output: Path, repository: str, example: str) -> None:
    """Write the model card ``README.md`` from ``run.json``, ``log.jsonl`` and ``scores.json``."""
    # Without ``scores.json`` the card states that the model is not scored yet.
    run = read_run(output)
    try:
        rows = _rows(run)
    except SgdxError as error:
        raise SgdxError(f"{output / 'run.json'}: {error}") from None
    use, code = _USE[rows]
    settings = run["record"]["settings"]
    steps = max((line["step"] for line in read_log(output)), default=0)
    path = output / "scores.json"
    scores = read_scores(path, rows) if path.exists() else None
    if scores and run["oracle"] and not is_oracles(scores):
        raise SgdxError(
            f"{path}: found no oracle:yes in the signature, expected it, as the model was trained "
            "on schemas that it is scored on; evaluate it again"
        )
    sections = [
        f"# {_title(run)}",
        _ORACLE if run["oracle"] or (scores and is_oracles(scores)) else "",
        _TOY.format(steps=steps, project=_PROJECT) if settings["model"] == "tiny" else "",
        f"## Use\n\n{use}",
        f"```python\n{code.format(repository=repository).strip()}\n```",
        _PLAIN[rows],
        f"```python\n{example.strip()}\n```",
        "## Results\n\n" + _results(rows, scores),
        "## Training\n\n" + _training(output, run),
        f"## Licence\n\n{_LICENCES[_licence(run)]} {_BASE_LICENCE}",
    ]
    body = "\n\n".join(filter(None, sections))
    card = ModelCard(f"---\n{_metadata(run, scores).to_yaml()}\n---\n\n{body}\n")
    write_bytes(output / "README.md", str(card).encode())


def _title(run: dict[str, Any]) -> str:
    """The card's title: the tracker, its prompt format if any, and the pretrained model."""
    settings = run["record"]["settings"]
    reads = [f", {key} {settings[key]}" for key in ("format", "input") if key in settings]
    prefix = f", prefix of {settings['prefix']}" if settings.get("prefix") else ""
    oracle = ", oracle" if run["oracle"] else ""
    what = {"frames": "Dialogue state tracker", "turns": "Response generator"}[_rows(run)]
    return f"{what} {settings['tracker']}{''.join(reads)}{prefix}: {settings['model']}{oracle}"


def _rows(run: dict[str, Any]) -> str:
    """What the model of a run predicts: ``frames`` or ``turns``."""
    return get_system(run["record"]["settings"]["tracker"]).ROWS


def _metadata(run: dict[str, Any], scores: dict[str, Any] | None) -> ModelCardData:
    """The card's front matter, which the Hub's search and leaderboards read."""
    settings = run["record"]["settings"]
    model, is_prefix = settings["model"], bool(settings.get("prefix"))
    try:
        validate_repo_id(model)  # not of a folder, or the model ``tiny``
        on_hub = "/" in model and not Path(model).exists()
    except HFValidationError:
        on_hub = False
    more: dict[str, Any] = {"base_model_relation": "adapter"} if is_prefix and on_hub else {}
    tags = [_TASK[_rows(run)], "schema-guided-dialogue", "sgd", "sgd-x"]
    return ModelCardData(
        model_name=_title(run) if scores else None,  # starts a model-index, which must have results
        base_model=model if on_hub else None,
        **more,
        datasets=["sgdx"],
        language="en",
        library_name=None if is_prefix else "transformers",
        license=_licence(run),
        metrics=[METRIC[_rows(run)]],
        tags=[*tags, settings["tracker"], *(["oracle"] if run["oracle"] else [])],
        eval_results=_eval_results(run, scores) if scores else None,
    )


def _licence(run: dict[str, Any]) -> str:
    """The licence of what the model was trained on."""
    return "apache-2.0" if run["record"]["data"].get("release") == "sample" else "cc-by-sa-4.0"


def _eval_results(run: dict[str, Any], scores: dict[str, Any]) -> list[EvalResult]:
    """Entries of the Hub's model-index: each figure over all services that is defined, in %."""
    rows = _rows(run)
    data = scored_data(scores, rows)
    values = {name: (key, scores["sgdx"].get(key)) for name, (key, _) in _FIGURES[rows].items()}
    return [
        EvalResult(
            task_type=_TASK[rows],
            dataset_type="sgdx",
            dataset_name=data.name,
            dataset_split=data.split,
            dataset_revision=data.revision,
            metric_type=METRIC[rows],
            metric_name=name,
            metric_value=round(value if key.startswith("bleu") else 100 * value, 2),
            metric_args={"signature": scores["signature"]},
        )
        for name, (key, value) in values.items()
        if value is not None
    ]


def write_eval_results(output: Path, repository: str, benchmark: str) -> None:
    """Write ``.eval_results/sgdx.yaml``, the scores for the leaderboards of a dataset."""
    # Each entry says in its notes what the scores are of, as the Hub has no other place for that.
    # Without a tracker's scores on the test split there is no such file afterwards.
    try:
        validate_repo_id(benchmark)
    except HFValidationError as error:
        raise SgdxError(f"--benchmark {benchmark}: {str(error).splitlines()[0]}") from None
    run, path = read_run(output), output / ".eval_results" / "sgdx.yaml"
    rows = _rows(run)
    path.unlink(missing_ok=True)
    if rows != "frames" or not (output / "scores.json").exists():
        return
    scores = read_scores(output / "scores.json", rows)
    data = scored_data(scores, rows)
    if data.split != "test":
        return
    oracle = ["oracle: trained on v1 to v5"] if run["oracle"] or is_oracles(scores) else []
    notes = "; ".join([data.name, *oracle, scores["signature"]])
    sgdx = scores["sgdx"]
    values = {f"jga_{config}": value for config, value in sgdx.get("by_variant", {}).items()}
    values |= {name: sgdx.get(name) for name in ("jga_v1-5", "jga_worst")}
    entries = [
        EvalResultEntry(
            dataset_id=benchmark,
            task_id=name,
            value=round(100 * values[name], 2),
            source_url=f"https://huggingface.co/{repository}",
            source_name="Model card",
            notes=notes,
        )
        for name in LEADERBOARDS
        if values.get(name) is not None
    ]
    path.parent.mkdir(exist_ok=True)
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, width=100)
    write_bytes(path, text.encode())


def _results(rows: str, scores: dict[str, Any] | None) -> str:
    """The section of results: a table, in percent but for BLEU, and the scoring's signature."""
    if scores is None:
        return "Not scored yet."
    # Without a model of entailment the scores have no SGSAcc.
    figures = {name: what for name, what in _FIGURES[rows].items() if what[0] in scores["sgdx"]}
    lines = []
    counts = scores["frames"] if rows == "frames" else scores["counts"]["turns"]
    for group in ("all", "seen", "unseen"):
        values = scores["sgdx"] if group == "all" else scores["sgdx"][group]
        cells = [format_figure(key, values.get(key)) for key, _ in figures.values()]
        lines.append([group, str(counts[group]), *cells])
    legend = [f"- {name}: {meaning}." for name, (_, meaning) in figures.items()]
    bleu = "" if rows == "frames" else " BLEU goes from 0 to 100."
    data = scored_data(scores, rows)
    shown = to_markdown(table("", ["services", rows, *figures], lines))
    return (
        f"Scored on the {data.split} split of: {data.name}.\n\n{shown}\n\n"
        f"Figures are in percent.{bleu}\n\n" + "\n".join(legend) + f"\n\n`{scores['signature']}`"
    )


def _training(output: Path, run: dict[str, Any]) -> str:
    """The section on training: a list of facts, and the recipe as YAML."""
    rows = _rows(run)
    key, measure, unit = _DEV[rows]
    dev = [line for line in read_log(output) if key in line]
    best = max(dev, key=lambda line: line[key], default=None)
    provenance, data = run["record"]["seen"], run["record"]["data"]
    facts = {
        "schema variants trained on": ", ".join(provenance["train"]),
        "augmentation": "none",
        "oracle": "yes" if run["oracle"] else "no",
        "release": data["release"] or "a partial copy of SGD",
        f"train {rows}": data["train"][rows],
        f"best dev {measure}": best
        and f"{100 * best[key]:.2f}{unit} at step {best['step']}, "
        f"on {data['dev'][rows]} {rows} of `original`",
        "hardware": run.get("hardware", f"{run['record']['processes']} processes"),
        "versions": ", ".join(f"{name} {number}" for name, number in run["versions"].items()),
    }
    if augment := provenance["augment"]:
        facts["augmentation"] = (
            f"{augment['schemas']}, ratio {augment['ratio']}, seed {augment['seed']}; "
            f"{provenance['overlaps']} of its texts are in v1 to v5 and not in the original"
        )
    if extended := run["record"].get("extended"):
        facts["steps before it was made longer"] = ", then ".join(map(str, extended))
    recipe = {k: v for k, v in run["record"]["settings"].items() if v is not None}
    settings = msgspec.yaml.encode(recipe).decode()
    lines = "\n".join(f"- {name}: {fact}" for name, fact in facts.items())
    return f"{lines}\n\n```yaml\n{settings}```"


def published(output: Path, tasks: Sequence[str] = ("",)) -> list[str]:
    """Names of a run's files that are published, relative to the run folder."""
    folders = dict.fromkeys([output, *(output / task for task in tasks)])
    files = (file for folder in folders for kind in _PUBLISHED for file in folder.glob(kind))
    public = (file for file in files if file.name not in _NOT_PUBLISHED)
    return sorted(file.relative_to(output).as_posix() for file in public)


def push(output: Path, repository: str, tasks: Sequence[str] = ("",)) -> str:
    """Push a run's model to the Hub, with the access token that ``huggingface_hub`` finds."""
    files = {name: output / name for name in published(output, tasks)}
    # The record of a training is in every model that was pushed from here.
    return upload(files, repository, "model", own=_PUBLISHED, mark="run.json", message="Add model")
