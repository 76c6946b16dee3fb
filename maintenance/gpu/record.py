"""The training of a record on a GPU in the seconds there are: ``python -m maintenance.gpu.record``.

``measure`` finds out whether a compiled encoder is faster and how many steps there are in a second.
``train`` learns at three rates, each in a tenth of the time; the one that is best on dev goes on.
At every evaluation the best weights so far are written to ``--results``, in three parts of 16 bits.
A training that was killed goes on from its last checkpoint when ``train`` is said again.
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

from baselines.onepass.modeling import OnePassModel
from baselines.onepass.settings import OnePassOptions, OnePassSettings
from baselines.onepass.tracker import OnePassTracker
from baselines.training import loop
from baselines.training.accelerator import hardware, make_accelerator, quiet_transformers
from baselines.training.optimizer import autocast, resolved
from baselines.training.run_folder import append_log, read_json, read_log, write_json
from baselines.training.task import Evaluation, Provenance, Run, Task
from sgdx_dataset.io.console import Terminated
from sgdx_eval.prediction_files import versions

from .encode import DEV, dev_frames, read_batch

RATES = (5e-4, 1e-3, 2e-3)  # the middle: 3e-4 for 12 frames, times the root of the ratio of batches
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
        # One model, so that it is compiled once; every training begins with these weights.
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
        with torch.compiler.set_stance("force_eager"):  # other shapes, and too few to compile for
            losses = {
                name: float(np.mean([float(model(**batch).loss) for batch in batches]))
                for name, batches in self.dev.items()
            }
        score = math.exp(-float(np.mean(list(losses.values()))))
        curve = self.figures.get("curve", [])
        steps = read_log(output)[-1]["step"] if (output / "log.jsonl").exists() else 0
        curve.append({"run": output.name, "after": steps, "score": score, **losses})
        self.note(curve=curve)
        if score >= max(line["score"] for line in curve):
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

    def measure(self, steps: int) -> None:
        """Note the steps a second of an eager and of a compiled encoder, and which is faster."""
        speeds: dict[str, float] = {}
        for mode in ("eager", "compiled"):
            if mode == "compiled":
                self.tracker.model.encoder.compile(dynamic=True)
            settings = self.with_rate(RATES[0], 2 * steps, 4 * steps)
            settings = msgspec.structs.replace(settings, log_every=steps)
            try:
                self.train(settings, self.work / mode, lambda: False)
                timed = [line for line in read_log(self.work / mode) if "seconds" in line][-1]
                speeds[mode] = steps / timed["seconds"]
                self.note(**{f"{mode}_tokens_per_second": timed["tokens_per_second"]})
            except Exception as error:  # whatever stops the compiler, the eager one is there
                self.note(**{f"{mode}_error": f"{type(error).__name__}: {error}"[:500]})
        mode = max(speeds, key=lambda name: speeds[name])
        self.note(mode=mode, steps_per_second=speeds[mode])

    def learn(self, seconds: float, measured: dict[str, Any], careful: bool) -> None:
        """Try the rates, go on with the best one while there is time, and choose its biases."""
        began, speed, trial = time.monotonic(), measured["steps_per_second"], seconds / 10
        if careful:  # the last try was killed, perhaps for want of memory
            self.settings = msgspec.structs.replace(self.settings, gradient_checkpointing=True)
            speed /= 1.5
        elif measured["mode"] == "compiled":
            self.tracker.model.encoder.compile(dynamic=True)
        every = max(2, round(speed * trial))  # steps between evaluations
        if "rate" not in self.figures:
            steps, scores = 7 * every, {}  # about so many as there will be
            for rate in RATES:
                settings = self.with_rate(rate, steps, every)
                self.train(settings, self.work / f"{rate:g}", lambda: True)
                scores[rate] = self.figures["curve"][-1]["score"]
            best = max(scores, key=lambda rate: scores[rate])
            (self.work / "best").symlink_to(f"{best:g}")
            self.note(rate=best, rates={f"{rate:g}": score for rate, score in scores.items()})
        output, end = self.work / "best", began + 0.9 * seconds  # a tenth is for the biases
        last = loop.last_checkpoint(self.run(self.settings, output), "")
        done = read_json(last / "state.json")["training"]["progress"]["step"] if last else 0
        timed = [line["tokens_per_second"] for line in read_log(output) if "seconds" in line]
        speed = timed[-1] / self.tokens.mean() if timed and not careful else speed
        steps = done + max(1, round(0.9 * speed * (end - time.monotonic())))
        settings = self.with_rate(self.figures["rate"], steps, every)
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
        """Choose the biases of the best model on dev, and write them into its configuration."""
        options = OnePassOptions(batch_size=1024, token_budget=131072)
        best = OnePassTracker.load(str(output), options, self.accelerator)
        sources = (str(self.index["source"]), "many")
        dev = concatenate_datasets(
            [dev_frames(of, "original", self.settings.evaluate_frames) for of in sources]
        )
        with autocast(self.settings.precision, self.accelerator.device):
            score, biases, _ = best.dev_score(best.model, dev)
        for name, value in biases.items():
            setattr(best.model.config, name, value)
        best.save(output, best.model, best.model.state_dict())
        step = read_log(output)[-1]["step"]
        append_log(output, {"step": step, "dev_joint_goal_accuracy": score})
        self.note(dev_joint_goal_accuracy=score, **biases)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m maintenance.gpu.record", description=__doc__)
    parser.add_argument("action", choices=("measure", "train"))
    for name in ("encoded", "model", "work", "results"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=0, help="how many to measure")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long to train")
    parser.add_argument("--measured", type=Path, help="record.json of 'measure'")
    parser.add_argument("--careful", action="store_true", help="with less memory, not compiled")
    options = parser.parse_args()

    def end(number: int, _: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    quiet_transformers()
    record = Record(options.encoded, str(options.model), options.work, options.results)
    if options.action == "measure":
        record.measure(options.steps)
    else:
        record.learn(options.seconds, read_json(options.measured), options.careful)


if __name__ == "__main__":
    main()
