"""Figures and files as they were, and whether the code still gives them.

``python -m maintenance.goldens write [PART ...]`` writes ``tests/goldens/PART.json``, of all parts
by default, and ``check [PART ...]`` makes them anew and prints every place that differs.
Everything goes through the commands that users have, so it holds whatever is behind them. The part
``trained`` is the same to the bit only on one kind of CPU with the same libraries, which it names.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import platform
import re
import runpy
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
import yaml
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.push import MANIFEST
from sgdx_metric.result import SETS, Figure, figure_name

Json = Any
ROOT = Path(__file__).parents[1]
GOLDENS = ROOT / "tests" / "goldens"
MADE_WITH = "made with"
VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
TOLERANCE = 1e-12  # of floats; BLAS blocks sums differently on other machines


def run(command: str, *arguments: object) -> str:
    """Run ``python -m PROGRAM COMMAND ARGUMENTS`` in this process; return what it prints."""
    program, *words = command.split()
    words += map(str, arguments)
    printed, notes, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = [program, *words]
    status: object = 0
    try:
        with redirect_stdout(printed), redirect_stderr(notes):
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv = before
    if status:
        raise RuntimeError(f"{program} {words}: exit status {status}\n{notes.getvalue()}")
    return printed.getvalue()


def read(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


def read_rows(path: Path) -> list[Json]:
    """The rows of a file of predictions, without its header."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if "metadata" not in row]


def digest(value: Json) -> str:
    """A digest of a JSON value, whose floats count to 9 places."""
    text = json.dumps(_rounded(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    # To 9 places, but for an offset: halves of the last place, as of 5 / 1024, are frequent, and
    # would be rounded up or down by the last bit of a sum.
    return math.floor(value * 1e9 + 0.3819660113) if isinstance(value, float) else value


def figures(scores: Json) -> Json:
    """The figures by group and name, so that a difference says which moved; of services a digest.

    A figure is its value and its interval; a difference of two systems has both sides too.
    """
    named: dict[str, dict[str, Json]] = {}
    for row in scores["figures"]:
        figure = msgspec.convert(row, Figure)
        name = figure_name(figure, scores["task"])
        kept = [figure.value, figure.low, figure.high]
        if figure.first is not None:
            kept += [figure.first, figure.second]
        named.setdefault(figure.group, {})[name] = kept
    # Figures of sets are kept by name, of services a digest is.
    services = {group: named.pop(group) for group in list(named) if group not in SETS}
    counts = scores.get("counts", {})
    return {
        **named,
        **({"services": digest(services)} if services else {}),
        **({"counts": digest(counts)} if counts else {}),
    }


def scored(command: str, *arguments: object, output: str = "--output") -> Json:
    """The figures of the JSON file that a command writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.json"
        run(command, *arguments, output, path)
        return figures(read(path))


def predicted(folder: Path) -> dict[str, str]:
    """Digests of the rows of all files of predictions in a folder."""
    return {path.stem: digest(read_rows(path)) for path in sorted(folder.glob("*.jsonl"))}


# ---- committed results


def _result(name: str) -> Path:
    return ROOT / "results" / name / "scores.json"


def compared_results(_: Path) -> Json:
    """What is computed from the scores of single frames in the committed files."""
    steps, no_mean = _result("onepass-600_steps"), _result("onepass-600_steps-no_ema")
    acts, longest = _result("onepass-600_steps-acts"), _result("onepass-10000_steps-whole_test")
    floor, quarter = _result("lexical-600"), _result("sgp_dst-minilm_quarter-600")
    several = ("--first", steps, no_mean, "--second", _result("onepass-600_steps-no_noise"))

    def compare(*arguments: object) -> Json:
        return scored("sgdx_metric compare", *arguments, output="--json")

    return {
        "means of two runs": scored("sgdx_metric summarise", steps, no_mean),
        "two settings": compare(steps, acts, "--details"),
        "two trackers": compare(floor, quarter),
        "some of all dialogues": compare(longest, steps),
        "two runs of one": compare(*several),
        "eight dialogues": compare(_result("smollm2-135m"), longest),
    }


# ---- the sample corpus


NAMES = {"frame_id", "turn_id", "id", "variant", "slot", "service", "name"}


def damaged(value: Json, place: str) -> Json:
    """A JSON value of which some texts and lists are changed, always the same ones."""
    kind = zlib.crc32(place.encode()) % 12
    if isinstance(value, dict):
        return {k: v if k in NAMES else damaged(v, f"{place}/{k}") for k, v in value.items()}
    if isinstance(value, list):
        items = [damaged(item, f"{place}/{number}") for number, item in enumerate(value)]
        if place.endswith("/calls") and kind == 1:
            return items * 2
        return items[:-1] if kind == 0 and len(items) > 1 else items
    if isinstance(value, str) and kind < 3:
        return (value[: len(value) // 2], value.upper(), "dontcare")[kind]
    return value


def write_damaged(folder: Path, variant: str, rows: Iterable[Json]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(damaged(row, f"{variant}/{number}")) for number, row in enumerate(rows)]
    (folder / f"{variant}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def gold(variant: str, *columns: str) -> list[Json]:
    columns = ("frame_id", "variant", *columns)
    table = frame_tables(open_release("sample"), "test", variant, list(columns))
    rows: list[Json] = table.to_pylist()
    return rows


def damaged_release(folder: Path, variant: str) -> None:
    """Write the dialogues of a variant in the release's layout, with damaged states."""
    run("sgdx_dataset export --source sample --split test --variant", variant, "--output", folder)
    for path in folder.glob("test/dialogues_*.json"):
        dialogues = read(path)
        frames = [f for dialogue in dialogues for turn in dialogue["turns"] for f in turn["frames"]]
        for number, frame in enumerate(frames):
            if "state" in frame:
                frame["state"] = damaged(frame["state"], f"{variant}/{path.name}/{number}")
        path.write_text(json.dumps(dialogues), encoding="utf-8")


def states(folder: Path) -> Json:
    """Scores of the lexical tracker and of damaged gold states, under all rules."""
    run("sgdx_cli predict --tracker lexical --source sample --output", folder / "lexical")
    for variant in VARIANTS:
        state = gold(variant, "active_intent", "requested_slots", "slot_values")
        write_damaged(folder / "damaged", variant, state)
        damaged_release(folder / variant, variant)
    score = "sgdx_metric score --source sample --predictions"
    release = (f"--predictions={name}={folder / name / 'test'}" for name in VARIANTS)
    pair = (folder / "lexical.json", folder / "damaged.json")
    run(score, folder / "lexical", "--output", pair[0])
    run(score, folder / "damaged", "--output", pair[1])
    items = pq.read_table(folder / "damaged.items.parquet").to_pylist()

    def changed(*options: str) -> Json:
        return scored(score, folder / "damaged", *options)

    def compare(*options: str) -> Json:
        return scored("sgdx_metric compare", *pair, *options, output="--json")

    return {
        "lexical": figures(read(pair[0])),
        "lexical's rows": predicted(folder / "lexical"),
        "damaged": figures(read(pair[1])),
        "damaged, items": digest(items),
        "release": scored("sgdx_metric score --source sample", *release),
        "turns": changed("--joint-acc-across-turn"),
        "no fuzzy match": changed("--no-fuzzy-match"),
        "one service": changed("--service", "Cabs_1"),
        "compare": compare("--details"),
    }


def tools(folder: Path) -> Json:
    """Scores of the demo's program on the sample tools, and of its answers damaged."""
    demo = folder / "demo"
    run("sgdx_tools demo --output", demo)
    paths = [path for path in (demo / "run").glob("*.jsonl") if path.name != "answers.jsonl"]
    for path in paths:
        write_damaged(folder / "damaged", path.stem, read_rows(path))
    score = ("sgdx_tools score", demo / "my_api", "--predictions")
    made = {
        "demo": scored(*score, demo / "run"),
        "rows": {path.stem: digest(read_rows(path)) for path in sorted(paths)},
        "exact": scored(*score, folder / "damaged"),
    }
    source = demo / "my_api" / "source.json"
    said = json.loads(source.read_bytes()) if source.exists() else {}
    source.write_text(json.dumps(said | {"rules": "fuzzy"}))
    return made | {"fuzzy": scored(*score, folder / "damaged")}


def turns(folder: Path) -> Json:
    """Scores of responses that are copied, made from descriptions, empty, and damaged."""
    systems = ("gold", "derived", "empty")
    for system in systems:
        run("sgdx_cli copies --source sample --system", system, "--output", folder / system)
    for path in (folder / "gold").glob("*.jsonl"):
        write_damaged(folder / "damaged", path.stem, read_rows(path))
    score = ("sgsacc_metric score --source sample --predictions",)
    for system in (*systems, "damaged"):
        run(*score, folder / system, "--nli", "lexical", "--output", folder / f"{system}.json")
    made = (*score, folder / "damaged")
    pair = (folder / "derived.json", folder / "damaged.json")
    return {
        **{system: figures(read(folder / f"{system}.json")) for system in (*systems, "damaged")},
        "rows": {system: predicted(folder / system) for system in systems},
        "no model": scored(*made),
        "extended": scored(*made, "--nli", "lexical", "--rules", "extended", "--no-context"),
        "compare": scored("sgsacc_metric compare", *pair, output="--json"),
    }


# ---- files


def contents(folder: Path) -> dict[str, str]:
    """Digests of what is in the files of a folder; of Parquet, of its rows and types."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            types = table.schema.remove_metadata().to_string(show_field_metadata=False)
            content = json.dumps([types, table.to_pylist()]).encode()
        elif path.name == MANIFEST:  # which has digests of files whose bytes are by `datasets`
            content = json.dumps(sorted(json.loads(path.read_bytes())["files"])).encode()
        else:
            content = path.read_bytes()
            if path.name == "README.md":  # dataset_info has sizes of files and is by `datasets`
                content = re.sub(rb"^dataset_info:\n(?:[ -].*\n)*", b"", content, flags=re.M)
        found[path.relative_to(folder).as_posix()] = hashlib.sha256(content).hexdigest()[:16]
    return found


def files(folder: Path) -> Json:
    """Exports, a build, rows, statistics and a subset of the sample."""
    dataset = {
        "export v3": "export --variant v3",
        "export original": "export --variant original",
        "build": "push YOU/sgdx",
        "frames": "export frames --split test",
        "turns": "export turns --split test",
    }
    made = {}
    for name, command in dataset.items():
        run(f"sgdx_dataset {command} --source sample --output", folder / name)
        made[name] = contents(folder / name)
    run("sgdx_dataset stats --source sample --json", folder / "stats.json")
    subset = ("--split", "test", "--count", "10", "--seed", "1", "--output", folder / "subset.json")
    run("sgdx_dataset subset --source sample", *subset)
    return {**made, "stats": read(folder / "stats.json"), "subset": read(folder / "subset.json")}


# ---- trained systems


def trained(folder: Path) -> Json:
    """Weights after eight steps of each recipe smoke*.yaml, and what a model then predicts."""
    chosen = folder / "dialogues.json"
    subset = ("--split", "test", "--count", "6", "--output", chosen)
    run("sgdx_dataset subset --source sample", *subset)

    def predict(model: Path) -> dict[str, str]:
        output = folder / "predictions" / model.name
        options = ("--dialogues", chosen, "--variant", "original", "v3", "--output", output)
        run("sgdx_cli predict --source sample --model", model, *options)
        return predicted(output)

    made: Json = {"onepass, shipped": predict(ROOT / "models" / "onepass")}
    for path in sorted(ROOT.glob("baselines/*/config/smoke*.yaml")):
        model = folder / f"{path.parents[1].name}-{path.stem}"
        recipe = model.with_suffix(".yaml")
        recipe.write_text(yaml.safe_dump(eight_steps(yaml.safe_load(path.read_text()), folder)))
        run("sgdx_cli train --source sample --recipe", recipe, "--output", model)
        files = [
            file
            for file in sorted(model.rglob("*.safetensors"))
            if "checkpoints" not in file.parts and "initial" not in file.parts
        ]
        weights = {file.relative_to(model).as_posix(): tensors_digest(file) for file in files}
        for file in files:
            add_noise(file)
        made[model.name] = {"weights": weights, "predictions": predict(model)}
    return {MADE_WITH: surroundings(), **made}


def surroundings() -> dict[str, str]:
    """What the bits of weights depend on besides the code."""
    import torch

    info = Path("/proc/cpuinfo")
    model = re.search("model name\\s*: (.*)", info.read_text()) if info.exists() else None
    name = model[1] if model else platform.processor()
    cpu = f"{name}, {torch.backends.cpu.get_cpu_capability()}"
    names = ("numpy", "torch", "transformers", "tokenizers", "accelerate")
    versions = {name: version(name) for name in names}
    return {"cpu": cpu, "python": platform.python_version(), **versions}


def eight_steps(recipe: Json, folder: Path) -> Json:
    """A recipe that ends after eight steps; what began with another recipe's model, with ours."""
    if recipe["model"].startswith("outputs/"):
        recipe["model"] = str(folder / Path(recipe["model"]).name)
    for settings in recipe.get("parts", {"": recipe}).values():
        settings |= {"steps": 8, "warmup": 0.25}
    often = dict.fromkeys(("log_every", "save_every", "evaluate_every"), 8)
    return recipe | often | {"evaluate_frames": 8, "precision": "fp32"}


def tensors_digest(path: Path) -> str:
    """A digest of the tensors of a file, to the bit."""
    found = hashlib.sha256()
    for name, tensor in sorted(load_file(path).items()):
        found.update(f"{name} {tensor.dtype} {tensor.shape}".encode() + tensor.tobytes())
    return found.hexdigest()[:16]


def add_noise(path: Path) -> None:
    """Move all weights, so that a model that has learned nothing yet does not answer nothing."""
    random = np.random.default_rng(0)
    tensors = {}
    for name, tensor in sorted(load_file(path).items()):
        noise = random.normal(0, 0.2, tensor.shape).astype(tensor.dtype)
        tensors[name] = tensor + noise if tensor.dtype.kind == "f" else tensor
    with safe_open(path, "np") as file:
        save_file(tensors, path, file.metadata())


PARTS: dict[str, Callable[[Path], Json]] = {
    "compare": compared_results,
    "states": states,
    "tools": tools,
    "turns": turns,
    "files": files,
    "trained": trained,
}


def make(part: str) -> Json:
    """What the code gives now; as it is after being written and read."""
    os.environ |= {"COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(json.dumps(PARTS[part](Path(folder))))


def differences(expected: Json, found: Json, place: str = "") -> Iterator[str]:
    """A line for every place where two JSON values differ; floats may by ``TOLERANCE``."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            inside = f"{place} / {key}" if place else key
            if key in expected and key in found:
                yield from differences(expected[key], found[key], inside)
            else:
                yield f"{inside}: {'found nothing' if key in expected else 'expected nothing'}"
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, pair in enumerate(zip(expected, found)):
            yield from differences(*pair, f"{place} / {number}")
    elif isinstance(expected, float) and isinstance(found, (int, float)):
        if not abs(expected - found) <= TOLERANCE:  # nan is not
            yield f"{place}: found {found!r}, expected {expected!r}"
    elif expected != found or type(expected) is not type(found):
        yield f"{place}: found {_shown(found)}, expected {_shown(expected)}"


def _shown(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) < 200 else f"{text[:200]}..."


def check(part: str) -> list[str]:
    """A line for every place where a part differs from its file."""
    expected, found = read(GOLDENS / f"{part}.json"), make(part)
    return list(differences(expected, found, part))


def lines(value: Json, indent: str = "") -> str:
    """JSON whose lines have up to 100 columns where they can, so that changes are seen."""
    text = json.dumps(value)
    if len(indent + text) < 100 or not isinstance(value, (dict, list)) or not value:
        return text
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(key)}: {lines(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{inner}{lines(item, inner)}" for item in value) + f"\n{indent}]"


def main() -> int:
    """Run the command; returns 1 where something differs."""
    parser = argparse.ArgumentParser("python -m maintenance.goldens", description=__doc__)
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    found = []
    for part in options.parts or PARTS:
        if options.action == "write":
            GOLDENS.mkdir(exist_ok=True)
            (GOLDENS / f"{part}.json").write_text(lines(make(part)) + "\n", encoding="utf-8")
        else:
            differing = check(part)
            print(*(differing or [f"{part}: as it was"]), sep="\n", flush=True)
            found += differing
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
