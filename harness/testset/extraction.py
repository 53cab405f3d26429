"""Write the text of a corpus's converted documents, for people who quote it as evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness import corpus
from harness.corpus import Corpus, CorpusReader
from harness.errors import HarnessError
from harness.files.new_files import check_new, write_file
from harness.testset import named_corpus_reader

_PLAIN_TEXT_CONVERTERS = ("pdf", "table")
"""What converts to text, and not to Markdown."""


def reader(spec: str) -> CorpusReader:
    """Return the reader of a corpus, named as in a configuration; what it cannot read, it skips.

    Raises:
        SpecError: it is not there, or of no known format.
    """
    return replace(named_corpus_reader(spec), on_error="skip")  # type: ignore[type-var]


def read(documents: CorpusReader) -> Corpus:
    """Read a corpus.

    Raises:
        DataError: nothing in it can be read.
        HarnessError: there is nothing that must be converted, or a library for it is missing.
    """
    result = corpus.load(documents)
    if not result.origins:
        message = "holds no file that must be converted: quote its files as they are"
        raise HarnessError("\n  ".join([f"{documents.path!r} {message}", *result.remarks]))
    return result


def write(result: Corpus, path: str, folder: Path, force: bool = False) -> list[Path]:
    """Write each text below `folder`, under its document's id and .txt or .md; return the files.

    Raises:
        HarnessError: the folder lies in the corpus, which is at `path`, a file is there already,
            or cannot be written.
    """
    if Path(path).is_dir() and folder.resolve().is_relative_to(Path(path).resolve()):
        raise HarnessError(
            f"{str(folder)!r} lies in the corpus, and would become part of it\n  name another"
        )
    targets = [
        _target_path(folder, id_, document.converter) for id_, document in result.origins.items()
    ]
    check_new(targets, force)
    for target, document in zip(targets, result.converted_documents(), strict=True):
        write_file(target, document["text"])
    return targets


def _target_path(folder: Path, id_: str, converter: str) -> Path:
    target = folder / f"{id_}{'.txt' if converter.startswith(_PLAIN_TEXT_CONVERTERS) else '.md'}"
    if "\0" in id_ or ".." in Path(id_).parts or not target.is_relative_to(folder):
        raise HarnessError(f"the id {id_!r} names no file below a folder\n  leave -o out")
    return target
