"""SQuAD: questions whose answers are stretches of a paragraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness import wholefile
from harness.corpus import Corpus, normalised
from harness.corpus.squad import Answer, Asked, Paragraph, paragraphs
from harness.errors import Problem
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.evidence import short
from harness.testset.jsonl import PlacedRow, questions


@readers.register
@dataclass(frozen=True)
class Squad:
    """A SQuAD file, 1.1 or 2.0; the places of the answers are the evidence.

    Several places of one question's answer are alternatives. Its paragraph is the one relevant
    document. Impossible questions are unanswerable. Goes with `corpus: {squad: FILE}`.
    """

    path: str

    name: ClassVar[str] = "squad"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a .json file that speaks of paragraphs."""
        return wholefile.mentions(path, "paragraphs")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from questions(self._rows(), corpus)

    def unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their key."""
        asked = (each for paragraph in paragraphs(Path(self.path)) for each in paragraph.asked)
        return {"plausible_answers": sum(len(each.plausible_answers) for each in asked)}

    def _rows(self) -> Iterator[PlacedRow | Problem]:
        number = 0
        for paragraph in paragraphs(Path(self.path)):
            for asked in paragraph.asked:
                number += 1
                where = f"question {asked.id!r}"
                problems = list(_problems(where, paragraph, asked))
                yield from problems
                if not problems:
                    yield PlacedRow(number, _row(paragraph, asked), where)


def _problems(where: str, paragraph: Paragraph, asked: Asked) -> Iterator[Problem]:
    for answer in asked.answers:
        there = paragraph.text[answer.answer_start :][: len(answer.text)]
        if not answer.text.strip():
            yield Problem(where, "has an answer without text", "take it out")
        elif there != answer.text:
            what = f"the answer {short(answer.text)} is not at {answer.answer_start}"
            at = paragraph.text.find(answer.text)
            hint = f"it stands at {at}" if at >= 0 else "it is nowhere in the paragraph"
            yield Problem(where, f"{what}: the text there is {short(there)}", hint)


def _row(paragraph: Paragraph, asked: Asked) -> dict[str, Any]:
    answerable = not asked.is_impossible
    return {
        "id": asked.id,
        "question": asked.question,
        "answers": list(dict.fromkeys(answer.text for answer in asked.answers)),
        "evidence": [
            {"doc": paragraph.id, "start": start, "end": end, "quote": quote, "group": "answer"}
            for start, end, quote in dict.fromkeys(
                _place(paragraph.text, answer) for answer in asked.answers
            )
        ],
        "documents": {paragraph.id: 1} if answerable else None,
        "answerable": answerable,
    }


def _place(text: str, answer: Answer) -> tuple[int, int, str]:
    """Return where an answer stands, and reads, once the text is normalised."""
    quote = normalised(answer.text)
    start = len(normalised(text[: answer.answer_start]))
    return start, start + len(quote), quote
