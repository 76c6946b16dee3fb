"""The training of a record on a GPU in the seconds there are: ``python -m maintenance.gpu.record``.

It learns ``--trial`` steps at each of three rates; the one that is likeliest on dev goes on while
there is time. At every evaluation the mean of the weights is written to ``--results``, in three
parts of 16 bits. The last one counts: the likelihood falls where the model is sure of its errors,
while it has ever more frames right. A training that was killed goes on from its last checkpoint
when the command is said again.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from datasets import concatenate_datasets
from safetensors.torch import load_file, save

from baselines import loop
from baselines.onepass.modeling import OnePassModel
from baselines.onepass.system import OnePassTracker
from baselines.precision import autocast, resolved
from baselines.processes import hardware, make_accelerator, quiet_transformers
from baselines.run_folder import append_log, read_json, read_log, write_json
from baselines.settings import OnePassOptions, OnePassSettings
from baselines.task import Evaluation, Provenance, Run, Task
from sgdx_dataset.io.console import Terminated
from sgdx_eval.prediction_files import versions

from .encode import DEV, dev_frames, read_batch

RATES = (2.5e-4, 5e-4, 1e-3)  # of 5e-4, 1e-3 and 2e-3 the lowest was the best on an H200
PARTS = 3  # of the weights, each below 16 MiB
MEASURE = "dev_likelihood_of_a_frame"


class Record:
    """What the trainings of a record share: the device, one model for all, batches, figures."""

    def __init__(self, encoded: Path, model: str, work: Path, results: Path) -> None:
        """Load the model to start from and the batches of dev."""
        index = read_json(encoded / "index.json")
        self.encoded, self.work, self.results = encoded, work, results
        self.index, self.files = index, [name for name, _, _ in index["batches"]]
        self.tokens = np.array([tokens for _, _, tokens in index["batches"]], np.int64)
        settings = msgspec.convert(index["settings"], OnePassSettings)
        self.accelerator = make_accelerator()
        precision = resolved(settings.precision, self.accelerator.device)
        self.settings = msgspec.structs.replace(settings, model=model, precision=precision)
        self.seen = msgspec.convert(index["seen"], Provenance)
        self.tracker = OnePassTracker.at_start(self.run(self.settings, work))
        # Every training begins with these weights.
        self.start = {n: t.clone() for n, t in self.tracker.model.state_dict().items()}
        device = self.accelerator.device
        self.dev = {
            name: [
                {n: t.to(device) for n, t in read_batch(path).items()}
                for path in sorted(encoded.glob(f"dev-{name}-*"))
            ]
            for name in DEV
        }
        self.path = results / "record.json"
        self.figures = read_json(self.path) if self.path.exists() else {}

    def note(self, **figures: Any) -> None:
        """Add figures to those that are written out."""
        self.figures |= figures
        write_json(self.path, self.figures)

    def run(self, settings: OnePassSettings, output: Path) -> Run[OnePassSettings]:
        """A run that continues from its folder's checkpoint; its batches are on disk."""
        no_rows: Any = None
        return Run(self.accelerator, settings, self.seen, no_rows, no_rows, output, resume=True)

    def train(self, settings: OnePassSettings, output: Path, stop: Callable[[], bool]) -> None:
        """Train to the last step, or to the first evaluation after which ``stop`` says so."""
        run, tracker = self.run(settings, output), self.tracker
        last = loop.last_checkpoint(run, "")
        weights = load_file(last / "model.safetensors") if last else self.start
        tracker.model.load_state_dict(weights)

        def evaluate(model: Any) -> Evaluation:
            return Evaluation(self.evaluate(model, output), stop=stop())

        def collate(examples: Any) -> dict[str, torch.Tensor]:
            return read_batch(self.encoded / self.files[int(examples[0])])

        one = msgspec.structs.replace(settings, batch_size=1)  # a whole batch is one example here
        task = Task(
            tracker.model, one, self.tokens, collate, evaluate, tracker.save, measure=MEASURE
        )
        loop.train(run, task)

    @torch.no_grad()
    def evaluate(self, model: OnePassModel, output: Path) -> float:
        """The mean likelihood of a frame of dev, of each corpus and variant equally."""
        losses = {
            name: float(np.mean([float(model(**batch).loss) for batch in batches]))
            for name, batches in self.dev.items()
        }
        score = math.exp(-float(np.mean(list(losses.values()))))
        curve = self.figures.get("curve", [])
        steps = read_log(output)[-1]["step"] if (output / "log.jsonl").exists() else 0
        curve.append({"run": output.name, "after": steps, "score": score, **losses})
        self.note(curve=curve)
        self.tracker.save(output, model, model.state_dict())  # the loop keeps only the likeliest
        self.write_weights(model)
        return score

    def write_weights(self, model: OnePassModel) -> None:
        """Write the weights in parts, and the digest of the whole."""
        weights = {n: t.half().contiguous() for n, t in model.state_dict().items()}
        whole = save(weights, {"format": "pt"})
        size = -(-len(whole) // PARTS)
        for part in range(PARTS):
            path = self.results / f"weights-{part}"
            path.write_bytes(whole[part * size : (part + 1) * size])
        self.note(weights=hashlib.sha256(whole).hexdigest())

    def with_rate(self, rate: float, steps: int, every: int) -> OnePassSettings:
        """The recipe with a rate, and with evaluations and logs that suit the time."""
        return msgspec.structs.replace(
            self.settings,
            learning_rate=rate,
            steps=steps,
            log_every=max(1, every // 4),
            save_every=every,
            evaluate_every=every,
        )

    def learn(self, seconds: float, trial: int) -> None:
        """Try the rates, go on with the best one while there is time, and choose its biases."""
        began = time.monotonic()
        if "rate" not in self.figures:
            scores = {}
            for rate in RATES:
                settings = self.with_rate(rate, 13 * trial, trial)  # as many as there may be
                self.train(settings, self.work / f"{rate:g}", lambda: True)
                scores[rate] = self.figures["curve"][-1]["score"]
            best = max(scores, key=lambda rate: scores[rate])
            (self.work / "best").symlink_to(f"{best:g}")
            self.note(rate=best, rates={f"{rate:g}": score for rate, score in scores.items()})
        output, end = self.work / "best", began + 0.9 * seconds  # a tenth is for the biases
        last = loop.last_checkpoint(self.run(self.settings, output), "")
        done = read_json(last / "state.json")["training"]["progress"]["step"] if last else 0
        timed = [line["tokens_per_second"] for line in read_log(output) if "seconds" in line]
        speed = timed[-1] / self.tokens.mean()  # steps a second
        steps = done + max(1, round(0.9 * speed * (end - time.monotonic())))
        settings = self.with_rate(self.figures["rate"], steps, trial)
        facts = {"oracle": self.seen.oracle, "versions": versions()}
        facts |= {"hardware": hardware(self.accelerator)}
        # Where the model to start from lay on the machine is nobody's business.
        shown = msgspec.structs.replace(settings, model=self.index["settings"]["model"])
        record = {"settings": shown, "seen": self.seen, "data": self.index["data"]}
        write_json(output / "run.json", {"record": record, **facts})
        self.train(settings, output, lambda: time.monotonic() > end)
        self.choose_biases(output)
        if torch.cuda.is_available():
            self.note(peak_memory=torch.cuda.max_memory_allocated())

    def choose_biases(self, output: Path) -> None:
        """Choose the biases of the last model on dev, and write them into its configuration."""
        options = OnePassOptions(batch_size=1024, token_budget=131072)
        last = OnePassTracker.load(str(output), options, self.accelerator)
        sources = (str(self.index["source"]), "many")
        dev = concatenate_datasets(
            [dev_frames(of, "original", self.settings.evaluate_frames) for of in sources]
        )
        with autocast(self.settings.precision, self.accelerator.device):
            score, biases, _ = last.dev_score(last.model, dev)
        for name, value in biases.items():
            setattr(last.model.config, name, value)
        last.save(output, last.model, last.model.state_dict())
        step = read_log(output)[-1]["step"]
        append_log(output, {"step": step, "dev_joint_goal_accuracy": score})
        self.note(dev_joint_goal_accuracy=score, **biases)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m maintenance.gpu.record", description=__doc__)
    for name in ("encoded", "model", "work", "results"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True, help="how long to train")
    parser.add_argument("--trial", type=int, required=True, help="steps at each rate")
    options = parser.parse_args()

    def end(number: int, _: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    quiet_transformers()
    record = Record(options.encoded, str(options.model), options.work, options.results)
    record.learn(options.seconds, options.trial)


if __name__ == "__main__":
    main()
