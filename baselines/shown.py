"""How far a run has come: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time

from datasets.utils import tqdm

from sgdx_dataset.io.progress import DELAY


class Shown:
    """How far a run is: a bar on a terminal, elsewhere the lines that it is given."""

    def __init__(self, is_first: bool, what: str, unit: str, end: int, begin: int = 0) -> None:
        self.is_first, self.unit = is_first, unit
        self.begin, self.done, self.end = begin, begin, end
        self.since = time.perf_counter()
        # In the first process alone; None: on a terminal alone.
        disable = None if is_first else True
        self.bar = tqdm(
            desc=what, unit=f" {unit}", initial=begin, total=end, delay=DELAY, disable=disable
        )

    def update(self, steps: int) -> None:
        """Move on."""
        self.done += steps
        self.bar.update(steps)

    @property
    def left(self) -> str:
        """The time left at the speed so far, as in 1:02:03 or 04:05; ? before anything is done."""
        if self.done == self.begin:
            return "?"
        seconds = time.perf_counter() - self.since
        rest = seconds * (self.end - self.done) / (self.done - self.begin)
        return str(tqdm.format_interval(rest))

    def line(self, text: str) -> None:
        """Print a line where no bar is shown: when the output is not a terminal."""
        if self.is_first and not sys.stderr.isatty():
            print(text, flush=True)
