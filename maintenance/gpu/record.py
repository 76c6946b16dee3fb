"""A training on a GPU in the seconds there are: ``python -m maintenance.gpu.record``.

The first ``--trial`` steps tell how many there is time for. The weights of the last evaluation are
kept, in the recipe's bits: the likelihood falls where the model is sure of its errors, while it has
ever more frames right. A training that was killed goes on from its last checkpoint when the command
is said again.
"""

from __future__ import annotations

import argparse
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from safetensors.torch import load_file

from baselines import loop
from baselines.onepass.modeling import OnePassModel, Tensors
from baselines.onepass.system import OnePassTracker
from baselines.precision import resolved
from baselines.processes import hardware, make_accelerator, quiet_transformers
from baselines.run_folder import read_json, read_log, write_json
from baselines.settings import OnePassSettings, find_recipe, read_recipe
from baselines.task import Evaluation, Provenance, Run, Task
from sgdx_dataset.io.console import Terminated
from sgdx_eval.prediction_files import versions

from .encode import DEV, read_batch

MEASURE = "dev_likelihood_of_a_frame"


class Record:
    """A training from batches on disk: the model, the batches of dev, and its figures."""

    def __init__(self, encoded: Path, recipe: str, start: str, output: Path) -> None:
        """Load the model to start from and the batches of dev."""
        index = read_json(encoded / "index.json")
        self.encoded, self.output, self.index = encoded, output, index
        self.files = [name for name, _, _ in index["batches"]]
        self.tokens = np.array([tokens for _, _, tokens in index["batches"]], np.int64)
        self.recipe = read_recipe(find_recipe(recipe))
        assert isinstance(self.recipe, OnePassSettings)  # noqa: S101
        self.accelerator = make_accelerator()
        device = self.accelerator.device
        precision = resolved(self.recipe.precision, device)
        self.settings = msgspec.structs.replace(self.recipe, model=start, precision=precision)
        self.seen = msgspec.convert(index["seen"], Provenance)
        self.tracker = OnePassTracker.at_start(self.run(self.settings))
        self.dev = {
            name: [
                {n: t.to(device) for n, t in read_batch(path).items()}
                for path in sorted(encoded.glob(f"dev-{name}-*"))
            ]
            for name in DEV
        }
        self.path = output / "record.json"
        self.figures: dict[str, Any] = {}
        if self.path.exists():
            self.figures = read_json(self.path)

    def note(self, **figures: Any) -> None:
        """Add figures to those that are written out."""
        self.figures |= figures
        write_json(self.path, self.figures)

    def run(self, settings: OnePassSettings) -> Run[OnePassSettings]:
        """A run that continues from its folder's checkpoint; its batches are on disk."""
        no_rows: Any = None
        return Run(
            self.accelerator, settings, self.seen, no_rows, no_rows, self.output, resume=True
        )

    def learn(self, seconds: float, trial: int) -> None:
        """Train for so many seconds."""
        end = time.monotonic() + seconds
        if not (done := self.steps_done()):
            self.train(12 * trial, trial, lambda: True)  # as many as there may be
            done = self.steps_done()
        timed = [line["tokens_per_second"] for line in read_log(self.output) if "seconds" in line]
        speed = timed[-1] / self.tokens.mean()  # steps a second
        more = max(1, round(0.9 * speed * (end - time.monotonic())))
        self.train(done + more, max(trial, more // 4), lambda: time.monotonic() > end)
        if torch.cuda.is_available():
            self.note(peak_memory=torch.cuda.max_memory_allocated())

    def steps_done(self) -> int:
        """How many steps the last checkpoint has behind it."""
        last = loop.last_checkpoint(self.run(self.settings), "")
        return int(read_json(last / "state.json")["training"]["progress"]["step"]) if last else 0

    def train(self, steps: int, every: int, stop: Callable[[], bool]) -> None:
        """Train to the last step, or to the first evaluation after which ``stop`` says so."""
        settings = msgspec.structs.replace(
            self.settings,
            steps=steps,
            log_every=max(1, every // 4),
            save_every=every,
            evaluate_every=every,
            keep="last",
        )
        facts = {"oracle": self.seen.oracle, "versions": versions()}
        facts |= {"hardware": hardware(self.accelerator)}
        # Where the model to start from lay on the machine is nobody's business.
        shown = msgspec.structs.replace(settings, model=self.recipe.model)
        record = {"settings": shown, "seen": self.seen, "data": self.index["data"]}
        write_json(self.output / "run.json", {"record": record, **facts})

        def evaluate(model: Any) -> Evaluation:
            return Evaluation(self.evaluate(model), stop=stop())

        def collate(examples: Any) -> Tensors:
            return read_batch(self.encoded / self.files[int(examples[0])])

        tracker = self.tracker
        if last := loop.last_checkpoint(self.run(self.settings), ""):
            tracker.model.load_state_dict(load_file(last / "model.safetensors"))
        one = msgspec.structs.replace(settings, batch_size=1)  # a whole batch is one example here
        task = Task(
            tracker.model, one, self.tokens, collate, evaluate, tracker.save, measure=MEASURE
        )
        loop.train(self.run(settings), task)

    @torch.no_grad()
    def evaluate(self, model: OnePassModel) -> float:
        """The mean likelihood of a frame of dev, of each corpus and variant equally."""
        dev_losses = {
            name: float(np.mean([float(model(**batch).loss) for batch in batches]))
            for name, batches in self.dev.items()
        }
        score = math.exp(-float(np.mean(list(dev_losses.values()))))
        curve = self.figures.get("curve", [])
        steps = read_log(self.output)[-1]["step"] if (self.output / "log.jsonl").exists() else 0
        curve.append({"after": steps, "score": score, **dev_losses})
        self.note(curve=curve)
        return score


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m maintenance.gpu.record", description=__doc__)
    for name in ("encoded", "start", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--recipe", required=True, help="what made the batches, or one like it")
    parser.add_argument("--seconds", type=float, required=True, help="how long to train")
    parser.add_argument("--trial", type=int, required=True, help="steps to know the speed after")
    options = parser.parse_args()

    def end(number: int, _: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    quiet_transformers()
    options.output.mkdir(parents=True, exist_ok=True)
    record = Record(options.encoded, options.recipe, str(options.start), options.output)
    record.learn(options.seconds, options.trial)


if __name__ == "__main__":
    main()
