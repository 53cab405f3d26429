"""The text of a corpus's converted documents, for people who quote it as evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness import corpus, named_corpus
from harness.corpus import Corpus, CorpusReader
from harness.errors import HarnessError
from harness.newfiles import check_new, put
from harness.sources import corpus_reader

_PLAIN = ("pdf", "table")
"""What converts to text, and not to Markdown."""


def reader(given: str) -> CorpusReader:
    """Return the reader of a corpus, named as in a configuration; what it cannot read, it skips.

    Raises:
        SpecError: it is not there, or of no known format.
    """
    found = corpus_reader(named_corpus.spec(given), named_corpus.find)
    return replace(found, on_error="skip")  # type: ignore[type-var]


def read(documents: CorpusReader) -> Corpus:
    """Read a corpus.

    Raises:
        DataError: nothing in it can be read.
        HarnessError: there is nothing that must be converted, or a library for it is missing.
    """
    found = corpus.load(documents)
    if not found.origins:
        what = "holds no file that must be converted: quote its files as they are"
        raise HarnessError("\n  ".join([f"{documents.path!r} {what}", *found.remarks]))
    return found


def write(found: Corpus, path: str, folder: Path, force: bool = False) -> list[Path]:
    """Write each text below `folder`, under its document's id and .txt or .md; return the files.

    Raises:
        HarnessError: the folder lies in the corpus, which is at `path`, a file is there already,
            or cannot be written.
    """
    if Path(path).is_dir() and folder.resolve().is_relative_to(Path(path).resolve()):
        raise HarnessError(
            f"{str(folder)!r} lies in the corpus, and would become part of it\n  name another"
        )
    targets = [_target(folder, id_, each.converter) for id_, each in found.origins.items()]
    check_new(targets, force)
    for target, each in zip(targets, found.converted(), strict=True):
        put(target, each["text"])
    return targets


def _target(folder: Path, id_: str, converter: str) -> Path:
    target = folder / f"{id_}{'.txt' if converter.startswith(_PLAIN) else '.md'}"
    if "\0" in id_ or ".." in Path(id_).parts or not target.is_relative_to(folder):
        raise HarnessError(f"the id {id_!r} names no file below a folder\n  leave -o out")
    return target
