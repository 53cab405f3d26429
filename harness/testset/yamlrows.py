"""YAML: a list of questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness import wholefile, yamlfile
from harness.corpus import Corpus
from harness.errors import DataError, Problem
from harness.jsonl import Row
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl import questions


@readers.register
@dataclass(frozen=True)
class Yaml:
    """A .yaml or .yml file: a list of questions with the keys of the JSON Lines format.

    Anchors and aliases are refused: write out what they stand for.
    """

    path: str

    name: ClassVar[str] = "yaml"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file of that name."""
        return path.is_file() and path.suffix.lower() in (".yaml", ".yml")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        try:
            items = yamlfile.listed(wholefile.text(Path(self.path)))
        except ValueError as error:
            raise DataError(self.path, [Problem("the file", str(error))]) from None
        yield from questions(map(_row, items), corpus)


def _row(item: tuple[int, object]) -> Row | Problem:
    line, data = item
    if isinstance(data, dict):
        return Row(line, data)
    return Problem(f"line {line}", f"holds {type(data).__name__}, not keys", "- question: ...")
