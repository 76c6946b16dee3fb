"""Figures, files and help texts as they were, and whether the code still gives them.

``python -m maintenance.goldens write [PART ...]`` writes ``tests/goldens/PART.json``, of all parts
by default, and ``check [PART ...]`` makes them anew and prints every place that differs.
Everything goes through the commands that users have, so it holds whatever is behind them. The part
``trained`` is the same to the bit only on one kind of CPU with the same libraries, which it names.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import io
import json
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

import numpy as np
import pyarrow.parquet as pq
import yaml
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sgdx_dataset import frame_tables, open_release

Json = Any
ROOT = Path(__file__).parents[1]
GOLDENS = ROOT / "tests" / "goldens"
MADE_WITH = "made with"
WORDINGS = ("original", "v1", "v2", "v3", "v4", "v5")
TOLERANCE = 1e-12  # of floats; BLAS blocks sums differently on other machines
# Of scores.json: where the predictions came from, and the scores of single items.
NO_FIGURES = {"predictions", "sha256", "paired", "units", "provenance", "oracle"}
# The groups whose numbers are kept. Of services and domains, a digest is.
GROUPS = {"all", "seen", "unseen", "#ALL_SERVICES"}
PROGRAMS = (
    *("sgdx_dataset", "sgdx_metric", "sgsacc_metric", "sgdx_tools"),
    *(f"baselines.{name}" for name in ("train", "predict", "evaluate", "report", "publish")),
    *("baselines.llm", "baselines.own_apis", "baselines.demo"),
)


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


def write_rows(path: Path, rows: Iterable[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def digest(value: Json) -> str:
    """A digest of a JSON value, whose floats count to 9 places."""
    text = json.dumps(_rounded(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 9) + 0.0 if isinstance(value, float) else value  # no -0.0


def figures(scores: Json) -> Json:
    """The numbers of scores; of groups other than ``GROUPS``, one digest for all."""
    if not isinstance(scores, dict):
        return [figures(item) for item in scores] if isinstance(scores, list) else scores
    numbers = {
        key: value
        for key, value in scores.items()
        if key not in NO_FIGURES and not isinstance(value, str)
    }
    grouped = bool(GROUPS & numbers.keys()) and "by_service" not in numbers
    others = {
        key: numbers.pop(key)
        for key in list(numbers)
        if key == "by_service" or (grouped and key not in GROUPS)
    }
    kept = {key: figures(value) for key, value in numbers.items()}
    return kept | ({"others": digest(others)} if others else {})


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


def stated_results(_: Path) -> Json:
    """What the committed files of scores state."""
    paths = [*sorted(ROOT.glob("results/*/scores.json")), ROOT / "models/onepass/scores.json"]
    stated = {path.parent.name: figures(read(path)) for path in paths}
    for scores in stated.values():  # the figures of all frames are in other keys, too
        scores["variants"] = {name: digest(each) for name, each in scores["variants"].items()}
    return stated


def compared_results(_: Path) -> Json:
    """What is computed from the scores of single frames in the committed files."""
    steps, no_mean = _result("onepass-600_steps"), _result("onepass-600_steps-no_ema")
    acts, shipped = _result("onepass-600_steps-acts"), _result("onepass-shipped-whole_test")
    floor, quarter = _result("lexical-600"), _result("sgp_dst-minilm_quarter-600")
    several = ("--first", steps, no_mean, "--second", _result("onepass-600_steps-no_noise"))

    def compare(*arguments: object) -> Json:
        return scored("sgdx_metric compare", *arguments, output="--json")

    return {
        "means of two runs": scored("sgdx_metric summarise", steps, no_mean),
        "two settings": compare(steps, acts, "--details"),
        "over wordings": compare(steps, no_mean, "--over", "wordings"),
        "over both": compare(steps, no_mean, "--over", "both"),
        "two trackers": compare(floor, quarter),
        "some of all dialogues": compare(shipped, steps),
        "two runs of one": compare(*several),
        "eight dialogues": compare(_result("smollm2-135m"), shipped),
    }


def compared_turns(_: Path) -> Json:
    """What is computed from the scores of single turns in the committed files."""
    derived, templates = _result("generation-derived"), _result("generation-templates")
    return scored("sgsacc_metric compare", derived, templates, output="--json")


# ---- the sample corpus


def _kind(kinds: int, *words: object) -> int:
    """A number below ``kinds`` that looks drawn, and is always the same for these words."""
    return zlib.crc32("/".join(map(str, words)).encode()) % kinds


def _gold(wording: str, *columns: str) -> list[Json]:
    table = frame_tables(open_release("sample"), "test", wording, list(columns))
    rows: list[Json] = table.to_pylist()
    return rows


def damaged_states(folder: Path, wording: str) -> None:
    """Write the gold states of a wording, of which about half are made wrong."""
    columns = ("frame_id", "variant", "active_intent", "requested_slots", "slot_values")
    rows = _gold(wording, *columns)
    for row in rows:
        kind, slots = _kind(12, wording, row["frame_id"]), row["slot_values"]
        if kind == 0:
            row["slot_values"] = slots[:-1]
        elif kind in (1, 2) and slots:  # a fuzzy match scores part of this
            slots[0]["values"] = [slots[0]["values"][0][: 3 * kind]]
        elif kind == 3:
            row["active_intent"] = "NONE"
        elif kind == 4:
            row["requested_slots"] = row["requested_slots"][1:]
        elif kind == 5 and slots:
            slots[-1]["values"] = ["dontcare"]
    write_rows(folder / f"{wording}.jsonl", rows)


def damaged_release(folder: Path, wording: str) -> None:
    """Write the gold states in the release's layout, some values in capitals and some shortened."""
    run("sgdx_dataset export --source sample --split test --config", wording, "--output", folder)
    for path in folder.glob("test/dialogues_*.json"):
        dialogues = read(path)
        for dialogue in dialogues:
            for turn in dialogue["turns"]:
                for frame in turn["frames"]:
                    for slot, values in frame.get("state", {}).get("slot_values", {}).items():
                        kind = _kind(4, wording, dialogue["dialogue_id"], turn["utterance"], slot)
                        if kind < 2:
                            values[:] = [values[0].upper() if kind else values[0][:-2]]
        path.write_text(json.dumps(dialogues), encoding="utf-8")


def states(folder: Path) -> Json:
    """Scores of the lexical tracker and of damaged gold states, under all rules."""
    run("baselines.predict --tracker lexical --source sample --output", folder / "lexical")
    for wording in WORDINGS:
        damaged_states(folder / "damaged", wording)
        damaged_release(folder / "release" / wording, wording)
    release = folder / "release"
    score = "sgdx_metric score --source sample"
    lexical, damaged = folder / "lexical.json", folder / "damaged.json"
    run(score, "--predictions", folder / "lexical", "--output", lexical)
    frames = folder / "frames.jsonl"
    run(score, "--predictions", folder / "damaged", "--output", damaged, "--per-frame", frames)

    def changed(*options: str) -> Json:
        return scored(score, "--predictions", folder / "damaged", *options)

    def compare(*options: str) -> Json:
        return scored("sgdx_metric compare", lexical, damaged, *options, output="--json")

    return {
        "lexical": figures(read(lexical)),
        "lexical's rows": predicted(folder / "lexical"),
        "damaged": figures(read(damaged)),
        "damaged, frames": digest(read_rows(frames)),
        "release": scored(score, *(f"--predictions={w}={release / w / 'test'}" for w in WORDINGS)),
        "turns": changed("--joint-acc-across-turn"),
        "no fuzzy match": changed("--no-fuzzy-match"),
        "zero mean dropped": changed("--zero-mean", "drop"),
        "one service": changed("--service", "Cabs_1"),
        "over wordings": changed("--over", "wordings"),
        "over both": changed("--over", "both"),
        "compare": compare("--details"),
        "compare over both": compare("--over", "both"),
    }


def damaged_calls(folder: Path, wording: str, decides: bool) -> None:
    """Write the gold calls of a wording, some of them wrong; with ``decides`` for all turns."""
    rows = []
    for frame in _gold(wording, "frame_id", "variant", "service", "service_call"):
        call, kind = frame["service_call"], _kind(10, decides, wording, frame["frame_id"])
        if call is None and not decides:
            continue
        row = {key: frame[key] for key in ("frame_id", "variant")}
        if call is None:
            made = {"service": frame["service"], "method": "Unknown", "parameters": []}
            call = made if kind == 0 else None
        else:
            call, parameters = {"service": frame["service"], **call}, call["parameters"]
            if kind == 0 and decides:
                call = None
            elif kind == 1:
                call["method"] = "Unknown"
            elif kind == 2:
                call["parameters"] = parameters[1:]
            elif kind in (3, 4):
                value = parameters[0]["value"]
                call["parameters"] = [{**parameters[0], "value": value[:-1]}, *parameters[1:]]
        rows.append({**row, "service_call": call})
    write_rows(folder / f"{wording}.jsonl", rows)


def calls(folder: Path) -> Json:
    """Scores of damaged gold calls, with and without the decision to call."""
    scores = {}
    for name, decides in (("calls", False), ("decisions", True)):
        for wording in WORDINGS:
            damaged_calls(folder / name, wording, decides)
        path = folder / f"{name}.json"
        options = ("--predictions", folder / name, "--output", path)
        run("sgdx_metric calls --source sample", *options)
        scores[name] = figures(read(path))
    compare = ("sgdx_metric compare", folder / "calls.json", folder / "decisions.json")
    scores["compare"] = scored(*compare, output="--json")
    scores["compare over both"] = scored(*compare, "--over", "both", output="--json")
    return scores


def tools(folder: Path) -> Json:
    """Scores of the demo's program on the sample tools, and of its answers damaged."""
    run("sgdx_tools demo --output", folder / "demo")
    for path in (folder / "demo" / "run").glob("*.jsonl"):
        if path.name == "answers.jsonl":
            continue
        rows = read_rows(path)
        for row in rows:
            if row["calls"] and (kind := _kind(6, path.stem, row["id"])) < 3:
                arguments = row["calls"][0]["arguments"]
                for name in list(arguments)[:1]:
                    changed = {"unknown": 1}, {name: f" {arguments[name]}"}, {name: None}
                    row["calls"][0]["arguments"] = arguments | changed[kind]
        write_rows(folder / "damaged" / path.name, rows)
    score = ("sgdx_tools score --quiet", folder / "demo" / "my_api", "--predictions")
    answers = {p.stem: digest(read_rows(p)) for p in sorted((folder / "demo/run").glob("v*.jsonl"))}
    return {
        "demo": scored(*score, folder / "demo" / "run"),
        "answers": answers,
        **{
            rules: scored(*score, folder / "damaged", "--rules", rules)
            for rules in ("exact", "bfcl", "fuzzy")
        },
    }


def damaged_turns(source: Path, target: Path) -> None:
    """Write a file of responses, of which some lose their end and some say that of another."""
    rows = read_rows(source)
    key = next(name for name in rows[0] if name not in ("turn_id", "variant"))
    texts = [row[key] for row in rows]
    for place, row in enumerate(rows):
        kind = _kind(6, source.stem, row["turn_id"])
        if kind < 2:
            row[key] = texts[place - 1] if kind else " ".join(texts[place].split()[:4])
    write_rows(target, rows)


def turns(folder: Path) -> Json:
    """Scores of responses that are copied, made from descriptions, empty, and damaged."""
    for system in ("gold", "derived", "empty"):
        copies = ("--system", system, "--source", "sample", "--output", folder / system)
        run("baselines.copies", *copies)
    for path in (folder / "gold").glob("*.jsonl"):
        damaged_turns(path, folder / "damaged" / path.name)
    score = ("sgsacc_metric score --source sample --cache", folder / "cache", "--predictions")
    judged = {}
    for system in ("gold", "derived", "empty", "damaged"):
        options = (folder / system, "--nli", "lexical", "--output", folder / f"{system}.json")
        run(*score, *options)
        judged[system] = figures(read(folder / f"{system}.json"))
    damaged = (*score, folder / "damaged")
    pair = (folder / "derived.json", folder / "damaged.json")
    return {
        **judged,
        "rows": {name: predicted(folder / name) for name in ("gold", "derived", "empty")},
        "no model": scored(*damaged),
        "extended": scored(*damaged, "--nli", "lexical", "--rules", "extended", "--no-context"),
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
        else:
            content = path.read_bytes()
            if path.name == "README.md":  # dataset_info has sizes of files and is by `datasets`
                content = re.sub(rb"^dataset_info:\n(?:[ -].*\n)*", b"", content, flags=re.M)
        found[path.relative_to(folder).as_posix()] = hashlib.sha256(content).hexdigest()[:16]
    return found


def files(folder: Path) -> Json:
    """An export, a build, rows and statistics of the sample, and rewordings of its schemas."""
    dataset = {
        "export v3": "export --config v3",
        "export original": "export --config original",
        "build": "build",
        "frames": "frames --split test",
        "turns": "turns --split test",
    }
    made = {}
    for name, command in dataset.items():
        run(f"sgdx_dataset {command} --source sample --output", folder / name)
        made[name] = contents(folder / name)
    run("sgdx_dataset stats --source sample --json", folder / "stats.json")
    subset = ("--split", "test", "--count", "10", "--seed", "1", "--output", folder / "subset.json")
    run("sgdx_dataset subset --source sample", *subset)
    return {**made, "stats": read(folder / "stats.json"), "subset": read(folder / "subset.json")}


# ---- help


def help_texts(_: Path) -> Json:
    """The help of every program and of its commands, line by line."""
    texts = {}
    for program in PROGRAMS:
        text = run(program, "--help")
        commands = re.findall(r"^ {4}([a-z][a-z-]*)(?: |$)", text, re.MULTILINE)
        for command in ("", *(commands if "COMMAND" in text else ())):
            name = f"{program} {command}".rstrip()
            texts[name] = run(name, "--help").splitlines()
    return texts


# ---- trained systems


def trained(folder: Path) -> Json:
    """Weights after eight steps of each recipe smoke*.yaml, and what a model then predicts."""
    chosen = folder / "dialogues.json"
    subset = ("--split", "test", "--count", "6", "--output", chosen)
    run("sgdx_dataset subset --source sample", *subset)

    def predict(model: Path) -> dict[str, str]:
        output = folder / "predictions" / model.name
        options = ("--dialogues", chosen, "--config", "original", "v3", "--output", output)
        run("baselines.predict --source sample --model", model, *options)
        return predicted(output)

    made: Json = {"onepass, shipped": predict(ROOT / "models" / "onepass")}
    for path in sorted(ROOT.glob("baselines/*/config/smoke*.yaml")):
        model = folder / f"{path.parents[1].name}-{path.stem}"
        recipe = model.with_suffix(".yaml")
        recipe.write_text(yaml.safe_dump(eight_steps(yaml.safe_load(path.read_text()), folder)))
        run("baselines.train --source sample --config", recipe, "--output", model)
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
        settings["steps"] = 8
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
    "results": stated_results,
    "compare": compared_results,
    "compare_turns": compared_turns,
    "states": states,
    "calls": calls,
    "tools": tools,
    "turns": turns,
    "files": files,
    "help": help_texts,
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
    elif place.startswith("help /") and isinstance(expected, list) and isinstance(found, list):
        changed = difflib.ndiff(expected, found)
        yield from (f"{place}: {line}" for line in changed if line[0] in "+-")
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
