"""A new project: the files of this package, copied into a folder of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from harness.errors import HarnessError

_TEMPLATES = ("config.yaml", "testset.jsonl", "corpus")


def create(folder: Path) -> list[Path]:
    """Write a configuration, a corpus and a test set; returns their paths.

    Raises:
        HarnessError: a file is there already, or the folder cannot be written. Nothing is then
            written.
    """
    with as_file(files("harness.cli.project")) as source:
        pairs = [(path, folder / path.relative_to(source)) for path in _templates(source)]
        existing = [target for _, target in pairs if target.exists()]
        if existing:
            raise HarnessError(
                f"{str(existing[0])!r} is there already; nothing was written\n  name a new folder"
            )
        try:
            for path, target in pairs:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        except OSError as error:
            raise HarnessError(
                f"{str(folder)!r} cannot be written: {error.strerror}\n  name another folder"
            ) from None
    return [target for _, target in pairs]


def _templates(source: Path) -> Iterator[Path]:
    for name in _TEMPLATES:
        path = source / name
        yield from sorted(path.rglob("*.*")) if path.is_dir() else [path]
