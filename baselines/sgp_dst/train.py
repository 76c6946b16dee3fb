"""``accelerate launch -m baselines.sgp_dst.train``: train the sub-models, one after the other."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgdx_dataset import SgdxError

from ..data import describe, dev_frames, training_frames
from ..launch import accelerator_for, read_settings, run_command, run_record, training_options
from .course import Course, train_part
from .parts import PARTS, Part, SgpSettings
from .publish import finish


def run(options: argparse.Namespace) -> None:
    """Train as a config says; everything is written under ``options.output``."""
    settings = read_settings(options, SgpSettings)
    training = training_frames(settings, options.source, options.oracle)
    dev = dev_frames(options.source)
    output = options.output or Path("outputs") / options.config.stem
    parts: list[Part] = list(dict.fromkeys(options.part or PARTS))
    if options.resume and not any((output / part).exists() for part in parts):
        raise SgdxError(f"{output}: found none of {', '.join(parts)}, expected a run to resume")
    accelerator = accelerator_for(settings, output)
    data = {"source": options.source, "train": describe(training.rows), "dev": describe(dev)}
    record = run_record(accelerator, settings, training.seen, data)
    course = Course(
        accelerator, settings, record, training.rows, training.seen, dev, output, options.resume
    )
    for part in parts:
        train_part(course, part)
    if all((output / part / "model.safetensors").exists() for part in PARTS):
        finish(accelerator, record, dev, output, options.push_to_hub)
    accelerator.end_training()


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    parser = training_options("baselines.sgp_dst.train", __doc__)
    parser.add_argument(
        "--part", choices=PARTS, nargs="+", action="extend", help="default: all, in order"
    )
    return run_command("sgp_dst", run, parser)


if __name__ == "__main__":
    sys.exit(main())
