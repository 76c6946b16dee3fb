"""The command line: ``python -m sgdx_dataset``."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from .hub.build import build, push
from .hub.export import export
from .hub.prepare import cache_folder, cached_configs, clear_cache, prepare_release
from .io.arguments import paths_by_name
from .io.console import escape_controls, run
from .io.errors import SgdxError
from .options import parser
from .release.open import open_release
from .release.release import Release
from .release.remembered import announced_source, remembered_source
from .release.schema import split_name
from .rewording.backtranslate import backtranslate
from .rewording.compose import compose
from .rewording.corrupt import corrupt
from .rewording.translations import read_settings
from .rows.parquet_files import write_rows
from .show import show, words_of_service
from .stats import stats
from .subset import check_dialogue_ids, read_dialogue_ids, subset, write_subset


def _release(options: Namespace, cache: Path | None = None) -> Release:
    """Open the source; a note on standard error says what it lacks."""
    release = open_release(
        announced_source(options.source, cache), paths_by_name("--variant", options.variant)
    )
    if gaps := release.gaps():
        print(f"note: {gaps}", file=sys.stderr)
    return release


def _splits(options: Namespace) -> list[str] | None:
    return [options.split] if options.split else None


def _dialogue_ids(options: Namespace, release: Release) -> list[str] | None:
    """The ids in the file of ``--dialogues``, all of which the split has; None without a file."""
    if options.dialogues is None:
        return None
    if not options.split:
        raise SgdxError(
            "--dialogues: found no --split, expected the split that has these dialogues"
        )
    ids = read_dialogue_ids(options.dialogues, options.split)
    check_dialogue_ids(release, split_name(options.split), ids, str(options.dialogues))
    return ids


def _prepare(options: Namespace) -> None:
    cache = cache_folder(options.cache_dir)
    release = _release(options, cache)
    configs = options.config or release.configs()
    before = {folder.name for folder in cache.glob("sgdx/*")}
    source_before = remembered_source(cache) if before else None
    print(*prepare_release(release, configs, options.cache_dir), sep="\n")
    if source_before not in (None, release.source):
        name = escape_controls(source_before or "")
        print(f"note: the cache had configs of {name}; they were replaced", file=sys.stderr)
    elif removed := before - {folder.name for folder in cache.glob("sgdx/*")}:
        text = ", ".join(sorted(removed))
        print(
            f"note: removed from the cache, because it was of an older copy: {text}",
            file=sys.stderr,
        )
    folder = f", cache_dir={str(options.cache_dir)!r}" if options.cache_dir else ""
    example = "v3" if "v3" in configs else configs[0]
    print("next, in Python: from datasets import load_dataset", file=sys.stderr)
    print(f'                 load_dataset("sgdx", "{example}"{folder})', file=sys.stderr)
    print(
        "without a network, set HF_HUB_OFFLINE=1; otherwise load_dataset waits for the Hub",
        file=sys.stderr,
    )


def _cache(options: Namespace) -> None:
    configs = (clear_cache if options.action == "clear" else cached_configs)(options.cache_dir)
    for config in configs:
        print(f"{config.size / 1e6:9.1f} MB  {config.name}  {config.source}".rstrip())
    total = sum(config.size for config in configs) / 1e6
    state = "removed from" if options.action == "clear" else "in"
    print(f"{total:9.1f} MB  {state} {cache_folder(options.cache_dir)}")


def _build(options: Namespace) -> None:
    print(build(_release(options), options.output))


def _push(options: Namespace) -> None:
    print(push(_release(options), options.repo_id, private=options.private))


def _export(options: Namespace) -> None:
    release = _release(options)
    ids = _dialogue_ids(options, release)
    print(*export(release, options.config, options.output, _splits(options), ids), sep="\n")


def _rows(options: Namespace) -> None:
    release = _release(options)
    configs, ids = options.config or release.wordings(), _dialogue_ids(options, release)
    written = write_rows(options.command, release, options.split, configs, options.output, ids)
    print(*written, sep="\n")


def _stats(options: Namespace) -> None:
    stats(_release(options), options.json)


def _subset(options: Namespace) -> None:
    sample = subset(_release(options), options.split, options.count, options.seed)
    write_subset(sample, options.output)
    print(f"{sample.count} of {sample.of} dialogues in {sample.split}: {options.output}")


def _show(options: Namespace) -> None:
    release = _release(options)
    if options.schema:
        of_dialogues = {
            "DIALOGUE_ID": options.dialogue_id,
            "--config": options.config,
            "--all": options.all,
            "--split": options.split,
            "--variant": options.variant,
            "--html": options.html,
        }
        if others := [name for name, value in of_dialogues.items() if value]:
            raise SgdxError(
                f"--schema: found {', '.join(others)} too, expected it alone, because it prints "
                "the original words of a service"
            )
        print(words_of_service(release, options.schema))
        return
    reworded = release.wordings()[1:]
    shown = reworded if options.all else list(release.own_variants) or reworded[-1:]
    default = ["original", *shown]
    show(release, options.dialogue_id, options.config or default, options.split, options.html)


def _compose(options: Namespace) -> None:
    release, splits = _release(options), _splits(options)
    folders = compose(release, options.pool, options.output, splits, options.service)
    print(*folders, sep="\n")


def _corrupt(options: Namespace) -> None:
    settings = options.variants, options.seed, options.replace, options.window
    print(*corrupt(_release(options), options.output, *settings), sep="\n")


def _backtranslate(options: Namespace) -> None:
    settings = read_settings(vars(options))
    print(backtranslate(_release(options), options.output, settings))


COMMANDS: dict[str, Callable[[Namespace], None]] = {
    "prepare": _prepare,
    "cache": _cache,
    "build": _build,
    "push": _push,
    "export": _export,
    "frames": _rows,
    "turns": _rows,
    "stats": _stats,
    "subset": _subset,
    "show": _show,
    "compose": _compose,
    "corrupt": _corrupt,
    "backtranslate": _backtranslate,
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command of ``python -m sgdx_dataset``.

    Args:
        arguments: The words of the command line; None for those of this process.

    Returns:
        The exit status, see ``console.run``.
    """
    options = parser().parse_args(arguments)
    return run("sgdx_dataset", lambda: COMMANDS[options.command](options))


if __name__ == "__main__":
    sys.exit(main())
