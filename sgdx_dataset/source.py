"""Where the release is: the source that a user names, the one prepared last, or the download.

``prepare`` notes it in a JSON file beside the configs that it prepares, ``sgdx-source.json`` in the
folder that ``datasets`` keeps its data in: ``{"source": "/data/sgd.zip"}``.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .io.console import escape_controls
from .io.errors import SgdxError
from .io.files import file_digest
from .io.json import parse_json
from .io.waiting import locked_file

Source = str | os.PathLike[str] | None

COMMIT = "e852981ae34990f4358979625854259302feaa78"  # 2023-08-07, the fixed converter's
URL = (
    f"https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/{COMMIT}.zip"
)
# The SHA-256 of the archive, to be recorded here by somebody who has a complete one. Until then a
# download is verified by its counts.
SHA256: str | None = None

CITATION = """\
@inproceedings{rastogi2020towards,
  title={Towards Scalable Multi-Domain Conversational Agents: The Schema-Guided Dialogue Dataset},
  author={Rastogi, Abhinav and Zang, Xiaoxue and Sunkara, Srinivas and Gupta, Raghav and
    Khaitan, Pranav},
  booktitle={Proceedings of the AAAI Conference on Artificial Intelligence},
  volume={34}, pages={8689--8696}, year={2020}
}
@inproceedings{lee2022sgdx,
  title={{SGD-X}: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems},
  author={Lee, Harrison and Gupta, Raghav and Rastogi, Abhinav and Cao, Yuan and Zhang, Bin and
    Wu, Yonghui},
  booktitle={Proceedings of the AAAI Conference on Artificial Intelligence},
  volume={36}, pages={10938--10946}, year={2022}
}
"""

DOWNLOAD = "download"  # the source that is the pinned archive
NAMED = ("sample", "many", DOWNLOAD)  # sources that are no paths
NOTE = "sgdx-source.json"
OTHER_SOURCES = "sgdx-sources"  # the folder of the caches of all sources but the remembered one


def datasets_cache() -> Path:
    """The folder that ``datasets`` keeps its data in, found as ``datasets`` itself finds it."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", str(Path(cache, "huggingface")))
    return Path(os.environ.get("HF_DATASETS_CACHE", str(Path(home, "datasets")))).expanduser()


def home_remedy(error: OSError) -> str:
    """What helps where a file of the Hugging Face cache cannot be written; else empty."""
    home = datasets_cache().parent
    file = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    is_refused = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)
    if not is_refused or file is None:
        return ""
    is_of_it = home.is_relative_to(file) or file.is_relative_to(home)
    return "; set HF_HOME to a folder that can be written" if is_of_it else ""


def remembered_source(cache: Path | None = None) -> str | None:
    """The source that a cache was prepared from last, or None where nothing is noted."""
    note = (cache or datasets_cache()) / NOTE
    try:
        noted = parse_json(note.read_bytes(), dict[str, str], str(note), "a note of prepare")
        return noted.get("source")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SgdxError(f"{note}: cannot be read: {error}") from None


def sources_named(name: str) -> list[str]:
    """Sources of this machine that go by a name: those of ``NAMED``, or known paths."""
    if name in NAMED:
        return [name]
    cache = datasets_cache()
    caches = [cache, *sorted((cache / OTHER_SOURCES).glob("*"))]
    sources = dict.fromkeys(filter(None, map(remembered_source, caches)))
    return [source for source in sources if Path(source).name == name and Path(source).exists()]


def source_of_file(file: str | os.PathLike[str]) -> str | None:
    """The source that a file of a cache was made from: what the nearest folder above it notes."""
    for folder in Path(file).absolute().parents:
        if (folder / NOTE).is_file():
            with suppress(SgdxError):
                return remembered_source(folder)
    return None


def resolve_source(source: Source, announce: bool = False) -> str:
    """The source to open: what the caller names, else ``$SGDX_SOURCE``, else the remembered one.

    With ``announce``, as a command does, a note says which the remembered one is.
    """
    named = source or os.environ.get("SGDX_SOURCE")
    if named:
        return str(named)
    remembered = remembered_source()
    if remembered is None:
        raise SgdxError(
            "no source is named and none was prepared before: give --source (or SGDX_SOURCE) a copy"
            " of the release, 'sample' or 'many' for a corpus of this package, or 'download' to"
            " fetch SGD from GitHub once (an archive of some 30 MB)"
        )
    if remembered not in NAMED and not Path(remembered).exists():
        advice = "name a source with --source or SGDX_SOURCE"
        raise SgdxError(f"{remembered}: was prepared before, but is not there any more; {advice}")
    if announce:
        found = f"note: the source is {escape_controls(remembered)}, which prepare was given last"
        print(f"{found}; to choose another, give --source", file=sys.stderr)
    return remembered


def download(check: Callable[[Path], None], url: str = URL, checksum: str | None = SHA256) -> Path:
    """Download the pinned archive to the Hugging Face cache, unless it is there already."""
    # It takes a while to import, and most commands download nothing.
    from huggingface_hub.file_download import http_get

    archive = datasets_cache() / "downloads" / f"sgdx-{Path(url).name}"
    partial = archive.with_suffix(".incomplete")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with locked_file(archive.with_suffix(".lock")):
            if archive.exists():
                return archive
            try:
                with partial.open("ab") as file:  # which goes on with what an earlier attempt left
                    # GitHub answers a request for the rest with the whole file: http_get starts
                    # anew then.
                    http_get(url, file, resume_size=file.tell(), displayed_filename=archive.name)
            except Exception as error:  # the HTTP library's own types, which differ by version
                reason = " ".join(str(error).split())
                advice = (
                    f"{partial.stat().st_size} bytes are kept; try again, or give a copy's path"
                )
                raise SgdxError(f"{url}: cannot be downloaded: {reason} ({advice})") from None
            try:
                check(partial)
                if checksum and (digest := file_digest(partial)) != checksum:
                    raise SgdxError(f"{partial}: SHA-256 is {digest}, expected {checksum}")
            except SgdxError as error:
                partial.unlink()
                raise SgdxError(f"{error} (it is deleted)") from None
            partial.replace(archive)
    except OSError as error:
        raise SgdxError(f"{archive}: cannot be downloaded to or read from: {error}") from None
    return archive
