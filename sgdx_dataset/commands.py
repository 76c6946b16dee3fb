"""The commands that load, show and reword SGD and SGD-X. What each needs is imported inside it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from .io.errors import SgdxError
from .options import (
    Dialogues,
    NewFolder,
    Source,
    SourceOptions,
    Split,
    UploadOptions,
    VariantOptions,
)

if TYPE_CHECKING:
    from .release import Release

SOURCE, ALL, ANY, PUBLIC = Source(), SourceOptions(), VariantOptions(), UploadOptions()


# ---- bringing rows to where they are used


def prepare(data: VariantOptions = ANY) -> None:
    """Make load_dataset("sgdx", "v3") work on this machine.

    It fills the Hugging Face cache, whose place is HF_HOME.
    """
    from .cache import cache_folder, load_fault, prepare

    cache, release = cache_folder(), data.open()
    configs = data.chosen(release.configs())
    before = {*cache.glob("sgdx/*/*/*")}
    print(*prepare(release, configs), sep="\n")
    notes = []
    if gone := sorted({folder.parts[-3] for folder in before - {*cache.glob("sgdx/*/*/*")}}):
        old = f"of another source or an older copy: {', '.join(gone)}"
        notes.append(f"note: replaced in the cache, or removed, because it was {old}")
    example = "v3" if "v3" in configs else configs[0]
    if fault := next(filter(None, map(load_fault, configs)), ""):
        if "[" in str(cache):
            fault = "it takes the [ in the folder's name for a pattern; HF_HOME names another"
        elif Path("sgdx").is_dir():
            fault = "it takes the folder sgdx here for the data set; begin Python elsewhere"
        notes.append(f"note: load_dataset of datasets cannot read this here: {fault}")
        notes.append("next, in Python: from sgdx_dataset import load")
        notes.append(f'                 load("{example}")')
    else:
        notes.append("next, in Python: from datasets import load_dataset")
        notes.append(f'                 load_dataset("sgdx", "{example}")')
        notes.append(
            "without a network, set HF_HUB_OFFLINE=1; otherwise load_dataset waits for the Hub"
        )
    print(*notes, sep="\n", file=sys.stderr)


def cache(action: Literal["list", "clear"] = "list") -> None:
    """List or clear what prepare has put into the cache.

    Parameters
    ----------
    action
        List the content (the default), or clear all of it. load makes it again when it needs it.
        The remembered source stays.
    """
    from .cache import cache_folder, cached_configs, clear_cache

    cache, total = cache_folder(), 0.0
    for name, source, size in cached_configs(cache):
        print(f"{size / 1e6:9.1f} MB  {name}  {source}".rstrip())
        total += size / 1e6
    if total and action == "clear":
        clear_cache(cache)
    print(f"{total:9.1f} MB  {'removed from' if action == 'clear' else 'in'} {cache}")


def push(repo_id: str, /, data: SourceOptions = ALL, upload: UploadOptions = PUBLIC) -> None:
    """Build a dataset repository and upload it to the Hub.

    The commit gets a tag for the version of the rows, such as v1.0.0.

    Parameters
    ----------
    repo_id
        Push to this repository, as in YOU/sgdx.
    """
    from .build import push

    print(push(data.open, repo_id, upload))


def export(
    kind: Literal["dialogues", "frames", "turns"] = "dialogues",
    /,
    data: VariantOptions = ANY,
    *,
    output: Path,
    split: Split | None = None,
    dialogues: Dialogues = None,
) -> None:
    """Write a variant as JSON in the release's layout, or rows of variants as Parquet.

    Parameters
    ----------
    kind
        Write dialogues of one variant as the release has them, frames, which trackers and scores
        read, or turns, which generators read.
    output
        Write the folders train, dev and test into this folder, or one file VARIANT.parquet for each
        variant. None of them may exist yet.
    split
        Export this split. Default of dialogues: all.
    """
    if not split and (dialogues or kind != "dialogues"):
        what = "--dialogues" if dialogues else kind
        raise SgdxError(f"{what}: found no --split, expected the split that it is of")
    configs = data.chosen([*data.own_variants])
    if kind == "dialogues" and len(configs) != 1:
        found = ", ".join(configs) or "none"
        raise SgdxError(f"--variant: found {found}, expected the one that is exported")
    from .export import export, write_rows

    release = data.open()
    ids = _dialogue_ids(release, split, dialogues)
    if kind == "dialogues":
        print(*export(release, configs[0], output, [split] if split else None, ids), sep="\n")
    elif split:
        configs = data.chosen(release.scored_variants())
        print(*write_rows(kind, release, split, configs, output, ids), sep="\n")


def _dialogue_ids(release: Release, split: str | None, dialogues: Path | None) -> list[str] | None:
    """The ids in the file of ``--dialogues``, all of which the split has; None without a file."""
    if dialogues is None or split is None:
        return None
    from .configs import split_name
    from .subset import check_dialogue_ids, read_dialogue_ids

    ids = read_dialogue_ids(dialogues, split)
    check_dialogue_ids(release, split_name(split), ids, str(dialogues))
    return ids


# ---- looking at what a source holds


def stats(data: SourceOptions = ALL, *, json: Path | None = None) -> None:
    """Print statistics, for SGD beside the published ones.

    Parameters
    ----------
    json
        Also write the statistics to this JSON file.
    """
    from .stats import stats

    stats(data.open(), json)


def subset(data: Source = SOURCE, *, split: Split, count: int, output: Path, seed: int = 1) -> None:
    """Choose a small sample of a split's dialogues.

    All services have their share in it.

    Parameters
    ----------
    split
        Choose from this split.
    count
        Choose this number of dialogues. A smaller choice with the same seed is part of a larger
        one.
    output
        Write the dialogue ids to this JSON file. Other commands take it as --dialogues FILE.
    seed
        Set the random seed, 0 or more.
    """
    from .io.files import write_bytes
    from .io.json import pretty_json
    from .subset import subset

    sample = subset(data.open(), split, count, seed)
    write_bytes(output, pretty_json(sample, 1))
    print(f"{sample.count} of {sample.of} dialogues in {sample.split}: {output}")


def show(
    dialogue_id: str | None = None,
    /,
    data: VariantOptions = ANY,
    *,
    split: Split | None = None,
    all: bool = False,
    html: Path | None = None,
    schema: str | None = None,
) -> None:
    """Show a dialogue under several variants side by side.

    With --schema, show all words of a service instead.

    Parameters
    ----------
    dialogue_id
        Show the dialogue with this id, for example 1_00000. Default: the first one of the split
        that has a service with other words.
    split
        Take the dialogue from this split. Default: the last of test, validation and train that has
        it.
    all
        Show all variants. Default: original and those of your own, or else the last of v1 to v5.
    html
        Also write a web page to this file. The page needs no other file.
    schema
        Print all words of this service as a rewording file, instead of a dialogue. Edit the file
        and give it as --variant NAME=FILE.
    """
    if schema and (dialogue_id or all or split or data.variant or html):
        raise SgdxError(
            "--schema: found options of a dialogue too, expected it with --source alone, because "
            "it prints the original words of a service"
        )
    if data.names and all:
        raise SgdxError("--all: found --variant too, expected one of them")
    from .show import show, words_of_service

    release = data.open()
    if schema:
        print(words_of_service(release, schema))
        return
    reworded = release.scored_variants()[1:]
    shown = reworded if all else list(release.own_variants) or reworded[-1:]
    show(release, dialogue_id, data.chosen(["original", *shown]), split, html)


# ---- making new variants

reword = App(name="reword", help="Make new variants of the schemas.")


@reword.command
def compose(
    data: Source = SOURCE,
    *,
    pool: Path | None = None,
    output: NewFolder | None = None,
    split: Split | None = None,
    empty: bool = False,
) -> None:
    """Compose variants of a pool of paraphrases, as SGD-X was.

    The folder then holds v1, v2, and so on.

    Parameters
    ----------
    pool
        Read 2 to 9 paraphrases of every text from this JSON file.
    split
        Reword this split. Default: all.
    empty
        Print a pool to fill in, with room for two paraphrases of every text, and compose nothing.
    """
    from .io.json import pretty_json
    from .rewording.compose import compose, empty_pool

    splits = [split] if split else None
    if empty:
        print(pretty_json(empty_pool(data.open(), splits), 2).decode(), end="")
    elif pool is None or output is None:
        raise SgdxError("compose: expected --pool and --output, or --empty for a pool to fill in")
    else:
        print(*compose(data.open(), pool, output, splits), sep="\n")


@reword.command
def corrupt(
    data: Source = SOURCE,
    *,
    output: NewFolder,
    variants: int = 3,
    seed: int = 0,
) -> None:
    """Replace and move words of the train schemas at random.

    The folder then holds corrupt-1, corrupt-2, and so on.

    Parameters
    ----------
    variants
        Make this number of variants.
    seed
        Set the random seed, 0 or more.
    """
    from .rewording.corrupt import corrupt

    print(*corrupt(data.open(), output, variants, seed), sep="\n")


@reword.command
def backtranslate(
    data: Source = SOURCE,
    *,
    output: Path,
    forward: str | None = None,
    forward_command: str | None = None,
    backward: str | None = None,
    backward_command: str | None = None,
    languages: tuple[str, str] | None = None,
    sample: bool = False,
    seed: int = 0,
    batch_size: int = 32,
) -> None:
    """Translate the train schemas to a language and back.

    Each direction takes either a model or a program.

    Parameters
    ----------
    output
        Write the overlay to this .json file, which must not exist yet. Use it as --variant
        NAME=FILE, or put it into a release as backtrans/LANGUAGE.json for the config backtrans.
    forward
        Translate to the other language with this model: a folder, or a name on the Hub. It needs
        safetensors.
    forward_command
        Translate to the other language with this program. It reads one text per line from standard
        input and writes as many lines. It is started once per batch, without a shell.
    backward
        Translate back to English with this model.
    backward_command
        Translate back to English with this program.
    languages
        Give the two language codes for models that know several languages, in each model's own
        spelling, for example eng_Latn zho_Hans.
    sample
        Sample translations at random, instead of searching for the most likely ones.
    seed
        Set the random seed of sampling, 0 or more.
    batch_size
        Translate this number of texts at once.
    """
    for name, model, program in (
        ("forward", forward, forward_command),
        ("backward", backward, backward_command),
    ):
        if (model is None) == (program is None):
            raise SgdxError(f"--{name}, --{name}-command: expected one of them")
    from .rewording.backtranslate import backtranslate
    from .rewording.translations import read_settings

    settings = read_settings(
        forward=forward,
        forward_command=forward_command,
        backward=backward,
        backward_command=backward_command,
        languages=languages,
        sample=sample,
        seed=seed,
        batch_size=batch_size,
    )
    print(backtranslate(data.open(), output, settings))
