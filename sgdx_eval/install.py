"""Put a metric where `evaluate.load` finds it: the cache of this machine, or a Space of the Hub."""

import hashlib
import os
import re
import shutil
from pathlib import Path

from evaluate.loading import get_imports, init_dynamic_modules

import sgdx_metric
import sgsacc_metric
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_dataset.options import UploadOptions
from sgdx_dataset.push import PLACEHOLDER, Place, addressed, install_from, publish
from sgdx_metric.version import __version__

METRICS = [Path(*metric.__path__) for metric in (sgdx_metric, sgsacc_metric)]
# How a metric is used from the Hub, in the place of how it is installed.
_USE = """From the Hub, with the libraries that the script imports:

```
pip install evaluate msgspec numpy pyarrow rapidfuzz
```"""
_USE_PACKAGE = f"""From the Hub, with the package that the script imports:

```
pip install "sgdx @ git+{PLACEHOLDER}.git"
```"""
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{name}</title>
<h1>{name}</h1>
<p>A metric for <code>evaluate</code>; its card says what it needs and how it is used.</p>
<pre>import evaluate

metric = evaluate.load("{repo_id}")</pre>
</html>
"""


def install(folder: Path = METRICS[0]) -> Path:
    """Copy a metric's core into the Hugging Face modules cache (`HF_MODULES_CACHE`).

    `evaluate` looks up a plain name as <cache>/evaluate_modules/metrics/evaluate-metric--<name>/
    <64 hex digits>/<name>.py and takes the newest. The command line's files are not needed there.
    """
    files = script_files(folder)
    home = Path(init_dynamic_modules()) / "metrics" / f"evaluate-metric--{folder.name}"
    home.mkdir(parents=True, exist_ok=True)
    for package in (home.parent, home):
        (package / "__init__.py").touch()
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    target = home / digest
    copies = [target / file.name for file in files]
    if not (target / "__init__.py").is_file() or not all(
        copy.is_file() and copy.read_bytes() == file.read_bytes()
        for copy, file in zip(copies, files)
    ):
        shutil.rmtree(target, ignore_errors=True)
        with staged(target) as staging:
            staging.mkdir()
            (staging / "__init__.py").touch()
            for file in files:
                shutil.copyfile(file, staging / file.name)
    os.utime(copies[0])
    return target


def script_files(folder: Path) -> list[Path]:
    """A metric's script, and the files beside it that `evaluate` copies with it."""
    script = folder / f"{folder.name}.py"
    imports = get_imports(str(script))
    return [script, *(folder / f"{name}.py" for kind, name, *_ in imports if kind == "internal")]


def push(repo_id: str, options: UploadOptions) -> str | Path:
    """Upload a metric as a Space, such as ``you/sgdx_metric``; return the Space's address.

    The upload is tagged with the package's version, so that
    ``evaluate.load(repo_id, revision="vVERSION")`` stays the same.
    """
    folders = {folder.name: folder for folder in METRICS}
    folder = folders.get(repo_id.rpartition("/")[2])
    if folder is None:
        names = " or ".join(f"YOU/{name}" for name in folders)
        raise SgdxError(
            f"{repo_id}: found another name than a metric's, expected {names}, since "
            "evaluate.load looks for a script of the Space's name"
        )
    sdk = "gradio" if install_from() else "static"
    place = Place(repo_id, "space", folder.name, options, f"v{__version__}", sdk)
    message = f"{folder.name}, version {__version__}"
    return publish(lambda space: _write(folder, space, repo_id), place, message)


def _write(metric: Path, space: Path, repo_id: str) -> None:
    """Write the files of a metric's Space: its script, its card, and a page.

    The page scores files where a Space can install this package; else it only says how to load.
    """
    for file in script_files(metric):
        shutil.copyfile(file, space / file.name)
    card, name, source = (metric / "README.md").read_text("utf-8"), metric.name, install_from()
    use = addressed(_USE_PACKAGE if metric == METRICS[1] else _USE)
    card = re.sub("<!-- installed -->.*<!-- end -->", lambda _: use, card, flags=re.DOTALL)
    card = card.replace(f'evaluate.load("{name}")', f'evaluate.load("{repo_id}")')
    card = re.sub(r"\]\(\.\./", f"]({PLACEHOLDER}/blob/main/", card)  # pages of the repository
    if source:
        shutil.copyfile(metric / "app.py", space / "app.py")
        (space / "requirements.txt").write_text(f"sgdx @ {source}\n", encoding="utf-8")
    else:
        card = re.sub(r"sdk: gradio\nsdk_version: .*\n", "sdk: static\n", card)
        card = card.replace("app_file: app.py", "app_file: index.html")
        page = _PAGE.format(name=name, repo_id=repo_id)
        (space / "index.html").write_text(page, encoding="utf-8")
    (space / "README.md").write_text(addressed(card), encoding="utf-8")
