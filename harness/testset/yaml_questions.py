"""Test-set reader for YAML: a list of questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.corpus import Corpus
from harness.errors import DataError, Problem
from harness.files import reading, yaml_lines
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl_questions import resolve_questions


@readers.register
@dataclass(frozen=True)
class Yaml:
    """A .yaml or .yml file: a list of questions with the keys of the JSON Lines format.

    Anchors and aliases are refused: write out what they stand for.
    """

    path: str

    name: ClassVar[str] = "yaml"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".yaml", ".yml"))

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        try:
            items = yaml_lines.parse_list(reading.read_text(Path(self.path)))
        except ValueError as error:
            raise DataError(self.path, [Problem("the file", str(error))]) from None
        yield from resolve_questions(map(_row, items), corpus)


def _row(item: tuple[int, object]) -> JsonLine | Problem:
    line, data = item
    if isinstance(data, dict):
        return JsonLine(line, data)
    return Problem(f"line {line}", f"holds {type(data).__name__}, not keys", "- question: ...")
