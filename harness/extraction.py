"""The text of a corpus's converted files, for people who quote it as evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness import corpus
from harness.corpus import Corpus
from harness.corpus.folder import Folder
from harness.errors import HarnessError
from harness.store import atomically

_PLAIN = (".pdf", ".csv", ".tsv")


def read(path: Path) -> Corpus:
    """Read a folder or a file; what cannot be read is skipped, and listed.

    Raises:
        HarnessError: there is nothing that must be converted, or a library for it is missing.
    """
    if not Folder.accepts(path):
        raise HarnessError(f"{str(path)!r} is no folder and no file that is read\n  name another")
    found = corpus.load(Folder(str(path), on_error="skip"))
    if not found.origins:
        what = "holds no file that must be converted: quote its files as they are"
        raise HarnessError("\n  ".join([f"{str(path)!r} {what}", *found.notes]))
    return found


def write(found: Corpus, path: Path, folder: Path) -> Iterator[Path]:
    """Write each text below `folder`, under the name of its file and .txt or .md; yield the paths.

    Raises:
        HarnessError: the folder lies in the corpus, or cannot be written.
    """
    if path.is_dir() and folder.resolve().is_relative_to(path.resolve()):
        raise HarnessError(
            f"{str(folder)!r} lies in the corpus, and would become part of it\n  name another"
        )
    for each in found.converted():
        plain = each["id"].lower().endswith(_PLAIN)
        target = folder / f"{each['id']}{'.txt' if plain else '.md'}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            atomically(target, each["text"])
        except OSError as error:
            raise HarnessError(
                f"{str(target)!r} cannot be written: {error.strerror}\n  name another: -o FOLDER"
            ) from None
        yield target
