"""Predict under every variant of the schemas, and score the result: ``sgdx evaluate``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import write_json
from sgdx_eval.data_options import DataOptions
from sgdx_eval.options import Details, Quiet

from .predict import ALL, NONE, SystemOptions, make_request, write_predictions
from .run_folder import read_json


def evaluate(
    system_: SystemOptions = NONE,  # a word --system is an option of the tracker's, that it lacks
    data_: DataOptions = ALL,
    *,
    output: Path,
    explain: Details = False,
    quiet: Quiet = False,
    **tracker_options: str,
) -> None:
    """Predict under every variant, and score the result.

    The output folder then holds predictions/VARIANT.jsonl for each variant, scores.json and
    run.json. It may be the folder of a training. In that case 'sgdx publish' shows the scores on
    the model's card. To resume a run that was killed, give the same command again. To predict with
    several processes: accelerate launch -m sgdx_cli evaluate.

    The responses of a generator are scored by BLEU and slot error rate. SGSAcc needs a model of
    entailment: score the predictions again with 'sgdx responses score --nli MODEL'.

    Parameters
    ----------
    output
        Write predictions, scores.json and run.json into this folder.
    tracker_options
        An option of the tracker's own. With --model or --tracker, --help shows which there are.
    """
    request = make_request(system_, data_, tracker_options, quiet)
    path = output / "run.json"  # which a training may have left
    record = read_json(output, "run.json") if path.exists() else None
    if not path.exists() and (output / "scores.json").exists():
        expected = "expected a new folder, or one of an earlier run"
        raise SgdxError(f"--output {output}: found scores.json without run.json, {expected}")
    if not write_predictions(request, output / "predictions"):
        return
    from sgdx_eval.predictions import versions
    from sgdx_eval.score import score
    from sgdx_eval.task import Inputs
    from sgdx_eval.tasks import TASKS

    data = request.data
    facts = {
        "release": data.release.version(),
        "configs": list(request.configs),
        "versions": versions(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    write_json(path, {**(record or {}), "evaluation": facts}, renews=True)
    inputs = Inputs(
        {config: output / "predictions" / f"{config}.jsonl" for config in request.configs},
        data.split,
        data.source,
        own_variants=data.variants,
        dialogues=None if data.limit else data.dialogues,
    )
    of = TASKS["turns" if request.system_class.ROWS == "turns" else "state"]
    score(of, inputs, output / "scores.json", verbose=not quiet, details=explain)
    if quiet:
        print(output / "scores.json")
